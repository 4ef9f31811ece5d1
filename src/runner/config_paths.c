/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_paths.c - inputs and outputs that are named by their paths in the config, or by the names of
 * arguments.
 *
 * Each remote value is fetched and replaced by the local path; each output value becomes a local
 * folder, and remembers where it has to go. Lists and folders work in both modes.
 */
#include "runner/runner.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "core/keypath.h"

static json_t *value_of(const struct runner *runner, const char *key)
{
    return runner->args ? json_object_get(runner->args, key) : sw_keypath_get(runner->config, key);
}

static int replace(struct runner *runner, const char *key, json_t *value, struct sw_error *err)
{
    if (runner->args)
        return json_object_set_new(runner->args, key, value);
    return sw_keypath_set(runner->config, key, value, err);
}

static bool is_remote(const json_t *value)
{
    return json_is_string(value) && sw_uri_is_remote(json_string_value(value));
}

/* Models are left to the walk over the whole config, which puts them into ptm/. */
static bool is_model(const char *uri)
{
    return sw_text_starts(uri, "ngc://") || sw_text_starts(uri, "hf_model://") ||
           sw_text_starts(uri, "hf_dataset://");
}

/* ---- inputs -------------------------------------------------------------------------------- */

static char *staging_folder(const struct runner *runner, const json_t *entry, const char *key,
                            int index)
{
    const char *given = sw_json_str(entry, "container_path");
    sw_autofree char *flat = sw_keypath_flat(key, runner->args ? "-" : "");
    sw_autofree char *base = given ? sw_strdup(given)
                                   : sw_format("%s/inputs/%s", runner->scratch.work_dir, flat);

    return index < 0 ? sw_take(base) : sw_format("%s/%d", base, index);
}

json_t *runner_selection(const struct runner *runner, const json_t *entry, struct sw_error *err)
{
    const json_t *rules = json_object_get(entry, "selective");
    const char *other = sw_json_str(rules, "annotation");
    const char *file = other ? sw_json_str(runner->staged, other) : NULL;

    if (!rules || !file || runner->payload->only_data)      /* nothing was fetched */
        return NULL;
    return runner_selected(file, sw_json_str(rules, "format"), json_object_get(rules, "keys"),
                           err);
}

const char **runner_texts(const json_t *names)
{
    const char **all = sw_realloc_array(NULL, json_array_size(names) + 1, sizeof *all);
    size_t i;
    json_t *name;

    json_array_foreach(names, i, name)
        all[i] = json_string_value(name);
    return all;
}

static char *stage(struct runner *runner, const json_t *entry, const char *key, const char *uri,
                   int index, struct sw_error *err)
{
    sw_autofree char *folder = staging_folder(runner, entry, key, index);
    struct sw_error why = { 0 };
    sw_auto(json) json_t *names = runner_selection(runner, entry, &why);
    sw_autofree const char **only = names ? runner_texts(names) : NULL;
    const struct runner_fetch_request request = {
        .uri = uri, .to = folder, .into = true, .only = only, .only_count = json_array_size(names),
        .extract = true, .no_cache = index >= 0,
        .extract_to_parent = sw_json_bool(entry, "extract_to_parent", false) };

    if (why.code) {
        if (err)
            *err = why;
        return NULL;
    }
    return runner_fetch(runner, &request, err);
}

static int stage_list(struct runner *runner, const json_t *entry, const char *key, json_t *list,
                      struct sw_error *err)
{
    size_t i;
    json_t *element;

    json_array_foreach(list, i, element) {
        sw_autofree char *path = NULL;

        if (!is_remote(element) || is_model(json_string_value(element)))
            continue;
        path = stage(runner, entry, key, json_string_value(element), (int)i, err);
        if (!path)
            return -1;
        json_array_set_new(list, i, sw_json_text(path));
    }
    return 0;
}

static int stage_one(struct runner *runner, const json_t *entry, struct sw_error *err)
{
    const char *key = sw_json_str(entry, "key");
    json_t *value = key ? value_of(runner, key) : NULL;
    sw_autofree char *path = NULL;

    if (json_is_array(value))
        return stage_list(runner, entry, key, value, err);
    if (!is_remote(value) || (!runner->args && is_model(json_string_value(value))))
        return 0;
    path = stage(runner, entry, key, json_string_value(value), -1, err);
    if (!path)
        return -1;
    json_object_set_new(runner->staged, key, sw_json_text(path));
    return replace(runner, key, sw_json_text(path), err);
}

int runner_declared_inputs(struct runner *runner, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(runner->payload->config_inputs, i, entry)
        if (stage_one(runner, entry, err) < 0)
            return sw_wrap(err, "input '%s'", sw_json_str(entry, "key"));
    return 0;
}

/* ---- outputs ------------------------------------------------------------------------------- */

static char *output_folder(const struct runner *runner, const char *key, const char *uri)
{
    sw_autofree char *flat = NULL;

    if (runner->payload->cache_dir)
        return runner_mount_path(runner->payload->cache_dir, uri);
    flat = sw_keypath_flat(key, runner->args ? "-" : "");
    return sw_format("%s/%s%s", runner->scratch.work_dir, runner->args ? "outputs/" : "", flat);
}

static int declare_output(struct runner *runner, const json_t *entry, struct sw_error *err)
{
    const char *key = sw_json_str(entry, "key"), *type = sw_json_str(entry, "type");
    json_t *value = key ? value_of(runner, key) : NULL;
    sw_autofree char *flat = key ? sw_keypath_flat(key, "-") : NULL;
    sw_autofree char *said = NULL, *path = NULL, *parent = NULL;

    if (!key)
        return sw_fail(err, SW_E_SPEC, "an output of the payload has no key");
    if (json_is_string(value) && (is_remote(value) || *json_string_value(value) == '/'))
        said = sw_strdup(json_string_value(value));
    else if (!value || json_is_string(value) || json_is_null(value))
        said = sw_format("%s/%s", runner->scratch.results_root, flat);
    else
        return sw_fail(err, SW_E_SPEC, "output '%s' is neither a path nor a URI", key);
    path = sw_uri_is_remote(said) ? output_folder(runner, key, said) : sw_strdup(said);
    parent = runner_folder_of(path);
    if (!runner->only_collect &&
        sw_mkdirs(!type || strcmp(type, "folder") == 0 ? path : parent, 0777, err) < 0)
        return -1;
    json_array_append_new(runner->outputs, sw_json_object(
        SW_STR("path", path), SW_STR_OPT("to", sw_uri_is_remote(said) ? said : NULL),
        SW_SUB("exclude", runner_excludes(runner, entry)),
        SW_SUB_COPY("every_ms", json_object_get(entry, "every_ms"))));
    return replace(runner, key, sw_json_text(path), err);
}

int runner_declared_outputs(struct runner *runner, struct sw_error *err)
{
    size_t i;
    json_t *entry;

    json_array_foreach(runner->payload->config_outputs, i, entry)
        if (declare_output(runner, entry, err) < 0)
            return sw_wrap(err, "output '%s'", sw_json_str(entry, "key"));
    return 0;
}
