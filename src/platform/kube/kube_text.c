/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_text.c - texts as the Kubernetes API wants them. Pure.
 */
#include "platform/kube/kube.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "platform/kit/labels.h"

static bool is_label(const char *key, const char *value)
{
    const char *slash = strchr(key, '/'), *name = slash ? slash + 1 : key;
    size_t prefix = slash ? (size_t)(slash - key) : 0;

    if (slash && (prefix == 0 || prefix > 253 || !isalnum((unsigned char)key[0]) ||
                  !isalnum((unsigned char)slash[-1]) ||
                  strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-.") != prefix))
        return false;
    return *name && sw_is_label(name) && sw_is_label(value);
}

static char *note_key(const char *key)
{
    char name[64] = "";

    snprintf(name, sizeof name, "%s", key);
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && ((at == name || !at[1]) || !strchr("-_.", *at)))
            *at = at == name || !at[1] ? 'x' : '_';
    return sw_format("slipway.label/%s", *name ? name : "x");
}

void kube_add_labels(const json_t *labels, bool as_labels, json_t *out)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)labels, key, value) {
        const char *text = json_string_value(value) ? json_string_value(value) : "";
        sw_autofree char *note = as_labels ? NULL : note_key(key);

        if (is_label(key, text) == as_labels)
            json_object_set_new(out, as_labels ? key : note, sw_json_text(text));
    }
}

/* Every '$' is doubled: "$$" is one of them again. */
json_t *kube_value(const char *value)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    for (; *value; value++) {
        sw_buf_add_char(&out, *value);
        if (*value == '$')
            sw_buf_add_char(&out, '$');
    }
    return sw_json_text(sw_buf_text(&out));
}
