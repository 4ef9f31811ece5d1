/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_clean.c - see cli_clean.h.
 *
 * A log is untrusted text: escape sequences could retitle the window, hide lines or type commands. Of the
 * sequences that begin with ESC [ those that choose colours and weights (SGR, "ESC [ 1;31 m") pass, and the
 * others, which move the cursor and erase, are dropped. Everything else that controls a terminal is shown as
 * text. A sequence that is too long or never ends is text, too, so no bytes can hide behind its beginning.
 */
#include "cli/cli_clean.h"

#include <string.h>

#include "base/text.h"

#define ESC '\033'
#define RESET "\033[0m"

enum sequence { UNFINISHED, COLOR, OTHER, NO_SEQUENCE };

/* What begins at `bytes`, which is an ESC; *used: how long it is when it is complete. */
static enum sequence recognize(const char *bytes, size_t length, size_t *used)
{
    bool color = true;

    if (length < 2)
        return UNFINISHED;
    if (bytes[1] != '[')
        return NO_SEQUENCE;
    for (size_t i = 2; i < length && i < CLI_CLEAN_SEQUENCE; i++) {
        char c = bytes[i];

        *used = i + 1;
        if (c >= 0x40 && c <= 0x7e)
            return c == 'm' && color ? COLOR : OTHER;
        if (c < 0x20 || c > 0x3f)
            return NO_SEQUENCE;
        color &= (c >= '0' && c <= '9') || c == ';' || c == ':';
    }
    return length < CLI_CLEAN_SEQUENCE ? UNFINISHED : NO_SEQUENCE;
}

/* How many bytes at the end begin a UTF-8 character that is not complete. */
static size_t unfinished(const char *bytes, size_t length)
{
    for (size_t back = 1; back <= 3 && back <= length; back++) {
        unsigned char c = (unsigned char)bytes[length - back];
        size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

        if ((c & 0xc0) == 0x80)
            continue;
        return whole > back ? back : 0;
    }
    return 0;
}

/* "ESC [ m" and "ESC [ 0;31 m" begin anew; what follows a first 0 is kept. */
static void remember(struct cli_clean *clean, const char *sequence, size_t length)
{
    const char *parameters = sequence + 2;
    size_t count = length - 3, zeros = strspn(parameters, "0;"), first = strcspn(parameters, ";m");

    if (zeros == count || strspn(parameters, "0") >= first)
        clean->active_length = 0;
    if (zeros == count)
        return;
    if (clean->active_length + length > sizeof clean->active)
        clean->active_length = 0;              /* the newest counts */
    memcpy(clean->active + clean->active_length, sequence, length);
    clean->active_length += length;
}

static void add_color(struct cli_clean *clean, const char *sequence, size_t length, struct sw_buf *out)
{
    char copy[CLI_CLEAN_SEQUENCE + 1];

    if (!clean->colors)
        return;
    memcpy(copy, sequence, length);
    copy[length] = '\0';
    remember(clean, copy, length);
    if (clean->painted && !clean->active_length)
        sw_buf_add(out, RESET);
    else if (clean->painted)
        sw_buf_add_bytes(out, copy, length);
    clean->painted &= clean->active_length > 0;
}

/* Text without ESC and newline. */
static void add_text(struct cli_clean *clean, const char *bytes, size_t length, struct sw_buf *out)
{
    sw_autofree char *shown = length ? sw_text_printable(bytes, length) : NULL;

    if (!length)
        return;
    if (clean->active_length && !clean->painted) {
        sw_buf_add_bytes(out, clean->active, clean->active_length);
        clean->painted = true;
    }
    sw_buf_add(out, shown);
}

static void end_color(struct cli_clean *clean, struct sw_buf *out)
{
    if (clean->painted)
        sw_buf_add(out, RESET);
    clean->painted = false;
}

/* What begins at `bytes`: a newline, a sequence or text. Returns how much of it was used; 0: its end is
 * still to come. */
static size_t add_next(struct cli_clean *clean, const char *bytes, size_t length, struct sw_buf *out)
{
    size_t used = 1, text = 0;

    if (*bytes == '\n') {
        end_color(clean, out);
        sw_buf_add_char(out, '\n');
        return 1;
    }
    if (*bytes == ESC) {
        switch (recognize(bytes, length, &used)) {
        case UNFINISHED:
            return 0;
        case COLOR:
            add_color(clean, bytes, used, out);
            return used;
        case OTHER:
            return used;
        case NO_SEQUENCE:
            add_text(clean, bytes, 1, out);
            return 1;
        }
    }
    while (text < length && bytes[text] != '\n' && bytes[text] != ESC)
        text++;
    if (text == length)
        text -= unfinished(bytes, length);
    add_text(clean, bytes, text, out);
    return text;
}

void cli_clean_add(struct cli_clean *clean, const char *bytes, size_t length, struct sw_buf *out)
{
    sw_auto(sw_buf) struct sw_buf joined = SW_BUF_INIT;
    size_t done = 0, used;

    if (clean->held_length) {
        sw_buf_add_bytes(&joined, clean->held, clean->held_length);
        sw_buf_add_bytes(&joined, bytes, length);
        bytes = joined.data;
        length = joined.length;
    }
    while (done < length && (used = add_next(clean, bytes + done, length - done, out)) > 0)
        done += used;
    clean->held_length = length - done;
    if (clean->held_length)
        memcpy(clean->held, bytes + done, clean->held_length);
}

void cli_clean_end(struct cli_clean *clean, struct sw_buf *out)
{
    add_text(clean, clean->held, clean->held_length, out);
    end_color(clean, out);
    clean->held_length = clean->active_length = 0;
}
