/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_mounts.c - what of the engine's files a container sees: results, the user's mounts, inputs
 * and outputs that are paths here. Pure.
 *
 * All are of the kind that the engine refuses when the source is missing on its side (the older form
 * would silently make an empty folder there).
 */
#include "platform/docker/docker_job.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/mount.h"
#include "plan/entrypoint.h"

static json_t *bind(const char *source, const char *target, bool read_only)
{
    return sw_json_object(SW_STR("Type", "bind"), SW_STR("Source", source),
                          SW_STR("Target", target),
                          SW_SUB("ReadOnly", read_only ? json_true() : NULL));
}

void docker_render_marks(json_t *labels, const struct sw_plan *plan)
{
    if (!plan->store_id)
        return;
    json_object_set_new(labels, LABEL_STORE, sw_json_text(plan->store_id));
    json_object_set_new(labels, LABEL_UID, json_sprintf("%ld", plan->owner_uid));
}

json_t *docker_render_volume(const char *name, const char *target, bool read_only,
                             const struct sw_plan *plan)
{
    json_t *labels = plan ? sw_json_object(SW_STR(LABEL_ID, plan->job_id)) : NULL;

    if (plan)
        docker_render_marks(labels, plan);
    return sw_json_object(
        SW_STR("Type", "volume"), SW_STR_OPT("Source", name), SW_STR("Target", target),
        SW_SUB("ReadOnly", read_only ? json_true() : NULL),
        SW_SUB("VolumeOptions", labels ? sw_json_object(SW_SUB("Labels", labels)) : NULL));
}

/* ---- the user's ------------------------------------------------------------------------------ */

/* A name instead of a path is one of the engine's volumes. */
static bool is_volume(const struct sw_mount *mount)
{
    return mount->kind == SW_MOUNT_PATH && !strchr(mount->source, '/') &&
           *mount->source != '.' && *mount->source != '~';
}

char *docker_clone_volume(const char *id, size_t index)
{
    return sw_format("slipway-%s-mount-%zu", id, index);
}

bool docker_is_clone_volume(const char *id, const char *name)
{
    sw_autofree char *first = docker_clone_volume(id, 0);

    return strncmp(name, first, strlen(first) - 1) == 0;
}

/* What the engine binds, owned. A repository that is not cloned yet is only named. */
static char *source_of(const struct sw_mount *mount, const struct sw_plan *plan,
                       const json_t *clones)
{
    const char *clone = sw_json_str(clones, mount->target);

    if (mount->kind == SW_MOUNT_GIT)
        return clone ? sw_strdup(clone) : sw_format("git+%s@%s", mount->source, mount->ref);
    if (is_volume(mount))
        return sw_strdup(mount->source);
    return sw_text_starts(mount->source, "~/") ? sw_path_home(mount->source + 2)
                                               : sw_path_absolute(mount->source, plan->base_dir);
}

static int check_mount(const struct sw_mount *mount, const char *source,
                       const struct docker_site *site, struct sw_error *err)
{
    if (mount->kind == SW_MOUNT_PATH && !site->local && !is_volume(mount) &&
        *mount->source != '/') {
        sw_fail(err, SW_E_SPEC, "mount '%s' is a path of this machine, and the engine is on another "
                                "one", mount->source);
        return sw_hint(err, "write the absolute path on that machine");
    }
    if (mount->flags && strcmp(mount->flags, "ro") != 0 && strcmp(mount->flags, "rw") != 0) {
        sw_fail(err, SW_E_SPEC, "mount '%s:%s:%s': its last part is not ro or rw", source,
                mount->target, mount->flags);
        return sw_hint(err, "write SOURCE:TARGET or SOURCE:TARGET:ro, such as /data:/data:ro");
    }
    return 0;
}

/* A repository reaches an engine elsewhere as a volume (docker_git_mounts.c). */
static json_t *user_mount(const struct sw_mount *mount, size_t index, const char *source,
                          const struct sw_plan *plan, const struct docker_site *site)
{
    bool read_only = !sw_mount_is_writable(mount);

    if (mount->kind == SW_MOUNT_GIT && !site->local) {
        sw_autofree char *name = docker_clone_volume(plan->job_id, index);

        return docker_render_volume(name, mount->target, read_only, plan);
    }
    return is_volume(mount) ? docker_render_volume(source, mount->target, read_only, NULL)
                            : bind(source, mount->target, read_only);
}

static int add_users(const struct sw_plan *plan, const struct docker_site *site, json_t *mounts,
                     struct sw_error *err)
{
    sw_auto(sw_mounts) struct sw_mounts all = { 0 };

    if (sw_mounts_parse(plan->mounts, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < all.count; i++) {
        const struct sw_mount *one = &all.items[i];
        sw_autofree char *source = source_of(one, plan, site->clones);

        if (check_mount(one, source, site, err) < 0)
            return -1;
        json_array_append_new(mounts, user_mount(one, i, source, plan, site));
    }
    return 0;
}

/* The mount at /results, if it can be written to; into `out`, which is the caller's to release. */
static bool find_own_results(const struct sw_plan *plan, struct sw_mount *out)
{
    sw_auto(sw_mounts) struct sw_mounts all = { 0 };

    if (sw_mounts_parse(plan->mounts, &all, NULL) < 0)
        return false;
    for (size_t i = 0; i < all.count; i++)
        if (all.items[i].kind == SW_MOUNT_PATH && sw_mount_is_writable(&all.items[i]) &&
            strcmp(all.items[i].target, DOCKER_RESULTS) == 0) {
            *out = all.items[i];
            all.items[i] = (struct sw_mount){ 0 };
            return true;
        }
    return false;
}

bool docker_has_own_results(const struct sw_plan *plan)
{
    sw_auto(sw_mount) struct sw_mount mount = { 0 };

    return find_own_results(plan, &mount);
}

char *docker_own_results(const struct sw_plan *plan)
{
    sw_auto(sw_mount) struct sw_mount mount = { 0 };

    return find_own_results(plan, &mount) && !is_volume(&mount) ? source_of(&mount, plan, NULL)
                                                                : NULL;
}

/* ---- inputs and outputs that are paths here -------------------------------------------------- */

/* Owned absolute path for a plain path or file://; NULL: it lies elsewhere. */
static char *path_here(const char *uri, const char *base_dir)
{
    const char *path = sw_text_starts(uri, "file://") ? uri + strlen("file://") : uri;

    if (path == uri && strstr(uri, "://"))
        return NULL;
    return sw_text_starts(path, "~/") ? sw_path_home(path + 2) : sw_path_absolute(path, base_dir);
}

static char *inside(const char *folder, size_t index)
{
    return sw_format("%s/%s-%zu", DOCKER_HOME, folder, index);
}

static json_t *inputs_inside(const struct sw_plan *plan)
{
    json_t *left = json_array();
    size_t i;
    json_t *entry;

    json_array_foreach(plan->inputs, i, entry) {
        sw_autofree char *from = path_here(sw_json_str(entry, "from"), plan->base_dir);
        sw_autofree char *at = inside("input", i);
        json_t *seen;

        if (from && *sw_json_str(entry, "path") == '/')
            continue;                          /* it is mounted there */
        seen = json_deep_copy(entry);
        if (from)
            json_object_set_new(seen, "from", sw_json_text(at));
        json_array_append_new(left, seen);
    }
    return left;
}

/* A destination that is a folder here, with the job's id filled in; owned; NULL: it is none. */
static char *destination(const json_t *output, const struct sw_plan *plan)
{
    const char *to = sw_json_str(output, "to");
    sw_autofree char *path = to ? path_here(to, plan->base_dir) : NULL;

    return path ? sw_fill_destination(path, plan->job_id) : NULL;
}

static const struct docker_local {  /* inputs and outputs that are paths here */
    const char *name, *hint;
    bool is_input;
} local_inputs = {
    "input", "put it into a store (s3://, https://), or mount a folder of the engine's machine with "
             "docker.mounts", true
}, local_outputs = { "output", "leave `to` out and fetch it with `slipway get`, or name a store", false };

static int add_local(const struct sw_plan *plan, const struct docker_site *site,
                     const struct docker_local *kind, json_t *mounts, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(kind->is_input ? plan->inputs : plan->outputs, i, entry) {
        const char *to = sw_json_str(entry, "path");
        const char *from = sw_json_str(entry, "from");
        sw_autofree char *here = kind->is_input ? path_here(from, plan->base_dir)
                                                : destination(entry, plan);
        sw_autofree char *at = kind->is_input && *to == '/' ? sw_strdup(to) : inside(kind->name, i);

        if (here && !site->local) {
            sw_fail(err, SW_E_SPEC, "%s '%s' is a path of this machine, and the engine is on "
                    "another one", kind->name, here);
            return sw_hint(err, "%s", kind->hint);
        }
        if (here)
            json_array_append_new(mounts, bind(here, at, kind->is_input));
    }
    return 0;
}

void docker_paths_inside(struct sw_payload *payload, const struct sw_plan *plan)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    size_t i;
    json_t *entry;

    json_decref(payload->inputs);
    payload->inputs = inputs_inside(plan);

    json_array_foreach(plan->outputs, i, entry) {
        sw_autofree char *to = destination(entry, plan), *at = inside("output", i);

        if (to)
            json_object_set_new(json_array_get(payload->outputs, i), "to", sw_json_text(at));
    }
    if (plan->nodes > 1 && sw_mounts_parse(plan->mounts, &mounts, NULL) == 0)
        sw_entrypoint_mark_own(payload->outputs, NULL, &mounts);
}

json_t *docker_output_folders(const struct sw_plan *plan)
{
    json_t *folders = json_array();
    size_t i;
    json_t *entry;

    json_array_foreach(plan->outputs, i, entry) {
        sw_autofree char *to = destination(entry, plan);

        if (to)
            json_array_append_new(folders, sw_json_text(to));
    }
    return folders;
}

/* ---- all ------------------------------------------------------------------------------------- */

json_t *docker_mounts(const struct sw_plan *plan, const struct docker_site *site,
                      struct sw_error *err)
{
    sw_auto(json) json_t *mounts = json_array();
    sw_autofree char *name = docker_volume_name(plan->job_id);
    sw_autofree char *end = docker_end_volume(plan->job_id);

    if (docker_job_options(plan->options).read_only)     /* the rest of it takes no archive */
        json_array_append_new(mounts, docker_render_volume(NULL, DOCKER_HOME, false, NULL));
    json_array_append_new(mounts, site->ends ? bind(site->ends, DOCKER_ENDS, false)
                                             : docker_render_volume(end, DOCKER_ENDS, false, plan));
    if (!docker_has_own_results(plan))
        json_array_append_new(mounts, site->results ? bind(site->results, DOCKER_RESULTS, false)
                                      : docker_render_volume(name, DOCKER_RESULTS, false, plan));
    if (add_users(plan, site, mounts, err) < 0 ||
        add_local(plan, site, &local_inputs, mounts, err) < 0 ||
        add_local(plan, site, &local_outputs, mounts, err) < 0)
        return NULL;
    return sw_take(mounts);
}
