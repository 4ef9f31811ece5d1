/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_model.c - `model:` and `action:`: what a skill bank says about them, as a level of its own above the
 * defaults. A job that names an image or a command itself keeps it.
 *
 * The inputs of an action are places of `config`, so this level is made when the others are merged.
 */
#include "spec/spec_internal.h"

#include <string.h>

#include "base/text.h"
#include "spec/bank.h"
#include "spec/skill.h"

/* The model and the action, or a complaint about the one that is missing. */
static bool is_asked(const struct spec_level *level, struct spec_check *check, const char **model,
                     const char **action)
{
    *model = sw_json_str(level->values, "model");
    *action = sw_json_str(level->values, "action");
    if (!*model && !*action)
        return false;
    if (*model && *action)
        return true;
    spec_problem(check->problems, sw_json_str(level->sources, *model ? "model" : "action"),
                 "'%s' needs '%s', too: together they choose image and command (`slipway models` lists both)",
                 *model ? "model" : "action", *model ? "action" : "model");
    return false;
}

/* An error of the bank, at the place of the job file that asks for it. */
static void complain(const struct spec_level *level, struct spec_check *check, const struct sw_error *why)
{
    spec_problem(check->problems, sw_json_str(level->sources, "model"), "model: %s%s%s", why->message,
                 why->hint[0] ? "; " : "", why->hint);
}

static void warn(struct spec_check *check, char *text)
{
    json_array_append_new(check->warnings, sw_json_text(text));
    free(text);
}

/* What the model wants and the job does not give: not an error, since its program may have defaults. */
static void warn_of_missing(const struct spec_level *level, struct spec_check *check, const json_t *action,
                            const json_t *missing)
{
    const char *model = sw_json_str(action, "model"), *verb = sw_json_str(action, "action");
    const json_t *secrets = json_object_get(level->values, "secrets"), *each, *named;
    sw_autofree char *places = sw_json_joined(missing, ", ");
    size_t i, k;

    if (json_array_size(missing) > 0)
        warn(check, sw_format("model %s: %s usually reads %s, and %s gives no value there", model, verb,
                              places,
                              strcmp(sw_json_str(action, "mode"), "args") == 0 ? "args" : "config"));
    json_array_foreach(json_object_get(action, "credentials"), i, each) {
        bool has = false;

        json_array_foreach(secrets, k, named)
            has = has || json_equal(each, named);
        if (!has)
            warn(check, sw_format("model %s usually needs %s: name it under `secrets`", model,
                                  json_string_value(each)));
    }
}

static void add_image(struct spec_level *said, const json_t *action)
{
    const char *image = sw_json_str(action, "image");

    if (!image)
        return;
    json_object_set_new(said->values, "image", sw_json_text(image));
    json_object_set_new(said->sources, "image", sw_json_text(sw_json_str(action, "image_from")));
}

/* Only where nothing else names one. */
static void need_image(const struct spec_level *level, struct spec_check *check, const json_t *action)
{
    sw_autofree char *backends = sw_json_joined(json_object_get(action, "images_of"), ", ");

    if (json_object_get(level->values, "image") || sw_json_str(action, "image"))
        return;
    spec_problem(check->problems, sw_json_str(level->sources, "model"),
                 "model: %s names no image for %s%s%s%s: give `image`", sw_json_str(action, "model"),
                 sw_json_str(action, "action"), *backends ? " (it has several backends: " : "", backends,
                 *backends ? ")" : "");
}

void spec_add_model(struct spec_level *into, struct spec_check *check, const struct sw_spec_input *input)
{
    const char *model, *name;
    struct sw_error why = { 0 };
    sw_auto(sw_bank) struct sw_bank *bank = NULL;
    sw_auto(json) json_t *action = NULL, *job = NULL, *missing = json_array();
    sw_autofree char *label = NULL;
    struct spec_level said = { NULL, NULL };

    if (!is_asked(into, check, &model, &name))
        return;
    bank = sw_bank_open(input->env, input->env_context, input->here, &why);
    action = bank ? sw_bank_action(bank, model, name, &why) : NULL;
    if (!action) {
        complain(into, check, &why);
        return;
    }
    label = sw_format("model %s %s, %s", model, name, sw_json_str(action, "file"));
    job = sw_skill_job(action, into->values, missing);
    said.sources = check->sources = json_object();
    check->origin = SPEC_ELSEWHERE;
    check->label = label;
    said.values = spec_check_document(check, job);
    check->sources = NULL;
    add_image(&said, action);
    need_image(into, check, action);
    warn_of_missing(into, check, action, missing);
    spec_merge(into, &said, check->platforms, check->platform_count);
    json_decref(said.values);
    json_decref(said.sources);
}
