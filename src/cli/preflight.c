/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight.c - `slipway preflight`: would the job be taken and find what it needs; if not, what fixes it.
 */
#include <stddef.h>

#include "base/file.h"
#include "cli/cli_checks.h"

struct preflight_options {
    bool probe;
};

static const struct cli_flag preflight_flags[] = {
    { "probe", 0, NULL, "try the data by a short job where it will run", cli_apply_bool,
      offsetof(struct preflight_options, probe) },
    { 0 }
};

/* Neither a file nor a command: only the platform is asked about, and any command will do. */
static struct cli_args with_some_command(const struct cli_args *given)
{
    static const char *const any[] = { "true", NULL };
    struct cli_args args = *given;

    if (!args.word_count && !args.rest && !cli_given_value(given, "file") &&
        !sw_file_exists("job.yaml")) {
        args.rest = any;
        args.rest_count = 1;
    }
    return args;
}

static char *check(struct cli *cli, const struct sw_request *request, bool probe, struct sw_error *err)
{
    return probe ? sw_preflight_there(cli->session, request, err) : sw_preflight(cli->session, request, err);
}

static int preflight_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct preflight_options *options = args->options;
    const struct cli_args asked = with_some_command(args);
    sw_auto(sw_request) struct sw_request *request = cli_request(&asked, true, err);
    sw_auto(json) json_t *found = NULL;

    if (!request || !cli_session(cli, err))
        return -1;
    while (!(found = cli_document(check(cli, request, options->probe, err), err))) {
        if (!cli_trust_ask(cli, request, err))
            return -1;
        *err = (struct sw_error){ 0 };
    }
    return cli_checks_show(cli, json_object_get(found, "checks"), found, err);
}

const struct command command_preflight = {
    .name = "preflight",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "check that a job could run, before it costs anything",
    .description =
        "List what the job needs and whether it is available, with a remedy for everything that is "
        "missing: on its platform (connection, versions, disk, CPUs, memory, GPUs and their types, "
        "limits, image, mounts, paths), on this machine (secrets; on local, the program), and its "
        "data (that inputs can be read and outputs written, with the credentials that the job will "
        "have). A job that run would refuse fails here, for the same reason. What cannot be known before a "
        "job runs there is marked '-' (not checked), with the reason. Takes the same file, "
        "flags and command as run; with neither file nor command, only the platform is checked. "
        "Nothing is sent or changed, unless --probe is given: then a job that lasts seconds, with one small "
        "node and no GPUs, looks at each input and writes to each output from where the job will run, and is "
        "removed again. Exits with 1 when a check fails.",
    .example = "slipway preflight -p docker --image ubuntu:24.04",
    .flags = preflight_flags,
    .options_size = sizeof(struct preflight_options),
    .shared = { cli_job_flags, cli_output_document },
    .max_args = 1,
    .takes_command = true,
    .run = preflight_run,
};
