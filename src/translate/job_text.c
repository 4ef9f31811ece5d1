/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_text.c - a job file for people: the editor's schema, what was left out, and each key with its help.
 *
 * The comments are the help texts of the keys' own tables, so that they are always those of this version.
 */
#include "translate/translate.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { WIDTH = 98 };

/* "# " before each line, broken at blanks. */
static void add_comment(struct sw_buf *out, const char *indent, const char *text)
{
    while (*text) {
        size_t length = strlen(text), room = WIDTH - strlen(indent);

        if (length > room) {
            for (length = room; length > 0 && text[length] != ' ';)
                length--;
            length = length > 0 ? length : strcspn(text, " ");
        }
        sw_buf_addf(out, "# %s%.*s\n", indent, (int)length, text);
        text += length + strspn(text + length, " ");
        indent = *indent ? "    " : indent;
    }
}

static void add_left_out(struct sw_buf *out, const json_t *left_out)
{
    const json_t *each;
    size_t i;

    if (json_array_size(left_out) == 0)
        return;
    sw_buf_add(out, "#\n# Not translated, or not exactly:\n");
    json_array_foreach(left_out, i, each) {
        long long line = sw_json_int(each, "line", 0);
        const char *what = sw_json_str(each, "what"), *why = sw_json_str(each, "why");
        sw_autofree char *place = line > 0 ? sw_format("line %lld: ", line) : sw_strdup("");
        sw_autofree char *text = sw_format("%s%s: %s", place, what ? what : "", why ? why : "");

        add_comment(out, "  ", text);
    }
}

/* "8" is a number where GPUs are counted; one platform is no list. */
static json_t *plain_value(const char *key, const json_t *value)
{
    const char *text = json_string_value(value);

    if (strcmp(key, "platform") == 0 && json_array_size(value) == 1)
        return json_incref(json_array_get(value, 0));
    if (strcmp(key, "gpus") == 0 && text && *text && text[strspn(text, "0123456789")] == '\0')
        return json_integer(atoi(text));
    return json_incref((json_t *)value);
}

static int add_key(struct sw_buf *out, const char *key, const json_t *value, bool idea, struct sw_error *err)
{
    const struct sw_option *row = sw_option_find(sw_spec_keys, key);
    sw_auto(json) json_t *one = json_object();
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *help = row ? sw_strdup(row->help)
                                 : sw_format("only for %s; 'slipway platforms %s' lists the options",
                                             key, key);

    json_object_set_new(one, key, plain_value(key, value));
    if (sw_document_write(&text, one, SW_YAML, err) < 0)
        return -1;
    sw_buf_add_char(out, '\n');
    add_comment(out, "", help);
    for (const char *line = sw_buf_text(&text); *line;) {
        size_t length = strcspn(line, "\n");

        sw_buf_addf(out, "%s%.*s\n", idea ? "# " : "", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return 0;
}

static int add_keys(struct sw_buf *out, const json_t *values, bool idea, struct sw_error *err)
{
    const char *key;
    json_t *value;

    for (const struct sw_option *row = sw_spec_keys; row->name; row++) {      /* in the order of the manual */
        value = json_object_get(values, row->name);
        if (value && add_key(out, row->name, value, idea, err) < 0)
            return -1;
    }
    json_object_foreach((json_t *)values, key, value)
        if (!sw_option_find(sw_spec_keys, key) && add_key(out, key, value, idea, err) < 0)
            return -1;
    return 0;
}

int sw_job_text_write(struct sw_buf *out, const struct sw_job_text *what, struct sw_error *err)
{
    const json_t *remark;
    size_t i;

    sw_buf_addf(out, "# yaml-language-server: $schema=%s\n", what->schema);
    sw_buf_add(out, "# A job file for Slipway: 'slipway plan' shows what it does, 'slipway run' runs it,\n"
                    "# 'slipway help job KEY' explains a key.\n");
    json_array_foreach(what->remarks, i, remark)
        add_comment(out, "", json_string_value(remark));
    add_left_out(out, what->left_out);
    if (add_keys(out, what->job, false, err) < 0)
        return -1;
    return add_keys(out, what->ideas, true, err);
}
