/* SPDX-License-Identifier: Apache-2.0 */
/*
 * units.h - durations ("90s", "1h30m", "2d") and sizes ("512GiB", "8GB") to numbers and back.
 *
 * A bare number is seconds, or bytes. Out of range is an error, never a wrap-around.
 */
#ifndef SW_BASE_UNITS_H
#define SW_BASE_UNITS_H

#include <stdint.h>

#include "base/error.h"

/* What the two return for an amount that no number holds; every other mistake is -1. */
enum { SW_TOO_LARGE = -2 };

int sw_duration_parse(const char *text, int64_t *ms, struct sw_error *err);
/* "30s" or "30s..10m"; the low end is not above the high one. */
int sw_duration_range_parse(const char *text, int64_t *low_ms, int64_t *high_ms, struct sw_error *err);
int sw_size_parse(const char *text, int64_t *bytes, struct sw_error *err);
void sw_duration_format(int64_t ms, char out[32]);    /* "1h30m", exact: parses back to ms */
void sw_size_format(int64_t bytes, char out[32]);     /* "1.5 GiB", for people */

#endif
