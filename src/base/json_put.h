/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_put.h - JSON written straight into a text, for answers of many rows: no tree is made of it first.
 *
 *     sw_json_put_object(&out, SW_PUT_STR("id", row->id), SW_PUT_TIME("ended_at", row->ended_ms));
 *
 * What is written is what sw_json_dump() writes of the same document (json.h). Texts and documents are
 * borrowed for the call.
 */
#ifndef SW_BASE_JSON_PUT_H
#define SW_BASE_JSON_PUT_H

#include "base/buf.h"
#include "base/json.h"

struct sw_json_put {
    const char *key;      /* plain ASCII without a quote; NULL: the field is left out */
    enum sw_json_kind { SW_PUTS_TEXT, SW_PUTS_NUMBER, SW_PUTS_TIME, SW_PUTS_WORD, SW_PUTS_DOCUMENT } kind;
    union {
        const char *text;
        int64_t number;
        const json_t *document;
    };
};

void sw_json_put_object_of(struct sw_buf *out, const struct sw_json_put *fields, size_t count);
#define sw_json_put_object(out, ...)                                                 \
    sw_json_put_object_of((out), (const struct sw_json_put[]){ __VA_ARGS__ },        \
                          SW_COUNT(((const struct sw_json_put[]){ __VA_ARGS__ })))

/* A text from outside may hold bytes that are not UTF-8; they become U+FFFD. NULL -> null. */
#define SW_PUT_STR(k, v)  ((struct sw_json_put){ (k), SW_PUTS_TEXT, { .text = (v) } })
#define SW_PUT_INT(k, v)  ((struct sw_json_put){ (k), SW_PUTS_NUMBER, { .number = (v) } })
/* null where the value stands for "none" */
#define SW_PUT_INT_BUT(k, v, none) ((v) == (none) ? SW_PUT_WORD(k, "null") : SW_PUT_INT(k, v))
#define SW_PUT_BOOL(k, v) SW_PUT_WORD(k, (v) ? "true" : "false")
#define SW_PUT_WORD(k, v) ((struct sw_json_put){ (k), SW_PUTS_WORD, { .text = (v) } })      /* as it is: {} */
#define SW_PUT_TIME(k, v) ((struct sw_json_put){ (k), SW_PUTS_TIME, { .number = (v) } })     /* 0 -> null */
/* NULL: left out */
#define SW_PUT_SUB(k, v)  ((struct sw_json_put){ (k), SW_PUTS_DOCUMENT, { .document = (v) } })

#endif
