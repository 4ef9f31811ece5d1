/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.c - does a line look like this? A small matcher for the built-in patterns.
 *
 * Not regular expressions, on purpose: logs are written by strangers, and regexec() gives no
 * promise about its time. Here every piece between two `*` is searched leftmost, once, and never
 * reconsidered; that is complete for such patterns and needs no memory.
 *
 * Pure: no I/O, no allocation.
 */
#include "diagnose/diagnose_internal.h"

#include <string.h>

static const size_t NO = (size_t)-1;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* How many bytes of `text` the piece takes when it begins right here; NO: it does not fit. */
static size_t piece_here(const char *piece, size_t piece_length, const char *text, size_t left)
{
    size_t at = 0;

    for (size_t i = 0; i < piece_length; i++) {
        if (at >= left)
            return NO;
        if (piece[i] != '#') {
            if (text[at++] != piece[i])
                return NO;
            continue;
        }
        if (!is_digit(text[at]))
            return NO;
        while (at < left && is_digit(text[at]))
            at++;
    }
    return at;
}

/* The end of the leftmost place from `from` on where the piece fits; NO: none. */
static size_t piece_find(const char *piece, size_t piece_length, const char *text, size_t from,
                         size_t length, bool to_the_end)
{
    for (size_t at = from; at <= length; at++) {
        size_t taken;

        if (piece_length > 0 && piece[0] != '#') {
            const char *next = at < length ? memchr(text + at, piece[0], length - at) : NULL;

            if (!next)
                return NO;
            at = (size_t)(next - text);
        }
        taken = piece_here(piece, piece_length, text + at, length - at);
        if (taken != NO && (!to_the_end || at + taken == length))
            return at + taken;
    }
    return NO;
}

bool diag_pattern_match(const char *pattern, const char *text, size_t length)
{
    bool at_start = pattern[0] == '^';
    size_t at = 0, rest = strlen(pattern + at_start);
    const char *piece = pattern + at_start;
    bool at_end = rest > 0 && piece[rest - 1] == '$';

    for (rest -= at_end;;) {
        const char *star = memchr(piece, '*', rest);
        size_t piece_length = star ? (size_t)(star - piece) : rest;

        if (at_start) {
            at = piece_here(piece, piece_length, text, length);
            if (at != NO && !star && at_end && at != length)
                return false;
        } else {
            at = piece_find(piece, piece_length, text, at, length, at_end && !star);
        }
        if (at == NO)
            return false;
        if (!star)
            return true;
        at_start = false;
        rest -= piece_length + 1;
        piece = star + 1;
    }
}
