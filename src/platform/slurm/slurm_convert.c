/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_convert.c - the image's conversion as a job of its own, with `conversion_partition`.
 *
 * Without that option the first job that wants an image converts it, and its GPUs wait meanwhile. With it a
 * small job in another partition does, and ours starts when that one has ended, however it ended: a
 * dependency on success would cancel our job without a word, so our job checks the file itself and says what
 * it finds. All jobs that want the same image wait for the same conversion, known by its name; should two
 * clients start one at the same moment, Slurm runs them one after the other (singleton) and the second finds
 * the file.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "plan/mounts.h"
#include "platform/slurm/slurm_image.h"

struct slurm_cache slurm_cache_of(const struct slurm_job *job)
{
    const struct slurm_job_options *options = &job->options;
    int limit_s = options->conversion_timeout_minutes * 60;

    return (struct slurm_cache){
        .folder = options->sqsh_cache_dir ? options->sqsh_cache_dir : job->names.base,
        .sqsh = !options->use_sqsh ? SLURM_SQSH_OFF
              : options->require_sqsh ? SLURM_SQSH_REQUIRED : SLURM_SQSH_AUTO,
        .latest = options->sqsh_latest == SLURM_LATEST_REUSE && options->force_reconvert_latest
                      ? SLURM_LATEST_REFRESH : (enum slurm_latest)options->sqsh_latest,
        .submitted = job->names.sbatch, .temp = options->enroot_temp_path,
        .limit_s = limit_s, .patience = { .wait_s = limit_s + 600 },
        .elsewhere = slurm_converts_elsewhere(job),
    };
}

bool slurm_converts_elsewhere(const struct slurm_job *job)
{
    const struct slurm_job_options *options = &job->options;
    sw_auto(slurm_image) struct slurm_image image = { 0 };

    return slurm_has_own_root(job) && options->conversion_partition && options->use_sqsh &&
           !(options->dependency && strchr(options->dependency, '?')) &&   /* "any of these" takes no more */
           slurm_image_parse(job->plan->image, &image, NULL) == 0 && image.kind == SLURM_IMAGE_REGISTRY;
}

/* The same for all jobs that want this image in this cache. */
static char *job_name_of(const char *file)
{
    char hash[SW_DIGEST_HEX];

    sw_sha256_hex(file, strlen(file), hash);
    return sw_format("tao-sqsh-%.8s", hash);
}

static void add_directives(struct sw_buf *out, const struct slurm_job *job, const char *file)
{
    const struct slurm_job_options *options = &job->options;
    sw_autofree char *name = job_name_of(file);
    char limit[32];

    slurm_time_text(options->conversion_timeout_minutes + 1, limit);
    sw_buf_addf(out, "#SBATCH --job-name=%s\n#SBATCH --partition=%s\n#SBATCH --nodes=1\n"
                "#SBATCH --ntasks=1\n#SBATCH --mem=%dG\n#SBATCH --time=%s\n#SBATCH --output=%s.log\n"
                "#SBATCH --dependency=singleton\n", name, options->conversion_partition,
                options->conversion_memory_gb, limit, file);
    if (options->account)
        sw_buf_addf(out, "#SBATCH --account=%s\n", options->account);
}

/* The image and its file in the cache. */
struct slurm_converted {
    struct slurm_image image;
    char *file;                    /* owned */
};
static inline void converted_auto(struct slurm_converted *made)
{
    slurm_image_done(&made->image);
    free(made->file);
}

static int converted_of(const struct slurm_job *job, struct slurm_converted *out, struct sw_error *err)
{
    const struct slurm_cache cache = slurm_cache_of(job);
    sw_autofree char *name = NULL;

    if (slurm_path_check("sqsh_cache_dir", cache.folder, err) < 0 ||
        slurm_image_parse(job->plan->image, &out->image, err) < 0)
        return -1;
    name = slurm_image_file_name(&out->image);
    out->file = sw_format("%s/%s", cache.folder, name);
    return 0;
}

/* No other job converts it for the conversion, and it has no other use. */
static void add_image(struct sw_buf *out, const struct slurm_job *job, const struct slurm_converted *made)
{
    struct slurm_cache cache = slurm_cache_of(job);

    cache.elsewhere = false;
    cache.sqsh = SLURM_SQSH_REQUIRED;
    slurm_image_text(out, &made->image, &cache);
}

int slurm_convert_batch(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const char *partition = job->options.conversion_partition, *account = job->options.account;
    sw_auto(converted) struct slurm_converted made = { 0 };

    if (slurm_word_check("conversion_partition", partition, err) < 0 ||
        (account && slurm_word_check("account", account, err) < 0))
        return -1;
    if (converted_of(job, &made, err) < 0)
        return -1;
    sw_buf_add(out, "#!/bin/bash\n");
    add_directives(out, job, made.file);
    sw_text_once(out);
    add_image(out, job, &made);
    sw_buf_add(out, "sw_image\n");
    return 0;
}

int slurm_convert_values(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(converted) struct slurm_converted made = { 0 };
    sw_autofree char *name = NULL;

    if (converted_of(job, &made, err) < 0)
        return -1;
    name = job_name_of(made.file);
    slurm_set(out, "image_job", name);
    slurm_set(out, "dependency", job->options.dependency);
    add_image(out, job, &made);
    return 0;
}
