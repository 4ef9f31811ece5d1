/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_defaults.c - ~/.config/slipway/config.toml: what a user wants wherever nothing else says so.
 *
 * It holds habits (a platform, columns, a time zone, colours), not parts of jobs: those are profiles. The
 * rows below are the only list of its keys. A variable of the environment wins over the file.
 *
 * Pure: the file was read before.
 */
#include "spec/spec_internal.h"

#include "base/text.h"

static const char *const colors[] = { "auto", "always", "never", NULL };

const struct sw_option sw_user_keys[] = {
    { "platform", SW_TEXTS, .env = "SLIPWAY_PLATFORM",
      .help = "the platform of jobs that name none, or an ordered list of them" },
    { "columns", SW_TEXTS, .env = "SLIPWAY_COLUMNS", .help = "the columns of 'slipway ps'" },
    { "time_zone", SW_TEXT, .env = "SLIPWAY_TIME_ZONE", .initial = "UTC",
      .help = "the zone of the times shown: UTC, local, or a name such as Europe/Berlin" },
    { "color", SW_CHOICE, .env = "SLIPWAY_COLOR", .initial = "auto", .choices = colors,
      .help = "auto: on a terminal, unless NO_COLOR is set; always; never" },
    { 0 }
};

/* Each name of the list must be a platform's, or the place that says so is named. */
static void check_platforms(struct spec_check *check, const json_t *names)
{
    struct spec_mark mark = spec_enter(check, "platform");
    const json_t *name;
    size_t i, count = 0;

    json_array_foreach(names, i, name) {
        const char *word = json_string_value(name);
        sw_autofree const char **words =
            spec_words(NULL, NULL, check->platforms, check->platform_count, &count);
        sw_autofree char *shown = spec_shown(word), *mean = spec_did_you_mean(word, words, count);

        if (!spec_platform(check->platforms, check->platform_count, word))
            spec_complain(check, "unknown platform '%s'%s", shown, mean);
    }
    spec_leave(check, mark);
}

static struct spec_level read_file(struct spec_check *check, const struct sw_document *file)
{
    struct spec_level level = { NULL, json_object() };

    check->origin = SPEC_FILE;
    check->document = file;
    check->sources = level.sources;
    level.values = spec_check_fields(check, sw_user_keys, sw_document_value(file));
    check_platforms(check, json_object_get(level.values, "platform"));
    check->sources = NULL;
    return level;
}

json_t *sw_user_defaults_resolve(const struct sw_user_input *input, struct sw_error *err)
{
    sw_auto(spec_problems) struct spec_problems problems = SPEC_PROBLEMS_INIT;
    sw_auto(json) json_t *values = json_object(), *sources = json_object();
    sw_auto(spec_check) struct spec_check check = { .platforms = input->platforms,
                                                    .platform_count = input->platform_count,
                                                    .problems = &problems };
    struct spec_level level = { values, sources };

    spec_add_row_environment(&level, &check, sw_user_keys, input->env, input->env_context);
    if (input->file) {
        struct spec_level said = read_file(&check, input->file);

        json_object_update_missing(values, said.values);
        json_object_update_missing(sources, said.sources);
        json_decref(said.values);
        json_decref(said.sources);
    }
    spec_add_row_defaults(&level, &check, sw_user_keys);
    if (spec_problems_report(&problems, err) < 0)
        return sw_null(sw_hint(err, "'slipway help config' lists the keys of config.toml"));
    return sw_json_object(SW_SUB_COPY("values", values), SW_SUB_COPY("sources", sources));
}
