/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - JSON in the shape of JSON: build a document by writing it down.
 *
 *     sw_auto(json) json_t *body = sw_json_object(
 *         SW_STR("name", plan->job_id),
 *         SW_STR_OPT("group", site->group),       // NULL: the key is absent
 *         SW_SUB("resources", sw_json_object(SW_INT("gpus", 8))));
 *
 * jansson's json_t is our document type everywhere below api/. Insertion order is kept.
 */
#ifndef SW_BASE_JSON_H
#define SW_BASE_JSON_H

#include <jansson.h>

#include "base/auto.h"
#include "base/buf.h"
#include "slipway.h"

SW_DEFINE_AUTO(json, json_t *, json_decref)

struct sw_json_field {
    const char *key;
    json_t *value;        /* stolen; NULL: the key is left out */
};

json_t *sw_json_object_of(const struct sw_json_field *fields, size_t count);
#define sw_json_object(...)                                                  \
    sw_json_object_of((const struct sw_json_field[]){ __VA_ARGS__ },         \
                      SW_COUNT(((const struct sw_json_field[]){ __VA_ARGS__ })))

/* A text from outside may hold bytes that are not UTF-8; they become U+FFFD. NULL -> null. */
json_t *sw_json_text(const char *text);

#define SW_STR(k, v)     ((struct sw_json_field){ (k), sw_json_text(v) })
#define SW_STR_OPT(k, v) ((struct sw_json_field){ (k), (v) ? sw_json_text(v) : NULL })
#define SW_INT(k, v)     ((struct sw_json_field){ (k), json_integer(v) })
#define SW_REAL(k, v)    ((struct sw_json_field){ (k), json_real(v) })
#define SW_BOOL(k, v)    ((struct sw_json_field){ (k), json_boolean(v) })
#define SW_NULL(k)       ((struct sw_json_field){ (k), json_null() })
#define SW_SUB(k, v)     ((struct sw_json_field){ (k), (v) })               /* steals v */
#define SW_SUB_COPY(k, v) ((struct sw_json_field){ (k), json_incref(v) })   /* shares v */

/* Borrowed reads that accept a missing object or key; texts live as long as the document. */
const char *sw_json_str(const json_t *object, const char *key);           /* NULL if absent */
/* The texts of an array with `between` between them; owned. */
char *sw_json_joined(const json_t *array, const char *between);
bool sw_json_lists(const json_t *array, const char *text);  /* is it one of its elements? NULL never is */
int64_t sw_json_int(const json_t *object, const char *key, int64_t missing);
bool sw_json_bool(const json_t *object, const char *key, bool missing);
/* A number is seconds, a text "90s"; milliseconds. */
int64_t sw_json_duration_ms(const json_t *object, const char *key, int64_t missing_ms);

void sw_json_put(struct sw_buf *out, const json_t *document);   /* compact, insertion order */
char *sw_json_dump(const json_t *document);          /* the same, owned */
char *sw_json_dump_pretty(const json_t *document);   /* indent 2, ends with a newline */

/* Bounded read of one JSON text (objects, arrays or scalars); `name` is for the message. */
json_t *sw_json_parse(const char *text, size_t length, const char *name, struct sw_error *err);

#endif
