/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_orphans.c - what is left on this machine of jobs that no store knows.
 *
 * Everything listed is provably ours (our folder, our mark, our names, our user) and provably
 * without use: its supervisor's lock is free. Results are never removed here: a folder
 * keeps them unless they are empty. Nothing is touched while a job runs.
 */
#include "platform/local/local_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/id.h"
#include "platform/local/local_gpu.h"
#include "platform/local/local_tree.h"

enum { SWEEP_GRACE_MS = 2000 };

struct orphan_search {
    struct sw_connection *conn;
    bool (*known)(void *context, const char *id);
    void *context;
    bool remove;
    json_t *found;
};

static void note(struct orphan_search *search, const char *what, const char *where, const char *id)
{
    json_array_append_new(search->found, sw_json_object(SW_STR("what", what),
                                                        SW_STR("where", where),
                                                        SW_STR("job", id ? id : "")));
}

/* The exit record is written a moment before the lock is released. What another machine has begun may
 * run there. */
static bool runs(const char *folder)
{
    char host[128];

    return (local_lock_held(folder) && !local_has(folder, LOCAL_EXIT)) ||
           local_is_elsewhere(folder, host);
}

static bool any_attempt_runs(const struct orphan_search *search, const char *id)
{
    for (int n = local_newest_attempt(search->conn, id); n > 0; n--) {
        sw_autofree char *folder = local_attempt_folder(search->conn, id, n);

        if (runs(folder))
            return true;
    }
    return false;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* "<root>/ID/attempt-N" -> ID; false: not of that form. */
static bool id_of_folder(const struct orphan_search *search, const char *folder, char id[SW_ID_SIZE])
{
    const char *rest = folder + strlen(local_of(search->conn)->root) + 1;
    size_t length = strcspn(rest, "/");

    if (length == 0 || length > SW_ID_MAX || !sw_text_starts(rest + length, "/attempt-"))
        return false;
    memcpy(id, rest, length);
    id[length] = '\0';
    return sw_id_valid(id);
}

static void check_process(void *context, pid_t pid, const char *folder)
{
    struct orphan_search *search = context;
    char id[SW_ID_SIZE], where[64];

    if (!id_of_folder(search, folder, id) || runs(folder))
        return;
    /* A known job without an exit record is left to observe and reconcile. */
    if (!local_has(folder, LOCAL_EXIT) && search->known(search->context, id))
        return;
    snprintf(where, sizeof where, "pid %d", (int)pid);
    note(search, "process", where, id);
    if (search->remove)
        local_tree_sweep(folder, SWEEP_GRACE_MS);
}

/* ---- folders -------------------------------------------------------------------------------- */

static void remove_attempts(const struct orphan_search *search, const char *id, const char *folder)
{
    sw_autofree char *results = sw_path_join(folder, "results");

    for (int n = local_newest_attempt(search->conn, id); n > 0; n--) {
        sw_autofree char *below = local_attempt_folder(search->conn, id, n);
        sw_autofd int lock = -1;

        if (!sw_file_exists(below))
            continue;
        lock = local_lock_take(below);       /* no process may start it while it is removed */
        if (lock < 0 && !local_has(below, LOCAL_EXIT))
            return;
        local_tree_sweep(below, SWEEP_GRACE_MS);
        sw_remove_tree(below, NULL);
    }
    rmdir(results);                          /* only when there is nothing in them */
    rmdir(folder);
}

static void check_folders(struct orphan_search *search)
{
    DIR *entries = opendir(local_of(search->conn)->root);

    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        const char *id = entry->d_name;
        sw_autofree char *folder = NULL;

        /* Without an attempt there are only results, kept on purpose by `rm --keep-results`. */
        if (!sw_id_valid(id) || search->known(search->context, id) ||
            local_newest_attempt(search->conn, id) == 0 || any_attempt_runs(search, id))
            continue;
        folder = local_job_folder(search->conn, id);
        note(search, "job folder", folder, id);
        if (search->remove)
            remove_attempts(search, id, folder);
    }
    if (entries)
        closedir(entries);
}

/* ---- tickets, cgroups ----------------------------------------------------------------------- */

static void note_ticket(void *context, const char *path)
{
    note(context, "GPU ticket", path, NULL);
}

/* "slipway-ID-ATTEMPT", and nothing of that attempt runs from this state folder. */
static void check_cgroup(void *context, const char *path, const char *name)
{
    struct orphan_search *search = context;
    const char *rest = name + strlen(LOCAL_CGROUP_PREFIX), *dash = strrchr(rest, '-');
    char id[SW_ID_SIZE];
    sw_autofree char *folder = NULL;

    if (!dash || dash == rest || dash - rest > SW_ID_MAX || atoi(dash + 1) < 1)
        return;
    snprintf(id, sizeof id, "%.*s", (int)(dash - rest), rest);
    folder = local_attempt_folder(search->conn, id, atoi(dash + 1));
    if (!sw_id_valid(id) || !sw_file_exists(folder) || runs(folder))
        return;
    note(search, "cgroup", path, id);
    if (search->remove)
        rmdir(path);
}

json_t *local_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err)
{
    struct orphan_search search = { conn, sweep->known, sweep->context, sweep->remove, json_array() };

    (void)err;
    local_tree_each_marked(local_of(conn)->root, check_process, &search);
    local_cgroup_empty(check_cgroup, &search);      /* before their folders go */
    check_folders(&search);
    gpu_dead_tickets(getenv("SLIPWAY_GPU_LEASE_DIR"), local_of(conn)->state_dir, sweep->remove,
                     note_ticket, &search);
    return search.found;
}
