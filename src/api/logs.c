/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs.c - reading and following the logs of one or many jobs.
 *
 * log_reading.c reads; this file decides when a follow ends. The end of the bytes is never the end of the
 * job: only the job's state ends a follow, and it is asked *before* the last read, so that nothing written
 * before the end can be missed. All jobs are asked in one refresh and read in turn by one thread, so that
 * a hundred cost one poll of each place and one piece of memory.
 *
 * A follow goes on with the next attempt: what the last one wrote is read to its end first. Where a platform
 * keeps one log for all attempts, the reading just goes on.
 */
#include "api/log_reading.h"
#include "base/clock.h"
#include "base/text.h"

enum {
    READ_EVERY_MS = 100,
    ASK_STATE_EVERY_MS = 200,
    ASK_WOKEN_EVERY_MS = 1000,         /* where a platform wakes us */
    REFRESH_MS = 5000,                 /* how long a platform may take to report the job's state */
};

struct log_round {                     /* all logs that are read together */
    struct sw_session *session;
    const struct sw_log_options *options;
    struct log_reading *all;
    size_t count;
    sw_outcome_fn *tell;               /* how each went; may be NULL */
    void *context;                     /* for `tell` and idle() */
    int64_t asked_ms, ask_every_ms;    /* whether the jobs are over */
};

/* One log is read, or `why` it is not. */
static void end_one(struct log_round *round, struct log_reading *r, const struct sw_error *why)
{
    struct sw_outcome outcome = { .size = sizeof outcome, .id = r->id, .index = (size_t)(r - round->all),
                                  .err = why, .state = r->job.row.state, .attempt = r->job.row.attempt,
                                  .exit_code = -1, .duration_ms = -1 };

    r->done = true;
    if (why)
        r->err = *why;
    if (round->tell)
        round->tell(round->context, &outcome);
}

static int first_failure(const struct log_round *round, struct sw_error *err)
{
    for (size_t i = 0; i < round->count; i++)
        if (round->all[i].err.code)
            return sw_pass(err, &round->all[i].err);
    return 0;
}

static size_t count_open(const struct log_round *round)
{
    size_t open = 0;

    for (size_t i = 0; i < round->count; i++)
        open += !round->all[i].done;
    return open;
}

/* A follow waits for as long as it takes; one warning for each silence says what for. `unreachable` lists
 * the platforms that did not answer. */
static void note_silence(struct log_reading *r, const json_t *unreachable)
{
    const json_t *each, *silent = NULL;
    size_t i;

    json_array_foreach(unreachable, i, each)
        if (sw_text_same(sw_json_str(each, "platform"), r->job.platform->name))
            silent = each;
    if (silent && !r->silent) {
        sw_autofree char *text = sw_format("%s does not answer, the log continues when it answers: %s",
                                           sw_json_str(silent, "platform"), sw_json_str(silent, "message"));

        api_warn(r->session, text);
    }
    r->silent = silent != NULL;
}

static int read_phase(struct log_reading *r, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };

    if (sw_store_get(r->session->store, r->id, SW_COLUMNS_LIST, &row, err) < 0)
        return -1;
    r->now = (struct log_phase){ .over = row.phase == SW_PHASE_OVER,
                                 .sent = row.phase != SW_PHASE_SUBMITTING, .attempt = row.attempt };
    return 0;
}

/* Look again when it is time. Not reaching a platform is not an end; -1 only when the store fails. */
static int ask(struct log_round *round, struct sw_error *err)
{
    const struct sw_refresh_options in_time = { .deadline_ms = REFRESH_MS, .act = round->options->follow };
    sw_auto(json) json_t *unreachable = json_array();
    sw_autofree const char **ids = sw_alloc((round->count + 1) * sizeof *ids);
    int64_t now = sw_monotonic_ms();
    size_t open = 0;

    if (round->asked_ms && now - round->asked_ms < round->ask_every_ms)
        return 0;
    round->asked_ms = now;
    for (size_t i = 0; i < round->count; i++)
        if (!round->all[i].done)
            ids[open++] = round->all[i].id;
    if (open && api_refresh_within(round->session, ids, open, &in_time, unreachable, err) < 0)
        return -1;
    for (size_t i = 0; i < round->count; i++) {
        struct log_reading *r = &round->all[i];
        struct sw_error why = { 0 };

        if (r->done)
            continue;
        note_silence(r, unreachable);
        if (read_phase(r, &why) < 0)
            end_one(round, r, &why);
    }
    return 0;
}

static void tell_attempt(struct log_reading *r, int attempt)
{
    r->reported = attempt;
    if (r->options->attempt_began)
        r->options->attempt_began(r->context, attempt);
}

/* To the attempt after the one that was read; it was sent, or will never be. */
static int go_on(struct log_reading *r, struct sw_error *err)
{
    int next = r->job.ref.attempt + 1;

    if (api_log_flush(r, err) < 0)
        return -1;
    sw_job_done(&r->job.row);
    r->job = (struct api_job){ 0 };
    if (api_job_open(r->session, r->id, &r->job, err) < 0)
        return -1;
    r->job.ref.attempt = next;
    r->job.ref.finished = r->now.over || next < r->now.attempt;
    for (size_t i = 0; i < r->count; i++)
        r->streams[i].offset = 0;
    r->moved = true;
    r->read = false;
    tell_attempt(r, next);
    return 0;
}

/* Bytes of this attempt, to its end once it is over. 1: there were any. */
static int read_on(struct log_reading *r, bool ended, struct sw_error *err)
{
    int any = api_log_drain(r, err);

    r->job.ref.finished |= ended;
    if (ended && any >= 0)
        any = api_log_drain_to_the_end(r, err);
    r->read = ended && any >= 0 && !r->cut;          /* the last bytes may be behind the cut */
    return any;
}

/* A log of one attempt that was asked for by number ends with it. */
static bool is_past(const struct log_reading *r)
{
    return r->options->attempt == 0 && !r->job.platform->one_log && r->now.attempt > r->job.ref.attempt;
}

/* The turn of one job. 1: there was something, 0: nothing new; *over: all of it was read. */
static int take_turn(struct log_reading *r, bool *over, struct sw_error *err)
{
    bool past = is_past(r);
    int any = 0;

    if (r->job.platform->one_log && r->now.attempt > r->reported)
        tell_attempt(r, r->now.attempt);             /* one log for all: the reading just goes on */
    if (!r->read)
        any = read_on(r, r->now.over || past, err);
    if (any < 0)
        return -1;
    *over = r->read && !past;
    if (*over)
        return api_log_flush(r, err) < 0 ? -1 : 1;
    if (r->read && (r->now.sent || r->now.attempt > r->job.ref.attempt + 1))
        return go_on(r, err) < 0 ? -1 : 1;
    return any;
}

/* The turn of each that is not done. 1: there was something in one of them; -1: the caller stopped it. */
static int take_turns(struct log_round *round, struct sw_error *err)
{
    int any = 0;

    for (size_t i = 0; i < round->count; i++) {
        struct log_reading *r = &round->all[i];
        struct sw_error why = { 0 };
        bool over = false;
        int result = r->done ? 0 : take_turn(r, &over, &why);

        if (result < 0 && why.code == SW_E_INTERRUPTED)
            return sw_pass(err, &why);
        if (result < 0 || over)
            end_one(round, r, result < 0 ? &why : NULL);
        any |= result > 0;
    }
    return any;
}

static int follow(struct log_round *round, struct sw_error *err)
{
    const struct sw_log_options *options = round->options;

    round->ask_every_ms = ASK_STATE_EVERY_MS;
    for (;;) {
        int any, news;

        if (ask(round, err) < 0)
            return -1;
        any = take_turns(round, err);
        if (any < 0)
            return -1;
        if (count_open(round) == 0)
            return first_failure(round, err);
        if (any)
            continue;
        if (options->idle && options->idle(round->context))
            return sw_fail(err, SW_E_INTERRUPTED, "stopped by the caller");
        news = api_wait_for_wake(round->session, READ_EVERY_MS);
        round->ask_every_ms = news == API_NO_WAKE ? ASK_STATE_EVERY_MS : ASK_WOKEN_EVERY_MS;
        if (news == API_WOKEN)
            round->asked_ms = 0;
    }
}

/* One after the other, each as it is now. */
static int read_all(struct log_round *round, struct sw_error *err)
{
    for (size_t i = 0; i < round->count; i++) {
        struct log_reading *r = &round->all[i];
        struct sw_error why = { 0 };
        int result = r->done ? 0 : api_log_drain_to_the_end(r, &why);

        if (r->done)
            continue;
        if (result >= 0)
            result = api_log_flush(r, &why);
        if (result < 0 && why.code == SW_E_INTERRUPTED)
            return sw_pass(err, &why);
        end_one(round, r, result < 0 ? &why : NULL);
    }
    return first_failure(round, err);
}

/* Is any of them not over, as its row was when it was opened? Otherwise no platform is asked. */
static bool any_goes_on(const struct log_round *round)
{
    for (size_t i = 0; i < round->count; i++)
        if (!round->all[i].done && round->all[i].job.row.phase != SW_PHASE_OVER)
            return true;
    return false;
}

static int begin_one(struct log_reading *r, struct sw_error *err)
{
    if (r->job.row.phase != SW_PHASE_OVER && api_job_verify(r->session, &r->job, err) == SW_ANOTHER_PLACE)
        return -1;
    return api_log_begin(r, err);
}

static int run_round(struct log_round *round, struct sw_error *err)
{
    bool follows = round->options->follow;

    for (size_t i = 0; i < round->count; i++) {
        struct sw_error why = { 0 };

        if (api_log_open(&round->all[i], &why) < 0)
            end_one(round, &round->all[i], &why);
    }
    if (follows && any_goes_on(round) && ask(round, err) < 0)
        return -1;                   /* asked in time first: to verify may take a minute */
    round->asked_ms = 0;
    for (size_t i = 0; i < round->count; i++) {
        struct sw_error why = { 0 };

        if (!round->all[i].done && begin_one(&round->all[i], &why) < 0)
            end_one(round, &round->all[i], &why);
    }
    return follows ? follow(round, err) : read_all(round, err);
}

int sw_logs_many(struct sw_session *session, const struct sw_log_job *jobs, size_t count,
                 const struct sw_log_options *options, sw_log_fn *fn, sw_outcome_fn *tell, void *context,
                 struct sw_error *err)
{
    sw_autofree char *piece = sw_alloc(API_LOG_PIECE);
    struct log_round round = { .session = session, .options = options, .count = count, .tell = tell,
                               .context = context };
    int result;

    if (api_need(session, err) < 0)
        return -1;
    round.all = sw_alloc((count + 1) * sizeof *round.all);
    for (size_t i = 0; i < count; i++)
        round.all[i] = (struct log_reading){ .session = session, .id = jobs[i].id, .options = options,
                                             .fn = fn, .context = jobs[i].context, .piece = piece,
                                             .lines = count > 1 || options->whole_lines };
    result = run_round(&round, err);
    for (size_t i = 0; i < count; i++)
        api_log_close(&round.all[i]);
    free(round.all);
    return result;
}

int sw_logs(struct sw_session *session, const char *id, const struct sw_log_options *options,
            sw_log_fn *fn, void *context, struct sw_error *err)
{
    return sw_logs_many(session, &(struct sw_log_job){ id, context }, 1, options, fn, NULL, context, err);
}
