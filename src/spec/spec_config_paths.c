/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_config_paths.c - inputs and outputs that are named by a place of `config` or by the name of one
 * of the `args`: does that place exist, and do the parts fit together?
 *
 * A place that is not there would be passed over by the runner after all else was fetched, and the
 * command would find a URI where it expects a file; so a slip of the pen is an error here.
 *
 * Pure. Called by spec_resolve.c when all levels are merged: a flag may add the missing place.
 */
#include "spec/spec_internal.h"

#include <string.h>

#include "core/keypath.h"

enum { PLACES_MAX = 2000 };        /* as many are looked at for "did you mean" */

struct places {
    const json_t *config, *args;       /* one of them, or neither */
    const json_t *sources;
    struct spec_problems *problems;
};

struct names {
    char *items[PLACES_MAX];
    size_t count;
};

static void names_done(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names);
}
SW_DEFINE_AUTO(names, struct names *, names_done)

/* Every place of the document, as a declaration would write it. */
static void collect(struct names *names, const json_t *value, const char *path)
{
    const char *key;
    json_t *inside;
    size_t i;

    json_object_foreach((json_t *)value, key, inside) {
        sw_autofree char *below = *path ? sw_format("%s.%s", path, key) : sw_strdup(key);

        if (names->count == PLACES_MAX)
            return;
        names->items[names->count++] = sw_strdup(below);
        collect(names, inside, below);
    }
    json_array_foreach(value, i, inside) {
        sw_autofree char *below = sw_format("%s[%zu]", path, i);

        if (json_is_object(inside))
            collect(names, inside, below);
    }
}

static bool is_there(const struct places *places, const char *key)
{
    return places->args ? json_object_get(places->args, key) != NULL
                        : sw_keypath_get(places->config, key) != NULL;
}

static void complain(const struct places *places, const char *list, const char *key,
                     const char *why)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    sw_autofree char *shown = spec_shown(key);

    sw_path_add_key(&path, list);
    sw_path_add_key(&path, key);
    spec_problem(places->problems, spec_source_below(places->sources, sw_buf_text(&path)),
                 "%s: '%s' %s", list, shown, why);
}

static void complain_missing(const struct places *places, const char *list, const char *key,
                             const char *name)
{
    sw_auto(names) struct names *names = sw_new(struct names);
    sw_autofree char *mean = NULL, *shown = spec_shown(name), *why = NULL;

    collect(names, places->args ? places->args : places->config, "");
    mean = spec_did_you_mean(name, (const char *const *)names->items, names->count);
    if (strcmp(key, name) == 0)
        why = sw_format("is not %s%s", places->args ? "one of the args" : "a place of config",
                        mean);
    else
        why = sw_format("follows the annotation '%s', which is not %s%s", shown,
                        places->args ? "one of the args" : "a place of config", mean);
    complain(places, list, key, why);
}

/* Fetched before what it selects, and by its own declaration. */
static bool is_earlier(const json_t *map, const char *annotation, const char *key)
{
    const char *other;
    json_t *entry;

    json_object_foreach((json_t *)map, other, entry) {
        if (strcmp(other, key) == 0)
            return false;
        if (strcmp(other, annotation) == 0)
            return true;
    }
    return false;
}

static const char *annotation_of(const json_t *entry)
{
    return sw_json_str(json_object_get(entry, "selective"), "annotation");
}

static void check_config_inputs(const struct places *places, const json_t *map)
{
    const char *key, *annotation;
    json_t *entry;

    json_object_foreach((json_t *)map, key, entry) {
        annotation = annotation_of(entry);
        if (!is_there(places, key))
            complain_missing(places, "config_inputs", key, key);
        else if (annotation && !is_there(places, annotation))
            complain_missing(places, "config_inputs", key, annotation);
        else if (annotation && !is_earlier(map, annotation, key))
            complain(places, "config_inputs", key,
                     "selects by an annotation that has to be declared before it");
    }
}

static void check_config_outputs(const struct places *places, const json_t *map,
                                 const json_t *inputs)
{
    const char *key;
    json_t *entry;

    json_object_foreach((json_t *)map, key, entry) {
        if (json_object_get(inputs, key))
            complain(places, "config_outputs", key, "is one of the config_inputs, too");
        else if (!places->args && sw_keypath_check(key, NULL) < 0)
            complain(places, "config_outputs", key, "is not a place such as train.results_dir");
    }
}

/* Paths of the job name each other here, not places. */
static void check_inputs(const struct places *places, const json_t *map)
{
    const char *key, *annotation;
    json_t *entry;

    json_object_foreach((json_t *)map, key, entry) {
        annotation = annotation_of(entry);
        if (annotation && !is_earlier(map, annotation, key))
            complain(places, "inputs", key,
                     "selects by an annotation that has to be an input declared before it");
    }
}

static void check_args(const struct places *places, const json_t *args)
{
    const char *name;
    json_t *value;

    if (!json_is_object(args))
        spec_problem(places->problems, spec_source_below(places->sources, "args"),
                     "args: expected a mapping of options, each becomes --NAME VALUE");
    json_object_foreach((json_t *)args, name, value)
        if (json_is_object(value) || json_is_null(value))
            complain(places, "args", name, json_is_null(value)
                     ? "has no value (put an option without one in 'flags')"
                     : "is a mapping: an option takes one value or a list");
}

/* TOML has no null; an output's place is filled in before it is written. Elements of a list stand
 * where the list stands. */
static void check_nulls(const struct places *places, const json_t *value, struct sw_buf *path,
                        const char *list, const json_t *outputs)
{
    const char *source = spec_source_below(places->sources, sw_buf_text(path)), *key;
    size_t mark = path->length, i;
    json_t *inside;

    source = source ? source : list;
    if (json_is_null(value) && !json_object_get(outputs, sw_buf_text(path) + strlen("config."))) {
        sw_autofree char *shown = spec_shown(sw_buf_text(path));

        spec_problem(places->problems, source,
                     "%s: has no value, which TOML cannot express (config_format: yaml and json can)",
                     shown);
    }
    json_object_foreach((json_t *)value, key, inside) {
        sw_path_add_key(path, key);
        check_nulls(places, inside, path, NULL, outputs);
        path->length = mark;
    }
    json_array_foreach(value, i, inside) {
        sw_path_add_index(path, i);
        check_nulls(places, inside, path, source, outputs);
        path->length = mark;
    }
    if (path->data)
        path->data[mark] = '\0';
}

static void check_toml(const struct places *places, const json_t *values)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;

    if (!places->config || strcmp(sw_json_str(values, "config_format"), "toml") != 0)
        return;
    sw_path_add_key(&path, "config");
    check_nulls(places, places->config, &path, NULL, json_object_get(values, "config_outputs"));
}

void spec_check_config_paths(const struct spec_level *level, struct spec_problems *problems)
{
    const json_t *values = level->values;
    const json_t *config = json_object_get(values, "config"), *args = json_object_get(values, "args");
    const json_t *inputs = json_object_get(values, "config_inputs");
    const json_t *outputs = json_object_get(values, "config_outputs");
    const struct places places = { config, args, level->sources, problems };

    check_inputs(&places, json_object_get(values, "inputs"));
    if (args)
        check_args(&places, args);
    if (args && config) {
        spec_problem(problems, spec_source_below(level->sources, "args"),
                     "args: use 'config' or 'args', not both");
        return;
    }
    if (!args && !config) {
        if (json_object_size(inputs) || json_object_size(outputs))
            spec_problem(problems, spec_source_below(level->sources, json_object_size(inputs)
                                                         ? "config_inputs" : "config_outputs"),
                         "config_inputs and config_outputs name places of 'config' or 'args', and "
                         "the job has neither");
        return;
    }
    check_toml(&places, values);
    check_config_inputs(&places, inputs);
    check_config_outputs(&places, outputs, inputs);
}
