/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles.c - env.toml and ~/.config/slipway/profiles.toml: reading them, finding a section.
 *
 * Both files are kept as they are, and a question about a section asks the project's file
 * first. What a section means, and what it inherits, is profile_sections.c.
 */
#include "spec/profiles_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

#define RULES "rules"
#define HOME_PROFILES ".config/slipway/profiles.toml"

void sw_profiles_free(struct sw_profiles *profiles)
{
    if (!profiles)
        return;
    for (size_t i = 0; i < FILES; i++)
        sw_document_free(profiles->files[i]);
    free(profiles);
}

/* Every top-level entry must be a section, or it would never be read; [[rules]] is a list. */
static int check_sections(const struct sw_document *document, struct sw_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(sw_document_value(document), key, value)
        if (!json_is_object(value) && !(json_is_array(value) && strcmp(key, RULES) == 0)) {
            sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
            sw_autofree char *shown = spec_shown(key);
            struct sw_position at;

            sw_path_add_key(&path, key);
            at = sw_document_place(document, sw_buf_text(&path));
            sw_fail(err, SW_E_SPEC, "%s:%d:%d: '%s' is outside any section",
                    sw_document_name(document), at.line, at.column, shown);
            return sw_hint(err, "put it below a section such as [slurm]");
        }
    return 0;
}

static int parse_file(struct sw_profiles *profiles, size_t which, const char *text,
                      size_t length, const char *name, struct sw_error *err)
{
    profiles->files[which] = sw_document_parse(text, length, SW_TOML, name, err);
    if (!profiles->files[which])
        return -1;
    return check_sections(profiles->files[which], err);
}

static int load_home(struct sw_profiles *profiles, const char *home_dir, struct sw_error *err)
{
    sw_autofree char *path = home_dir ? sw_path_join(home_dir, HOME_PROFILES) : NULL;
    sw_autofree char *text = NULL;
    size_t length = 0;

    if (!path || !sw_file_exists(path))
        return 0;
    text = sw_file_read_plain(path, SW_DOCUMENT_MAX, &length, err);
    if (!text)
        return -1;
    return parse_file(profiles, HOME, text, length, "~/" HOME_PROFILES, err);
}

struct sw_profiles *sw_profiles_load(const struct sw_profile_file *project, const char *home_dir,
                                     struct sw_error *err)
{
    sw_auto(sw_profiles) struct sw_profiles *profiles = sw_new(struct sw_profiles);

    profiles->untrusted = project && !project->trusted;
    if (project && parse_file(profiles, PROJECT, project->text, project->length, project->name,
                              err) < 0)
        return NULL;
    if (load_home(profiles, home_dir, err) < 0)
        return NULL;
    return sw_take(profiles);
}

static void tell_texts(const json_t *value, const char *key,
                       void (*fn)(void *context, const char *key, const char *value),
                         void *context)
{
    const char *inner;
    json_t *below;
    size_t i;

    if (json_is_string(value))
        fn(context, key, json_string_value(value));
    json_object_foreach((json_t *)value, inner, below)
        tell_texts(below, inner, fn, context);
    json_array_foreach(value, i, below)
        tell_texts(below, key, fn, context);
}

void sw_profiles_texts(const struct sw_profiles *profiles,
                       void (*fn)(void *context, const char *key, const char *value),
                         void *context)
{
    for (size_t i = 0; i < FILES; i++)
        if (profiles->files[i])
            tell_texts(sw_document_value(profiles->files[i]), "", fn, context);
}

struct sw_profiles *spec_profiles_parse(const char *text, size_t length, const char *name,
                                        struct sw_error *err)
{
    sw_auto(sw_profiles) struct sw_profiles *profiles = sw_new(struct sw_profiles);

    if (parse_file(profiles, PROJECT, text, length, name, err) < 0)
        return NULL;
    return sw_take(profiles);
}

json_t *sw_profiles_rules(const struct sw_profiles *profiles)
{
    json_t *all = json_array();

    for (size_t i = 0; i < FILES; i++) {
        json_t *rules = (json_t *)profile_section(profiles, i, RULES);

        if (json_is_array(rules))
            json_array_extend(all, rules);
    }
    return all;
}

static int check_price(const struct sw_document *document, const char *type, const json_t *price,
                       struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    sw_autofree char *shown = spec_shown(type);
    struct sw_position at;

    if (json_is_number(price) && json_number_value(price) >= 0)
        return 0;
    sw_path_add_key(&path, PROFILE_PRICES);
    sw_path_add_key(&path, type);
    at = sw_document_place(document, sw_buf_text(&path));
    sw_fail(err, SW_E_SPEC, "%s:%d:%d: the price of '%s' is not a number of 0 or more",
        sw_document_name(document),
            at.line, at.column, shown);
    return sw_hint(err, "write the price of one GPU for one hour: H100 = 2.5");
}

json_t *sw_profiles_prices(const struct sw_profiles *profiles, struct sw_error *err)
{
    sw_auto(json) json_t *all = json_object();
    const char *type;
    json_t *price;

    for (size_t i = 0; i < FILES; i++) {
        json_object_foreach((json_t *)profile_section(profiles, i, PROFILE_PRICES), type, price) {
            if (check_price(profiles->files[i], type, price, err) < 0)
                return NULL;
            if (!json_object_get(all, type))
                json_object_set(all, type, price);
        }
    }
    return sw_take(all);
}

const json_t *profile_section(const struct sw_profiles *profiles, size_t which,
                              const char *section)
{
    return profiles->files[which]
               ? json_object_get(sw_document_value(profiles->files[which]), section)
               : NULL;
}

bool spec_profile_exists(const struct sw_profiles *profiles, const char *section)
{
    return profiles && (profile_section(profiles, PROJECT, section) ||
                        profile_section(profiles, HOME, section));
}

const json_t *profile_setting(const struct sw_profiles *profiles, const char *section,
                              const char *key, size_t *which)
{
    for (size_t i = 0; i < FILES; i++) {
        const json_t *value = json_object_get(profile_section(profiles, i, section), key);

        if (value) {
            *which = i;
            return value;
        }
    }
    return NULL;
}

const json_t *profile_parents(const struct sw_profiles *profiles, const char *section, size_t *which)
{
    const json_t *parents = profile_setting(profiles, section, "inherit", which);

    return parents ? parents : profile_setting(profiles, section, "extends", which);
}

void profile_look_at(struct spec_check *check, const struct sw_profiles *profiles, size_t which,
                     const char *section)
{
    check->origin = SPEC_PROFILE;
    check->document = profiles->files[which];
    check->label = section;
    sw_buf_clear(&check->path);
    sw_buf_clear(&check->place);
    sw_path_add_key(&check->place, section);
}

const struct sw_spec_platform *profile_platform_of_name(const struct spec_check *check,
                                                        const char *section)
{
    const struct sw_spec_platform *best = NULL;
    size_t longest = 0;

    for (size_t i = 0; i < 2 * check->platform_count; i++) {
        const struct sw_spec_platform *platform = &check->platforms[i / 2];
        const char *name = i % 2 ? platform->alias : platform->name;
        size_t length = name ? strlen(name) : 0;

        if (length > longest && strncmp(section, name, length) == 0 &&
            (section[length] == '\0' || section[length] == '_')) {
            best = platform;
            longest = length;
        }
    }
    return best;
}

static const struct sw_spec_platform *platform_within(const struct sw_profiles *profiles, const char *section,
                                                      struct spec_check *check, int depth);

/* [pretrain] extends [cluster], which names its platform. */
static const struct sw_spec_platform *platform_of_parents(const struct sw_profiles *profiles,
                                                          const char *section, struct spec_check *check,
                                                          int depth)
{
    const struct sw_spec_platform *found = NULL;
    size_t which, i = 0;
    const json_t *parents = profile_parents(profiles, section, &which);
    const char *name;

    do {
        name = json_string_value(json_is_array(parents) ? json_array_get(parents, i++) : parents);
        found = name ? platform_within(profiles, name, check, depth) : NULL;
    } while (!found && name && json_is_array(parents));
    return found;
}

static const struct sw_spec_platform *platform_within(const struct sw_profiles *profiles, const char *section,
                                                      struct spec_check *check, int depth)
{
    const struct sw_spec_platform *by_name = profile_platform_of_name(check, section), *named;
    size_t which = 0, count = 0;
    const char *word = "platform";
    const json_t *key = profile_setting(profiles, section, word, &which);
    sw_autofree const char **words = NULL;
    sw_autofree char *shown = NULL, *mean = NULL;

    if (!key)
        key = profile_setting(profiles, section, word = "executor", &which);
    if (!key && !by_name && depth > 0)
        return platform_of_parents(profiles, section, check, depth - 1);
    if (!key)
        return by_name;
    profile_look_at(check, profiles, which, section);
    spec_enter(check, word);
    if (!json_is_string(key)) {
        spec_complain(check, "%s: expected a string", word);
        return by_name;
    }
    named = spec_platform(check->platforms, check->platform_count, json_string_value(key));
    shown = spec_shown(json_string_value(key));
    if (!named) {
        words = spec_words(NULL, NULL, check->platforms, check->platform_count, &count);
        mean = spec_did_you_mean(json_string_value(key), words, count);
        spec_complain(check, "unknown platform '%s'%s", shown, mean);
        return by_name;
    }
    if (by_name && by_name != named)
        spec_complain(check, "platform '%s' contradicts the name of section [%s]", shown, section);
    return named;
}

const struct sw_spec_platform *spec_profile_platform(const struct sw_profiles *profiles,
                                                     const char *section,
                                                     struct spec_check *check)
{
    return platform_within(profiles, section, check, PROFILE_CHAIN_MAX);
}
