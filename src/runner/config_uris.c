/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_uris.c - URIs anywhere in the config: models are fetched and replaced by what the command
 * can open.
 *
 * ngc:// and hf_...:// are models wherever they are named. s3:// is data that the job file may have
 * meant as a destination, so it is fetched only where the writer of the payload says that every URI
 * is an input (job files do: outputs are declared by path there).
 */
#include "runner/runner.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"
#include "core/keypath.h"

static const char *const weights[] = { ".pth", ".pth.tar", ".pt", ".ckpt", ".hdf5", ".tlt" };

static const struct {
    const char *scheme;
    bool is_model;
} kinds[] = {
    { "ngc://", true }, { "hf_model://", true }, { "hf_dataset://", true }, { "s3://", false },
};

struct first_weights {
    char *name;                    /* the first in order of names; NULL: none */
    bool any;                      /* a file of any kind */
};

static int look_for_weights(void *context, const char *relative, const struct stat *info)
{
    struct first_weights *first = context;

    if (!S_ISREG(info->st_mode))
        return 0;
    first->any = true;
    for (size_t i = 0; i < SW_COUNT(weights); i++)
        if (sw_text_ends(relative, weights[i]) &&
            (!first->name || strcmp(relative, first->name) < 0)) {
            free(first->name);
            first->name = sw_strdup(relative);
        }
    return 0;
}

/* A model is its weights file when it has one, else its folder (sharded ones). */
static char *model_at(const char *folder, const char *uri, struct sw_error *err)
{
    struct first_weights first = { 0 };
    struct stat info;
    char *path;

    if (stat(folder, &info) == 0 && S_ISREG(info.st_mode))
        return sw_strdup(folder);
    sw_walk(folder, look_for_weights, &first, NULL);
    if (!first.any)
        return sw_null(sw_fail(err, SW_E_NOT_FOUND, "'%s' holds no file", uri));
    path = first.name ? sw_path_join(folder, first.name) : sw_strdup(folder);
    free(first.name);
    return path;
}

/* Is this one of the job's own destinations? Those are not fetched. */
static bool is_destination(const struct runner *runner, const char *uri)
{
    size_t i;
    json_t *entry;

    json_array_foreach(runner->outputs, i, entry) {
        const char *to = sw_json_str(entry, "to");

        if (to && (sw_text_starts(uri, to) || sw_text_starts(to, uri)))
            return true;
    }
    return false;
}

static char *fetch_text(struct runner *runner, const char *key, const char *uri,
                        struct sw_error *err)
{
    sw_autofree char *flat = sw_keypath_flat(key, ""), *folder = NULL, *path = NULL;
    bool is_model = false, is_ours = false;

    for (size_t i = 0; i < SW_COUNT(kinds); i++)
        if (sw_text_starts(uri, kinds[i].scheme)) {
            is_model = kinds[i].is_model;
            is_ours = is_model || (runner->payload->fetch_uris && !is_destination(runner, uri));
        }
    if (!is_ours)
        return sw_strdup(uri);
    folder = sw_format("%s/%s/%s", runner->scratch.work_dir, is_model ? "ptm" : "inputs", flat);
    path = runner_fetch(runner, &(struct runner_fetch_request){ .uri = uri, .to = folder, .into = true,
                                                       .extract = !is_model, }, err);
    return path && is_model && !runner->payload->only_data ? model_at(path, uri, err) : sw_take(path);
}

static int walk(struct runner *runner, json_t *value, const char *path, struct sw_error *err);

static json_t *replaced(struct runner *runner, const json_t *value, const char *key,
                        struct sw_error *err)
{
    sw_autofree char *local = fetch_text(runner, key, json_string_value(value), err);

    return local ? sw_json_text(local) : NULL;
}

static int one_value(struct runner *runner, json_t *value, const char *key, json_t **new_value,
                     struct sw_error *err)
{
    *new_value = NULL;
    if (!json_is_string(value))
        return walk(runner, value, key, err);
    if (!sw_uri_is_remote(json_string_value(value)))
        return 0;
    *new_value = replaced(runner, value, key, err);
    return *new_value ? 0 : -1;
}

static int walk(struct runner *runner, json_t *value, const char *path, struct sw_error *err)
{
    const char *key;
    json_t *inside, *new_value;
    void *next;
    size_t i;

    json_object_foreach_safe(value, next, key, inside) {
        sw_autofree char *below = *path ? sw_format("%s.%s", path, key) : sw_strdup(key);

        if (one_value(runner, inside, below, &new_value, err) < 0)
            return -1;
        if (new_value)
            json_object_set_new(value, key, new_value);
    }
    json_array_foreach(value, i, inside) {
        sw_autofree char *below = sw_format("%s[%zu]", path, i);

        if (one_value(runner, inside, below, &new_value, err) < 0)
            return -1;
        if (new_value)
            json_array_set_new(value, i, new_value);
    }
    return 0;
}

int runner_config_uris(struct runner *runner, struct sw_error *err)
{
    return runner->config ? walk(runner, runner->config, "", err) : 0;
}
