/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_hide.c - plans are shown and copied into tickets: values that look like credentials are left out.
 *
 * A job file should name its secrets and not hold them; one that holds them all the same is warned
 * of. Their values are masked in every text of the plan's document; short ones ("SORT_KEY: name") only
 * where the variable itself is shown, as they would mask half the document.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/buf.h"
#include "base/secret.h"
#include "spec/spec.h"

#define MASK     "[redacted]"
#define SHORTEST 8

static void mask_text(json_t *text, struct sw_redactor *redactor)
{
    sw_auto(sw_buf) struct sw_buf clean = SW_BUF_INIT;

    sw_redactor_feed(redactor, json_string_value(text), json_string_length(text), &clean);
    sw_redactor_flush(redactor, &clean);
    if (clean.length != json_string_length(text) ||
        memcmp(clean.data, json_string_value(text), clean.length) != 0)
        json_string_set(text, sw_buf_text(&clean));
}

static bool is_masked_variable(const char *key, const json_t *value)
{
    return sw_spec_looks_like_credential(key) && json_string_length(value) > 0;
}

/* `in_env`: the keys of this object are names of variables. */
static void mask(json_t *value, struct sw_redactor *redactor, bool in_env)
{
    const char *key;
    json_t *each;
    size_t i;

    if (json_is_string(value))
        mask_text(value, redactor);
    json_array_foreach(value, i, each)
        mask(each, redactor, false);
    json_object_foreach(value, key, each) {
        if (in_env && is_masked_variable(key, each))
            json_string_set(each, MASK);
        else
            mask(each, redactor, strcmp(key, "env") == 0);
    }
}

static void mask_rows(json_t *rows)
{
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row) {
        const char *key = sw_json_str(row, "key");
        json_t *value = json_object_get(row, "value");

        if (key && strncmp(key, "env.", 4) == 0 && is_masked_variable(key + 4, value))
            json_string_set(value, MASK);
    }
}

json_t *api_plan_hide(json_t *document, const json_t *env)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    sw_auto(sw_redactor) struct sw_redactor *redactor = NULL;
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)env, name, value)
        if (is_masked_variable(name, value) && json_string_length(value) >= SHORTEST)
            sw_secrets_add_value(secrets, name, json_string_value(value));
    redactor = sw_redactor_new(secrets);
    mask_rows(json_object_get(document, "values"));
    mask(document, redactor, false);
    return document;
}
