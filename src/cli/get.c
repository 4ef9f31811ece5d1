/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get.c - `slipway get JOB [DIR]`: copy a job's results here.
 */
#include <stdio.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_transfer.h"

static int get_run(struct cli *cli, const void *options, const struct cli_args *args,
                   struct sw_error *err)
{
    sw_autofree char *id = cli_select_one(cli, args->words[0], err);
    sw_auto(json) json_t *copied = NULL;
    const char *to = args->word_count > 1 ? args->words[1] : id;
    char size[32];

    (void)options;
    if (!id)
        return -1;
    copied = cli_document(sw_get_results(cli->session, id, to, err), err);
    if (!copied)
        return sw_wrap(err, "cannot copy the results of '%s' to '%s'", id, to);
    cli_say_left_out(cli, copied);
    sw_size_format(sw_json_int(copied, "bytes", 0), size);
    cli_say_job(cli, id, "%lld files copied, %s", (long long)sw_json_int(copied, "files", 0),
                size);
    printf("%s\n", sw_json_str(copied, "to") ? sw_json_str(copied, "to") : to);
    return 0;
}

const struct command command_get = {
    .name = "get",
    .args = "JOB [DIR]",
    .summary = "copy a job's results here",
    .description = "You get a copy of the results in DIR (default: a folder named like the job "
                   "id, in the current one). Where they went is printed on stdout.",
    .example = "slipway get last ./out",
    .min_args = 1,
    .max_args = 2,
    .run = get_run,
};
