/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.c - many jobs through an API that knows them by name; see jobs.h.
 */
#include "platform/kit/jobs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/report.h"
#include "core/run_end.h"
#include "core/state.h"
#include "core/stop.h"
#include "platform/kit/log.h"
#include "platform/kit/log_lines.h"
#include "platform/kit/sending.h"

enum { FIRST_PAUSE_MS = 10, LONGEST_PAUSE_MS = 500, GRACE_MS = 30000, RANKS_MAX = 4096 };

void sw_jobs_say(struct sw_observation *seen, enum sw_state state, const char *reason, const char *message)
{
    const char *text = message ? message : "";
    sw_autofree char *clean = sw_text_printable(text, strnlen(text, sizeof seen->message - 1));

    seen->state = state;
    snprintf(seen->reason, sizeof seen->reason, "%s", reason);
    snprintf(seen->message, sizeof seen->message, "%s", clean);
}

/* ---- replicas ----------------------------------------------------------------------------------- */

/* A command that ends without a newline has the report behind its last word. */
static json_t *report_in(const char *tail, const char *id, int number)
{
    const char *last = NULL;

    for (const char *at = tail; at && (at = strstr(at, SW_REPORT_START)); at++)
        last = at;
    return last ? sw_report_in_log(last, strlen(last), id, number) : NULL;
}

static void judge_end(const struct sw_jobs_rank *rank, int number, bool canceled, struct sw_observation *seen)
{
    struct sw_run_end end = SW_RUN_END_INIT;

    seen->runner = report_in(rank->log_tail, seen->job.id, number);
    end.exit_code = rank->exit_code;
    sw_run_end_report(&end, seen->runner);
    end.canceled |= canceled;
    end.host_ended = !canceled && rank->rank.state == SW_ERROR && rank->exit_code == SW_NO_EXIT_CODE;
    sw_run_end_judge(&end, seen);
}

void sw_jobs_read_ranks(const struct sw_jobs_rank *ranks, int count, bool canceled,
                        struct sw_observation *seen)
{
    struct sw_rank *plain = sw_alloc((size_t)(count + 1) * sizeof *plain);
    struct sw_ranks sum;

    for (int i = 0; i < count; i++)
        plain[i] = ranks[i].rank;
    sw_ranks_count(&sum, plain, count);
    sw_ranks_observe(&sum, seen);
    if (sum.phase == SW_RANKS_OVER)
        judge_end(&ranks[sum.first_failed > 0 ? sum.first_failed : 0],
                  sum.first_failed > 0 ? sum.first_failed : 0, canceled, seen);
    free(plain);
}

/* `reported`: its runner left a last word. */
static struct sw_jobs_rank rank_of(const struct sw_jobs_end *end, const char *id, int number, bool *reported)
{
    struct sw_jobs_rank rank = {
        .rank = { .presence = SW_PRESENT, .state = end->over, .ended_ms = end->ended_ms,
                  .follows = end->over != SW_COMPLETE },
        .exit_code = end->over == SW_COMPLETE ? 0 : SW_NO_EXIT_CODE };
    sw_auto(json) json_t *report = NULL;
    const char *at;
    int64_t at_ns = 0;
    char key[16];

    snprintf(key, sizeof key, "%d", number);
    rank.log_tail = sw_json_str(end->reports, key);
    report = report_in(rank.log_tail, id, number);
    *reported = report && sw_report_is_last(report);
    if (!*reported)
        return rank;
    rank.exit_code = (int)sw_json_int(report, "exit_code", rank.exit_code);
    rank.rank.follows = sw_json_bool(report, "stopped", false) || json_object_get(report, "failed_peer");
    if (end->over != SW_CANCELED)
        rank.rank.state = rank.exit_code == 0 ? SW_COMPLETE : SW_ERROR;
    at = sw_json_str(report, "at");
    if (at && sw_log_stamp(at, strlen(at), &at_ns))
        rank.rank.ended_ms = at_ns / 1000000;
    return rank;
}

static void say_failed(const struct sw_jobs_end *end, const char *message, struct sw_observation *seen)
{
    sw_jobs_say(seen, SW_ERROR, end->reason ? end->reason : SW_REASON_EXIT,
                end->message ? end->message : message);
}

void sw_jobs_read_end(const struct sw_jobs_end *end, struct sw_observation *seen)
{
    int ranks = end->ranks < 1 || end->ranks > RANKS_MAX ? 1 : end->ranks;
    struct sw_jobs_rank *all = sw_alloc((size_t)ranks * sizeof *all);
    int64_t started_ms = seen->started_ms;
    bool reported = false, one;

    for (int i = 0; i < ranks; i++) {
        all[i] = rank_of(end, seen->job.id, i, &one);
        reported |= one && (end->failed < 0 || end->failed == i);
        if (end->failed >= 0)
            all[i].rank.follows = end->failed != i;
    }
    seen->presence = SW_PRESENT;
    seen->exit_code = SW_NO_EXIT_CODE;
    seen->failed_replica = end->failed;
    if (end->over != SW_ERROR || reported)
        sw_jobs_read_ranks(all, ranks, end->over == SW_CANCELED, seen);
    if (end->over == SW_ERROR && !reported)
        say_failed(end, "the platform reports a failure, and the runner left no report", seen);
    else if (end->over == SW_ERROR && (seen->state == SW_COMPLETE ||
                                       (end->reason && seen->exit_code == SW_NO_EXIT_CODE)))
        say_failed(end, "one of its ranks failed", seen);
    seen->started_ms = started_ms;
    seen->ended_ms = end->ended_ms;
    free(all);
}

bool sw_jobs_have_ended(const json_t *reports, const char *id)
{
    const char *rank;
    json_t *text;

    json_object_foreach((json_t *)reports, rank, text) {
        const char *line = json_string_value(text);
        sw_auto(json) json_t *report = line ? sw_report_in_log(line, strlen(line), id, -1) : NULL;

        if (!report || !sw_report_is_last(report))
            return false;
    }
    return json_object_size(reports) > 0;
}

/* ---- many jobs ---------------------------------------------------------------------------------- */

static struct sw_jobs_name name_of(const struct sw_jobs_api *api, const struct sw_jobref *job)
{
    return api->name(job->id, job->attempt > 1 ? job->attempt : 1);
}

static void read_answer(const struct sw_jobs_api *api, struct sw_connection *conn, json_t *answer,
                        struct sw_observation *seen)
{
    if (api->detail)
        api->detail(conn, &seen->job, answer);
    api->read(answer, seen);
    /* A word that no table has says nothing about the state, and stays visible as the message. */
    if (seen->state == SW_UNKNOWN && *seen->message && !sw_state_is_final(seen->job.state))
        seen->state = seen->job.state;
}

/* The list may be older than the job, or wrong; its own address is not. */
static void ask_by_name(const struct sw_jobs_api *api, struct sw_connection *conn, const char *name,
                        struct sw_observation *seen)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *answer = api->get(conn, name, &why);

    if (answer)
        read_answer(api, conn, answer, seen);
    else
        seen->presence = why.code == SW_E_NOT_FOUND ? SW_ABSENT : SW_UNSEEN;
}

int sw_jobs_observe(const struct sw_jobs_api *api, struct sw_connection *conn, struct sw_observation *jobs,
                    size_t count, struct sw_error *err)
{
    sw_auto(json) json_t *list = api->list(conn, jobs, count, err);

    assert(!list || json_is_object(list));
    if (!list)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct sw_jobs_name name = name_of(api, &jobs[i].job);
        json_t *answer = json_object_get(list, name.text);

        if (answer)
            read_answer(api, conn, answer, &jobs[i]);
        else
            ask_by_name(api, conn, name.text, &jobs[i]);
    }
    return 0;
}

void sw_jobs_reconcile(const struct sw_jobs_api *api, struct sw_connection *conn,
                       const struct sw_observation *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].state == SW_RUNNING && sw_text_same(jobs[i].reason, SW_REASON_ENDING))
            api->stop(conn, name_of(api, &jobs[i].job).text, SW_REASON_ENDING, NULL);
}

static int state_of(const struct sw_jobs_api *api, struct sw_connection *conn, const struct sw_jobref *job,
                    enum sw_state *state, struct sw_error *err)
{
    struct sw_observation seen = { .job = *job };
    sw_auto(json) json_t *answer = api->get(conn, name_of(api, job).text, err);

    if (!answer)
        return -1;
    read_answer(api, conn, answer, &seen);
    sw_observation_done(&seen);
    *state = seen.state;
    return 0;
}

int sw_jobs_log_life(const struct sw_jobs_api *api, struct sw_connection *conn, const struct sw_jobref *job,
                     enum sw_log_life *life, struct sw_error *err)
{
    enum sw_state state;

    if (*life != SW_LOG_LIFE_UNKNOWN)
        return 0;
    if (state_of(api, conn, job, &state, err) < 0)
        return -1;
    *life = sw_state_is_final(state) ? SW_LOG_ENDED : SW_LOG_GROWS;
    return 0;
}

/* 0: it is over; 1: it is not; -1. */
static int is_going_on(const struct sw_jobs_api *api, struct sw_connection *conn, const struct sw_jobref *job,
                       struct sw_error *err)
{
    struct sw_error why = { 0 };
    enum sw_state state;

    if (state_of(api, conn, job, &state, &why) < 0)
        return why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
    return !sw_state_is_final(state);
}

static int64_t patience_ms(const struct sw_jobref *job)
{
    return sw_stop_budget_ms(sw_json_int(job->plan, "grace_ms", GRACE_MS)) + SW_STOP_SLACK_MS;
}

static int not_over(struct sw_error *err)
{
    return sw_fail(err, SW_E_UNREACHABLE, "the platform is stopping it; it has not finished yet");
}

static int wait_for_end(const struct sw_jobs_api *api, struct sw_connection *conn,
                        const struct sw_jobref *job, int64_t deadline_ms, struct sw_error *err)
{
    int64_t pause_ms = FIRST_PAUSE_MS;
    int result;

    if (deadline_ms == SW_NO_DEADLINE)
        deadline_ms = sw_monotonic_ms() + patience_ms(job);
    while ((result = is_going_on(api, conn, job, err)) == 1 && sw_monotonic_ms() < deadline_ms) {
        sw_sleep_ms(pause_ms);
        pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
    }
    return result == 1 ? not_over(err) : result;
}

static void cancel_each(const struct sw_jobs_api *api, struct sw_connection *conn, struct sw_batch_job *jobs,
                        size_t count, int64_t deadline_ms)
{
    for (size_t i = 0; i < count; i++) {
        jobs[i].result = api->stop(conn, name_of(api, jobs[i].job).text, SW_REASON_CANCELED, &jobs[i].err);
        if (jobs[i].result < 0 && jobs[i].err.code == SW_E_UNREACHABLE) {
            sw_batch_fail(jobs + i, count - i, &jobs[i].err);      /* the others would wait as long */
            count = i;
        }
    }
    for (size_t i = 0; i < count; i++)
        if (jobs[i].result == 0 || jobs[i].err.code == SW_E_NOT_FOUND)
            jobs[i].result = wait_for_end(api, conn, jobs[i].job, deadline_ms, &jobs[i].err);
}

struct canceling {                   /* all at once */
    const struct sw_jobs_api *api;
    struct sw_connection *conn;
    struct sw_batch_job *jobs;
    struct sw_observation *seen;
    size_t count;
    json_t *going_on;                /* answers of those that are not over */
};

/* One list for all. What fails for one alone is its own result. */
static int look(struct canceling *c, struct sw_error *err)
{
    sw_auto(json) json_t *found = c->api->list(c->conn, c->seen, c->count, err);

    if (!found)
        return -1;
    json_array_clear(c->going_on);
    for (size_t i = 0; i < c->count; i++) {
        struct sw_jobs_name name = name_of(c->api, c->jobs[i].job);
        struct sw_error why = { 0 };
        sw_auto(json) json_t *answer = json_incref(json_object_get(found, name.text));

        if (c->jobs[i].result < 0)
            continue;
        if (!answer && !(answer = c->api->get(c->conn, name.text, &why)) && why.code != SW_E_NOT_FOUND)
            c->jobs[i].result = sw_pass(&c->jobs[i].err, &why);
        if (answer && !c->api->is_over(answer))
            json_array_append(c->going_on, answer);
    }
    return 0;
}

static int cancel_all(struct canceling *c, int64_t deadline_ms, struct sw_error *err)
{
    if (look(c, err) < 0 || c->api->stop_all(c->conn, c->jobs, c->count, c->going_on, err) < 0)
        return -1;
    while (json_array_size(c->going_on) > 0) {
        if (sw_monotonic_ms() >= deadline_ms)
            return not_over(err);
        sw_sleep_ms(LONGEST_PAUSE_MS);
        if (look(c, err) < 0)
            return -1;
    }
    return 0;
}

static void cancel_at_once(struct canceling *c, int64_t deadline_ms)
{
    int64_t longest_ms = 0;
    struct sw_error why = { 0 };

    memset(c->seen, 0, (c->count + 1) * sizeof *c->seen);
    for (size_t i = 0; i < c->count; i++) {
        c->seen[i].job = *c->jobs[i].job;
        longest_ms = patience_ms(c->jobs[i].job) > longest_ms ? patience_ms(c->jobs[i].job) : longest_ms;
    }
    if (deadline_ms == SW_NO_DEADLINE)
        deadline_ms = sw_monotonic_ms() + longest_ms;
    if (cancel_all(c, deadline_ms, &why) < 0)
        sw_batch_fail(c->jobs, c->count, &why);
}

void sw_jobs_cancel(const struct sw_jobs_api *api, struct sw_connection *conn, struct sw_batch_job *jobs,
                    size_t count, int64_t deadline_ms)
{
    sw_auto(json) json_t *going_on = json_array();
    sw_autofree struct sw_observation *seen = sw_alloc((count + 1) * sizeof *seen);

    if (api->stop_all)
        cancel_at_once(&(struct canceling){ api, conn, jobs, seen, count, going_on }, deadline_ms);
    else
        cancel_each(api, conn, jobs, count, deadline_ms);
}

void sw_jobs_finalize(const struct sw_platform *platform, struct sw_connection *conn,
                      const struct sw_jobref *const *jobs, size_t count,
                      int (*delete_secrets)(struct sw_connection *conn, const char *id, int attempt,
                                            struct sw_error *err))
{
    sw_log_keep_ends(platform, conn, jobs, count);
    for (size_t i = 0; i < count; i++)
        if (sw_got_secrets(jobs[i]->plan))
            delete_secrets(conn, jobs[i]->id, jobs[i]->attempt, NULL);
}

void sw_jobs_evidence(const struct sw_platform *platform, struct sw_connection *conn,
                      const struct sw_observation *const *seen, struct sw_evidence *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sw_log log = { platform, conn, &seen[i]->job, seen[i]->failed_replica };
        bool gone = false;

        out[i].facts = out[i].facts ? out[i].facts : json_object();
        sw_report_facts(seen[i]->runner, out[i].facts);
        out[i].log_tail = sw_log_tail(&log, &gone);
        if (gone)
            json_object_set_new(out[i].facts, SW_FACT_LOG_GONE, json_true());
    }
}

void sw_jobs_receipt(struct sw_submission *out, const char *remote_id, const char *signature)
{
    snprintf(out->remote_id, sizeof out->remote_id, "%s", remote_id ? remote_id : "");
    snprintf(out->signature, sizeof out->signature, "%s", signature ? signature : "");
    out->details = json_object();
}

const json_t *sw_jobs_newest(const struct sw_jobs_api *api, const json_t *list, const char *id)
{
    const json_t *newest = NULL, *answer;

    for (int attempt = 1; (answer = json_object_get(list, api->name(id, attempt).text)); attempt++)
        newest = answer;
    return newest;
}
