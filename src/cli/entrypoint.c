/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entrypoint.c - `slipway entrypoint`: what a job runs inside its container, or a script that does it.
 */
#include <stddef.h>

#include "base/text.h"
#include "cli/cli.h"

struct entrypoint_options {
    bool script;
};

static const struct cli_flag entrypoint_flags[] = {
    { "script", 0, NULL, "one shell script with everything inside, to run by hand", cli_apply_bool,
      offsetof(struct entrypoint_options, script) },
    { 0 }
};

static int entrypoint_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct entrypoint_options *o = args->options;
    sw_auto(sw_request) struct sw_request *request = cli_request(args, false, err);
    sw_auto(json) json_t *document = NULL;

    if (!request || !cli_session(cli, err))
        return -1;
    document = cli_document(sw_entrypoint(cli->session, request, o->script, err), err);
    if (!document)
        return -1;
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    if (o->script) {
        cli_print(sw_json_str(document, "script"));
        return 0;
    }
    cli_print(sw_json_str(document, "steps"));
    if (sw_json_str(document, "code"))
        cli_say(cli, "code: %s", sw_json_str(document, "code"));
    cli_say(cli, "nothing was sent; --script writes a script that does this by hand");
    return 0;
}

const struct command command_entrypoint = {
    .name = "entrypoint",
    .args = "[FILE] [-- COMMAND...]",
    .summary = "show what runs in the container, or export it",
    .description =
        "Show the steps inside the container: code, inputs, config, command, outputs. With --script, "
        "print one shell script that carries the runner, the job and its code, and needs nothing but "
        "sh, base64 and gzip: run it with docker run, sbatch, kubectl or by hand. Neither contains "
        "secrets; they are read from the environment there.",
    .example = "slipway entrypoint -f job.yaml\n"
               "slipway entrypoint -f job.yaml --script > job.sh",
    .flags = entrypoint_flags,
    .options_size = sizeof(struct entrypoint_options),
    .shared = { cli_job_flags, cli_output_document },
    .max_args = 1,
    .takes_command = true,
    .run = entrypoint_run,
};
