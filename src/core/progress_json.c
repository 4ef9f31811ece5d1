/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_json.c - a reading of progress as a document, so that a new watcher goes on where the
 * old one was killed.
 *
 * What the reader learnt about the program's way of counting is kept too (under "counts"):
 * without it the first line after a restart could mean something else than before.
 *
 * Pure: no I/O. The document may come from a damaged store: every number is bounded.
 */
#include "core/progress.h"

#include <math.h>

static json_t *whole_if(bool known, int64_t value)
{
    return known ? json_integer(value) : NULL;
}

json_t *sw_progress_json(const struct sw_progress_reader *reader)
{
    const struct sw_training *now = &reader->now;

    return sw_json_object(
        SW_SUB("epoch", whole_if(now->epoch >= 0, now->epoch)),
        SW_SUB("epochs", whole_if(now->epochs > 0, now->epochs)),
        SW_SUB("step", whole_if(now->step >= 0, now->step)),
        SW_SUB("steps", whole_if(now->steps > 0, now->steps)),
        SW_SUB("fraction", now->fraction >= 0 ? json_real(now->fraction) : NULL),
        SW_SUB("fraction_of_epoch", now->fraction_of_epoch ? json_true() : NULL),
        SW_SUB("rate", now->rate > 0 ? json_real(now->rate) : NULL),
        SW_SUB("highest_epoch", whole_if(reader->highest_epoch >= 0, reader->highest_epoch)),
        SW_INT("seen_ms", now->seen_ms),
        SW_SUB("counts", sw_json_object(
            SW_BOOL("steps_of_epoch", reader->steps_of_epoch),
            SW_BOOL("from_zero", reader->from_zero),
            SW_BOOL("parts", reader->epochs_have_parts),
            SW_REAL("part", reader->epoch_part))));
}

static int64_t whole(const json_t *progress, const char *key, int64_t missing)
{
    int64_t value = sw_json_int(progress, key, missing);

    return value < 0 || value > INT64_C(1000000000000000) ? missing : value;
}

static double real(const json_t *progress, const char *key, double most, double missing)
{
    const json_t *value = json_object_get(progress, key);
    double number = json_number_value(value);

    return json_is_number(value) && isfinite(number) && number >= 0 && number <= most
        ? number : missing;
}

void sw_progress_restore(struct sw_progress_reader *reader, const json_t *progress)
{
    const json_t *counts = json_object_get(progress, "counts");
    struct sw_training *now = &reader->now;

    *reader = (struct sw_progress_reader)SW_PROGRESS_READER_INIT;
    now->epoch = whole(progress, "epoch", -1);
    now->epochs = whole(progress, "epochs", 0);
    now->step = whole(progress, "step", -1);
    now->steps = whole(progress, "steps", 0);
    now->fraction = real(progress, "fraction", 1, -1);
    now->fraction_of_epoch = sw_json_bool(progress, "fraction_of_epoch", false);
    now->rate = real(progress, "rate", 1e12, 0);
    now->seen_ms = whole(progress, "seen_ms", 0);
    reader->highest_epoch = whole(progress, "highest_epoch", now->epoch);
    reader->steps_of_epoch = sw_json_bool(counts, "steps_of_epoch", false);
    reader->from_zero = sw_json_bool(counts, "from_zero", false);
    reader->epochs_have_parts = sw_json_bool(counts, "parts", false);
    reader->epoch_part = real(counts, "part", 1, 0);
}
