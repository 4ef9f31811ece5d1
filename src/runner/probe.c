/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c - before the command: can the destinations of its outputs be written to?
 *
 * A wrong key or a bucket that is not there would be found when the training is over; here it costs
 * seconds. Nothing is left at the destination (sw_transfer_probe), and nothing but the right to write is
 * needed.
 */
#include "runner/runner.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "core/command.h"

static int probe_folder(const char *path, struct sw_error *err)
{
    sw_autofree char *folder = runner_folder_of(path);

    if (sw_mkdirs(folder, 0777, err) < 0)
        return -1;
    return access(folder, W_OK) == 0 ? 0 : sw_fail_errno(err, SW_E_IO, "cannot write to '%s'", folder);
}

/* As prepare.c sees it: a name with an ending is a file. */
static int probe_one(struct runner *runner, const json_t *entry, const char *to, struct sw_error *err)
{
    sw_autofree char *path = runner_local_path(to), *inside = NULL;
    const char *name = strrchr(sw_json_str(entry, "path"), '/');

    if (path)
        return probe_folder(path, err);
    inside = name && strchr(name, '.') ? sw_strdup(to) : sw_uri_join(to, "manifest.json");
    return runner_transfers(runner, err) ? sw_transfer_probe(runner->client, inside, err) : -1;
}

int runner_probe(struct runner *runner, struct sw_error *err)
{
    sw_autofree char *rank = sw_format("%d", runner->scratch.rank);
    size_t i;
    json_t *entry;

    runner->tally->probing = true;
    json_array_foreach(runner->outputs, i, entry) {
        const char *said = sw_json_str(entry, "to");
        sw_autofree char *to = said ? sw_fill_word(said, &(struct sw_fill){ .rank = rank }) : NULL;
        struct sw_error why = { 0 };

        if (sw_text_empty(to))
            continue;
        probe_one(runner, entry, to, &why);
        if (runner->payload->only_data) {
            runner_tried_output(to, &why);
        } else if (why.code) {
            sw_pass(err, &why);
            return sw_wrap(err, "the output '%s' cannot be copied to '%s'", sw_json_str(entry, "path"), to);
        }
    }
    runner->tally->probing = false;
    return 0;
}
