/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_cleanup.c - what happens to a job's containers after its end: finalize, cleanup, orphans.
 *
 * With `auto_remove` containers are removed by finalize, not by the engine: its own AutoRemove takes the exit
 * code, the log and results in the container with it, just when they are wanted. Here everything is on this
 * machine first: the caller wrote down how the job ended, its logs are whole in their spools, its results are
 * copied. What cannot be copied keeps its container; `rm` removes it like any other.
 */
#include "platform/docker/docker_observe.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "platform/docker/docker_events.h"
#include "platform/kit/log.h"

/* ---- finalize -------------------------------------------------------------------------------- */

static bool removes_itself(const struct sw_jobref *job)
{
    return docker_job_options(json_object_get(job->plan, "options")).auto_remove;
}

/* To ask for the size of a log that grows no more is to have all of it. */
static int keep_log(struct sw_connection *conn, const struct sw_jobref *job, const json_t *container,
                    struct sw_error *err)
{
    struct sw_jobref attempt = *job;
    int64_t size;

    attempt.attempt = docker_label_number(container, LABEL_ATTEMPT, 1);
    attempt.finished = true;
    return sw_log_size(&(struct sw_log){ &sw_platform_docker, conn, &attempt,
                                         docker_label_number(container, LABEL_RANK, 0) }, &size, err);
}

static int keep_results(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *folder = docker_results_dir(conn, job, err);

    return folder ? 0 : -1;
}

static bool all_over(const json_t *list)
{
    json_t *container;
    size_t i;

    json_array_foreach((json_t *)list, i, container)
        if (!docker_is_over(sw_json_str(container, "State")))
            return false;
    return true;
}

static int remove_containers(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *list = NULL;
    json_t *container;
    size_t i;

    if (docker_borrow(conn, &lent, err) < 0 || !(list = docker_list_now(conn, lent.api, job->id, err)))
        return -1;
    if (json_array_size(list) == 0 || !all_over(list))
        return 0;
    json_array_foreach(list, i, container)
        if (keep_log(conn, job, container, err) < 0)
            return -1;
    if (keep_results(conn, job, err) < 0)
        return -1;
    json_array_foreach(list, i, container)
        if (docker_delete(lent.api, sw_json_str(container, "Id"), false, err) < 0)
            return -1;
    return 0;
}

void docker_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_log_keep_ends(&sw_platform_docker, conn, jobs, count);
    for (size_t i = 0; i < count; i++)
        if (removes_itself(jobs[i]))
            remove_containers(conn, jobs[i], NULL);
}

/* ---- cleanup --------------------------------------------------------------------------------- */

static int remove_local(const struct sw_connection *conn, const char *id, bool keep_results,
                        struct sw_error *err)
{
    sw_autofree char *folder = docker_job_folder(conn, id);

    return keep_results ? sw_remove_all_but(folder, "results", err) : sw_remove_tree(folder, err);
}

/* Results in a volume of the job: what is to be kept is copied here, and then the volume may go, too. 1: it
 * was; 0: there is none, or no container any more through which it could; -1 + err. */
static int bring_volume(struct sw_connection *conn, const struct sw_jobref *job, const json_t *list,
                        const char *volume, struct sw_error *err)
{
    const json_t *mounts = json_object_get(
        docker_first_rank(list, docker_newest_attempt(list)), "Mounts");
    sw_autofree char *folder = NULL;
    json_t *mount;
    size_t i;

    json_array_foreach((json_t *)mounts, i, mount)
        if (sw_text_same(sw_json_str(mount, "Name"), volume)) {
            folder = docker_results_dir(conn, job, err);
            return folder ? 1 : -1;
        }
    return 0;
}

static int remove_one(struct sw_connection *conn, const struct sw_jobref *job, bool keep_results,
                      struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *list = NULL;
    sw_autofree char *volume = docker_volume_name(job->id), *end = docker_end_volume(job->id);
    const char *network = docker_job_options(json_object_get(job->plan, "options")).network;
    size_t i;
    json_t *container;
    int brought;

    if (docker_borrow(conn, &lent, err) < 0)
        return -1;
    list = docker_list(lent.api, job->id, err);
    if (!list)
        return -1;
    brought = keep_results ? bring_volume(conn, job, list, volume, err) : 1;
    if (brought < 0)
        return -1;
    json_array_foreach(list, i, container)
        if (docker_delete(lent.api, sw_json_str(container, "Id"), true, err) < 0)
            return -1;
    if ((brought && docker_forget(lent.api, "/volumes/", volume, err) < 0) ||
        docker_forget(lent.api, "/volumes/", end, err) < 0 ||
        docker_forget_clones(lent.api, job->id, json_object_get(job->plan, "mounts"), err) < 0)
        return -1;
    if (network)
        docker_network_drop(lent.api, network);
    return remove_local(conn, job->id, keep_results, err);
}

struct docker_removal {
    struct sw_connection *conn;
    struct sw_batch_job *jobs;
    bool keep_results;
    int64_t deadline_ms;
};

static void remove_job(void *context, size_t index)
{
    const struct docker_removal *removal = context;
    struct sw_batch_job *one = &removal->jobs[index];

    if (removal->deadline_ms && sw_monotonic_ms() > removal->deadline_ms)
        one->result = sw_fail(&one->err, SW_E_TIMEOUT, "there was no time left to remove '%s'", one->job->id);
    else
        one->result = remove_one(removal->conn, one->job, removal->keep_results, &one->err);
}

void docker_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count,
                    bool keep_results, int64_t deadline_ms)
{
    sw_parallel(count, DOCKER_AT_ONCE, remove_job,
                &(struct docker_removal){ conn, jobs, keep_results, deadline_ms });
}

/* ---- orphans ------------------------------------------------------------------------------- */

struct docker_orphan_search {
    struct docker_api *api;
    const struct sw_sweep *sweep;
    json_t *found;
};

/* Whose it is, when it is not this store's; owned; NULL: ours. */
static char *owner_of(const struct docker_orphan_search *search, const json_t *thing)
{
    const char *store = docker_label(thing, LABEL_STORE), *uid = docker_label(thing, LABEL_UID);
    const char *who = docker_label(thing, LABEL_OWNER);

    if (store && sw_text_same(store, search->sweep->store_id))
        return NULL;
    if (!store)
        return sw_format("of %s, no store's mark", who ? who : "an unknown user");
    return sw_format("of %s (uid %s), another store", who ? who : "another user", uid ? uid : "?");
}

/* `kept`: why it stays although it is ours; NULL: it may go. */
static bool add_left(const struct docker_orphan_search *search, const char *what, const char *where,
                     const json_t *thing, const char *job, const char *kept)
{
    sw_autofree char *owner = thing ? owner_of(search, thing) : NULL;
    bool goes = search->sweep->remove && !owner && !kept;

    json_array_append_new(search->found, sw_json_object(
        SW_STR("what", what), SW_STR("where", where), SW_STR("job", job ? job : ""),
        SW_STR_OPT("owner", owner), SW_STR_OPT("kept", owner ? NULL : kept),
        SW_BOOL("removed", goes)));
    return goes;
}

static void was_not_removed(const struct docker_orphan_search *search)
{
    json_object_set_new(json_array_get(search->found, json_array_size(search->found) - 1), "removed",
                        json_false());
}

static int left_containers(const struct docker_orphan_search *search, struct sw_error *err)
{
    sw_auto(json) json_t *list = docker_list(search->api, NULL, err);
    size_t i;
    json_t *container;

    if (!list)
        return -1;
    json_array_foreach(list, i, container) {
        const char *job = docker_label(container, LABEL_ID), *id = sw_json_str(container, "Id");
        const char *name = json_string_value(json_array_get(json_object_get(container, "Names"), 0));

        /* One that runs is a job, not a leftover. */
        if (!job || !id || search->sweep->known(search->sweep->context, job) ||
            !docker_is_over(sw_json_str(container, "State")))
            continue;
        if (add_left(search, "container", name ? name + (*name == '/') : id, container, job, NULL) &&
            docker_delete(search->api, id, true, err) < 0)
            return -1;
    }
    return 0;
}

/* All volumes with that label; owned; NULL + err. */
static json_t *volumes_with(struct docker_api *api, const char *label, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    json_t *reply = NULL;

    sw_buf_add(&path, "/volumes");
    docker_query_json(&path, "filters", json_pack("{s:[s]}", "label", label));
    docker_ask(api, &(struct docker_call){ .path = sw_buf_text(&path) }, &reply, err);
    return reply;
}

static int left_volumes(const struct docker_orphan_search *search, struct sw_error *err)
{
    sw_auto(json) json_t *reply = volumes_with(search->api, LABEL_ID, err);
    size_t i;
    json_t *volume;

    if (!reply)
        return -1;
    json_array_foreach(json_object_get(reply, "Volumes"), i, volume) {
        const char *job = docker_label(volume, LABEL_ID), *name = sw_json_str(volume, "Name");
        bool clone = job && name && docker_is_clone_volume(job, name);
        const char *kept = clone || search->sweep->results
                               ? NULL : "results that were not fetched: --results removes them";

        if (!job || !name || search->sweep->known(search->sweep->context, job))
            continue;
        /* One that a container still uses is refused: it is no leftover yet. */
        if (add_left(search, "volume", name, volume, job, kept) &&
            (clone ? docker_forget_clone(search->api, name, NULL)
                   : docker_forget(search->api, "/volumes/", name, NULL)) < 0)
            was_not_removed(search);
    }
    return 0;
}

/* What jobs share belongs to no store: it goes when asked for and no container uses it. */
static int left_caches(const struct docker_orphan_search *search, struct sw_error *err)
{
    sw_auto(json) json_t *reply = search->sweep->caches
                                      ? volumes_with(search->api, LABEL_CACHE, err) : json_object();
    size_t i;
    json_t *volume;

    if (!reply)
        return -1;
    json_array_foreach(json_object_get(reply, "Volumes"), i, volume) {
        const char *name = sw_json_str(volume, "Name");

        if (name && add_left(search, "cache", name, NULL, NULL, NULL) &&
            docker_forget(search->api, "/volumes/", name, NULL) < 0)
            was_not_removed(search);
    }
    return 0;
}

static void left_folders(const struct docker_orphan_search *search, const struct sw_connection *conn)
{
    DIR *folders = opendir(docker_of(conn)->root);

    for (struct dirent *entry; folders && (entry = readdir(folders));) {
        sw_autofree char *path = sw_path_join(docker_of(conn)->root, entry->d_name);
        sw_autofree char *results = sw_path_join(path, "results");

        if (entry->d_name[0] == '.' ||
            search->sweep->known(search->sweep->context, entry->d_name) ||
            sw_file_exists(results))                     /* results are never removed by it */
            continue;
        if (add_left(search, "folder", path, NULL, entry->d_name, NULL))
            sw_remove_tree(path, NULL);
    }
    if (folders)
        closedir(folders);
}

json_t *docker_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *found = json_array();
    struct docker_orphan_search search = { .sweep = sweep, .found = found };

    if (docker_borrow(conn, &lent, err) < 0)
        return NULL;
    search.api = lent.api;
    if (left_containers(&search, err) < 0 || left_volumes(&search, err) < 0 ||
        left_caches(&search, err) < 0)
        return NULL;
    left_folders(&search, conn);
    return sw_take(found);
}
