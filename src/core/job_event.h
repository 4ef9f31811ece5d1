/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_event.h - what happened to a job, in the words of `notify.on`, and the hook that it runs.
 *
 * The store keeps events by kind, with a JSON document; monitor/ finds the hooks of an event, and
 * slipway-hook says the word to them. Pure.
 */
#ifndef SW_CORE_JOB_EVENT_H
#define SW_CORE_JOB_EVENT_H

#include "base/json.h"
#include "slipway.h"

struct sw_job_event {
    const char *kind;              /* of the store's event */
    enum sw_state state;           /* of a "state" event; SW_UNKNOWN: any */
    const char *word;
    const char *hook;              /* key of `hooks:`; NULL: none, only `notify:` */
};
/* Ended by a row without a kind. Of several rows that fit, the first has the event's word. */
extern const struct sw_job_event sw_job_events[];
/* The words that `notify.on` takes; NULL-ended. */
extern const char *const sw_job_event_words[];

bool sw_job_event_fits(const struct sw_job_event *row, const char *kind, const json_t *data);
/* Static, or the kind itself where it has no word. */
const char *sw_job_event_word(const char *kind, const json_t *data);

#endif
