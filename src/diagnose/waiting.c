/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting.c - why a job waits, in one line.
 *
 * Waiting is normal, so each reason (core/reason.c) says what is normal about it and after how long to do
 * something. A reason that is none of ours is shown in the platform's own words.
 *
 * Pure: no I/O; the age is given.
 */
#include "diagnose/diagnose_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"

#define MINUTE_MS ((int64_t)60 * 1000)

/* For a state whose reason says nothing. */
static const struct sw_waiting by_state[] = {
    [SW_UNKNOWN] = { "its state is unknown; the job itself may be fine", 10 * MINUTE_MS,
                     "refresh, and check the platform with 'slipway preflight'" },
    [SW_PENDING] = { "it is waiting to start", 60 * MINUTE_MS,
                     "check its id with the platform's own tools" },
    [SW_RUNNING] = { "Running", 0, NULL },
    [SW_PAUSED]  = { "Paused", 0, "resume it on the platform" },
};

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
    const struct sw_reason *known = sw_reason_find(reason);
    const struct sw_waiting *row = known && known->waiting.what ? &known->waiting : NULL;
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (sw_state_is_final(state) || (size_t)state >= SW_COUNT(by_state))
        return NULL;
    if (state == SW_RUNNING && sw_text_same(reason, SW_REASON_GUARD) && !sw_text_empty(message)) {
        sw_buf_add(&out, "Running, but ");
        add_clean(&out, message);
        sw_buf_add(&out, " (guard)");
        return sw_buf_steal(&out);
    }
    if (row) {
        sw_buf_add(&out, row->what);
    } else {
        row = &by_state[state];
        sw_buf_add(&out, row->what);
        if (!sw_text_empty(reason)) {
            sw_buf_add(&out, "; reason: ");
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
