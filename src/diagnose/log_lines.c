/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_lines.c - the end of a log as lines that rules can be held against.
 *
 * Launchers and clocks write labels in front of what a program said ("[rank0]: ", "3: ",
 * "2026-05-21T22:50:54Z "), so labels are taken off first: only then does "at the start of the
 * line" mean anything. Lines of ranks other than the one torchrun names as root cause are noise:
 * their errors are echoes of the first.
 *
 * Pure: no I/O. Everything is bounded before it is allocated (diagnose_internal.h).
 */
#include "diagnose/diagnose_internal.h"

#include <ctype.h>
#include <string.h>

#include "core/report.h"

/* Lines that hold words of failure and mean nothing. */
static const char *const noise[] = {
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "NCCL_ASYNC_ERROR_HANDLING",
    "NCCL INFO ",
    "Exception ignored in: ",
    "^+ ", "^++ ",                      /* sh -x shows the command, not its outcome */
    "^export ",
    "^declare -x ",
    "'/tmp/pymp-",                      /* workers tidying up after the main process died */
    "multiprocessing/resource_tracker.py",
    "#%|*| #/# [", "#it [#:#",          /* a bar of tqdm, whatever it counts */
    " torch/distributed/run.py:#] ",
    " torch/distributed/elastic/*.py:#] ",
};

/* What launchers add about a program that failed. Rules may read it; it is not shown as last words. */
static const char *const launchers[] = {
    "^srun: ", "^slurmstepd: ", "^slurmstepd-", "^Terminated$",
    "^  *+-----------", "^===============", "^---------------", "^Failures:$", "^  time      : ",
    "^  host      : ", "^  rank      : ", "^  exitcode  : ", "^  error_file: ", "^  traceback : ", "^[#]:$",
    "^*.py FAILED$",
    "^Root Cause (first observed failure):$",
};

bool diag_matches_any(const char *const *patterns, size_t count, const struct diag_line *line)
{
    for (size_t i = 0; i < count; i++) {
        if (diag_pattern_match(patterns[i], line->text, line->length))
            return true;
    }
    return false;
}

/* ---- labels --------------------------------------------------------------------------- */

static size_t digits(const char *text, size_t left)
{
    size_t n = 0;

    while (n < left && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
}

/* ESC [ ... letter */
static size_t colour_label(const struct diag_line *line)
{
    size_t n = 2;

    if (line->length < 3 || line->text[0] != '\033' || line->text[1] != '[')
        return 0;
    while (n < line->length && n < 16 && !isalpha((unsigned char)line->text[n]))
        n++;
    return n < line->length ? n + 1 : 0;
}

/* "[rank3]: " (PyTorch), "[default3]:" (torchrun), "[1,3]<stderr>:" (mpirun) */
static size_t rank_label(const struct diag_line *line, int *rank)
{
    static const char *const begins[] = { "[rank", "[default", "[1," };

    for (size_t i = 0; i < SW_COUNT(begins); i++) {
        size_t at = strlen(begins[i]), n;

        if (line->length < at || strncmp(line->text, begins[i], at) != 0)
            continue;
        n = digits(line->text + at, line->length - at);
        if (n == 0 || n > 6 || at + n >= line->length || line->text[at + n] != ']')
            return 0;
        *rank = 0;
        for (size_t d = 0; d < n; d++)
            *rank = *rank * 10 + (line->text[at + d] - '0');
        at += n + 1;
        if (line->length - at > 8 && (strncmp(line->text + at, "<stderr>", 8) == 0 ||
                                      strncmp(line->text + at, "<stdout>", 8) == 0))
            at += 8;
        if (at < line->length && line->text[at] == ':')
            at++;
        return at < line->length && line->text[at] == ' ' ? at + 1 : at;
    }
    return 0;
}

/* "3: " (srun --label) */
static size_t task_label(const struct diag_line *line)
{
    size_t n = digits(line->text, line->length);

    return n > 0 && n <= 5 && n + 1 < line->length && line->text[n] == ':' &&
           line->text[n + 1] == ' ' ? n + 2 : 0;
}

/* "2026-05-21T22:50:54.123Z ", "[2026-05-21 22:50:54,123] " */
static size_t clock_label(const struct diag_line *line)
{
    static const char form[] = "dddd-dd-dd?dd:dd:dd";
    size_t at = line->length > 0 && line->text[0] == '[', begin = at;

    for (size_t i = 0; form[i]; i++, at++) {
        if (at >= line->length || (form[i] == 'd' && !isdigit((unsigned char)line->text[at])) ||
            (form[i] != 'd' && form[i] != '?' && line->text[at] != form[i]))
            return 0;
    }
    while (at < line->length && at < 48 &&
           (isalnum((unsigned char)line->text[at]) || strchr(".,:+-", line->text[at])) &&
           line->text[at])
        at++;
    if (begin && at < line->length && line->text[at] == ']')
        at++;
    return at < line->length && line->text[at] == ' ' ? at + 1 : 0;
}

/* "  | ", "    | ": the margin of Python's exception groups */
static size_t group_label(const struct diag_line *line)
{
    size_t n = 0;

    while (n < line->length && line->text[n] == ' ')
        n++;
    return n >= 2 && n + 1 < line->length && line->text[n] == '|' && line->text[n + 1] == ' ' ? n + 2 : 0;
}

static void take_labels(struct diag_line *line)
{
    for (int round = 0; round < 6; round++) {
        size_t n = colour_label(line);

        n = n ? n : rank_label(line, &line->rank);
        n = n ? n : clock_label(line);
        n = n ? n : task_label(line);
        n = n ? n : group_label(line);
        if (n == 0)
            return;
        line->text += n;
        line->length -= n;
    }
}

/* ---- whose lines ------------------------------------------------------------------------- */

/* torchrun's summary: "Root Cause (first observed failure):", then "  rank      : 3 (local...". */
static int root_cause_rank(const struct diag_log *log)
{
    bool inside = false;

    for (size_t i = 0; i < log->count; i++) {
        const struct diag_line *line = &log->lines[i];
        const char *colon;

        if (diag_pattern_match("^Root Cause (first observed failure):", line->text, line->length))
            inside = true;
        if (!inside || !diag_pattern_match("^  rank *: # (local_rank:", line->text, line->length))
            continue;
        colon = memchr(line->text, ':', line->length);
        return (int)strtol(colon + 1, NULL, 10);    /* the pattern promised digits and a '(' */
    }
    return -1;
}

static void hush_other_ranks(struct diag_log *log)
{
    int root = log->root_rank = root_cause_rank(log);
    bool heard = false;

    for (size_t i = 0; i < log->count; i++)
        heard |= root >= 0 && log->lines[i].rank == root;
    for (size_t i = 0; i < log->count && heard; i++)
        log->lines[i].noise |= log->lines[i].rank >= 0 && log->lines[i].rank != root;
}

/* ---- lines --------------------------------------------------------------------------------- */

static struct diag_line line_of(const char *text, size_t length)
{
    struct diag_line line = { .text = text, .rank = -1 };

    while (length > 0 && isspace((unsigned char)text[length - 1]))
        length--;
    line.length = length > DIAG_LINE_BYTES ? DIAG_LINE_BYTES : length;
    take_labels(&line);
    line.noise = diag_matches_any(noise, SW_COUNT(noise), &line);
    line.launcher = diag_matches_any(launchers, SW_COUNT(launchers), &line);
    return line;
}

static const char *start_of_tail(const char *tail, size_t length)
{
    const char *start = tail, *newline;

    if (length <= DIAG_TAIL_BYTES)
        return tail;
    start = tail + length - DIAG_TAIL_BYTES;
    newline = memchr(start, '\n', DIAG_TAIL_BYTES);
    return newline ? newline + 1 : start;     /* half a line has no start to look at */
}

/* Its words are for programs, and in the facts already. */
static bool is_report(const char *begin, const char *end)
{
    size_t start = strlen(SW_REPORT_START);

    return (size_t)(end - begin) > start && memcmp(begin, SW_REPORT_START, start) == 0;
}

void diag_log_read(struct diag_log *log, const char *tail)
{
    const char *text = tail ? tail : "";
    size_t length = strlen(text), room = DIAG_LINES;
    const char *start = start_of_tail(text, length), *end = text + length;

    *log = (struct diag_log){ .lines = sw_alloc((DIAG_LINES + 1) * sizeof *log->lines) };
    while (room > 0 && end > start) {           /* newest first, then moved to the front */
        const char *begin = end;
        struct diag_line line;

        while (begin > start && begin[-1] != '\n' && begin[-1] != '\r')
            begin--;
        line = line_of(begin, (size_t)(end - begin));
        if (line.length > 0 && !is_report(begin, end))
            log->lines[--room] = line;
        end = begin > start ? begin - 1 : start;
    }
    log->count = DIAG_LINES - room;
    memmove(log->lines, log->lines + room, log->count * sizeof *log->lines);
    hush_other_ranks(log);
    diag_mark_exceptions(log);
}

void diag_log_add(struct diag_log *log, const char *text)
{
    struct diag_line line = line_of(text, strlen(text));

    /* There is room for one more than is read. */
    if (line.length > 0 && log->count <= DIAG_LINES)
        log->lines[log->count++] = line;
}

void diag_log_done(struct diag_log *log)
{
    free(log->lines);
    log->lines = NULL;
    log->count = 0;
}
