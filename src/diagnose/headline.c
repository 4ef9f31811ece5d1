/* SPDX-License-Identifier: Apache-2.0 */
/*
 * headline.c - what happened, in one sentence: "KeyError: 'x'; rank 1, exit code 1".
 *
 * A platform that knows a cause (memory, time, an input that is missing) has said it. Otherwise the program
 * has: the exception that ended it, what a crashed C++, Go or Rust program prints, what its shell says; else
 * the line that a rule decided by. A signal that comes from outside (9, 15, 2) has nothing to do with an
 * exception that the program survived, so only the very end of the log counts then.
 *
 * A file of its own, so that the runner, which judges with the same rules, does not carry it.
 *
 * Pure: no I/O.
 */
#include "diagnose/diagnose_internal.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "core/observation.h"

enum {
    SENTENCE_BYTES = 190,     /* with rank and code it has to fit struct sw_observation's message */
    SENTENCE_LEAST = 60,      /* a sentence is not cut at a full stop before this */
    NEXT_LINES = 4,           /* where NCCL's "Last error:" is, after its exception */
};

/* ---- other last words ------------------------------------------------------------------------- */

#define STEPD ": error: "      /* after "slurmstepd-n1" */

enum words { WORDS_LINE, WORDS_CPP, WORDS_RUST };

static const struct {
    const char *pattern;
    enum diag_reach reach;
    enum words how;
} last_words[] = {
    { "^terminate called after throwing an instance of '*'", DIAG_EXCEPTION, WORDS_CPP },
    { "^thread '*' panicked at *:$", DIAG_EXCEPTION, WORDS_RUST },
    { "^thread '*' panicked at ", DIAG_EXCEPTION, WORDS_LINE },
    { "^panic: ", DIAG_EXCEPTION, WORDS_LINE },
    { "^fatal error: ", DIAG_EXCEPTION, WORDS_LINE },
    { "^Fatal Python error: ", DIAG_EXCEPTION, WORDS_LINE },
    { "^Segmentation fault", DIAG_AT_END, WORDS_LINE },
    { ": line #: *# Segmentation fault", DIAG_AT_END, WORDS_LINE },
    { ": line #: *# Killed", DIAG_AT_END, WORDS_LINE },
    { ": line #: *# Aborted", DIAG_AT_END, WORDS_LINE },
    { ": line #: *# Bus error", DIAG_AT_END, WORDS_LINE },
    { ": line #: *# Illegal instruction", DIAG_AT_END, WORDS_LINE },
    { "^Aborted (core dumped)", DIAG_AT_END, WORDS_LINE },
    { "^Bus error", DIAG_AT_END, WORDS_LINE },
    { "^Illegal instruction", DIAG_AT_END, WORDS_LINE },
    { ": command not found$", DIAG_AT_END, WORDS_LINE },
    { ": not found$", DIAG_AT_END, WORDS_LINE },
    { "executable file not found in $PATH", DIAG_AT_END, WORDS_LINE },
    { ": No such file or directory$", DIAG_AT_END, WORDS_LINE },
    { ": Permission denied$", DIAG_AT_END, WORDS_LINE },
    { ": error: ", DIAG_AT_END, WORDS_LINE },
    { "^Error: ", DIAG_AT_END, WORDS_LINE },
};

static const struct diag_line *line_at(const struct diag_log *log, size_t i)
{
    return i < log->count ? &log->lines[i] : NULL;
}

static bool begins(const struct diag_line *line, const char *start)
{
    return line && line->length >= strlen(start) && strncmp(line->text, start, strlen(start)) == 0;
}

static void add_line(struct sw_buf *out, const struct diag_line *line, size_t from)
{
    static const char *const labels[] = { "  traceback : ", "slipway: " };    /* torchrun, runner */

    for (size_t i = 0; i < SW_COUNT(labels) && from == 0; i++)
        from = begins(line, labels[i]) ? strlen(labels[i]) : 0;
    if (begins(line, "slurmstepd") && memmem(line->text, line->length, STEPD, strlen(STEPD)))
        from = (size_t)((const char *)memmem(line->text, line->length, STEPD, strlen(STEPD)) - line->text) +
               strlen(STEPD);
    while (from < line->length && isspace((unsigned char)line->text[from]))
        from++;
    sw_buf_add_bytes(out, line->text + from, line->length - from);
}

/* "c10::Error: CUDA error: ..." out of "terminate called ... of 'c10::Error'" and "  what():  ...". */
static void add_cpp(struct sw_buf *out, const struct diag_log *log, size_t i)
{
    const struct diag_line *line = line_at(log, i), *what = line_at(log, i + 1);
    const char *quote = memchr(line->text, '\'', line->length);
    size_t at = quote ? (size_t)(quote - line->text) + 1 : line->length;

    while (at < line->length && line->text[at] != '\'')
        sw_buf_add_char(out, line->text[at++]);
    if (begins(what, "  what():  ")) {
        sw_buf_add(out, ": ");
        add_line(out, what, strlen("  what():  "));
    }
}

static void add_words(struct sw_buf *out, const struct diag_log *log, size_t i, enum words how)
{
    if (how == WORDS_CPP) {
        add_cpp(out, log, i);
        return;
    }
    add_line(out, &log->lines[i], 0);
    if (how == WORDS_RUST && line_at(log, i + 1)) {
        sw_buf_add_char(out, ' ');
        add_line(out, line_at(log, i + 1), 0);
    }
}

/* ---- exceptions ------------------------------------------------------------------------------- */

static bool is_underline(const struct diag_line *line)
{
    for (size_t i = 0; i < line->length; i++)
        if (!strchr(" ^~", line->text[i]))
            return false;
    return true;
}

/* "AssertionError" alone says little: the source line before it says what was asserted. */
static void add_source(struct sw_buf *out, const struct diag_log *log, size_t i)
{
    while (i > 0 && is_underline(&log->lines[i - 1]))
        i--;
    if (i > 0 && begins(&log->lines[i - 1], "    ")) {
        sw_buf_add(out, " at `");
        add_line(out, &log->lines[i - 1], 0);
        sw_buf_add_char(out, '`');
    }
}

/* NCCL's exception says little, its "Last error:" does. */
static bool add_nccl(struct sw_buf *out, const struct diag_log *log, size_t i)
{
    const struct diag_line *line = &log->lines[i];
    const char *colon = memchr(line->text, ':', line->length);

    if (!colon || !diag_pattern_match("NCCL error", line->text, line->length))
        return false;
    for (size_t k = i + 1; k < i + NEXT_LINES && line_at(log, k + 1); k++) {
        if (!begins(&log->lines[k], "Last error:"))
            continue;
        sw_buf_add_bytes(out, line->text, (size_t)(colon - line->text));
        sw_buf_add(out, ": ");
        add_line(out, &log->lines[k + 1], 0);
        return true;
    }
    return false;
}

static void add_exception(struct sw_buf *out, const struct diag_log *log, size_t i)
{
    const struct diag_line *line = &log->lines[i];

    if (add_nccl(out, log, i))
        return;
    add_line(out, line, 0);
    if (!memchr(line->text, ':', line->length))
        add_source(out, log, i);
    for (size_t k = i + 1; line_at(log, k) && log->lines[k].rank == line->rank && !log->lines[k].launcher &&
         !log->lines[k].noise && isspace((unsigned char)log->lines[k].text[0]) &&
         out->length < SENTENCE_BYTES; k++) {
        sw_buf_add_char(out, ' ');
        add_line(out, &log->lines[k], 0);
    }
}

/* The first of the chain, which the last came from. */
static void add_origin(struct sw_buf *out, const struct diag_log *log, size_t last)
{
    sw_auto(sw_buf) struct sw_buf origin = SW_BUF_INIT;

    for (size_t i = 0; i < last; i++) {
        if (!log->lines[i].exception)
            continue;
        add_exception(&origin, log, i);
        if (out->length + origin.length < SENTENCE_BYTES)
            sw_buf_addf(out, " (from %s)", sw_buf_text(&origin));
        return;
    }
}

/* ---- which line it is ------------------------------------------------------------------------- */

struct choice {
    size_t line;              /* log->count: none */
    bool exception;
    enum words how;
};

static bool from_outside(int signal)
{
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT;
}

static size_t reach_of(const struct diag_log *log, enum diag_reach reach, int signal)
{
    return diag_first_of_last(log, diag_reach_lines(from_outside(signal) ? DIAG_AT_END : reach));
}

static struct choice choose(const struct diag_log *log, int signal)
{
    struct choice choice = { .line = log->count };
    const size_t from[] = { [DIAG_AT_END] = reach_of(log, DIAG_AT_END, signal),
                            [DIAG_EXCEPTION] = reach_of(log, DIAG_EXCEPTION, signal) };

    for (size_t i = log->count; i-- > from[DIAG_EXCEPTION] && !choice.exception;) {
        if (!log->lines[i].noise && log->lines[i].exception)
            choice = (struct choice){ .line = i, .exception = true };
    }
    for (size_t w = 0; w < SW_COUNT(last_words); w++) {
        for (size_t i = log->count; i-- > from[last_words[w].reach];) {
            const struct diag_line *line = &log->lines[i];

            if (line->noise || line->launcher ||
                !diag_pattern_match(last_words[w].pattern, line->text, line->length))
                continue;
            /* What a library says while the interpreter ends is an echo of the exception. */
            if (choice.line == log->count || (i > choice.line && last_words[w].how != WORDS_CPP))
                choice = (struct choice){ .line = i, .how = last_words[w].how };
            break;
        }
    }
    return choice;
}

static const struct diag_log_rule *rule_of(const json_t *verdict)
{
    const char *name = sw_json_str(verdict, "rule");

    for (size_t i = 0; i < diag_log_rule_count; i++)
        if (sw_text_same(diag_log_rules[i].ruling.name, name))
            return &diag_log_rules[i];
    return NULL;
}

/* The last line that the rule fits, by the first of its patterns that any line has: the more specific ones
 * come first. log->count: none. */
static size_t line_of_rule(const struct diag_log *log, const struct diag_log_rule *rule, int signal)
{
    size_t from = !rule ? log->count
                  : rule->reach == DIAG_ANYWHERE ? 0 : reach_of(log, rule->reach, signal);

    for (size_t p = 0; rule && p < DIAG_PATTERNS && rule->patterns[p]; p++)
        for (size_t i = log->count; i-- > from;)
            if (diag_pattern_match(rule->patterns[p], log->lines[i].text, log->lines[i].length) &&
                diag_log_rule_fits(rule, &log->lines[i]))
                return i;
    return log->count;
}

/* Broken hardware explains what the program made of it. The rank whose line it is, or -1. */
static int add_sentence(struct sw_buf *out, const struct diag_log *log, const json_t *verdict, int signal)
{
    const struct diag_log_rule *rule = rule_of(verdict);
    size_t by_rule = line_of_rule(log, rule, signal);
    struct choice choice = choose(log, signal);

    if (by_rule < log->count && (rule->reach == DIAG_ANYWHERE || choice.line == log->count)) {
        add_line(out, &log->lines[by_rule], 0);
        return log->lines[by_rule].rank;
    }
    if (choice.line == log->count)
        return -1;
    if (choice.exception) {
        add_exception(out, log, choice.line);
        add_origin(out, log, choice.line);
    } else {
        add_words(out, log, choice.line, choice.how);
    }
    return log->lines[choice.line].rank;
}

/* ---- the headline ------------------------------------------------------------------------------- */

/* Reasons that only say that it ended: the log knows more. */
static bool is_bare(const char *reason)
{
    return !*reason || strcmp(reason, SW_REASON_EXIT) == 0 || strcmp(reason, SW_REASON_SIGNAL) == 0;
}

/* One line, and harmless. Owned. */
static char *one_line(const char *raw, size_t length)
{
    char *text = sw_text_printable(raw, length < DIAG_LINE_BYTES ? length : DIAG_LINE_BYTES);

    for (char *at = text; *at; at++)
        if (isspace((unsigned char)*at))
            *at = ' ';
    return text;
}

/* And not longer than fits; cut after a sentence where there is one. */
static char *tidy(const struct sw_buf *raw)
{
    char *text = one_line(sw_buf_text(raw), raw->length);
    size_t keep = SENTENCE_BYTES - 3;

    if (strlen(text) <= SENTENCE_BYTES)
        return text;
    for (size_t i = keep; i > SENTENCE_LEAST; i--)
        if (text[i - 1] == '.' && text[i] == ' ') {
            text[i] = '\0';
            return text;
        }
    while (keep > 0 && ((unsigned char)text[keep] & 0xc0) == 0x80)
        keep--;                                        /* not in the middle of a character */
    strcpy(text + keep, "...");
    return text;
}

/* "rank 1, exit code 1" */
static void add_end(struct sw_buf *out, const struct sw_evidence *evidence, int rank)
{
    if (rank >= 0)
        sw_buf_addf(out, "%s %d", diag_fact_set(evidence->facts, "array") ? "task" : "rank", rank);
    if (evidence->signal)
        sw_buf_addf(out, "%ssignal %d", out->length ? ", " : "", evidence->signal);
    else if (evidence->exit_code != SW_NO_EXIT_CODE)
        sw_buf_addf(out, "%sexit code %d", out->length ? ", " : "", evidence->exit_code);
}

/* What the platform said, where the log says nothing. */
static char *without_log(const struct sw_evidence *evidence, const char *end, bool silent)
{
    const char *told = evidence->message[0] ? evidence->message : *end ? end : "it failed";
    sw_autofree char *clean = one_line(told, strlen(told));

    return sw_format("%s%s", clean, silent ? "; the job wrote nothing to its log" : "");
}

char *sw_diagnose_headline(const struct sw_evidence *evidence, const json_t *verdict, bool *from_log)
{
    sw_auto(diag_log) struct diag_log log = { 0 };
    sw_auto(sw_buf) struct sw_buf sentence = SW_BUF_INIT, end = SW_BUF_INIT;
    sw_autofree char *clean = NULL;
    int rank = -1;

    *from_log = false;
    if (evidence->state != SW_ERROR)
        return NULL;
    diag_log_read(&log, evidence->log_tail);
    if (is_bare(evidence->reason))
        rank = add_sentence(&sentence, &log, verdict, diag_signal_of(evidence));
    if (rank < 0)
        rank = log.root_rank >= 0 ? log.root_rank : evidence->failed_replica;
    add_end(&end, evidence, rank);
    *from_log = sentence.length > 0;
    if (sentence.length == 0)
        return without_log(evidence, sw_buf_text(&end),
                           is_bare(evidence->reason) && evidence->log_tail && diag_log_is_silent(&log));
    clean = tidy(&sentence);
    return end.length ? sw_format("%s; %s", clean, sw_buf_text(&end)) : sw_take(clean);
}
