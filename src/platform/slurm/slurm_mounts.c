/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_mounts.c - entries of `mounts:` as calls of the functions in mounts.sh.
 *
 * Pure: no I/O.
 */
#include "platform/slurm/slurm_mounts.h"

#include <string.h>

#include "base/text.h"
#include "plan/mounts.h"

int slurm_mounts_check(const struct sw_mounts *mounts, struct sw_error *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        const struct sw_mount *mount = &mounts->items[i];

        if (mount->kind == SW_MOUNT_GIT || *mount->source == '/')
            continue;
        sw_fail(err, SW_E_SPEC, "mount '%s': that is a path of this machine, not of the cluster",
                mount->source);
        return sw_hint(err, "give its absolute path on the shared file system, or let it travel "
                            "with 'code:'");
    }
    return 0;
}

/* Shared by all jobs that want the commit, so it is read-only unless the entry says otherwise. */
static char *git_flags(const struct sw_mount *mount)
{
    if (sw_mount_says(mount, "rw") || sw_mount_says(mount, "ro"))
        return sw_strdup(mount->flags);
    return mount->flags ? sw_format("ro+%s", mount->flags) : sw_strdup("ro");
}

static void add_git(struct sw_buf *out, const struct sw_mount *mount, const char *folder)
{
    sw_autofree char *name = sw_mount_clone_name(mount), *flags = git_flags(mount);
    sw_autofree char *own = sw_mount_own(mount, folder);
    const char *words[] = { mount->source, mount->ref,
                            sw_mount_is_commit(mount) ? mount->ref : "", name, mount->target,
                            flags, own };

    slurm_call_add(out, "sw_mount_git", words, SW_COUNT(words));
}

static void add_path(struct sw_buf *out, const struct sw_mount *mount, bool check)
{
    const char *words[] = { mount->source, mount->target, mount->flags };

    slurm_call_add(out, check ? "sw_mount" : "sw_mount_unseen", words, SW_COUNT(words));
}

void slurm_mounts_stage(struct sw_buf *out, const struct sw_mounts *mounts,
                        const struct slurm_mounts_site *site)
{
    if (mounts->count == 0)
        return;
    slurm_set(out, "SW_GIT_CACHE", site->cache);
    slurm_set_number(out, "SW_GIT_LIMIT", site->limit_s > 0 ? site->limit_s : 600);
    slurm_set(out, "SW_MOUNTS", "");
    slurm_set(out, "SW_MOUNTS_FILE", site->list);
    slurm_set_patience(out, &site->patience);
    sw_text_mounts(out);
    for (size_t i = 0; i < mounts->count; i++) {
        if (mounts->items[i].kind == SW_MOUNT_GIT)
            add_git(out, &mounts->items[i], site->own);
        else
            add_path(out, &mounts->items[i], site->check);
    }
    sw_buf_add(out, "sw_mounts_keep\n");
}

void slurm_mounts_describe(struct sw_buf *out, const struct sw_mounts *mounts,
                           const struct slurm_mounts_site *site)
{
    for (size_t i = 0; i < mounts->count; i++) {
        const struct sw_mount *mount = &mounts->items[i];
        sw_autofree char *name = mount->kind == SW_MOUNT_GIT ? sw_mount_clone_name(mount) : NULL;

        if (name)
            sw_buf_addf(out, "%s at %s, cloned once into %s/%s-%s, mounted at %s%s\n",
                        mount->source, mount->ref, site->cache, name,
                        sw_mount_is_commit(mount) ? mount->ref : "COMMIT", mount->target,
                        sw_mount_is_writable(mount) ? ", a copy of the job's own" : " (read-only)");
        else
            sw_buf_addf(out, "%s mounted at %s%s\n", mount->source, mount->target,
                        sw_mount_is_writable(mount) ? "" : " (read-only)");
    }
}
