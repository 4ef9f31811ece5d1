/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_causes.c - a Kubernetes Status names every field that is wrong, run:ai those that break a policy, and
 * so does the message: each with the key of the job file that decides it.
 *
 * Pure.
 */
#include <string.h>

#include "base/text.h"
#include "platform/kit/rest_internal.h"

enum { CAUSES_BYTES = 360, FIELD_BYTES = 160, MESSAGE_BYTES = 160 };

size_t sw_rest_causes(const json_t *status, sw_rest_take_cause *take, void *context)
{
    const json_t *causes = json_object_get(json_object_get(status, "details"), "causes");
    size_t i;
    json_t *one;

    if (!causes)
        causes = json_object_get(status, "complianceIssues");
    json_array_foreach((json_t *)causes, i, one) {
        const char *words = sw_json_str(one, "message");
        const struct sw_rest_cause cause = { sw_json_str(one, "field"), sw_json_str(one, "reason"),
                                             words ? words : sw_json_str(one, "details") };

        if (take)
            take(context, &cause);
    }
    return json_array_size(causes);
}

const char *rest_key_of(const struct sw_rest *rest, const char *field)
{
    for (const struct sw_rest_field *row = rest->options.fields; row && row->field; row++) {
        size_t length = strlen(row->field);

        if (strncmp(row->field, field, length) == 0 && (!field[length] || strchr(".[", field[length])))
            return row->key;
    }
    return NULL;
}

struct rest_cause_list {
    const struct sw_rest *rest;
    struct sw_buf *out, *keys;
    size_t count, left_out;
};

/* "`image`, `gpus`" */
static void add_key(struct sw_buf *keys, const char *key)
{
    sw_autofree char *quoted = sw_format("`%s`", key);

    if (!strstr(sw_buf_text(keys), quoted))
        sw_buf_addf(keys, "%s%s", keys->length ? ", " : "", quoted);
}

static void add_cause(void *context, const struct sw_rest_cause *cause)
{
    struct rest_cause_list *list = context;
    const char *key = sw_text_empty(cause->field) ? NULL : rest_key_of(list->rest, cause->field);
    const char *words = !sw_text_empty(cause->message) ? cause->message : cause->reason;
    sw_autofree char *field = NULL, *message = NULL;

    if (sw_text_empty(cause->field))
        return;
    list->count++;
    if (key)
        add_key(list->keys, key);
    if (list->out->length >= CAUSES_BYTES) {
        list->left_out++;
        return;
    }
    field = sw_text_printable(cause->field, strnlen(cause->field, FIELD_BYTES));
    message = sw_text_printable(words ? words : "", words ? strnlen(words, MESSAGE_BYTES) : 0);
    sw_buf_addf(list->out, "%s%s%s%s", list->out->length ? "; " : "", field, *message ? ": " : "", message);
    if (key)
        sw_buf_addf(list->out, " (job file: %s)", key);
}

size_t rest_causes_text(const struct sw_rest *rest, const json_t *status, struct sw_buf *out,
                        struct sw_buf *keys)
{
    struct rest_cause_list list = { rest, out, keys, 0, 0 };

    sw_rest_causes(status, add_cause, &list);
    if (list.left_out)
        sw_buf_addf(out, "; and %zu more", list.left_out);
    return list.count;
}
