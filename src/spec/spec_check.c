/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_check.c - one value against one row: right type, right range, in its normal form.
 *
 * Nothing stops at the first fault: a bad value is complained about and left out, and the check
 * goes on. Values of env are never shown in a complaint, since one of them may be a secret that
 * should not have been there.
 */
#include "spec/spec_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

static const char *kind_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:  return "a mapping";
    case JSON_ARRAY:   return "a list";
    case JSON_STRING:  return "a string";
    case JSON_INTEGER: return "a whole number";
    case JSON_REAL:    return "a number";
    case JSON_TRUE:
    case JSON_FALSE:   return "true or false";
    case JSON_NULL:    return "nothing";
    }
    return "something else";
}

static json_t *wrong_type(struct spec_check *check, const char *wanted, const json_t *value)
{
    sw_autofree char *subject = spec_subject(check, sw_buf_text(&check->path));
    bool quotes = strcmp(wanted, "a string") == 0 && !json_is_object(value) && !json_is_array(value);

    spec_complain(check, "%sexpected %s, found %s%s", subject, wanted, kind_of(value),
                  quotes ? " (quote it if you mean a string)" : "");
    return NULL;
}

static json_t *refuse(struct spec_check *check, const char *reason)
{
    sw_autofree char *subject = spec_subject(check, sw_buf_text(&check->path));

    spec_complain(check, "%s%s", subject, reason);
    return NULL;
}

/* "slurm.time" is ruled by what holds for "time". */
static const char *portable_path(const struct spec_check *check, const char *path)
{
    for (size_t i = 0; i < check->platform_count; i++) {
        size_t length = strlen(check->platforms[i].name);

        if (strncmp(path, check->platforms[i].name, length) == 0 && path[length] == '.')
            return path + length + 1;
    }
    return path;
}

/* Does a rule of spec_rules.c forbid this value? */
static bool rules_hold(struct spec_check *check, const char *path, enum spec_rule_on on,
                       const json_t *value)
{
    const char *ruled = portable_path(check, path);

    for (const struct spec_rule *rule = NULL; (rule = spec_rule_next(rule, ruled, on));) {
        sw_autofree char *shown = NULL;
        sw_autofree char *subject = NULL;

        if (rule->holds(value))
            continue;
        subject = spec_subject(check, path);
        shown = json_is_string(value) ? spec_shown(json_string_value(value))
                                      : spec_text_of_number(value);
        spec_complain(check, "%s'%s' is not %s", subject, shown, rule->wanted);
        return false;
    }
    return true;
}

static json_t *check_text(struct spec_check *check, const struct sw_option *row,
                          const json_t *value)
{
    if (!json_is_string(value))
        return wrong_type(check, "a string", value);
    if (strlen(json_string_value(value)) != json_string_length(value))
        return refuse(check, "contains a NUL character");
    return spec_fill_variables(check, row, json_copy((json_t *)value));
}

/* As the file has it; NULL: the value gives the same text, or there is no file. */
static const char *written(const struct spec_check *check)
{
    bool from_file = check->origin == SPEC_FILE || check->origin == SPEC_PROFILE;

    return from_file ? sw_document_written(check->document, sw_buf_text(&check->place)) : NULL;
}

/* Lists and maps of texts take numbers and true/false too, as they are written: `flags: [3.10]`. */
static json_t *check_scalar_text(struct spec_check *check, const struct sw_option *row, const json_t *value)
{
    sw_autofree char *text = NULL;

    if ((json_is_boolean(value) || json_is_number(value)) && written(check))
        return sw_json_text(written(check));
    if (json_is_boolean(value))
        return json_string(json_is_true(value) ? "true" : "false");
    if (json_is_number(value)) {
        text = spec_text_of_number(value);
        return json_string(text);
    }
    if (json_is_null(value))
        return refuse(check, "has no value (write \"\" for an empty string)");
    return check_text(check, row, value);
}

static bool in_bounds(struct spec_check *check, const struct sw_option *row, int64_t value)
{
    sw_autofree char *subject = NULL;
    char least[32], most[32];

    if ((row->least == 0 && row->most == 0) ||
        (value >= row->least && (row->most == 0 || value <= row->most)))
        return true;
    subject = spec_subject(check, sw_buf_text(&check->path));
    if (row->type == SW_DURATION) {
        sw_duration_format(row->least, least);
        sw_duration_format(row->most, most);
    } else {
        snprintf(least, sizeof least, "%" PRId64, row->least);
        snprintf(most, sizeof most, "%" PRId64, row->most);
    }
    if (row->most)
        spec_complain(check, "%sout of range, expected %s to %s", subject, least, most);
    else
        spec_complain(check, "%sout of range, expected %s or more", subject, least);
    return false;
}

static json_t *check_whole(struct spec_check *check, const struct sw_option *row,
                           const json_t *value)
{
    if (!json_is_integer(value))
        return wrong_type(check, sw_type_name(row->type), value);
    return in_bounds(check, row, json_integer_value(value)) ? json_copy((json_t *)value) : NULL;
}

static json_t *check_number(struct spec_check *check, const struct sw_option *row,
                            const json_t *value)
{
    if (!json_is_number(value))
        return wrong_type(check, sw_type_name(row->type), value);
    return json_copy((json_t *)value);
}

static json_t *check_flag(struct spec_check *check, const struct sw_option *row,
                          const json_t *value)
{
    if (!json_is_boolean(value))
        return wrong_type(check, sw_type_name(row->type), value);
    return json_boolean(json_is_true(value));
}

static json_t *wrong_quantity(struct spec_check *check, const struct sw_option *row,
                              const char *text, bool too_large)
{
    sw_autofree char *subject = spec_subject(check, sw_buf_text(&check->path));
    sw_autofree char *shown = spec_shown(text);

    if (too_large)
        spec_complain(check, "%s'%s' is too large", subject, shown);
    else
        spec_complain(check, "%s'%s' is not %s", subject, shown, sw_type_name(row->type));
    return NULL;
}

/* A bare number is bytes, and hardly ever meant so. */
static json_t *too_small(struct spec_check *check, const struct sw_option *row, const char *text,
                         int64_t bytes)
{
    sw_autofree char *subject = spec_subject(check, sw_buf_text(&check->path));
    sw_autofree char *shown = spec_shown(text);
    bool bare = bytes > 0 && text[strspn(text, "0123456789 ")] == '\0';
    char least[32];

    sw_size_format(row->least, least);
    spec_complain(check, "%s%s is %" PRId64 " bytes, expected %s or more%s%s%s", subject, shown, bytes, least,
                  bare ? "; did you mean " : "", bare ? shown : "", bare ? "GiB?" : "");
    return NULL;
}

/* Durations, sizes and GPUs: a number or a text, normalised to the text their parser takes. */
static json_t *check_quantity(struct spec_check *check, const struct sw_option *row,
                              const json_t *value)
{
    sw_autofree char *text = NULL;
    sw_autofree char *gpu_type = NULL;
    int64_t amount = 0;
    int gpus = 0, result;

    if (json_is_number(value))
        text = spec_text_of_number(value);
    else if (json_is_string(value))
        text = sw_strdup(json_string_value(value));
    else
        return wrong_type(check, sw_type_name(row->type), value);
    if (row->type == SW_DURATION)
        result = sw_duration_parse(text, &amount, NULL);
    else if (row->type == SW_SIZE)
        result = sw_size_parse(text, &amount, NULL);
    else
        result = sw_gpus_parse(text, &gpu_type, &gpus, NULL);
    if (result < 0)
        return wrong_quantity(check, row, text, result == SW_TOO_LARGE);
    if (row->type == SW_SIZE && amount < row->least)
        return too_small(check, row, text, amount);
    return in_bounds(check, row, amount) ? json_string(text) : NULL;
}

/* A duration, or two of them: spec_rules.c knows what a range is. */
static json_t *check_durations(struct spec_check *check, const struct sw_option *row, const json_t *value)
{
    sw_autofree char *text = NULL;

    if (!json_is_number(value))
        return check_text(check, row, value);
    text = spec_text_of_number(value);
    return json_string(text);
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;

    while (words && words[count])
        count++;
    return count;
}

static bool is_a_choice(struct spec_check *check, const struct sw_option *row, const char *word)
{
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    sw_autofree char *subject = NULL, *shown = NULL, *mean = NULL;
    size_t count = count_words(row->choices);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(row->choices[i], word) == 0)
            return true;
        sw_buf_addf(&all, "%s%s", i ? ", " : "", row->choices[i]);
    }
    subject = spec_subject(check, sw_buf_text(&check->path));
    shown = spec_shown(word);
    mean = spec_did_you_mean(word, row->choices, count);
    spec_complain(check, "%s'%s' is not one of %s%s", subject, shown, sw_buf_text(&all), mean);
    return false;
}

static json_t *check_choice(struct spec_check *check, const struct sw_option *row,
                            const json_t *value)
{
    sw_auto(json) json_t *text = check_text(check, row, value);

    if (!text || !is_a_choice(check, row, json_string_value(text)))
        return NULL;
    return sw_take(text);
}

static json_t *check_texts(struct spec_check *check, const struct sw_option *row,
                           const json_t *value)
{
    sw_auto(json) json_t *list = json_array();
    sw_autofree char *path = sw_strdup(sw_buf_text(&check->path));
    size_t count = json_is_array(value) ? json_array_size(value) : 1;

    if (json_is_object(value))
        return wrong_type(check, sw_type_name(row->type), value);
    for (size_t i = 0; i < count; i++) {
        const json_t *element = json_is_array(value) ? json_array_get(value, i) : value;
        struct spec_mark mark = spec_enter_index(check, i);
        sw_auto(json) json_t *text = check_scalar_text(check, row, element);

        if (text && rules_hold(check, path, SPEC_ON_EACH, text) &&
            (!row->choices || is_a_choice(check, row, json_string_value(text))))
            json_array_append(list, text);
        spec_leave(check, mark);
    }
    return sw_take(list);
}

static bool key_is_good(struct spec_check *check, const char *path, const char *key)
{
    sw_auto(json) json_t *text = json_string(key);

    return !text || rules_hold(check, path, SPEC_ON_KEYS, text);
}

static json_t *check_text_map(struct spec_check *check, const struct sw_option *row,
                              const json_t *value)
{
    sw_auto(json) json_t *map = json_object();
    sw_autofree char *path = sw_strdup(sw_buf_text(&check->path));
    const char *key;
    json_t *element;

    if (!json_is_object(value))
        return wrong_type(check, sw_type_name(row->type), value);
    json_object_foreach((json_t *)value, key, element) {
        struct spec_mark mark = spec_enter(check, key);

        sw_buf_clear(&check->filled);
        if (!json_is_null(element) && key_is_good(check, path, key)) {
            json_t *text = check_scalar_text(check, row, element);

            if (text) {
                json_object_set_new(map, key, text);
                spec_remember_source(check);
            }
        }
        spec_leave(check, mark);
    }
    return sw_take(map);
}

static json_t *check_group(struct spec_check *check, const struct sw_option *row,
                           const json_t *value)
{
    if (!json_is_object(value))
        return wrong_type(check, sw_type_name(row->type), value);
    return spec_check_fields(check, row->fields, value);
}

/* An entry of inputs or outputs: the text alone stands for the first field of the group. */
static json_t *check_entry(struct spec_check *check, const struct sw_option *row,
                           const json_t *value)
{
    sw_auto(json) json_t *text = NULL;
    struct spec_mark mark;

    if (json_is_object(value))
        return spec_check_fields(check, row->fields, value);
    if (json_is_null(value) && row->list_shorthand)
        return json_object();
    text = check_text(check, &row->fields[0], value);
    if (!text || (row->fields[0].choices &&
                  !is_a_choice(check, &row->fields[0], json_string_value(text))))
        return NULL;
    mark = spec_enter(check, row->fields[0].name);      /* its place is the entry's own */
    spec_remember_source(check);
    spec_leave(check, mark);
    return json_pack("{s:O}", row->fields[0].name, text);
}

static void check_listed_paths(struct spec_check *check, const struct sw_option *row, const json_t *list,
                               const char *path, json_t *map)
{
    size_t i;
    json_t *element;

    json_array_foreach(list, i, element) {
        struct spec_mark mark = spec_enter_index(check, i);
        sw_auto(json) json_t *text = NULL;

        sw_buf_clear(&check->filled);
        text = check_text(check, row, element);
        if (text && key_is_good(check, path, json_string_value(text))) {
            json_object_set_new(map, json_string_value(text), json_object());
            spec_rename(check, mark, json_string_value(text));
            spec_remember_source(check);
        }
        spec_leave(check, mark);
    }
}

static json_t *check_map_of(struct spec_check *check, const struct sw_option *row,
                            const json_t *value)
{
    sw_auto(json) json_t *map = json_object();
    sw_autofree char *path = sw_strdup(sw_buf_text(&check->path));
    const char *key;
    json_t *element;

    if (json_is_array(value) && row->list_shorthand)
        check_listed_paths(check, row, value, path, map);
    else if (!json_is_object(value))
        return wrong_type(check, sw_type_name(row->type), value);
    json_object_foreach((json_t *)value, key, element) {
        struct spec_mark mark = spec_enter(check, key);
        json_t *entry;

        sw_buf_clear(&check->filled);
        entry = key_is_good(check, path, key) ? check_entry(check, row, element) : NULL;

        if (entry) {
            json_object_set_new(map, key, entry);
            if (json_object_size(entry) == 0)
                spec_remember_source(check);
        }
        spec_leave(check, mark);
    }
    return sw_take(map);
}

/* Any document; only the places of its leaves are remembered. Lists count as leaves. */
static void remember_leaves(struct spec_check *check, const json_t *value)
{
    const char *key;
    json_t *element;

    if (!json_is_object(value) || json_object_size(value) == 0) {
        spec_remember_source(check);
        return;
    }
    json_object_foreach((json_t *)value, key, element) {
        struct spec_mark mark = spec_enter(check, key);

        remember_leaves(check, element);
        spec_leave(check, mark);
    }
}

static json_t *check_free(struct spec_check *check, const struct sw_option *row,
                          const json_t *value)
{
    json_t *copy = json_deep_copy(value), *element;
    const char *key;

    remember_leaves(check, value);
    json_object_foreach(row->as_written ? copy : NULL, key, element) {
        struct spec_mark mark = spec_enter(check, key);

        if (json_is_number(element))
            json_object_set_new(copy, key, spec_number_as_written(element, written(check)));
        spec_leave(check, mark);
    }
    return copy;
}

/* The value at this path is wrong. Where its name is the user's own (env.LR), the key around it is meant. */
static void note_key(const struct spec_check *check, const struct sw_option *row)
{
    struct spec_problems *problems = check->problems;
    const char *path = sw_buf_text(&check->path), *dot = strrchr(path, '.');
    bool named = strcmp(dot ? dot + 1 : path, row->name) == 0;

    if (!problems->key[0] && (!dot || named) && strlen(path) < sizeof problems->key)
        strcpy(problems->key, path);
}

json_t *spec_check_value(struct spec_check *check, const struct sw_option *row,
                         const json_t *value)
{
    static json_t *(*const by_type[])(struct spec_check *, const struct sw_option *,
                                      const json_t *) = {
        [SW_TEXT] = check_text,         [SW_WHOLE] = check_whole,
        [SW_NUMBER] = check_number,     [SW_FLAG] = check_flag,
        [SW_DURATION] = check_quantity, [SW_SIZE] = check_quantity,
        [SW_DURATIONS] = check_durations,
        [SW_GPUS] = check_quantity,     [SW_CHOICE] = check_choice,
        [SW_TEXTS] = check_texts,       [SW_TEXT_MAP] = check_text_map,
        [SW_GROUP] = check_group,       [SW_MAP_OF] = check_map_of,
        [SW_FREE] = check_free,
    };
    sw_auto(json) json_t *normal = NULL;
    size_t problems = check->problems->count;
    bool holds;

    if (json_is_null(value))
        return NULL;
    sw_buf_clear(&check->filled);
    normal = by_type[row->type](check, row, value);
    holds = normal && rules_hold(check, sw_buf_text(&check->path), SPEC_ON_VALUE, normal);
    if (check->problems->count > problems && row->type != SW_GROUP)
        note_key(check, row);
    if (!holds)
        return NULL;
    if (row->type != SW_FREE && (!json_is_object(normal) || json_object_size(normal) == 0))
        spec_remember_source(check);
    return sw_take(normal);
}
