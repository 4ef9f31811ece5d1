/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume.c - a new attempt goes on from the newest complete checkpoint.
 *
 * Every empty resume_training_checkpoint_path in the config is filled in. A job that names a
 * checkpoint folder also gets $SLIPWAY_RESUME_FROM, and when that folder is empty because this is
 * another machine, what an earlier attempt uploaded of it is brought back first.
 */
#include "runner/runner.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/file.h"
#include "base/text.h"
#include "core/checkpoint.h"

enum { SETTLE_MS = 2000 };
#define LEAF "resume_training_checkpoint_path"

static bool is_off(const struct runner *runner)
{
    static const char *const words[] = { "0", "false", "no" };
    const char *said = getenv("TAO_AUTO_RESUME");
    const char *resume = sw_json_str(runner->payload->checkpoint, "resume");

    for (size_t i = 0; said && i < SW_COUNT(words); i++)
        if (strcasecmp(said, words[i]) == 0)
            return true;
    return resume && strcmp(resume, "never") == 0;
}

static bool wants_one(const json_t *config)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)config, key, value)
        if (strcmp(key, LEAF) == 0 ? json_is_null(value) || (json_is_string(value) &&
                                                             json_string_length(value) == 0)
                                   : wants_one(value))
            return true;
    return false;
}

static void fill_in(json_t *config, const char *path)
{
    const char *key;
    json_t *value;
    void *next;

    json_object_foreach_safe(config, next, key, value) {
        if (strcmp(key, LEAF) != 0)
            fill_in(value, path);
        else if (json_is_null(value) || (json_is_string(value) && !json_string_length(value)))
            json_object_set_new(config, key, sw_json_text(path));
    }
}

/* The part of an output's destination that holds `folder`; owned, NULL: none does. */
static char *uploaded_at(const struct runner *runner, const char *folder)
{
    size_t i;
    json_t *entry;

    json_array_foreach(runner->outputs, i, entry) {
        const char *path = sw_json_str(entry, "path"), *to = sw_json_str(entry, "to");
        size_t length = path ? strlen(path) : 0;

        if (!to || strncmp(folder, path, length) != 0)
            continue;
        if (folder[length] == '\0')
            return sw_strdup(to);
        if (folder[length] == '/')
            return sw_uri_join(to, folder + length + 1);
    }
    return NULL;
}

static void bring_back(struct runner *runner, const char *folder)
{
    sw_autofree char *from = uploaded_at(runner, folder);
    sw_auto(sw_object) struct sw_object object = { 0 };
    struct sw_copy_report report = { 0 };
    struct sw_error why = { 0 };

    if (!from || !runner_transfers(runner, &why) ||
        sw_transfer_stat(runner->client, from, &object, &why) < 0 ||
        object.kind != SW_OBJECT_FOLDER)
        return;
    if (runner_copy_counted(runner, RUNNER_IN, from, folder, &(struct sw_copy_rules){ .recursive = true },
                     &report, &why) < 0)
        runner_log("checkpoints not fetched from %s: %s", from, why.message);
    else
        runner_log("%lld file%s fetched from %s", (long long)report.files,
                   sw_text_plural((double)report.files), from);
}

int runner_resume(struct runner *runner, struct sw_error *err)
{
    const char *folder = sw_json_str(runner->payload->checkpoint, "dir");
    size_t count = json_array_size(runner->outputs), i, found = 0;
    sw_autofree const char **folders = sw_realloc_array(NULL, count + 2, sizeof *folders);
    json_t *entry;

    (void)err;
    if (is_off(runner) || (!folder && !wants_one(runner->config)))
        return 0;
    if (folder)
        folders[found++] = folder;
    json_array_foreach(runner->outputs, i, entry)
        if (!folder && !sw_json_str(entry, "to"))        /* what is uploaded is not there yet */
            folders[found++] = sw_json_str(entry, "path");
    runner->resume_from = sw_checkpoint_newest_complete(folders, found, SETTLE_MS);
    if (!runner->resume_from && folder) {
        bring_back(runner, folder);
        runner->resume_from = sw_checkpoint_newest_complete(folders, found, 0);
    }
    if (!runner->resume_from)
        return 0;
    runner_log("continuing from %s", runner->resume_from);
    if (runner->config)
        fill_in(runner->config, runner->resume_from);
    return 0;
}
