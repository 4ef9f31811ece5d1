/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_document.c - a whole job file: its keys, its platform blocks, and what it may not hold.
 *
 * A block adds to the portable part and never contradicts it. Where a platform's table has a
 * row of the same name as a portable key (slurm: {time: 4h}) both mean the same thing, so two
 * different values in one document are a fault. The block of a platform that is not chosen is
 * checked all the same: the fault would only surface on the day the job moves there.
 */
#include "spec/spec_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

const struct sw_spec_platform *spec_platform(const struct sw_spec_platform *platforms,
                                             size_t count, const char *name)
{
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(platforms[i].name, name) == 0 || sw_text_same(platforms[i].alias, name))
            return &platforms[i];
    return NULL;
}

static size_t count_rows(const struct sw_option *rows)
{
    size_t count = 0;

    while (rows && rows[count].name)
        count++;
    return count;
}

const char **spec_words(const struct sw_option *rows, const struct sw_option *more,
                        const struct sw_spec_platform *platforms, size_t platform_count,
                        size_t *count)
{
    size_t rows_count = count_rows(rows), more_count = count_rows(more), n = 0;
    const char **words = sw_realloc_array(NULL, rows_count + more_count + platform_count + 1,
                                          sizeof *words);

    for (size_t i = 0; i < rows_count; i++)
        words[n++] = rows[i].name;
    for (size_t i = 0; i < more_count; i++)
        words[n++] = more[i].name;
    for (size_t i = 0; i < platform_count; i++)
        words[n++] = platforms[i].name;
    *count = n;
    return words;
}

static void unknown_key(struct spec_check *check, const struct sw_option *rows, const char *key)
{
    size_t count = 0;
    sw_autofree const char **words = spec_words(rows, NULL, NULL, 0, &count);
    sw_autofree char *path = spec_shown(sw_buf_text(&check->path));
    sw_autofree char *mean = spec_did_you_mean(key, words, count);

    if (!*mean && sw_option_find(sw_spec_keys, key)) {
        free(mean);
        mean = sw_strdup(" (it belongs at the top level of the job file)");
    }
    spec_complain(check, "unknown key '%s'%s", path, mean);
}

/* A row of a platform's table with a portable key's name: the portable row's word counts. */
static const struct sw_option *ruling_row(const struct spec_check *check,
                                          const struct sw_option *rows, const char *key)
{
    const struct sw_option *row = sw_option_find(rows, key);
    const struct sw_option *portable = row ? sw_option_find(sw_spec_keys, key) : NULL;

    for (size_t i = 0; portable && i < check->platform_count; i++)
        if (check->platforms[i].options == rows)
            return portable;
    return row;
}

json_t *spec_check_fields(struct spec_check *check, const struct sw_option *rows,
                          const json_t *object)
{
    json_t *normal = json_object();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) {
        const struct sw_option *row = ruling_row(check, rows, key);
        struct spec_mark mark = spec_enter(check, key);
        json_t *checked = row ? spec_check_value(check, row, value) : NULL;

        if (!row)
            unknown_key(check, rows, key);
        if (checked)
            json_object_set_new(normal, key, checked);
        spec_leave(check, mark);
    }
    return normal;
}

/* `partition:` at the top level: say in which block it belongs before guessing at spellings. */
static void unknown_top_key(struct spec_check *check, const char *key)
{
    size_t count = 0;
    sw_autofree const char **words = spec_words(sw_spec_keys, NULL, check->platforms,
                                                check->platform_count, &count);
    sw_autofree char *shown = spec_shown(key);
    sw_autofree char *mean = spec_familiar(key);

    for (size_t i = 0; !mean && i < check->platform_count; i++)
        if (sw_option_find(check->platforms[i].options, key))
            mean = sw_format(" (did you mean '%s.%s'? slipway help job %s.%s)", check->platforms[i].name,
                             shown, check->platforms[i].name, shown);
    if (!mean)
        mean = spec_did_you_mean(key, words, count);
    spec_complain(check, "unknown key '%s'%s", shown, mean);
}

static json_t *check_block(struct spec_check *check, const struct sw_spec_platform *platform,
                           const json_t *value)
{
    const struct sw_option row = { platform->name, SW_GROUP, .fields = platform->options };
    json_t *checked = spec_check_value(check, &row, value);

    for (const struct sw_option *option = platform->options; option && option->name; option++)
        if (option->scope == SW_ACCOUNT && json_object_get(checked, option->name))
            spec_complain(check,
                          "%s.%s identifies you: it belongs in your profile or the environment, not in a "
                          "job", platform->name, option->name);
    return checked;
}

static bool same_value(const struct sw_option *row, const json_t *a, const json_t *b)
{
    int64_t left = 0, right = 0;

    if (row->type == SW_DURATION)
        return sw_duration_parse(json_string_value(a), &left, NULL) == 0 &&
               sw_duration_parse(json_string_value(b), &right, NULL) == 0 && left == right;
    if (row->type == SW_SIZE)
        return sw_size_parse(json_string_value(a), &left, NULL) == 0 &&
               sw_size_parse(json_string_value(b), &right, NULL) == 0 && left == right;
    return json_equal(a, b);
}

static void check_contradictions(struct spec_check *check,
                                 const struct sw_spec_platform *platform, const json_t *values)
{
    const json_t *block = json_object_get(values, platform->name);
    struct spec_mark mark = spec_enter(check, platform->name);
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)block, key, value) {
        const struct sw_option *row = sw_option_find(sw_spec_keys, key);
        const json_t *portable = row ? json_object_get(values, key) : NULL;
        struct spec_mark inner = spec_enter(check, key);

        if (portable && !same_value(row, value, portable))
            spec_complain(check, "%s.%s contradicts '%s': a platform block may only add to the "
                          "portable part", platform->name, key, key);
        spec_leave(check, inner);
    }
    spec_leave(check, mark);
}

/* command, argv and python all say what to run. */
static void check_one_command(struct spec_check *check, const json_t *values)
{
    static const char *const ways[] = { "command", "argv", "python" };
    const char *first = NULL;

    for (size_t i = 0; i < SW_COUNT(ways); i++) {
        struct spec_mark mark = spec_enter(check, ways[i]);

        if (json_object_get(values, ways[i]) && first)
            spec_complain(check, "'%s' and '%s' both set what to run: keep one", first, ways[i]);
        else if (json_object_get(values, ways[i]))
            first = ways[i];
        spec_leave(check, mark);
    }
}

json_t *spec_check_document(struct spec_check *check, const json_t *document)
{
    json_t *values = json_object();
    const char *key;
    json_t *value;

    if (document && !json_is_object(document) && !json_is_null(document))
        spec_complain(check, "a job is a mapping of keys such as 'command: ...'");
    json_object_foreach((json_t *)document, key, value) {
        const struct sw_option *row = sw_option_find(sw_spec_keys, key);
        bool is_home = check->origin == SPEC_FILE && sw_text_starts(key, SPEC_ANCHORS);
        const struct sw_spec_platform *platform =
            row ? NULL : spec_platform(check->platforms, check->platform_count, key);
        const char *name = platform ? platform->name : key;
        struct spec_mark mark = { check->path.length, check->place.length };
        json_t *checked;

        sw_path_add_key(&check->path, name);
        sw_path_add_key(&check->place, key);
        checked = row        ? spec_check_value(check, row, value)
                  : platform ? check_block(check, platform, value)
                             : NULL;
        if (!row && !platform && !is_home)
            unknown_top_key(check, key);
        if (checked && json_object_get(values, name))
            spec_complain(check, "'%s' and '%s' are the same platform: keep one of the blocks", name,
                          platform->alias);
        if (checked)
            json_object_set_new(values, name, checked);
        spec_leave(check, mark);
    }
    for (size_t i = 0; i < check->platform_count; i++)
        check_contradictions(check, &check->platforms[i], values);
    check_one_command(check, values);
    spec_warn_credentials(check, values);
    return values;
}

bool sw_spec_looks_like_credential(const char *name)
{
    static const char *const endings[] = { "_TOKEN", "_KEY", "_PASSWD", "_PASSPHRASE" };
    static const char *const parts[] = { "SECRET", "PASSWORD" };
    sw_autofree char *upper = sw_format("_%s", name);    /* so that TOKEN alone ends in _TOKEN */

    for (char *at = upper; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    for (size_t i = 0; i < SW_COUNT(endings); i++)
        if (sw_text_ends(upper, endings[i]))
            return true;
    for (size_t i = 0; i < SW_COUNT(parts); i++)
        if (strstr(upper, parts[i]))
            return true;
    return false;
}

void spec_warn_credentials(struct spec_check *check, const json_t *values)
{
    struct spec_mark mark = spec_enter(check, "env");
    const char *name;
    json_t *value;

    json_object_foreach(json_object_get(values, "env"), name, value) {
        struct spec_mark inner = spec_enter(check, name);

        if (sw_spec_looks_like_credential(name) && json_string_length(value) > 0) {
            sw_autofree char *where = spec_where(check);
            sw_autofree char *text = sw_format(
                "%s: env.%s looks like a credential: name it in 'secrets: [%s]' and export its "
                "value instead", where, name, name);

            json_array_append_new(check->warnings, sw_json_text(text));
        }
        spec_leave(check, inner);
    }
    spec_leave(check, mark);
}

/* Numbers at the first level below a key, as texts where they were written in another way. */
static void write_numbers(const struct sw_document *job, const char *key, json_t *map)
{
    const char *name;
    json_t *value;

    json_object_foreach(map, name, value) {
        sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;

        if (!json_is_number(value))
            continue;
        sw_path_add_key(&path, key);
        sw_path_add_key(&path, name);
        json_object_set_new(map, name,
                            spec_number_as_written(value, sw_document_written(job, sw_buf_text(&path))));
    }
}

json_t *sw_spec_written(const struct sw_document *job)
{
    json_t *value = json_deep_copy(sw_document_value(job));

    for (const struct sw_option *row = sw_spec_keys; row->name; row++)
        if (row->type == SW_TEXT_MAP || row->as_written)
            write_numbers(job, row->name, json_object_get(value, row->name));
    return value;
}
