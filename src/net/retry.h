/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry.h - when to try again: exponential back-off with jitter, as a pure function.
 */
#ifndef SW_NET_RETRY_H
#define SW_NET_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct sw_retry_rule {
    int tries;               /* in all, the first included */
    int64_t first_ms;        /* upper bound of the first pause; doubled each time ... */
    int64_t longest_ms;      /* ... up to this */
};
extern const struct sw_retry_rule sw_retry_usual;      /* 8 tries, 100 ms .. 20 s */

/* How long to wait before try number `tried`+1; -1: give up. `random` is any 32 random bits, and
 * spreads the pause over the upper half of the bound, so that many clients do not come back
 * together. `asked_ms` is the server's Retry-After (-1: none): never less than that, at most
 * ten times `longest_ms`. */
int64_t sw_retry_pause(const struct sw_retry_rule *rule, int tried, uint32_t random,
                       int64_t asked_ms);
/* Retry-After: seconds or a date, against the clock given; -1: none. */
int64_t sw_retry_after(const char *value, int64_t now_ms);
/* Statuses that may pass: 408, 425, 429, 500, 502, 503, 504. */
bool sw_retry_status(int status);

#endif
