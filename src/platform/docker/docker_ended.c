/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_ended.c - how containers ended, and what that means for their job.
 *
 * Of a container that ended the event stream may have told how; else it is inspected once: times, memory. The
 * report that its runner left is a file outside of it (docker_record.c), and a line of its log. A log, a
 * report or an event that cannot be read at that moment changes no job: "I could not see it" and "it is not
 * there" are never the same.
 */
#include "platform/docker/docker_observe.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/report.h"
#include "core/state.h"

enum { LAST_LINES = 1000 };          /* of one that failed */

/* ---- one container --------------------------------------------------------------------------- */

void docker_ended_done(struct docker_ended *ended)
{
    json_decref(ended->inspected);
    json_decref(ended->report);
    free(ended->tail);
    *ended = (struct docker_ended){ 0 };
}

void docker_read_report(struct docker_ended *ended)
{
    sw_run_end_report(&ended->end, ended->report);
    /* An engine that died under it says 255; its runner knows better. */
    if (ended->report && ended->end.exit_code == DOCKER_LOST_TRACK)
        ended->end.exit_code = (int)sw_json_int(ended->report, "exit_code", DOCKER_LOST_TRACK);
}

/* The last report of its runner: where it was kept, else in the log. Of one that went well it is either kept
 * or not needed. */
static int find_report(struct docker_api *api, const json_t *described, struct docker_ended *out,
                       struct sw_error *err)
{
    bool kept;

    if (docker_record_of(api, described, &out->report, &kept, err) < 0)
        return -1;
    out->recorded = out->report != NULL;
    if (out->recorded || (kept && out->end.exit_code == 0))
        return 0;
    if (docker_ask_report(api, sw_json_str(described, "Id"), docker_label(described, LABEL_ID),
                          &out->report, err) < 0)
        return -1;
    docker_drop_beat(&out->report);
    return 0;
}

/* It failed: what its runner reported, the end of its log, and whether it was canceled. */
static int read_last_words(struct docker_api *api, const json_t *described, struct docker_ended *out,
                           struct sw_error *err)
{
    const char *container = sw_json_str(described, "Id");
    sw_auto(json) json_t *in_tail = NULL;
    sw_autofree char *mark = NULL;

    if (find_report(api, described, out, err) < 0 ||
        docker_ask_tail(api, container, docker_label(described, LABEL_ID), LAST_LINES, &out->tail,
                        &in_tail, err) < 0)
        return -1;
    if (!out->tail)
        out->tail = sw_strdup("");            /* it was read, and has nothing: that is known */
    docker_read_report(out);
    if (out->report)
        return 0;
    if (docker_find_file(api, container, DOCKER_CANCELED, &mark, NULL, err) < 0)
        return -1;
    out->end.canceled = mark != NULL;
    return 0;
}

/* Of several; -1: there is one. */
static int rank_of(const json_t *described)
{
    return docker_label_number(described, LABEL_NODES, 1) > 1
               ? docker_label_number(described, LABEL_RANK, 0) : -1;
}

int docker_ended_read(struct docker_api *api, const char *container, struct docker_ended *out,
                      struct sw_error *err)
{
    const json_t *state;
    struct sw_run_end *end = &out->end;

    *out = (struct docker_ended){ .inspected = docker_inspect(api, container, err) };
    if (!out->inspected)
        return -1;
    state = json_object_get(out->inspected, "State");
    *end = (struct sw_run_end){
        .exit_code = (int)sw_json_int(state, "ExitCode", SW_NO_EXIT_CODE),
        .oom = sw_json_bool(state, "OOMKilled", false), .error = sw_json_str(state, "Error"),
        .failed_peer = -1, .rank = rank_of(out->inspected),
    };
    out->started_ms = docker_time_ms(sw_json_str(state, "StartedAt"));
    out->ended_ms = docker_time_ms(sw_json_str(state, "FinishedAt"));
    /* Of a very short life the engine may note the start after the end, which another process saw. */
    if (out->ended_ms && out->ended_ms < out->started_ms && !sw_json_bool(state, "Running", false))
        out->started_ms = out->ended_ms;
    return end->exit_code != 0 ? read_last_words(api, out->inspected, out, err) : 0;
}

/* One that is over, as the list tells it: what the engine told by itself is not asked for again. */
static int read_listed(struct docker_api *api, const json_t *listed, struct docker_ended *out,
                      struct sw_error *err)
{
    const json_t *heard = json_object_get(listed, DOCKER_HEARD);

    if (!heard)
        return docker_ended_read(api, sw_json_str(listed, "Id"), out, err);
    *out = (struct docker_ended){
        .end = { .exit_code = (int)sw_json_int(heard, "exit_code", SW_NO_EXIT_CODE),
                 .oom = sw_json_bool(heard, "oom", false), .failed_peer = -1,
                 .rank = rank_of(listed) },
        .started_ms = sw_json_int(heard, "started_ms", 0),
        .ended_ms = sw_json_int(heard, "ended_ms", 0),
    };
    return out->end.exit_code != 0 ? read_last_words(api, listed, out, err) : 0;
}

/* ---- several ranks --------------------------------------------------------------------------- */

static struct sw_rank rank_ended(const struct docker_ended *ended)
{
    const struct sw_run_end *end = &ended->end;

    return (struct sw_rank){
        .presence = ended->gone ? SW_ABSENT : SW_PRESENT,
        .state = end->exit_code == 0 ? SW_COMPLETE : end->canceled ? SW_CANCELED : SW_ERROR,
        .follows = end->failed_peer >= 0 || end->stopped,
        .started_ms = ended->started_ms, .ended_ms = ended->ended_ms,
    };
}

static int read_rank(const struct docker_job *job, const struct docker_containers *own, int rank,
                     bool closely, struct docker_ended *ended, struct sw_error *err)
{
    int result;

    if (own->at[rank] && closely)
        return docker_ended_read(job->api, sw_json_str(own->at[rank], "Id"), ended, err);
    if (own->at[rank])
        return read_listed(job->api, own->at[rank], ended, err);
    result = docker_ended_gone(job, rank, ended, err);
    ended->end.rank = own->all.count > 1 ? rank : -1;
    return result;
}

int docker_ends_read(const struct docker_job *job, const struct docker_containers *own, bool closely,
                     struct docker_ends *out, struct sw_error *err)
{
    const char *id;

    out->count = own->all.count;
    out->at = sw_alloc(((size_t)out->count + 1) * sizeof *out->at);
    for (int i = 0; i < out->count; i++) {
        int result = read_rank(job, own, i, closely, &out->at[i], err);

        if (result != 0)
            return result;
        out->ranks[i] = sw_rank_goes_on(&own->ranks[i]) ? own->ranks[i] : rank_ended(&out->at[i]);
    }
    out->failed = sw_ranks_first_failed(out->ranks, out->count);
    if (out->failed < 0)
        return 0;
    id = sw_json_str(own->at[out->failed], "Id");
    return docker_find_stopper(job->api, id || out->failed > 0 ? id : job->ref->remote_id,
                               &out->at[out->failed], err);
}

void docker_ends_done(struct docker_ends *ends)
{
    for (int i = 0; ends->at && i < ends->count; i++)
        docker_ended_done(&ends->at[i]);
    free(ends->at);
    *ends = (struct docker_ends){ 0 };
}

static void note_times(struct sw_observation *seen, const struct docker_ended *ended)
{
    if (ended->started_ms && (!seen->started_ms || ended->started_ms < seen->started_ms))
        seen->started_ms = ended->started_ms;
    if (ended->ended_ms > seen->ended_ms)
        seen->ended_ms = ended->ended_ms;
}

static json_t *facts_of(const struct docker_ended *ended)
{
    json_t *facts = json_object();

    if (ended->end.oom)
        json_object_set_new(facts, "oom_kills", json_integer(1));
    if (ended->end.failed_peer >= 0)
        json_object_set_new(facts, "failed_peer", json_integer(ended->end.failed_peer));
    sw_report_facts(ended->report, facts);
    if (ended->tail)
        json_object_set_new(facts, "log_tail", sw_json_text(ended->tail));
    return facts;
}

/* What a container writes while its engine is dead, the engine loses. Its runner's last report is the
 * last line of the log: one that left it, and whose log has none, has a log without an end. */
static int look_for_hole(struct docker_api *api, const json_t *container,
                         const struct docker_ended *ended, struct sw_observation *seen,
                         struct sw_error *err)
{
    sw_auto(json) json_t *in_log = NULL;
    size_t length = strlen(seen->message);
    int64_t since_ms;

    if (!container || json_object_get(container, DOCKER_HEARD) || !ended->recorded ||
        !ended->started_ms || seen->state == SW_CANCELED)
        return 0;
    if (docker_up_since(api, &since_ms, err) < 0)
        return -1;
    if (since_ms <= ended->started_ms)
        return 0;
    if (docker_ask_report(api, sw_json_str(container, "Id"), docker_label(container, LABEL_ID),
                          &in_log, err) < 0)
        return -1;
    if (!in_log || !sw_report_is_last(in_log))
        snprintf(seen->message + length, sizeof seen->message - length,
                 "; its log lacks what it wrote while the engine was away");
    return 0;
}

int docker_judge(const struct docker_job *job, const struct docker_containers *own,
                 struct sw_observation *seen, struct sw_error *err)
{
    sw_auto(docker_ends) struct docker_ends ends = { 0 };
    int result = docker_ends_read(job, own, false, &ends, err), rank = ends.failed < 0 ? 0 : ends.failed;
    struct docker_ended *worst = &ends.at[rank];

    assert(own->all.phase == SW_RANKS_OVER);
    if (result != 0)
        return result;
    /* Of one that went well only its runner knows how much was brought in and out, and in what time. */
    if (ends.failed < 0 && !worst->report && own->at[0] && find_report(job->api, own->at[0], worst, err) < 0)
        return -1;
    for (int i = 0; i < ends.count; i++)
        note_times(seen, &ends.at[i]);
    docker_judge_end(worst, seen);
    if (look_for_hole(job->api, own->at[rank], worst, seen, err) < 0)
        return -1;
    seen->failed_replica = seen->state != SW_ERROR ? -1 : own->all.count > 1 ? ends.failed : 0;
    seen->facts = facts_of(worst);
    seen->runner = json_incref(json_object_get(seen->facts, "runner"));
    return 0;
}
