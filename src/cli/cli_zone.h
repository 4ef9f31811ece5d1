/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_zone.h - times as they are shown: in the user's time zone, which is always written beside them.
 */
#ifndef SW_CLI_ZONE_H
#define SW_CLI_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define CLI_TIME_SIZE 64

/* "UTC", "local", or a name of the time zone database such as "Europe/Berlin". Call it before there are
 * threads. */
int cli_zone_use(const char *name, struct sw_error *err);

/* "2026-05-21 22:50:54 UTC", for cards and tables. */
void cli_time_text(int64_t at_ms, char out[CLI_TIME_SIZE]);
/* "2026-05-21T22:50:54Z" or "2026-05-22T00:50:54+02:00", for lines; `digits` of the fraction, 0 or 3. */
void cli_time_line(int64_t at_ms, int digits, char out[CLI_TIME_SIZE]);
/* The first of these for a time of the API's documents; "": it is not a time. */
void cli_time_shown(const char *time, char out[CLI_TIME_SIZE]);
/* When it is that a clock of the zone shows this, given as if it were UTC. */
int64_t cli_zone_to_utc(int64_t shown_ms);

/* cli_time.c: "2026-05-21T22:50:54.123+02:00" and shorter; without a zone, in the user's. */
bool cli_time_read(const char *text, int64_t *at_ms);

#endif
