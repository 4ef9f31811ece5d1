/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry_decide.c - is this failure tried again, and when?
 *
 * Infrastructure is tried again without being asked; a program's own failure and one that is
 * not explained only when the job file names its cause, since a deterministic error costs the same
 * hours each time. The pause doubles from the low to the high end of `retry.wait`.
 *
 * Pure. Called with what the rules said about the failure: by the monitor, and by a platform that tries again
 * by itself (local's supervisor).
 */
#include "diagnose/retry.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/reason.h"
#include "diagnose/diagnose.h"

static int64_t pause_before(const char *wait, int attempt, unsigned jitter)
{
    int64_t low_ms = 0, high_ms = 0, pause_ms, more_ms;

    /* spec/ has checked it, so what cannot be read is an adopted job's. */
    if (!wait || sw_duration_range_parse(wait, &low_ms, &high_ms, NULL) < 0 || low_ms < 0)
        sw_duration_range_parse(SW_RETRY_WAIT, &low_ms, &high_ms, NULL);
    pause_ms = low_ms;
    for (int i = 1; i < attempt && pause_ms < high_ms; i++)
        pause_ms = pause_ms > high_ms / 2 ? high_ms : pause_ms * 2;
    more_ms = pause_ms / 4 / 1000 * jitter;
    return pause_ms + more_ms > high_ms && high_ms > low_ms ? high_ms : pause_ms + more_ms;
}

static void say_cause(struct sw_retry *out, const char *cause, bool named)
{
    const char *list = named ? " (not in retry.on)" : "";

    if (sw_text_same(cause, "user"))
        snprintf(out->why, sizeof out->why, "not retried: the program itself failed%s", list);
    else
        snprintf(out->why, sizeof out->why, "not retried: cause %.40s%s", cause, list);
}

void sw_retry_decide(const json_t *plan, int usual_most, const struct sw_observation *failed,
                     const json_t *verdict, unsigned jitter, struct sw_retry *out)
{
    const json_t *retry = json_object_get(plan, "retry");
    const json_t *on = json_object_get(retry, "on");
    const char *cause = sw_json_str(verdict, "cause");
    int attempt = failed->job.attempt;

    *out = (struct sw_retry){ .number = attempt, .most = (int)sw_json_int(retry, "max", usual_most) };
    if (failed->state != SW_ERROR) {
        snprintf(out->why, sizeof out->why, "it did not fail");
    } else if (!sw_verdict_is_retriable(verdict, on)) {
        say_cause(out, cause ? cause : "unknown", json_is_array(on));
    } else if (out->most == 0) {
        snprintf(out->why, sizeof out->why, "retries are switched off");
    } else if (attempt > out->most) {
        snprintf(out->why, sizeof out->why, "no retries left (%d of %d used)", out->most, out->most);
    } else {
        out->again = true;
        out->wait_ms = pause_before(sw_json_str(retry, "wait"), attempt, jitter % 1000);
        out->only_collect = sw_text_same(failed->reason, SW_REASON_OUTPUTS);
        out->avoid_node = !out->only_collect &&
                          (failed->bad_node || sw_json_bool(retry, "avoid_bad_nodes", false));
        snprintf(out->why, sizeof out->why, "attempt %d failed: %s; %s %d of %d", attempt,
                 *failed->message ? failed->message : failed->reason,
                 out->only_collect ? "copying only the outputs again, retry" : "retry",
                 out->number, out->most);
    }
}

unsigned sw_retry_jitter(const char *id, int attempt)
{
    unsigned hash = 2166136261u ^ (unsigned)attempt;

    for (; *id; id++)
        hash = (hash ^ (unsigned char)*id) * 16777619u;
    return (hash >> 8) % 1000;
}
