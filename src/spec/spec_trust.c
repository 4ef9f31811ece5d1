/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_trust.c - which values of a folder's files need the user's trust.
 *
 * Two questions about the same tables: which values of this job come from a file that is not trusted
 * (asked while the levels are merged, so that only what counts is complained about), and what all a
 * file holds that trust would let through (asked before the user is).
 *
 * Pure.
 */
#include "spec/profiles_internal.h"

#include <string.h>

#include "base/text.h"

bool sw_spec_variable_needs_trust(const struct sw_spec_platform *platforms, size_t count,
                                  const char *name)
{
    if (sw_variable_is_sensitive(name))
        return true;
    for (size_t i = 0; i < count; i++)
        for (const struct sw_option *row = platforms[i].options; row && row->name; row++)
            if (sw_text_same(row->env, name) && sw_option_trust(row) != SW_TRUST_NONE)
                return true;
    return false;
}

/* ---- what counts and is not trusted ---------------------------------------------------------- */

static void note(struct spec_check *check, const struct spec_level *said, const char *path)
{
    const char *from = check->origin == SPEC_PROFILE ? "profile" : "job";
    const char *source = spec_source_below(said->sources, path);

    source = source ? source : sw_json_str(said->sources, path);
    json_array_append_new(check->untrusted, sw_json_object(SW_STR("from", from),
                                                           SW_STR("key", path),
                                                           SW_STR_OPT("where", source)));
}

/* Does a value of this key come through? A map adds to the one above it. */
static bool counts(const json_t *value, const json_t *higher, const char *key)
{
    return json_is_object(value) || !json_object_get(higher, key);
}

static void note_rows(struct spec_check *check, const struct spec_level *said, enum sw_trust least,
                      const struct sw_option *rows, const char *block, const json_t *higher)
{
    const json_t *values = block ? json_object_get(said->values, block) : said->values;

    for (const struct sw_option *row = rows; row && row->name; row++) {
        const json_t *value = json_object_get(values, row->name);
        sw_autofree char *path = NULL;

        if (!value || sw_option_trust(row) < least || !counts(value, higher, row->name))
            continue;
        path = block ? sw_format("%s.%s", block, row->name) : sw_strdup(row->name);
        note(check, said, path);
    }
}

void spec_note_untrusted(struct spec_check *check, const struct spec_level *said,
                         enum sw_trust least, const struct sw_spec_platform *platform,
                         const json_t *higher)
{
    const json_t *env = json_object_get(higher, "env");
    const char *name;
    json_t *value;

    note_rows(check, said, least, sw_spec_keys, NULL, higher);
    if (platform)
        note_rows(check, said, least, platform->options, platform->name,
                  json_object_get(higher, platform->name));
    if (least > SW_TRUST_PROFILE)
        return;
    json_object_foreach(json_object_get(said->values, "env"), name, value) {
        sw_autofree char *path = sw_format("env.%s", name);

        if (sw_variable_is_sensitive(name) && !json_object_get(env, name))
            note(check, said, path);
    }
}

/* ---- all that a file holds -------------------------------------------------------------------- */

struct trust_listing {
    const struct sw_spec_platform *platforms;
    size_t count;
    enum sw_trust least;
    json_t *keys;
};

static void list_key(const struct trust_listing *list, const char *section, const char *key)
{
    sw_autofree char *shown = spec_shown(key);
    sw_autofree char *before = section ? spec_shown(section) : NULL;
    sw_autofree char *path = before ? sw_format("%s.%s", before, shown) : sw_strdup(shown);

    json_array_append_new(list->keys, sw_json_text(path));
}

static bool needs_trust(const struct trust_listing *list, const struct sw_option *rows, const char *key)
{
    const struct sw_option *row = rows ? sw_option_find(rows, key) : NULL;

    return row && sw_option_trust(row) >= list->least;
}

/* Whatever platform the section turns out to be for, and whatever it calls the key. */
static bool any_needs_trust(const struct trust_listing *list, const json_t *section, const char *word,
                            const json_t *value)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct sw_spec_platform *platform = &list->platforms[i];
        sw_auto(json) json_t *own = NULL;
        const char *key = sw_profile_word(platform, section, word, value, &own);

        if (key && (needs_trust(list, sw_spec_keys, key) || needs_trust(list, platform->options, key)))
            return true;
    }
    return false;
}

static void list_section(const struct trust_listing *list, const char *section, const json_t *object)
{
    const char *key, *name;
    json_t *value, *text;

    json_object_foreach((json_t *)object, key, value) {
        sw_autofree char *variable = profile_variable_name(section, key);

        if (any_needs_trust(list, object, key, value) || sw_variable_is_sensitive(variable))
            list_key(list, section, key);
        if (strcmp(key, "env") == 0 || strcmp(key, "env_vars") == 0)
            json_object_foreach(value, name, text)
                if (sw_variable_is_sensitive(name)) {
                    sw_autofree char *inner = sw_format("%s.%s", key, name);

                    list_key(list, section, inner);
                }
    }
}

json_t *sw_spec_sensitive_keys(const json_t *document, bool profiles,
                               const struct sw_spec_platform *platforms, size_t count)
{
    const struct trust_listing list = {
        .platforms = platforms, .count = count, .keys = json_array(),
        .least = profiles ? SW_TRUST_PROFILE : SW_TRUST_ALWAYS,
    };
    const struct sw_spec_platform *platform;
    const char *key, *inner;
    json_t *value, *below;

    json_object_foreach((json_t *)document, key, value) {
        if (profiles) {
            list_section(&list, key, value);
            continue;
        }
        if (needs_trust(&list, sw_spec_keys, key))
            list_key(&list, NULL, key);
        platform = spec_platform(platforms, count, key);
        json_object_foreach(value, inner, below)
            if (platform && needs_trust(&list, platform->options, inner))
                list_key(&list, key, inner);
    }
    return list.keys;
}
