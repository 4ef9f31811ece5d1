/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - the stream side of progress.h: bytes into lines, readings into a fraction.
 *
 * What a line says is decided in progress_line.c. Here only: complete lines are read where they
 * lie, without a copy; an unfinished one waits, up to 4 KiB, for its end.
 *
 * Pure: no I/O, no clock.
 */
#include "core/progress.h"

#include <string.h>

#include "base/auto.h"
#include "core/progress_internal.h"

enum { MOST_LINE = 4096 };

static double clamp(double part)
{
    return part < 0 ? 0 : part > 1 ? 1 : part;
}

/* Steps count within the epoch, or over the whole run; the epoch's own number may start at 0,
 * and may have a part after the dot. */
static void work_out_fraction(struct sw_progress_reader *reader)
{
    struct sw_training *now = &reader->now;
    double of_steps = now->steps > 0 && now->step >= 0
        ? clamp((double)now->step / (double)now->steps) : -1;

    now->fraction_of_epoch = false;
    if (of_steps >= 0 && !reader->steps_of_epoch) {
        now->fraction = of_steps;
    } else if (now->epochs > 0 && now->epoch >= 0) {
        bool counts_done = reader->from_zero || reader->epochs_have_parts;
        double begun = (double)now->epoch - (counts_done ? 0 : 1);
        double inside = of_steps >= 0 ? of_steps : reader->epoch_part;

        now->fraction = clamp((begun + inside) / (double)now->epochs);
    } else {
        now->fraction = of_steps;
        now->fraction_of_epoch = of_steps >= 0;
    }
}

static void take_epoch(struct sw_progress_reader *reader, const struct sw_progress_line *line)
{
    struct sw_training *now = &reader->now;

    if (line->epoch != now->epoch && reader->steps_of_epoch) {
        now->step = -1;                  /* steps of another epoch say nothing about this one */
        now->steps = 0;
    }
    now->epoch = line->epoch;
    reader->epoch_part = line->epoch_part;
    reader->from_zero |= line->epoch == 0 && !line->epoch_has_part;
    if (line->epochs > 0)
        now->epochs = line->epochs;
    if (line->epoch > reader->highest_epoch)
        reader->highest_epoch = line->epoch;
    if (line->epoch_has_part) {
        reader->epochs_have_parts = true;
        reader->steps_of_epoch = false;
    }
}

static bool take_line(struct sw_progress_reader *reader, const char *text, size_t length,
                      int64_t now_ms)
{
    struct sw_progress_line line;
    struct sw_training *now = &reader->now;

    if (!sw_progress_read_line(text, length < MOST_LINE ? length : MOST_LINE, &line))
        return false;
    if (line.epoch >= 0)
        take_epoch(reader, &line);
    if (line.step >= 0) {
        now->step = line.step;
        now->steps = line.steps > 0 ? line.steps : now->steps >= line.step ? now->steps : 0;
        /* Steps under an epoch's heading are that epoch's; but who counts 1.23 epochs counts
         * steps over the whole run. */
        reader->steps_of_epoch = now->epoch >= 0 && !reader->epochs_have_parts;
        if (line.rate > 0)
            now->rate = line.rate;
    }
    work_out_fraction(reader);
    now->seen_ms = now_ms;
    return true;
}

static void keep(struct sw_progress_reader *reader, const char *bytes, size_t length)
{
    size_t room = MOST_LINE - reader->partial_length;
    size_t taken = length < room ? length : room;

    reader->pending_bytes += (int64_t)length;
    if (reader->skipping || taken == 0) {
        reader->skipping |= length > 0;
        return;
    }
    if (reader->partial_length + taken > reader->partial_room) {
        size_t wanted = (reader->partial_length + taken) * 2;

        reader->partial_room = wanted < MOST_LINE ? wanted : MOST_LINE;
        reader->partial = sw_realloc_array(reader->partial, reader->partial_room, 1);
    }
    memcpy(reader->partial + reader->partial_length, bytes, taken);
    reader->partial_length += taken;
    reader->skipping = taken < length;
}

/* The waiting line has come to its end. */
static bool finish_partial(struct sw_progress_reader *reader, int64_t now_ms)
{
    bool found = reader->partial_length > 0 &&
                 take_line(reader, reader->partial, reader->partial_length, now_ms);

    free(reader->partial);               /* ten thousand watched jobs keep no buffers */
    reader->partial = NULL;
    reader->partial_length = reader->partial_room = 0;
    reader->pending_bytes = 0;
    reader->skipping = false;
    return found;
}

static size_t until_break(const char *bytes, size_t length)
{
    size_t n = 0;

    while (n < length && bytes[n] != '\n' && bytes[n] != '\r' && bytes[n] != '\b')
        n++;
    return n;
}

bool sw_progress_feed(struct sw_progress_reader *reader, const char *bytes, size_t length,
                      int64_t now_ms)
{
    bool found = false;

    for (size_t at = 0; at < length;) {
        size_t n = until_break(bytes + at, length - at);

        if (at + n == length) {
            keep(reader, bytes + at, n);
            break;
        }
        if (reader->partial || reader->skipping) {
            keep(reader, bytes + at, n);
            found |= finish_partial(reader, now_ms);
        } else if (n > 0) {
            found |= take_line(reader, bytes + at, n, now_ms);
        }
        at += n + 1;
    }
    return found;
}

bool sw_progress_end(struct sw_progress_reader *reader, int64_t now_ms)
{
    return finish_partial(reader, now_ms);
}

void sw_progress_reader_done(struct sw_progress_reader *reader)
{
    free(reader->partial);
    reader->partial = NULL;
    reader->partial_length = reader->partial_room = 0;
}

int64_t sw_progress_milestone(int64_t before, int64_t now, int64_t every)
{
    int64_t next;

    if (every <= 0 || now < every)
        return -1;
    if (before < 0)
        before = 0;
    next = before - before % every;
    if (next > now - every)
        return -1;
    return next + every;
}
