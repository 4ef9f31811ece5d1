/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_container.c - the plan's image and mounts in Slurm's terms: what is checked, what the batch
 * script does before the step, and the step's flags.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"
#include "core/job_env.h"
#include "plan/mounts.h"
#include "platform/slurm/slurm_image.h"
#include "platform/slurm/slurm_mounts.h"
#include "platform/slurm/slurm_retry.h"

/* Into an OCI bundle Slurm brings what srun exports, instead of the bundle's own values: no more than
 * these, so that PATH and HOME stay the image's. */
#define BUNDLE_VARIABLES "slipway_runner,slipway_own,slipway_logs,slipway_task,slipway_hosts," \
                         "CUDA_VISIBLE_DEVICES"

struct slurm_container_parts {
    struct slurm_image image;
    const char *bundle;            /* borrowed */
    struct sw_mounts mounts;
};

static void parts_done(struct slurm_container_parts *parts)
{
    slurm_image_done(&parts->image);
    sw_mounts_done(&parts->mounts);
}
static inline void parts_auto(struct slurm_container_parts *parts) { parts_done(parts); }

bool slurm_in_bundle(const struct slurm_job *job)
{
    return job->plan->image && job->options.container == SLURM_CONTAINER_OCI;
}

static int parts_of(const struct slurm_job *job, struct slurm_container_parts *out, struct sw_error *err)
{
    bool bundle = slurm_in_bundle(job), none = job->options.container == SLURM_CONTAINER_NONE;

    out->bundle = bundle ? job->plan->image : NULL;
    return slurm_image_parse(bundle || none ? NULL : job->plan->image, &out->image, err) < 0 ||
                   sw_mounts_parse(job->plan->mounts, &out->mounts, err) < 0 ? -1 : 0;
}

/* ---- checked before anything is sent ---------------------------------------------------------- */

int slurm_container_preflight(const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(parts) struct slurm_container_parts parts = { 0 };
    enum slurm_container_kind how = job->options.container;
    struct slurm_container container;

    if (!job->plan->image && (how == SLURM_CONTAINER_PYXIS || how == SLURM_CONTAINER_OCI))
        return sw_fail(err, SW_E_SPEC, "slurm.container is '%s' and the job names no image",
                       how == SLURM_CONTAINER_OCI ? "oci" : "pyxis");
    if (slurm_in_bundle(job) && job->plan->launcher == SW_LAUNCHER_MPI) {
        sw_fail(err, SW_E_UNSUPPORTED, "Slurm does not tell the processes of an OCI bundle their MPI "
                "ranks");
        return sw_hint(err, "use an image with Pyxis, or `launcher: torchrun`");
    }
    if (parts_of(job, &parts, err) < 0 || slurm_mounts_check(&parts.mounts, err) < 0)
        return -1;
    container = (struct slurm_container){ .image = &parts.image, .bundle = parts.bundle,
        .mounts_from = parts.mounts.count > 0 ? "SLIPWAY_MOUNTS" : NULL };
    return slurm_container_check(&container, err);
}

/* ---- the batch script --------------------------------------------------------------------------- */

int slurm_container_prepare(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(parts) struct slurm_container_parts parts = { 0 };
    const struct slurm_cache cache = slurm_cache_of(job);
    /* A folder of its own for converted images is there to be shared; one in ours is not. */
    bool common = job->plan->image && job->options.sqsh_cache_dir;

    if (slurm_path_check("sqsh_cache_dir", cache.folder, err) < 0 || parts_of(job, &parts, err) < 0)
        return -1;
    if (common)
        sw_buf_add(out, "umask 022\n");
    slurm_image_prepare(out, &parts.image, &cache, "slipway_give_up 78 image-error");
    if (common)
        sw_buf_add(out, "umask \"$slipway_umask\"\n");
    return 0;
}

static char *host_mounts(const struct slurm_job *job)
{
    sw_autofree char *site = slurm_joined(job->options.container_mounts);

    return sw_format("%s:%s%s%s", job->names.base, job->names.base, site ? "," : "",
                     site ? site : "");
}

static enum slurm_said said(bool value)
{
    return value ? SLURM_YES : SLURM_NO;
}

/* What every container gets besides the image's own environment. */
char *slurm_container_names(const struct slurm_job *job)
{
    sw_autofree char *more = slurm_joined(job->options.container_env);
    sw_autofree char *ours = sw_job_env_names();

    return sw_format("%s%s%s%s", ours,
                     slurm_in_bundle(job) ? "," BUNDLE_VARIABLES : "", more ? "," : "",
                     more ? more : "");
}

int slurm_container_step(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const struct slurm_job_options *options = &job->options;
    sw_auto(parts) struct slurm_container_parts parts = { 0 };
    sw_autofree char *mounts = host_mounts(job), *env = slurm_container_names(job);
    struct slurm_container container;

    if (parts_of(job, &parts, err) < 0)
        return -1;
    container = (struct slurm_container){
        .image = &parts.image, .bundle = parts.bundle, .mounts = mounts, .env = env,
        .results_from = slurm_mounts_results(job) ? "slipway_results" : NULL,
        .mounts_from = parts.mounts.count > 0 ? "SLIPWAY_MOUNTS" : NULL,
        .mount_home = said(options->mount_home),
        .remap_root = said(options->remap_root),
        .entrypoint = said(options->image_entrypoint),
        .writable = said(options->container_writable),
    };
    slurm_container_flags(out, &container);
    return 0;
}

/* ---- mounts ------------------------------------------------------------------------------------- */

static struct slurm_mounts_site site_of(const struct slurm_job *job, const char *cache)
{
    return (struct slurm_mounts_site){ .cache = cache, .own = job->names.work, .list = job->names.mounts,
        .check = job->options.check, .limit_s = 600,
        .patience = { .wait_s = 800 } };
}

int slurm_mounts_script(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(parts) struct slurm_container_parts parts = { 0 };
    sw_autofree char *cache = sw_format("%s/.cache/git", job->names.base);
    const struct slurm_mounts_site site = site_of(job, cache);

    if (parts_of(job, &parts, err) < 0)
        return -1;
    /* A later attempt runs the same commits, whatever the branch is now. */
    sw_buf_add(out, "[ ! -s ");
    sw_buf_add_quoted(out, job->names.mounts);
    sw_buf_add(out, " ] || exit 0\numask 077\n");
    sw_text_once(out);
    slurm_mounts_stage(out, &parts.mounts, &site);
    return 0;
}

int slurm_mounts_shown(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(parts) struct slurm_container_parts parts = { 0 };
    sw_autofree char *cache = sw_format("%s/.cache/git", job->names.base);
    const struct slurm_mounts_site site = site_of(job, cache);

    if (parts_of(job, &parts, err) < 0)
        return -1;
    slurm_mounts_describe(out, &parts.mounts, &site);
    return 0;
}

/* ---- retry -------------------------------------------------------------------------------------- */

int slurm_job_retry(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_autofree char *exclude = slurm_joined(job->options.exclude);
    const struct slurm_retry retry = {
        .script = job->names.sbatch, .name = job->names.job_name, .comment = job->names.comment,
        .exclude = exclude, .rules = job->plan->rules ? job->names.rules : NULL,
        .retry = job->plan->retry, .checkpoint = job->plan->checkpoint,
        .first = job->attempt, .gpus = job->shape.gpus,
    };

    return slurm_retry_text(out, &retry, err);
}
