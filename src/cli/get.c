/* SPDX-License-Identifier: Apache-2.0 */
/*
 * get.c - `slipway get JOB... [DIR]`: copy the results of jobs here.
 */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_out.h"
#include "cli/cli_transfer.h"

/* `some`: only what matches was asked for. */
static void say_copied(const struct cli *cli, const char *id, const json_t *copied, bool some)
{
    long long files = sw_json_int(copied, "files", 0), same = sw_json_int(copied, "same", 0);
    char size[32];

    sw_size_format(sw_json_int(copied, "bytes", 0), size);
    if (files)
        cli_say_job(cli, id, "%lld file%s copied, %s", files, sw_text_plural(files), size);
    else if (same)
        cli_say_job(cli, id, "up to date: %lld file%s already here", same, sw_text_plural(same));
    else
        cli_say_job(cli, id, "no results%s: nothing was copied", some ? " that match" : "");
}

/* What the arguments mean. */
struct get_request {
    struct cli_args jobs;              /* those that name jobs; borrowed */
    const char *to;                    /* NULL: the current folder */
    struct sw_copy_options match;
    bool many;                         /* a folder for each job, below `to` */
    json_t *rows;                      /* for -o json: what came of each */
};

/* Takes the row, which has the id and what was copied. */
static void add_row(const struct get_request *request, json_t *row, const struct sw_error *why)
{
    json_object_set_new(row, "error", why && why->code ? cli_error_json(why) : json_null());
    json_array_append_new(request->rows, row);
}

static int get_one(struct cli *cli, const char *id, const void *context, struct sw_error *err)
{
    const struct get_request *request = context;
    sw_autofree char *below = sw_path_join(request->to ? request->to : ".", id);
    const char *to = request->many && request->to ? below : !request->to ? id : request->to;
    sw_auto(json) json_t *copied = NULL;
    bool there;

    copied = cli_document(sw_get_results_matching(cli->session, id, to, &request->match, err), err);
    if (!copied) {
        sw_wrap(err, "cannot copy the results of '%s' to '%s'", id, to);
        add_row(request, sw_json_object(SW_STR("id", id), SW_NULL("to"), SW_INT("files", 0),
                                        SW_INT("bytes", 0), SW_INT("same", 0)), err);
        return -1;
    }
    cli_say_left_out(cli, copied);
    say_copied(cli, id, copied, request->match.include_count || request->match.exclude_count);
    to = sw_json_str(copied, "to") ? sw_json_str(copied, "to") : to;
    there = access(to, F_OK) == 0;         /* without any results there may be no folder */
    add_row(request, sw_json_object(SW_STR("id", id), SW_STR("to", there ? to : NULL),
                                    SW_INT("files", sw_json_int(copied, "files", 0)),
                                    SW_INT("bytes", sw_json_int(copied, "bytes", 0)),
                                    SW_INT("same", sw_json_int(copied, "same", 0))), NULL);
    if (there && cli->format == CLI_TABLE)
        cli_printf("%s\n", to);
    return 0;
}

/* `get A B` where B is a job, too: results of A in a folder of that name are hardly meant. */
static int check_folder(struct cli *cli, const struct get_request *request, struct sw_error *err)
{
    struct sw_error unknown = { 0 };
    sw_auto(json) json_t *job = NULL;

    if (!request->to || access(request->to, F_OK) == 0 || strchr(request->to, '/'))
        return 0;
    job = cli_document(sw_status(cli->session, request->to, SW_LOOK_STORED, &unknown), NULL);
    if (!job)
        return 0;
    sw_fail(err, SW_E_USAGE, "'%s' is a job, and the last argument is a folder", request->to);
    return sw_hint(err, "--to DIR says where to copy, then all arguments are jobs; './%s' is a folder",
                   request->to);
}

/* As with cp, the last of several arguments is the folder; with a label the only one is. */
static void split_arguments(const struct cli_args *args, struct get_request *request)
{
    const char *to = cli_given_value(args, "to");
    size_t words = args->word_count;

    request->jobs = *args;
    request->to = to;
    if (!to && words > (cli_given_value(args, "label") ? 0 : 1))
        request->to = args->words[--request->jobs.word_count];
}

static int get_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    struct get_request request = { .match = { .size = sizeof request.match } };
    sw_autofree const char **include = cli_given_values(args, "include", &request.match.include_count);
    sw_autofree const char **exclude = cli_given_values(args, "exclude", &request.match.exclude_count);
    sw_auto(json) json_t *ids = NULL;
    int result;

    request.match.include = include;
    request.match.exclude = exclude;
    split_arguments(args, &request);
    ids = cli_select(cli, &request.jobs, err);
    if (!ids || (!cli_given_value(args, "to") && check_folder(cli, &request, err) < 0))
        return -1;
    request.many = !cli_names_one(&request.jobs, ids);
    request.rows = json_array();
    result = cli_each(cli, ids, get_one, &request, err);
    return cli_rows_print(cli, result == 0, request.rows, err) < 0 ? -1 : result;
}

static const struct cli_flag get_flags[] = {
    { "to", 0, "DIR", "copy to this folder, and take all arguments for jobs" },
    { "include", 0, "PATTERN", "only names that match, as in 'slipway cp'; may be repeated", .many = true },
    { "exclude", 0, "PATTERN", "not these; may be repeated, wins over --include", .many = true },
    CLI_LABEL_FLAG,
    { 0 }
};

const struct command command_get = {
    .name = "get",
    .args = "[JOB... [DIR]]",
    .summary = "copy the results of jobs here",
    .description =
        "Copy the results to DIR (default: a folder named after the job id, in the current folder); "
        "without JOB, those of the newest job. Of several jobs, a label or a group, each gets a folder "
        "named after its id below DIR. The last of several arguments is DIR, and with -l the only one; "
        "with --to all arguments are jobs. Links stay links; one that leads out of the results is left "
        "out. Each folder is printed on stdout.",
    .example = "slipway get last ./out\nslipway get -l sweep=a --include '*.ckpt' ./checkpoints",
    .flags = get_flags,
    .shared = { cli_output_document },
    .max_args = CLI_MANY,
    .last_job = true,
    .run = get_run,
};
