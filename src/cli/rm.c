/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rm.c - `slipway rm JOB...`: forget finished jobs and remove their files.
 */
#include "cli/cli.h"

struct rm_options {
    bool keep_results, expired, forget, yes;
    const char *label;
};

static const struct cli_flag rm_flags[] = {
    { "keep-results", 0, NULL, "leave the results where they are", cli_apply_bool,
      offsetof(struct rm_options, keep_results) },
    { "expired", 0, NULL, "all jobs whose keep time has passed", cli_apply_bool,
      offsetof(struct rm_options, expired) },
    { "forget", 0, NULL, "only the record here, whatever its state; the platform is not asked",
      cli_apply_bool, offsetof(struct rm_options, forget) },
    { "yes", 'y', NULL, "do not ask, even for several jobs", cli_apply_bool,
      offsetof(struct rm_options, yes) },
    { "label", 'l', "KEY[=VALUE]", "jobs with this label", cli_apply_text,
      offsetof(struct rm_options, label) },
    { 0 }
};

static int remove_expired(struct cli *cli, struct sw_error *err)
{
    sw_auto(json) json_t *ids = NULL;
    const json_t *id;
    size_t i;

    if (!cli_session(cli, err))
        return -1;
    ids = cli_document(sw_remove_expired(cli->session, err), err);
    if (!ids)
        return -1;
    json_array_foreach(ids, i, id)
        cli_say_job(cli, json_string_value(id), "removed");
    if (json_array_size(ids) == 0)
        cli_say(cli, "no job has outlived its keep time");
    return 0;
}

static int forget_one(struct cli *cli, const char *id, const void *context, struct sw_error *err)
{
    (void)context;
    if (sw_forget(cli->session, id, err) < 0)
        return sw_wrap(err, "cannot forget '%s'", id);
    cli_say_job(cli, id, "forgotten; what runs or lies there stays");
    return 0;
}

static void tell_removed(struct cli *cli, const struct sw_outcome *outcome)
{
    cli_say_job(cli, outcome->id, "removed");
}

static void tell_removed_and_kept(struct cli *cli, const struct sw_outcome *outcome)
{
    cli_say_job(cli, outcome->id, "removed, results kept");
}

static int remove_all(struct cli *cli, const json_t *ids, bool keep_results, struct sw_error *err)
{
    sw_autofree const char **list = cli_list(ids);
    struct cli_outcomes outcomes = { .cli = cli, .verb = "remove",
                                     .tell = keep_results ? tell_removed_and_kept : tell_removed };

    sw_remove_many(cli->session, list, json_array_size(ids), keep_results, cli_outcome, &outcomes, NULL);
    return cli_outcomes_end(&outcomes, err);
}

static int rm_run(struct cli *cli, const void *given, const struct cli_args *args,
                  struct sw_error *err)
{
    const struct rm_options *options = given;
    sw_auto(json) json_t *ids = NULL;
    sw_autofree char *question = NULL;

    if (options->expired && args->word_count)
        return sw_fail(err, SW_E_USAGE, "--expired chooses the jobs itself: name none");
    if (options->expired)
        return remove_expired(cli, err);
    ids = cli_select(cli, args, options->label, err);
    if (!ids)
        return -1;
    question = sw_format("%s %zu jobs%s?", options->forget ? "forget" : "remove",
                         json_array_size(ids),
                         options->keep_results || options->forget ? "" : " and their results");
    if (json_array_size(ids) > 1 && !options->yes && !cli_confirm(cli, question)) {
        cli_say(cli, "nothing was removed");
        return 0;
    }
    return options->forget ? cli_each(cli, ids, forget_one, NULL, err)
                           : remove_all(cli, ids, options->keep_results, err);
}

const struct command command_rm = {
    .name = "rm",
    .args = "JOB...",
    .summary = "forget finished jobs and remove their files",
    .description =
        "You get the room back: the job's record, log and results are removed. Copy what you "
        "need first ('slipway get'), or use --keep-results. A job that is not over is not "
        "removed: cancel it first. Where its engine or cluster is gone for good, --forget removes the "
        "record alone.",
    .example = "slipway rm last\nslipway rm --expired",
    .flags = rm_flags,
    .options_size = sizeof(struct rm_options),
    .max_args = CLI_MANY,
    .run = rm_run,
};
