/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracebacks.c - which lines of a log are the exceptions that ended a Python program.
 *
 * The first line after a traceback that is not indented is its exception, whatever its class is called.
 * Ranks that write at once tear tracebacks apart, and loggers print exceptions without one, so a line that
 * begins like an exception counts, too. A traceback of a launcher (torchrun, subprocess) only says that
 * another process failed: none of its lines count.
 *
 * Pure: no I/O.
 */
#include "diagnose/diagnose_internal.h"

#include <ctype.h>
#include <string.h>

/* Exceptions that only say that another process had one. */
static const char *const wrappers[] = {
    "^torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
    "^torch.distributed.elastic.multiprocessing.api.SignalException",
    "^torch.multiprocessing.spawn.Process",
    "^subprocess.CalledProcessError: ",
    "^ray.exceptions.RayTaskError",
    "^SystemExit",
    "^BrokenPipeError: ",
    "^ExceptionGroup: ", "^BaseExceptionGroup: ",
};

static const char *const headers[] = {
    "^Traceback (most recent call last):", "^Original Traceback (most recent call last):",
    "^Exception Group Traceback (most recent call last):",
};

static const char *const links[] = {
    "^The above exception was the direct cause of the following exception:",
    "^During handling of the above exception, another exception occurred:",
};

/* "torch.cuda.OutOfMemoryError", then a colon or nothing: the length of the dotted name, or 0. */
static size_t name_length(const struct diag_line *line)
{
    size_t n = 0;

    while (n < line->length && n < 200 &&
           (isalnum((unsigned char)line->text[n]) || line->text[n] == '_' || line->text[n] == '.'))
        n++;
    return n == 0 || n == 200 || (n < line->length && line->text[n] != ':') ? 0 : n;
}

/* A name that ends like the name of an exception. NCCL's codes look so and follow one. */
static bool is_exception(const struct diag_line *line)
{
    static const char *const ends[] = {
        "Error", "Exception", "Interrupt", "Exit", "Timeout", "Found", "Failure", "Value",
    };
    size_t n = name_length(line);

    if (n == 0 || strncmp(line->text, "nccl", 4) == 0)
        return false;
    for (size_t i = 0; i < SW_COUNT(ends); i++) {
        size_t tail = strlen(ends[i]);

        if (n > tail && strncmp(line->text + n - tail, ends[i], tail) == 0)
            return true;
    }
    return false;
}

/* A traceback that is being read, from its header on. */
struct traceback_reading {
    size_t from;
    int rank;
    bool inside, linked, ignored;
};

/* Is this line the exception that ends the traceback? */
static bool ends_traceback(struct traceback_reading *now, const struct diag_line *line)
{
    if (!now->inside || line->rank != now->rank || isspace((unsigned char)line->text[0]))
        return false;
    now->inside = false;
    return name_length(line) > 0;
}

static void hush(struct diag_log *log, size_t from, size_t to, int rank)
{
    for (size_t i = from; i <= to; i++)
        log->lines[i].launcher |= log->lines[i].rank == rank;
}

static void take_line(struct diag_log *log, size_t i, struct traceback_reading *now)
{
    struct diag_line *line = &log->lines[i];
    bool ends, known = is_exception(line);

    if (diag_pattern_match("^Exception ignored in", line->text, line->length))
        now->ignored = true;
    else if (diag_matches_any(links, SW_COUNT(links), line))
        now->linked = true;
    if (diag_matches_any(headers, SW_COUNT(headers), line)) {
        now->inside = true;
        now->from = i;
        now->rank = line->rank;
        return;
    }
    ends = ends_traceback(now, line);
    if (line->noise || (!ends && !known))
        return;
    if (diag_matches_any(wrappers, SW_COUNT(wrappers), line)) {
        hush(log, ends ? now->from : i, i, line->rank);
        return;
    }
    if (now->ignored) {
        now->ignored = false;
        return;
    }
    for (size_t k = 0; k < i && !now->linked; k++)
        log->lines[k].exception = false;
    line->exception = true;
    now->linked = false;
}

void diag_mark_exceptions(struct diag_log *log)
{
    struct traceback_reading now = { 0 };

    for (size_t i = 0; i < log->count; i++)
        take_line(log, i, &now);
}
