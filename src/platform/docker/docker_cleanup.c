/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_cleanup.c - what happens to a job's containers after its end: finalize, cleanup, orphans.
 *
 * With `auto_remove` containers are removed by finalize, not by the engine: its own AutoRemove takes the exit
 * code, the log and results in the container with it, just when they are wanted. Here everything is on this
 * machine first: the caller wrote down how the job ended, its logs are whole in their spools, its results are
 * copied. What cannot be copied keeps its container; `rm` removes it like any other.
 */
#include "platform/docker/docker_job.h"

#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "platform/kit/log.h"
#include "platform/kit/orphans.h"

/* ---- finalize -------------------------------------------------------------------------------- */

/* To ask for the size of a log that grows no more is to have all of it. */
static int keep_log(struct sw_connection *conn, const struct sw_jobref *job,
                    const json_t *container)
{
    struct sw_jobref attempt = *job;
    int64_t size;

    attempt.attempt = docker_label_number(container, LABEL_ATTEMPT, 1);
    attempt.finished = true;
    return sw_log_size(&(struct sw_log){ &sw_platform_docker, conn, &attempt,
                                         docker_label_number(container, LABEL_RANK, 0) }, &size, NULL);
}

/* Only when all of them are over. */
static void remove_containers(struct sw_connection *conn, const struct sw_jobref *job)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, NULL);
    sw_auto(json) json_t *list = docker_list_now(conn, api, job->id, NULL);
    sw_autofree char *results = NULL;
    json_t *container;
    size_t i;

    json_array_foreach(list, i, container)
        if (!docker_is_over(sw_json_str(container, "State")))
            return;
    json_array_foreach(list, i, container)
        if (keep_log(conn, job, container) < 0)
            return;
    results = json_array_size(list) ? docker_results_dir(conn, job, NULL) : NULL;
    json_array_foreach(list, i, container)
        if (!results || docker_delete(api, sw_json_str(container, "Id"), false, NULL) < 0)
            return;
}

void docker_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_log_keep_ends(&sw_platform_docker, conn, jobs, count);
    for (size_t i = 0; i < count; i++)
        if (docker_job_options(json_object_get(jobs[i]->plan, "options")).auto_remove)
            remove_containers(conn, jobs[i]);
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
    const json_t *mount = docker_mount_of(docker_newest(list), "Name", volume);
    sw_autofree char *folder = mount ? docker_results_dir(conn, job, err) : NULL;

    return !mount ? 0 : folder ? 1 : -1;
}

static int remove_one(struct sw_connection *conn, const struct sw_jobref *job, bool keep_results,
                      struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    sw_auto(json) json_t *list = docker_list(api, job->id, err);
    sw_autofree char *volume = docker_volume_name(job->id), *end = docker_end_volume(job->id);
    const char *network = docker_job_options(json_object_get(job->plan, "options")).network;
    int brought = !list ? -1 : keep_results ? bring_volume(conn, job, list, volume, err) : 1;
    json_t *container;
    size_t i;

    if (brought < 0)
        return -1;
    json_array_foreach(list, i, container)
        if (docker_delete(api, sw_json_str(container, "Id"), true, err) < 0)
            return -1;
    if ((brought && docker_forget(api, sw_rest_path("/volumes/%s", volume), err) < 0) ||
        docker_forget(api, sw_rest_path("/volumes/%s", end), err) < 0 ||
        docker_forget_clones(api, job->id, json_object_get(job->plan, "mounts"), err) < 0)
        return -1;
    if (network)
        docker_network_drop(api, network);
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
    struct sw_orphans orphans;
};

/* `kept`: why it stays although it is ours; NULL: it may go. */
static bool add_left(const struct docker_orphan_search *search, const char *what, const char *where,
                     const json_t *thing, const char *job, const char *kept)
{
    return sw_orphan_add(&search->orphans, &(struct sw_orphan){
        .what = what, .where = where, .job = job, .kept = kept, .marked = thing != NULL,
        .store = docker_label(thing, LABEL_STORE), .uid = docker_label(thing, LABEL_UID),
        .owner = docker_label(thing, LABEL_OWNER) });
}

static bool is_known(const struct docker_orphan_search *search, const char *job)
{
    return search->orphans.sweep->known(search->orphans.sweep->context, job);
}

static int left_containers(const struct docker_orphan_search *search, struct sw_error *err)
{
    sw_auto(json) json_t *list = docker_list(search->api, NULL, err);
    size_t i;
    json_t *container;

    json_array_foreach(list, i, container) {
        const char *job = docker_label(container, LABEL_ID), *id = sw_json_str(container, "Id");
        const char *name = docker_listed_name(container);

        /* One that runs is a job, not a leftover. */
        if (!job || !id || is_known(search, job) ||
            !docker_is_over(sw_json_str(container, "State")))
            continue;
        if (add_left(search, "container", name ? name : id, container, job, NULL) &&
            docker_delete(search->api, id, true, err) < 0)
            return -1;
    }
    return list ? 0 : -1;
}

/* Of jobs; or, with LABEL_CACHE, what jobs share: that belongs to no store. One that a container still
 * uses is refused: it is no leftover yet. */
static int left_volumes(const struct docker_orphan_search *search, const char *label,
                        struct sw_error *err)
{
    sw_auto(json) json_t *reply = docker_get(
        search->api, docker_filtered("/volumes", json_pack("{s:[s]}", "label", label)), err);
    bool cache = sw_text_same(label, LABEL_CACHE), goes;
    json_t *volume;
    size_t i;

    json_array_foreach(json_object_get(reply, "Volumes"), i, volume) {
        const char *job = docker_label(volume, LABEL_ID), *name = sw_json_str(volume, "Name");
        bool clone = job && name && docker_is_clone_volume(job, name);

        if (!name || (!cache && (!job || is_known(search, job))))
            continue;
        goes = cache ? add_left(search, "cache", name, NULL, NULL, NULL)
                     : add_left(search, "volume", name, volume, job,
                                clone || search->orphans.sweep->results
                                    ? NULL : "results that were not fetched: --results removes them");
        if (goes && (clone ? docker_forget_clone(search->api, name, NULL)
                           : docker_forget(search->api, sw_rest_path("/volumes/%s", name), NULL)) < 0)
            sw_orphan_stays(&search->orphans);
    }
    return reply ? 0 : -1;
}

json_t *docker_orphans(struct sw_connection *conn, const struct sw_sweep *sweep, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    sw_auto(json) json_t *found = json_array();
    struct docker_orphan_search search = { api, { sweep, found } };

    if (left_containers(&search, err) < 0 || left_volumes(&search, LABEL_ID, err) < 0 ||
        (sweep->caches && left_volumes(&search, LABEL_CACHE, err) < 0))
        return NULL;
    sw_orphan_folders(&search.orphans, docker_of(conn)->root);
    return sw_take(found);
}
