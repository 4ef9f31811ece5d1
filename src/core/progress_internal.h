/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_internal.h - what one line of a log says about progress.
 */
#ifndef SW_CORE_PROGRESS_INTERNAL_H
#define SW_CORE_PROGRESS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_progress_line {
    int64_t epoch, epochs;      /* -1, 0: not said */
    double epoch_part;          /* 0.23 of "epoch 1.23" */
    bool epoch_has_part;
    int64_t step, steps;        /* -1, 0: not said */
    double rate;                /* steps per second; 0: not said */
};

/* One complete line, at most 4 KiB. False: it says nothing, and *out is not to be used. */
bool sw_progress_read_line(const char *text, size_t length, struct sw_progress_line *out);

#endif
