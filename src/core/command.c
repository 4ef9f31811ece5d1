/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - the user's command with its placeholders filled in, or with its arguments added.
 *
 * Only {config_path}, {results_dir}, {work_dir}, {job_id} and {rank} are ours. Every other brace
 * stays as it is: shell functions, awk programs and JSON in a command need no doubling. A value enters as
 * one word of the shell, inside of quotes and outside.
 *
 * Pure: no I/O.
 */
#include "core/command.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

struct placeholder {
    const char *word;
    const char *value;      /* NULL: the placeholder stays as it is */
};

static const struct placeholder *placeholder_at(const struct placeholder *all, size_t count,
                                                const char *at)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].value && strncmp(at, all[i].word, strlen(all[i].word)) == 0)
            return &all[i];
    return NULL;
}

enum { PLACEHOLDERS = 5 };

static void list_placeholders(const struct sw_fill *fill, struct placeholder out[PLACEHOLDERS])
{
    out[0] = (struct placeholder){ "{config_path}", fill->config_path };
    out[1] = (struct placeholder){ "{results_dir}", fill->results_dir };
    out[2] = (struct placeholder){ "{job_id}", fill->job_id };
    out[3] = (struct placeholder){ "{work_dir}", fill->work_dir };
    out[4] = (struct placeholder){ "{rank}", fill->rank };
}

/* A value as the shell will read it, inside of quotes or outside. */
static void add_value(struct sw_buf *out, const char *value, char quote)
{
    if (!quote) {
        sw_buf_add_quoted(out, value);
        return;
    }
    for (; *value; value++) {
        if (quote == '\'' && *value == '\'') {
            sw_buf_add(out, "'\\''");
            continue;
        }
        if (quote == '"' && strchr("\"$`\\", *value))
            sw_buf_add_char(out, '\\');
        sw_buf_add_char(out, *value);
    }
}

char *sw_fill_command(const char *command, const struct sw_fill *fill)
{
    struct placeholder all[PLACEHOLDERS];
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    char quote = '\0';          /* the quote we are inside of, as the shell sees it */

    list_placeholders(fill, all);
    for (const char *at = command; *at;) {
        const struct placeholder *found = placeholder_at(all, SW_COUNT(all), at);

        if (found) {
            add_value(&out, found->value, quote);
            at += strlen(found->word);
            continue;
        }
        if (*at == '\\' && quote != '\'' && at[1])
            sw_buf_add_char(&out, *at++);
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (*at == quote)
            quote = '\0';
        sw_buf_add_char(&out, *at++);
    }
    return out.data ? sw_buf_steal(&out) : sw_strdup("");
}

char *sw_fill_word(const char *word, const struct sw_fill *fill)
{
    struct placeholder all[PLACEHOLDERS];
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    list_placeholders(fill, all);
    while (*word) {
        const struct placeholder *found = placeholder_at(all, SW_COUNT(all), word);

        if (found) {
            sw_buf_add(&out, found->value);
            word += strlen(found->word);
        } else {
            sw_buf_add_char(&out, *word++);
        }
    }
    return out.data ? sw_buf_steal(&out) : sw_strdup("");
}

char *sw_fill_destination(const char *to, const char *job_id)
{
    sw_autofree char *named = sw_fill_word(to, &(struct sw_fill){ .job_id = job_id });
    const char *id = strstr(named, "{id}");

    return id ? sw_format("%.*s%s%s", (int)(id - named), named, job_id, id + strlen("{id}"))
              : sw_take(named);
}

char *sw_fill_unknown(const char *word, const struct sw_fill *fill)
{
    static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    struct placeholder all[PLACEHOLDERS];

    list_placeholders(fill, all);
    for (const char *at = word; (at = strchr(at, '{')); at++) {
        size_t length = strspn(at + 1, name);

        if (length > 0 && !isdigit((unsigned char)at[1]) && at[length + 1] == '}' &&
            !placeholder_at(all, SW_COUNT(all), at))
            return sw_strndup(at, length + 2);
    }
    return NULL;
}

/* ---- args mode ------------------------------------------------------------------------------ */

static void add_single_quoted(struct sw_buf *out, const char *text)
{
    sw_buf_add_char(out, '\'');
    for (; *text; text++)
        if (*text == '\'')
            sw_buf_add(out, "'\"'\"'");
        else
            sw_buf_add_char(out, *text);
    sw_buf_add_char(out, '\'');
}

static void add_python(struct sw_buf *out, const json_t *value, bool inside);

static void add_python_text(struct sw_buf *out, const char *text)
{
    char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';

    sw_buf_add_char(out, quote);
    for (; *text; text++) {
        if (*text == '\\' || *text == quote)
            sw_buf_add_char(out, '\\');
        if (*text == '\n')
            sw_buf_add(out, "\\n");
        else
            sw_buf_add_char(out, *text);
    }
    sw_buf_add_char(out, quote);
}

static void add_python_number(struct sw_buf *out, double value)
{
    char text[40];

    for (int digits = 1; digits <= 17; digits++) {       /* the shortest that reads back */
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    sw_buf_add(out, text);
    if (!strpbrk(text, ".en"))
        sw_buf_add(out, ".0");
}

static void add_python_container(struct sw_buf *out, const json_t *value)
{
    const char *key;
    json_t *element;
    size_t i, count = 0;

    sw_buf_add_char(out, json_is_array(value) ? '[' : '{');
    json_array_foreach(value, i, element) {
        sw_buf_add(out, i ? ", " : "");
        add_python(out, element, true);
    }
    json_object_foreach((json_t *)value, key, element) {
        sw_buf_add(out, count++ ? ", " : "");
        add_python_text(out, key);
        sw_buf_add(out, ": ");
        add_python(out, element, true);
    }
    sw_buf_add_char(out, json_is_array(value) ? ']' : '}');
}

static void add_python(struct sw_buf *out, const json_t *value, bool inside)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        if (inside)
            add_python_text(out, json_string_value(value));
        else
            sw_buf_add(out, json_string_value(value));
        break;
    case JSON_INTEGER: sw_buf_addf(out, "%lld", (long long)json_integer_value(value)); break;
    case JSON_REAL:    add_python_number(out, json_real_value(value)); break;
    case JSON_TRUE:    sw_buf_add(out, "True"); break;
    case JSON_FALSE:   sw_buf_add(out, "False"); break;
    case JSON_NULL:    sw_buf_add(out, "None"); break;
    case JSON_ARRAY:
    case JSON_OBJECT:  add_python_container(out, value); break;
    }
}

/* Names are options, given with or without their dashes. */
static char *option(const char *name)
{
    return sw_format("%s%s", *name == '-' ? "" : "--", name);
}

static void add_option(struct sw_buf *out, const char *name)
{
    sw_autofree char *whole = option(name);

    sw_buf_add_char(out, ' ');
    sw_buf_add_quoted(out, whole);
}

static void append_option(json_t *words, const char *name)
{
    sw_autofree char *whole = option(name);

    json_array_append_new(words, sw_json_text(whole));
}

json_t *sw_words_with_args(const json_t *argv, const json_t *args, const json_t *flags)
{
    json_t *words = json_copy((json_t *)argv), *value;
    const char *name;
    size_t i;

    json_object_foreach((json_t *)args, name, value) {
        sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

        add_python(&text, value, false);
        append_option(words, name);
        json_array_append_new(words, sw_json_text(sw_buf_text(&text)));
    }
    json_array_foreach(flags, i, value)
        if (json_is_string(value))
            append_option(words, json_string_value(value));
    return words;
}

char *sw_command_with_args(const char *command, const json_t *args, const json_t *flags)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *name;
    json_t *value;
    size_t i, length = strlen(command);

    while (length > 0 && strchr("\r\n", command[length - 1]))      /* of a YAML block */
        length--;
    sw_buf_add_bytes(&out, command, length);
    json_object_foreach((json_t *)args, name, value) {
        sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

        add_python(&text, value, false);
        add_option(&out, name);
        sw_buf_add_char(&out, ' ');
        add_single_quoted(&out, sw_buf_text(&text));
    }
    json_array_foreach(flags, i, value)
        if (json_is_string(value))
            add_option(&out, json_string_value(value));
    return sw_buf_steal(&out);
}

/* ---- torchrun ---------------------------------------------------------------------------------- */

static size_t word_length(const char *at)
{
    return strcspn(at, " \t\n");
}

static bool is_python(const char *word, size_t length)
{
    const char *base = word + length;

    while (base > word && base[-1] != '/')
        base--;
    length -= (size_t)(base - word);
    return length >= 6 && strncmp(base, "python", 6) == 0 &&
           strspn(base + 6, "0123456789.") >= length - 6;
}

char *sw_words_line(const json_t *argv)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    size_t i;
    json_t *word;

    json_array_foreach(argv, i, word) {
        if (i)
            sw_buf_add_char(&out, ' ');
        sw_buf_add_quoted(&out, json_string_value(word));
    }
    return sw_buf_steal(&out);
}

char *sw_command_torchrun(const char *command, int nodes, int per_node)
{
    const char *first = command + strspn(command, " \t\n");
    size_t length = word_length(first);
    const char *second = first + length + strspn(first + length, " \t\n");
    const char *rest = first, *how = "";

    if (is_python(first, length)) {
        bool module = strncmp(second, "-m", 2) == 0 && word_length(second) == 2;

        /* torchrun starts python itself; options of python other than -m need --no-python. */
        if (*second == '-' && !module)
            how = " --no-python";
        else
            rest = second;
    } else if (length < 4 || strncmp(first + length - 3, ".py", 3) != 0) {
        return NULL;
    }
    return sw_format("torchrun --nnodes %d --nproc-per-node %d --node-rank \"$NODE_RANK\""
                     " --master-addr \"$MASTER_ADDR\" --master-port \"$MASTER_PORT\"%s %s",
                     nodes, per_node, how, rest);
}
