/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_container.c - the plan's image and mounts in Slurm's terms: what is checked, what the batch
 * script does before the step, the step's flags, and what is made sure of at submit.
 *
 * Plain folders go to --container-mounts as they are. A repository's commit is known only when the login
 * node has asked, so staging (mounts.sh) writes the whole list into a file, and the batch script reads it.
 *
 * Pure.
 */
#include "platform/slurm/slurm_internal.h"

#include <string.h>

#include "base/text.h"
#include "core/job_env.h"
#include "plan/mounts.h"
#include "plan/paths.h"
#include "platform/slurm/slurm_image.h"

/* Into an OCI bundle Slurm brings what srun exports, instead of the bundle's own values: no more than
 * these, so that PATH and HOME stay the image's. */
#define BUNDLE_VARIABLES "slipway_runner,slipway_own,slipway_logs,slipway_task,slipway_hosts," \
                         "CUDA_VISIBLE_DEVICES"

bool slurm_in_bundle(const struct slurm_job *job)
{
    return job->plan->image && job->options.container == SLURM_CONTAINER_OCI;
}

/* The image that Pyxis runs; of a job on the node itself or in a bundle there is none. */
static int image_of(const struct slurm_job *job, struct slurm_image *out, struct sw_error *err)
{
    return slurm_image_parse(slurm_has_own_root(job) ? job->plan->image : NULL, out, err);
}

/* ---- checked before anything is sent ---------------------------------------------------------- */

/* What a cluster cannot mount: paths of the client's machine. */
int slurm_mounts_check(const struct sw_mounts *mounts, struct sw_error *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        const struct sw_mount *mount = &mounts->items[i];

        if (mount->kind == SW_MOUNT_GIT || *mount->source == '/')
            continue;
        sw_fail(err, SW_E_SPEC, "mount '%s': that is a path of this machine, not of the cluster",
                mount->source);
        return sw_hint(err, "give its absolute path on the shared file system, or send it with 'code:'");
    }
    return 0;
}

static int check_bundle(const struct slurm_job *job, struct sw_error *err)
{
    const char *bundle = job->plan->image;

    if (job->plan->launcher == SW_LAUNCHER_MPI) {
        sw_fail(err, SW_E_UNSUPPORTED, "Slurm gives the processes of an OCI bundle no MPI ranks");
        return sw_hint(err, "use an image with Pyxis, or `launcher: torchrun`");
    }
    if (*bundle != '/' || !slurm_has_only(bundle, "/._-+@=:"))
        return sw_fail(err, SW_E_SPEC, "'%s' is not the absolute path of an OCI bundle", bundle);
    if (json_array_size(job->plan->mounts) == 0)
        return 0;
    sw_fail(err, SW_E_UNSUPPORTED, "Slurm cannot mount anything into an OCI bundle");
    return sw_hint(err, "write the mounts into the bundle's config.json, or use an image");
}

int slurm_container_preflight(const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    enum slurm_container_kind how = job->options.container;

    if (!job->plan->image && (how == SLURM_CONTAINER_PYXIS || how == SLURM_CONTAINER_OCI))
        return sw_fail(err, SW_E_SPEC, "slurm.container is '%s' and the job names no image",
                       how == SLURM_CONTAINER_OCI ? "oci" : "pyxis");
    if (sw_mounts_parse(job->plan->mounts, &mounts, err) < 0 || slurm_mounts_check(&mounts, err) < 0)
        return -1;
    if (slurm_in_bundle(job))
        return check_bundle(job, err);
    if (image_of(job, &image, err) < 0)
        return -1;
    if (image.kind != SLURM_IMAGE_NONE || mounts.count == 0)
        return 0;
    sw_fail(err, SW_E_UNSUPPORTED, "without a container nothing can be mounted");
    return sw_hint(err, "set 'image:', or use the path on the cluster itself");
}

/* ---- the batch script --------------------------------------------------------------------------- */

int slurm_container_prepare(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    const struct slurm_cache cache = slurm_cache_of(job);
    /* A folder of its own for converted images is there to be shared; one in ours is not. */
    bool common = job->plan->image && job->options.sqsh_cache_dir;

    if (slurm_path_check("sqsh_cache_dir", cache.folder, err) < 0 || image_of(job, &image, err) < 0)
        return -1;
    if (common)
        sw_buf_add(out, "umask 022\n");
    slurm_image_prepare(out, &image, &cache, "slipway_give_up 78 image-error");
    if (common)
        sw_buf_add(out, "umask \"$slipway_umask\"\n");
    return 0;
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

static void add_mounts(struct sw_buf *out, const struct slurm_job *job)
{
    sw_autofree char *site = slurm_joined(job->options.container_mounts);
    sw_autofree char *mounts = sw_format("%s:%s%s%s", job->names.base, job->names.base, site ? "," : "",
                                         site ? site : "");

    sw_buf_add(out, " --container-mounts=");
    sw_buf_add_quoted(out, mounts);
    if (slurm_mounts_results(job))
        sw_buf_add(out, ",\"$slipway_results\":" SW_RESULTS);
    if (json_array_size(job->plan->mounts) > 0)
        sw_buf_add(out, "\"${SLIPWAY_MOUNTS:+,$SLIPWAY_MOUNTS}\"");
}

int slurm_container_step(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const struct slurm_job_options *o = &job->options;
    const struct { const char *flag; bool said; } flags[] = {
        { "remap-root", o->remap_root }, { "mount-home", o->mount_home },
        { "entrypoint", o->image_entrypoint },
    };
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    sw_autofree char *env = slurm_container_names(job);

    if (slurm_in_bundle(job)) {
        sw_buf_add(out, " --container=");
        sw_buf_add_quoted(out, job->plan->image);
    }
    if (image_of(job, &image, err) < 0)
        return -1;
    if (image.kind == SLURM_IMAGE_NONE)
        return 0;
    sw_buf_add(out, " --container-image=\"$SLIPWAY_IMAGE\"");
    add_mounts(out, job);
    sw_buf_add(out, " --container-env=");
    sw_buf_add_quoted(out, env);
    for (size_t i = 0; i < SW_COUNT(flags); i++)
        sw_buf_addf(out, " --%scontainer-%s", flags[i].said ? "" : "no-", flags[i].flag);
    sw_buf_add(out, o->container_writable ? " --container-writable" : " --container-readonly");
    return 0;
}

/* ---- mounts ------------------------------------------------------------------------------------- */

enum { GIT_S = 600, GIT_WAIT_S = 800 };              /* one git command; for another submit's clone */

/* Shared by all jobs that want the commit, so it is read-only unless the entry says otherwise. */
static char *git_flags(const struct sw_mount *mount)
{
    if (sw_mount_says(mount, "rw") || sw_mount_says(mount, "ro"))
        return sw_strdup(mount->flags);
    return mount->flags ? sw_format("ro+%s", mount->flags) : sw_strdup("ro");
}

static void add_mount(struct sw_buf *out, const struct sw_mount *mount, const struct slurm_job *job)
{
    sw_autofree char *name = sw_mount_clone_name(mount), *flags = git_flags(mount);
    sw_autofree char *own = sw_mount_own(mount, job->names.work);

    if (mount->kind == SW_MOUNT_GIT)
        slurm_call_add(out, "sw_mount_git", (const char *const[]){
            mount->source, mount->ref, sw_mount_is_commit(mount) ? mount->ref : "", name, mount->target,
            flags, own }, 7);
    else
        slurm_call_add(out, job->options.check ? "sw_mount" : "sw_mount_unseen",
                       (const char *const[]){ mount->source, mount->target, mount->flags }, 3);
}

int slurm_mounts_script(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    sw_autofree char *cache = sw_format("%s/.cache/git", job->names.base);

    if (sw_mounts_parse(job->plan->mounts, &mounts, err) < 0)
        return -1;
    /* A later attempt runs the same commits, whatever the branch is now. */
    sw_buf_add(out, "[ ! -s ");
    sw_buf_add_quoted(out, job->names.mounts);
    sw_buf_add(out, " ] || exit 0\numask 077\n");
    slurm_set(out, "SW_GIT_CACHE", cache);
    slurm_set_number(out, "SW_GIT_LIMIT", GIT_S);
    slurm_set(out, "SW_MOUNTS", "");
    slurm_set(out, "SW_MOUNTS_FILE", job->names.mounts);
    slurm_set_patience(out, &(struct slurm_patience){ .wait_s = GIT_WAIT_S });
    sw_text_once(out);
    sw_text_mounts(out);
    for (size_t i = 0; i < mounts.count; i++)
        add_mount(out, &mounts.items[i], job);
    sw_buf_add(out, "sw_mounts_keep\n");
    return 0;
}

int slurm_mounts_shown(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };

    if (sw_mounts_parse(job->plan->mounts, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mounts.count; i++) {
        const struct sw_mount *mount = &mounts.items[i];
        sw_autofree char *name = mount->kind == SW_MOUNT_GIT ? sw_mount_clone_name(mount) : NULL;

        if (name)
            sw_buf_addf(out, "%s at %s, cloned once into %s/.cache/git/%s-%s, mounted at %s%s\n",
                        mount->source, mount->ref, job->names.base, name,
                        sw_mount_is_commit(mount) ? mount->ref : "COMMIT", mount->target,
                        sw_mount_is_writable(mount) ? ", a copy of the job's own" : " (read-only)");
        else
            sw_buf_addf(out, "%s mounted at %s%s\n", mount->source, mount->target,
                        sw_mount_is_writable(mount) ? "" : " (read-only)");
    }
    return 0;
}
