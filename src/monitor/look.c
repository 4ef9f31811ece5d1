/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look.c - ask one platform about its jobs, and what the answers mean for the store.
 *
 * Four answers need thought:
 *   - "no such job" counts only at the place that the job was sent to, and once may be a lie (a
 *     cache, a restarting server). The first time only the reason becomes "missing"; if it is still
 *     so some seconds later, the job is lost.
 *   - A row still "submitting" whose submitter is alive is left alone. If the submitter is dead,
 *     one refresher claims the row and asks the platform: found -> adopted, absent -> nothing was
 *     started, and the row says so. A later attempt is sent instead (attempt.c).
 *   - A failure that is to be retried never becomes a final state. What is left of it is canceled
 *     first: a node that was given up may still be at work, and two attempts at once would write
 *     to the same results.
 *   - A cancel that was asked for but never confirmed (the client died) is carried out again.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/report.h"
#include "monitor/monitor_internal.h"
#include "monitor/retry.h"
#include "monitor/verdict.h"

enum {
    SLICE = 1024,                      /* rows in memory at a time */
    MISSING_IS_LOST_MS = 5000,         /* how long "no such job" must last to be believed */
    CLOCK_WAS_SET_MS = 60 * 1000,      /* a time so far in the future is no difference of clocks */
    AVOID_MOST = 32,                   /* nodes to keep away from */
};

struct view {                          /* one row, what was seen of it, and what follows */
    struct sw_job job;
    json_t *verdict;
    bool stale;                        /* the row was changed since we read it */
    bool send;                         /* the attempt is due, and nothing of it is there */
};

struct slice {
    const struct sw_monitor *monitor;
    const struct question *question;
    struct sw_store *store;
    struct sw_connection *conn;
    const json_t *rules;               /* the user's own, for explaining failures */
    int owners;                        /* holds the locks of the rows we claimed; -1: none */
    struct view *views;
    struct sw_observation *seen;          /* beside the views: poll wants them in a row */
    size_t count;
    int64_t now_ms;
};

static void slice_auto(struct slice *slice)
{
    for (size_t i = 0; i < slice->count; i++) {
        json_decref(slice->seen[i].before);
        json_decref(slice->seen[i].live);
        json_decref(slice->seen[i].runner);
        json_decref(slice->views[i].verdict);
        sw_job_done(&slice->views[i].job);
    }
    free(slice->views);
    free(slice->seen);
    if (slice->owners >= 0)
        close(slice->owners);
}

struct sw_jobref monitor_ref(const struct sw_job *job)
{
    return (struct sw_jobref){ .id = job->id, .remote_id = job->remote_id,
                               .attempt = job->attempt, .state = job->state,
                               .details = job->details, .plan = job->plan };
}

/* ---- which rows are ours to look at ----------------------------------------------------------- */

/* A clock that was set back since then would make it wait for ever: then it is time now. */
static bool waits_for_its_time(const struct sw_job *job, int64_t now_ms)
{
    return job->not_before_ms > now_ms && now_ms > job->updated_ms - CLOCK_WAS_SET_MS;
}

/* A submitting one only after its submitter died, and a retry only when its time has come. */
static bool ours_to_look_at(struct slice *slice, const struct sw_job *job)
{
    sw_auto(json) json_t *me = NULL;
    bool won = false;

    if (job->phase != SW_PHASE_SUBMITTING)
        return job->phase == SW_PHASE_ACTIVE;
    if ((waits_for_its_time(job, slice->now_ms) && !job->canceling) ||
        sw_owner_lives(slice->store, job, slice->now_ms))
        return false;
    if (slice->owners < 0)
        slice->owners = sw_owner_open(slice->store);
    me = sw_owner_json();
    if (!me || !sw_owner_take(slice->owners, job->id))
        return false;
    if (sw_store_claim(slice->store, job->id, job->owner, me, &won, NULL) < 0 || !won)
        sw_owner_release(slice->owners, job->id);
    return won;
}

static int load(struct slice *slice, size_t from, struct sw_error *err)
{
    const struct question *question = slice->question;
    size_t count = question->count - from < SLICE ? question->count - from : SLICE, found = 0;
    sw_autofree struct sw_job *jobs = sw_alloc(count * sizeof *jobs);

    if (sw_store_get_many(slice->store, (const char (*)[SW_ID_SIZE])question->ids + from, count, jobs,
                          &found, err) < 0)
        return -1;
    slice->views = sw_alloc((found + 1) * sizeof *slice->views);
    slice->seen = sw_alloc((found + 1) * sizeof *slice->seen);
    for (size_t i = 0; i < found; i++) {
        if (!ours_to_look_at(slice, &jobs[i])) {
            sw_job_done(&jobs[i]);
            continue;
        }
        slice->views[slice->count].job = jobs[i];
        slice->seen[slice->count] = (struct sw_observation){
            .job = monitor_ref(&slice->views[slice->count].job),
            .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1,
        };
        slice->count++;
    }
    return 0;
}

/* We claimed these rows to find out, and did not: let the next one try. */
static void release_claims(const struct slice *slice)
{
    for (size_t i = 0; i < slice->count; i++)
        if (slice->views[i].job.phase == SW_PHASE_SUBMITTING &&
            slice->seen[i].presence == SW_UNSEEN)
            sw_store_let_go(slice->store, slice->views[i].job.id);
}

/* ---- what an answer means --------------------------------------------------------------------- */

void monitor_say(struct sw_observation *seen, enum sw_state state, const char *reason,
                 const char *message)
{
    seen->presence = SW_PRESENT;
    seen->state = state;
    seen->exit_code = SW_NO_EXIT_CODE;
    seen->failed_replica = -1;
    seen->ended_ms = sw_state_is_final(state) ? sw_now_ms() : 0;
    snprintf(seen->reason, sizeof seen->reason, "%s", reason);
    snprintf(seen->message, sizeof seen->message, "%.255s", message);
}

/* The platform has no such job: what that means depends on how far we were. */
static void judge_absence(struct view *view, struct sw_observation *seen, int64_t now_ms)
{
    const struct sw_job *job = &view->job;

    if (job->phase == SW_PHASE_SUBMITTING && job->canceling) {
        monitor_say(seen, SW_CANCELED, SW_REASON_CANCELED, "canceled before anything was started");
    } else if (job->phase == SW_PHASE_SUBMITTING && job->attempt > 1) {
        seen->presence = SW_UNSEEN;
        view->send = true;
    } else if (job->phase == SW_PHASE_SUBMITTING) {
        monitor_say(seen, SW_ERROR, SW_REASON_NOT_STARTED,
                    "the submit was interrupted before anything was started");
    } else if (!sw_text_same(job->reason, SW_REASON_MISSING)) {
        monitor_say(seen, job->state, SW_REASON_MISSING,
                    "the platform says there is no such job; looking again");
    } else if (now_ms - job->updated_ms >= MISSING_IS_LOST_MS) {
        monitor_say(seen, SW_ERROR, SW_REASON_LOST, "the platform no longer knows this job");
    } else {
        seen->presence = SW_UNSEEN;
    }
}

/* A claimed row whose job exists after all: remember what submit could not. */
static int take_over(const struct slice *slice, struct view *view, struct sw_error *err)
{
    const struct sw_platform *platform = slice->question->platform;
    const struct sw_job *job = &view->job;
    struct sw_submission receipt = { 0 };
    json_t *plan = NULL;
    int result;

    if (platform->adopt && platform->adopt(slice->conn, job->id, &plan, &receipt, NULL) < 0)
        receipt = (struct sw_submission){ 0 };
    result = sw_store_submitted(slice->store, job->id, receipt.remote_id, receipt.details,
                                receipt.results_dir ? receipt.results_dir : job->results_dir, err);
    json_decref(plan);
    json_decref(receipt.details);
    free(receipt.results_dir);
    view->stale = true;
    return result;
}

/* The platform tried again by itself: the row goes on to the attempt that is there now. */
static int catch_up(const struct slice *slice, struct view *view, struct sw_observation *seen,
                    struct sw_error *err)
{
    if (seen->presence != SW_PRESENT || seen->attempt <= view->job.attempt)
        return 0;
    if (sw_store_caught_up(slice->store, seen, slice->now_ms, err) < 0)
        return -1;
    view->job.attempt = seen->job.attempt = seen->attempt;
    view->stale = true;
    return 0;
}

/* A job that ended well and left nothing where results were declared is told from one that left them. */
static void warn_of_empty(struct sw_observation *seen)
{
    sw_autofree char *warning = seen->presence == SW_PRESENT && seen->state == SW_COMPLETE
                                    ? sw_report_warning(seen->runner) : NULL;

    if (warning)
        snprintf(seen->message, sizeof seen->message, "warning: %s", warning);
}

static bool must_be_canceled(const struct view *view, const struct sw_observation *seen)
{
    return view->job.canceling && seen->presence == SW_PRESENT && !sw_state_is_final(seen->state);
}

static bool failed(const struct view *view, const struct sw_observation *seen)
{
    (void)view;
    return seen->presence == SW_PRESENT && seen->state == SW_ERROR;
}

/* Those of the slice for which that is so: their observations and, beside them, their numbers. */
static size_t those(const struct slice *slice,
                    bool (*so)(const struct view *view, const struct sw_observation *seen),
                    struct sw_observation **seen, size_t *which)
{
    size_t count = 0;

    for (size_t i = 0; i < slice->count; i++)
        if (so(&slice->views[i], &slice->seen[i])) {
            seen[count] = &slice->seen[i];
            which[count++] = i;
        }
    return count;
}

/* The program's own words say more than "exit code 1": they are the message from now on. */
static void say_own_words(struct sw_observation *seen, const json_t *verdict)
{
    if (sw_json_bool(verdict, "from_log", false))
        snprintf(seen->message, sizeof seen->message, "%.255s", sw_json_str(verdict, "headline"));
}

/* At every refresh: one question to the place for each of the two, whatever the number of jobs. */
static void cancel_and_explain(const struct slice *slice)
{
    const struct sw_platform *platform = slice->question->platform;
    sw_autofree struct sw_observation **seen = sw_alloc(slice->count * sizeof *seen);
    sw_autofree size_t *which = sw_alloc(slice->count * sizeof *which);
    sw_autofree json_t **verdicts = sw_alloc(slice->count * sizeof *verdicts);
    size_t count = those(slice, must_be_canceled, seen, which);

    monitor_cancel_again(slice->store, platform, slice->conn, seen, count);
    count = those(slice, failed, seen, which);
    sw_verdicts(platform, slice->conn, slice->rules, seen, NULL, verdicts, count);
    for (size_t i = 0; i < count; i++) {
        slice->views[which[i]].verdict = verdicts[i];
        say_own_words(seen[i], verdicts[i]);
    }
}

/* ---- retry ------------------------------------------------------------------------------------ */

/* Where the next attempt should not go: where earlier ones failed, and now this one. */
static json_t *nodes_to_avoid(const struct sw_job *job, const struct sw_observation *failed)
{
    const char *node = *failed->node ? failed->node : job->node;
    json_t *avoid = json_is_array(job->avoid) ? json_deep_copy(job->avoid) : json_array();
    json_t *known;
    size_t i;

    json_array_foreach(avoid, i, known)
        if (sw_text_same(json_string_value(known), node))
            return avoid;
    if (!sw_text_empty(node))
        json_array_append_new(avoid, sw_json_text(node));
    if (json_array_size(avoid) > AVOID_MOST)
        json_array_remove(avoid, 0);
    return avoid;
}

/* Shall a failed job be tried again, as its rules say? */
static bool is_retried(const struct slice *slice, size_t index, struct sw_retry *retry)
{
    const struct sw_observation *seen = &slice->seen[index];
    const struct view *view = &slice->views[index];

    if (slice->question->platform->retries || !failed(view, seen) || view->job.canceling ||
        sw_json_bool(view->job.plan, SW_PLAN_UNSIGNED, false) ||
        (view->job.phase == SW_PHASE_SUBMITTING && sw_text_same(seen->reason, SW_REASON_NOT_STARTED)))
        return false;
    sw_retry_decide(view->job.plan, slice->question->platform->name, seen, view->verdict,
                    sw_retry_jitter(view->job.id, view->job.attempt), retry);
    return retry->again && (!retry->only_collect || slice->question->platform->collects);
}

static int retry_one(const struct slice *slice, size_t index, const struct sw_retry *retry,
                     struct sw_error *err)
{
    struct sw_observation *seen = &slice->seen[index];
    const struct view *view = &slice->views[index];
    sw_auto(json) json_t *avoid = retry->avoid_node ? nodes_to_avoid(&view->job, seen) : NULL;
    bool won = false;

    return sw_store_retry(slice->store, seen, view->verdict, slice->now_ms + retry->wait_ms,
                          retry->only_collect, avoid, retry->why, slice->now_ms, &won, err);
}

/* Try failed jobs again, where their rules say so. What was retried is taken out of the
 * observations: it is not
 * an end. Nor is what may still run: the next look finds out. */
static int retry_or_end(const struct slice *slice, struct sw_error *err)
{
    sw_autofree size_t *which = sw_alloc(slice->count * sizeof *which);
    sw_autofree struct sw_observation **seen = sw_alloc(slice->count * sizeof *seen);
    size_t candidates = those(slice, failed, seen, which), count = 0;
    sw_autofree struct sw_retry *retries = sw_alloc((candidates + 1) * sizeof *retries);
    sw_autofree struct sw_batch_job *jobs = sw_alloc((candidates + 1) * sizeof *jobs);

    for (size_t i = 0; i < candidates; i++)
        if (is_retried(slice, which[i], &retries[count])) {
            jobs[count].job = &slice->seen[which[i]].job;
            which[count++] = which[i];
        }
    if (count > 0)
        slice->question->platform->cancel(slice->conn, jobs, count, SW_NO_DEADLINE);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].result >= 0 && retry_one(slice, which[i], &retries[i], err) < 0)
            return -1;
        slice->seen[which[i]].presence = SW_UNSEEN;
    }
    return 0;
}

/* ---- one slice -------------------------------------------------------------------------------- */

static int judge(struct slice *slice, struct sw_error *err)
{
    for (size_t i = 0; i < slice->count; i++) {
        struct view *view = &slice->views[i];
        struct sw_observation *seen = &slice->seen[i];

        if (seen->presence == SW_ABSENT)
            judge_absence(view, seen, slice->now_ms);
        else if (seen->presence == SW_PRESENT && view->job.phase == SW_PHASE_SUBMITTING &&
                 take_over(slice, view, err) < 0)
            return -1;
        if (catch_up(slice, view, seen, err) < 0)
            return -1;
        warn_of_empty(seen);
    }
    cancel_and_explain(slice);
    return retry_or_end(slice, err);
}

/* Mostly nothing is new: then the rows are not read a second time. */
static int write_down(const struct slice *slice, struct sw_error *err)
{
    sw_autofree struct sw_observation *news = NULL;
    sw_autofree json_t **verdicts = NULL;
    size_t count = 0;

    for (size_t i = 0; i < slice->count; i++) {
        const struct view *view = &slice->views[i];

        if (!view->stale &&
            !sw_store_is_news(&view->job, &slice->seen[i], view->verdict, slice->now_ms))
            continue;
        if (!news) {
            news = sw_alloc((slice->count - i) * sizeof *news);
            verdicts = sw_alloc((slice->count - i) * sizeof *verdicts);
        }
        news[count] = slice->seen[i];
        verdicts[count++] = view->verdict;
    }
    return count == 0 ? 0 : sw_store_saw_many(slice->store, news, count, verdicts, slice->now_ms,
                                              NULL, err);
}

/* How far it came is read once more at the end, by every kind of refresh; and one that only waits must not
 * miss a milestone. */
static bool wants_progress(const struct question *question, const struct sw_job *job,
                           const struct sw_observation *seen)
{
    return question->progress || sw_state_is_final(seen->state) ||
           sw_json_str(json_object_get(job->plan, "hooks"), "on_epoch_milestone");
}

static void read_log(const struct slice *slice, size_t index, struct monitor_words *words)
{
    const struct view *view = &slice->views[index];
    const struct sw_observation *seen = &slice->seen[index];

    words->job = &view->job;
    if (seen->presence != SW_PRESENT)
        return;
    if (wants_progress(slice->question, &view->job, seen) && seen->state != SW_PENDING)
        monitor_read_progress(slice->question->platform, slice->conn, seen, words);
    else if (seen->runner && slice->question->progress)
        monitor_take_report(seen, words);
}

static bool has_ended(const struct view *view, const struct sw_observation *seen)
{
    (void)view;
    return seen->presence == SW_PRESENT && sw_state_is_final(seen->state);
}

/* Where a log is elsewhere, the ends of all of them are one question. */
static void read_ends(const struct slice *slice, struct monitor_words *words)
{
    const struct sw_platform *platform = slice->question->platform;
    sw_autofree struct sw_observation **seen = sw_alloc(slice->count * sizeof *seen);
    sw_autofree size_t *which = sw_alloc(slice->count * sizeof *which);
    sw_autofree char **texts = sw_alloc(slice->count * sizeof *texts);
    size_t count = platform->log_ends ? those(slice, has_ended, seen, which) : 0;

    if (count == 0)
        return;
    platform->log_ends(slice->conn, (const struct sw_observation *const *)seen, texts, count);
    for (size_t i = 0; i < count; i++)
        words[which[i]].log_end = texts[i];
}

/* The logs of the jobs that are over, or of the others; what they say is kept in one transaction. */
static void read_logs(const struct slice *slice, bool over)
{
    sw_autofree struct monitor_words *words = sw_alloc(slice->count * sizeof *words);

    if (over)
        read_ends(slice, words);
    for (size_t i = 0; i < slice->count; i++)
        if (sw_state_is_final(slice->seen[i].state) == over)
            read_log(slice, i, &words[i]);
    monitor_keep(slice->store, words, slice->count);
}

static void settle(const struct slice *slice)
{
    const struct sw_platform *platform = slice->question->platform;
    sw_autofree const struct sw_jobref **over =
        sw_realloc_array(NULL, slice->count + 1, sizeof *over);
    size_t count = 0;

    for (size_t i = 0; i < slice->count; i++)
        if (slice->seen[i].presence == SW_PRESENT && sw_state_is_final(slice->seen[i].state))
            over[count++] = &slice->seen[i].job;
    if (platform->finalize && count > 0)
        platform->finalize(slice->conn, over, count);
}

/* Attempts that are due, and of which the platform has nothing. */
static int send_due(const struct slice *slice, struct sw_error *err)
{
    sw_autofree const char **ids = sw_alloc(slice->count * sizeof *ids);
    size_t count = 0;

    for (size_t i = 0; i < slice->count; i++)
        if (slice->views[i].send)
            ids[count++] = slice->views[i].job.id;
    return monitor_send(slice->monitor, slice->question->platform, slice->conn, ids, count, err);
}

/* What follows for single jobs: an attempt is sent, a log is read, a guard barks. */
static int follow_up(const struct slice *slice, struct sw_error *err)
{
    const struct sw_platform *platform = slice->question->platform;

    if (send_due(slice, err) < 0)
        return -1;
    for (size_t i = 0; i < slice->count; i++) {
        struct view *view = &slice->views[i];
        const struct sw_observation *seen = &slice->seen[i];

        if (seen->presence == SW_PRESENT && seen->state == SW_RUNNING)
            monitor_guard(slice->store, platform, slice->conn, &view->job, seen, slice->now_ms);
    }
    read_logs(slice, false);
    settle(slice);
    return 0;
}

static void note_unreachable(json_t *unreachable, const char *platform, const struct sw_error *why)
{
    if (unreachable)
        json_array_append_new(unreachable, sw_json_object(SW_STR("platform", platform),
                                                          SW_STR("message", why->message)));
}

static bool was_found(const struct sw_observation *seen)
{
    return seen->presence == SW_PRESENT && !seen->by_absence;
}

/* "No such job" counts only where the jobs were sent to. */
static void doubt_absence(const struct sw_monitor *monitor, struct slice *slice,
                          json_t *unreachable)
{
    const struct question *question = slice->question;
    struct sw_error why = { 0 };
    size_t missed = 0;

    for (size_t i = 0; i < slice->count; i++)
        missed += !was_found(&slice->seen[i]);
    if (missed == 0 || !monitor->verify ||
        monitor->verify(monitor->context, question->platform, question->profile, question->place,
                        &why) == 0)
        return;
    for (size_t i = 0; i < slice->count; i++)
        if (!was_found(&slice->seen[i]))
            slice->seen[i].presence = SW_UNSEEN;
    note_unreachable(unreachable, question->platform->name, &why);
}

/* 1: the platform did not answer, and asking for the rest of its jobs would not help. */
static int look_at_slice(const struct sw_monitor *monitor, const struct question *question,
                         struct sw_connection *conn, size_t from, json_t *unreachable,
                         struct sw_error *err)
{
    __attribute__((cleanup(slice_auto))) struct slice slice = {
        .monitor = monitor, .question = question, .store = monitor->store, .conn = conn,
        .now_ms = sw_now_ms(), .owners = -1,
        .rules = monitor->rules ? monitor->rules(monitor->context) : NULL,
    };
    struct sw_error why = { 0 };
    int polled;

    if (load(&slice, from, err) < 0)
        return -1;
    if (slice.count == 0)
        return 0;
    polled = question->platform->observe(conn, slice.seen, slice.count, &why);
    for (size_t i = 0; polled < 0 && i < slice.count; i++)
        slice.seen[i].presence = SW_UNSEEN;
    if (polled == 0)
        doubt_absence(monitor, &slice, unreachable);
    release_claims(&slice);
    if (polled == 0 && question->platform->reconcile)
        question->platform->reconcile(conn, slice.seen, slice.count);
    if (polled < 0) {
        note_unreachable(unreachable, question->platform->name, &why);
        return 1;
    }
    slice.now_ms = sw_now_ms();
    if (judge(&slice, err) < 0)
        return -1;
    /* Nobody looks at a job again once it is written down that it is over: what its log still has to say
     * comes before, so that whoever dies in between loses nothing. */
    read_logs(&slice, true);
    return write_down(&slice, err) < 0 ? -1 : follow_up(&slice, err);
}

int monitor_look(const struct sw_monitor *monitor, const struct question *question,
                 json_t *unreachable, struct sw_error *err)
{
    struct sw_error why = { 0 };
    struct sw_connection *conn = monitor->connect(monitor->context, question->platform, question->profile,
                                         question->place, &why);
    int result = 0;

    if (!conn) {
        note_unreachable(unreachable, question->platform->name, &why);
        return 0;
    }
    for (size_t from = 0; from < question->count && result == 0; from += SLICE)
        result = look_at_slice(monitor, question, conn, from, unreachable, err);
    return result < 0 ? -1 : 0;
}
