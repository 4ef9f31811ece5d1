/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.c - `slipway doctor`: is everything in order here, and if not, what fixes it.
 */
#include <string.h>

#include "cli/cli_checks.h"

struct doctor_options {
    const char *backend;
};

static const struct cli_flag doctor_flags[] = {
    { "backend", 0, "docker|kubernetes", "of gpu-host: what runs the containers (docker)", cli_apply_text,
      offsetof(struct doctor_options, backend) },
    { 0 }
};

static char *look(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct doctor_options *options = args->options;

    if (args->word_count == 0 && options->backend)
        return sw_null(sw_fail(err, SW_E_USAGE, "--backend belongs to `slipway doctor gpu-host`"));
    if (args->word_count == 0)
        return sw_doctor(cli->session, err);
    if (strcmp(args->words[0], "gpu-host") != 0)
        return sw_null(sw_fail(err, SW_E_USAGE, "doctor knows 'gpu-host', not '%s'", args->words[0]));
    return sw_doctor_gpu_host(cli->session, options->backend ? options->backend : "docker", err);
}

static int doctor_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *found = NULL;

    if (!cli_session(cli, err))
        return -1;
    found = cli_document(look(cli, args, err), err);
    return found ? cli_checks_show(cli, json_object_get(found, "checks"), found, err) : -1;
}

const struct command command_doctor = {
    .name = "doctor",
    .args = "[gpu-host]",
    .summary = "check this installation and its platforms",
    .description =
        "Run a list of checks (store, platforms, helper programs, GPUs, files with credentials) and "
        "show a remedy for each that fails. A platform that was never used and does not answer is "
        "marked '-' (not set up), which is not a failure. gpu-host checks a machine that runs GPU "
        "containers instead: driver (580 or newer), container toolkit (1.19 or newer), container runtime; it "
        "changes nothing and prints the commands that help. Exits with 1 when a check fails.",
    .example = "slipway doctor\nslipway doctor gpu-host --backend kubernetes",
    .flags = doctor_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct doctor_options),
    .max_args = 1,
    .run = doctor_run,
};
