/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_sections.c - what a profile section means, and what it inherits.
 *
 * [lepton] holds what every Lepton job shares, [lepton_sft] inherits it by its name, and any
 * section may inherit others with `inherit`. Sections that belong to no platform and that
 * no other section inherits are shared: they become environment variables of every job ([wandb] project
 * -> WANDB_PROJECT). Where both files have a section, the project's values win one by one.
 *
 * Only the sections a job uses are checked: a typing mistake in [lepton] should not stop a job
 * that goes to Slurm.
 */
#include "spec/profiles_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

/* ---- one section of one file ------------------------------------------------------------ */

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

    /* A value with a slash is the path of a key file, which is a fine thing to write down; so is the name
     * that a pull secret has on its platform. */
    if (sw_text_empty(word) || strchr(word, '/') || sw_text_ends(key, "pull_secret") ||
        !sw_spec_looks_like_credential(key))
        return;
    where = spec_where(check);
    text = sw_format("%s: '%s' looks like a credential: export it instead, or put it into "
                     "~/.config/tao/.env", where, key);
    json_array_append_new(check->warnings, sw_json_text(text));
}

/* Portable keys and the platform's options stand side by side in a section. */
static void check_setting(struct spec_check *check, const struct sw_spec_platform *platform,
                          const char *word, const char *key, const json_t *value, json_t *values)
{
    const struct sw_option *portable = sw_option_find(sw_spec_keys, key);
    const struct sw_option *row = portable ? portable : sw_option_find(platform->options, key);
    struct spec_mark mark = { check->path.length, check->place.length };
    json_t *checked;

    if (row && !portable)
        sw_path_add_key(&check->path, platform->name);
    sw_path_add_key(&check->path, key);
    sw_path_add_key(&check->place, word);
    if (!row)
        unknown_setting(check, platform, key);
    checked = row ? spec_check_value(check, row, value) : NULL;
    if (checked) {
        warn_credential_option(check, key, checked);
        json_object_set_new(portable ? values : json_object_get(values, platform->name), key,
                            checked);
    }
    spec_leave(check, mark);
}

/* What of a profile is in the words of NeMo-Run: "gpus_per_node is gpus", and what has no effect. */
struct foreign_words {
    struct sw_buf taken, unused;
};

static json_t *check_section(struct spec_check *check, const struct sw_spec_platform *platform,
                             const json_t *section, struct foreign_words *foreign)
{
    json_t *values = json_object();
    const char *key;
    json_t *value;

    json_object_set_new(values, platform->name, json_object());
    json_object_foreach((json_t *)section, key, value) {
        sw_auto(json) json_t *own = NULL;
        const char *word;

        if (profile_is_own_word(key))
            continue;
        word = sw_profile_word(platform, section, key, value, &own);
        if (word)
            check_setting(check, platform, key, word, own, values);
        else
            sw_buf_addf(&foreign->unused, "%s%s", foreign->unused.length ? ", " : "", key);
        if (word && strcmp(word, key) != 0)
            sw_buf_addf(&foreign->taken, "%s%s is %s", foreign->taken.length ? ", " : "", key, word);
    }
    if (json_object_size(json_object_get(values, platform->name)) == 0)
        json_object_del(values, platform->name);
    spec_warn_credentials(check, values);
    return values;
}

/* ---- inheritance ------------------------------------------------------------------------- */

struct walk {
    struct spec_level *into;
    const struct sw_profiles *profiles;
    const struct sw_spec_platform *platform;
    struct spec_check *check;
    const char *chain[PROFILE_CHAIN_MAX];          /* on the way from the first section to this one */
    size_t depth;
    json_t *done;                          /* names already merged: a diamond counts once */
    struct foreign_words foreign;
};

static void add_values(struct walk *walk, const json_t *values, const json_t *sources)
{
    const struct spec_level level = { (json_t *)values, (json_t *)sources };

    spec_merge(walk->into, &level, walk->check->platforms, walk->check->platform_count);
}

/* What the project's file says and is not trusted is noted before it counts. */
static void note_untrusted(struct walk *walk, size_t which, json_t *values, json_t *sources)
{
    const struct spec_level said = { values, sources };

    if (which == PROJECT && walk->profiles->untrusted && walk->check->untrusted)
        spec_note_untrusted(walk->check, &said, SW_TRUST_PROFILE, walk->platform,
                            walk->into->values);
}

static void add_section(struct walk *walk, const char *section)
{
    for (size_t i = 0; i < FILES; i++) {
        const json_t *object = profile_section(walk->profiles, i, section);
        sw_auto(json) json_t *values = NULL;
        sw_auto(json) json_t *sources = json_object();

        if (!object)
            continue;
        profile_look_at(walk->check, walk->profiles, i, section);
        walk->check->sources = sources;
        values = check_section(walk->check, walk->platform, object, &walk->foreign);
        walk->check->sources = NULL;
        note_untrusted(walk, i, values, sources);
        add_values(walk, values, sources);
    }
}

static bool is_in_chain(const struct walk *walk, const char *section)
{
    for (size_t i = 0; i < walk->depth; i++)
        if (strcmp(walk->chain[i], section) == 0)
            return true;
    return false;
}

/* May `section` inherit `parent`? Complains when not. */
static bool may_inherit(struct walk *walk, const char *section, size_t which,
                        const json_t *parent)
{
    const char *name = json_string_value(parent);
    sw_autofree char *shown = spec_shown(name ? name : "");
    sw_autofree char *child = spec_shown(section);

    profile_look_at(walk->check, walk->profiles, which, section);
    spec_enter(walk->check, "inherit");
    if (!name)
        spec_complain(walk->check, "inherit: expected the name of a section, or a list of names");
    else if (is_in_chain(walk, name))
        spec_complain(walk->check, "profile [%s] inherits itself through [%s]", shown, child);
    else if (walk->depth >= PROFILE_CHAIN_MAX)
        spec_complain(walk->check, "profile [%s] inherits through more than %d sections", shown,
                      PROFILE_CHAIN_MAX);
    else if (!spec_profile_exists(walk->profiles, name))
        spec_complain(walk->check, "profile [%s] inherits [%s], which does not exist", child,
                      shown);
    else
        return true;
    return false;
}

/* The section itself, then what it asks to inherit, then what its name inherits. */
static void add_chain(struct walk *walk, const char *section)
{
    size_t which = 0, count;
    const json_t *inherit = profile_parents(walk->profiles, section, &which);
    const struct sw_spec_platform *by_name = profile_platform_of_name(walk->check, section);

    if (json_object_get(walk->done, section) || walk->depth >= PROFILE_CHAIN_MAX)
        return;
    json_object_set_new(walk->done, section, json_true());
    walk->chain[walk->depth++] = section;
    add_section(walk, section);
    count = json_is_array(inherit) ? json_array_size(inherit) : inherit != NULL;
    for (size_t i = 0; i < count; i++) {
        const json_t *parent = json_is_array(inherit) ? json_array_get(inherit, i) : inherit;

        if (may_inherit(walk, section, which, parent))
            add_chain(walk, json_string_value(parent));
    }
    if (by_name && spec_profile_exists(walk->profiles, by_name->name))
        add_chain(walk, by_name->name);
    if (by_name && by_name->alias && spec_profile_exists(walk->profiles, by_name->alias))
        add_chain(walk, by_name->alias);
    walk->depth--;
}

/* ---- shared sections --------------------------------------------------------------------- */

/* The names of all sections that some section inherits: those are parts, not shared. */
static json_t *inherited_names(const struct sw_profiles *profiles)
{
    json_t *names = json_object();

    for (size_t i = 0; i < FILES; i++) {
        const char *name;
        json_t *section, *element;
        size_t k;

        if (!profiles->files[i])
            continue;
        json_object_foreach(sw_document_value(profiles->files[i]), name, section) {
            const json_t *own = json_object_get(section, "inherit");
            const json_t *inherit = own ? own : json_object_get(section, "extends");

            if (json_is_string(inherit))
                json_object_set_new(names, json_string_value(inherit), json_true());
            json_array_foreach(inherit, k, element)
                if (json_is_string(element))
                    json_object_set_new(names, json_string_value(element), json_true());
        }
    }
    return names;
}

char *profile_variable_name(const char *section, const char *key)
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

static void add_shared_value(struct walk *walk, size_t which, const char *section,
                             const char *key, json_t *value)
{
    struct spec_check *check = walk->check;
    sw_autofree char *name = profile_variable_name(section, key);
    sw_auto(json) json_t *env = sw_json_object(SW_SUB_COPY(name, value));
    sw_auto(json) json_t *document = sw_json_object(SW_SUB_COPY("env", env));
    sw_auto(json) json_t *values = NULL;
    sw_auto(json) json_t *sources = json_object();

    sw_path_add_key(&check->place, key);      /* what is below has the key's own place */
    check->sources = sources;
    values = spec_check_document(check, document);
    check->sources = NULL;
    note_untrusted(walk, which, values, sources);
    add_values(walk, values, sources);
}

/* Or inherits one that does. */
static bool belongs_to_a_platform(const json_t *section)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)section, key, value)
        if (profile_is_own_word(key))
            return true;
    return false;
}

static void add_shared(struct walk *walk)
{
    sw_auto(json) json_t *inherited = inherited_names(walk->profiles);

    for (size_t i = 0; i < FILES; i++) {
        const char *section, *key;
        json_t *object, *value;

        if (!walk->profiles->files[i])
            continue;
        json_object_foreach(sw_document_value(walk->profiles->files[i]), section, object) {
            if (profile_platform_of_name(walk->check, section) || json_object_get(inherited, section) ||
                belongs_to_a_platform(object) || strcmp(section, PROFILE_PRICES) == 0)
                continue;
            json_object_foreach(object, key, value) {
                profile_look_at(walk->check, walk->profiles, i, section);
                add_shared_value(walk, i, section, key, value);
            }
        }
    }
}

/* One note, however many words and sections; later questions about the same profile read no notes. */
static void note_foreign(struct walk *walk, const char *section)
{
    struct foreign_words *foreign = &walk->foreign;
    sw_autofree char *shown = spec_shown(section), *text = NULL;

    if (foreign->taken.length || foreign->unused.length) {
        text = sw_format("profile [%s] uses NeMo-Run keys%s%s%s%s", shown,
                         foreign->taken.length ? ": " : "", sw_buf_text(&foreign->taken),
                         foreign->unused.length ? "; without effect here: " : "",
                         sw_buf_text(&foreign->unused));
        json_array_append_new(walk->check->warnings, sw_json_text(text));
    }
    sw_buf_done(&foreign->taken);
    sw_buf_done(&foreign->unused);
}

void spec_add_profile(struct spec_level *into, const struct sw_profiles *profiles,
                      const char *section, const struct sw_spec_platform *platform,
                      struct spec_check *check)
{
    sw_auto(json) json_t *done = json_object();
    struct walk walk = {
        .into = into, .profiles = profiles, .platform = platform, .check = check, .done = done,
    };

    if (spec_profile_exists(profiles, section))
        add_chain(&walk, section);
    note_foreign(&walk, section);
    add_shared(&walk);
}
