/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_observe.c - what the job folders say about many jobs: a few small reads each, no process.
 *
 * The supervisor writes the exit record and then releases its lock, so observe reads in this order: exit
 * record, lock, exit record. A started job without exit record and without lock is lost. Observe only
 * says so; reconcile ends the processes that are left and writes the exit record under the lock, so
 * that every later observation, and a second submit, finds the same answer.
 *
 * An exit record may say that another attempt follows. Then its supervisor goes on to that attempt's
 * folder, and observe with it. Between the two it holds the lock of the attempt that failed: without that
 * lock the next one never begins by itself, and observe says that there is none.
 */
#include "platform/local/local_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/reason.h"
#include "core/report.h"
#include "core/state.h"

enum { SWEEP_GRACE_MS = 2000 };

static void copy_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void fill_in(struct sw_observation *seen, const json_t *record)
{
    const char *state = sw_json_str(record, "state");
    int64_t pid = sw_json_int(record, "pid", 0);

    seen->presence = SW_PRESENT;
    if (!state || sw_state_parse(state, &seen->state) < 0)
        seen->state = SW_UNKNOWN;
    copy_text(seen->reason, sizeof seen->reason, sw_json_str(record, "reason"));
    copy_text(seen->message, sizeof seen->message, sw_json_str(record, "message"));
    seen->exit_code = (int)sw_json_int(record, "exit_code", SW_NO_EXIT_CODE);
    seen->signal = (int)sw_json_int(record, "signal", 0);
    seen->failed_replica = (int)sw_json_int(record, "failed_replica", -1);
    seen->started_ms = sw_json_int(record, "started_ms", 0);
    seen->ended_ms = sw_json_int(record, "ended_ms", 0);
    if (pid > 0)
        snprintf(seen->remote_id, sizeof seen->remote_id, "%lld", (long long)pid);
    seen->live = json_incref(json_object_get(record, "live"));
    seen->runner = sw_report_clean(json_object_get(json_object_get(record, "facts"), "runner"));
    seen->unattended = seen->state == SW_ERROR && !json_object_get(record, "retry");
    local_host_name(seen->node);
}

static json_t *starting_record(void)
{
    return sw_json_object(SW_STR("state", sw_state_name(SW_PENDING)), SW_STR("reason", SW_REASON_STARTING),
                          SW_STR("message", ""));
}

/* `who`: the supervisor's own record; NULL: it cannot be read. */
static bool is_of_this_boot(const json_t *who)
{
    struct sw_proc supervisor;

    return sw_proc_from_json(who, &supervisor) < 0 || sw_proc_same_boot(&supervisor);
}

static json_t *lost_record(const char *folder)
{
    sw_auto(json) json_t *status = local_record_read(folder, LOCAL_STATUS);
    sw_auto(json) json_t *who = local_record_read(folder, LOCAL_SUPERVISOR);
    json_t *replicas = json_object_get(status, "replicas");
    bool same_boot = is_of_this_boot(who);

    return sw_json_object(
        SW_STR("state", sw_state_name(SW_ERROR)),
        SW_STR("reason", same_boot ? SW_REASON_LOST : SW_REASON_RESTART),
        SW_STR("message", same_boot ? "its supervisor was killed"
                                    : "the machine restarted while the job ran"),
        SW_INT("failed_replica", -1), SW_INT("started_ms", sw_json_int(status, "started_ms", 0)),
        SW_INT("ended_ms", sw_now_ms()),
        SW_SUB("replicas", replicas ? json_incref(replicas) : json_array()),
        SW_SUB("facts", sw_json_object(SW_BOOL(same_boot ? "supervisor_killed" : "restarted",
                                               true))));
}

/* Of another machine that shares this folder. */
static bool is_foreign(const char *folder, char host[128])
{
    sw_auto(json) json_t *who = local_record_read(folder, LOCAL_SUPERVISOR);
    const char *there = sw_json_str(who, "host");
    char here[128];

    local_host_name(here);
    if (!there || strcmp(there, here) == 0 || is_of_this_boot(who))
        return false;
    snprintf(host, 128, "%s", there);
    return true;
}

bool local_is_elsewhere(const char *folder, char host[128])
{
    return (!local_has(folder, LOCAL_EXIT) || local_pauses(folder)) && is_foreign(folder, host);
}

bool local_declare_lost(const char *folder)
{
    char host[128];
    sw_autofd int lock = local_is_elsewhere(folder, host) ? -1 : local_lock_take(folder);
    sw_auto(json) json_t *record = NULL;

    if (lock < 0 || local_has(folder, LOCAL_EXIT))
        return lock >= 0;
    record = lost_record(folder);
    if (json_object_get(json_object_get(record, "facts"), "supervisor_killed"))
        local_tree_sweep(folder, SWEEP_GRACE_MS);
    local_record_keep(folder, LOCAL_EXIT, record, NULL);
    return true;
}

static json_t *canceled_record(void)
{
    return sw_json_object(SW_STR("state", sw_state_name(SW_CANCELED)), SW_STR("reason", SW_REASON_CANCELED),
                          SW_STR("message", "canceled before it started"), SW_INT("exit_code", 130));
}

/* No process holds the lock, and there was no exit record a moment ago. */
static void observe_unlocked(struct sw_observation *seen, const char *folder)
{
    sw_auto(json) json_t *record = local_record_read(folder, LOCAL_EXIT);
    char host[128];

    if (!record && local_has(folder, LOCAL_SUPERVISOR)) {
        if (local_is_elsewhere(folder, host)) {
            seen->presence = SW_UNSEEN;
            snprintf(seen->message, sizeof seen->message, "unreachable: it runs on '%.120s'", host);
            return;
        }
        record = lost_record(folder);
    }
    if (!record && local_has(folder, LOCAL_CANCEL))
        record = canceled_record();
    if (local_next(record))
        return;                           /* it failed in this moment, and goes on */
    if (record)
        fill_in(seen, record);
    else
        seen->presence = SW_ABSENT;       /* a folder at most: no process was ever started */
}

/* While the supervisor knows no more: what rank 0's runner reports. */
static void read_heartbeat(struct sw_observation *seen, const char *folder)
{
    sw_auto(json) json_t *beat = NULL;

    if (seen->runner || sw_state_is_final(seen->state))
        return;
    beat = local_record_read(folder, "work/.slipway/heartbeat-0.json");
    seen->runner = sw_report_clean(beat);
}

/* `over`: its exit record; NULL: it has none yet. */
static void observe_attempt(struct sw_observation *seen, const char *folder, const json_t *over)
{
    sw_auto(json) json_t *record = json_incref((json_t *)over);

    if (!record && local_lock_held(folder)) {
        if (!local_has(folder, LOCAL_SUPERVISOR))
            return;         /* its client has not sent "go" and may never send it: not known yet */
        record = local_record_read(folder, LOCAL_STATUS);
        if (!record)
            record = starting_record();
    }
    if (record)
        fill_in(seen, record);
    else
        observe_unlocked(seen, folder);
    read_heartbeat(seen, folder);
    seen->last_output_ms =
        local_last_output_ms(folder, (int)json_array_size(json_object_get(record, "replicas")));
}

/* ---- from one attempt to the next ------------------------------------------------------------- */

/* One that failed and was followed by another, as the store keeps it. */
static json_t *story(const json_t *over, int number)
{
    const json_t *next = local_next(over);
    sw_autofree char *pid = sw_format("%lld", (long long)sw_json_int(over, "pid", 0));
    char host[128];

    local_host_name(host);
    return sw_json_object(
        SW_INT("number", number), SW_STR_OPT("state", sw_json_str(over, "state")),
        SW_STR_OPT("reason", sw_json_str(over, "reason")),
        SW_STR_OPT("message", sw_json_str(next, "message")),
        SW_SUB_COPY("exit_code", json_object_get(over, "exit_code")),
        SW_SUB_COPY("signal", json_object_get(over, "signal")), SW_STR("node", host),
        SW_STR("remote_id", pid), SW_INT("started_ms", sw_json_int(over, "started_ms", 0)),
        SW_INT("ended_ms", sw_json_int(over, "ended_ms", 0)),
        SW_STR_OPT("cause", sw_json_str(next, "cause")), SW_STR_OPT("why", sw_json_str(next, "why")),
        SW_SUB_COPY("not_before_ms", json_object_get(next, "not_before_ms")),
        SW_SUB_COPY("only_collect", json_object_get(next, "only_collect")));
}

static json_t *stories(struct sw_connection *conn, const char *id, int from, int to)
{
    json_t *all = json_array();

    for (int number = from; number < to; number++) {
        sw_autofree char *folder = local_attempt_folder(conn, id, number);
        sw_auto(json) json_t *over = local_record_read(folder, LOCAL_EXIT);

        if (over)
            json_array_append_new(all, story(over, number));
    }
    return all;
}

/* `over` says that another attempt follows, and that one had not begun a moment ago. */
static void observe_pause(struct sw_observation *seen, const char *folder, const json_t *over)
{
    sw_autofree char *next = local_next_folder(folder);
    bool held = local_lock_held(folder);
    sw_auto(json) json_t *record = NULL;
    char host[128];

    if (local_has_begun(next) || (!held && local_lock_held(next)))
        return;                    /* in this moment: the next observation sees it */
    if (!held && is_foreign(folder, host)) {
        snprintf(seen->message, sizeof seen->message, "unreachable: it waits on '%.120s'", host);
        return;
    }
    if (held)
        record = sw_json_object(SW_STR("state", sw_state_name(SW_PENDING)),
                                SW_STR("reason", SW_REASON_RETRY),
                                SW_STR("message", sw_json_str(local_next(over), "why")));
    else if (local_has(folder, LOCAL_CANCEL) || local_has(next, LOCAL_CANCEL))
        record = canceled_record();
    if (record) {
        fill_in(seen, record);
        seen->until_ms = held ? sw_json_int(local_next(over), "not_before_ms", 0) : 0;
        return;
    }
    seen->presence = SW_ABSENT;
    seen->unattended = true;
    snprintf(seen->message, sizeof seen->message, "its supervisor is gone; attempt %d is next",
             seen->attempt);
}

static void observe_one(struct sw_connection *conn, struct sw_observation *seen)
{
    const char *id = seen->job.id;
    int asked = seen->job.attempt > 0 ? seen->job.attempt : 1, now = local_attempt_now(conn, id, asked);
    sw_autofree char *folder = local_attempt_folder(conn, id, now);
    sw_auto(json) json_t *over = local_record_read(folder, LOCAL_EXIT);
    bool pauses = local_next(over) != NULL;

    if (now > asked || pauses) {
        seen->attempt = now + pauses;
        seen->before = stories(conn, id, asked, now + pauses);
    }
    if (pauses)
        observe_pause(seen, folder, over);
    else
        observe_attempt(seen, folder, over);
}

int local_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                  struct sw_error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        observe_one(conn, &jobs[i]);
    return 0;
}

void local_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int attempt = jobs[i].attempt > 0 ? jobs[i].attempt : jobs[i].job.attempt;
        sw_autofree char *folder = local_attempt_folder(conn, jobs[i].job.id, attempt);

        if (jobs[i].presence == SW_PRESENT && jobs[i].state == SW_ERROR &&
            local_has(folder, LOCAL_SUPERVISOR) && !local_has(folder, LOCAL_EXIT))
            local_declare_lost(folder);
    }
}
