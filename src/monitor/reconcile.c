/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconcile.c - observe the jobs of one connection, let the platform act on them, and bring the store up to
 * date with what was seen.
 *
 * All jobs of the connection are observed in one call, whatever their number. Four answers need thought:
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
#include "diagnose/diagnose.h"
#include "diagnose/retry.h"
#include "monitor/monitor_internal.h"
#include "monitor/verdict.h"

enum {
    MISSING_IS_LOST_MS = 5000,         /* how long "no such job" must last to be believed */
    CLOCK_WAS_SET_MS = 60 * 1000,      /* a time so far in the future is no difference of clocks */
    AVOID_MOST = 32,                   /* nodes to keep away from */
    MANY_ROWS = 2000,                  /* they take megabytes, beside what was freed before */
    AT_ONCE_MOST = 4096,               /* as many are observed together; more would take too much memory */
};

struct poll_entry {                    /* one row, what was seen of it, and what follows */
    struct sw_job job;
    json_t *verdict;
    bool stale;                        /* the row was changed since we read it */
    bool send;                         /* the attempt is due, and nothing of it is there */
};

struct poll_batch {                    /* the jobs of one connection */
    const struct sw_monitor *monitor;
    const struct poll_group *group;
    struct sw_store *store;
    struct sw_connection *conn;
    const json_t *rules;               /* the user's own, for explaining failures */
    int owners;                        /* holds the locks of the rows we claimed; -1: none */
    struct poll_entry *entries;
    struct sw_observation *seen;       /* beside the entries: observe() takes an array of them */
    size_t count;
    int64_t now_ms;
};

static void batch_auto(struct poll_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        sw_observation_done(&batch->seen[i]);
        json_decref(batch->entries[i].verdict);
        sw_job_done(&batch->entries[i].job);
    }
    free(batch->entries);
    free(batch->seen);
    if (batch->count >= MANY_ROWS)
        sw_memory_return();
    if (batch->owners >= 0)
        close(batch->owners);
}

/* ---- which rows are ours to observe ----------------------------------------------------------- */

/* A clock that was set back since then would make it wait for ever: then it is time now. */
static bool waits_for_its_time(const struct sw_job *job, int64_t now_ms)
{
    return job->not_before_ms > now_ms && now_ms > job->updated_ms - CLOCK_WAS_SET_MS;
}

/* A submitting one only after its submitter died, and a retry only when its time has come. */
static bool is_ours_to_observe(struct poll_batch *batch, const struct sw_job *job)
{
    sw_auto(json) json_t *me = NULL;
    bool won = false;

    if (job->phase != SW_PHASE_SUBMITTING)
        return job->phase == SW_PHASE_ACTIVE;
    if (job->attempt > 1 && !batch->group->act)            /* it would have to be sent */
        return false;
    if ((waits_for_its_time(job, batch->now_ms) && !job->canceling) ||
        sw_owner_lives(batch->store, job, batch->now_ms))
        return false;
    if (batch->owners < 0)
        batch->owners = sw_owner_open(batch->store);
    me = sw_owner_json();
    if (!me || !sw_owner_take(batch->owners, job->id))
        return false;
    if (sw_store_claim(batch->store, job->id, job->owner, me, &won, NULL) < 0 || !won)
        sw_owner_release(batch->owners, job->id);
    return won;
}

static struct sw_observation unseen(const struct sw_job *job)
{
    return (struct sw_observation){ .job = sw_job_ref(job), .exit_code = SW_NO_EXIT_CODE,
                                    .failed_replica = -1 };
}

static int load(struct poll_batch *batch, struct sw_error *err)
{
    const struct poll_group *group = batch->group;
    sw_autofree struct sw_job *jobs = sw_alloc((group->count + 1) * sizeof *jobs);
    size_t found = 0;

    if (group->count >= MANY_ROWS)
        sw_memory_return();
    if (sw_store_get_many(batch->store, (const char (*)[SW_ID_SIZE])group->ids, group->count,
                          sw_plan_keep_watched, jobs, &found, err) < 0)
        return -1;
    batch->entries = sw_alloc((found + 1) * sizeof *batch->entries);
    batch->seen = sw_alloc((found + 1) * sizeof *batch->seen);
    for (size_t i = 0; i < found; i++) {
        if (!is_ours_to_observe(batch, &jobs[i])) {
            sw_job_done(&jobs[i]);
            continue;
        }
        batch->entries[batch->count].job = jobs[i];
        batch->seen[batch->count] = unseen(&batch->entries[batch->count].job);
        batch->count++;
    }
    return 0;
}

/* We claimed these rows to find out, and did not: the next refresh may try. */
static void release_claims(const struct poll_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->entries[i].job.phase == SW_PHASE_SUBMITTING &&
            batch->seen[i].presence == SW_UNSEEN)
            sw_store_let_go(batch->store, batch->entries[i].job.id);
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
static void judge_absence(struct poll_entry *entry, struct sw_observation *seen, int64_t now_ms)
{
    const struct sw_job *job = &entry->job;

    if ((job->phase == SW_PHASE_SUBMITTING || seen->unattended) && job->canceling) {
        monitor_say(seen, SW_CANCELED, SW_REASON_CANCELED, "canceled before it started");
        if (job->attempt > 1)
            snprintf(seen->message, sizeof seen->message, "canceled while waiting for attempt %d",
                     job->attempt);
    } else if (job->canceling) {             /* what was asked for, by a client that did not see its end */
        monitor_say(seen, SW_CANCELED, SW_REASON_CANCELED, "canceled");
    } else if (job->phase == SW_PHASE_SUBMITTING && job->attempt > 1) {
        seen->presence = SW_UNSEEN;
        entry->send = true;
    } else if (job->phase == SW_PHASE_SUBMITTING) {
        monitor_say(seen, SW_ERROR, SW_REASON_NOT_STARTED,
                    "the submit was interrupted before anything was started");
    } else if (!sw_text_same(job->reason, SW_REASON_MISSING)) {
        monitor_say(seen, job->state, SW_REASON_MISSING,
                    "the platform reports no such job; asking again");
    } else if (now_ms - job->updated_ms >= MISSING_IS_LOST_MS) {
        monitor_say(seen, SW_ERROR, SW_REASON_LOST, "the platform no longer knows this job");
    } else {
        seen->presence = SW_UNSEEN;
    }
}

/* A claimed row whose job exists after all: remember what submit could not. */
static int take_over(const struct poll_batch *batch, struct poll_entry *entry, struct sw_error *err)
{
    const struct sw_platform *platform = batch->group->platform;
    const struct sw_job *job = &entry->job;
    struct sw_submission receipt = { 0 };
    json_t *plan = NULL;
    int result;

    if (platform->adopt && platform->adopt(batch->conn, job->id, &plan, &receipt, NULL) < 0)
        receipt = (struct sw_submission){ 0 };
    result = sw_store_submitted(batch->store, job->id, receipt.remote_id, receipt.details,
                                receipt.results_dir ? receipt.results_dir : job->results_dir, err);
    json_decref(plan);
    json_decref(receipt.details);
    free(receipt.results_dir);
    entry->stale = true;
    return result;
}

/* The platform tried again by itself: the row goes on to the attempt that is there now. */
static int catch_up(const struct poll_batch *batch, struct poll_entry *entry, struct sw_observation *seen,
                    struct sw_error *err)
{
    bool new_log = !batch->group->platform->one_log;

    if (seen->presence == SW_UNSEEN || seen->attempt <= entry->job.attempt)
        return 0;
    if (sw_store_caught_up(batch->store, seen, new_log, batch->now_ms, err) < 0)
        return -1;
    if (new_log)
        json_decref(sw_take(entry->job.progress));
    entry->job.attempt = seen->job.attempt = seen->attempt;
    entry->stale = true;
    return 0;
}

/* The platform announced this attempt and will never begin it: a next refresh that acts sends it. */
static int hand_back(const struct poll_batch *batch, struct poll_entry *entry, struct sw_observation *seen,
                     struct sw_error *err)
{
    seen->presence = SW_UNSEEN;
    entry->stale = true;
    return sw_store_hand_back(batch->store, entry->job.id, entry->job.attempt, seen->message, err);
}

static bool was_announced(const struct poll_entry *entry, const struct sw_observation *seen)
{
    return seen->presence == SW_ABSENT && seen->unattended && entry->job.phase == SW_PHASE_ACTIVE &&
           !entry->job.canceling;
}

/* A job that ended well and left nothing where results were declared says so. */
static void warn_of_empty(struct sw_observation *seen)
{
    sw_autofree char *warning = seen->presence == SW_PRESENT && seen->state == SW_COMPLETE
                                    ? sw_report_warning(seen->runner) : NULL;

    if (warning)
        snprintf(seen->message, sizeof seen->message, "warning: %s", warning);
}

static bool must_be_canceled(const struct poll_entry *entry, const struct sw_observation *seen)
{
    return entry->job.canceling && seen->presence == SW_PRESENT && !sw_state_is_final(seen->state);
}

static bool failed(const struct poll_entry *entry, const struct sw_observation *seen)
{
    (void)entry;
    return seen->presence == SW_PRESENT && seen->state == SW_ERROR;
}

/* Those of the batch for which that is so: their observations and, beside them, their numbers. */
static size_t those(const struct poll_batch *batch,
                    bool (*so)(const struct poll_entry *entry, const struct sw_observation *seen),
                    struct sw_observation **seen, size_t *which)
{
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (so(&batch->entries[i], &batch->seen[i])) {
            seen[count] = &batch->seen[i];
            which[count++] = i;
        }
    return count;
}

/* At every refresh: one call of the platform for each of the two, whatever the number of jobs. */
static void cancel_and_explain(const struct poll_batch *batch)
{
    const struct sw_platform *platform = batch->group->platform;
    sw_autofree struct sw_observation **seen = sw_alloc(batch->count * sizeof *seen);
    sw_autofree size_t *which = sw_alloc(batch->count * sizeof *which);
    sw_autofree json_t **verdicts = sw_alloc(batch->count * sizeof *verdicts);
    size_t count = those(batch, must_be_canceled, seen, which);

    if (batch->group->act)
        monitor_cancel_again(batch->store, platform, batch->conn, seen, count);
    count = those(batch, failed, seen, which);
    sw_verdicts(platform, batch->conn, batch->rules, seen, NULL, verdicts, count);
    for (size_t i = 0; i < count; i++) {
        batch->entries[which[i]].verdict = verdicts[i];
        sw_verdict_message(verdicts[i], seen[i]->message);
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
static bool is_retried(const struct poll_batch *batch, size_t index, struct sw_retry *retry)
{
    const struct sw_observation *seen = &batch->seen[index];
    const struct poll_entry *entry = &batch->entries[index];

    if ((batch->group->platform->retries && !seen->unattended) || !failed(entry, seen) ||
        entry->job.canceling || sw_json_bool(entry->job.plan, SW_PLAN_UNSIGNED, false) ||
        (entry->job.phase == SW_PHASE_SUBMITTING && sw_text_same(seen->reason, SW_REASON_NOT_STARTED)))
        return false;
    sw_retry_decide(entry->job.plan, sw_platform_retries(batch->group->platform), seen, entry->verdict,
                    sw_retry_jitter(entry->job.id, entry->job.attempt), retry);
    return retry->again && (!retry->only_collect || batch->group->platform->collects);
}

static int retry_one(const struct poll_batch *batch, size_t index, const struct sw_retry *retry,
                     struct sw_error *err)
{
    struct sw_observation *seen = &batch->seen[index];
    const struct poll_entry *entry = &batch->entries[index];
    sw_auto(json) json_t *avoid = retry->avoid_node ? nodes_to_avoid(&entry->job, seen) : NULL;
    bool won = false;

    return sw_store_retry(batch->store, seen, entry->verdict, batch->now_ms + retry->wait_ms,
                          retry->only_collect, avoid, retry->why, batch->now_ms, &won, err);
}

/* It failed and a retry is due, which is not ours to begin: its state stays, and its message says so. */
static void name_retry(const struct poll_batch *batch, size_t index, const struct sw_retry *retry)
{
    struct sw_observation *seen = &batch->seen[index];
    struct poll_entry *entry = &batch->entries[index];

    json_decref(sw_take(entry->verdict));
    monitor_say(seen, entry->job.state, SW_REASON_RETRY, retry->why);
}

/* Try failed jobs again, where their rules say so. What is retried is no end, so its observation becomes
 * SW_UNSEEN. So does one that may still run: the next refresh finds out. */
static int retry_or_end(const struct poll_batch *batch, struct sw_error *err)
{
    sw_autofree size_t *which = sw_alloc(batch->count * sizeof *which);
    sw_autofree struct sw_observation **seen = sw_alloc(batch->count * sizeof *seen);
    size_t candidates = those(batch, failed, seen, which), count = 0;
    sw_autofree struct sw_retry *retries = sw_alloc((candidates + 1) * sizeof *retries);
    sw_autofree struct sw_batch_job *jobs = sw_alloc((candidates + 1) * sizeof *jobs);

    for (size_t i = 0; i < candidates; i++)
        if (is_retried(batch, which[i], &retries[count])) {
            jobs[count].job = &batch->seen[which[i]].job;
            which[count++] = which[i];
        }
    if (!batch->group->act) {
        for (size_t i = 0; i < count; i++)
            name_retry(batch, which[i], &retries[i]);
        return 0;
    }
    if (count > 0)
        batch->group->platform->cancel(batch->conn, jobs, count, SW_NO_DEADLINE);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].result >= 0 && retry_one(batch, which[i], &retries[i], err) < 0)
            return -1;
        batch->seen[which[i]].presence = SW_UNSEEN;
    }
    return 0;
}

/* ---- one batch -------------------------------------------------------------------------------- */

static int judge(struct poll_batch *batch, struct sw_error *err)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct poll_entry *entry = &batch->entries[i];
        struct sw_observation *seen = &batch->seen[i];

        if (catch_up(batch, entry, seen, err) < 0)
            return -1;
        if (was_announced(entry, seen)) {
            if (hand_back(batch, entry, seen, err) < 0)
                return -1;
        } else if (seen->presence == SW_ABSENT) {
            judge_absence(entry, seen, batch->now_ms);
        } else if (entry->job.canceling && seen->presence == SW_PRESENT && seen->by_absence &&
                   sw_text_same(seen->reason, SW_REASON_REMOVED)) {
            monitor_say(seen, SW_CANCELED, SW_REASON_CANCELED, "canceled");
        } else if (seen->presence == SW_PRESENT && entry->job.phase == SW_PHASE_SUBMITTING &&
                   take_over(batch, entry, err) < 0) {
            return -1;
        }
        warn_of_empty(seen);
    }
    cancel_and_explain(batch);
    return retry_or_end(batch, err);
}

/* Mostly nothing is new: then the rows are not read a second time. */
static int write_down(const struct poll_batch *batch, struct sw_error *err)
{
    sw_autofree struct sw_observation *news = NULL;
    sw_autofree json_t **verdicts = NULL;
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++) {
        const struct poll_entry *entry = &batch->entries[i];

        if (!entry->stale &&
            !sw_store_is_news(&entry->job, &batch->seen[i], entry->verdict, batch->now_ms))
            continue;
        if (!news) {
            news = sw_alloc((batch->count - i) * sizeof *news);
            verdicts = sw_alloc((batch->count - i) * sizeof *verdicts);
        }
        news[count] = batch->seen[i];
        verdicts[count++] = entry->verdict;
    }
    return count == 0 ? 0 : sw_store_saw_many(batch->store, news, count, verdicts, batch->now_ms,
                                              NULL, err);
}

/* How far it came is read once more at the end, by every kind of refresh; and one that only waits must not
 * miss a milestone. */
static bool wants_progress(const struct poll_group *group, const struct sw_job *job,
                           const struct sw_observation *seen)
{
    return group->progress || sw_state_is_final(seen->state) ||
           sw_json_str(json_object_get(job->plan, "hooks"), "on_epoch_milestone");
}

static void read_log(const struct poll_batch *batch, size_t index, struct monitor_words *words)
{
    const struct poll_entry *entry = &batch->entries[index];
    const struct sw_observation *seen = &batch->seen[index];

    words->job = &entry->job;
    if (seen->presence != SW_PRESENT)
        return;
    if (wants_progress(batch->group, &entry->job, seen) && seen->state != SW_PENDING)
        monitor_read_progress(batch->group->platform, batch->conn, seen, words);
    else if (seen->runner && batch->group->progress)
        monitor_take_report(seen, words);
}

static bool has_ended(const struct poll_entry *entry, const struct sw_observation *seen)
{
    (void)entry;
    return seen->presence == SW_PRESENT && sw_state_is_final(seen->state);
}

/* Where logs are on another machine, the ends of all of them are read in one call. */
static void read_ends(const struct poll_batch *batch, struct monitor_words *words)
{
    const struct sw_platform *platform = batch->group->platform;
    sw_autofree struct sw_observation **seen = sw_alloc(batch->count * sizeof *seen);
    sw_autofree size_t *which = sw_alloc(batch->count * sizeof *which);
    sw_autofree char **texts = sw_alloc(batch->count * sizeof *texts);
    size_t count = platform->log_ends ? those(batch, has_ended, seen, which) : 0;

    if (count == 0)
        return;
    platform->log_ends(batch->conn, (const struct sw_observation *const *)seen, texts, count);
    for (size_t i = 0; i < count; i++)
        words[which[i]].log_end = texts[i];
}

/* The logs of the jobs that are over, or of the others; what they say is kept in one transaction. */
static void read_logs(const struct poll_batch *batch, bool over)
{
    sw_autofree struct monitor_words *words = sw_alloc(batch->count * sizeof *words);

    if (over)
        read_ends(batch, words);
    for (size_t i = 0; i < batch->count; i++)
        if (sw_state_is_final(batch->seen[i].state) == over)
            read_log(batch, i, &words[i]);
    monitor_keep(batch->store, words, batch->count);
}

static void finalize(const struct poll_batch *batch)
{
    const struct sw_platform *platform = batch->group->platform;
    sw_autofree const struct sw_jobref **over =
        sw_realloc_array(NULL, batch->count + 1, sizeof *over);
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (batch->seen[i].presence == SW_PRESENT && sw_state_is_final(batch->seen[i].state))
            over[count++] = &batch->seen[i].job;
    if (platform->finalize && count > 0)
        platform->finalize(batch->conn, over, count);
}

/* Attempts that are due, and of which the platform has nothing. */
static int send_due(const struct poll_batch *batch, struct sw_error *err)
{
    sw_autofree const char **ids = sw_alloc(batch->count * sizeof *ids);
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (batch->entries[i].send)
            ids[count++] = batch->entries[i].job.id;
    return monitor_send(batch->monitor, batch->group->platform, batch->conn, ids, count, err);
}

/* What follows for single jobs: an attempt is sent, `guard:` is checked, a log is read. */
static int follow_up(const struct poll_batch *batch, struct sw_error *err)
{
    const struct sw_platform *platform = batch->group->platform;

    if (send_due(batch, err) < 0)
        return -1;
    if (batch->group->act)
        monitor_hand_secrets(batch->monitor, platform, batch->conn, batch->seen, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        struct poll_entry *entry = &batch->entries[i];
        const struct sw_observation *seen = &batch->seen[i];

        if (batch->group->act && seen->presence == SW_PRESENT && seen->state == SW_RUNNING)
            monitor_guard(batch->store, platform, batch->conn, &entry->job, seen, batch->now_ms);
    }
    read_logs(batch, false);
    finalize(batch);
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
static void doubt_absence(const struct sw_monitor *monitor, struct poll_batch *batch,
                          json_t *unreachable)
{
    const struct poll_group *group = batch->group;
    struct sw_error why = { 0 };
    size_t missed = 0;

    for (size_t i = 0; i < batch->count; i++)
        missed += !was_found(&batch->seen[i]);
    if (missed == 0 || !monitor->verify ||
        monitor->verify(monitor->context, group->platform, group->profile, group->place,
                        &why) == 0)
        return;
    for (size_t i = 0; i < batch->count; i++)
        if (!was_found(&batch->seen[i]))
            batch->seen[i].presence = SW_UNSEEN;
    note_unreachable(unreachable, group->platform->name, &why);
}

/* Observe those once more that the platform could not judge before reconcile() had acted. */
static void observe_again(struct poll_batch *batch)
{
    sw_autofree struct sw_observation *again = sw_alloc(batch->count * sizeof *again);
    sw_autofree size_t *which = sw_alloc(batch->count * sizeof *which);
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (batch->seen[i].needs_reconcile && batch->seen[i].presence == SW_UNSEEN) {
            again[count] = unseen(&batch->entries[i].job);
            which[count++] = i;
        }
    if (count == 0)
        return;
    if (batch->group->platform->observe(batch->conn, again, count, NULL) < 0)
        for (size_t i = 0; i < count; i++)
            again[i].presence = SW_UNSEEN;
    for (size_t i = 0; i < count; i++) {
        sw_observation_done(&batch->seen[which[i]]);
        batch->seen[which[i]] = again[i];
    }
}

/* Ended jobs are observed no more once that is written down: what they leave is removed now. */
static void close_ended(const struct poll_batch *batch)
{
    sw_autofree struct sw_observation *ended = sw_alloc(batch->count * sizeof *ended);
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (batch->seen[i].leaves_secrets)
            ended[count++] = batch->seen[i];
    if (count > 0)
        batch->group->platform->reconcile(batch->conn, ended, count);
}

/* It did not answer us; another host's watcher may have more luck. */
static void note_silence(const struct poll_batch *batch, json_t *unreachable, const struct sw_error *why)
{
    note_unreachable(unreachable, batch->group->platform->name, why);
    if (batch->group->asked)
        sw_store_place_unasked(batch->store, batch->group->place, batch->monitor->host);
}

/* -1: the platform did not answer, and no row changes. */
static int observe(struct poll_batch *batch, json_t *unreachable)
{
    const struct sw_platform *platform = batch->group->platform;
    struct sw_error why = { 0 };
    int result = platform->observe(batch->conn, batch->seen, batch->count, &why);

    if (result == 0 && platform->reconcile && batch->group->act) {
        platform->reconcile(batch->conn, batch->seen, batch->count);
        observe_again(batch);
    } else if (result == 0 && platform->reconcile) {
        close_ended(batch);
    }
    for (size_t i = 0; result < 0 && i < batch->count; i++)
        batch->seen[i].presence = SW_UNSEEN;
    if (result == 0)
        doubt_absence(batch->monitor, batch, unreachable);
    else
        note_silence(batch, unreachable, &why);
    release_claims(batch);
    return result;
}

/* *reached: its platform answered. */
static int reconcile_some(const struct sw_monitor *monitor, const struct poll_group *group,
                          json_t *unreachable, bool *reached, struct sw_error *err)
{
    __attribute__((cleanup(batch_auto))) struct poll_batch batch = {
        .monitor = monitor, .group = group, .store = monitor->store, .now_ms = sw_now_ms(), .owners = -1,
    };
    struct sw_error why = { 0 };

    batch.conn = monitor->connect(monitor->context, group->platform, group->profile, group->place, &why);
    if (!batch.conn) {
        note_silence(&batch, unreachable, &why);
        *reached = false;
        return 0;
    }
    batch.rules = monitor->rules ? monitor->rules(monitor->context) : NULL;
    if (load(&batch, err) < 0)
        return -1;
    *reached = batch.count == 0 || observe(&batch, unreachable) == 0;
    if (batch.count == 0 || !*reached)
        return 0;
    batch.now_ms = sw_now_ms();
    if (judge(&batch, err) < 0)
        return -1;
    /* A job is not observed again once its end is written down. So what its log still has to say is read
     * before: a client that dies in between loses nothing. */
    read_logs(&batch, true);
    return write_down(&batch, err) < 0 ? -1 : follow_up(&batch, err);
}

int monitor_reconcile(const struct sw_monitor *monitor, const struct poll_group *group,
                      json_t *unreachable, struct sw_error *err)
{
    struct poll_group part = *group;
    bool reached = true;

    for (size_t from = 0; from < group->count && reached; from += AT_ONCE_MOST) {
        part.ids = group->ids + from;
        part.count = group->count - from < AT_ONCE_MOST ? group->count - from : AT_ONCE_MOST;
        if (reconcile_some(monitor, &part, unreachable, &reached, err) < 0)
            return -1;
    }
    return 0;
}
