/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_cancel.c - stopping jobs for certain: signals every supervisor, then waits for all of them.
 *
 * The cancel flag is written before a supervisor is signaled: should we die in between, the supervisor
 * sees the flag, and a job that has not started yet never will. In the pause between two attempts the flag
 * is that of the attempt that failed: its supervisor ends the next one before it starts. Without a supervisor
 * the next one gets the flag itself.
 */
#include "platform/local/local_internal.h"

#include <signal.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/stop.h"

enum { CANCEL_SLACK_MS = 10000, PAUSE_MOST_MS = 10 };

struct local_ending {              /* one job on its way to the end */
    struct sw_connection *conn;
    struct sw_batch_job *one;
    char *folder;                  /* of the attempt that it is at */
    int64_t deadline_ms;
    bool waits;                    /* not over yet, as far as is known */
    bool late;
};

static int64_t grace_of(const char *folder)
{
    sw_auto(json) json_t *launch = local_record_read(folder, LOCAL_LAUNCH);

    return sw_json_int(launch, "grace_ms", SW_GRACE_MS);
}

static void signal_supervisor(const char *folder)
{
    sw_auto(json) json_t *who = local_record_read(folder, LOCAL_SUPERVISOR);
    struct sw_proc supervisor;

    if (sw_proc_from_json(who, &supervisor) == 0)
        sw_proc_signal(&supervisor, SIGTERM);
}

/* The flag, then the signal. */
static int ask(struct local_ending *ending)
{
    if (sw_mkdirs(ending->folder, 0700, &ending->one->err) < 0 ||
        local_flag(ending->folder, LOCAL_CANCEL, &ending->one->err) < 0)
        return -1;
    signal_supervisor(ending->folder);
    return 0;
}

static void begin(struct local_ending *ending, int64_t deadline_ms)
{
    const struct sw_jobref *job = ending->one->job;
    int64_t own_ms;

    ending->folder = local_attempt_folder(ending->conn, job->id,
                                          local_attempt_now(ending->conn, job->id, job->attempt));
    if (local_has(ending->folder, LOCAL_EXIT) && !local_pauses(ending->folder))
        return;
    if (local_refuse_elsewhere(ending->folder, job->id, &ending->one->err) < 0) {
        ending->one->result = -1;
        return;
    }
    if (local_has(ending->folder, LOCAL_EXIT) && !local_lock_held(ending->folder)) {
        sw_autofree char *before = ending->folder;

        ending->folder = local_next_folder(before);
    }
    own_ms = sw_monotonic_ms() + sw_stop_budget_ms(grace_of(ending->folder)) + CANCEL_SLACK_MS;
    ending->deadline_ms = deadline_ms && deadline_ms < own_ms ? deadline_ms : own_ms;
    ending->one->result = ask(ending);
    ending->waits = ending->one->result == 0;
}

/* It began its next attempt while we asked the one before: that one is asked, too. */
static bool went_on(struct local_ending *ending)
{
    sw_autofree char *next = local_next_folder(ending->folder);
    sw_auto(json) json_t *over = local_record_read(ending->folder, LOCAL_EXIT);

    if (!local_next(over) || !local_has_begun(next))
        return false;
    free(ending->folder);
    ending->folder = sw_take(next);
    if (local_has(ending->folder, LOCAL_EXIT))
        return false;
    ending->one->result = ask(ending);
    return ending->one->result == 0;
}

/* The lock decides: the supervisor holds it for a moment after it wrote the exit record. */
static void check(struct local_ending *ending)
{
    ending->waits = local_lock_held(ending->folder) || went_on(ending);
    if (ending->waits && sw_monotonic_ms() > ending->deadline_ms) {
        ending->late = local_is_attended(ending->folder);
        ending->waits = false;
    }
}

static void wait_for_all(struct local_ending *endings, size_t count)
{
    bool waits = true;

    for (int64_t pause_ms = 1; waits; pause_ms = pause_ms < PAUSE_MOST_MS ? pause_ms * 2 : PAUSE_MOST_MS) {
        waits = false;
        for (size_t i = 0; i < count; i++) {
            if (endings[i].waits)
                check(&endings[i]);
            waits |= endings[i].waits;
        }
        if (waits)
            sw_sleep_ms(pause_ms);
    }
}

static int conclude(const struct local_ending *ending, const char *id, struct sw_error *err)
{
    if (ending->late) {
        sw_fail(err, SW_E_TIMEOUT, "'%s' does not stop: its supervisor is still busy", id);
        return sw_hint(err, "the cancel remains requested; see `slipway status %s`", id);
    }
    if (local_has(ending->folder, LOCAL_EXIT) || !local_has(ending->folder, LOCAL_SUPERVISOR) ||
        local_declare_lost(ending->folder))         /* it was killed on the way */
        return 0;
    return sw_fail(err, SW_E_TIMEOUT, "cannot determine whether '%s' ended", id);
}

void local_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    sw_autofree struct local_ending *endings = sw_alloc((count ? count : 1) * sizeof *endings);

    for (size_t i = 0; i < count; i++) {
        endings[i] = (struct local_ending){ .conn = conn, .one = &jobs[i] };
        begin(&endings[i], deadline_ms);
    }
    wait_for_all(endings, count);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].result == 0)
            jobs[i].result = conclude(&endings[i], jobs[i].job->id, &jobs[i].err);
        free(endings[i].folder);
    }
}
