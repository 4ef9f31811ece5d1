/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_cleanup.c - removing what is left of a job that is over, and of jobs that no store knows.
 *
 * Every orphan listed is provably ours (our folder, our mark, our names, our user) and provably
 * without use: its supervisor's lock is free. Its results are never removed: a folder keeps them
 * unless they are empty. Nothing is touched while a job runs; local_cancel.c stops one.
 */
#include "platform/local/local_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/text.h"
#include "core/id.h"
#include "platform/local/local_queue.h"

enum { SWEEP_GRACE_MS = 2000 };

int local_refuse_elsewhere(const char *folder, const char *id, struct sw_error *err)
{
    char host[128];

    if (!local_is_elsewhere(folder, host))
        return 0;
    sw_fail(err, SW_E_UNREACHABLE, "'%s' cannot be reached from here: it runs on '%s'", id, host);
    return sw_hint(err, "this machine shares its folder only; do it on '%s'", host);
}

/* ---- cleanup -------------------------------------------------------------------------------- */

static int refuse_while_running(struct sw_connection *conn, const char *id, struct sw_error *err)
{
    for (int attempt = local_newest_attempt(conn, id); attempt > 0; attempt--) {
        sw_autofree char *folder = local_attempt_folder(conn, id, attempt);

        if (local_refuse_elsewhere(folder, id, err) < 0)
            return -1;
        if (local_is_attended(folder)) {
            sw_fail(err, SW_E_CONFLICT, "'%s' still runs", id);
            return sw_hint(err, "cancel it first: `slipway cancel %s`", id);
        }
        if (local_has(folder, LOCAL_SUPERVISOR) && !local_has(folder, LOCAL_EXIT))
            local_declare_lost(folder);
    }
    return 0;
}

static char *results_outside(struct sw_connection *conn, const char *id, const char *folder)
{
    sw_autofree char *newest = local_attempt_folder(conn, id, local_newest_attempt(conn, id));
    sw_auto(json) json_t *launch = local_record_read(newest, LOCAL_LAUNCH);
    const char *results = sw_json_str(launch, "results_dir");

    return results && strncmp(results, folder, strlen(folder)) != 0 ? sw_strdup(results) : NULL;
}

static int remove_one(struct sw_connection *conn, const char *id, bool keep_results,
                      struct sw_error *err)
{
    sw_autofree char *folder = local_job_folder(conn, id);
    sw_autofree char *outside = results_outside(conn, id, folder);

    if (refuse_while_running(conn, id, err) < 0)
        return -1;
    if (keep_results)
        return sw_remove_all_but(folder, "results", err);
    if (outside && sw_remove_tree(outside, err) < 0)
        return -1;
    return sw_remove_tree(folder, err);
}

void local_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                   bool keep_results, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        jobs[i].result = remove_one(conn, jobs[i].job->id, keep_results, &jobs[i].err);
}

/* ---- orphans -------------------------------------------------------------------------------- */

struct orphan_search {
    struct sw_connection *conn;
    const struct sw_sweep *sweep;
    json_t *found;
};

static void note(struct orphan_search *search, const char *what, const char *where, const char *id)
{
    json_t *row = sw_json_object(SW_STR("what", what), SW_STR("where", where), SW_STR("job", id));

    json_array_append_new(search->found, row);
}

/* The exit record is written a moment before the lock is released. What another machine has begun may
 * run there. */
static bool runs(const char *folder)
{
    char host[128];

    return local_is_attended(folder) || local_is_elsewhere(folder, host);
}

/* The id at the beginning of a text; false: not a valid one. */
static bool take_id(const char *text, size_t length, char id[SW_ID_SIZE])
{
    if (length == 0 || length > SW_ID_MAX)
        return false;
    snprintf(id, SW_ID_SIZE, "%.*s", (int)length, text);
    return sw_id_valid(id);
}

/* `folder`: "<root>/ID/attempt-N". */
static void check_process(void *context, pid_t pid, const char *folder)
{
    struct orphan_search *search = context;
    const char *rest = folder + strlen(local_of(search->conn)->root) + 1;
    char id[SW_ID_SIZE], where[64];

    if (!take_id(rest, strcspn(rest, "/"), id) ||
        !sw_text_starts(rest + strlen(id), "/attempt-") || runs(folder))
        return;
    /* A known job without an exit record is left to observe and reconcile. */
    if (!local_has(folder, LOCAL_EXIT) && search->sweep->known(search->sweep->context, id))
        return;
    snprintf(where, sizeof where, "pid %d", (int)pid);
    note(search, "process", where, id);
    if (search->sweep->remove)
        local_tree_sweep(folder, SWEEP_GRACE_MS);
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

static void remove_attempts(const struct orphan_search *search, const char *id, const char *folder)
{
    sw_autofree char *results = sw_path_join(folder, "results");

    for (int n = local_newest_attempt(search->conn, id); n > 0; n--) {
        sw_autofree char *below = local_attempt_folder(search->conn, id, n);
        sw_autofd int lock = -1;

        if (!sw_file_exists(below))
            continue;
        lock = local_lock_take(below);       /* no process may start it while it is removed */
        if (lock < 0 && local_is_attended(below))
            return;
        local_tree_sweep(below, SWEEP_GRACE_MS);
        sw_remove_tree(below, NULL);
    }
    rmdir(results);                          /* only when there is nothing in them */
    rmdir(folder);
}

static void check_folders(struct orphan_search *search)
{
    sw_auto(json) json_t *names = sw_folder_names(local_of(search->conn)->root, NULL);
    json_t *name;
    size_t i;

    json_array_foreach(names, i, name) {
        const char *id = json_string_value(name);
        sw_autofree char *folder = local_job_folder(search->conn, id);

        /* Without an attempt there are only results, kept on purpose by `rm --keep-results`. */
        if (!sw_id_valid(id) || search->sweep->known(search->sweep->context, id) ||
            local_newest_attempt(search->conn, id) == 0 || any_attempt_runs(search, id))
            continue;
        note(search, "job folder", folder, id);
        if (search->sweep->remove)
            remove_attempts(search, id, folder);
    }
}

static void note_ticket(void *context, const char *path)
{
    note(context, "GPU ticket", path, "");
}

/* A supervisor makes "slipway-ID-ATTEMPT" and removes it at the end (supervisor_limits.c); one that
 * was killed cannot. It must be empty, and nothing of that attempt may run from this state folder. */
static void check_cgroup(struct orphan_search *search, const char *path, const char *name)
{
    const char *rest = name + strlen(LOCAL_CGROUP_PREFIX), *dash = strrchr(rest, '-');
    sw_autofree char *file = sw_path_join(path, "cgroup.events");
    sw_autofree char *events = sw_file_read(file, 4096, NULL, NULL), *folder = NULL;
    char id[SW_ID_SIZE];

    if (!events || !strstr(events, "populated 0") || !dash || atoi(dash + 1) < 1 ||
        !take_id(rest, (size_t)(dash - rest), id))
        return;
    folder = local_attempt_folder(search->conn, id, atoi(dash + 1));
    if (!sw_file_exists(folder) || runs(folder))
        return;
    note(search, "cgroup", path, id);
    if (search->sweep->remove)
        rmdir(path);
}

/* Beside our own cgroup and below it: there supervisors of this session make theirs. */
static void check_cgroups(struct orphan_search *search)
{
    sw_autofree char *place = local_cgroup_of(getpid());
    sw_autofree char *here = place ? sw_format(LOCAL_CGROUPS "%s", place) : NULL;
    sw_autofree char *above = place && place[1] ? sw_path_absolute("..", here) : NULL;
    const char *const folders[] = { above, here };

    for (size_t n = 0; n < SW_COUNT(folders); n++) {
        sw_auto(json) json_t *names = folders[n] ? sw_folder_names(folders[n], NULL) : NULL;
        json_t *name;
        size_t i;

        json_array_foreach(names, i, name) {
            sw_autofree char *path = sw_path_join(folders[n], json_string_value(name));

            if (sw_text_starts(json_string_value(name), LOCAL_CGROUP_PREFIX))
                check_cgroup(search, path, json_string_value(name));
        }
    }
}

json_t *local_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err)
{
    struct orphan_search search = { conn, sweep, json_array() };

    (void)err;
    local_tree_each_marked(local_of(conn)->root, check_process, &search);
    check_cgroups(&search);                         /* before their folders go */
    check_folders(&search);
    local_dead_tickets(getenv("SLIPWAY_GPU_LEASE_DIR"), local_of(conn)->state_dir, sweep->remove,
                       note_ticket, &search);
    return search.found;
}
