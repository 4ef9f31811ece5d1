/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_watch.c - all jobs from one list of containers.
 *
 * The list tells which run. Of one that ended, while its job is still thought to run, the event stream
 * may have told how; else it is inspected once: times, memory. The report that the runner left is a file
 * outside of it (docker_record.c), and a line of its log. A list that does not come changes no job; nor
 * does a log, a report or an event that cannot be read at that moment: "I could not see it" and "it is
 * not there" are never the same.
 */
#include "platform/docker/docker_watch.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/report.h"
#include "core/state.h"
#include "platform/docker/docker_events.h"
#include "platform/docker/docker_submit.h"

enum {
    LAST_LINES = 1000,               /* of one that failed */
    BAD_IN_A_ROW = 2,                /* jobs that cannot be judged, until the engine itself is blamed */
};

/* ---- which containers belong to which job ---------------------------------------------------- */

static char *key_of(const char *id, int attempt)
{
    return sw_format("%s/%d", id, attempt);
}

/* Object "id/attempt" -> array of containers, shared. */
static json_t *by_job(const json_t *list)
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

void docker_crew_read(struct docker_crew *crew, const json_t *containers)
{
    json_t *container;
    size_t i;

    *crew = (struct docker_crew){ 0 };
    json_array_foreach(containers, i, container) {
        int rank = docker_label_number(container, LABEL_RANK, -1);
        bool waits = docker_label(container, LABEL_WANTS) && !docker_label(container, LABEL_HOLDS);

        if (rank < 0 || rank >= DOCKER_NODES_MAX)
            continue;
        if (waits && sw_text_same(sw_json_str(container, "State"), "created")) {
            crew->waiting++;
            continue;
        }
        crew->ranks[rank] = container;
        crew->nodes = docker_label_number(container, LABEL_NODES, 1);
    }
    if (crew->nodes > DOCKER_NODES_MAX)
        crew->nodes = DOCKER_NODES_MAX;
    for (int rank = 0; rank < crew->nodes; rank++) {
        const char *state = sw_json_str(crew->ranks[rank], "State");

        if (!crew->ranks[rank])
            crew->missing++;
        else if (sw_text_same(state, "created"))
            crew->created++;
        else if (docker_is_over(state))
            crew->over++;
        else if (docker_state(state, NULL) == SW_PAUSED)
            crew->paused++;
        else
            crew->running++;
    }
}

bool docker_is_over(const char *state)
{
    return docker_state(state, NULL) == SW_COMPLETE;
}

/* ---- an end ---------------------------------------------------------------------------------- */

static int has_file(struct docker_api *api, const char *container, const char *path, bool *has,
                    struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_autofree char *text = docker_file(api, container, path, NULL, &why);

    *has = text != NULL;
    if (text || why.code == SW_E_NOT_FOUND)
        return 0;
    if (err)
        *err = why;
    return -1;
}

void docker_story_done(struct docker_story *story)
{
    json_decref(story->inspected);
    json_decref(story->report);
    free(story->tail);
    *story = (struct docker_story){ 0 };
}

void docker_read_report(struct docker_story *story)
{
    sw_run_end_report(&story->end, story->report);
    /* An engine that died under it says 255; its runner knows better. */
    if (story->report && story->end.exit_code == DOCKER_LOST_TRACK)
        story->end.exit_code = (int)sw_json_int(story->report, "exit_code", DOCKER_LOST_TRACK);
}

/* The last report of its runner, from wherever it can be had. */
static int find_report(struct docker_api *api, const json_t *described, const char *container,
                       struct docker_story *out, struct sw_error *err)
{
    const char *job = docker_label(described, LABEL_ID);
    bool kept;

    if (docker_record_of(api, described, &out->report, &kept, err) < 0)
        return -1;
    out->recorded = out->report != NULL;
    if (out->recorded)
        return 0;
    if (docker_ask_report(api, container, job, &out->report, err) < 0)
        return -1;
    if (out->report && !sw_report_is_last(out->report)) {
        json_decref(out->report);                 /* it was killed in the middle of its work */
        out->report = NULL;
    }
    return 0;
}

/* It failed: what its runner reported, the end of its log, and whether it was canceled. */
static int read_last_words(struct docker_api *api, const json_t *described, const char *container,
                           struct docker_story *out, struct sw_error *err)
{
    const char *job = docker_label(described, LABEL_ID);
    sw_auto(json) json_t *in_tail = NULL;

    if (find_report(api, described, container, out, err) < 0 ||
        docker_ask_tail(api, container, job, LAST_LINES, &out->tail, &in_tail, err) < 0)
        return -1;
    if (!out->tail)
        out->tail = sw_strdup("");            /* it was read, and has nothing: that is known */
    docker_read_report(out);
    return out->report ? 0 : has_file(api, container, DOCKER_CANCELED, &out->end.canceled, err);
}

/* Of several; -1: there is one. */
static int rank_of(const json_t *described)
{
    return docker_label_number(described, LABEL_NODES, 1) > 1
               ? docker_label_number(described, LABEL_RANK, 0) : -1;
}

int docker_story_read(struct docker_api *api, const char *container, struct docker_story *out,
                      struct sw_error *err)
{
    const json_t *state;
    struct sw_run_end *end = &out->end;

    *out = (struct docker_story){ .inspected = docker_inspect(api, container, err) };
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
    return end->exit_code != 0 ? read_last_words(api, out->inspected, container, out, err) : 0;
}

/* One that is over, as the list tells it: what the engine told by itself is not asked for again. */
static int read_ended(struct docker_api *api, const json_t *listed, struct docker_story *out,
                      struct sw_error *err)
{
    const json_t *heard = json_object_get(listed, DOCKER_HEARD);
    const char *container = sw_json_str(listed, "Id");

    if (!heard)
        return docker_story_read(api, container, out, err);
    *out = (struct docker_story){
        .end = { .exit_code = (int)sw_json_int(heard, "exit_code", SW_NO_EXIT_CODE),
                 .oom = sw_json_bool(heard, "oom", false), .failed_peer = -1,
                 .rank = rank_of(listed) },
        .started_ms = sw_json_int(heard, "started_ms", 0),
        .ended_ms = sw_json_int(heard, "ended_ms", 0),
    };
    return out->end.exit_code != 0 ? read_last_words(api, listed, container, out, err) : 0;
}

/* ---- several ranks --------------------------------------------------------------------------- */

bool docker_failed_before(const struct docker_story *a, const struct docker_story *b)
{
    bool a_follows = a->end.failed_peer >= 0 || a->end.stopped;
    bool b_follows = b->end.failed_peer >= 0 || b->end.stopped;

    /* A rank that is gone tells nothing about a job that was canceled. */
    if (a->gone != b->gone && (a->end.canceled || b->end.canceled))
        return a->end.canceled;
    if (a_follows != b_follows)
        return !a_follows;
    if (!a->ended_ms != !b->ended_ms)
        return a->ended_ms != 0;
    return a->ended_ms < b->ended_ms;
}

static void note_times(struct sw_observation *seen, const struct docker_story *story)
{
    if (story->started_ms && (!seen->started_ms || story->started_ms < seen->started_ms))
        seen->started_ms = story->started_ms;
    if (story->ended_ms > seen->ended_ms)
        seen->ended_ms = story->ended_ms;
}

static json_t *facts_of(const struct docker_story *story)
{
    json_t *facts = json_object();

    if (story->end.oom)
        json_object_set_new(facts, "oom_kills", json_integer(1));
    if (story->end.failed_peer >= 0)
        json_object_set_new(facts, "failed_peer", json_integer(story->end.failed_peer));
    sw_report_facts(story->report, facts);
    return facts;
}

/* It went well: only its runner knows how much was brought in and out, and in what time. */
static int read_good_report(struct docker_api *api, const json_t *container,
                            struct docker_story *story, struct sw_error *err)
{
    bool kept;

    if (story->end.exit_code != 0 || story->report || !container)
        return 0;
    if (docker_record_of(api, container, &story->report, &kept, err) < 0)
        return -1;
    story->recorded = story->report != NULL;
    return kept ? 0 : docker_ask_report(api, sw_json_str(container, "Id"),
                                        docker_label(container, LABEL_ID), &story->report, err);
}

/* What a container writes while its engine is dead, the engine loses. Its runner's last report is the
 * last line of the log: one that left it, and whose log has none, has a log without an end. */
static int look_for_hole(struct docker_api *api, const json_t *container,
                         const struct docker_story *story, struct sw_observation *seen,
                         struct sw_error *err)
{
    sw_auto(json) json_t *in_log = NULL;
    size_t length = strlen(seen->message);
    int64_t since_ms;

    if (!container || json_object_get(container, DOCKER_HEARD) || !story->recorded ||
        !story->started_ms || seen->state == SW_CANCELED)
        return 0;
    if (docker_up_since(api, &since_ms, err) < 0)
        return -1;
    if (since_ms <= story->started_ms)
        return 0;
    if (docker_ask_report(api, sw_json_str(container, "Id"), docker_label(container, LABEL_ID),
                          &in_log, err) < 0)
        return -1;
    if (!in_log || !sw_report_is_last(in_log))
        snprintf(seen->message + length, sizeof seen->message - length,
                 "; its log lacks what it wrote while the engine was away");
    return 0;
}

static int read_rank(struct sw_connection *conn, struct docker_api *api, const struct docker_crew *crew,
                     const struct sw_jobref *job, int rank, struct docker_story *story,
                     struct sw_error *err)
{
    int result = crew->ranks[rank] ? read_ended(api, crew->ranks[rank], story, err)
                                   : docker_story_gone(conn, api, job, rank, story, err);

    if (!crew->ranks[rank])
        story->end.rank = crew->nodes > 1 ? rank : -1;
    return result;
}

/* The rank that decides, and when all of them began and ended. */
static int find_worst(struct sw_connection *conn, struct docker_api *api, const struct docker_crew *crew,
                      struct sw_observation *seen, struct docker_story *worst, int *failed,
                      struct sw_error *err)
{
    *failed = -1;
    for (int rank = 0; rank < crew->nodes; rank++) {
        sw_auto(docker_story) struct docker_story story = { 0 };

        if (read_rank(conn, api, crew, &seen->job, rank, &story, err) < 0)
            return -1;
        note_times(seen, &story);
        if (rank == 0 || (story.end.exit_code != 0 &&
                          (*failed < 0 || docker_failed_before(&story, worst)))) {
            struct docker_story before = *worst;

            *worst = story;
            story = before;
            *failed = worst->end.exit_code != 0 ? rank : -1;
        }
    }
    return 0;
}

int docker_judge_crew(struct sw_connection *conn, struct docker_api *api, const struct docker_crew *crew,
                      struct sw_observation *seen, json_t **facts, struct sw_error *err)
{
    sw_auto(docker_story) struct docker_story worst = { 0 };
    const json_t *container;
    const char *id;
    int failed;

    if (find_worst(conn, api, crew, seen, &worst, &failed, err) < 0)
        return -1;
    container = crew->ranks[failed < 0 ? 0 : failed];
    id = container ? sw_json_str(container, "Id") : failed <= 0 ? seen->job.remote_id : NULL;
    if (docker_find_hand(api, id, &worst, err) < 0 ||
        read_good_report(api, crew->ranks[0], &worst, err) < 0)
        return -1;
    docker_judge_end(&worst, seen);
    if (look_for_hole(api, container, &worst, seen, err) < 0)
        return -1;
    seen->failed_replica = seen->state == SW_ERROR && crew->nodes > 1 ? failed : -1;
    if (seen->state == SW_ERROR && crew->nodes == 1)
        seen->failed_replica = 0;
    *facts = facts_of(&worst);
    if (worst.tail)
        json_object_set_new(*facts, "log_tail", sw_json_text(worst.tail));
    return 0;
}

/* A rank failed and the others still run: its runner told them, unless it was killed itself. */
static void end_the_others(struct docker_api *api, const struct docker_crew *crew)
{
    for (int rank = 0; rank < crew->nodes; rank++)
        if (crew->ranks[rank] && !docker_is_over(sw_json_str(crew->ranks[rank], "State")))
            docker_tell(api, sw_json_str(crew->ranks[rank], "Id"), "/kill?signal=TERM", NULL);
}

static bool any_failed(const struct docker_crew *crew)
{
    for (int rank = 0; rank < crew->nodes; rank++) {
        int code = docker_exit_code(sw_json_str(crew->ranks[rank], "Status"));

        if (crew->ranks[rank] && docker_is_over(sw_json_str(crew->ranks[rank], "State")) &&
            code != 0)
            return true;
    }
    return false;
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

/* Its submit died between making and starting. Nobody will start it: it is taken away, unless the
 * start was on its way and came first. */
static int undo_half(struct docker_api *api, const struct docker_crew *crew,
                     struct sw_observation *seen, struct sw_error *err)
{
    bool whole = crew->missing == 0 && crew->created == 0;

    for (int rank = 0; rank < crew->nodes && !whole; rank++) {
        const char *id = sw_json_str(crew->ranks[rank], "Id");
        struct sw_error why = { 0 };

        if (!id || docker_delete(api, id, crew->nodes > 1, &why) == 0)
            continue;
        if (why.code != SW_E_CONFLICT) {
            if (err)
                *err = why;
            return -1;
        }
        whole = true;
    }
    if (whole)
        say(seen, SW_PENDING, SW_REASON_STARTING, "it is being started");
    else
        seen->presence = SW_ABSENT;
    return 0;
}

/* Made and not started although its submit is through: the engine refused, and said why. */
static int judge_unstarted(struct docker_api *api, const struct docker_crew *crew,
                           struct sw_observation *seen, struct sw_error *err)
{
    say(seen, SW_PENDING, SW_REASON_STARTING, "its container is made and not started yet");
    for (int rank = 0; rank < crew->nodes; rank++) {
        sw_auto(docker_story) struct docker_story story = { 0 };

        if (!sw_text_same(sw_json_str(crew->ranks[rank], "State"), "created"))
            continue;
        if (docker_story_read(api, sw_json_str(crew->ranks[rank], "Id"), &story, err) < 0)
            return -1;
        if (!sw_text_empty(story.end.error)) {
            docker_judge_end(&story, seen);
            seen->failed_replica = rank;
            return 0;
        }
    }
    return 0;
}

static int plan_nodes(const struct sw_jobref *job)
{
    int64_t nodes = sw_json_int(job->plan, "nodes", 1);

    return nodes < 1 ? 1 : nodes > DOCKER_NODES_MAX ? DOCKER_NODES_MAX : (int)nodes;
}

static void note_container(const struct docker_crew *crew, struct sw_observation *seen)
{
    const char *id = sw_json_str(crew->ranks[0], "Id");

    if (id)
        snprintf(seen->remote_id, sizeof seen->remote_id, "%s", id);
}

static int judge_over(struct sw_connection *conn, struct docker_api *api, const struct docker_crew *crew,
                      struct sw_observation *seen, struct sw_error *err)
{
    sw_auto(json) json_t *facts = NULL;

    seen->presence = SW_PRESENT;
    if (docker_judge_crew(conn, api, crew, seen, &facts, err) < 0)
        return -1;
    seen->runner = json_incref(json_object_get(facts, "runner"));
    if (seen->state == SW_ERROR)
        docker_remember(conn, seen->job.id, seen->job.attempt,
                        sw_json_object(SW_SUB_COPY("facts", facts)));
    return 0;
}

/* 1: there is one; 0: certainly not; -1. */
static int is_there(struct docker_api *api, const char *name, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *found = docker_inspect(api, name, &why);

    if (!found && why.code != SW_E_NOT_FOUND) {
        if (err)
            *err = why;
        return -1;
    }
    return found != NULL;
}

/* A submit that was not confirmed: "no such job" is believed at once, so the name is asked, too. */
static int judge_unconfirmed(struct docker_api *api, struct sw_observation *seen, struct sw_error *err)
{
    char name[DOCKER_NAME_SIZE];
    int there;

    docker_name(name, seen->job.id, seen->job.attempt, plan_nodes(&seen->job), 0);
    there = is_there(api, name, err);
    seen->presence = there == 0 ? SW_ABSENT : SW_UNSEEN;
    return there < 0 ? -1 : 0;
}

/* It was there, and no container of it is left. The list may lie for a moment, or be made just while one
 * that waited for GPUs becomes the real one: so the first one is asked for by its id, and by its name. */
static int judge_gone(struct sw_connection *conn, struct docker_api *api, struct sw_observation *seen,
                      struct sw_error *err)
{
    struct docker_crew crew = { .nodes = plan_nodes(&seen->job) };
    char name[DOCKER_NAME_SIZE];
    int there;

    docker_name(name, seen->job.id, seen->job.attempt, crew.nodes, 0);
    there = is_there(api, seen->job.remote_id, err);
    if (there == 0)
        there = is_there(api, name, err);
    if (there != 0)
        return there < 0 ? -1 : 0;                 /* presence stays SW_UNSEEN */
    crew.missing = crew.nodes;
    seen->by_absence = true;
    return judge_over(conn, api, &crew, seen, err);
}

/* Some of its containers are gone. One that had ended before is as good as there. */
static int count_gone(struct sw_connection *conn, struct docker_api *api, const struct docker_crew *crew,
                      const struct sw_jobref *job, int *lost, struct sw_error *err)
{
    *lost = -1;
    for (int rank = 0; rank < crew->nodes && *lost < 0; rank++) {
        sw_auto(json) json_t *report = NULL;

        if (crew->ranks[rank])
            continue;
        if (docker_record_gone(conn, api, job, rank, &report, err) < 0)
            return -1;
        if (!report || sw_json_int(report, "exit_code", 0) != 0)
            *lost = rank;
    }
    return 0;
}

static int judge_missing(struct sw_connection *conn, struct docker_api *api, const struct docker_crew *crew,
                         struct sw_observation *seen, struct sw_error *err)
{
    char words[128];
    int lost;

    if (count_gone(conn, api, crew, &seen->job, &lost, err) < 0)
        return -1;
    if (lost < 0) {
        say(seen, SW_RUNNING, "", "");
        return 0;
    }
    snprintf(words, sizeof words, "the container of rank %d is gone; the others are told to end", lost);
    say(seen, SW_RUNNING, SW_REASON_ENDING, words);
    end_the_others(api, crew);
    return 0;
}

/* A job with `guard: {no_output: ...}`: when did it last write? */
static void note_output(struct docker_api *api, const struct docker_crew *crew,
                        struct sw_observation *seen)
{
    if (!json_object_get(json_object_get(seen->job.plan, "guard"), "no_output"))
        return;
    for (int rank = 0; rank < crew->nodes; rank++) {
        int64_t at_ms = docker_last_output_ms(api, sw_json_str(crew->ranks[rank], "Id"));

        if (at_ms > seen->last_output_ms)
            seen->last_output_ms = at_ms;
    }
}

static int judge_job(struct sw_connection *conn, struct docker_api *api, const json_t *containers,
                     bool closely, struct sw_observation *seen, struct sw_error *err)
{
    struct docker_crew crew;
    const char *note = NULL;

    docker_crew_read(&crew, containers);
    if (crew.nodes == 0 && crew.waiting == 0)
        return sw_text_empty(seen->job.remote_id) ? judge_unconfirmed(api, seen, err)
                                                  : judge_gone(conn, api, seen, err);
    if (crew.nodes == 0) {
        say(seen, SW_PENDING, SW_REASON_GPU_WAIT, "waiting for GPUs of the engine");
        return 0;
    }
    note_container(&crew, seen);
    if (sw_text_empty(seen->job.remote_id) && (crew.created || crew.missing))
        return undo_half(api, &crew, seen, err);
    if (crew.over + crew.missing == crew.nodes)
        return judge_over(conn, api, &crew, seen, err);
    if (crew.over && any_failed(&crew)) {
        say(seen, SW_RUNNING, SW_REASON_ENDING, "a rank failed; the others are told to end");
        end_the_others(api, &crew);
    } else if (crew.missing) {
        return judge_missing(conn, api, &crew, seen, err);
    } else if (crew.paused) {
        say(seen, SW_PAUSED, SW_REASON_PAUSED, "somebody paused its container");
    } else if (crew.created) {
        return judge_unstarted(api, &crew, seen, err);
    } else {
        docker_state(sw_json_str(crew.ranks[0], "State"), &note);
        say(seen, SW_RUNNING, "", note ? note : "");
        note_output(api, &crew, seen);
        if (closely)
            seen->runner = docker_ask_beat(api, sw_json_str(crew.ranks[0], "Id"), seen->job.id);
    }
    return 0;
}

/* Some wait: start what can be started, and say of the others what they wait for. */
static void look_after_queue(struct docker_api *api, struct sw_observation *jobs, size_t count)
{
    sw_auto(json) json_t *all = docker_list(api, NULL, NULL);

    if (!all || docker_queue_advance(api, all, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (jobs[i].presence == SW_PRESENT && sw_text_same(jobs[i].reason, SW_REASON_GPU_WAIT))
            docker_queue_explain(all, jobs[i].job.id, jobs[i].message, sizeof jobs[i].message);
}

/* One that vanished between list and question, or whose log cannot be had just now, is asked about again
 * later; it keeps no other job from being judged. -1: it is the engine that does not answer. */
static int put_off(struct sw_observation *seen, const struct sw_error *why, int *bad, size_t count,
                   struct sw_error *err)
{
    seen->presence = SW_UNSEEN;
    if (why->code == SW_E_NOT_FOUND || (++*bad < BAD_IN_A_ROW && count > 1))
        return 0;
    if (err)
        *err = *why;
    return -1;
}

int docker_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                   struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *list = NULL, *index = NULL;
    bool some_wait = false;
    int bad = 0;

    if (docker_borrow(conn, &lent, err) < 0)
        return -1;
    list = docker_list_now(conn, lent.api, count == 1 ? jobs[0].job.id : NULL, err);
    if (!list)
        return -1;
    index = by_job(list);
    for (size_t i = 0; i < count; i++) {
        sw_autofree char *key = key_of(jobs[i].job.id, jobs[i].job.attempt);
        struct sw_error why = { 0 };

        if (judge_job(conn, lent.api, json_object_get(index, key), count == 1, &jobs[i],
                      &why) == 0) {
            some_wait |= sw_text_same(jobs[i].reason, SW_REASON_GPU_WAIT);
            bad = 0;
        } else if (put_off(&jobs[i], &why, &bad, count, err) < 0) {
            return -1;
        }
    }
    if (some_wait)
        look_after_queue(lent.api, jobs, count);
    return 0;
}
