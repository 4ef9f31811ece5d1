/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - what time it is, as one function that tests may replace.
 *
 * Wall-clock times are milliseconds since 1970 (int64_t, names end in _ms). Deadlines use the
 * monotonic clock, which is never set back.
 */
#ifndef SW_BASE_CLOCK_H
#define SW_BASE_CLOCK_H

#include <stdint.h>

int64_t sw_now_ms(void);              /* wall clock */
int64_t sw_monotonic_ms(void);
void sw_sleep_ms(int64_t ms);         /* may return early on a signal */
void sw_clock_pretend(int64_t (*now_ms)(void));   /* tests only; NULL: the real one again */

/* "2026-05-21T22:50:54.123456+00:00", the contract's form. `out` has room for 40. */
void sw_time_format(int64_t at_ms, char out[40]);
/* The last `digits` digits of a number, zeros before it; no end is put. Returns what follows them. */
char *sw_put_digits(char *out, unsigned number, int digits);
/* "5s", "3m", "2h", "4d": how people say an age. `out` has room for 24. */
void sw_age_format(int64_t age_ms, char out[24]);

#endif
