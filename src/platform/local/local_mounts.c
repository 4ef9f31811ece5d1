/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_mounts.c - `mounts:` on a machine without containers: inputs by another name.
 *
 * A mounted folder is a link in the job's folder, and every mention of its target is rewritten, as
 * with inputs (docs/decisions/0005-container-paths-on-local.md). A repository is cloned into
 * <state_dir>/git first. Nothing keeps the job from writing there: "ro" is for containers.
 *
 * The three functions stand before those of the same work that know nothing of mounts.
 */
#include "platform/local/local_internal.h"

#include "plan/mounts.h"

enum wish { SHOW, CHECK, HAVE };

/* Where it comes from, owned. Until it is had, a repository is only named. */
static char *source_of(const struct sw_mount *mount, const char *cache, const char *folder,
                       enum wish wish, struct sw_error *err)
{
    sw_autofree char *name = NULL, *own = NULL;

    if (mount->kind == SW_MOUNT_PATH)
        return sw_strdup(mount->source);
    if (wish == HAVE)
        return sw_mount_clone(mount, cache, folder, err);
    own = sw_mount_own(mount, folder);
    if (own)
        return sw_take(own);
    name = sw_mount_clone_name(mount);
    return sw_format("%s/%s-%s", cache, name, sw_mount_is_commit(mount) ? mount->ref : "COMMIT");
}

/* The same plan, with mounts among its inputs. Only `inputs` is owned. */
static int with_mounts(const struct sw_connection *link, const struct sw_plan *plan, enum wish wish,
                       struct sw_plan *here, struct sw_error *err)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    sw_autofree char *cache = sw_format("%s/git", link->state_dir);
    sw_autofree char *folder = sw_format("%s/%s/mounts", link->root, plan->job_id);
    sw_auto(json) json_t *inputs = plan->inputs ? json_deep_copy(plan->inputs) : json_array();

    *here = *plan;
    here->inputs = NULL;
    if (sw_mounts_parse(plan->mounts, &mounts, err) < 0)
        return -1;
    for (size_t i = 0; i < mounts.count; i++) {
        sw_autofree char *source = NULL;

        if (wish == CHECK && mounts.items[i].kind == SW_MOUNT_GIT)
            continue;
        source = source_of(&mounts.items[i], cache, folder, wish, err);
        if (!source)
            return -1;
        json_array_append_new(inputs, sw_json_object(SW_STR("path", mounts.items[i].target),
                                                     SW_STR("from", source)));
    }
    here->inputs = sw_take(inputs);
    return 0;
}

json_t *local_mounts_render(struct sw_connection *link, const struct sw_plan *plan, struct sw_error *err)
{
    struct sw_plan here;
    json_t *shown = with_mounts(link, plan, SHOW, &here, err) < 0 ? NULL
                                                                  : local_render(link, &here, err);

    json_decref(here.inputs);
    return shown;
}

int local_mounts_preflight(struct sw_connection *link, const struct sw_plan *plan, struct sw_error *err)
{
    struct sw_plan here;
    int result = with_mounts(link, plan, CHECK, &here, err);

    if (result == 0)
        result = local_preflight(link, &here, err);
    json_decref(here.inputs);
    return result;
}

int local_mounts_submit(struct sw_connection *link, const struct sw_plan *plan, int attempt,
                        const struct sw_secrets *secrets, struct sw_submission *receipt,
                        struct sw_error *err)
{
    struct sw_plan here;
    int result = with_mounts(link, plan, HAVE, &here, err);

    if (result == 0)
        result = local_submit(link, &here, attempt, secrets, receipt, err);
    json_decref(here.inputs);
    return result;
}
