/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml_encoder.c - toml-test's tagged JSON in, TOML out.
 *
 * jansson holds a NUL in a key but does not read one, and the suite has such a key. So \u0000
 * travels through the parser as a character that no text has, and is put back afterwards.
 */
#include <stdio.h>
#include <string.h>

#include "base/toml.h"

static const char stand_in[] = "\xf4\x8f\xbf\xbe";      /* U+10FFFE, a noncharacter */

static void hide_nul(struct sw_buf *out, const char *text)
{
    while (*text) {
        if (strncmp(text, "\\u0000", 6) == 0) {
            sw_buf_add(out, stand_in);
            text += 6;
        } else {
            size_t step = *text == '\\' && text[1] ? 2 : 1;

            sw_buf_add_bytes(out, text, step);
            text += step;
        }
    }
}

static void show_nul(struct sw_buf *out, const char *text)
{
    for (const char *hit; (hit = strstr(text, stand_in)); text = hit + strlen(stand_in)) {
        sw_buf_add_bytes(out, text, (size_t)(hit - text));
        sw_buf_add_char(out, '\0');
    }
    sw_buf_add(out, text);
}

static json_t *restored(json_t *value)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    json_t *copy, *child;
    const char *key;
    size_t i;

    if (json_is_string(value)) {
        show_nul(&text, json_string_value(value));
        return json_stringn(sw_buf_text(&text), text.length);
    }
    copy = json_is_object(value) ? json_object() : json_array();
    json_array_foreach(value, i, child)
        json_array_append_new(copy, restored(child));
    json_object_foreach(value, key, child) {
        sw_buf_clear(&text);
        show_nul(&text, key);
        json_object_setn_new(copy, sw_buf_text(&text), text.length, restored(child));
    }
    return copy;
}

int main(void)
{
    struct sw_error err = { 0 };
    sw_auto(sw_buf) struct sw_buf in = SW_BUF_INIT, hidden = SW_BUF_INIT, out = SW_BUF_INIT;
    sw_auto(json) json_t *parsed = NULL, *value = NULL;

    for (size_t n; (n = fread(sw_buf_reserve(&in, 65536), 1, 65536, stdin)) > 0;) {
        in.length += n;
        in.data[in.length] = '\0';
    }
    hide_nul(&hidden, sw_buf_text(&in));
    parsed = sw_json_parse(sw_buf_text(&hidden), hidden.length, "<stdin>", &err);
    value = parsed ? restored(parsed) : NULL;
    if (!value || sw_toml_write(&out, value, true, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    fwrite(sw_buf_text(&out), 1, out.length, stdout);
    return 0;
}
