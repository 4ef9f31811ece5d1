/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_git_mounts.c - the repositories among a job's mounts: cloned on this machine, once for each
 * commit, and shown to the containers.
 *
 * An engine that sees our files binds the clone, or the job's own copy where it may write. To any other it
 * is sent, into a volume of the job that all ranks share: through a container that is never started, since
 * nothing may be put into a volume that is mounted read-only, as the job's is. It is filled before the job's
 * containers are made, so a volume that one of them has is whole.
 */
#include "platform/docker/docker_job.h"

#include "base/file.h"
#include "base/text.h"
#include "plan/bundle.h"
#include "plan/mounts.h"

#define MOST_BYTES  (INT64_C(512) * 1024 * 1024)

static int pack(const char *folder, struct sw_bundle *out, struct sw_error *err)
{
    const struct sw_bundle_rules rules = { .root = folder, .whole = true, .most_bytes = MOST_BYTES };
    sw_auto(sw_bundle_list) struct sw_bundle_list list = { 0 };

    if (sw_bundle_select(&rules, &list, err) == 0)
        return sw_bundle_pack(folder, &list, out, err);
    return sw_hint(err, "clone it on the engine's machine and mount the folder");
}

int docker_forget_clone(struct docker_api *api, const char *volume, struct sw_error *err)
{
    /* The container that fills it has its name, and is still there when a client died over it. */
    docker_delete(api, volume, false, NULL);
    return docker_forget(api, sw_rest_path("/volumes/%s", volume), err);
}

/* 1: a container of the job has it, so it is whole; 0: it is not there any more; -1 + err. */
static int begin_again(struct docker_api *api, const char *volume, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (docker_forget_clone(api, volume, &why) == 0)
        return 0;
    if (why.code == SW_E_CONFLICT)
        return 1;
    return sw_pass(err, &why);
}

static int send_clone(struct docker_sending *s, const struct sw_mount *mount, const char *folder,
                      const char *volume, struct sw_error *err)
{
    sw_auto(sw_bundle) struct sw_bundle bundle = { 0 };
    int whole = begin_again(s->api, volume, err);

    if (whole > 0 || (whole == 0 && pack(folder, &bundle, err) == 0 &&
                      docker_fill_volume(s, volume, docker_render_volume(volume, DOCKER_FILL, false, s->plan),
                                         bundle.bytes, bundle.length, err) == 0))
        return 0;
    return sw_wrap(err, "cannot send the repository '%s' to the engine", mount->source);
}

int docker_clone_repositories(struct docker_sending *s, struct sw_error *err)
{
    sw_autofree char *cache = sw_path_join(docker_of(s->conn)->state_dir, "git");
    sw_autofree char *own = sw_format("%s/%s/mounts", docker_of(s->conn)->root, s->plan->job_id);
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };

    if (sw_mounts_parse(s->plan->mounts, &mounts, err) < 0)
        return -1;
    s->clones = json_object();
    for (size_t i = 0; i < mounts.count; i++) {
        const struct sw_mount *mount = &mounts.items[i];
        sw_autofree char *folder = NULL, *volume = docker_clone_volume(s->plan->job_id, i);

        if (mount->kind != SW_MOUNT_GIT)
            continue;
        folder = sw_mount_clone(mount, cache, s->site.local ? own : NULL, err);
        if (!folder || (!s->site.local && send_clone(s, mount, folder, volume, err) < 0))
            return -1;
        json_object_set_new(s->clones, mount->target, sw_json_text(folder));
    }
    s->site.clones = s->clones;
    return 0;
}

int docker_forget_clones(struct docker_api *api, const char *id, const json_t *entries,
                         struct sw_error *err)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };

    if (sw_mounts_parse(entries, &mounts, NULL) < 0)
        return 0;
    for (size_t i = 0; i < mounts.count; i++) {
        sw_autofree char *volume = docker_clone_volume(id, i);

        if (mounts.items[i].kind == SW_MOUNT_GIT && docker_forget_clone(api, volume, err) < 0)
            return -1;
    }
    return 0;
}
