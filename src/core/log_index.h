/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_index.h - when which byte of a log was written: a file beside the log, searched by halves.
 *
 * A line "offset time_ms" stands before the first bytes of a new moment. So every byte that is in
 * the log has its line, the time of a byte is that of the last line at or before it, and both columns
 * only grow: a few small reads find any place, whatever the length. What is torn, missing or no
 * number is passed over; then times are coarser or unknown, never invented.
 */
#ifndef SW_CORE_LOG_INDEX_H
#define SW_CORE_LOG_INDEX_H

#include <stdbool.h>
#include <stdint.h>

enum { SW_LOG_INDEX_EVERY_MS = 100 };      /* times are this exact */

struct sw_log_moment {
    int64_t offset, at_ms;
    int64_t begins, ends;              /* where its line stands in the index */
};

/* The first moment whose offset (or time) is at or above `value`, and the one before it. */
void sw_log_index_search(int fd, bool by_time, int64_t value, struct sw_log_moment *before,
                         bool *has_before, struct sw_log_moment *found, bool *has_found);

#endif
