/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_merge.c - the higher level wins, value by value, and every value keeps its source.
 *
 * Maps are merged key by key (env, inputs, config, groups, platform blocks), so a flag changes
 * one variable and not all of them. Lists are taken whole from the highest level that has one;
 * only lists whose row says `unites` add up, because dropping a secret silently is never what
 * `--secret` meant.
 */
#include "spec/spec_internal.h"

#include <string.h>

struct merge {
    const struct sw_spec_platform *platforms;
    size_t platform_count;
    json_t *into_sources;
    const json_t *from_sources;
    struct sw_buf path;
};

static size_t enter(struct merge *merge, const char *key)
{
    size_t mark = merge->path.length;

    sw_path_add_key(&merge->path, key);
    return mark;
}

static void leave(struct merge *merge, size_t mark)
{
    merge->path.length = mark;
    merge->path.data[mark] = '\0';
}

static void take_source(struct merge *merge)
{
    const char *path = sw_buf_text(&merge->path);
    json_t *source = json_object_get(merge->from_sources, path);

    if (source)
        json_object_set(merge->into_sources, path, source);
}

static bool list_has(const json_t *list, const json_t *value)
{
    size_t i;
    json_t *element;

    json_array_foreach(list, i, element)
        if (json_equal(element, value))
            return true;
    return false;
}

static void unite(struct merge *merge, json_t *into, const json_t *from)
{
    const char *path = sw_buf_text(&merge->path);
    const char *above = sw_json_str(merge->into_sources, path);
    const char *below = sw_json_str(merge->from_sources, path);
    size_t before = json_array_size(into), i;
    json_t *element;

    json_array_foreach(from, i, element)
        if (!list_has(into, element))
            json_array_append(into, element);
    if (json_array_size(into) > before && above && below) {
        sw_autofree char *both = sw_format("%s, %s", above, below);

        json_object_set_new(merge->into_sources, path, sw_json_text(both));
    }
}

/* The table below this key: a group's fields, or at the top a platform's options. */
static const struct sw_option *rows_below(const struct merge *merge, const struct sw_option *row,
                                          const char *key, bool top)
{
    const struct sw_spec_platform *platform =
        top ? spec_platform(merge->platforms, merge->platform_count, key) : NULL;

    if (row)
        return row->fields;
    return platform ? platform->options : NULL;
}

static void merge_object(struct merge *merge, json_t *into, const json_t *from,
                         const struct sw_option *rows)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)from, key, value) {
        const struct sw_option *row = sw_option_find(rows, key);
        json_t *mine = json_object_get(into, key);
        size_t mark = enter(merge, key);

        if (!mine && json_is_object(value)) {
            mine = json_object();
            json_object_set_new(into, key, mine);
            take_source(merge);                      /* an empty map is a value as well */
        } else if (!mine) {
            json_object_set_new(into, key, json_deep_copy(value));
            take_source(merge);
        }
        if (json_is_object(mine) && json_is_object(value))
            merge_object(merge, mine, value, rows_below(merge, row, key, mark == 0));
        else if (row && row->unites && mine)
            unite(merge, mine, value);
        leave(merge, mark);
    }
}

/* command, argv and python are three ways to say one thing: the highest level that says it
 * decides, and lower levels do not add another. */
static json_t *without_other_commands(const json_t *into, const json_t *from)
{
    static const char *const ways[] = { "command", "argv", "python" };
    json_t *rest = json_copy((json_t *)from);
    const char *said = NULL;

    for (size_t i = 0; i < SW_COUNT(ways); i++)
        if (json_object_get(into, ways[i]))
            said = ways[i];
    for (size_t i = 0; said && i < SW_COUNT(ways); i++)
        if (strcmp(said, ways[i]) != 0)
            json_object_del(rest, ways[i]);
    return rest;
}

void spec_merge(struct spec_level *into, const struct spec_level *lower,
                const struct sw_spec_platform *platforms, size_t platform_count)
{
    sw_auto(json) json_t *values = without_other_commands(into->values, lower->values);
    struct merge merge = {
        platforms, platform_count, into->sources, lower->sources, SW_BUF_INIT
    };

    merge_object(&merge, into->values, values, sw_spec_keys);
    sw_buf_done(&merge.path);
}
