/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - how far a training is, read from what it prints.
 *
 *     struct sw_progress_reader reader = SW_PROGRESS_READER_INIT;
 *     sw_progress_feed(&reader, bytes, length, sw_now_ms());     // as pieces of the log come
 *     if (reader.now.fraction >= 0) ...
 *     sw_progress_reader_done(&reader);
 *
 * Pieces may be cut anywhere. A line counts when it is complete (newline, carriage return or
 * backspace, as bars are redrawn), so half a number is never read. Between two pieces at most
 * one line of 4 KiB is kept, and mostly nothing.
 *
 * Progress is a courtesy: a line that is not surely about training is not read.
 */
#ifndef SW_CORE_PROGRESS_H
#define SW_CORE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

struct sw_training {
    int64_t epoch;          /* as the program counts; -1: not seen */
    int64_t epochs;         /* how many in all; 0: not known */
    int64_t step;           /* -1: not seen */
    int64_t steps;          /* 0: not known */
    double fraction;        /* 0..1 of the whole run, or of this epoch (below); -1: not known */
    double rate;            /* steps per second; 0: not known */
    bool fraction_of_epoch; /* the number of epochs is not known */
    int64_t seen_ms;        /* when the last reading was fed; 0: never */
};

struct sw_progress_reader {
    struct sw_training now;
    int64_t highest_epoch;       /* for milestones: a restart inside one log counts only once */
    char *partial;               /* the line so far; owned, NULL when none */
    size_t partial_length, partial_room;
    int64_t pending_bytes;       /* fed since the last end of a line */
    bool skipping;               /* the rest of an over-long line */
    bool steps_of_epoch;         /* the last steps count within one epoch */
    bool from_zero;              /* an epoch 0 was seen */
    bool epochs_have_parts;      /* an epoch such as 1.23 was seen */
    double epoch_part;           /* the part after the dot of the last one */
};
#define SW_PROGRESS_READER_INIT \
    { .now = { .epoch = -1, .step = -1, .fraction = -1 }, .highest_epoch = -1 }

/* Returns whether anything was read out of these bytes. */
bool sw_progress_feed(struct sw_progress_reader *reader, const char *bytes, size_t length,
                      int64_t now_ms);
/* The log is over: its last line may lack an end. */
bool sw_progress_end(struct sw_progress_reader *reader, int64_t now_ms);
void sw_progress_reader_done(struct sw_progress_reader *reader);

/* For the store: {"epoch","epochs","step","steps","fraction","rate","seen_ms", ...}, without what
 * is not known. A later process goes on from it when it feeds the log again from the byte where
 * the unfinished line began: the bytes fed so far minus reader.pending_bytes. */
json_t *sw_progress_json(const struct sw_progress_reader *reader);
/* From such a document, however damaged; NULL: nothing was seen. `reader` holds nothing yet. */
void sw_progress_restore(struct sw_progress_reader *reader, const json_t *progress);

/* The first multiple of `every` after epoch `before` up to epoch `now`; -1: none. Epoch 0 is
 * none. So that no milestone between two readings is missed:
 *
 *     while ((before = sw_progress_milestone(before, reader.highest_epoch, every)) >= 0)
 *         tell(before);
 *
 * The count may be large when a program prints a large number: a caller that acts on each
 * bounds it. */
int64_t sw_progress_milestone(int64_t before, int64_t now, int64_t every);

#endif
