/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths_payload.c - a payload for a place without containers: every declared path in it becomes the
 * job's own folder there. Pure.
 */
#include "plan/paths.h"

#include <assert.h>

#include "core/payload.h"

static void replace(json_t **place, json_t *value)
{
    json_decref(*place);
    *place = value;
}

static json_t *mapped_words(const struct sw_paths *paths, const json_t *words)
{
    json_t *out = json_array(), *word;
    size_t i;

    json_array_foreach(words, i, word) {
        sw_autofree char *mapped = sw_paths_word(paths, json_string_value(word));

        json_array_append_new(out, sw_json_text(mapped));
    }
    return out;
}

static json_t *mapped_inputs(const struct sw_paths *paths, const json_t *inputs)
{
    json_t *all = sw_paths_entries(paths, inputs, "path"), *entry;
    size_t i;

    json_array_foreach(all, i, entry) {
        json_t *rules = json_object_get(entry, "selective");
        const char *annotation = sw_json_str(rules, "annotation");

        if (annotation && sw_paths_of(paths, annotation))
            json_object_set_new(rules, "annotation", sw_json_text(sw_paths_of(paths, annotation)));
    }
    return all;
}

void sw_paths_payload(const struct sw_paths *paths, struct sw_payload *payload)
{
    const char *dir = sw_json_str(payload->checkpoint, "dir");

    assert(paths && !payload->filled);
    replace(&payload->inputs, mapped_inputs(paths, payload->inputs));
    replace(&payload->outputs, sw_paths_entries(paths, payload->outputs, "path"));
    replace(&payload->config_inputs,
            sw_paths_entries(paths, payload->config_inputs, "container_path"));
    replace(&payload->env, sw_paths_document(paths, payload->env));
    if (payload->config)
        replace(&payload->config, sw_paths_document(paths, payload->config));
    if (payload->args)
        replace(&payload->args, sw_paths_document(paths, payload->args));
    if (payload->argv)
        replace(&payload->argv, mapped_words(paths, payload->argv));
    if (payload->command) {
        char *command = sw_paths_command(paths, payload->command);

        free(payload->command);
        payload->command = command;
    }
    if (dir) {
        sw_autofree char *own = sw_paths_value(paths, dir);

        replace(&payload->checkpoint, json_deep_copy(payload->checkpoint));
        json_object_set_new(payload->checkpoint, "dir", sw_json_text(own));
    }
}
