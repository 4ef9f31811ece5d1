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
            cli_say_job(cli, id, "copied here from %s", sw_json_str(job, "place"));
        known = place;
    }
    if (!job || !known)
        return sw_wrap(err, "results of '%s'", id);
    cli_printf("%s\n", known);
    sw_text_free(place);
    say_outputs(cli, id, job);
    return 0;
}

/* ---- the manifest ---------------------------------------------------------------------------------- */

static json_t *manifest_row(const json_t *job)
{
    json_t *split_id = json_object_get(json_object_get(job, "split"), "id");
    const char *place = sw_json_str(job, "results_place");

    return sw_json_object(
        SW_STR("id", sw_json_str(job, "id")),
        SW_SUB("split_id", split_id ? json_incref(split_id) : json_null()),
        SW_STR("status", sw_json_str(job, "status")),
        SW_STR("results", sw_text_empty(place) ? NULL : place),
        SW_SUB_COPY("outputs", json_object_get(job, "outputs")));
}

/* Where each of them left what it made, for a program that goes on with it. Complete: all splits of the group
 * are there, and ended well. */
static int print_manifest(struct cli *cli, const json_t *ids, struct sw_error *err)
{
    sw_auto(json) json_t *document = cli_status(cli, ids, SW_LOOK_REFRESH, err), *rows = json_array();
    sw_auto(json) json_t *manifest = NULL;
    const json_t *jobs = json_object_get(document, "jobs"), *job;
    const json_t *split = json_object_get(json_array_get(jobs, 0), "split");
    bool complete = document && (size_t)sw_json_int(split, "count", 0) <= json_array_size(jobs);
    size_t i;

    if (!document)
        return -1;
    cli_say_unreachable(cli, document);
    json_array_foreach(jobs, i, job) {
        complete = complete && cli_job_state(job) == SW_COMPLETE;
        json_array_append_new(rows, manifest_row(job));
    }
    manifest = sw_json_object(SW_INT("version", 1), SW_STR("group", sw_json_str(split, "group")),
                              SW_BOOL("complete", complete), SW_SUB("jobs", json_incref(rows)));
    return cli_document_print(cli, manifest, err);
}

static int results_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    sw_auto(json) json_t *ids = cli_select(cli, args, err);

    if (!ids)
        return -1;
    return cli->format == CLI_TABLE ? cli_each(cli, ids, print_one, NULL, err)
                                    : print_manifest(cli, ids, err);
}

const struct command command_results = {
    .name = "results",
    .args = "[JOB...]",
    .summary = "show where a job's results are",
    .description =
        "Print where the results are, one line per job, ready for another command (without JOB, for "
        "the newest job): a folder of this machine, or HOST:PATH as scp and rsync take it. Results on "
        "a remote Docker engine are copied here first. The destinations of outputs with `to:` are "
        "shown on stderr.\n\n"
        "-o json is a manifest for the next job: for each split of a group its number, its results "
        "folder and the destinations of its outputs; 'complete' says whether all splits exist and "
        "succeeded.",
    .example = "ls \"$(slipway results last)\"\nslipway results prep-k3v9q2xa -o json >manifest.json",
    .shared = { cli_output_document },
    .max_args = CLI_MANY,
    .last_job = true,
    .run = results_run,
};
