/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_path.c - walking along the paths of document.h: a.b, inputs["/data/x.json"].
 *
 * Forgiving on purpose, since people type these: a '[' that does not open ["..."] is part of
 * the key, and an empty step is an empty key, which nothing is called.
 */
#include "spec/spec_internal.h"

#include <string.h>

#include "base/text.h"

static bool opens_bracket(const char *at)
{
    return at[0] == '[' && at[1] == '"';
}

static char *bracketed(const char **at)
{
    sw_auto(sw_buf) struct sw_buf key = SW_BUF_INIT;
    const char *c = *at + 2;

    for (; *c && *c != '"'; c++) {
        if (*c == '\\' && c[1]) {
            c++;
            sw_buf_add_char(&key, *c == 'n' ? '\n' : *c);
        } else {
            sw_buf_add_char(&key, *c);
        }
    }
    c += *c == '"';
    c += *c == ']';
    *at = c;
    return key.length ? sw_buf_steal(&key) : sw_strdup("");
}

char *spec_path_step(const char **path)
{
    const char *at = *path, *end;
    char *key;

    if (opens_bracket(at)) {
        key = bracketed(&at);
    } else {
        for (end = at; *end && *end != '.' && !opens_bracket(end);)
            end++;
        key = sw_strndup(at, (size_t)(end - at));
        at = end;
    }
    *path = *at == '\0' ? NULL : *at == '.' ? at + 1 : at;
    return key;
}

json_t *sw_spec_value(const struct sw_spec *spec, const char *path)
{
    const char *rest = path;
    json_t *value = spec->job;
    bool first = true;

    while (rest) {
        sw_autofree char *key = spec_path_step(&rest);

        value = first && strcmp(key, spec->platform) == 0 ? spec->options
                                                          : json_object_get(value, key);
        first = false;
    }
    return value;
}
