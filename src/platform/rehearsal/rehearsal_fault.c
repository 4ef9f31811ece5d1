/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearsal_fault.c - how the pretended API misbehaves: "slow 200ms", "down 3 calls".
 *
 * Real platforms were seen to do all of this: lose an answer after the job was accepted, leave a job out
 * of a list, rotate a log, set a clock back. None of it may turn a job into Error or make a second one;
 * contract suite and scenarios check that.
 *
 * Pure: no I/O. rehearsal.c counts the calls.
 */
#include "platform/rehearsal/rehearsal_internal.h"

#include <string.h>

#include "base/units.h"

enum unit { NOTHING, CALLS, TIME, SIZE };

#define FIELD(name) offsetof(struct rehearsal_faults, name)
#define YEAR_MS     ((int64_t)366 * 24 * 3600 * 1000)
#define CALLS_MAX   1000000000LL

static const struct rehearsal_fault_word {
    const char *word;
    enum unit unit;
    size_t field;
    int64_t initial;            /* when no number is given; 0: one must be */
    int64_t least, most;
    const char *example;
} words[] = {
    { "up", NOTHING, 0, 0, 0, 0, "up" },
    { "slow", TIME, FIELD(slow_ms), 0, 0, 60 * 1000, "slow 200ms" },
    { "down", CALLS, FIELD(down_calls), REHEARSAL_FOR_EVER, 0, CALLS_MAX, "down 3 calls" },
    { "lose-answer", CALLS, FIELD(lost_answers), 1, 0, CALLS_MAX, "lose-answer 1 call" },
    { "empty-list", CALLS, FIELD(unseen_calls), REHEARSAL_FOR_EVER, 0, CALLS_MAX, "empty-list 2 calls" },
    { "not-found-then-found", CALLS, FIELD(unseen_calls), 1, 0, CALLS_MAX, "not-found-then-found" },
    { "cut-every", CALLS, FIELD(cut_every), 2, 0, CALLS_MAX, "cut-every 3 calls" },
    { "rotate-log", SIZE, FIELD(rotate_bytes), 0, 16, INT64_MAX, "rotate-log 4KiB" },
    { "clock-back", TIME, FIELD(clock_back_ms), 0, 0, YEAR_MS, "clock-back 1h" },
};

/* False: the text is no such number. */
static bool read_number(enum unit unit, char *text, int64_t *number)
{
    const char *count, *word;

    switch (unit) {
    case NOTHING:
        return false;
    case TIME:
        return sw_duration_parse(text, number, NULL) == 0;
    case SIZE:
        return sw_size_parse(text, number, NULL) == 0;
    case CALLS:
        count = rehearsal_cut(&text, " \t");
        word = text ? text : "";
        *number = rehearsal_number(count, CALLS_MAX);
        return strcmp(word, "calls") == 0 || strcmp(word, "call") == 0;
    }
    return false;
}

static int parse_one(char *text, struct rehearsal_faults *out, struct sw_error *err)
{
    char *argument = text;
    const char *word = rehearsal_cut(&argument, " \t");

    for (size_t i = 0; i < SW_COUNT(words); i++) {
        const struct rehearsal_fault_word *row = &words[i];
        int64_t number = row->initial;

        if (strcmp(word, row->word) != 0)
            continue;
        if (row->unit == NOTHING && !argument)
            return 0;
        if ((argument ? !read_number(row->unit, argument, &number) : number == 0) || number < row->least ||
            (number > row->most && number != row->initial))
            return sw_fail(err, SW_E_SPEC, "'%s' is not used like that, but like '%s'", word, row->example);
        memcpy((char *)out + row->field, &number, sizeof number);
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
