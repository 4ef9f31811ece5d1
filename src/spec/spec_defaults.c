/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_defaults.c - the two lowest levels, and what is still missing when they are done.
 *
 * Environment variables and defaults are read from the tables' own rows, as text, and go
 * through the same check as a job file. A variable that something higher overrides is not even
 * looked at: a stale SLURM_PARTITION must not spoil a job that names its partition.
 */
#include "spec/spec_internal.h"

#include <string.h>

#include "base/text.h"

/* The object that holds the values of the platform's block; made when it is not there. */
static json_t *block_of(json_t *values, const char *platform)
{
    json_t *block = json_object_get(values, platform);

    if (!block) {
        block = json_object();
        json_object_set_new(values, platform, block);
    }
    return block;
}

/* "a,b" in a variable or a table is a list of two. */
static json_t *value_of(const struct sw_option *row, const char *text)
{
    sw_autofree char *copy = NULL;
    json_t *list;
    char *rest;

    if (row->type != SW_TEXTS)
        return spec_value_of_text(row, text);
    list = json_array();
    rest = copy = sw_strdup(text);
    for (char *piece; (piece = strsep(&rest, ","));)
        if (*piece)
            json_array_append_new(list, sw_json_text(piece));
    return list;
}

static void give(struct spec_check *check, json_t *object, const struct sw_option *row,
                 const char *label, const char *text)
{
    struct spec_mark mark = spec_enter(check, row->name);
    sw_auto(json) json_t *value = value_of(row, text);
    json_t *checked;

    check->origin = SPEC_ELSEWHERE;
    check->label = label;
    checked = spec_check_value(check, row, value);
    if (checked)
        json_object_set_new(object, row->name, checked);
    spec_leave(check, mark);
}

struct variables {
    sw_env_fn *get;                /* NULL: there are none */
    void *context;
};

typedef void fill_fn(struct spec_check *check, json_t *object, const struct sw_option *row,
                     const struct variables *env);

static void fill_from_environment(struct spec_check *check, json_t *object,
                                  const struct sw_option *row, const struct variables *env)
{
    const char *text = NULL;
    sw_autofree char *label = NULL;

    /* One that is not needed is not asked for: a folder's file may have it (api/folder.c). */
    if (row->env && env->get && !json_object_get(object, row->name))
        text = env->get(env->context, row->env);
    if (sw_text_empty(text))
        return;
    label = sw_format("environment %s", row->env);
    give(check, object, row, label, text);
}

static void fill_default(struct spec_check *check, json_t *object, const struct sw_option *row,
                         const struct variables *env)
{
    json_t *mine = json_object_get(object, row->name);
    struct spec_mark mark;
    const char *key;
    json_t *entry;

    if (row->initial && !mine)
        give(check, object, row, "default", row->initial);
    if (!row->fields || !mine)
        return;
    mark = spec_enter(check, row->name);           /* defaults inside groups that are in use */
    for (const struct sw_option *field = row->fields; field->name; field++) {
        if (row->type == SW_GROUP)
            fill_default(check, mine, field, env);
        else
            json_object_foreach(mine, key, entry) {
                struct spec_mark inner = spec_enter(check, key);

                fill_default(check, entry, field, env);
                spec_leave(check, inner);
            }
    }
    spec_leave(check, mark);
}

/* The platform's rows first: what it says about a portable key is the more special word. */
static void fill(struct spec_level *into, struct spec_check *check,
                 const struct sw_spec_platform *platform, fill_fn *fn,
                 const struct variables *env)
{
    check->sources = into->sources;
    for (const struct sw_option *row = platform->options; row && row->name; row++) {
        const struct sw_option *portable = sw_option_find(sw_spec_keys, row->name);
        struct spec_mark mark;

        if (portable) {
            struct sw_option both = *portable;

            both.env = row->env;
            both.initial = row->initial;
            fn(check, into->values, &both, env);
            continue;
        }
        mark = spec_enter(check, platform->name);
        fn(check, block_of(into->values, platform->name), row, env);
        spec_leave(check, mark);
    }
    for (const struct sw_option *row = sw_spec_keys; row->name; row++)
        fn(check, into->values, row, env);
    check->sources = NULL;
}

void spec_add_environment(struct spec_level *into, struct spec_check *check,
                          const struct sw_spec_platform *platform, sw_env_fn *env,
                          void *env_context)
{
    const struct variables variables = { env, env_context };

    fill(into, check, platform, fill_from_environment, &variables);
}

void spec_add_defaults(struct spec_level *into, struct spec_check *check,
                       const struct sw_spec_platform *platform)
{
    fill(into, check, platform, fill_default, NULL);
}

static void fill_rows(struct spec_level *into, struct spec_check *check, const struct sw_option *rows,
                      fill_fn *fn, const struct variables *env)
{
    check->sources = into->sources;
    for (; rows->name; rows++)
        fn(check, into->values, rows, env);
    check->sources = NULL;
}

void spec_add_row_environment(struct spec_level *into, struct spec_check *check, const struct sw_option *rows,
                              sw_env_fn *env, void *env_context)
{
    const struct variables variables = { env, env_context };

    fill_rows(into, check, rows, fill_from_environment, &variables);
}

void spec_add_row_defaults(struct spec_level *into, struct spec_check *check, const struct sw_option *rows)
{
    fill_rows(into, check, rows, fill_default, NULL);
}

const char *spec_source_below(const json_t *sources, const char *path)
{
    size_t length = strlen(path);
    const char *key;
    json_t *source;

    json_object_foreach((json_t *)sources, key, source)
        if (strncmp(key, path, length) == 0 && strchr(".[", key[length]) &&
            strcmp(json_string_value(source), "default") != 0)
            return json_string_value(source);
    return NULL;
}

static void require_fields(const struct spec_level *level, struct spec_check *check,
                           const struct sw_option *rows, const json_t *object)
{
    for (const struct sw_option *row = rows; row && row->name; row++) {
        const json_t *value = json_object_get(object, row->name);
        sw_autofree char *shown = NULL;

        if (value && row->type == SW_GROUP) {
            struct spec_mark mark = spec_enter(check, row->name);

            require_fields(level, check, row->fields, value);
            spec_leave(check, mark);
        }
        if (!row->required || value)
            continue;
        shown = spec_shown(sw_buf_text(&check->path));
        spec_problem(check->problems,
                     spec_source_below(level->sources, sw_buf_text(&check->path)),
                     "%s: '%s' is required%s%s%s", shown, row->name,
                     row->env ? " (or set " : "", row->env ? row->env : "", row->env ? ")" : "");
    }
}

void spec_require(const struct spec_level *level, struct spec_check *check,
                  const struct sw_spec_platform *platform)
{
    struct spec_mark mark = spec_enter(check, platform->name);
    const char *key;
    json_t *entry;

    require_fields(level, check, platform->options,
                   json_object_get(level->values, platform->name));
    spec_leave(check, mark);
    for (const struct sw_option *row = sw_spec_keys; row->name; row++) {
        const json_t *value = json_object_get(level->values, row->name);

        if (!row->fields || !value)
            continue;
        mark = spec_enter(check, row->name);
        if (row->type == SW_GROUP)
            require_fields(level, check, row->fields, value);
        else
            json_object_foreach((json_t *)value, key, entry) {
                struct spec_mark inner = spec_enter(check, key);

                require_fields(level, check, row->fields, entry);
                spec_leave(check, inner);
            }
        spec_leave(check, mark);
    }
}
