/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_resolve.c - flag > job file > profile > environment > model > default: one spec from six levels.
 * For the platform alone, the user's config.toml comes between environment and default.
 *
 * The platform is decided first, because it decides which profile and which table count. Then
 * each level is checked on its own and merged below the ones before it. Nothing is returned
 * while any level has a problem, and the error lists them all.
 */
#include "spec/spec.h"

#include <string.h>

#include "base/text.h"
#include "core/id.h"
#include "core/job_env.h"
#include "spec/spec_internal.h"

#include <assert.h>
void sw_spec_free(struct sw_spec *spec)
{
    if (!spec)
        return;
    json_decref(spec->job);
    json_decref(spec->platforms);
    json_decref(spec->options);
    json_decref(spec->sources);
    json_decref(spec->warnings);
    json_decref(spec->untrusted);
    free(spec->file);
    free(spec->platform);
    free(spec);
}

struct resolving {
    const struct sw_spec_input *input;
    struct spec_problems problems;
    struct spec_check check;
    struct spec_level documents[2];             /* flags, job file */
    struct spec_level level;                    /* what is merged so far, highest first */
    const struct sw_spec_platform *of_profile;  /* what the profile asked for belongs to */
    const struct sw_spec_platform *platform;    /* the chosen one */
};

static void resolving_done(struct resolving *now)
{
    spec_problems_done(&now->problems);
    spec_check_done(&now->check);
    for (size_t i = 0; i < SW_COUNT(now->documents); i++) {
        json_decref(now->documents[i].values);
        json_decref(now->documents[i].sources);
    }
    json_decref(now->level.values);
    json_decref(now->level.sources);
    json_decref(now->check.variables);
    json_decref(now->check.warnings);
    json_decref(now->check.untrusted);
}

static void resolving_auto(struct resolving *now)
{
    resolving_done(now);
}

static void resolving_init(struct resolving *now, const struct sw_spec_input *input)
{
    *now = (struct resolving){ .input = input, .problems = SPEC_PROBLEMS_INIT };
    now->level.values = json_object();
    now->level.sources = json_object();
    now->check.platforms = input->platforms;
    now->check.platform_count = input->platform_count;
    now->check.problems = &now->problems;
    now->check.env = input->env;
    now->check.env_source = input->env_source;
    now->check.env_context = input->env_context;
    now->check.variables = json_array();
    now->check.warnings = json_array();
    now->check.untrusted = json_array();
}

/* ---- flags and job file ------------------------------------------------------------------ */

static void check_document(struct resolving *now, const struct sw_document *document,
                           enum spec_origin origin, struct spec_level *level)
{
    level->values = NULL;
    level->sources = json_object();
    now->check.origin = origin;
    now->check.document = document;
    now->check.sources = level->sources;
    sw_buf_clear(&now->check.path);
    sw_buf_clear(&now->check.place);
    level->values = spec_check_document(&now->check,
                                        document ? sw_document_value(document) : NULL);
    now->check.sources = NULL;
}

/* A value of the block with a portable key's name is that key's value: one fact, one home. */
static void lift_shared_names(struct spec_level *level, const char *platform)
{
    json_t *block = json_object_get(level->values, platform);
    const char *key;
    void *next;
    json_t *value;

    json_object_foreach_safe(block, next, key, value) {
        sw_autofree char *path = sw_format("%s.%s", platform, key);
        json_t *source = json_object_get(level->sources, path);

        if (!sw_option_find(sw_spec_keys, key))
            continue;
        if (!json_object_get(level->values, key)) {
            json_object_set(level->values, key, value);
            if (source)
                json_object_set(level->sources, key, source);
        }
        json_object_del(block, key);
        json_object_del(level->sources, path);
    }
}

static void add_level(struct resolving *now, struct spec_level *level)
{
    if (now->platform)
        lift_shared_names(level, now->platform->name);
    spec_merge(&now->level, level, now->input->platforms, now->input->platform_count);
}

/* ---- the platform ------------------------------------------------------------------------ */

static const struct sw_spec_platform *find_platform(struct resolving *now, const char *name,
                                                    const char *where)
{
    const struct sw_spec_input *in = now->input;
    const struct sw_spec_platform *found = spec_platform(in->platforms, in->platform_count, name);
    size_t count = 0;
    sw_autofree const char **words =
        spec_words(NULL, NULL, in->platforms, in->platform_count, &count);
    sw_autofree char *shown = spec_shown(name);
    sw_autofree char *mean = spec_did_you_mean(name, words, count);

    if (!found)
        spec_problem(&now->problems, where, "unknown platform '%s'%s", shown, mean);
    return found;
}

/* The list of flags or job file, else what the profile is for, the environment, the default. */
static json_t *wanted_platforms(struct resolving *now)
{
    const struct sw_spec_input *in = now->input;
    const char *variable = NULL;
    json_t *said;

    for (size_t i = 0; i < SW_COUNT(now->documents); i++) {
        said = json_object_get(now->documents[i].values, "platform");

        if (json_array_size(said) == 0)
            continue;
        json_object_set(now->level.sources, "platform",
                        json_object_get(now->documents[i].sources, "platform"));
        return json_copy(said);
    }
    if (now->of_profile) {
        sw_autofree char *source = sw_format("profile [%s]", in->profile);

        json_object_set_new(now->level.sources, "platform", sw_json_text(source));
        return json_pack("[s]", now->of_profile->name);
    }
    if (in->env)
        variable = in->env(in->env_context, "SLIPWAY_PLATFORM");
    if (!sw_text_empty(variable)) {
        json_object_set_new(now->level.sources, "platform",
                            json_string("environment SLIPWAY_PLATFORM"));
        return json_pack("[o]", sw_json_text(variable));
    }
    said = json_object_get(json_object_get(in->user_defaults, "values"), "platform");
    if (json_array_size(said) > 0) {
        json_object_set(now->level.sources, "platform",
                        json_object_get(json_object_get(in->user_defaults, "sources"), "platform"));
        return json_copy(said);
    }
    json_object_set_new(now->level.sources, "platform", json_string("default"));
    assert(in->default_platform);
    return json_pack("[s]", in->default_platform);
}

static void choose_platform(struct resolving *now)
{
    sw_auto(json) json_t *list = wanted_platforms(now);
    const char *where = sw_json_str(now->level.sources, "platform");
    size_t i;
    json_t *name;

    json_array_foreach(list, i, name) {
        const struct sw_spec_platform *found = find_platform(now, json_string_value(name), where);

        if (i == now->input->choice)
            now->platform = found;
        if (found)
            json_array_set_new(list, i, json_string(found->name));
    }
    json_object_set(now->level.values, "platform", list);
}

/* ---- the profile ------------------------------------------------------------------------- */

/* A profile asked for by name must be there and say where it belongs: 0, or -1 + problem. */
static int find_profile(struct resolving *now)
{
    const struct sw_spec_input *in = now->input;
    size_t before = now->problems.count;
    sw_autofree char *shown = NULL;

    if (!in->profile)
        return 0;
    shown = spec_shown(in->profile);
    if (!spec_profile_exists(in->profiles, in->profile)) {
        spec_problem(&now->problems, NULL, "no profile [%s] in env.toml or "
                                           "~/.config/slipway/profiles.toml", shown);
        return -1;
    }
    now->of_profile = spec_profile_platform(in->profiles, in->profile, &now->check);
    if (!now->of_profile && now->problems.count == before)
        spec_problem(&now->problems, NULL, "profile [%s] belongs to no platform: add "
                     "platform = \"NAME\" to it", shown);
    return now->of_profile ? 0 : -1;
}

static bool is_in_list(const struct resolving *now, const char *platform)
{
    size_t i;
    json_t *name;

    json_array_foreach(json_object_get(now->level.values, "platform"), i, name)
        if (strcmp(json_string_value(name), platform) == 0)
            return true;
    return false;
}

/* The profile counts where it belongs; another platform of the list has its own section. */
static void add_profile(struct resolving *now)
{
    const struct sw_spec_input *in = now->input;
    const char *section = in->profile ? in->profile : now->platform->name;
    sw_autofree char *shown = spec_shown(section);

    if (in->profile && now->of_profile != now->platform && is_in_list(now, now->of_profile->name))
        spec_add_profile(&now->level, in->profiles, now->platform->name, now->platform, &now->check);
    else if (in->profile && now->of_profile != now->platform)
        spec_problem(&now->problems, NULL, "profile [%s] is for %s, but the job goes to %s", shown,
                     now->of_profile->name, now->platform->name);
    else if (in->profiles)
        spec_add_profile(&now->level, in->profiles, section, now->platform, &now->check);
}

/* ---- what holds for the whole ------------------------------------------------------------ */

static void check_secrets(struct resolving *now)
{
    const json_t *env = json_object_get(now->level.values, "env");
    size_t i;
    json_t *secret;

    json_array_foreach(json_object_get(now->level.values, "secrets"), i, secret) {
        const char *name = json_string_value(secret);
        sw_autofree char *path = sw_format("env.%s", name);

        if (json_object_get(env, name))
            spec_problem(&now->problems, sw_json_str(now->level.sources, path),
                         "env.%s: %s is one of the secrets, and a secret has no value here", name,
                         name);
    }
}

/* A secret's value is no text of the job: not under another name either. */
static void check_variables(struct resolving *now)
{
    const json_t *secrets = json_object_get(now->level.values, "secrets");
    size_t i, k;
    json_t *used, *secret;

    json_array_foreach(now->check.variables, i, used)
        json_array_foreach(secrets, k, secret)
            if (strcmp(json_string_value(secret), sw_json_str(used, "name")) == 0)
                spec_problem(&now->problems, sw_json_str(used, "where"),
                             "%s${%s} is one of 'secrets:', whose values are written nowhere: the command "
                             "finds it in its environment", sw_json_str(used, "subject"),
                             sw_json_str(used, "name"));
}

static void check_env(struct resolving *now)
{
    bool splits = json_object_get(now->level.values, "splits");
    const char *name;
    json_t *value;

    json_object_foreach(json_object_get(now->level.values, "env"), name, value) {
        sw_autofree char *path = sw_format("env.%s", name);
        const char *why = sw_job_env_taken(name);

        if (!why && splits)
            why = sw_job_env_taken_by_splits(name);
        if (why)
            spec_problem(&now->problems, sw_json_str(now->level.sources, path), "env.%s: %s", name, why);
    }
}

static void check_labels(struct resolving *now)
{
    const char *name;
    json_t *value;

    json_object_foreach(json_object_get(now->level.values, "labels"), name, value) {
        sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;

        sw_buf_add(&path, "labels");
        sw_path_add_key(&path, name);
        if (strcmp(name, SW_LABEL_GROUP) == 0)
            spec_problem(&now->problems, sw_json_str(now->level.sources, sw_buf_text(&path)),
                         "%s: 'splits' sets it, so a value here would be overridden", sw_buf_text(&path));
    }
}

/* Take the blocks out of the values: the chosen one becomes the options. */
static json_t *take_options(struct resolving *now)
{
    json_t *values = now->level.values;
    json_t *options = json_copy(json_object_get(values, now->platform->name));

    if (!options)
        options = json_object();
    for (const struct sw_option *row = now->platform->options; row && row->name; row++)
        if (sw_option_find(sw_spec_keys, row->name) && json_object_get(values, row->name))
            json_object_set(options, row->name, json_object_get(values, row->name));
    for (size_t i = 0; i < now->input->platform_count; i++)
        json_object_del(values, now->input->platforms[i].name);
    return options;
}

/* The blocks of platforms that were not chosen are gone, so their sources go too. */
static json_t *take_sources(struct resolving *now)
{
    json_t *sources = json_object();
    const char *path;
    json_t *source;

    json_object_foreach(now->level.sources, path, source) {
        const char *rest = path;
        sw_autofree char *first = spec_path_step(&rest);
        const struct sw_spec_platform *block =
            spec_platform(now->input->platforms, now->input->platform_count, first);

        if (!block || block == now->platform)
            json_object_set(sources, path, source);
    }
    return sources;
}

static struct sw_spec *make_spec(struct resolving *now, const struct sw_document *job)
{
    struct sw_spec *spec = sw_new(struct sw_spec);

    spec->options = take_options(now);
    for (const struct sw_option *row = now->platform->options; row && row->name; row++)
        if (row->scope == SW_ACCOUNT)        /* open() gets it from the profile of that day */
            json_object_del(spec->options, row->name);
    spec->job = sw_take(now->level.values);
    spec->sources = take_sources(now);
    spec->warnings = sw_take(now->check.warnings);
    spec->untrusted = sw_take(now->check.untrusted);
    spec->file = job ? sw_strdup(sw_document_name(job)) : NULL;
    spec->platform = sw_strdup(now->platform->name);
    spec->platforms = json_copy(json_object_get(spec->job, "platform"));
    return spec;
}

struct sw_spec *sw_spec_resolve(const struct sw_spec_input *input, struct sw_error *err)
{
    sw_auto(resolving) struct resolving now = { 0 };
    bool profile_is_there;

    resolving_init(&now, input);
    check_document(&now, input->flags, SPEC_FLAGS, &now.documents[0]);
    check_document(&now, input->job, SPEC_FILE, &now.documents[1]);
    profile_is_there = find_profile(&now) == 0;
    choose_platform(&now);
    add_level(&now, &now.documents[0]);
    if (input->job_untrusted)
        spec_note_untrusted(&now.check, &now.documents[1], SW_TRUST_ALWAYS, now.platform,
                            now.level.values);
    add_level(&now, &now.documents[1]);
    if (now.platform) {
        if (profile_is_there)
            add_profile(&now);
        sw_buf_clear(&now.check.path);
        sw_buf_clear(&now.check.place);
        spec_add_environment(&now.level, &now.check, now.platform, input->env,
                             input->env_context);
        spec_add_model(&now.level, &now.check, input);
        spec_add_defaults(&now.level, &now.check, now.platform);
        spec_require(&now.level, &now.check, now.platform);
        check_secrets(&now);
        check_variables(&now);
        check_env(&now);
        check_labels(&now);
        spec_check_config_paths(&now.level, &now.problems);
    }
    if (spec_problems_report(&now.problems, err) < 0)
        return NULL;
    return make_spec(&now, input->job);
}

json_t *sw_spec_place_options(const struct sw_spec_input *input, const char *platform,
                              struct sw_error *err)
{
    sw_auto(resolving) struct resolving now = { 0 };
    const char *section = platform;

    resolving_init(&now, input);
    now.platform = find_platform(&now, platform, NULL);
    if (now.platform) {
        if (input->profile && spec_profile_exists(input->profiles, input->profile) &&
            spec_profile_platform(input->profiles, input->profile, &now.check) == now.platform)
            section = input->profile;
        if (input->profiles)
            spec_add_profile(&now.level, input->profiles, section, now.platform, &now.check);
        sw_buf_clear(&now.check.path);
        sw_buf_clear(&now.check.place);
        spec_add_environment(&now.level, &now.check, now.platform, input->env,
                             input->env_context);
        spec_add_defaults(&now.level, &now.check, now.platform);
    }
    if (spec_problems_report(&now.problems, err) < 0)
        return NULL;
    return take_options(&now);
}
