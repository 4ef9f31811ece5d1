/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.c - `slipway results JOB...`: where the results are.
 */
#include <stdio.h>

#include "base/text.h"
#include "cli/cli.h"

static void say_outputs(struct cli *cli, const char *id, const json_t *job)
{
    const json_t *output;
    size_t i;

    json_array_foreach(json_object_get(job, "outputs"), i, output)
        cli_say_job(cli, id, "%s %s %s", sw_json_str(output, "path"),
                    sw_state_is_final(cli_job_state(job)) ? "was sent to" : "goes to",
                    sw_json_str(output, "to"));
}

/* On an engine elsewhere they are brought to have a place. */
static int print_one(struct cli *cli, const char *id, const void *context, struct sw_error *err)
{
    sw_auto(json) json_t *job =
        cli_document(sw_status(cli->session, id, SW_LOOK_STORED, err), err);
    const char *known = sw_json_str(job, "results_place");
    char *place = NULL;

    (void)context;
    if (job && sw_text_empty(known)) {
        place = sw_results_dir(cli->session, id, err);
        if (place)
            cli_say_job(cli, id, "brought here from %s", sw_json_str(job, "place"));
        known = place;
    }
    if (!job || !known)
        return sw_wrap(err, "results of '%s'", id);
    cli_printf("%s\n", known);
    sw_text_free(place);
    say_outputs(cli, id, job);
    return 0;
}

static int results_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *ids = cli_select(cli, args, err);

    return ids ? cli_each(cli, ids, print_one, NULL, err) : -1;
}

const struct command command_results = {
    .name = "results",
    .args = "JOB...",
    .summary = "tell where a job's results are",
    .description = "You see the place of the results on stdout, one line per job, ready for another "
                   "command: a folder of this machine, or HOST:PATH as scp and rsync take it. Results on a "
                   "Docker engine elsewhere are brought here first. Where outputs with `to:` went is said "
                   "on stderr.",
    .example = "ls \"$(slipway results last)\"",
    .max_args = CLI_MANY,
    .run = results_run,
};
