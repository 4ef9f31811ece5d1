/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problems.c - everything that is wrong with a job, reported together.
 *
 * A user who fixes one key and then hears of the next one has been made to wait twice. So each
 * problem becomes a line "file:line:column: why", and the error lists them all. The list is
 * bounded: struct sw_error has a fixed size, and a thousand complaints have one cause anyway.
 */
#include "spec/spec_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define SHOWN_MAX 60             /* bytes of a user's word inside a message */
#define LINE_MAX_BYTES 400

void spec_problems_done(struct spec_problems *problems)
{
    sw_buf_done(&problems->lines);
}

void spec_problem(struct spec_problems *problems, const char *where, const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;

    if (problems->count++ >= SPEC_PROBLEMS_SHOWN)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    sw_buf_addf(&problems->lines, "%s%s%s%s", problems->count > 1 ? "\n" : "",
                where ? where : "", where ? ": " : "", line);
}

int spec_problems_report(const struct spec_problems *problems, struct sw_error *err)
{
    if (problems->count == 0)
        return 0;
    if (problems->count > SPEC_PROBLEMS_SHOWN)
        sw_fail(err, SW_E_SPEC, "%s\n... and %zu more", sw_buf_text(&problems->lines),
                problems->count - SPEC_PROBLEMS_SHOWN);
    else
        sw_fail(err, SW_E_SPEC, "%s", sw_buf_text(&problems->lines));
    return spec_hint_help(problems->key, err);
}

int spec_hint_help(const char *key, struct sw_error *err)
{
    if (*key)
        return sw_hint(err, "'slipway help job %s' explains the key", key);
    return sw_hint(err, "'slipway help job' lists the keys, 'slipway help job KEY' explains one");
}

char *spec_shown(const char *text)
{
    size_t length = strlen(text);
    bool cut = length > SHOWN_MAX;
    sw_autofree char *shown = NULL;

    if (cut)
        for (length = SHOWN_MAX; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
            length--;                      /* never inside a UTF-8 character */
    shown = sw_text_printable(text, length);
    for (char *at = shown; *at; at++)
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
    return sw_format("%s%s", shown, cut ? "..." : "");
}

char *spec_did_you_mean(const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = sw_text_nearest(word, candidates, count);

    return nearest ? sw_format(" (did you mean '%s'?)", nearest) : sw_strdup("");
}
