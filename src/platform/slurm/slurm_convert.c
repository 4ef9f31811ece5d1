/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_convert.c - the image's conversion as a job of its own, with `conversion_partition`.
 *
 * Without that option the first job that wants an image converts it, and its GPUs wait meanwhile. With
 * it a small job in another partition does, and ours starts when that one has ended, however it ended:
 * a dependency on success would cancel our job without a word, so it looks itself and tells what it
 * finds. All who want the same image wait for the same job, known by its name; should two clients start
 * one at the same moment, Slurm runs them one after the other (singleton) and the second finds the file.
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
    const json_t *options = job->plan->options;
    const char *folder = sw_json_str(options, "sqsh_cache_dir");
    const char *latest = sw_json_str(options, "sqsh_latest");
    int limit_s = (int)sw_json_int(options, "conversion_timeout_minutes", 30) * 60;

    return (struct slurm_cache){
        .folder = folder ? folder : job->names->base,
        .sqsh = !sw_json_bool(options, "use_sqsh", true)     ? SLURM_SQSH_OFF
              : sw_json_bool(options, "require_sqsh", false) ? SLURM_SQSH_REQUIRED
                                                             : SLURM_SQSH_AUTO,
        .latest = sw_text_same(latest, "digest") ? SLURM_LATEST_DIGEST
                : sw_text_same(latest, "refresh") ||
                  sw_json_bool(options, "force_reconvert_latest", false) ? SLURM_LATEST_REFRESH
                                                                         : SLURM_LATEST_REUSE,
        .submitted = job->names->sbatch, .temp = sw_json_str(options, "enroot_temp_path"),
        .limit_s = limit_s, .patience = { .wait_s = limit_s + 600 },
        .elsewhere = slurm_converts_elsewhere(job->plan),
    };
}

bool slurm_converts_elsewhere(const struct sw_plan *plan)
{
    const char *how = sw_json_str(plan->options, "container");
    const char *dependency = sw_json_str(plan->options, "dependency");
    sw_auto(slurm_image) struct slurm_image image = { 0 };

    return plan->image && sw_json_str(plan->options, "conversion_partition") &&
           sw_json_bool(plan->options, "use_sqsh", true) && !sw_text_same(how, "none") &&
           !slurm_in_bundle(plan) &&
           !(dependency && strchr(dependency, '?')) &&      /* "any of these" takes no further one */
           slurm_image_parse(plan->image, &image, NULL) == 0 && image.kind == SLURM_IMAGE_REGISTRY;
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
    const json_t *options = job->plan->options;
    sw_autofree char *name = job_name_of(file);
    char limit[32];

    slurm_time_text(sw_json_int(options, "conversion_timeout_minutes", 30) + 1, limit);
    sw_buf_addf(out, "#SBATCH --job-name=%s\n#SBATCH --partition=%s\n#SBATCH --nodes=1\n"
                "#SBATCH --ntasks=1\n#SBATCH --mem=%lldG\n#SBATCH --time=%s\n#SBATCH --output=%s.log\n"
                "#SBATCH --dependency=singleton\n", name, sw_json_str(options, "conversion_partition"),
                (long long)sw_json_int(options, "conversion_memory_gb", 32), limit, file);
    if (sw_json_str(options, "account"))
        sw_buf_addf(out, "#SBATCH --account=%s\n", sw_json_str(options, "account"));
}

/* The image and its file in the cache. */
struct made {
    struct slurm_image image;
    char *file;                    /* owned */
};
static inline void made_auto(struct made *made)
{
    slurm_image_done(&made->image);
    free(made->file);
}

static int made_of(const struct slurm_job *job, struct made *out, struct sw_error *err)
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

/* Nobody converts it for the conversion, and it has no other use. */
static void add_image(struct sw_buf *out, const struct slurm_job *job, const struct made *made)
{
    struct slurm_cache cache = slurm_cache_of(job);

    cache.elsewhere = false;
    cache.sqsh = SLURM_SQSH_REQUIRED;
    slurm_image_text(out, &made->image, &cache);
}

int slurm_convert_batch(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const char *partition = sw_json_str(job->plan->options, "conversion_partition");
    const char *account = sw_json_str(job->plan->options, "account");
    sw_auto(made) struct made made = { 0 };

    if (slurm_word_check("conversion_partition", partition, err) < 0 ||
        (account && slurm_word_check("account", account, err) < 0))
        return -1;
    if (made_of(job, &made, err) < 0)
        return -1;
    sw_buf_add(out, "#!/bin/bash\n");
    add_directives(out, job, made.file);
    sw_text_once(out);
    add_image(out, job, &made);
    sw_buf_add(out, "sw_image\n");
    return 0;
}

static const char submit_text[] =
    "if [ \"$SW_IMAGE_WHEN\" = digest ] || ! sw_image_there; then\n"
    "    mkdir -p \"${SW_IMAGE_FILE%/*}\" || refuse \"base|${SW_IMAGE_FILE%/*} cannot be made\"\n"
    "    number=$(squeue -h -u \"$(id -un)\" -n \"$image_job\" -t PD,CF,R -o %A | head -n 1)\n"
    "    if [ -z \"$number\" ]; then\n"
    "        refusal=convert own_sbatch=$sbatch own_after=$after\n"
    "        sbatch=$state/image.sbatch after=\n"
    "        seek() { job=$(squeue -h -u \"$(id -un)\" -n \"$image_job\" -t PD,CF,R -o %A) || unsure; "
    "job=${job%%[!0-9]*}; [ -n \"$job\" ]; }\n"
    "        submit\n"
    "        seek() { find_job; }\n"
    "        sbatch=$own_sbatch after=$own_after job=\n"
    "        number=$(printf '%s\\n' \"$said\" | "
    "sed -n 's/^\\([0-9][0-9]*\\)\\(;.*\\)*$/\\1/p' | tail -n 1)\n"
    "        [ -n \"$number\" ] || maybe\n"
    "    fi\n"
    "    after=${after:-$dependency}\n"
    "    after=${after:+$after,}afterany:$number\n"
    "fi\n";

int slurm_convert_submit(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(made) struct made made = { 0 };
    sw_autofree char *name = NULL;

    if (made_of(job, &made, err) < 0)
        return -1;
    name = job_name_of(made.file);
    slurm_set(out, "image_job", name);
    slurm_set(out, "dependency", sw_json_str(job->plan->options, "dependency"));
    add_image(out, job, &made);
    sw_buf_add(out, submit_text);
    return 0;
}
