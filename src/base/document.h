/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document.h - YAML, TOML and JSON files become one kind of document that knows its places.
 *
 * The value is a json_t (insertion order kept). Beside it a table remembers line and column of
 * every key and list element, by its path ("env.NCCL_DEBUG", "platform[1]"), so that any later
 * complaint can point at the exact spot. A key that holds '.', '[', or '"' is written in the
 * path as ["the key"].
 *
 * Everything read is bounded: SW_DOCUMENT_MAX bytes, SW_DOCUMENT_DEPTH levels, and YAML aliases
 * may not blow the document up beyond SW_DOCUMENT_NODES values.
 */
#ifndef SW_BASE_DOCUMENT_H
#define SW_BASE_DOCUMENT_H

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

#define SW_DOCUMENT_MAX   (4 * 1024 * 1024)
#define SW_DOCUMENT_DEPTH 64
#define SW_DOCUMENT_NODES 200000

enum sw_format { SW_YAML, SW_JSON, SW_TOML };

struct sw_position {
    int line, column;      /* counted from 1; 0: unknown */
};

struct sw_document;        /* value + places + the name used in messages */

/* Duplicate keys, non-finite numbers, tabs, bad UTF-8, ... are SW_E_SPEC "name:line:col: why". */
struct sw_document *sw_document_parse(const char *text, size_t length, enum sw_format format,
                                      const char *name, struct sw_error *err);
struct sw_document *sw_document_read(const char *path, struct sw_error *err);   /* by its ending */
/* Steals the value; has no places. */
struct sw_document *sw_document_from_json(json_t *value, const char *name);
void sw_document_free(struct sw_document *document);
SW_DEFINE_AUTO(sw_document, struct sw_document *, sw_document_free)

json_t *sw_document_value(const struct sw_document *document);         /* borrowed */
const char *sw_document_name(const struct sw_document *document);      /* borrowed */
/* The position of the key of that path; the nearest known ancestor when it has none itself. */
struct sw_position sw_document_place(const struct sw_document *document, const char *path);
/* The text that a number, true or false was written with: "3.10", "0x10", "1e3". Borrowed; NULL: the one
 * that the value gives. */
const char *sw_document_written(const struct sw_document *document, const char *path);

int sw_format_of_path(const char *path, enum sw_format *format, struct sw_error *err);
int sw_format_parse(const char *word, enum sw_format *format, struct sw_error *err);
const char *sw_format_name(enum sw_format format);                     /* "yaml": also its ending */

/* Append one path step: "a" + "b" -> "a.b"; odd keys are bracketed. */
void sw_path_add_key(struct sw_buf *path, const char *key);
void sw_path_add_index(struct sw_buf *path, size_t index);

/* Writing. YAML reads back identically in PyYAML and OmegaConf: whatever a YAML 1.1 reader could
 * take for something else ("no", "1e3", "0o7", "12:30", "0123", "~", dates, ...) is quoted.
 * TOML has no null: that is an error naming the path. */
int sw_document_write(struct sw_buf *out, const json_t *value, enum sw_format format,
                      struct sw_error *err);

#endif
