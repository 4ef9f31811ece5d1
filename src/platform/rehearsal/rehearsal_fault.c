/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearsal_fault.c - how the pretended API misbehaves: "slow 200ms", "down 3 calls".
 *
 * These are the lies and silences that real platforms were seen to produce: an answer lost after
 * the job was accepted, a list without the job, "not found" and a moment later found, a log that
 * goes quiet when its file is rotated, a clock that was set back. None of them may ever turn a job
 * into Error or make a second one; the contract suite holds us to it.
 *
 * Pure: no I/O. Counting the calls is rehearsal.c's business.
 */
#include "platform/rehearsal/rehearsal_internal.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define CALLS_MAX 1000000000LL
#define SLOW_MAX_MS (60 * 1000)
#define BACK_MAX_MS ((int64_t)366 * 24 * 3600 * 1000)
#define ROTATE_MIN_BYTES 16

static const struct fault {
    const char *word;
    size_t field;               /* where the number of calls goes */
    int64_t calls;              /* when none is named; REHEARSAL_FOR_EVER: all */
} counted[] = {
    { "down", offsetof(struct rehearsal_faults, down_calls), REHEARSAL_FOR_EVER },
    { "lose-answer", offsetof(struct rehearsal_faults, lost_answers), 1 },
    { "empty-list", offsetof(struct rehearsal_faults, unseen_calls), REHEARSAL_FOR_EVER },
    { "not-found-then-found", offsetof(struct rehearsal_faults, unseen_calls), 1 },
    { "cut-every", offsetof(struct rehearsal_faults, cut_every), 2 },
};

static int parse_slow(const char *argument, struct rehearsal_faults *out, struct sw_error *err)
{
    if (sw_duration_parse(argument ? argument : "", &out->slow_ms, err) < 0)
        return sw_wrap(err, "'slow' wants a duration, such as 'slow 200ms'");
    if (out->slow_ms < 0 || out->slow_ms > SLOW_MAX_MS)
        return sw_fail(err, SW_E_SPEC, "'slow' takes at most one minute");
    return 0;
}

static int parse_clock(const char *argument, struct rehearsal_faults *out, struct sw_error *err)
{
    if (sw_duration_parse(argument ? argument : "", &out->clock_back_ms, err) < 0)
        return sw_wrap(err, "'clock-back' wants a duration, such as 'clock-back 1h'");
    if (out->clock_back_ms < 0 || out->clock_back_ms > BACK_MAX_MS)
        return sw_fail(err, SW_E_SPEC, "'clock-back' takes at most one year");
    return 0;
}

static int parse_rotation(const char *argument, struct rehearsal_faults *out,
                          struct sw_error *err)
{
    if (sw_size_parse(argument ? argument : "", &out->rotate_bytes, err) < 0)
        return sw_wrap(err, "'rotate-log' wants a size, such as 'rotate-log 4KiB'");
    if (out->rotate_bytes < ROTATE_MIN_BYTES)
        return sw_fail(err, SW_E_SPEC, "'rotate-log' takes at least %d bytes", ROTATE_MIN_BYTES);
    return 0;
}

/* Faults with something else than a number of calls. */
static const struct {
    const char *word;
    int (*parse)(const char *argument, struct rehearsal_faults *out, struct sw_error *err);
} measured[] = {
    { "slow", parse_slow },
    { "clock-back", parse_clock },
    { "rotate-log", parse_rotation },
};

/* "3 calls", or nothing at all. */
static int parse_calls(char *argument, int64_t *calls, struct sw_error *err)
{
    const char *count, *unit;

    if (!argument)
        return 0;
    count = rehearsal_cut(&argument, " \t");
    unit = argument ? argument : "";
    *calls = rehearsal_number(count, CALLS_MAX);
    if (*calls < 0 || (strcmp(unit, "calls") != 0 && strcmp(unit, "call") != 0))
        return sw_fail(err, SW_E_SPEC, "'%.40s %.40s' is not a number of calls, such as '3 calls'",
                       count, unit);
    return 0;
}

static int parse_one(char *text, struct rehearsal_faults *out, struct sw_error *err)
{
    char *argument = text;
    const char *word = rehearsal_cut(&argument, " \t");

    if (strcmp(word, "up") == 0 && !argument)
        return 0;
    for (size_t i = 0; i < SW_COUNT(measured); i++)
        if (strcmp(word, measured[i].word) == 0)
            return measured[i].parse(argument, out, err);
    for (size_t i = 0; i < SW_COUNT(counted); i++) {
        int64_t calls = counted[i].calls;

        if (strcmp(word, counted[i].word) != 0)
            continue;
        if (parse_calls(argument, &calls, err) < 0)
            return -1;
        memcpy((char *)out + counted[i].field, &calls, sizeof calls);
        return 0;
    }
    sw_fail(err, SW_E_SPEC, "'%.40s' is no way the API of a rehearsal can fail", word);
    return sw_hint(err, "it can be up, slow DURATION, down [N calls], lose-answer, "
                        "empty-list [N calls], not-found-then-found, cut-every N calls, "
                        "rotate-log SIZE, clock-back DURATION");
}

int rehearsal_faults_parse(const char *text, struct rehearsal_faults *out, struct sw_error *err)
{
    struct rehearsal_faults faults = { 0 };
    sw_autofree char *copy = NULL;
    char *rest;

    if (strnlen(text, REHEARSAL_SCRIPT_MAX + 1) > REHEARSAL_SCRIPT_MAX)
        return sw_fail(err, SW_E_SPEC, "rehearsal.api is longer than %d characters",
                       REHEARSAL_SCRIPT_MAX);
    rest = copy = sw_strdup(text);
    for (char *fault; (fault = rehearsal_cut(&rest, ","));)
        if (*fault && parse_one(fault, &faults, err) < 0)
            return sw_wrap(err, "rehearsal.api");
    *out = faults;
    return 0;
}
