/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_inspect.c - one job, looked at closely: replicas, evidence, adoption, results, exec; and what
 * the engine has.
 */
#include "platform/docker/docker_job.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "core/state.h"
#include "platform/kit/log.h"

/* The containers of the job's attempt; they live in *list. */
static int containers_of(const struct docker_job *job, json_t **list, struct docker_containers *own,
                         struct sw_error *err)
{
    sw_auto(json) json_t *index = NULL;

    *list = docker_list_now(job->conn, job->api, job->ref->id, err);
    if (!*list)
        return -1;
    index = docker_list_by_attempt(*list);
    docker_containers_read(own, docker_attempt_in(index, job->ref));
    return 0;
}

/* ---- replicas -------------------------------------------------------------------------------- */

static json_t *replica_json(const json_t *container, const struct sw_jobref *job, int nodes, int number,
                            bool over, struct docker_ended *ended)
{
    const char *name = docker_listed_name(container);
    struct sw_observation seen = { .state = docker_state(sw_json_str(container, "State"), NULL) };
    bool coded = over && ended->end.exit_code != SW_NO_EXIT_CODE;
    char usual[DOCKER_NAME_SIZE];

    docker_name(usual, job->id, job->attempt, nodes, number);
    ended->end.rank = -1;                            /* the row has its number */
    if (over)
        docker_judge_end(ended, &seen);
    return sw_json_object(
        SW_INT("rank", number), SW_STR("node", name ? name : usual),
        SW_STR("status", sw_state_name(seen.state)),
        SW_SUB("exit_code", coded ? json_integer(ended->end.exit_code) : json_null()),
        SW_SUB_COPY("pid", json_object_get(json_object_get(ended->inspected, "State"), "Pid")),
        SW_STR_OPT("container", sw_json_str(container, "Id")),
        SW_STR_OPT("image", sw_json_str(container, "Image")),
        SW_STR_OPT("gpus", docker_label(container, LABEL_HOLDS)),
        SW_STR_OPT("message", seen.message[0] ? seen.message : NULL),
        SW_SUB("started_ms", ended->started_ms ? json_integer(ended->started_ms) : NULL),
        SW_SUB("ended_ms", ended->ended_ms ? json_integer(ended->ended_ms) : NULL));
}

json_t *docker_replicas(struct sw_connection *conn, const struct sw_jobref *ref, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    const struct docker_job job = { conn, api, ref };
    sw_auto(docker_ends) struct docker_ends ends = { 0 };
    sw_auto(json) json_t *list = NULL;
    struct docker_containers own;
    json_t *all;
    int result;

    if (containers_of(&job, &list, &own, err) < 0)
        return NULL;
    result = docker_ends_read(&job, &own, true, &ends, err);
    if (result > 0) {
        docker_ends_done(&ends);
        result = docker_record_fetch(&job, &own, err) < 0 ? -1
                     : docker_ends_read(&job, &own, true, &ends, err);
    }
    if (result != 0)
        return NULL;
    all = json_array();
    for (int i = 0; i < ends.count; i++) {
        struct docker_ended *ended = &ends.at[i];

        /* Those that were told to end because another one failed would look like it. */
        if (ends.failed >= 0 && i != ends.failed && ended->end.stopped &&
            ended->end.failed_peer < 0)
            ended->end.failed_peer = ends.failed;
        json_array_append_new(all, replica_json(own.at[i], ref, ends.count, i,
                                                !sw_rank_goes_on(&own.ranks[i]), ended));
    }
    return all;
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* Facts about its end: what observe() learnt a moment ago, or found out anew; owned; NULL: not known. */
static json_t *facts_of(struct sw_connection *conn, const struct sw_observation *observed)
{
    sw_auto(docker_lent) struct docker_api *api = observed->facts ? NULL : docker_borrow(conn, NULL);
    struct sw_observation seen = { .job = observed->job, .failed_replica = -1 };
    const struct docker_job job = { conn, api, &observed->job };
    sw_auto(json) json_t *list = NULL;
    struct docker_containers own;

    if (observed->facts)
        return json_copy(observed->facts);
    if (containers_of(&job, &list, &own, NULL) < 0)
        return NULL;
    if (own.all.phase != SW_RANKS_OVER)
        return json_object();
    docker_judge(&job, &own, &seen, NULL);
    json_decref(seen.runner);
    return seen.facts;
}

struct docker_gathering {
    struct sw_connection *conn;
    const struct sw_observation *const *seen;
    struct sw_evidence *out;
    int64_t deadline_ms;
};

static void gather_one(void *context, size_t index)
{
    const struct docker_gathering *gathering = context;
    const struct sw_observation *seen = gathering->seen[index];
    struct sw_evidence *out = &gathering->out[index];
    const char *tail;
    bool gone = false;

    if (gathering->deadline_ms && sw_monotonic_ms() > gathering->deadline_ms)
        return;
    out->facts = facts_of(gathering->conn, seen);
    if (!out->facts)
        return;
    json_object_set_new(out->facts, "gpus_requested",
                        json_integer(sw_json_int(seen->job.plan, "gpus", 0)));
    tail = sw_json_str(out->facts, "log_tail");
    out->log_tail = tail ? sw_strdup(tail)
                         : sw_log_tail(&(struct sw_log){ &sw_platform_docker, gathering->conn, &seen->job,
                                                         seen->failed_replica }, &gone);
    json_object_del(out->facts, "log_tail");
    if (gone)
        json_object_set_new(out->facts, SW_FACT_LOG_GONE, json_true());
}

void docker_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                     struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    sw_parallel(count, DOCKER_AT_ONCE, gather_one,
                &(struct docker_gathering){ conn, seen, out, deadline_ms });
}

/* ---- adoption -------------------------------------------------------------------------------- */

char *docker_bound_results(const struct sw_connection *conn, const json_t *inspected, const char *id)
{
    const json_t *mount = docker_mount_of(inspected, "Destination", DOCKER_RESULTS);
    const char *source = sw_json_str(mount, "Source");

    if (!docker_is_local(conn) || !sw_text_same(sw_json_str(mount, "Type"), "bind") || !source)
        return NULL;
    if (strstr(source, id))
        return sw_file_exists(source) ? sw_strdup(source) : NULL;
    return sw_path_join(source, id);
}

int docker_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                 struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    sw_auto(json) json_t *list = docker_list(api, id, err), *inspected = NULL;
    sw_autofree char *file = NULL, *results = NULL;
    const char *container = sw_json_str(docker_newest(list), "Id"), *signature, *text;
    size_t size = 0;

    if (list && json_array_size(list) == 0)
        return sw_fail(err, SW_E_NOT_FOUND, "the engine at %s has no job '%s'",
                       docker_of(conn)->endpoint.text, id);
    inspected = list ? docker_inspect(api, container, err) : NULL;
    if (!inspected)
        return -1;
    text = docker_variable(json_object_get(json_object_get(inspected, "Config"), "Env"),
                           SW_PLAN_VARIABLE);
    if (!text)
        text = file = docker_file(api, container, DOCKER_HOME "/plan.json", &size, NULL);
    *plan = text ? sw_json_parse(text, file ? size : strlen(text), "plan", NULL) : NULL;
    results = docker_bound_results(conn, inspected, id);
    docker_receipt(receipt, docker_of(conn)->endpoint.text, container, results, docker_bound_ends(inspected),
                   NULL);
    signature = docker_label(inspected, LABEL_SIGNED);
    snprintf(receipt->signature, sizeof receipt->signature, "%s", signature ? signature : "");
    return 0;
}

/* ---- every job of the engine ----------------------------------------------------------------- */

static enum sw_state listed_state(const json_t *container)
{
    enum sw_state state = docker_state(sw_json_str(container, "State"), NULL);

    return state == SW_COMPLETE && docker_exit_code(sw_json_str(container, "Status")) != 0 ? SW_ERROR
                                                                                            : state;
}

json_t *docker_jobs(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    sw_auto(json) json_t *list = docker_list(api, NULL, err), *jobs = json_object();
    json_t *container, *rows;
    const char *id;
    size_t i;

    if (!list)
        return NULL;
    rows = json_array();
    json_array_foreach(list, i, container) {          /* the newest first: that attempt counts */
        id = docker_label(container, LABEL_ID);
        if (!id || json_object_get(jobs, id) || !sw_text_same(docker_label(container, LABEL_RANK), "0"))
            continue;
        json_object_set_new(jobs, id, sw_json_object(
            SW_STR("id", id), SW_STR("state", sw_state_name(listed_state(container))),
            SW_STR_OPT("owner", docker_label(container, LABEL_OWNER)),
            SW_INT("created_ms", sw_json_int(container, "Created", 0) * 1000)));
    }
    json_object_foreach(jobs, id, container)
        json_array_append(rows, container);
    return rows;
}

/* ---- the engine ------------------------------------------------------------------------------ */

json_t *docker_inventory(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    sw_auto(json) json_t *info = docker_get(api, sw_rest_path("/info"), err);
    sw_auto(json) json_t *runtimes = json_array();
    const char *name;
    json_t *value;

    if (!info)
        return NULL;
    json_object_foreach(json_object_get(info, "Runtimes"), name, value)
        json_array_append_new(runtimes, json_string(name));
    return sw_json_object(
        SW_STR("engine", docker_of(conn)->endpoint.text), SW_STR_OPT("name", sw_json_str(info, "Name")),
        SW_STR_OPT("version", sw_json_str(info, "ServerVersion")),
        SW_STR_OPT("system", sw_json_str(info, "OperatingSystem")),
        SW_STR_OPT("architecture", sw_json_str(info, "Architecture")),
        SW_INT("cpus", sw_json_int(info, "NCPU", 0)),
        SW_INT("memory_bytes", sw_json_int(info, "MemTotal", 0)),
        SW_INT("running", sw_json_int(info, "ContainersRunning", 0)),
        SW_INT("images", sw_json_int(info, "Images", 0)),
        SW_SUB("runtimes", sw_take(runtimes)),
        SW_SUB("gpus", docker_gpu_inventory(api, docker_of(conn)->endpoint.options)));
}
