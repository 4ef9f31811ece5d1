/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_ended.c - how containers ended, and what that means for their job.
 *
 * Of a container that ended the event stream may have told how; else it is inspected once: times, memory. The
 * report that its runner left is a file outside of it (docker_record.c), and a line of its log. A log, a
 * report or an event that cannot be read at that moment changes no job: "I could not see it" and "it is not
 * there" are never the same.
 */
#include "platform/docker/docker_job.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
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

static void read_report(struct docker_ended *ended)
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
static int read_last_words(struct docker_api *api, const json_t *described,
                           struct docker_ended *out, struct sw_error *err)
{
    const char *container = sw_json_str(described, "Id");
    sw_autofree char *mark = NULL;

    if (find_report(api, described, out, err) < 0 ||
        docker_ask_tail(api, container, docker_label(described, LABEL_ID), LAST_LINES, &out->tail,
                        NULL, err) < 0)
        return -1;
    if (!out->tail)
        out->tail = sw_strdup("");            /* it was read, and has nothing: that is known */
    read_report(out);
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

/* ---- one that is gone ------------------------------------------------------------------------ */

/* It left no report. One that ended by itself is judged by its exit code; one that a user ended, or
 * removed while it ran, is canceled; of any other it is not known. */
static int ask_past(const struct docker_job *job, int rank, struct docker_ended *out,
                    struct sw_error *err)
{
    struct docker_past past = { .attempt = job->ref->attempt, .rank = rank };

    if (job->api->podman)          /* its events come late or not at all */
        return 0;
    if (docker_past_read(job->api, job->ref->id, &past, err) < 0)
        return -1;
    out->ended_ms = past.ended_ms;
    out->never_began = past.removed && !past.started && !past.died;
    out->end.by_hand = past.killed || (past.removed && !past.died && !out->never_began);
    if (past.died && !past.killed) {
        out->gone = false;
        out->end.exit_code = past.exit_code;
        out->engine = DOCKER_ENGINE_STAYED;
    }
    return 0;
}

/* 1: its record is in a volume, and must be fetched first. */
static int read_gone(const struct docker_job *job, int rank, struct docker_ended *out,
                     struct sw_error *err)
{
    int result;

    *out = (struct docker_ended){ .end = SW_RUN_END_INIT, .gone = true };
    result = docker_record_gone(job, rank, &out->report, err);
    if (result != 0)
        return result;
    if (!out->report)
        return ask_past(job, rank, out, err);
    out->gone = false;
    out->end.exit_code = (int)sw_json_int(out->report, "exit_code", SW_NO_EXIT_CODE);
    read_report(out);
    /* A command that ended well after a request to end is not done: its container had said so. */
    if (out->end.stopped && out->end.exit_code == 0)
        out->end.exit_code = 143;
    out->ended_ms = docker_time_ms(sw_json_str(out->report, "at"));
    return 0;
}

/* ---- did a user stop it, or did the engine go down? --------------------------------------------
 * Both look the same in it: TERM, a moment later KILL; the engine even tells the same events. What
 * differs is the engine: one that went down came back after the container's end. Its network "bridge" tells
 * since when it is there: it is made anew each time the engine starts, after what was left running is
 * stopped. Some engines run without it; then the events tell, which live in the engine's memory:
 *
 *   - one that remembers the container's start and its end was there all the time;
 *   - it keeps the last 256, so one that has fewer remembers all of its life, and if the container's end is
 *     not among them, that was before. An end without its start may be its own doing, when it began.
 *
 * Where none of them knows, the job is not run again for it. An engine that is still
 * going down answers on connections that it has, but takes no new one; so it is asked on a new one, and
 * no answer changes no job.
 *
 * A container that was killed whole may also be the kernel's work. Then only the engine's memory of a
 * `kill` makes it a user's; without that it stays a signal. */

enum { EVENTS_KEPT = 256 };          /* by the engine */

static int64_t machine_up_since_ms(void)
{
    struct timespec up;

    return clock_gettime(CLOCK_BOOTTIME, &up) == 0
               ? sw_now_ms() - (int64_t)up.tv_sec * 1000 - up.tv_nsec / 1000000 : 0;
}

int docker_up_since(struct docker_api *api, int64_t *since_ms, struct sw_error *err)
{
    sw_auto(json) json_t *bridge = NULL;
    struct sw_error why = { 0 };

    *since_ms = 0;
    if (!docker_api_version(api, err))
        return -1;
    if (api->podman) {
        *since_ms = api->endpoint.way == DOCKER_UNIX ? machine_up_since_ms() : 0;
        return 0;
    }
    if (docker_ask(api, &(struct sw_rest_call){ .path = "/networks/bridge" }, &bridge, &why) < 0 &&
        why.code != SW_E_NOT_FOUND) {
        return sw_pass(err, &why);
    }
    *since_ms = docker_time_ms(sw_json_str(bridge, "Created"));
    return 0;
}

static int find_out(struct docker_api *fresh, const char *container, int64_t ended_ms,
                    enum docker_engine *engine, bool *killed, struct sw_error *err)
{
    struct docker_past memory = { .container = container };
    int64_t since_ms;

    if (docker_up_since(fresh, &since_ms, err) < 0 ||
        docker_past_read(fresh, NULL, &memory, err) < 0)
        return -1;
    *killed = memory.killed;
    *engine = DOCKER_ENGINE_NOT_KNOWN;
    if (since_ms)
        *engine = since_ms > ended_ms ? DOCKER_ENGINE_CAME_LATER : DOCKER_ENGINE_STAYED;
    else if (fresh->podman)        /* its events come late or not at all */
        return 0;
    else if (memory.started && memory.died)
        *engine = DOCKER_ENGINE_STAYED;
    else if (!memory.died && memory.events < EVENTS_KEPT)
        *engine = DOCKER_ENGINE_CAME_LATER;
    return 0;
}

/* Only where it matters. `container`: its id; NULL: it is gone, and that is not known. -1: the engine
 * cannot be asked, or is going down. */
static int find_stopper(struct docker_api *api, const char *container, struct docker_ended *ended,
                        struct sw_error *err)
{
    sw_auto(docker_api) struct docker_api *fresh = NULL;
    struct sw_run_end *end = &ended->end;
    bool silent = !end->reported && !end->oom && ended->ended_ms;
    bool killed = silent && end->signal == SIGKILL, lost = silent && end->exit_code == DOCKER_LOST_TRACK;
    bool by_kill;

    if (end->canceled || end->by_hand || end->timed_out || end->failed_peer >= 0 || ended->gone ||
        !(end->stopped || killed || lost))
        return 0;
    fresh = docker_api_open(&api->endpoint, err);
    if (!fresh || find_out(fresh, container ? container : "", ended->ended_ms, &ended->engine, &by_kill,
                           err) < 0)
        return -1;
    end->by_hand = ended->engine == DOCKER_ENGINE_STAYED && (end->stopped || (killed && by_kill));
    return 0;
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
    result = read_gone(job, rank, ended, err);
    ended->end.rank = own->all.count > 1 ? rank : -1;
    return result;
}

int docker_ends_read(const struct docker_job *job, const struct docker_containers *own,
                     bool closely, struct docker_ends *out, struct sw_error *err)
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
    return find_stopper(job->api, id || out->failed > 0 ? id : job->ref->remote_id,
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
    int result = docker_ends_read(job, own, false, &ends, err);
    int rank = ends.failed < 0 ? 0 : ends.failed;
    struct docker_ended *worst = &ends.at[rank];

    assert(own->all.phase == SW_RANKS_OVER);
    if (result != 0)
        return result;
    /* Of one that went well only its runner knows how much was brought in and out, and in what time. */
    if (ends.failed < 0 && !worst->report && own->at[0] &&
        find_report(job->api, own->at[0], worst, err) < 0)
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
