/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting.c - why a job waits, in one line.
 *
 * Waiting is normal, so each row says what is normal about it and after how long to do something.
 * No row is ever silent: a reason nobody knows is shown in the platform's own words.
 *
 * Pure: no I/O; the age is given.
 */
#include "diagnose/diagnose_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/report.h"

#define MINUTE_MS ((int64_t)60 * 1000)
#define HOUR_MS   (60 * MINUTE_MS)

static const struct waiting {
    const char *reason;
    const char *what;          /* a whole sentence, lower case */
    int64_t patience_ms;       /* after this the advice is given; 0: at once */
    const char *advice;
} table[] = {
    { "submitting", "it is being handed to the platform", MINUTE_MS,
      "the submit may have been interrupted; the next refresh finds out and says so" },
    { "queue", "it stands in the platform's queue", HOUR_MS,
      "ask for fewer GPUs, a shorter 'time:' or another queue" },
    { "queued", "it stands in the platform's queue", HOUR_MS,
      "ask for fewer GPUs, a shorter 'time:' or another queue" },
    { "gpu-wait", "no GPU is free; it starts as soon as one is", HOUR_MS,
      "see what holds them with 'slipway ps', or ask for fewer GPUs" },
    { "resources", "the nodes it needs are busy", HOUR_MS,
      "ask for fewer GPUs, less memory or a shorter 'time:'" },
    { "priority", "jobs of higher priority are before it", HOUR_MS,
      "a shorter 'time:' lets a scheduler fit it in between" },
    { "quota", "your quota is in use", 0, "wait for your other jobs or cancel one" },
    { "limit", "a limit on running jobs is reached", 0, "wait for your other jobs or cancel one" },
    { "dependency", "it waits for another job", 24 * HOUR_MS, "see whether that job failed" },
    { "held", "it is held", 0, "release it on the platform, or ask who holds it" },
    { "begin-time", "its start time has not come", 24 * HOUR_MS, "check the start time" },
    { "reservation", "it waits for its reservation", 24 * HOUR_MS, "check the reservation" },
    { "unschedulable", "it can never be scheduled as it is", 0,
      "end it with 'slipway cancel', and compare what it asks for with 'slipway inventory'" },
    { "node-boot", "its nodes are starting", 20 * MINUTE_MS, "a node may not come up: ask again" },
    { "image", "its image is being fetched", 20 * MINUTE_MS,
      "large images take minutes; after that check the registry and the pull secret" },
    { "image-error", "its image cannot be fetched", 0,
      "check the image's name and the pull secret" },
    { "mount", "a volume cannot be mounted yet", 5 * MINUTE_MS,
      "check that the volume exists and may be used from this node" },
    { "inputs", "its inputs are being brought in", HOUR_MS, "see the progress in its log" },
    { "prepare", "its inputs are being brought in", HOUR_MS, "see the progress in its log" },
    { "code", "its code is being unpacked", 10 * MINUTE_MS, "see the first lines of its log" },
    { "starting", "it is being started", 5 * MINUTE_MS, "see the first lines of its log" },
    { "retry", "it failed and waits for its next attempt", HOUR_MS,
      "see the attempts with 'slipway status'" },
    { "preempted", "the platform took its machine and will start it again", HOUR_MS,
      "a queue without preemption starts it only once" },
    { "missing", "the platform says there is no such job; it is asked once more before we "
      "believe it", 5 * MINUTE_MS, "refresh with 'slipway status'" },
    { "unreachable", "the platform does not answer; the job itself may be well", 10 * MINUTE_MS,
      "check the network and the credential with 'slipway preflight'" },
    { "paused", "it is paused", 0, "resume it on the platform" },
    { SW_REASON_OUTPUTS, "the program is done, its results are being copied", HOUR_MS,
      "see the progress in its log" },
};

static const struct waiting by_state[] = {
    [SW_UNKNOWN] = { NULL, "nobody could say where it is; the job itself may be well",
                     10 * MINUTE_MS, "refresh, and check the platform with 'slipway preflight'" },
    [SW_PENDING] = { NULL, "it waits to be started, and the platform does not say for what",
                     HOUR_MS, "ask the platform's own tools about its id" },
    [SW_RUNNING] = { NULL, "it is running", 0, NULL },
    [SW_PAUSED]  = { NULL, "it is paused", 0, "resume it on the platform" },
};

static const struct waiting *find(const char *reason)
{
    for (size_t i = 0; i < SW_COUNT(table) && reason; i++) {
        if (strcmp(table[i].reason, reason) == 0)
            return &table[i];
    }
    return NULL;
}

/* The platform's words, harmless and on one line. */
static void add_clean(struct sw_buf *out, const char *text)
{
    sw_autofree char *clean = sw_text_printable(text, strnlen(text, DIAG_EVIDENCE_BYTES));

    for (char *at = clean; *at; at++) {
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
    }
    sw_buf_add(out, clean);
}

char *sw_explain_waiting(enum sw_state state, const char *reason, const char *message,
                         int64_t age_ms)
{
    const struct waiting *row = find(reason);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (sw_state_is_final(state) || (size_t)state >= SW_COUNT(by_state))
        return NULL;
    if (row) {
        sw_buf_add(&out, row->what);
    } else {
        row = &by_state[state];
        sw_buf_add(&out, row->what);
        if (!sw_text_empty(reason)) {
            sw_buf_add(&out, "; its word: ");
            add_clean(&out, reason);
        }
    }
    if (age_ms >= 0) {
        char age[24];

        sw_age_format(age_ms, age);
        sw_buf_addf(&out, " (for %s)", age);
    }
    if (!sw_text_empty(message)) {
        sw_buf_add(&out, ": ");
        add_clean(&out, message);
    }
    if (row->advice && (row->patience_ms == 0 || age_ms >= row->patience_ms))
        sw_buf_addf(&out, "; %s", row->advice);
    return sw_buf_steal(&out);
}
