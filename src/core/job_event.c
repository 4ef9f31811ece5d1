/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_event.c - the table of job_event.h.
 */
#include "core/job_event.h"

#include <string.h>

#include "base/text.h"

const struct sw_job_event sw_job_events[] = {
    { "state",   SW_COMPLETE, "complete", "on_complete" },
    { "state",   SW_ERROR,    "error",    "on_error" },
    { "state",   SW_CANCELED, "canceled", "on_canceled" },
    { "state",   SW_UNKNOWN,  "status",   "on_status" },
    { "attempt", SW_UNKNOWN,  "retry",    NULL },
    { "attempt", SW_UNKNOWN,  "status",   "on_status" },
    { "epoch",   SW_UNKNOWN,  "epoch",    "on_epoch_milestone" },
    { "guard",   SW_UNKNOWN,  "guard",    NULL },
    { 0 }
};

const char *const sw_job_event_words[] = {
    "complete", "error", "canceled", "status", "retry", "guard", NULL
};

bool sw_job_event_fits(const struct sw_job_event *row, const char *kind, const json_t *data)
{
    return strcmp(row->kind, kind) == 0 &&
           (row->state == SW_UNKNOWN || sw_text_same(sw_state_name(row->state), sw_json_str(data, "state")));
}

const char *sw_job_event_word(const char *kind, const json_t *data)
{
    for (const struct sw_job_event *row = sw_job_events; row->kind; row++)
        if (sw_job_event_fits(row, kind, data))
            return row->word;
    return kind;
}
