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

struct wanted {
    struct slurm_image image;
    const char *bundle;            /* borrowed */
    struct sw_mounts mounts;
};

static void wanted_done(struct wanted *wanted)
{
    slurm_image_done(&wanted->image);
    sw_mounts_done(&wanted->mounts);
}
static inline void wanted_auto(struct wanted *wanted) { wanted_done(wanted); }

bool slurm_in_bundle(const struct sw_plan *plan)
{
    return plan->image && sw_text_same(sw_json_str(plan->options, "container"), "oci");
}

static int wanted_of(const struct sw_plan *plan, struct wanted *out, struct sw_error *err)
{
    bool bundle = slurm_in_bundle(plan);
    bool none = sw_text_same(sw_json_str(plan->options, "container"), "none");

    out->bundle = bundle ? plan->image : NULL;
    return slurm_image_parse(bundle || none ? NULL : plan->image, &out->image, err) < 0 ||
                   sw_mounts_parse(plan->mounts, &out->mounts, err) < 0 ? -1 : 0;
}

/* ---- checked before anything is sent ---------------------------------------------------------- */

int slurm_container_preflight(const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(wanted) struct wanted wanted = { 0 };
    const char *how = sw_json_str(plan->options, "container");
    struct slurm_container container;

    if (!plan->image && (sw_text_same(how, "pyxis") || sw_text_same(how, "oci")))
        return sw_fail(err, SW_E_SPEC, "slurm.container is '%s' and the job names no image", how);
    if (slurm_in_bundle(plan) && plan->launcher == SW_LAUNCHER_MPI) {
        sw_fail(err, SW_E_UNSUPPORTED, "Slurm does not tell the processes of an OCI bundle their MPI "
                "ranks");
        return sw_hint(err, "use an image with Pyxis, or `launcher: torchrun`");
    }
    if (wanted_of(plan, &wanted, err) < 0 || slurm_mounts_check(&wanted.mounts, err) < 0)
        return -1;
    container = (struct slurm_container){ .image = &wanted.image, .bundle = wanted.bundle,
        .mounts_from = wanted.mounts.count > 0 ? "SLIPWAY_MOUNTS" : NULL };
    return slurm_container_check(&container, err);
}

/* ---- the batch script --------------------------------------------------------------------------- */

int slurm_container_prepare(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(wanted) struct wanted wanted = { 0 };
    const struct slurm_cache cache = slurm_cache_of(job);
    /* A folder of its own for converted images is there to be shared; one in ours is not. */
    bool common = job->plan->image && sw_json_str(job->plan->options, "sqsh_cache_dir");

    if (slurm_path_check("sqsh_cache_dir", cache.folder, err) < 0 || wanted_of(job->plan, &wanted, err) < 0)
        return -1;
    if (common)
        sw_buf_add(out, "umask 022\n");
    slurm_image_prepare(out, &wanted.image, &cache, "slipway_give_up 78 image-error "
                        "\"\\\"the image could not be had\\\"\"");
    if (common)
        sw_buf_add(out, "umask \"$slipway_umask\"\n");
    if (wanted.mounts.count > 0)
        slurm_mounts_load(out, job->names->mounts, "slipway_give_up 66 exit "
                          "\"\\\"the list of mounts is gone\\\"\"");
    return 0;
}

static char *host_mounts(const struct slurm_job *job)
{
    sw_autofree char *site = slurm_joined(job->plan->options, "container_mounts");

    return sw_format("%s:%s%s%s", job->names->base, job->names->base, site ? "," : "",
                     site ? site : "");
}

static enum slurm_said said(const json_t *options, const char *key, bool missing)
{
    return sw_json_bool(options, key, missing) ? SLURM_YES : SLURM_NO;
}

/* What every container gets besides the image's own environment. */
char *slurm_container_names(const struct slurm_job *job)
{
    sw_autofree char *more = slurm_joined(job->plan->options, "container_env");
    sw_autofree char *ours = sw_job_env_names();

    return sw_format("%s%s%s%s", ours,
                     slurm_in_bundle(job->plan) ? "," BUNDLE_VARIABLES : "", more ? "," : "",
                     more ? more : "");
}

int slurm_container_step(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const json_t *options = job->plan->options;
    sw_auto(wanted) struct wanted wanted = { 0 };
    sw_autofree char *mounts = host_mounts(job), *env = slurm_container_names(job);
    struct slurm_container container;

    if (wanted_of(job->plan, &wanted, err) < 0)
        return -1;
    container = (struct slurm_container){
        .image = &wanted.image, .bundle = wanted.bundle, .mounts = mounts, .env = env,
        .results_from = slurm_mounts_results(job->plan) ? "slipway_results" : NULL,
        .mounts_from = wanted.mounts.count > 0 ? "SLIPWAY_MOUNTS" : NULL,
        .mount_home = said(options, "mount_home", false),
        .remap_root = said(options, "remap_root", false),
        .entrypoint = said(options, "image_entrypoint", false),
        .writable = said(options, "container_writable", true),
    };
    slurm_container_flags(out, &container);
    return 0;
}

/* ---- mounts ------------------------------------------------------------------------------------- */

static struct slurm_mounts_site site_of(const struct slurm_job *job, const char *cache)
{
    return (struct slurm_mounts_site){ .cache = cache, .own = job->names->work, .list = job->names->mounts,
        .check = sw_json_bool(job->plan->options, "check", true), .limit_s = 600,
        .patience = { .wait_s = 800 } };
}

int slurm_mounts_script(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(wanted) struct wanted wanted = { 0 };
    sw_autofree char *cache = sw_format("%s/.cache/git", job->names->base);
    const struct slurm_mounts_site site = site_of(job, cache);

    if (wanted_of(job->plan, &wanted, err) < 0)
        return -1;
    /* A later attempt runs the same commits, whatever the branch is now. */
    sw_buf_add(out, "[ ! -s ");
    sw_buf_add_quoted(out, job->names->mounts);
    sw_buf_add(out, " ] || exit 0\numask 077\n");
    sw_text_once(out);
    slurm_mounts_stage(out, &wanted.mounts, &site);
    return 0;
}

int slurm_mounts_shown(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(wanted) struct wanted wanted = { 0 };
    sw_autofree char *cache = sw_format("%s/.cache/git", job->names->base);
    const struct slurm_mounts_site site = site_of(job, cache);

    if (wanted_of(job->plan, &wanted, err) < 0)
        return -1;
    slurm_mounts_describe(out, &wanted.mounts, &site);
    return 0;
}

/* ---- retry -------------------------------------------------------------------------------------- */

int slurm_job_retry(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_autofree char *exclude = slurm_joined(job->plan->options, "exclude");
    const struct slurm_retry retry = {
        .record = "$slipway_own/attempts",
        .out = "$slipway_logs/main${slipway_task:+.$slipway_task}.out",
        .err = "$slipway_logs/main${slipway_task:+.$slipway_task}.err",
        .canceled = "$slipway_state/canceled",
        .script = job->names->sbatch, .name = job->names->job_name,
        .comment = job->names->comment, .exclude = exclude,
        .rules = job->plan->rules ? job->names->rules : NULL,
        .retry = job->plan->retry, .checkpoint = job->plan->checkpoint,
        .first = job->attempt, .gpus = job->shape->gpus,
    };

    sw_text_once(out);
    return slurm_retry_text(out, &retry, err);
}
