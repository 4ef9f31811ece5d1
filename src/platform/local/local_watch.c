/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_watch.c - what the job folders say about many jobs: a few small reads each, no process.
 *
 * The order of questions matters, because the supervisor writes its last word and then lets go
 * of the lock: exit record; lock; exit record again. Only when there is no last word and nobody
 * holds the lock is a started job lost, and that verdict is written down under the lock, so that
 * every later look, and a late second submit, gets the same answer.
 */
#include "platform/local/local_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/report.h"
#include "core/state.h"
#include "platform/local/local_tree.h"

enum { SWEEP_GRACE_MS = 2000 };

static void copy_text(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text ? text : "");
}

static void say(struct sw_observation *seen, const json_t *record)
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
    local_host_name(seen->node);
}

static json_t *pending_record(const char *reason, const char *message)
{
    return sw_json_object(SW_STR("state", sw_state_name(SW_PENDING)), SW_STR("reason", reason),
                          SW_STR("message", message));
}

static json_t *lost_record(const char *folder, bool same_boot)
{
    sw_auto(json) json_t *status = local_record_read(folder, LOCAL_STATUS);
    json_t *replicas = json_object_get(status, "replicas");

    return sw_json_object(
        SW_STR("state", sw_state_name(SW_ERROR)), SW_STR("reason", same_boot ? "lost" : "restart"),
        SW_STR("message", same_boot ? "its supervisor was killed"
                                    : "the machine restarted while the job ran"),
        SW_INT("failed_replica", -1), SW_INT("started_ms", sw_json_int(status, "started_ms", 0)),
        SW_INT("ended_ms", sw_now_ms()),
        SW_SUB("replicas", replicas ? json_incref(replicas) : json_array()),
        SW_SUB("facts", sw_json_object(SW_BOOL(same_boot ? "supervisor_killed" : "restarted",
                                               true))));
}

bool local_is_elsewhere(const char *folder, char host[128])
{
    sw_auto(json) json_t *who = local_has(folder, LOCAL_EXIT)
                                    ? NULL : local_record_read(folder, LOCAL_SUPERVISOR);
    const char *there = sw_json_str(who, "host");
    struct sw_proc supervisor;
    char here[128];

    local_host_name(here);
    if (!there || strcmp(there, here) == 0 || sw_proc_from_json(who, &supervisor) < 0 ||
        sw_proc_same_boot(&supervisor))
        return false;
    snprintf(host, 128, "%s", there);
    return true;
}

json_t *local_declare_lost(const char *folder)
{
    char host[128];
    sw_autofd int lock = local_is_elsewhere(folder, host) ? -1 : local_lock_take(folder);
    sw_auto(json) json_t *who = NULL, *record = NULL;
    struct sw_proc supervisor;
    bool same_boot;

    if (lock < 0)
        return NULL;
    record = local_record_read(folder, LOCAL_EXIT);
    if (record)
        return sw_take(record);
    who = local_record_read(folder, LOCAL_SUPERVISOR);
    same_boot = sw_proc_from_json(who, &supervisor) < 0 || sw_proc_same_boot(&supervisor);
    if (same_boot)
        local_tree_sweep(folder, SWEEP_GRACE_MS);
    record = lost_record(folder, same_boot);
    local_record_keep(folder, LOCAL_EXIT, record, NULL);
    return sw_take(record);
}

/* Nobody holds the lock and there was no last word a moment ago. */
static void look_at_the_abandoned(struct sw_observation *seen, const char *folder)
{
    sw_auto(json) json_t *record = local_record_read(folder, LOCAL_EXIT);
    char host[128];

    if (!record && local_has(folder, LOCAL_SUPERVISOR)) {
        if (local_is_elsewhere(folder, host)) {
            seen->presence = SW_UNSEEN;
            snprintf(seen->message, sizeof seen->message, "unreachable: it runs on '%.120s'", host);
            return;
        }
        record = local_declare_lost(folder);
        if (!record)
            record = pending_record("starting", "its supervisor is busy");
    }
    if (!record && local_has(folder, LOCAL_CANCEL))
        record = sw_json_object(SW_STR("state", sw_state_name(SW_CANCELED)),
                                SW_STR("reason", "canceled"),
                                SW_STR("message", "canceled before it started"),
                                SW_INT("exit_code", 130));
    if (record)
        say(seen, record);
    else
        seen->presence = SW_ABSENT;       /* a folder at most: nothing was ever started */
}

/* Until the supervisor knows more: what rank 0's runner says while it works. */
static void read_heartbeat(struct sw_observation *seen, const char *folder)
{
    sw_auto(json) json_t *beat = NULL;

    if (seen->runner || sw_state_is_final(seen->state))
        return;
    beat = local_record_read(folder, "work/.slipway/heartbeat-0.json");
    seen->runner = sw_report_clean(beat);
}

static void look(struct sw_connection *conn, struct sw_observation *seen)
{
    sw_autofree char *folder = local_attempt_folder(conn, seen->job.id, seen->job.attempt);
    sw_auto(json) json_t *record = local_record_read(folder, LOCAL_EXIT);

    if (!record && local_lock_held(folder)) {
        if (!local_has(folder, LOCAL_SUPERVISOR))
            return;         /* it has not heard "go", and may never: not a job yet, nor none */
        record = local_record_read(folder, LOCAL_STATUS);
        if (!record)
            record = pending_record("starting", "");
    }
    if (record)
        say(seen, record);
    else
        look_at_the_abandoned(seen, folder);
    read_heartbeat(seen, folder);
    seen->last_output_ms =
        local_last_output_ms(folder, (int)json_array_size(json_object_get(record, "replicas")));
}

int local_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
               struct sw_error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        look(conn, &jobs[i]);
    return 0;
}
