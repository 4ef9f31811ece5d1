/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skill.c - see skill.h.
 */
#include "spec/skill.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/keypath.h"

enum { PLACES_MAX = 500, NAME_MAX_BYTES = 200 };

/* ---- names ---------------------------------------------------------------------------------------- */

static bool any_is(const json_t *list, const char *word)
{
    const json_t *each;
    size_t i;

    json_array_foreach(list, i, each)
        if (json_is_string(each) && sw_text_same_nocase(json_string_value(each), word))
            return true;
    return false;
}

bool sw_skill_is(const json_t *info, const char *folder, const char *word)
{
    static const char *const names[] = { "network_arch", "name", "model" };

    if (sw_text_same_nocase(folder, word))
        return true;
    for (size_t i = 0; i < SW_COUNT(names); i++) {
        const char *name = sw_json_str(info, names[i]);

        if (!sw_text_empty(name) && sw_text_same_nocase(name, word))
            return true;
    }
    return any_is(json_object_get(info, "aliases"), word) ||
           any_is(json_object_get(info, "huggingface_model_ids"), word);
}

static int by_name(const void *one, const void *other)
{
    return strcmp(*(const char *const *)one, *(const char *const *)other);
}

json_t *sw_skill_actions(const json_t *info)
{
    const json_t *actions = json_object_get(info, "actions");
    sw_autofree const char **names =
        sw_realloc_array(NULL, json_object_size(actions) + 1, sizeof *names);
    json_t *sorted = json_array(), *value;
    const char *name;
    size_t count = 0;

    json_object_foreach((json_t *)actions, name, value)
        if (strlen(name) <= NAME_MAX_BYTES)
            names[count++] = name;
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(sorted, json_string(names[i]));
    return sorted;
}

/* ---- one action -------------------------------------------------------------------------------------- */

static int refuse(struct sw_error *err, const char *key, const char *wanted)
{
    return sw_fail(err, SW_E_SPEC, "'%s' is not %s", key, wanted);
}

/* A text that is there and not empty; NULL: absent, or *bad. */
static const char *text_of(const json_t *object, const char *key, bool *bad)
{
    const json_t *value = json_object_get(object, key);

    if (!value || json_is_null(value))
        return NULL;
    *bad = *bad || !json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value);
    return *bad || !*json_string_value(value) ? NULL : json_string_value(value);
}

/* The action's own image counts more than the model's. */
static const char *image_of(const json_t *info, const json_t *action, bool *bad)
{
    const json_t *const places[] = { action, info };
    static const char *const keys[] = { "container_image", "image" };

    for (size_t i = 0; i < SW_COUNT(places); i++)
        for (size_t k = 0; k < SW_COUNT(keys); k++) {
            const char *image = text_of(places[i], keys[k], bad);

            if (image)
                return image;
        }
    return NULL;
}

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

/* A list of texts, owned; NULL: it is something else. */
static json_t *texts_of(const json_t *list)
{
    sw_auto(json) json_t *all = json_array();
    const json_t *each;
    size_t i;

    if (list && !json_is_null(list) && !json_is_array(list))
        return NULL;
    json_array_foreach(list, i, each) {
        if (!json_is_string(each) || i >= PLACES_MAX)
            return NULL;
        json_array_append(all, (json_t *)each);
    }
    return sw_take(all);
}

/* `inputs` and `outputs`: a map from places to what holds for them, or a list of places. Owned; NULL. */
static json_t *places_of(const json_t *said)
{
    sw_auto(json) json_t *map = json_object();
    const char *place;
    json_t *each;
    size_t i;

    if (json_array_size(said) > PLACES_MAX || json_object_size(said) > PLACES_MAX)
        return NULL;
    json_array_foreach(said, i, each) {
        if (!json_is_string(each))
            return NULL;
        json_object_set_new(map, json_string_value(each), json_object());
    }
    json_object_foreach((json_t *)said, place, each) {
        if (!json_is_object(each) && !json_is_null(each))
            return NULL;
        json_object_set_new(map, place, json_is_null(each) ? json_object() : json_incref(each));
    }
    return !said || json_is_null(said) || json_is_object(said) || json_is_array(said) ? sw_take(map) : NULL;
}

static const json_t *find_action(const json_t *info, const char *action, struct sw_error *err)
{
    const json_t *found = json_object_get(json_object_get(info, "actions"), action);
    sw_auto(json) json_t *names = sw_skill_actions(info);
    sw_autofree char *all = sw_json_joined(names, ", ");

    if (json_is_object(found))
        return found;
    return sw_null(sw_fail(err, SW_E_SPEC, "it has no action '%s', but: %s", action, *all ? all : "none"));
}

json_t *sw_skill_action(const json_t *info, const char *action, struct sw_error *err)
{
    static const char *const modes[] = { "config", "args", "passthrough", NULL };
    static const char *const formats[] = { "yaml", "json", "toml", NULL };
    const json_t *said = find_action(info, action, err);
    sw_auto(json) json_t *inputs = NULL, *outputs = NULL, *exclude = NULL, *credentials = NULL;
    bool bad = false;
    const char *command = text_of(said, "command", &bad), *mode = text_of(said, "mode", &bad);
    const char *format = text_of(said, "config_format", &bad), *image = image_of(info, said, &bad);

    if (!said)
        return NULL;
    if (bad)
        return sw_null(sw_fail(err, SW_E_SPEC, "command, mode, config_format and image are not all strings"));
    if (!command)
        return sw_null(sw_fail(err, SW_E_SPEC, "it has no command"));
    mode = mode ? mode : "config";
    if (!is_one_of(mode, modes))
        return sw_null(refuse(err, "mode", "config, args or passthrough"));
    if (format && !is_one_of(format, formats))
        return sw_null(refuse(err, "config_format", "yaml, json or toml"));
    inputs = places_of(json_object_get(said, "inputs"));
    outputs = places_of(json_object_get(said, "outputs"));
    exclude = texts_of(json_object_get(said, "upload_excludes"));
    credentials = texts_of(json_object_get(info, "required_credentials"));
    if (!inputs || !outputs)
        return sw_null(refuse(err, inputs ? "outputs" : "inputs", "a mapping of places"));
    if (!exclude || !credentials)
        return sw_null(refuse(err, exclude ? "required_credentials" : "upload_excludes",
                              "a list of strings"));
    return sw_json_object(SW_STR("command", command), SW_STR("mode", mode), SW_STR_OPT("image", image),
                          SW_STR_OPT("config_format", format), SW_SUB_COPY("inputs", inputs),
                          SW_SUB_COPY("outputs", outputs), SW_SUB_COPY("exclude", exclude),
                          SW_SUB_COPY("credentials", credentials));
}

/* ---- the job ------------------------------------------------------------------------------------------- */

/* Those of these keys that the entry has, as it has them: the check of a job file follows. */
static json_t *taken(const json_t *entry, const char *const *keys)
{
    json_t *some = json_object();

    for (; *keys; keys++)
        if (json_object_get(entry, *keys))
            json_object_set(some, *keys, json_object_get(entry, *keys));
    return some;
}

static const json_t *value_at(const json_t *values, bool args, const char *place)
{
    const json_t *value = args ? json_object_get(json_object_get(values, "args"), place)
                               : sw_keypath_get(json_object_get(values, "config"), place);

    return json_is_null(value) || (json_is_string(value) && !*json_string_value(value)) ? NULL : value;
}

static json_t *inputs_of(const json_t *action, const json_t *values, bool args, json_t *missing)
{
    static const char *const keys[] = { "container_path", "selective", "extract_to_parent", NULL };
    json_t *some = json_object(), *entry;
    const char *place;

    json_object_foreach(json_object_get(action, "inputs"), place, entry) {
        if (value_at(values, args, place))
            json_object_set_new(some, place, taken(entry, keys));
        else if (!sw_json_bool(entry, "optional", false))
            json_array_append_new(missing, json_string(place));
    }
    return some;
}

static json_t *outputs_of(const json_t *action, const char *const *keys)
{
    const json_t *exclude = json_object_get(action, "exclude");
    json_t *all = json_object(), *entry;
    const char *place;

    json_object_foreach(json_object_get(action, "outputs"), place, entry) {
        json_t *one = taken(entry, keys);

        if (json_array_size(exclude) > 0)
            json_object_set(one, "exclude", (json_t *)exclude);
        json_object_set_new(all, place, one);
    }
    return all;
}

json_t *sw_skill_job(const json_t *action, const json_t *values, json_t *missing)
{
    static const char *const typed[] = { "type", NULL }, *const none[] = { NULL };
    const char *mode = sw_json_str(action, "mode"), *format = sw_json_str(action, "config_format");
    bool args = strcmp(mode, "args") == 0, config = strcmp(mode, "config") == 0;
    json_t *job = sw_json_object(SW_STR("command", sw_json_str(action, "command")));

    if (!args && !config) {
        json_object_set_new(job, "outputs", outputs_of(action, none));
        return job;
    }
    if (config && format)
        json_object_set_new(job, "config_format", json_string(format));
    if (!json_object_get(values, "args") && !json_object_get(values, "config"))
        json_object_set_new(job, args ? "args" : "config", json_object());
    json_object_set_new(job, "config_inputs", inputs_of(action, values, args, missing));
    json_object_set_new(job, "config_outputs", outputs_of(action, typed));
    return job;
}

/* ---- schemas ------------------------------------------------------------------------------------- */

/* Python's words for numbers that JSON has not become 0, in place and of the same length. */
static void blank_words(char *text, size_t length)
{
    static const char *const words[] = { "-Infinity", "Infinity", "NaN" };
    bool quoted = false;

    for (size_t i = 0; i < length; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        for (size_t w = 0; !quoted && w < SW_COUNT(words); w++) {
            size_t size = strlen(words[w]);

            if (i < length && size <= length - i && memcmp(text + i, words[w], size) == 0) {
                memset(text + i, ' ', size);
                text[i] = '0';
            }
        }
    }
}

int sw_skill_schema(char *text, size_t length, struct sw_error *err)
{
    sw_auto(json) json_t *schema = NULL;

    blank_words(text, length);
    schema = sw_json_parse(text, length, "schema", err);
    if (schema && !json_is_object(schema))
        return sw_fail(err, SW_E_SPEC, "schema: expected an object");
    return schema ? 0 : -1;
}

/* ---- versions.yaml ----------------------------------------------------------------------------------- */

bool sw_versions_is_key(const char *image)
{
    if (sw_text_empty(image) || *image == '.' || strstr(image, "..") || sw_text_ends(image, "."))
        return false;
    for (; *image; image++)
        if (!isalnum((unsigned char)*image) && *image != '_' && *image != '.')
            return false;
    return true;
}

const char *sw_versions_image(const json_t *versions, const char *key, struct sw_error *err)
{
    const json_t *at = json_object_get(versions, "images");
    sw_autofree char *copy = sw_strdup(key);
    char *rest = copy;

    for (char *step; at && (step = strsep(&rest, "."));)
        at = json_object_get(at, step);
    if (!at)
        return sw_null(sw_fail(err, SW_E_NOT_FOUND, "there is no images.%s", key));
    if (!json_is_string(at) || !*json_string_value(at))
        return sw_null(sw_fail(err, SW_E_SPEC, "images.%s is not the name of an image", key));
    return json_string_value(at);
}
