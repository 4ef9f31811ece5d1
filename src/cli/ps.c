/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps.c - `slipway ps`: all jobs, newest first, each with the age of what is known about it.
 */
#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "cli/cli.h"
#include "cli/cli_attach.h"
#include "core/reason.h"

#define NEWEST 20
#define ALL    1000000

struct ps_options {
    bool all, stored;
    int64_t limit;
    const char *state, *platform;
};

static const struct cli_flag ps_flags[] = {
    { "all", 'a', NULL, "every job, not only the newest 20, also those that never began", cli_apply_bool,
      offsetof(struct ps_options, all) },
    { "limit", 'n', "N", "the newest N", cli_apply_int64, offsetof(struct ps_options, limit) },
    { "state", 0, "STATE", "only Pending, Running, Error, ... or active", cli_apply_text,
      offsetof(struct ps_options, state), .also = "status" },
    { "platform", 'p', "NAME", "only jobs of this platform", cli_apply_text,
      offsetof(struct ps_options, platform) },
    CLI_LABEL_FLAG,
    { "stored", 0, NULL, "what is remembered, without asking the platforms", cli_apply_bool,
      offsetof(struct ps_options, stored) },
    { 0 }
};

#define BEFORE_PLACE { "ID", .least = 14 }, { "STATUS" }, { "PLATFORM", .drop = 2 }
#define AFTER_PLACE                                                              \
    { "AGE", .right = true, .drop = 1 }, { "SEEN", .right = true, .drop = 4 },   \
    { "MESSAGE", .least = 8, .drop = 3 }

static const struct sw_column columns[] = { BEFORE_PLACE, AFTER_PLACE };
static const struct sw_column columns_with_place[] = {
    BEFORE_PLACE, { "PLACE", .least = 12, .drop = 5 }, AFTER_PLACE
};

/* One engine and one cluster are known by their platform; of two places, one wants to know which. */
static bool has_places(const json_t *jobs)
{
    const char *first = NULL;
    const json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job) {
        const char *place = sw_json_str(job, "place");

        if (place && first && strcmp(place, first) != 0)
            return true;
        first = place ? place : first;
    }
    return false;
}

static void add_job(struct sw_table *table, const json_t *job, bool with_place)
{
    enum sw_state state = cli_job_state(job);
    sw_autofree char *message = cli_job_message(job);
    char age[24], seen[24];

    cli_job_age(job, "age_ms", age);
    cli_job_age(job, "seen_age_ms", seen);
    sw_table_cell(table, sw_json_str(job, "id"), NULL);
    sw_table_cell(table, sw_state_name(state), cli_state_style(state));
    sw_table_cell(table, sw_json_str(job, "backend_type"), NULL);
    if (with_place)
        sw_table_cell(table, sw_json_str(job, "place"), NULL);
    sw_table_cell(table, age, NULL);
    sw_table_cell(table, sw_state_is_final(state) ? "" : seen, "2");
    sw_table_cell(table, message, NULL);
}

/* Its submit was refused, or came to nothing: `run` said so, and it is no work of the user's. */
static bool never_began(const json_t *job)
{
    const char *reason = sw_json_str(job, "reason");

    return cli_job_state(job) == SW_ERROR && sw_json_int(job, "attempt", 1) == 1 && reason &&
           (strcmp(reason, SW_REASON_REFUSED) == 0 || strcmp(reason, SW_REASON_NOT_STARTED) == 0);
}

/* Takes those out of the rows, unless the user asked for jobs by a word of his own; how many it were. */
static size_t leave_out(json_t *jobs, const struct ps_options *options, const struct cli_args *args)
{
    size_t count = 0;

    if (options->all || options->state || args->word_count)
        return 0;
    for (size_t i = json_array_size(jobs); i > 0; i--)
        if (never_began(json_array_get(jobs, i - 1))) {
            json_array_remove(jobs, i - 1);
            count++;
        }
    return count;
}

static void say_none(const struct cli *cli, const struct cli_args *args, const json_t *document)
{
    int64_t all = sw_json_int(document, "all", 0);

    if (all)
        cli_say_no_match(cli, args, all);
    else
        cli_say(cli, "no jobs; 'slipway run -- COMMAND' starts one");
}

static void print_table(const struct cli *cli, const json_t *document, size_t left_out)
{
    const json_t *jobs = json_object_get(document, "jobs"), *job;
    bool places = has_places(jobs);
    sw_auto(sw_table) struct sw_table *table =
        places ? sw_table_new(columns_with_place, SW_COUNT(columns_with_place))
               : sw_table_new(columns, SW_COUNT(columns));
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    int64_t total = sw_json_int(document, "total", 0), shown = (int64_t)json_array_size(jobs);
    size_t i;

    if (left_out)
        cli_say(cli, "left out: %zu that never began, since the submit failed; --all shows them", left_out);
    if (shown == 0)
        return;
    json_array_foreach(jobs, i, job)
        add_job(table, job, places);
    sw_table_write(table, cli->screen.width, cli->screen.out_color, &out);
    cli_print(sw_buf_text(&out));
    if (total > shown + (int64_t)left_out && cli->screen.err_terminal)
        cli_say(cli, "%lld of %lld jobs; --all shows every one", (long long)shown,
                (long long)total);
}

static void print_names(const json_t *document)
{
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(document, "jobs"), i, job)
        cli_printf("%s\n", sw_json_str(job, "id"));
}

static int ps_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct ps_options *options = args->options;
    struct sw_list_options list = {
        .size = sizeof list,
        .look = options->stored ? SW_LOOK_STORED : SW_LOOK_REFRESH,
        .state = options->state,
        .platform = options->platform,
        .selectors = args->word_count ? args->words : NULL,
        .selector_count = args->word_count,
        .limit = options->all ? ALL : options->limit ? (size_t)options->limit : NEWEST,
    };
    sw_autofree const char **labels = cli_given_values(args, "label", &list.label_count);
    sw_auto(json) json_t *document = NULL;
    bool none = cli_given_value(args, "limit") && !options->limit && !options->all;

    list.labels = labels;
    if (!cli_session(cli, err))
        return -1;
    document = cli_document(sw_list(cli->session, &list, err), err);
    if (!document)
        return -1;
    cli_say_unreachable(cli, document);
    if (sw_json_int(document, "total", 0) == 0)
        say_none(cli, args, document);
    if (none)
        json_array_clear(json_object_get(document, "jobs"));
    if (cli->format == CLI_TABLE) {
        print_table(cli, document, leave_out(json_object_get(document, "jobs"), options, args));
        cli_say_watcher(cli);
    } else if (cli->format == CLI_NAME)
        print_names(document);
    else
        return cli_document_print(cli, document, err);
    return 0;
}

const struct command command_ps = {
    .name = "ps",
    .alias = "list",
    .args = "[JOB...]",
    .summary = "list jobs, newest first",
    .description =
        "List one job per line: the newest 20, or the jobs you name ('slipway help selectors'; a name "
        "or the beginning of an id lists every job that matches). All platforms are asked once, in "
        "parallel; SEEN shows how old the answer about a running job is. A platform that does not "
        "answer is named on stderr, and its jobs are listed as last seen. Jobs whose submit was "
        "refused or failed are left out unless --all, --state or JOB asks for them. When jobs run in "
        "more than one place (two engines, two clusters), PLACE shows which.",
    .example = "slipway ps --state active\nslipway ps -l team=vision -o name",
    .flags = ps_flags,
    .shared = { cli_output_jobs },
    .options_size = sizeof(struct ps_options),
    .max_args = CLI_MANY,
    .run = ps_run,
};
