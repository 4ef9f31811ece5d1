/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_flags.c - a flag's text becomes a value at its dotted key.
 *
 * The text is first put into an empty document, which is checked like a job file, so that a
 * wrong flag is refused where it is given and in the same words. Only then does it enter the
 * real one. Both "env.A" = "1" and "env" = "A=1" are understood.
 */
#include "spec/spec.h"

#include <string.h>

#include "base/text.h"
#include "spec/spec_internal.h"

static json_t *child_of(json_t *object, const char *key)
{
    json_t *child = json_object_get(object, key);

    if (!json_is_object(child)) {
        child = json_object();
        json_object_set_new(object, key, child);
    }
    return child;
}

static int put_entry(json_t *object, const struct sw_option *row, const char *rest,
                     const char *text, struct sw_error *err)
{
    const char *equals = rest ? NULL : strchr(text, '=');
    bool bracketed = rest && sw_text_starts(rest, "[\"");
    sw_autofree char *name = bracketed ? spec_path_step(&(const char *){ rest })
                             : rest    ? sw_strdup(rest)           /* dots and all */
                             : equals  ? sw_strndup(text, (size_t)(equals - text))
                                       : sw_strdup(text);
    bool bare = !rest && !equals;

    if ((bare && !row->list_shorthand) || !*name)
        return sw_fail(err, SW_E_SPEC, "%s%s: expected NAME=VALUE",
                       row->flag ? "--" : "--set ", row->flag ? row->flag : row->name);
    json_object_set_new(child_of(object, row->name), name,
                        bare ? json_object() : sw_json_text(rest ? text : equals + 1));
    return 0;
}

static int put_free(json_t *object, const struct sw_option *row, const char *rest,
                    const char *text, struct sw_error *err)
{
    json_t *at;

    if (sw_text_empty(rest))
        return sw_fail(err, SW_E_SPEC, "--set %s: write %s.KEY=VALUE", row->name, row->name);
    at = child_of(object, row->name);
    for (int depth = 1; rest; depth++) {
        sw_autofree char *step = spec_path_step(&rest);

        if (!*step || depth >= SW_DOCUMENT_DEPTH)
            return sw_fail(err, SW_E_SPEC, "--set %s: the path of the value %s", row->name,
                           *step ? "is too deep" : "has an empty part");
        if (rest)
            at = child_of(at, step);
        else
            json_object_set_new(at, step, spec_value_of_text(row, text));
    }
    return 0;
}

static int no_such_key(const struct sw_option *rows, const struct sw_spec_platform *platforms,
                       size_t count, const char *key, struct sw_error *err)
{
    size_t word_count = 0;
    sw_autofree const char **words = spec_words(rows, NULL, platforms, count, &word_count);
    sw_autofree char *shown = spec_shown(key);
    sw_autofree char *mean = rows == sw_spec_keys ? spec_familiar(key) : NULL;

    mean = mean ? mean : spec_did_you_mean(key, words, word_count);
    sw_fail(err, SW_E_SPEC, "unknown key '%s'%s", shown, mean);
    return spec_hint_help("", err);
}

static int put_value(json_t *object, const struct sw_option *row, const char *rest,
                     const char *text, struct sw_error *err);

static int put_field(json_t *object, const struct sw_option *row, const char *rest,
                     const char *text, struct sw_error *err)
{
    const struct sw_option *field;
    sw_autofree char *key = NULL;

    if (!rest)
        return sw_fail(err, SW_E_SPEC, "--set %s: is a mapping: set its keys as %s.NAME", row->name,
                       row->name);
    key = spec_path_step(&rest);
    field = sw_option_find(row->fields, key);
    if (!field)
        return no_such_key(row->fields, NULL, 0, key, err) < 0 ? sw_wrap(err, "--set %s.%s", row->name, key)
                                                               : 0;
    return put_value(child_of(object, row->name), field, rest, text, err);
}

static int put_value(json_t *object, const struct sw_option *row, const char *rest,
                     const char *text, struct sw_error *err)
{
    json_t *list;

    switch (row->type) {
    case SW_GROUP:
        return put_field(object, row, rest, text, err);
    case SW_TEXT_MAP:
    case SW_MAP_OF:
        return put_entry(object, row, rest, text, err);
    case SW_FREE:
        return put_free(object, row, rest, text, err);
    default:
        break;
    }
    if (rest)
        return sw_fail(err, SW_E_SPEC, "--set %s: is not a mapping, but '.%s' was given", row->name, rest);
    if (row->type != SW_TEXTS) {
        json_object_set_new(object, row->name, spec_value_of_text(row, text));
        return 0;
    }
    list = json_object_get(object, row->name);
    if (!json_is_array(list)) {
        list = json_array();
        json_object_set_new(object, row->name, list);
    }
    json_array_append_new(list, sw_json_text(text));
    return 0;
}

static int check_alone(const json_t *document, const struct sw_spec_platform *platforms,
                       size_t count, struct sw_error *err)
{
    sw_auto(spec_problems) struct spec_problems problems = SPEC_PROBLEMS_INIT;
    sw_auto(json) json_t *warnings = json_array();
    sw_auto(json) json_t *values = NULL;
    sw_auto(spec_check) struct spec_check check = {
        .platforms = platforms, .platform_count = count, .problems = &problems,
        .warnings = warnings, .origin = SPEC_FLAGS,
    };

    values = spec_check_document(&check, document);
    return spec_problems_report(&problems, err);
}

int sw_spec_set_text(json_t *flags, const struct sw_spec_platform *platforms, size_t count,
                     const char *key, const char *text, struct sw_error *err)
{
    const char *rest = key;
    sw_autofree char *first = spec_path_step(&rest);
    const struct sw_spec_platform *platform = spec_platform(platforms, count, first);
    const struct sw_option *known = sw_option_find(sw_spec_keys, first);
    struct sw_option row;
    sw_auto(json) json_t *alone = json_object();

    if (!known && !platform)
        return no_such_key(sw_spec_keys, platforms, count, first, err);
    row = known ? *known
                : (struct sw_option){ platform->name, SW_GROUP, .fields = platform->options };
    if (put_value(alone, &row, rest, text, err) < 0 ||
        check_alone(alone, platforms, count, err) < 0)
        return -1;
    return put_value(flags, &row, rest, text, err);
}
