/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_observe.c - all jobs of a connection from one list of containers.
 *
 * Only reads: every request is a GET. What must be done about what is seen here, docker_reconcile.c does. A
 * list that does not come changes no job.
 */
#include "platform/docker/docker_job.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"

enum { BAD_IN_A_ROW = 2 };           /* jobs that cannot be judged, until the engine itself is blamed */

/* ---- which containers belong to which job ---------------------------------------------------- */

static char *key_of(const char *id, int attempt)
{
    return sw_format("%s/%d", id, attempt);
}

json_t *docker_list_by_attempt(const json_t *list)
{
    json_t *index = json_object(), *container;
    size_t i;

    json_array_foreach(list, i, container) {
        const char *id = docker_label(container, LABEL_ID);
        sw_autofree char *key = id ? key_of(id, docker_label_number(container, LABEL_ATTEMPT, 1))
                                   : NULL;
        json_t *own = key ? json_object_get(index, key) : NULL;

        if (!key)
            continue;
        if (!own) {
            own = json_array();
            json_object_set_new(index, key, own);
        }
        json_array_append(own, container);
    }
    return index;
}

const json_t *docker_attempt_in(const json_t *by_attempt, const struct sw_jobref *job)
{
    sw_autofree char *key = key_of(job->id, job->attempt);

    return json_object_get(by_attempt, key);
}

static struct sw_rank rank_of(const json_t *container)
{
    const char *state = sw_json_str(container, "State");
    struct sw_rank rank = { .presence = container ? SW_PRESENT : SW_ABSENT, .state = SW_RUNNING };

    if (sw_text_same(state, "created"))
        rank.state = SW_PENDING;
    else if (docker_is_over(state))
        rank.state = docker_exit_code(sw_json_str(container, "Status")) == 0 ? SW_COMPLETE : SW_ERROR;
    else if (docker_state(state, NULL) == SW_PAUSED)
        rank.state = SW_PAUSED;
    return rank;
}

static void count_ranks(struct docker_containers *own, int count)
{
    assert(count >= 0 && count <= DOCKER_NODES_MAX);
    for (int i = 0; i < count; i++)
        own->ranks[i] = rank_of(own->at[i]);
    sw_ranks_count(&own->all, own->ranks, count);
}

void docker_containers_read(struct docker_containers *out, const json_t *listed)
{
    json_t *container;
    int nodes = 0;
    size_t i;

    *out = (struct docker_containers){ 0 };
    json_array_foreach(listed, i, container) {
        int rank = docker_label_number(container, LABEL_RANK, -1);

        if (rank < 0 || rank >= DOCKER_NODES_MAX)
            continue;
        if (docker_gpu_waits(container)) {
            out->queued++;
            continue;
        }
        out->at[rank] = container;
        nodes = docker_label_number(container, LABEL_NODES, 1);
    }
    count_ranks(out, nodes < DOCKER_NODES_MAX ? nodes : DOCKER_NODES_MAX);
}

int docker_plan_nodes(const struct sw_jobref *job)
{
    int64_t nodes = sw_json_int(job->plan, "nodes", 1);

    return nodes < 1 ? 1 : nodes > DOCKER_NODES_MAX ? DOCKER_NODES_MAX : (int)nodes;
}

bool docker_is_half_made(const struct sw_jobref *job, const struct docker_containers *own)
{
    return sw_text_empty(job->remote_id) && (own->all.pending || own->all.missing);
}

/* ---- one job --------------------------------------------------------------------------------- */

static void say(struct sw_observation *seen, enum sw_state state, const char *reason,
                const char *message)
{
    seen->presence = SW_PRESENT;
    seen->state = state;
    snprintf(seen->reason, sizeof seen->reason, "%s", reason);
    snprintf(seen->message, sizeof seen->message, "%.255s", message);
}

/* Made and not started although its submit is through: the engine refused, and said why. */
static int observe_unstarted(const struct docker_job *job, const struct docker_containers *own,
                             struct sw_observation *seen, struct sw_error *err)
{
    say(seen, SW_PENDING, SW_REASON_STARTING, "its container is created but not started yet");
    for (int rank = 0; rank < own->all.count; rank++) {
        sw_auto(docker_ended) struct docker_ended ended = { 0 };

        if (own->ranks[rank].state != SW_PENDING)
            continue;
        if (docker_ended_read(job->api, sw_json_str(own->at[rank], "Id"), &ended, err) < 0)
            return -1;
        if (!sw_text_empty(ended.end.error)) {
            docker_judge_end(&ended, seen);
            seen->failed_replica = rank;
            return 0;
        }
    }
    return 0;
}

static int observe_over(const struct docker_job *job, const struct docker_containers *own,
                        struct sw_observation *seen, struct sw_error *err)
{
    int result;

    seen->presence = SW_PRESENT;
    result = docker_judge(job, own, seen, err);
    if (result > 0) {
        seen->presence = SW_UNSEEN;
        seen->needs_reconcile = true;
    }
    return result < 0 ? -1 : 0;
}

static int is_there(struct docker_api *api, const char *name, struct sw_error *err)
{
    return docker_is_there(api, sw_rest_path("/containers/%s/json", name), err);
}

/* The list has no container of it. It may lie for a moment, or be made just while one that waited for GPUs
 * becomes the real one: so the first one is asked for by its id, and by its name. */
static int observe_absent(const struct docker_job *job, struct sw_observation *seen,
                          struct sw_error *err)
{
    bool confirmed = !sw_text_empty(job->ref->remote_id);
    struct docker_containers own = { 0 };
    char name[DOCKER_NAME_SIZE];
    int there = confirmed ? is_there(job->api, job->ref->remote_id, err) : 0;

    count_ranks(&own, docker_plan_nodes(job->ref));
    docker_name(name, job->ref->id, job->ref->attempt, own.all.count, 0);
    if (there == 0)
        there = is_there(job->api, name, err);
    if (there != 0)
        return there < 0 ? -1 : 0;                 /* presence stays SW_UNSEEN */
    if (!confirmed) {
        seen->presence = SW_ABSENT;
        return 0;
    }
    seen->by_absence = true;
    return observe_over(job, &own, seen, err);
}

/* A rank without a container that ended well before is as good as there. */
static int observe_incomplete(const struct docker_job *job, struct docker_containers *own,
                              struct sw_observation *seen, struct sw_error *err)
{
    for (int rank = 0; rank < own->all.count; rank++) {
        sw_auto(json) json_t *report = NULL;
        int result = own->at[rank] ? 0 : docker_record_gone(job, rank, &report, err);

        if (result < 0)
            return -1;
        seen->needs_reconcile |= result > 0;
        if (report && sw_json_int(report, "exit_code", 0) == 0)
            own->ranks[rank] = (struct sw_rank){ .presence = SW_PRESENT, .state = SW_COMPLETE };
    }
    if (seen->needs_reconcile)
        return 0;                                  /* presence stays SW_UNSEEN */
    sw_ranks_count(&own->all, own->ranks, own->all.count);
    sw_ranks_observe(&own->all, seen);
    return 0;
}

/* A job with `guard: {no_output: ...}`: when did it last write? */
static void note_output(const struct docker_job *job, const struct docker_containers *own,
                        struct sw_observation *seen)
{
    if (!json_object_get(json_object_get(job->ref->plan, "guard"), "no_output"))
        return;
    for (int rank = 0; rank < own->all.count; rank++) {
        int64_t at_ms = docker_last_output_ms(job->api, sw_json_str(own->at[rank], "Id"));

        if (at_ms > seen->last_output_ms)
            seen->last_output_ms = at_ms;
    }
}

static void observe_running(const struct docker_job *job, const struct docker_containers *own,
                            bool closely, struct sw_observation *seen)
{
    const char *note = NULL;

    docker_state(sw_json_str(own->at[0], "State"), &note);
    say(seen, SW_RUNNING, "", note ? note : "");
    note_output(job, own, seen);
    if (closely)
        seen->runner = docker_ask_beat(job->api, sw_json_str(own->at[0], "Id"), job->ref->id);
}

static int observe_job(const struct docker_job *job, const json_t *containers, bool closely,
                       struct sw_observation *seen, struct sw_error *err)
{
    struct docker_containers own;
    const char *id;

    docker_containers_read(&own, containers);
    if (own.all.count == 0 && own.queued == 0)
        return observe_absent(job, seen, err);
    if (own.all.count == 0) {
        say(seen, SW_PENDING, SW_REASON_GPU_WAIT, "waiting for GPUs of the engine");
        return 0;
    }
    seen->needs_reconcile = docker_is_half_made(job->ref, &own);
    if (seen->needs_reconcile)
        return 0;                                  /* presence stays SW_UNSEEN */
    id = sw_json_str(own.at[0], "Id");
    snprintf(seen->remote_id, sizeof seen->remote_id, "%s", id ? id : "");
    switch (own.all.phase) {
    case SW_RANKS_OVER:
        return observe_over(job, &own, seen, err);
    case SW_RANKS_INCOMPLETE:
        return observe_incomplete(job, &own, seen, err);
    case SW_RANKS_STARTING:
        return observe_unstarted(job, &own, seen, err);
    case SW_RANKS_RUNNING:
        observe_running(job, &own, closely, seen);
        return 0;
    default:
        sw_ranks_observe(&own.all, seen);
        return 0;
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* What those that wait for GPUs wait for. `list`: of one job alone, or of all. */
static void explain_queue(struct docker_api *api, json_t *list, struct sw_observation *jobs, size_t count)
{
    sw_auto(json) json_t *all = count == 1 ? docker_list(api, NULL, NULL) : json_incref(list);

    for (size_t i = 0; all && i < count; i++)
        if (jobs[i].presence == SW_PRESENT && sw_text_same(jobs[i].reason, SW_REASON_GPU_WAIT))
            docker_queue_explain(all, jobs[i].job.id, jobs[i].message, sizeof jobs[i].message);
}

/* One that vanished between list and question, or whose log cannot be read now, is asked about again later;
 * it keeps no other job from being judged. -1: it is the engine that does not answer. */
static int put_off(struct sw_observation *seen, const struct sw_error *why, int *bad, size_t count,
                   struct sw_error *err)
{
    seen->presence = SW_UNSEEN;
    seen->needs_reconcile = false;
    if (why->code == SW_E_NOT_FOUND || (++*bad < BAD_IN_A_ROW && count > 1))
        return 0;
    return sw_pass(err, why);
}

int docker_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                   struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    const char *id = count == 1 ? jobs[0].job.id : NULL;
    sw_auto(json) json_t *list = docker_list_now(conn, api, id, err);
    sw_auto(json) json_t *index = NULL;
    bool some_wait = false;
    int bad = 0;

    if (!list)
        return -1;
    index = docker_list_by_attempt(list);
    for (size_t i = 0; i < count; i++) {
        const struct docker_job job = { conn, api, &jobs[i].job };
        struct sw_error why = { 0 };

        if (observe_job(&job, docker_attempt_in(index, job.ref), count == 1, &jobs[i], &why) == 0) {
            some_wait |= sw_text_same(jobs[i].reason, SW_REASON_GPU_WAIT);
            bad = 0;
        } else if (put_off(&jobs[i], &why, &bad, count, err) < 0) {
            return -1;
        }
    }
    if (some_wait)
        explain_queue(api, list, jobs, count);
    return 0;
}
