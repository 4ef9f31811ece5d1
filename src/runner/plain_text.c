/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain_text.c - any bytes as UTF-8 text with plain line ends, piece by piece.
 *
 * For a log that its keeper reads as text: one stray byte would make all of it unreadable there. A carriage
 * return becomes the end of a line, with or without a newline behind it; what is no UTF-8 becomes U+FFFD.
 * The result does not depend on where the pieces are cut. Pure.
 */
#include "runner/runner.h"

#include <string.h>

static const char replacement[] = "\xef\xbf\xbd";

/* How many bytes a character has that begins so; 0: none begins so. */
static size_t length_of(unsigned char first)
{
    return first < 0x80 ? 1 : first >= 0xc2 && first <= 0xdf ? 2 : (first & 0xf0) == 0xe0 ? 3
           : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* May this byte follow? The first one decides about the second: no long forms, no surrogates, nothing above
 * U+10FFFF. */
static bool may_follow(const struct runner_plain_text *text, unsigned char c)
{
    unsigned char first = text->held[0], least = 0x80, most = 0xbf;

    if (text->length == 1) {
        least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : least;
        most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : most;
    }
    return c >= least && c <= most;
}

static void add_ascii(struct runner_plain_text *text, unsigned char c, struct sw_buf *out)
{
    if (c == '\r')
        sw_buf_add_char(out, '\n');
    else if (c != '\n' || !text->after_cr)
        sw_buf_add_char(out, (char)c);
    text->after_cr = c == '\r';
}

static void begin(struct runner_plain_text *text, unsigned char c, struct sw_buf *out)
{
    text->needs = length_of(c);
    if (text->needs == 1) {
        add_ascii(text, c, out);
        return;
    }
    text->after_cr = false;
    if (text->needs == 0) {
        sw_buf_add(out, replacement);
        return;
    }
    text->held[0] = c;
    text->length = 1;
}

void runner_plain_text(struct runner_plain_text *text, const char *bytes, size_t length, struct sw_buf *out)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (text->length && may_follow(text, c)) {
            text->held[text->length++] = c;
            if (text->length == text->needs) {
                sw_buf_add_bytes(out, (const char *)text->held, text->length);
                text->length = 0;
            }
            continue;
        }
        runner_plain_text_end(text, out);
        begin(text, c, out);
    }
}

void runner_plain_text_end(struct runner_plain_text *text, struct sw_buf *out)
{
    if (text->length)
        sw_buf_add(out, replacement);
    text->length = 0;
}
