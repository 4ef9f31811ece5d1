/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml_internal.h - what the files of the TOML reader share.
 *
 *     toml_read.c    tables and keys: which may be opened, extended, closed
 *     toml_value.c   arrays, inline tables, numbers, booleans
 *     toml_string.c  the four kinds of strings
 *     toml_date.c    dates and times
 */
#ifndef SW_BASE_TOML_INTERNAL_H
#define SW_BASE_TOML_INTERNAL_H

#include "base/document_internal.h"

/* How a table or array came to be decides what may be added to it later. */
enum toml_kind {
    TOML_NO_TABLE = 0,     /* a value: closed */
    TOML_IMPLIED,          /* made on the way to [a.b.c]: may still be defined once */
    TOML_HEADER,           /* defined by [a] */
    TOML_DOTTED,           /* made by a.b = 1: only more dotted keys and sub-headers */
    TOML_INLINE,           /* { ... }: closed */
    TOML_TABLE_LIST,       /* [[a]] */
};

struct toml_mark {
    const json_t *value;   /* NULL: free */
    enum toml_kind kind;
};

struct toml {
    const struct sw_source *source;
    bool tagged;                 /* every value as {"type", "value"}, for toml-test */
    size_t at;
    struct sw_position place;       /* of the byte at `at` */
    size_t nodes;
    struct toml_mark *marks;     /* open addressing by pointer */
    size_t marks_room, marks_count;
};

struct toml_part {
    char *text;
    size_t length;
    struct sw_position place;
};

/* A key as written: one part, or several with dots between. */
struct toml_key {
    struct toml_part parts[SW_DOCUMENT_DEPTH];
    size_t count;
};

/* ---- the text -------------------------------------------------------------------------- */

int toml_peek(const struct toml *t);                    /* -1 at the end */
int toml_peek_at(const struct toml *t, size_t ahead);
void toml_skip(struct toml *t, size_t bytes);
void toml_skip_space(struct toml *t);                   /* blanks and tabs */
int toml_skip_lines(struct toml *t);                    /* also line ends and comments */
bool toml_at_line_end(const struct toml *t);
int toml_fail(const struct toml *t, struct sw_position place, const char *fmt, ...) SW_PRINTF(3, 4);

/* ---- the parts --------------------------------------------------------------------------- */

/* One key = value into `table` at `where`, `depth` levels deep. */
int toml_read_pair(struct toml *t, json_t *table, sw_where where, int depth);
json_t *toml_read_value(struct toml *t, sw_where where, int depth);
/* A string in any form into `out`; a key may not span lines. */
int toml_read_string(struct toml *t, bool is_key, struct sw_buf *out);
/* Date, time or both in its normal form; the toml-test type, or NULL when it is none. */
const char *toml_date(const char *word, char out[48]);
void toml_mark(struct toml *t, const json_t *value, enum toml_kind kind);
int toml_count_node(struct toml *t, int depth);

#endif
