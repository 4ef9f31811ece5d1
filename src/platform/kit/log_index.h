/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_index.h - when each byte of a log was written: a file beside the log, searched by halves.
 *
 * A line "offset time_ms" is written before the first bytes of a new moment. So every byte of the
 * log has its line, the time of a byte is that of the last line at or before it, and both columns
 * only grow: a few small reads find any place, whatever the length. Lines that are torn or no
 * numbers are skipped; then times are coarser or unknown, never invented.
 */
#ifndef SW_PLATFORM_KIT_LOG_INDEX_H
#define SW_PLATFORM_KIT_LOG_INDEX_H

#include <stdbool.h>
#include <stdint.h>

enum { SW_LOG_INDEX_EVERY_MS = 100 };      /* times are this exact */

struct sw_log_moment {
    int64_t offset, at_ms;
    int64_t begins, ends;              /* its line in the index */
};

/* When the byte at `offset` was written (0: not known), and the first offset of another time;
 * `size`: how long the log was before the index was opened. `index` may be -1: there is none. */
void sw_log_index_time(int index, int64_t offset, int64_t size, int64_t *at_ms, int64_t *until);
/* The first moment at or after a time; false: the index has none, and *before is the last one
 * before it (zeros: none). It may begin one moment too early, since a line is for all bytes of its
 * moment. */
bool sw_log_index_since(int index, int64_t at_ms, struct sw_log_moment *found, struct sw_log_moment *before);

#endif
