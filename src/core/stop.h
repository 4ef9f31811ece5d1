/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h - how long a stop takes, the one place for these numbers.
 *
 *     told to stop: TERM --- grace ---> KILL --- collect ---> the outputs are brought --- slack ---> over
 *
 * `grace` is the command's alone, all of it. Bringing the outputs has its own time after that (a command
 * that ends early leaves the rest of its grace to it), and only when that is over may a platform end
 * everything by force. Pure.
 */
#ifndef SW_CORE_STOP_H
#define SW_CORE_STOP_H

#include <stdint.h>

enum { SW_COLLECT_LEAST_MS = 30000, SW_STOP_SLACK_MS = 5000 };

/* When the job does not say: the same, for the table of keys and for what reads a plan. */
#define SW_GRACE "10s"
enum { SW_GRACE_MS = 10000 };

/* For the outputs, after the grace: as long as the grace, and half a minute at least. */
static inline int64_t sw_collect_ms(int64_t grace_ms)
{
    return grace_ms > SW_COLLECT_LEAST_MS ? grace_ms : SW_COLLECT_LEAST_MS;
}

/* From the stop until the runner has done all it can do: command and outputs. */
static inline int64_t sw_stop_ms(int64_t grace_ms)
{
    return grace_ms + sw_collect_ms(grace_ms);
}

/* From the stop until a platform may kill what is left (`docker stop`'s timeout, a client that waits): the
 * runner's time, and a little for its report. */
static inline int64_t sw_stop_budget_ms(int64_t grace_ms)
{
    return sw_stop_ms(grace_ms) + SW_STOP_SLACK_MS;
}

#endif
