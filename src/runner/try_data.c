/* SPDX-License-Identifier: Apache-2.0 */
/*
 * try_data.c - a job that only tries its data: each input is looked at and each output written to, and what
 * was found is a row in the log (core/finding.h), for `slipway preflight --probe`.
 *
 * prepare walks the inputs and outputs as it does for a job that runs, so that nothing is tried that the job
 * does not use, and calls this where it would transfer. One that fails stops no other.
 */
#include "runner/runner.h"

#include <sys/stat.h>

#include "base/shown.h"
#include "core/finding.h"
#include "core/report.h"

static void say(const char *what, const char *uri, const char *good, struct sw_error *why)
{
    sw_auto(json) json_t *rows = json_array();
    sw_autofree char *shown = sw_uri_shown(uri), *check = sw_format("%s %s", what, shown), *line = NULL;

    if (why->code && !why->hint[0])
        sw_hint(why, "check the address, and the network between the job's machine and the server");
    if (why->code)
        sw_finding_error(rows, check, why);
    else
        sw_finding(rows, check, true, good, NULL);
    line = sw_json_dump(json_array_get(rows, 0));
    runner_log(SW_DATA_WORD "%s", line);
}

static void look(struct runner *runner, const char *uri, struct sw_error *err)
{
    sw_auto(sw_object) struct sw_object found = { .size = -1 };
    sw_autofree char *path = runner_local_path(uri);
    struct stat info;

    if (path && stat(path, &info) < 0)
        sw_fail_errno(err, SW_E_NOT_FOUND, "'%s'", path);
    else if (!path && runner_transfers(runner, err) &&
             sw_transfer_stat(runner->client, uri, &found, err) == 0 && found.kind == SW_OBJECT_NONE)
        sw_fail(err, SW_E_NOT_FOUND, "nothing found there");
}

void runner_try_input(struct runner *runner, const char *uri)
{
    struct sw_error why = { 0 };

    look(runner, uri, &why);
    say("input", uri, "readable from where the job runs", &why);
}

void runner_tried_output(const char *to, struct sw_error *why)
{
    say("output", to, "writable from where the job runs", why);
}
