/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_inspect.c - one job, looked at closely: replicas, evidence, adoption, results, exec; and what
 * the engine has.
 */
#include "platform/docker/docker_observe.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "core/state.h"
#include "platform/docker/docker_events.h"
#include "platform/docker/docker_submit.h"
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

struct replica {
    struct docker_ended ended;
    struct sw_rank rank;
    bool over;
};

static json_t *replica_json(const json_t *container, const struct sw_jobref *job, int nodes, int number,
                            const struct replica *replica)
{
    const struct docker_ended *ended = &replica->ended;
    const char *name = json_string_value(json_array_get(json_object_get(container, "Names"), 0));
    struct sw_observation seen = { .state = docker_state(sw_json_str(container, "State"), NULL) };
    bool coded = replica->over && ended->end.exit_code != SW_NO_EXIT_CODE;
    char usual[DOCKER_NAME_SIZE];

    docker_name(usual, job->id, job->attempt, nodes, number);
    if (replica->over)
        docker_judge_end(ended, &seen);
    return sw_json_object(
        SW_INT("rank", number), SW_STR("node", name ? name + (*name == '/') : usual),
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

/* All that can be known of a rank without a container. */
static int read_gone(const struct docker_job *job, const struct docker_containers *own, int rank,
                     struct docker_ended *out, struct sw_error *err)
{
    int result = docker_ended_gone(job, rank, out, err);

    if (result > 0 && docker_record_fetch(job, own, err) < 0)
        return -1;
    return result > 0 ? docker_ended_gone(job, rank, out, err) : result;
}

static int read_replicas(const struct docker_job *job, const struct docker_containers *own,
                         struct replica *replicas, struct sw_error *err)
{
    for (int i = 0; i < own->all.count; i++) {
        const json_t *container = own->at[i];
        struct replica *replica = &replicas[i];
        int result = container ? docker_ended_read(job->api, sw_json_str(container, "Id"),
                                                   &replica->ended, err)
                               : read_gone(job, own, i, &replica->ended, err);

        if (result < 0)
            return -1;
        replica->over = !sw_rank_goes_on(&own->ranks[i]);
        replica->rank = docker_ended_rank(&replica->ended);
        replica->ended.end.rank = -1;                /* the row has its number */
    }
    return 0;
}

/* Of several ranks one failed first; those that were told to end because of it would look like it. */
static int tell_apart(const struct docker_job *job, const struct docker_containers *own,
                      struct replica *replicas, struct sw_error *err)
{
    int first = -1;

    for (int i = 0; i < own->all.count; i++)
        if (replicas[i].over && replicas[i].rank.state != SW_COMPLETE &&
            (first < 0 || sw_rank_failed_before(&replicas[i].rank, &replicas[first].rank)))
            first = i;
    for (int i = 0; i < own->all.count && first >= 0; i++)
        if (i != first && replicas[i].ended.end.stopped && replicas[i].ended.end.failed_peer < 0)
            replicas[i].ended.end.failed_peer = first;
    return first < 0 ? 0 : docker_find_stopper(job->api, sw_json_str(own->at[first], "Id"),
                                               &replicas[first].ended, err);
}

json_t *docker_replicas(struct sw_connection *conn, const struct sw_jobref *ref, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *list = NULL, *all = json_array();
    sw_autofree struct replica *replicas = NULL;
    struct docker_job job = { conn, NULL, ref };
    struct docker_containers own;
    int result;

    if (docker_borrow(conn, &lent, err) < 0)
        return NULL;
    job.api = lent.api;
    if (containers_of(&job, &list, &own, err) < 0)
        return NULL;
    replicas = sw_alloc(((size_t)own.all.count + 1) * sizeof *replicas);
    memset(replicas, 0, ((size_t)own.all.count + 1) * sizeof *replicas);
    result = read_replicas(&job, &own, replicas, err);
    if (result == 0)
        result = tell_apart(&job, &own, replicas, err);
    for (int i = 0; i < own.all.count; i++) {
        if (result == 0)
            json_array_append_new(all, replica_json(own.at[i], ref, own.all.count, i, &replicas[i]));
        docker_ended_done(&replicas[i].ended);
    }
    return result == 0 ? sw_take(all) : NULL;
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* Facts about its end: what observe() learnt a moment ago, or found out anew; owned; NULL: not known. */
static json_t *facts_of(struct sw_connection *conn, const struct sw_observation *observed)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    struct sw_observation seen = { .job = observed->job, .failed_replica = -1 };
    struct docker_job job = { conn, NULL, &observed->job };
    sw_auto(json) json_t *list = NULL;
    struct docker_containers own;

    if (observed->facts)
        return json_copy(observed->facts);
    if (docker_borrow(conn, &lent, NULL) < 0)
        return NULL;
    job.api = lent.api;
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
    const json_t *mounts = json_object_get(inspected, "Mounts");
    json_t *mount;
    size_t i;

    if (docker_of(conn)->endpoint.way != DOCKER_UNIX)
        return NULL;
    json_array_foreach((json_t *)mounts, i, mount) {
        const char *source = sw_json_str(mount, "Source");
        sw_autofree char *own = source ? sw_path_join(source, id) : NULL;

        if (!sw_text_same(sw_json_str(mount, "Destination"), DOCKER_RESULTS) ||
            !sw_text_same(sw_json_str(mount, "Type"), "bind") || !source)
            continue;
        if (strstr(source, id))
            return sw_file_exists(source) ? sw_strdup(source) : NULL;
        return sw_take(own);
    }
    return NULL;
}

int docker_newest_attempt(const json_t *list)
{
    int newest = 0;
    json_t *container;
    size_t i;

    json_array_foreach((json_t *)list, i, container) {
        int attempt = docker_label_number(container, LABEL_ATTEMPT, 1);

        if (attempt > newest)
            newest = attempt;
    }
    return newest;
}

const json_t *docker_first_rank(const json_t *list, int attempt)
{
    json_t *container;
    size_t i;

    json_array_foreach((json_t *)list, i, container)
        if (docker_label_number(container, LABEL_ATTEMPT, 1) == attempt &&
            docker_label_number(container, LABEL_RANK, 0) == 0)
            return container;
    return json_array_get(list, 0);
}

int docker_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *receipt,
                 struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *list = NULL, *inspected = NULL;
    sw_autofree char *text = NULL, *results = NULL;
    const char *container, *signature;
    size_t size = 0;

    if (docker_borrow(conn, &lent, err) < 0 || !(list = docker_list(lent.api, id, err)))
        return -1;
    if (json_array_size(list) == 0)
        return sw_fail(err, SW_E_NOT_FOUND, "the engine at %s has no job '%s'",
                       docker_of(conn)->endpoint.text, id);
    container = sw_json_str(docker_first_rank(list, docker_newest_attempt(list)), "Id");
    inspected = docker_inspect(lent.api, container, err);
    if (!inspected)
        return -1;
    *plan = docker_plan_in_variable(inspected);
    if (!*plan) {
        text = docker_file(lent.api, container, DOCKER_HOME "/plan.json", &size, NULL);
        *plan = text ? sw_json_parse(text, size, "plan", NULL) : NULL;
    }
    results = docker_bound_results(conn, inspected, id);
    docker_receipt(receipt, docker_of(conn)->endpoint.text, container, results, docker_bound_ends(inspected));
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
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *list = NULL, *jobs = json_object();
    json_t *container, *rows = json_array();
    const char *id;
    size_t i;

    if (docker_borrow(conn, &lent, err) < 0 || !(list = docker_list(lent.api, NULL, err))) {
        json_decref(rows);
        return NULL;
    }
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
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *info = NULL, *runtimes = json_array();
    const char *name;
    json_t *value;

    if (docker_borrow(conn, &lent, err) < 0 ||
        docker_ask(lent.api, &(struct docker_call){ .path = "/info" }, &info, err) < 0)
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
        SW_SUB("gpus", docker_gpu_inventory(lent.api, docker_of(conn)->endpoint.options)));
}
