/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_time.h - durations as Slurm writes them: "90", "30:00", "04:00:00", "1-12", "1-04:30:00".
 */
#ifndef SW_CORE_SLURM_TIME_H
#define SW_CORE_SLURM_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* A bare number is minutes. "UNLIMITED" and "INFINITE" are not durations: false. */
bool sw_slurm_time_parse(const char *text, int64_t *ms);

#endif
