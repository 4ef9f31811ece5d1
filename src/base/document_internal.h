/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_internal.h - what the readers and writers of the three formats share inside base/.
 *
 * A reader gets a struct sw_source (clean UTF-8, bounded, without a byte order mark) and gives
 * back the value; on its way it notes the position of each key and list element in
 * source->positions.
 */
#ifndef SW_BASE_DOCUMENT_INTERNAL_H
#define SW_BASE_DOCUMENT_INTERNAL_H

#include <stdint.h>

#include "base/document.h"

/* ---- positions: line and column of each path ------------------------------------------------------- */

/* A path as one number, made step by step from SW_WHERE_ROOT. */
typedef uint64_t sw_where;
#define SW_WHERE_ROOT ((sw_where)0xcbf29ce484222325u)

sw_where sw_where_key(sw_where parent, const char *key, size_t length);
sw_where sw_where_index(sw_where parent, size_t index);

struct sw_positions;
struct sw_positions *sw_positions_new(void);
void sw_positions_free(struct sw_positions *positions);
void sw_positions_add(struct sw_positions *positions, sw_where where, struct sw_position place);
struct sw_position sw_positions_get(const struct sw_positions *positions, sw_where where);   /* 0:0 unknown */
struct sw_position sw_positions_find(const struct sw_positions *positions, const char *path);

/* The text that a number, true or false was written with, where it is not the one that the value gives. */
void sw_positions_write(struct sw_positions *positions, sw_where where, const json_t *value,
                        const char *text);
/* For a copy of `value`, and all below it. */
void sw_positions_copy_written(struct sw_positions *positions, const json_t *value, sw_where from,
                               sw_where to);
const char *sw_positions_written(const struct sw_positions *positions, sw_where where);      /* NULL: none */
const char *sw_positions_find_written(const struct sw_positions *positions, const char *path);

/* ---- reading --------------------------------------------------------------------------- */

struct sw_source {
    const char *text;
    size_t length;
    const char *name;             /* for messages */
    struct sw_positions *positions;     /* may be NULL: not wanted */
    struct sw_error *err;
};

/* Size, encoding, no NUL; steps over a byte order mark. */
int sw_source_check(struct sw_source *source);
/* SW_E_SPEC "name:line:column: why"; returns -1. */
int sw_source_fail(const struct sw_source *source, struct sw_position place, const char *fmt, ...)
    SW_PRINTF(3, 4);
/* Line and column of a byte of the text; columns count characters. */
struct sw_position sw_source_place(const struct sw_source *source, size_t offset);

json_t *sw_yaml_read(const struct sw_source *source);
json_t *sw_json_read(const struct sw_source *source);

/* What a plain YAML scalar means; NULL with `*why` when it is refused. */
json_t *sw_yaml_resolve(const char *text, size_t length, const char **why);

/* ---- numbers, the same in every locale --------------------------------------------------- */

int sw_real_parse(const char *text, double *value);     /* the whole text; -1: not finite */
int sw_real_digits(double value);                        /* 15..17: as many as it needs */
/* Shortest form that reads back the same; always with a point: "1.0e-05", "0.1", "-0.0". */
void sw_real_format(double value, char out[40]);

/* ---- writing --------------------------------------------------------------------------- */

/* A text in quotes, with the escapes that JSON and TOML share; `del`: DEL as well, which TOML forbids. In
 * json_write.c. */
void sw_put_quoted(struct sw_buf *out, const char *text, size_t length, bool del);
int sw_yaml_write(struct sw_buf *out, const json_t *value, struct sw_error *err);

#endif
