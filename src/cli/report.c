/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - `slipway report [JOB]`: what a bug report needs, without secrets.
 */
#include <stdio.h>

#include "base/file.h"
#include "cli/cli.h"

struct report_options {
    const char *path;
};

static const struct cli_flag report_flags[] = {
    { "file", 'O', "FILE", "where to write it (default: slipway-report[-JOB].tar here)",
      cli_apply_text, offsetof(struct report_options, path) },
    { 0 }
};

static int report_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct report_options *options = args->options;
    sw_autofree char *id = NULL, *path = NULL;
    sw_auto(json) json_t *document = NULL;

    if (!cli_session(cli, err))
        return -1;
    if (args->word_count && !(id = cli_select_one(cli, args->words[0], err)))
        return -1;
    path = options->path ? sw_strdup(options->path)
                         : sw_format("slipway-report%s%s.tar", id ? "-" : "", id ? id : "");
    if (!options->path && sw_file_exists(path)) {
        sw_fail(err, SW_E_CONFLICT, "%s exists already", path);
        return sw_hint(err, "remove it, or choose another name with -O");
    }
    if (sw_report(cli->session, id, path, err) < 0)
        return sw_wrap(err, "cannot write the report");
    document = sw_json_object(SW_INT("version", 1), SW_STR("path", path));
    if (cli->format != CLI_TABLE)
        return cli_document_print(cli, document, err);
    cli_printf("%s\n", path);
    cli_say(cli, "secrets are redacted; review it before sharing: tar -xOf %s | less",
            path);
    return 0;
}

const struct command command_report = {
    .name = "report",
    .args = "[JOB]",
    .summary = "write a redacted bundle for a bug report",
    .description =
        "Write one .tar file of plain text: version, doctor's findings, and for a job its plan, "
        "status, events, the answer of 'why' and the end of its log. Secrets are redacted. Nothing is "
        "sent anywhere: review it, then attach it to your report.",
    .example = "slipway report last\nslipway report -O /tmp/report.tar",
    .flags = report_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct report_options),
    .max_args = 1,
    .run = report_run,
};
