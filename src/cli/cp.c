/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp.c - `slipway cp FROM... TO`: copy data between any two places.
 */
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_interrupt.h"
#include "cli/cli_transfer.h"
#include "cli/cp_job.h"

struct cp_options {
    bool recursive, dry_run, remove_extra, force, checksum, follow;
    int64_t jobs, rank;
};

static const struct cli_flag cp_flags[] = {
    { "recursive", 'r', NULL, "copy everything below FROM (not needed for a local folder or a FROM that "
                              "ends in '/')", cli_apply_bool, offsetof(struct cp_options, recursive) },
    { "dry-run", 'n', NULL, "show what would be done, and do nothing", cli_apply_bool,
      offsetof(struct cp_options, dry_run) },
    { "delete", 0, NULL, "remove from TO what is not in FROM", cli_apply_bool,
      offsetof(struct cp_options, remove_extra) },
    { "include", 0, "PATTERN", "only names that match; may be repeated", .many = true },
    { "exclude", 0, "PATTERN", "not these, 'dir/' for a folder; may be repeated, overrides "
                               "--include", .many = true },
    { "force", 'f', NULL, "also copy files that are already identical", cli_apply_bool,
      offsetof(struct cp_options, force) },
    { "checksum", 0, NULL, "compare contents, not times, wherever a digest is known",
      cli_apply_bool, offsetof(struct cp_options, checksum) },
    { "follow", 'L', NULL, "copy what links lead to, also out of a local FROM", cli_apply_bool,
      offsetof(struct cp_options, follow) },
    { "jobs", 'j', "N", "requests at once at most (default: found by measuring, up to 64)",
      cli_apply_int64, offsetof(struct cp_options, jobs) },
    { "rank", 0, "R", "of JOB:PATH: files of this rank (default: 0)", cli_apply_int64,
      offsetof(struct cp_options, rank) },
    { 0 }
};

static void print_plan(const json_t *report)
{
    const json_t *each;
    size_t i;

    json_array_foreach(json_object_get(report, "would"), i, each) {
        sw_autofree char *line = sw_format("%s\t%s\n", sw_json_str(each, "what"),
                                           sw_json_str(each, "name"));

        cli_print(line);
    }
}

static void say_how_it_went(const struct cli *cli, const json_t *report, bool dry_run)
{
    char size[32], rate[32], took[32];
    int64_t bytes = sw_json_int(report, "bytes", 0), ms = sw_json_int(report, "elapsed_ms", 0);
    long long files = sw_json_int(report, "files", 0);
    long long same = sw_json_int(report, "same", 0), removed = sw_json_int(report, "removed", 0);
    sw_auto(sw_buf) struct sw_buf line = SW_BUF_INIT;

    sw_size_format(bytes, size);
    sw_size_format(ms > 0 && bytes < INT64_MAX / 1000 ? bytes * 1000 / ms : 0, rate);
    cli_duration(ms, took);
    sw_buf_addf(&line, "%lld file%s%s copied, %s", files, sw_text_plural(files),
                dry_run ? " would be" : "", size);
    if (!dry_run)
        sw_buf_addf(&line, " in %s (%s/s)", took, rate);
    if (same)
        sw_buf_addf(&line, ", %lld identical", same);
    if (removed)
        sw_buf_addf(&line, ", %lld removed", removed);
    cli_say(cli, "%s", sw_buf_text(&line));
}

/* `reports`: for -o json, those of all. */
static int copy_one(struct cli *cli, const char *from, const char *to,
                    const struct sw_copy_options *options, json_t *reports, struct sw_error *err)
{
    sw_auto(json) json_t *report = NULL;
    char *text = sw_copy(NULL, from, to, options, cli_transfer, cli, err);

    cli_transfer_end(cli);
    report = cli_document(text, err);
    if (!report) {
        if (err->code == SW_E_INTERRUPTED && cli_interrupt_count())
            sw_hint(err, "the same command continues the copy");
        return sw_wrap(err, "cannot copy '%s' to '%s'", from, to);
    }
    cli_say_left_out(cli, report);
    if (cli->format != CLI_TABLE)
        return json_array_append(reports, report);
    if (options->dry_run)
        print_plan(report);
    say_how_it_went(cli, report, options->dry_run);
    return 0;
}

static int copy_with_job(struct cli *cli, const struct cli_args *args, const char *from, const char *to,
                         json_t *reports, struct sw_error *err)
{
    static const char *const others[] = { "dry-run", "delete", "include", "exclude", "force", "checksum",
                                          "follow", "jobs" };
    const struct cp_options *flags = args->options;
    sw_auto(json) json_t *report = NULL;
    int64_t begun_ms = sw_monotonic_ms();

    for (size_t i = 0; i < SW_COUNT(others); i++)
        for (size_t g = 0; g < args->given_count; g++)
            if (strcmp(args->given[g].flag->name, others[i]) == 0)
                return sw_fail(err, SW_E_USAGE, "--%s has no meaning for files of a running job", others[i]);
    report = cli_cp_job(cli, from, to, flags->rank > INT_MAX ? INT_MAX : (int)flags->rank, err);
    if (!report)
        return sw_wrap(err, "cannot copy '%s' to '%s'", from, to);
    json_object_set_new(report, "elapsed_ms", json_integer(sw_monotonic_ms() - begun_ms));
    if (cli->format != CLI_TABLE)
        return json_array_append(reports, report);
    say_how_it_went(cli, report, false);
    return 0;
}

static int print_reports(const struct cli *cli, json_t *reports, struct sw_error *err)
{
    sw_auto(json) json_t *document = NULL;
    json_t *report;
    size_t i;

    if (json_array_size(reports) == 1)
        return cli_document_print(cli, json_array_get(reports, 0), err);
    json_array_foreach(reports, i, report)
        json_object_del(report, "version");
    document = sw_json_object(SW_INT("version", 1), SW_SUB_COPY("copies", reports));
    return cli_document_print(cli, document, err);
}

static int cp_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct cp_options *flags = args->options;
    size_t last = args->word_count - 1;
    struct sw_copy_options options = {
        .size = sizeof options, .recursive = flags->recursive, .dry_run = flags->dry_run,
        .remove_extra = flags->remove_extra, .force = flags->force, .checksum = flags->checksum,
        .follow_links = flags->follow,
        .jobs = (int)(flags->jobs < 0 ? 0 : flags->jobs > 1000 ? 1000 : flags->jobs),
    };
    sw_autofree const char **include =
        cli_given_values(args, "include", &options.include_count);
    sw_autofree const char **exclude =
        cli_given_values(args, "exclude", &options.exclude_count);
    sw_autofree char *folder = sw_text_ends(args->words[last], "/")
                                   ? sw_strdup(args->words[last])
                                   : sw_format("%s/", args->words[last]);

    sw_auto(json) json_t *reports = json_array();

    options.include = include;
    options.exclude = exclude;
    if (args->word_count > 2 && flags->remove_extra)
        return sw_fail(err, SW_E_USAGE, "--delete compares one FROM with one TO");
    cli_interrupt_catch();
    for (size_t i = 0; i < last; i++) {
        const char *from = args->words[i], *to = last > 1 ? folder : args->words[last];
        bool in_job = cli_cp_is_job(from) || cli_cp_is_job(to);

        if ((in_job ? copy_with_job(cli, args, from, to, reports, err)
                    : copy_one(cli, from, to, &options, reports, err)) < 0)
            return -1;
    }
    return cli->format == CLI_TABLE ? 0 : print_reports(cli, reports, err);
}

const struct command command_cp = {
    .name = "cp",
    .args = "FROM... TO",
    .summary = "copy data between any two places",
    .description =
        "Copy FROM to TO. Each is a path or a URI: s3://, http(s)://, hf_model://, hf_dataset://, "
        "ngc://, file://. Identical files are skipped, so an interrupted copy is simply started "
        "again; every file is verified and gets its name only when it is complete. JOB:PATH is a file or "
        "folder of a running job, copied whole; the other place is then on this machine. For a job that has "
        "finished use `slipway get`.",
    .example = "slipway cp -r s3://bucket/coco ./coco\n"
               "slipway cp ./results s3://bucket/runs/7/ --exclude '*.tmp'\n"
               "slipway cp train-k3:/results/last.ckpt .\n"
               "slipway cp -r --delete --dry-run ./site s3://bucket/site",
    .flags = cp_flags,
    .shared = { cli_output_document },
    .options_size = sizeof(struct cp_options),
    .min_args = 2,
    .max_args = CLI_MANY,
    .run = cp_run,
};
