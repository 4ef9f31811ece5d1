/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry.c - `slipway retry JOB...`: try finished jobs again under the same id.
 */
#include "cli/cli.h"
#include "cli/cli_attach.h"

struct retry_options {
    bool avoid_node, collect, failed, yes;
};

static const struct cli_flag retry_flags[] = {
    { "avoid-node", 0, NULL, "avoid the node it ran on", cli_apply_bool,
      offsetof(struct retry_options, avoid_node) },
    { "collect", 0, NULL, "do not run the command: only copy its outputs to their destinations again",
      cli_apply_bool, offsetof(struct retry_options, collect) },
    { "failed", 0, NULL, "retry only those of these jobs that failed, such as some splits of a group",
      cli_apply_bool, offsetof(struct retry_options, failed) },
    { "yes", 'y', NULL, "do not ask, even for several or Complete jobs", cli_apply_bool,
      offsetof(struct retry_options, yes) },
    CLI_LABEL_FLAG,
    { 0 }
};

static void tell_retried(struct cli *cli, const struct sw_outcome *outcome)
{
    cli_say_job(cli, outcome->id, "submitted again, attempt %d", outcome->attempt);
}

static void tell_collected(struct cli *cli, const struct sw_outcome *outcome)
{
    cli_say_job(cli, outcome->id, "copying its outputs again, attempt %d", outcome->attempt);
}

/* What to ask first: another attempt costs GPU hours and writes over results. NULL: nothing. */
static char *question_about(struct cli *cli, const json_t *ids)
{
    size_t count = json_array_size(ids);
    const char *id = json_string_value(json_array_get(ids, 0));
    sw_auto(json) json_t *job = NULL;

    if (count != 1)
        return count ? sw_format("retry %zu jobs?", count) : NULL;
    job = cli_document(sw_status(cli->session, id, SW_LOOK_REFRESH, NULL), NULL);
    return job && cli_job_state(job) == SW_COMPLETE
               ? sw_format("%s is Complete; run it again and overwrite its results?", id) : NULL;
}

/* Those that ended in Error, as their platforms say now; said when there is none. Takes `ids`. */
static json_t *only_failed(struct cli *cli, json_t *ids, struct sw_error *err)
{
    sw_auto(json) json_t *all = ids;
    sw_auto(json) json_t *document = cli_status(cli, ids, SW_LOOK_REFRESH, err);
    json_t *failed = document ? json_array() : NULL;
    const json_t *job;
    size_t i;

    if (!document)
        return NULL;
    cli_say_unreachable(cli, document);
    json_array_foreach(json_object_get(document, "jobs"), i, job)
        if (cli_job_state(job) == SW_ERROR)
            json_array_append(failed, json_object_get(job, "id"));
    if (json_array_size(all) && !json_array_size(failed))
        cli_say(cli, "none of these %zu jobs has failed: nothing was retried", json_array_size(all));
    return failed;
}

static int retry_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct retry_options *options = args->options;
    sw_auto(json) json_t *ids = NULL;
    sw_autofree const char **list = NULL;
    sw_autofree char *question = NULL;
    struct cli_outcomes outcomes = { .cli = cli, .verb = "retry",
                                     .tell = options->collect ? tell_collected : tell_retried };

    if (options->collect && options->avoid_node)
        return sw_fail(err, SW_E_USAGE, "--collect runs where the outputs are: it cannot be used with "
                                        "--avoid-node");
    ids = cli_select(cli, args, err);
    if (ids && options->failed)
        ids = only_failed(cli, ids, err);
    if (!ids)
        return -1;
    if (!options->yes && !options->collect && cli_can_ask(cli))
        question = question_about(cli, ids);
    if (question && !cli_agree(cli, question)) {
        cli_say(cli, "nothing was retried");
        return cli_outcomes_end(&outcomes, err);
    }
    list = cli_list(ids);
    if (options->collect)
        sw_collect_again_many(cli->session, list, json_array_size(ids), cli_outcome, &outcomes, NULL);
    else
        sw_retry_many(cli->session, list, json_array_size(ids), options->avoid_node, cli_outcome, &outcomes,
                      NULL);
    for (size_t i = 0; i < json_array_size(ids); i++)
        cli_attend(cli, list[i]);
    return cli_outcomes_end(&outcomes, err);
}

const struct command command_retry = {
    .name = "retry",
    .args = "JOB...",
    .summary = "run finished jobs again, under the same id",
    .description =
        "Run another attempt of exactly the same job: same id, same plan, the next attempt number. "
        "The logs and exit codes of earlier attempts stay ('slipway logs JOB --attempt 1'). An "
        "unfinished job is left alone: cancel it first. On a terminal, retrying several jobs, or one "
        "that is Complete, asks first, unless -y is given.\n\n"
        "If only the upload failed, the training need not be repeated: '--collect' copies what the "
        "command left to the destinations under 'outputs:' and exits with the command's exit code. "
        "After a network failure this happens automatically.\n\n"
        "'--failed GROUP' repeats the splits of a group that failed, each with its SPLIT_ID, and "
        "leaves the others as they are.",
    .example = "slipway retry last --avoid-node\nslipway retry failed\nslipway retry --collect last\n"
               "slipway retry --failed prep-k3v9q2xa",
    .flags = retry_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct retry_options),
    .max_args = CLI_MANY,
    .run = retry_run,
};
