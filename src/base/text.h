/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - small questions about texts: prefixes, words, nearest spelling, clean UTF-8.
 */
#ifndef SW_BASE_TEXT_H
#define SW_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/auto.h"

static inline bool sw_text_empty(const char *text) { return !text || !*text; }
/* What makes the noun after `count` right: "1 file", "2 files". */
static inline const char *sw_text_plural(double count) { return count == 1 ? "" : "s"; }
bool sw_text_starts(const char *text, const char *prefix);
bool sw_text_ends(const char *text, const char *suffix);
bool sw_text_same(const char *a, const char *b);         /* NULL equals only NULL */
bool sw_text_same_nocase(const char *a, const char *b);

/* How many bytes the UTF-8 character at `text` takes; 0 when there is none. */
size_t sw_text_utf8_char(const char *text, size_t left);

bool sw_text_is_utf8(const char *text);
/* An owned copy in valid UTF-8: bad bytes become U+FFFD, NULs too. */
char *sw_text_utf8(const char *bytes, size_t length);

/* An owned copy that is harmless on a terminal: control sequences other than newline and tab
 * are shown, not obeyed. */
char *sw_text_printable(const char *bytes, size_t length);

/* The candidate nearest in spelling, or NULL when none is near ("did you mean ...?"). */
const char *sw_text_nearest(const char *word, const char *const *candidates, size_t count);

/* How many terminal columns a text in valid UTF-8 takes: wide characters two, accents none. */
size_t sw_text_columns(const char *text);
/* An owned copy of at most `width` columns; what was cut ends in an ellipsis. */
char *sw_text_fit(const char *text, size_t width);

#endif
