/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_look.c - one job, looked at closely: replicas, evidence, adoption, results, exec; and what
 * the engine has.
 */
#include "platform/docker/docker_watch.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/parallel.h"
#include "base/text.h"
#include "core/state.h"
#include "platform/docker/docker_events.h"
#include "platform/docker/docker_submit.h"

static int crew_of(struct sw_connection *conn, struct docker_api *api, const struct sw_jobref *job,
                   json_t **list, struct docker_crew *crew, struct sw_error *err)
{
    sw_auto(json) json_t *own = json_array();
    json_t *container;
    size_t i;

    *list = docker_list_now(conn, api, job->id, err);
    if (!*list)
        return -1;
    json_array_foreach(*list, i, container)
        if (docker_label_number(container, LABEL_ATTEMPT, 1) == job->attempt)
            json_array_append(own, container);
    docker_crew_read(crew, own);            /* they live in the list */
    return 0;
}

/* ---- replicas -------------------------------------------------------------------------------- */

struct rank {                        /* one of a job */
    struct docker_story story;
    bool over;
};

static json_t *replica(const json_t *container, const struct sw_jobref *job, int nodes, int number,
                       const struct rank *rank)
{
    const struct docker_story *story = &rank->story;
    const char *name = json_string_value(json_array_get(json_object_get(container, "Names"), 0));
    struct sw_observation seen = { .state = docker_state(sw_json_str(container, "State"), NULL) };
    bool coded = rank->over && story->end.exit_code != SW_NO_EXIT_CODE;
    char usual[DOCKER_NAME_SIZE];

    docker_name(usual, job->id, job->attempt, nodes, number);
    if (rank->over)
        docker_judge_end(&story->end, &seen);
    return sw_json_object(
        SW_INT("rank", number), SW_STR("node", name ? name + (*name == '/') : usual),
        SW_STR("status", sw_state_name(seen.state)),
        SW_SUB("exit_code", coded ? json_integer(story->end.exit_code) : json_null()),
        SW_SUB_COPY("pid", json_object_get(json_object_get(story->inspected, "State"), "Pid")),
        SW_STR_OPT("container", sw_json_str(container, "Id")),
        SW_STR_OPT("image", sw_json_str(container, "Image")),
        SW_STR_OPT("gpus", docker_label(container, LABEL_HOLDS)),
        SW_STR_OPT("message", seen.message[0] ? seen.message : NULL),
        SW_SUB("started_ms", story->started_ms ? json_integer(story->started_ms) : NULL),
        SW_SUB("ended_ms", story->ended_ms ? json_integer(story->ended_ms) : NULL));
}

static int read_ranks(struct sw_connection *conn, struct docker_api *api, const struct sw_jobref *job,
                      const struct docker_crew *crew, struct rank *ranks, struct sw_error *err)
{
    for (int i = 0; i < crew->nodes; i++) {
        const json_t *container = crew->ranks[i];
        int result = container ? docker_story_read(api, sw_json_str(container, "Id"),
                                                   &ranks[i].story, err)
                               : docker_story_gone(conn, api, job, i, &ranks[i].story, err);

        ranks[i].over = !container || docker_is_over(sw_json_str(container, "State"));
        ranks[i].story.end.rank = -1;                /* which one it is, the row says */
        if (result < 0)
            return -1;
    }
    return 0;
}

/* Of several ranks one failed first; who was told to end because of it would look like it. */
static int tell_apart(struct docker_api *api, const struct docker_crew *crew, struct rank *ranks,
                      struct sw_error *err)
{
    int first = -1;

    for (int i = 0; i < crew->nodes; i++)
        if (ranks[i].over && ranks[i].story.end.exit_code != 0 &&
            (first < 0 || docker_failed_before(&ranks[i].story, &ranks[first].story)))
            first = i;
    for (int i = 0; i < crew->nodes && first >= 0; i++)
        if (i != first && ranks[i].story.end.stopped && ranks[i].story.end.failed_peer < 0)
            ranks[i].story.end.failed_peer = first;
    return first < 0 ? 0 : docker_find_hand(api, sw_json_str(crew->ranks[first], "Id"),
                                            &ranks[first].story, err);
}

json_t *docker_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *list = NULL, *all = json_array();
    sw_autofree struct rank *ranks = NULL;
    struct docker_crew crew;
    int result;

    if (docker_borrow(conn, &lent, err) < 0 ||
        crew_of(conn, lent.api, job, &list, &crew, err) < 0)
        return NULL;
    ranks = sw_alloc(((size_t)crew.nodes + 1) * sizeof *ranks);
    memset(ranks, 0, ((size_t)crew.nodes + 1) * sizeof *ranks);
    result = read_ranks(conn, lent.api, job, &crew, ranks, err);
    if (result == 0)
        result = tell_apart(lent.api, &crew, ranks, err);
    for (int i = 0; i < crew.nodes; i++) {
        if (result == 0)
            json_array_append_new(all, replica(crew.ranks[i], job, crew.nodes, i, &ranks[i]));
        docker_story_done(&ranks[i].story);
    }
    return result == 0 ? sw_take(all) : NULL;
}

/* ---- evidence -------------------------------------------------------------------------------- */

/* What a poll told a moment ago, or found out anew; owned; NULL + err. */
static json_t *end_of(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *known = docker_recall(conn, job->id, job->attempt), *list = NULL;
    sw_auto(json) json_t *facts = NULL;
    struct sw_observation seen = { .job = *job, .failed_replica = -1 };
    struct docker_crew crew;

    if (known)
        return sw_take(known);
    if (docker_borrow(conn, &lent, err) < 0 ||
        crew_of(conn, lent.api, job, &list, &crew, err) < 0)
        return NULL;
    if (crew.nodes == 0 || crew.over + crew.missing < crew.nodes)
        return json_object();
    if (docker_judge_crew(conn, lent.api, &crew, &seen, &facts, err) < 0)
        return NULL;
    return sw_json_object(SW_SUB_COPY("facts", facts));
}

struct gathering {
    struct sw_connection *conn;
    const struct sw_observation *const *seen;
    struct sw_evidence *out;
};

static void gather_one(void *context, size_t index)
{
    const struct gathering *gathering = context;
    const struct sw_observation *seen = gathering->seen[index];
    struct sw_evidence *out = &gathering->out[index];
    sw_auto(json) json_t *end = end_of(gathering->conn, &seen->job, NULL);
    const char *tail;
    bool gone = false;

    if (!end)
        return;
    out->facts = json_object_get(end, "facts") ? json_incref(json_object_get(end, "facts"))
                                               : json_object();
    json_object_set_new(out->facts, "gpus_requested",
                        json_integer(sw_json_int(seen->job.plan, "gpus", 0)));
    tail = sw_json_str(out->facts, "log_tail");
    out->log_tail = tail ? sw_strdup(tail)
                         : docker_spool_tail(gathering->conn, &seen->job, seen->failed_replica, &gone);
    json_object_del(out->facts, "log_tail");
    if (gone)
        json_object_set_new(out->facts, SW_FACT_LOG_GONE, json_true());
}

void docker_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                     struct sw_evidence *out,
                     size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;
    sw_parallel(count, DOCKER_AT_ONCE, gather_one, &(struct gathering){ conn, seen, out });
}

/* ---- adoption -------------------------------------------------------------------------------- */

char *docker_bound_results(const struct sw_connection *conn, const json_t *inspected, const char *id)
{
    const json_t *mounts = json_object_get(inspected, "Mounts");
    json_t *mount;
    size_t i;

    if (conn->where.way != DOCKER_UNIX)
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
        return sw_fail(err, SW_E_NOT_FOUND, "the engine at %s has no job '%s'", conn->where.text,
                       id);
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
    docker_receipt(receipt, conn->where.text, container, results, docker_bound_ends(inspected));
    signature = docker_label(inspected, LABEL_SIGNED);
    snprintf(receipt->signature, sizeof receipt->signature, "%s", signature ? signature : "");
    return 0;
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
        SW_STR("engine", conn->where.text), SW_STR_OPT("name", sw_json_str(info, "Name")),
        SW_STR_OPT("version", sw_json_str(info, "ServerVersion")),
        SW_STR_OPT("system", sw_json_str(info, "OperatingSystem")),
        SW_STR_OPT("architecture", sw_json_str(info, "Architecture")),
        SW_INT("cpus", sw_json_int(info, "NCPU", 0)),
        SW_INT("memory_bytes", sw_json_int(info, "MemTotal", 0)),
        SW_INT("running", sw_json_int(info, "ContainersRunning", 0)),
        SW_INT("images", sw_json_int(info, "Images", 0)),
        SW_SUB("runtimes", sw_take(runtimes)),
        SW_SUB("gpus", docker_gpu_inventory(lent.api, conn->options)));
}
