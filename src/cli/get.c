/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get.c - `slipway get JOB [DIR]`: copy a job's results here.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_transfer.h"

static void say_copied(const struct cli *cli, const char *id, const json_t *copied)
{
    long long files = sw_json_int(copied, "files", 0), same = sw_json_int(copied, "same", 0);
    char size[32];

    sw_size_format(sw_json_int(copied, "bytes", 0), size);
    if (files)
        cli_say_job(cli, id, "%lld file%s copied, %s", files, files == 1 ? "" : "s", size);
    else if (same)
        cli_say_job(cli, id, "up to date: all %lld files are here already", same);
    else
        cli_say_job(cli, id, "no results: nothing was copied");
}

static int get_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_autofree char *id = cli_select_one(cli, args->words[0], err);
    sw_auto(json) json_t *copied = NULL;
    const char *to = args->word_count > 1 ? args->words[1] : id;

    if (!id)
        return -1;
    copied = cli_document(sw_get_results(cli->session, id, to, err), err);
    if (!copied)
        return sw_wrap(err, "cannot copy the results of '%s' to '%s'", id, to);
    cli_say_left_out(cli, copied);
    say_copied(cli, id, copied);
    to = sw_json_str(copied, "to") ? sw_json_str(copied, "to") : to;
    if (access(to, F_OK) == 0)             /* without any results there may be no folder */
        cli_printf("%s\n", to);
    return 0;
}

const struct command command_get = {
    .name = "get",
    .args = "[JOB [DIR]]",
    .summary = "copy a job's results here",
    .description =
        "Copy the results to DIR (default: a folder named after the job id, in the current folder); "
        "without JOB, those of the newest job. The folder is printed on stdout.",
    .example = "slipway get last ./out",
    .max_args = 2,
    .last_job = true,
    .run = get_run,
};
