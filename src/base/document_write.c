/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_write.c - a value as text in one of the three formats.
 */
#include "base/document_internal.h"

#include "base/toml.h"

/* What the readers would refuse is not written either; also ends a value that holds itself. */
static int check_depth(const json_t *value, int depth, struct sw_error *err)
{
    const json_t *child;
    const char *key;
    json_t *member;
    size_t i;

    if (depth > SW_DOCUMENT_DEPTH)
        return sw_fail(err, SW_E_SPEC, "nested deeper than %d levels", SW_DOCUMENT_DEPTH);
    json_array_foreach(value, i, child)
        if (check_depth(child, depth + 1, err) < 0)
            return -1;
    json_object_foreach((json_t *)value, key, member)
        if (check_depth(member, depth + 1, err) < 0)
            return -1;
    return 0;
}

static int json_write(struct sw_buf *out, const json_t *value)
{
    sw_autofree char *text = sw_json_dump_pretty(value);

    sw_buf_add(out, text);
    return 0;
}

int sw_document_write(struct sw_buf *out, const json_t *value, enum sw_format format,
                      struct sw_error *err)
{
    if (check_depth(value, 0, err) < 0)
        return -1;
    switch (format) {
    case SW_YAML:
        return sw_yaml_write(out, value, err);
    case SW_JSON:
        return json_write(out, value);
    case SW_TOML:
        break;
    }
    return sw_toml_write(out, value, false, err);
}
