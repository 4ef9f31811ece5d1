/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rm.c - `slipway rm JOB...`: forget finished jobs and remove their files.
 */
#include "base/text.h"
#include "cli/cli.h"

struct rm_options {
    bool keep_results, expired, forget, yes;
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
    CLI_LABEL_FLAG,
    { 0 }
};

static void tell_removed(struct cli *cli, const struct sw_outcome *outcome)
{
    cli_say_job(cli, outcome->id, "removed");
}

/* `kept`: id -> where the results of a removed job stay; NULL: nowhere. */
static int end(struct cli_outcomes *all, const json_t *kept, struct sw_error *err)
{
    json_t *row;
    size_t i;

    json_array_foreach(all->rows, i, row) {
        bool removed = json_is_null(json_object_get(row, "error"));
        const char *place = removed ? sw_json_str(kept, sw_json_str(row, "id")) : NULL;

        json_object_set_new(row, "results_place", place ? sw_json_text(place) : json_null());
    }
    return cli_outcomes_end(all, err);
}

static int remove_expired(struct cli *cli, struct sw_error *err)
{
    sw_auto(json) json_t *ids = NULL;
    struct cli_outcomes outcomes = { .cli = cli, .tell = tell_removed };
    const json_t *id;
    size_t i;

    if (!cli_session(cli, err))
        return -1;
    ids = cli_document(sw_remove_expired(cli->session, err), err);
    if (!ids)
        return -1;
    json_array_foreach(ids, i, id)
        cli_outcome(&outcomes, &(struct sw_outcome){ .id = json_string_value(id), .index = i });
    if (json_array_size(ids) == 0)
        cli_say(cli, "no job is past its keep time");
    return end(&outcomes, NULL, err);
}

/* Where the results will stay; owned; NULL: not known. Asked before the record is gone. */
static char *place_kept(struct cli *cli, const char *id)
{
    sw_auto(json) json_t *job = cli_document(sw_status(cli->session, id, SW_LOOK_STORED, NULL), NULL);
    const char *known = sw_json_str(job, "results_place");

    return sw_text_empty(known) ? sw_results_dir(cli->session, id, NULL) : sw_strdup(known);
}

static void tell_forgotten(struct cli *cli, const struct sw_outcome *outcome)
{
    cli_say_job(cli, outcome->id, "record removed; nothing was changed on the platform");
}

static int forget_all(struct cli *cli, const json_t *ids, struct sw_error *err)
{
    struct cli_outcomes outcomes = { .cli = cli, .verb = "forget", .tell = tell_forgotten };

    cli_outcome_each(&outcomes, ids, sw_forget);
    return end(&outcomes, NULL, err);
}

struct rm_removal {
    struct cli_outcomes outcomes;
    json_t *kept;                      /* id -> where its results stay; NULL: they are removed, too */
};

static void take_removed(void *context, const struct sw_outcome *outcome)
{
    struct rm_removal *removal = context;
    const char *kept = outcome->err ? NULL : sw_json_str(removal->kept, outcome->id);

    removal->outcomes.tell = kept ? NULL : tell_removed;
    if (kept)
        cli_say_job(removal->outcomes.cli, outcome->id, "removed; its results stay in %s", kept);
    cli_outcome(&removal->outcomes, outcome);
}

static json_t *places_kept(struct cli *cli, const json_t *ids)
{
    json_t *kept = json_object(), *id;
    size_t i;

    json_array_foreach((json_t *)ids, i, id) {
        sw_autofree char *place = place_kept(cli, json_string_value(id));

        if (place)
            json_object_set_new(kept, json_string_value(id), sw_json_text(place));
    }
    return kept;
}

static int remove_all(struct cli *cli, const json_t *ids, bool keep_results, struct sw_error *err)
{
    sw_autofree const char **list = cli_list(ids);
    sw_auto(json) json_t *kept = keep_results ? places_kept(cli, ids) : NULL;
    struct rm_removal removal = { { .cli = cli, .verb = "remove" }, kept };

    sw_remove_many(cli->session, list, json_array_size(ids), keep_results, take_removed, &removal, NULL);
    return end(&removal.outcomes, removal.kept, err);
}

static int rm_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct rm_options *options = args->options;
    sw_auto(json) json_t *ids = NULL;
    sw_autofree char *question = NULL;

    if (options->expired && args->word_count)
        return sw_fail(err, SW_E_USAGE, "--expired selects the jobs itself and takes no JOB");
    if (options->expired)
        return remove_expired(cli, err);
    ids = cli_select(cli, args, err);
    if (!ids)
        return -1;
    if (!options->yes && !cli_names_each(args, ids) && json_array_size(ids) && !cli_can_ask(cli)) {
        sw_fail(err, SW_E_USAGE, "%zu job%s would be removed, without a terminal to confirm on",
                json_array_size(ids), sw_text_plural(json_array_size(ids)));
        return sw_hint(err, "add -y, or name each job");
    }
    question = sw_format("%s %zu jobs%s?", options->forget ? "forget" : "remove",
                         json_array_size(ids),
                         options->keep_results || options->forget ? "" : " and their results");
    if (json_array_size(ids) > 1 && !options->yes && !cli_confirm(cli, question)) {
        cli_say(cli, "nothing was removed");
        return cli_rows_print(cli, true, NULL, err);
    }
    return options->forget ? forget_all(cli, ids, err)
                           : remove_all(cli, ids, options->keep_results, err);
}

const struct command command_rm = {
    .name = "rm",
    .args = "JOB...",
    .summary = "remove finished jobs and their files",
    .description =
        "Remove the job's record, log and results. Copy what you need first ('slipway get'), or use "
        "--keep-results. An unfinished job is not removed: cancel it first. On a terminal, removing "
        "several jobs asks first, unless -y is given; without a terminal -y is required where a "
        "state, 'all' or a label chooses the jobs. If its engine or cluster no longer exists, "
        "--forget removes the record alone.",
    .example = "slipway rm last\nslipway rm --expired",
    .flags = rm_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct rm_options),
    .max_args = CLI_MANY,
    .run = rm_run,
};
