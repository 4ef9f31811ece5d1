/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_generic_table.c - see cli_generic_table.h. The shape of a document decides how it is shown: a
 * value is a few words, a list of things is a table with a column for each of their properties.
 */
#include "cli/cli_generic_table.h"

#include <ctype.h>
#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cli_zone.h"

enum { COLUMNS_MOST = 24 };

char *cli_generic_title(const char *key)
{
    size_t unit = sw_text_ends(key, "_bytes") ? strlen("_bytes")
                  : sw_text_ends(key, "_at")  ? strlen("_at") : 0;
    char *words = sw_strndup(key, strlen(key) - unit);

    for (char *at = words; *at; at++)
        if (*at == '_')
            *at = ' ';
    return words;
}

static void add_value(struct sw_buf *out, const char *key, const json_t *value);

static void add_members(struct sw_buf *out, const json_t *value)
{
    const char *name;
    const json_t *each;
    json_t *member;
    size_t i;

    json_array_foreach(value, i, each) {
        sw_buf_add(out, out->length ? ", " : "");
        add_value(out, "", each);
    }
    json_object_foreach((json_t *)value, name, member) {
        sw_buf_addf(out, "%s%s ", out->length ? ", " : "", name);
        if (json_is_array(member) || json_is_object(member))
            sw_buf_addf(out, "%zu", json_is_array(member) ? json_array_size(member)
                                                          : json_object_size(member));
        else
            add_value(out, name, member);
    }
}

static void add_value(struct sw_buf *out, const char *key, const json_t *value)
{
    char size[32], time[CLI_TIME_SIZE] = "";

    if (json_is_string(value) && sw_text_ends(key, "_at")) {
        cli_time_text(cli_time_ms(json_string_value(value)), time);
        sw_buf_add(out, time);
    } else if (json_is_string(value)) {
        sw_buf_add(out, json_string_value(value));
    } else if (json_is_boolean(value)) {
        sw_buf_add(out, json_is_true(value) ? "yes" : "no");
    } else if (json_is_integer(value) && sw_text_ends(key, "_bytes")) {
        sw_size_format(json_integer_value(value), size);
        sw_buf_add(out, size);
    } else if (json_is_number(value)) {
        sw_autofree char *text = sw_json_dump(value);

        sw_buf_add(out, text);
    } else if (json_is_array(value) || json_is_object(value)) {
        sw_auto(sw_buf) struct sw_buf members = SW_BUF_INIT;

        add_members(&members, value);
        sw_buf_add(out, sw_buf_text(&members));
    }
}

char *cli_generic_value(const char *key, const json_t *value)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    add_value(&text, key, value);
    return sw_strdup(sw_buf_text(&text));
}

/* ---- lists of things ------------------------------------------------------------------------- */

bool cli_is_list_of_objects(const json_t *value)
{
    return json_is_object(json_array_get(value, 0));
}

/* What people look for first stays when the terminal is narrow. */
static bool is_wanted(const char *key)
{
    static const char *const wanted[] = { "gpus_free", "gpus_total", "time_limit_minutes", "status",
                                          "message", "exit_code" };

    for (size_t i = 0; i < SW_COUNT(wanted); i++)
        if (strcmp(key, wanted[i]) == 0)
            return true;
    return false;
}

static bool is_empty(const json_t *value)
{
    return json_is_null(value) || (json_is_string(value) && !json_string_length(value)) ||
           (json_is_object(value) && !json_object_size(value)) ||
           (json_is_array(value) && !json_array_size(value));
}

/* The properties that any of them has, in the order in which they were first met. */
static size_t properties(const json_t *things, const char *keys[COLUMNS_MOST])
{
    size_t count = 0, i, at;
    const json_t *thing;
    const char *key;
    json_t *value;

    json_array_foreach(things, i, thing)
        json_object_foreach((json_t *)thing, key, value) {
            for (at = 0; at < count && strcmp(keys[at], key) != 0; at++)
                ;
            if (at == count && count < COLUMNS_MOST && !is_empty(value))
                keys[count++] = key;
        }
    return count;
}

void cli_generic_table(struct sw_buf *out, const struct cli *cli, const json_t *things)
{
    const char *keys[COLUMNS_MOST];
    char *titles[COLUMNS_MOST];
    struct sw_column columns[COLUMNS_MOST] = { 0 };
    size_t count = properties(things, keys), i;
    struct sw_table *table;
    const json_t *thing;

    for (size_t c = 0; c < count; c++) {
        titles[c] = cli_generic_title(keys[c]);
        for (char *at = titles[c]; *at; at++)
            *at = (char)toupper((unsigned char)*at);
        columns[c] = (struct sw_column){ titles[c], .least = is_wanted(keys[c]) ? strlen(titles[c]) : 8,
                                         .drop = is_wanted(keys[c]) ? 1 : (int)c + (c > 0) };
    }
    table = sw_table_new(columns, count);
    json_array_foreach(things, i, thing)
        for (size_t c = 0; c < count; c++) {
            sw_autofree char *text = cli_generic_value(keys[c], json_object_get(thing, keys[c]));

            sw_table_cell(table, text, NULL);
        }
    sw_table_write(table, cli->screen.width, cli->screen.out_color, out);
    sw_table_free(table);
    for (size_t c = 0; c < count; c++)
        free(titles[c]);
}
