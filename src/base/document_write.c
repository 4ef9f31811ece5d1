/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_write.c - a value as text in one of the three formats.
 *
 * jansson writes every float with the same number of digits; 17 are always right but turn 0.1
 * into 0.10000000000000001. So we ask for as many as the neediest number of the document wants.
 */
#include "base/document_internal.h"

#include "base/toml.h"

/* What the readers would refuse is not written either; also ends a value that holds itself. */
static int measure(const json_t *value, int depth, int *digits, struct sw_error *err)
{
    const json_t *child;
    const char *key;
    json_t *member;
    size_t i;

    if (depth > SW_DOCUMENT_DEPTH)
        return sw_fail(err, SW_E_SPEC, "nested deeper than %d levels", SW_DOCUMENT_DEPTH);
    if (json_is_real(value) && sw_real_digits(json_real_value(value)) > *digits)
        *digits = sw_real_digits(json_real_value(value));
    json_array_foreach(value, i, child)
        if (measure(child, depth + 1, digits, err) < 0)
            return -1;
    json_object_foreach((json_t *)value, key, member)
        if (measure(member, depth + 1, digits, err) < 0)
            return -1;
    return 0;
}

static int json_write(struct sw_buf *out, const json_t *value, int digits, struct sw_error *err)
{
    size_t flags = JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION((size_t)digits);
    sw_autofree char *text = json_dumps(value, flags);

    if (!text)
        return sw_fail(err, SW_E_INTERNAL, "cannot write JSON");
    sw_buf_addf(out, "%s\n", text);
    return 0;
}

int sw_document_write(struct sw_buf *out, const json_t *value, enum sw_format format,
                      struct sw_error *err)
{
    int digits = 15;

    if (measure(value, 0, &digits, err) < 0)
        return -1;
    switch (format) {
    case SW_YAML:
        return sw_yaml_write(out, value, err);
    case SW_JSON:
        return json_write(out, value, digits, err);
    case SW_TOML:
        break;
    }
    return sw_toml_write(out, value, false, err);
}
