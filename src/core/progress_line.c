/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_line.c - what one line of a log says about progress.
 *
 * Three kinds of lines are understood: a word with a number ("Epoch [3/10]", "step=120"), the bar
 * of tqdm ("Epoch 3:  45%|####  | 45/100 [00:12<00:15, 3.5it/s]"), and the bar of Keras
 * ("45/100 [====>....]"). Everything else, above all "12/25" and paths, is left alone: a wrong
 * bar is worse than none. So a bar counts only when its title is empty or speaks of training
 * (downloads and validation have bars too), and a bare "step 3" only in the company of a loss.
 *
 * Pure: no I/O, no allocation. One pass, no going back by more than a word.
 */
#include "core/progress_internal.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"

enum { MOST_LINE = 4096, MOST_DIGITS = 12, NEARBY = 200 };
#define MOST_EPOCH INT64_C(10000000)      /* "epoch 1716300000" is a time */

struct cursor {
    const char *at, *end;
};

static size_t left(struct cursor c)
{
    return (size_t)(c.end - c.at);
}

static char peek(struct cursor c, size_t ahead)
{
    return ahead < left(c) ? c.at[ahead] : '\0';
}

static void skip_blanks(struct cursor *c)
{
    while (peek(*c, 0) == ' ' || peek(*c, 0) == '\t')
        c->at++;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static bool take_number(struct cursor *c, int64_t *value)
{
    int64_t n = 0;
    size_t digits = 0;

    while (isdigit((unsigned char)peek(*c, digits)) && digits <= MOST_DIGITS) {
        n = n * 10 + (c->at[digits] - '0');
        digits++;
    }
    if (digits == 0 || digits > MOST_DIGITS)
        return false;
    c->at += digits;
    *value = n;
    return true;
}

/* ".23" after a whole number. */
static void take_part(struct cursor *c, double *part, bool *has_part)
{
    double unit = 0.1;

    if (peek(*c, 0) != '.' || !isdigit((unsigned char)peek(*c, 1)))
        return;
    for (c->at++; isdigit((unsigned char)peek(*c, 0)); c->at++, unit /= 10)
        *part += (peek(*c, 0) - '0') * unit;
    *has_part = true;
}

/* "/ 10" or " of 10" after a number. */
static bool take_total(struct cursor *c, int64_t *total)
{
    struct cursor try = *c;

    skip_blanks(&try);
    if (peek(try, 0) == '/')
        try.at++;
    else if (try.at > c->at && left(try) > 3 && strncmp(try.at, "of ", 3) == 0)
        try.at += 3;
    else
        return false;
    skip_blanks(&try);
    if (!take_number(&try, total))
        return false;
    *c = try;
    return true;
}

/* Nothing follows that would make the number part of a date, a version, a path or a unit. */
static bool number_ends(struct cursor c)
{
    char next = peek(c, 0);

    if (isalnum((unsigned char)next) || next == '_' || next == '/' || next == '%')
        return false;
    return !((next == '-' || next == '.' || next == ':') && isdigit((unsigned char)peek(c, 1)));
}

/* "45/100", both whole, the first not above the second. */
static bool take_of(struct cursor *c, int64_t *done, int64_t *total)
{
    struct cursor try = *c;
    int64_t n, of;

    skip_blanks(&try);
    if (!take_number(&try, &n) || !take_total(&try, &of) || of < 1 || n > of || !number_ends(try))
        return false;
    *done = n;
    *total = of;
    *c = try;
    return true;
}

/* ---- words --------------------------------------------------------------------------------- */

static bool has_word(const char *text, const char *end, const char *word)
{
    size_t length = strlen(word);

    for (; (size_t)(end - text) >= length; text++) {
        if (strncasecmp(text, word, length) == 0)
            return true;
    }
    return false;
}

static bool speaks_of_training(struct cursor c)
{
    const char *end = left(c) > NEARBY ? c.at + NEARBY : c.end;

    return has_word(c.at, end, "loss") || has_word(c.at, end, "lr");
}

/* "from epoch 3", "best epoch: 7": not where the training is. */
static bool is_about_another(const char *begin, const char *word)
{
    static const char *const before[] = {
        "best", "from", "until", "every", "last", "to", "max", "before", "per", "total",
    };
    const char *end = word;

    while (end > begin && (end[-1] == ' ' || end[-1] == '(' || end[-1] == '['))
        end--;
    for (size_t i = 0; i < SW_COUNT(before); i++) {
        size_t length = strlen(before[i]);
        const char *start = end - length;

        if ((size_t)(end - begin) >= length && strncasecmp(start, before[i], length) == 0 &&
            (start == begin || !isalnum((unsigned char)start[-1])))
            return true;
    }
    return has_word(begin, word, "best ");
}

/* ":", " = ", " [", "': ": what may stand between the word and its number. */
static bool take_separators(struct cursor *c, bool *explicit)
{
    const char *begin = c->at;

    while (left(*c) > 0 && strchr(" \t:=[(#'\"", *c->at) && *c->at && c->at - begin < 12) {
        *explicit |= *c->at == ':' || *c->at == '=';
        c->at++;
    }
    return c->at > begin;
}

/* "Epoch(train) [1][ 50/937]": mmengine names the phase; others than train do not count. */
static bool take_phase(struct cursor *c)
{
    if (peek(*c, 0) != '(' || !isalpha((unsigned char)peek(*c, 1)))
        return true;
    if (left(*c) < 7 || strncmp(c->at, "(train)", 7) != 0)
        return false;
    c->at += 7;
    return true;
}

static bool read_epoch(const char *begin, struct cursor c, struct sw_progress_line *out)
{
    struct sw_progress_line got = { .epoch = -1, .step = -1 };
    const char *word = c.at - strlen("epoch");
    bool explicit = false;

    if (!take_phase(&c) || !take_separators(&c, &explicit) || !take_number(&c, &got.epoch))
        return false;
    take_part(&c, &got.epoch_part, &got.epoch_has_part);
    if (take_total(&c, &got.epochs) && (got.epochs < 1 || got.epoch > got.epochs))
        return false;
    if (!number_ends(c) || got.epoch > MOST_EPOCH || got.epochs > MOST_EPOCH ||
        is_about_another(begin, word))
        return false;
    if (peek(c, 0) == ']')
        c.at++;
    skip_blanks(&c);
    if (peek(c, 0) == '[') {     /* "Epoch: [3]  [ 40/200]", "Epoch: 3 [640/60000 (1%)]" */
        c.at++;
        take_of(&c, &got.step, &got.steps);
    }
    out->epoch = got.epoch;
    out->epochs = got.epochs;
    out->epoch_part = got.epoch_part;
    out->epoch_has_part = got.epoch_has_part;
    if (got.step >= 0) {
        out->step = got.step;
        out->steps = got.steps;
    }
    return true;
}

/* A number without a total needs company, or every "Step 1: install" would count. */
static bool lone_step_counts(struct cursor after, bool explicit)
{
    char next = peek(after, 0);

    if (speaks_of_training(after))
        return true;
    if (next == ':' || next == '.')
        return false;
    if (explicit)
        return true;
    skip_blanks(&after);
    return left(after) == 0;
}

static bool read_step(struct cursor c, bool total_needed, struct sw_progress_line *out)
{
    bool explicit = false;
    int64_t step, steps = 0;

    if (!take_separators(&c, &explicit) || !take_number(&c, &step))
        return false;
    take_total(&c, &steps);
    if (!number_ends(c) || (steps > 0 && step > steps))
        return false;
    if (steps == 0 && (total_needed || !lone_step_counts(c, explicit)))
        return false;
    if (steps > 0 && left(c) >= 3 && strncmp(c.at, " : ", 3) == 0)
        return false;                         /* docker build: "Step 2/7 : RUN ..." */
    if (out->step >= 0 && (out->steps > 0 || steps == 0))
        return true;                          /* the first one with a total is the better one */
    out->step = step;
    out->steps = steps;
    return true;
}

static const struct progress_word {
    const char *word;
    bool epoch, total_needed;
} words[] = {
    { "epoch", true, false },      { "step", false, false },  { "global_step", false, false },
    { "iteration", false, false }, { "iter", false, false },  { "batch", false, true },
};

/* Most bytes of a log stop here. */
static bool word_may_start(const char *begin, const char *at)
{
    switch (*at | 0x20) {
    case 'e': case 's': case 'g': case 'i': case 'b':
        break;
    default:
        return false;
    }
    return at == begin || (!isalnum((unsigned char)at[-1]) && !strchr("_-/.\\", at[-1]));
}

static void read_words(struct cursor line, bool steps_too, struct sw_progress_line *out)
{
    for (const char *at = line.at; at < line.end; at++) {
        if (!word_may_start(line.at, at))
            continue;
        for (size_t i = 0; i < SW_COUNT(words); i++) {
            size_t length = strlen(words[i].word);
            struct cursor after = { at + length, line.end };

            if ((size_t)(line.end - at) <= length ||
                strncasecmp(at, words[i].word, length) != 0 ||
                isalnum((unsigned char)*after.at) || *after.at == '_' || *after.at == '-')
                continue;
            if (words[i].epoch && out->epoch < 0)
                read_epoch(line.at, after, out);
            else if (!words[i].epoch && steps_too)
                read_step(after, words[i].total_needed, out);
        }
    }
}

/* ---- bars ---------------------------------------------------------------------------------- */

/* "3.52it/s" or "1.20s/it" between the brackets. */
static double rate_in(struct cursor c)
{
    for (; left(c) >= 4; c.at++) {
        bool per_second = strncmp(c.at, "it/s", 4) == 0;
        const char *digits = c.at;
        int64_t whole;
        double part = 0;
        bool has_part = false;
        struct cursor number;

        if (!per_second && strncmp(c.at, "s/it", 4) != 0)
            continue;
        while (c.at - digits < 16 && (isdigit((unsigned char)digits[-1]) || digits[-1] == '.'))
            digits--;                         /* stops at the bracket or blank in front */
        number = (struct cursor){ digits, c.at };
        if (!take_number(&number, &whole))
            return 0;
        take_part(&number, &part, &has_part);
        part += (double)whole;
        return per_second || part == 0 ? part : 1 / part;
    }
    return 0;
}

static bool title_counts(const char *begin, const char *end)
{
    static const char *const yes[] = { "epoch", "train", "step", "iter" };
    static const char *const no[] = { "valid", "eval", "test", "sanity", "load", "predict" };

    while (end > begin && (end[-1] == ' ' || end[-1] == ':'))
        end--;
    while (begin < end && *begin == ' ')
        begin++;
    if (begin == end)
        return true;
    for (size_t i = 0; i < SW_COUNT(no); i++) {
        if (has_word(begin, end, no[i]))
            return false;
    }
    for (size_t i = 0; i < SW_COUNT(yes); i++) {
        if (has_word(begin, end, yes[i]))
            return true;
    }
    return false;
}

/* tqdm: "TITLE:  45%|####    | 45/100 [00:12<00:15, 3.52it/s, loss=0.5]". Returns whether the
 * line is a bar at all; one that does not count leaves *out alone. */
static bool read_tqdm(struct cursor line, struct sw_progress_line *out)
{
    const char *percent = memmem(line.at, left(line), "%|", 2), *title_end = percent;
    struct cursor c;

    if (!percent)
        return false;
    while (title_end > line.at && percent - title_end < 3 &&
           isdigit((unsigned char)title_end[-1]))
        title_end--;
    c = (struct cursor){ percent + 2, line.end };
    c.at = memchr(c.at, '|', left(c));
    if (!c.at || title_end == percent)
        return true;
    c.at++;
    if (!title_counts(line.at, title_end) || !take_of(&c, &out->step, &out->steps))
        return true;
    skip_blanks(&c);
    if (peek(c, 0) != '[') {
        out->step = -1;
        out->steps = 0;
        return true;
    }
    c.at++;
    out->rate = rate_in(c);
    read_words(line, false, out);
    return true;
}

/* tqdm without a total: "450it [00:12, 35.20it/s]" */
static bool read_count(struct cursor line, struct sw_progress_line *out)
{
    struct cursor c = line;
    int64_t step;

    skip_blanks(&c);
    if (!take_number(&c, &step) || left(c) < 4 || strncmp(c.at, "it [", 4) != 0)
        return false;
    c.at += 4;
    out->step = step;
    out->rate = rate_in(c);
    return true;
}

/* Keras: "45/100 [=====>....] - ETA: 5s", and since 3.0 "45/100 ━━━━ 5s 20ms/step". */
static bool read_keras(struct cursor line, struct sw_progress_line *out)
{
    struct cursor c = line;
    int64_t step, steps;

    if (!take_of(&c, &step, &steps))
        return false;
    skip_blanks(&c);
    if (peek(c, 0) == '[') {
        for (c.at++; peek(c, 0) == '=' || peek(c, 0) == '>' || peek(c, 0) == '.'; c.at++)
            ;
        if (peek(c, 0) != ']' || c.at[-1] == '[')
            return false;
    } else if (left(c) < 3 || memcmp(c.at, "\xe2\x94\x81", 3) != 0) {
        return false;
    }
    out->step = step;
    out->steps = steps;
    return true;
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Colours are no part of the words. */
static size_t without_colours(const char *text, size_t length, char *out)
{
    size_t kept = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] != '\033' || i + 1 >= length || text[i + 1] != '[') {
            out[kept++] = text[i];
            continue;
        }
        for (i += 2; i < length && !isalpha((unsigned char)text[i]); i++)
            ;
    }
    return kept;
}

bool sw_progress_read_line(const char *text, size_t length, struct sw_progress_line *out)
{
    char plain[MOST_LINE];
    struct cursor line = { text, text + (length < MOST_LINE ? length : MOST_LINE) };

    *out = (struct sw_progress_line){ .epoch = -1, .step = -1 };
    if (memchr(line.at, '\033', left(line)))
        line = (struct cursor){ plain, plain + without_colours(line.at, left(line), plain) };
    if (left(line) < 3 || (strchr("+$>", line.at[0]) && line.at[1] == ' '))
        return false;                         /* a command, not its outcome */
    if (!read_tqdm(line, out) && !read_count(line, out) && !read_keras(line, out))
        read_words(line, true, out);
    return out->epoch >= 0 || out->step >= 0;
}
