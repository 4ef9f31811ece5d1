/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes.h - what the documents of this library, and so every `-o json`, look like.
 *
 * shapes_tables.c has one table per document. From it come the JSON Schema of `slipway schema --output`, the
 * page docs/use/json.md (a test compares), and the last step of every document: api_shaped() gives each field
 * its public name, form and place, and writes null where nothing is known.
 */
#ifndef SW_API_SHAPES_H
#define SW_API_SHAPES_H

#include "base/json.h"

#define API_DOCUMENT_VERSION 1       /* changes only when a field changes its meaning or goes away */

enum api_type {
    API_TEXT,
    API_TIME,          /* ISO 8601, UTC; stored as milliseconds since 1970 */
    API_INT,
    API_POSITIVE,      /* 0 means "none" where it comes from */
    API_NUMBER,        /* rounded for people; programs need no more */
    API_BOOL,
    API_OBJECT,
    API_LIST,          /* of objects, or of anything without `fields` */
    API_TEXTS,
    API_MAP,           /* of texts or numbers, by name */
    API_ANY,
};

enum api_may {
    API_ALWAYS,
    API_NULL,          /* null where it is not known or there is none; "" counts as none */
    API_OPTIONAL,      /* absent where it has no meaning: only inside `data` of an event */
};

struct api_field {
    const char *name;
    enum api_type type;
    enum api_may may;
    const char *help;
    const struct api_field *fields;   /* of the object, or of each in the list; NULL: not described */
    const char *stored;               /* its name where it comes from; NULL: the same */
};

struct api_shape {
    const char *verb;
    const char *help;
    bool lines;                       /* JSON Lines: the shape of each line */
    const struct api_field *fields;
    const char *other_help;           /* when the answer is `other` instead */
    const struct api_field *other;
};

extern const struct api_shape api_shapes[];               /* by name; the last has none */
const struct api_shape *api_shape_of(const char *verb);   /* NULL: none */

/* Parts of documents that are written piece by piece. */
extern const struct api_field api_shape_job[], api_shape_progress[];

/* A copy in the order and form of the fields; what they do not name follows as it is. */
json_t *api_shaped(const struct api_field *fields, const json_t *given);
/* The document that the verb prints, with its version in front, as text; takes `given`. NULL gives NULL. */
char *api_document(const char *verb, json_t *given);
char *api_document_other(const char *verb, json_t *given);
/* "2026-05-21T22:50:54.123456+00:00"; null for 0. */
json_t *api_time(int64_t at_ms);

json_t *api_shape_schema(const struct api_shape *shape);

#endif
