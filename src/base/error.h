/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - an error is a value on the caller's stack (struct sw_error, in slipway.h).
 *
 * The deepest function that knows says what failed (sw_fail), callers that add meaning put it
 * in front (sw_wrap), the function that knows a remedy adds it (sw_hint). All return -1, so that a
 * failure is reported and returned in one line. All accept err == NULL.
 */
#ifndef SW_BASE_ERROR_H
#define SW_BASE_ERROR_H

#include "base/auto.h"
#include "slipway.h"

int sw_fail(struct sw_error *err, enum sw_code code, const char *fmt, ...) SW_PRINTF(3, 4);
int sw_fail_errno(struct sw_error *err, enum sw_code code, const char *fmt, ...) SW_PRINTF(3, 4);
int sw_wrap(struct sw_error *err, const char *fmt, ...) SW_PRINTF(2, 3);
int sw_hint(struct sw_error *err, const char *fmt, ...) SW_PRINTF(2, 3);
/* Hand over a failure that was looked at first. */
int sw_pass(struct sw_error *err, const struct sw_error *why);

/* Where a pointer is returned: return sw_null(sw_fail(err, ...)); */
#define sw_null(failed) ((void)(failed), NULL)

#endif
