/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles.c - env.toml and ~/.config/slipway/profiles.toml: sections, and what they inherit.
 *
 * [lepton] holds what every Lepton job shares, [lepton_sft] inherits it by its name, and any
 * section may inherit others with `inherit`. Sections that belong to no platform and that
 * nobody inherits are shared: they become environment variables of every job ([wandb] project
 * -> WANDB_PROJECT). Where both files have a section, the project's values win one by one.
 *
 * Only the sections a job uses are checked. A typing mistake in [lepton] should not stop a job
 * that goes to Slurm.
 */
#include "spec/spec_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

#define HOME_PROFILES ".config/slipway/profiles.toml"
#define CHAIN_MAX 32                  /* sections that inherit one another; more is a mistake */

enum { PROJECT, HOME, FILES };

struct sw_profiles {
    struct sw_document *files[FILES];      /* NULL: there is no such file */
};

void sw_profiles_free(struct sw_profiles *profiles)
{
    if (!profiles)
        return;
    for (size_t i = 0; i < FILES; i++)
        sw_document_free(profiles->files[i]);
    free(profiles);
}

/* Every top-level entry must be a section, or nobody would ever look at it. */
static int check_sections(const struct sw_document *document, struct sw_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(sw_document_value(document), key, value)
        if (!json_is_object(value)) {
            sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
            sw_autofree char *shown = spec_shown(key);
            struct sw_place at;

            sw_path_add_key(&path, key);
            at = sw_document_place(document, sw_buf_text(&path));
            sw_fail(err, SW_E_SPEC, "%s:%d:%d: '%s' stands outside of any section",
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

static int load_file(struct sw_profiles *profiles, size_t which, const char *folder,
                     const char *name, const char *called, struct sw_error *err)
{
    sw_autofree char *path = folder ? sw_path_join(folder, name) : NULL;
    sw_autofree char *text = NULL;
    size_t length = 0;

    if (!path || !sw_file_exists(path))
        return 0;
    text = sw_file_read(path, SW_DOCUMENT_MAX, &length, err);
    if (!text)
        return -1;
    return parse_file(profiles, which, text, length, called, err);
}

struct sw_profiles *sw_profiles_load(const char *project_dir, const char *home_dir,
                                     struct sw_error *err)
{
    sw_auto(sw_profiles) struct sw_profiles *profiles = sw_new(struct sw_profiles);

    if (load_file(profiles, PROJECT, project_dir, "env.toml", "env.toml", err) < 0 ||
        load_file(profiles, HOME, home_dir, HOME_PROFILES, "~/" HOME_PROFILES, err) < 0)
        return NULL;
    return sw_take(profiles);
}

struct sw_profiles *spec_profiles_parse(const char *text, size_t length, const char *name,
                                        struct sw_error *err)
{
    sw_auto(sw_profiles) struct sw_profiles *profiles = sw_new(struct sw_profiles);

    if (parse_file(profiles, PROJECT, text, length, name, err) < 0)
        return NULL;
    return sw_take(profiles);
}

static const json_t *section_in(const struct sw_profiles *profiles, size_t which,
                                const char *section)
{
    return profiles->files[which]
               ? json_object_get(sw_document_value(profiles->files[which]), section)
               : NULL;
}

bool spec_profile_exists(const struct sw_profiles *profiles, const char *section)
{
    return profiles && (section_in(profiles, PROJECT, section) ||
                        section_in(profiles, HOME, section));
}

/* The value of one key of a section, the project's first, and which file it is from. */
static const json_t *setting(const struct sw_profiles *profiles, const char *section,
                             const char *key, size_t *which)
{
    for (size_t i = 0; i < FILES; i++) {
        const json_t *value = json_object_get(section_in(profiles, i, section), key);

        if (value) {
            *which = i;
            return value;
        }
    }
    return NULL;
}

/* Point the check at [section] of one file, so that complaints carry the right place. */
static void look_at(struct spec_check *check, const struct sw_profiles *profiles, size_t which,
                    const char *section)
{
    check->origin = SPEC_PROFILE;
    check->document = profiles->files[which];
    check->label = section;
    sw_buf_clear(&check->path);
    sw_buf_clear(&check->place);
    sw_path_add_key(&check->place, section);
}

/* "lepton_sft" and "lepton" -> lepton; the longest platform name that fits. */
static const struct sw_spec_platform *platform_of_name(const struct spec_check *check,
                                                       const char *section)
{
    const struct sw_spec_platform *best = NULL;

    for (size_t i = 0; i < check->platform_count; i++) {
        const char *name = check->platforms[i].name;
        size_t length = strlen(name);

        if (strncmp(section, name, length) == 0 &&
            (section[length] == '\0' || section[length] == '_') &&
            (!best || length > strlen(best->name)))
            best = &check->platforms[i];
    }
    return best;
}

const struct sw_spec_platform *spec_profile_platform(const struct sw_profiles *profiles,
                                                     const char *section,
                                                     struct spec_check *check)
{
    const struct sw_spec_platform *by_name = platform_of_name(check, section), *named;
    size_t which = 0, count = 0;
    const json_t *key = setting(profiles, section, "platform", &which);
    sw_autofree const char **words = NULL;
    sw_autofree char *shown = NULL, *mean = NULL;

    if (!key)
        return by_name;
    look_at(check, profiles, which, section);
    spec_enter(check, "platform");
    if (!json_is_string(key)) {
        spec_complain(check, "platform: expected text");
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

/* ---- checking one section of one file -------------------------------------------------- */

static void unknown_setting(struct spec_check *check, const struct sw_spec_platform *platform,
                            const char *key)
{
    size_t count = 0;
    sw_autofree const char **words = spec_words(sw_spec_keys, platform->options, NULL, 0, &count);
    sw_autofree char *shown = spec_shown(key);
    sw_autofree char *section = spec_shown(check->label);
    sw_autofree char *mean = spec_did_you_mean(key, words, count);

    spec_complain(check, "unknown key '%s' in profile [%s]%s", shown, section, mean);
}

static void warn_credential_option(struct spec_check *check, const char *key,
                                   const json_t *value)
{
    sw_autofree char *where = NULL, *text = NULL;
    const char *word = json_string_value(value);

    /* A value with a slash is the path of a key file, which is a fine thing to write down. */
    if (sw_text_empty(word) || strchr(word, '/') || !spec_looks_like_credential(key))
        return;
    where = spec_where(check);
    text = sw_format("%s: '%s' looks like a credential: export it instead, or put it into "
                     "~/.config/tao/.env", where, key);
    json_array_append_new(check->warnings, sw_json_text(text));
}

/* Portable keys and the platform's options stand side by side in a section. */
static json_t *check_section(struct spec_check *check, const struct sw_spec_platform *platform,
                             const json_t *section)
{
    json_t *values = json_object(), *block = json_object();
    const char *key;
    json_t *value;

    json_object_set_new(values, platform->name, block);
    json_object_foreach((json_t *)section, key, value) {
        const struct sw_option *portable = sw_option_find(sw_spec_keys, key);
        const struct sw_option *option =
            portable ? NULL : sw_option_find(platform->options, key);
        struct spec_mark mark = { check->path.length, check->place.length };
        json_t *checked;

        if (strcmp(key, "inherit") == 0 || strcmp(key, "platform") == 0)
            continue;
        if (option)
            sw_path_add_key(&check->path, platform->name);
        sw_path_add_key(&check->path, key);
        sw_path_add_key(&check->place, key);
        if (!portable && !option)
            unknown_setting(check, platform, key);
        checked = portable || option ? spec_check_value(check, portable ? portable : option, value)
                                     : NULL;
        if (checked) {
            warn_credential_option(check, key, checked);
            json_object_set_new(portable ? values : block, key, checked);
        }
        spec_leave(check, mark);
    }
    if (json_object_size(block) == 0)
        json_object_del(values, platform->name);
    spec_warn_credentials(check, values);
    return values;
}

static void add_section(struct spec_level *into, const struct sw_profiles *profiles,
                        const char *section, const struct sw_spec_platform *platform,
                        struct spec_check *check)
{
    for (size_t i = 0; i < FILES; i++) {
        const json_t *object = section_in(profiles, i, section);
        sw_auto(json) json_t *values = NULL, *sources = json_object();

        if (!object)
            continue;
        look_at(check, profiles, i, section);
        check->sources = sources;
        values = check_section(check, platform, object);
        check->sources = NULL;
        spec_merge(into, &(struct spec_level){ values, sources }, check->platforms,
                   check->platform_count);
    }
}

/* ---- inheritance ------------------------------------------------------------------------- */

struct chain {
    const char *sections[CHAIN_MAX];       /* on the way from the first section to this one */
    size_t depth;
    json_t *done;                          /* names already merged: a diamond counts once */
};

static void add_chain(struct spec_level *into, const struct sw_profiles *profiles,
                      const char *section, const struct sw_spec_platform *platform,
                      struct spec_check *check, struct chain *chain);

static void inherit_from(struct spec_level *into, const struct sw_profiles *profiles,
                         const char *section, size_t which, const json_t *parent,
                         const struct sw_spec_platform *platform, struct spec_check *check,
                         struct chain *chain)
{
    const char *name = json_string_value(parent);
    sw_autofree char *shown = spec_shown(name ? name : "");

    look_at(check, profiles, which, section);
    spec_enter(check, "inherit");
    if (!name) {
        spec_complain(check, "inherit: expected the name of a section, or a list of names");
        return;
    }
    for (size_t i = 0; i < chain->depth; i++)
        if (strcmp(chain->sections[i], name) == 0) {
            spec_complain(check, "profile [%s] inherits itself through [%s]", shown, section);
            return;
        }
    if (chain->depth >= CHAIN_MAX)
        spec_complain(check, "profile [%s] inherits through more than %d sections", shown,
                      CHAIN_MAX);
    else if (!spec_profile_exists(profiles, name))
        spec_complain(check, "profile [%s] inherits [%s], which does not exist", section, shown);
    else
        add_chain(into, profiles, name, platform, check, chain);
}

/* The section itself, then what it asks to inherit, then what its name inherits. */
static void add_chain(struct spec_level *into, const struct sw_profiles *profiles,
                      const char *section, const struct sw_spec_platform *platform,
                      struct spec_check *check, struct chain *chain)
{
    size_t which = 0, count;
    const json_t *inherit = setting(profiles, section, "inherit", &which);
    const struct sw_spec_platform *by_name = platform_of_name(check, section);

    if (json_object_get(chain->done, section))
        return;
    json_object_set_new(chain->done, section, json_true());
    chain->sections[chain->depth++] = section;
    add_section(into, profiles, section, platform, check);
    count = json_is_array(inherit) ? json_array_size(inherit) : inherit != NULL;
    for (size_t i = 0; i < count; i++)
        inherit_from(into, profiles, section, which,
                     json_is_array(inherit) ? json_array_get(inherit, i) : inherit, platform,
                     check, chain);
    if (by_name && strcmp(by_name->name, section) != 0 && chain->depth < CHAIN_MAX &&
        spec_profile_exists(profiles, by_name->name))
        add_chain(into, profiles, by_name->name, platform, check, chain);
    chain->depth--;
}

/* ---- shared sections --------------------------------------------------------------------- */

static bool is_inherited(const struct sw_profiles *profiles, const char *section)
{
    for (size_t i = 0; i < FILES; i++) {
        const char *name;
        json_t *other, *element;
        size_t k;

        if (!profiles->files[i])
            continue;
        json_object_foreach(sw_document_value(profiles->files[i]), name, other) {
            const json_t *inherit = json_object_get(other, "inherit");

            if (sw_text_same(json_string_value(inherit), section))
                return true;
            json_array_foreach(inherit, k, element)
                if (sw_text_same(json_string_value(element), section))
                    return true;
        }
    }
    return false;
}

/* [wandb] project -> WANDB_PROJECT; a key that is all upper case is the variable itself. */
static char *variable_name(const char *section, const char *key)
{
    bool whole = true;
    char *name;

    for (const char *at = key; *at; at++)
        whole = whole && !islower((unsigned char)*at);
    name = whole ? sw_strdup(key) : sw_format("%s_%s", section, key);
    for (char *at = name; *at; at++)
        *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
    return name;
}

static void add_shared_section(struct spec_level *into, const struct sw_profiles *profiles,
                               size_t which, const char *section, const json_t *object,
                               struct spec_check *check)
{
    const struct sw_option row = { "env", SW_TEXT_MAP };
    sw_auto(json) json_t *sources = json_object();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) {
        sw_autofree char *name = variable_name(section, key);
        sw_auto(json) json_t *named = json_pack("{s:O}", name, value);
        sw_auto(json) json_t *values = json_object();
        json_t *checked;

        look_at(check, profiles, which, section);
        sw_path_add_key(&check->place, key);
        sw_path_add_key(&check->path, "env");
        check->sources = sources;
        checked = named ? spec_check_value(check, &row, named) : NULL;
        check->sources = NULL;
        if (checked)
            json_object_set_new(values, "env", checked);
        sw_buf_clear(&check->path);
        spec_warn_credentials(check, values);
        spec_merge(into, &(struct spec_level){ values, sources }, check->platforms,
                   check->platform_count);
    }
}

static void add_shared(struct spec_level *into, const struct sw_profiles *profiles,
                       struct spec_check *check)
{
    for (size_t i = 0; i < FILES; i++) {
        const char *section;
        json_t *object;

        if (!profiles->files[i])
            continue;
        json_object_foreach(sw_document_value(profiles->files[i]), section, object)
            if (!platform_of_name(check, section) && !json_object_get(object, "platform") &&
                !is_inherited(profiles, section))
                add_shared_section(into, profiles, i, section, object, check);
    }
}

void spec_add_profile(struct spec_level *into, const struct sw_profiles *profiles,
                      const char *section, const struct sw_spec_platform *platform,
                      struct spec_check *check)
{
    struct chain chain = { .done = json_object() };

    if (spec_profile_exists(profiles, section))
        add_chain(into, profiles, section, platform, check, &chain);
    add_shared(into, profiles, check);
    json_decref(chain.done);
}
