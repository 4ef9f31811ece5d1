/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - `slipway status JOB...`: everything known about a job, on one card.
 *
 * With -o json a single named job is one object; a word that may mean several ("failed",
 * -l, two arguments) always gives {"version", "jobs"}: the shape follows from the command
 * line, not from how many jobs happen to match.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/table.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_progress.h"
#include "cli/cli_zone.h"
#include "core/reason.h"

struct status_options {
    bool stored, use;
};

static const struct cli_flag status_flags[] = {
    CLI_LABEL_FLAG,
    { "stored", 0, NULL, "show stored data without asking the platform", cli_apply_bool,
      offsetof(struct status_options, stored) },
    { "use", 0, NULL, "with -o json, too: ask a running job for its CPU, memory and GPU use", cli_apply_bool,
      offsetof(struct status_options, use) },
    { 0 }
};

static void add_line(struct sw_buf *out, const char *label, const char *text)
{
    sw_autofree char *clean = NULL;

    if (sw_text_empty(text))
        return;
    clean = sw_text_printable(text, strlen(text));
    sw_buf_addf(out, "  %-11s %s\n", label, clean);
}

static void add_time(struct sw_buf *out, const char *label, const json_t *job, const char *key)
{
    char at[CLI_TIME_SIZE];

    cli_time_shown(sw_json_str(job, key), at);
    add_line(out, label, at);
}

static void add_labels(struct sw_buf *out, const json_t *job)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)json_object_get(job, "labels"), key, value)
        sw_buf_addf(&text, "%s%s=%s", text.length ? ", " : "", key,
                    json_is_string(value) ? json_string_value(value) : "");
    add_line(out, "labels", sw_buf_text(&text));
}

static const struct sw_column attempt_columns[] = {
    { "ATTEMPT", .right = true },            { "STARTED" },
    { "TOOK", .right = true },               { "STATE" },
    { "EXIT", .right = true, .drop = 3 },    { "NODE", .least = 8, .drop = 2 },
    { "MESSAGE", .least = 10, .drop = 1 },
};

/* "exit 3", "signal 9": how it ended, in one cell. */
static void exit_cell(const json_t *attempt, char out[32])
{
    int64_t code = sw_json_int(attempt, "exit_code", -1);
    int64_t signal = sw_json_int(attempt, "signal", 0);

    snprintf(out, 32, "-");
    if (signal > 0)
        snprintf(out, 32, "signal %lld", (long long)signal);
    else if (code >= 0)
        snprintf(out, 32, "%lld", (long long)code);
}

static void add_attempt(struct sw_table *table, const json_t *attempt)
{
    enum sw_state state = cli_state_called(sw_json_str(attempt, "status"));
    int64_t started_ms = cli_time_ms(sw_json_str(attempt, "started_at"));
    int64_t ended_ms = cli_time_ms(sw_json_str(attempt, "ended_at"));
    char number[24], exit_code[32], took[32], at[CLI_TIME_SIZE] = "-";

    snprintf(number, sizeof number, "%lld", (long long)sw_json_int(attempt, "attempt", 0));
    if (started_ms)
        cli_time_text(started_ms, at);
    exit_cell(attempt, exit_code);
    cli_duration(started_ms ? (ended_ms ? ended_ms : sw_now_ms()) - started_ms : -1, took);
    sw_table_cell(table, number, NULL);
    sw_table_cell(table, at, NULL);
    sw_table_cell(table, took, NULL);
    sw_table_cell(table, sw_state_name(state), cli_state_style(state));
    sw_table_cell(table, exit_code, NULL);
    sw_table_cell(table, sw_json_str(attempt, "node"), NULL);
    sw_table_cell(table, sw_json_str(attempt, "message"), NULL);
}

void cli_attempts_table(struct sw_buf *out, const json_t *job, size_t width, bool color)
{
    sw_auto(sw_table) struct sw_table *table =
        sw_table_new(attempt_columns, SW_COUNT(attempt_columns));
    const json_t *attempts = json_object_get(job, "attempts"), *each;
    size_t i;

    json_array_foreach(attempts, i, each)
        add_attempt(table, each);
    sw_table_write(table, width, color, out);
}

/* The time line; a single attempt is what the card already tells. */
static void add_attempts(struct sw_buf *out, const struct cli *cli, const json_t *job)
{
    if (json_array_size(json_object_get(job, "attempts")) < 2)
        return;
    sw_buf_add_char(out, '\n');
    cli_attempts_table(out, job, cli->screen.width, cli->screen.out_color);
}

static void add_progress(struct sw_buf *out, const json_t *job)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT, pace = SW_BUF_INIT;
    sw_autofree char *gpu = cli_gpu_cell(job), *use = cli_use_text(json_object_get(job, "live"));
    struct cli_progress progress;

    if (cli_progress_read(job, &progress)) {
        cli_progress_words(&text, &progress);
        if (!sw_state_is_final(cli_job_state(job)))
            cli_progress_pace(&pace, &progress);
        if (pace.length)
            sw_buf_addf(&text, ", %s", sw_buf_text(&pace));
    }
    add_line(out, "progress", sw_buf_text(&text));
    add_line(out, "use", use);
    add_line(out, "gpu use", gpu);
}

/* What its runner is at, where that is not the command. */
static const char *data_phase(const json_t *job)
{
    static const struct {
        const char *phase, *words;
    } phases[] = { { "prepare", "fetching inputs" }, { "collect", "copying results" } };
    const char *phase = sw_json_str(json_object_get(job, "runner"), "phase");

    for (size_t i = 0; i < SW_COUNT(phases) && !sw_state_is_final(cli_job_state(job)); i++)
        if (sw_text_same(phase, phases[i].phase))
            return phases[i].words;
    return NULL;
}

/* "fetching inputs; 3 files in, 1.2 GiB; 2 files out, 3 MiB" */
static void add_data(struct sw_buf *out, const json_t *job)
{
    static const char *const ways[] = { "in", "out" };
    const json_t *runner = json_object_get(job, "runner");
    const char *phase = data_phase(job);
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    if (phase)
        sw_buf_add(&text, phase);
    for (size_t i = 0; i < SW_COUNT(ways); i++) {
        const json_t *moved = json_object_get(runner, ways[i]);
        int64_t files = sw_json_int(moved, "files", 0), bytes = sw_json_int(moved, "bytes", 0);
        char size[32];

        if (files <= 0 && bytes <= 0)
            continue;
        sw_size_format(bytes, size);
        sw_buf_addf(&text, "%s%lld file%s %s, %s", text.length ? "; " : "", (long long)files,
                    sw_text_plural(files), ways[i], size);
    }
    add_line(out, "data", sw_buf_text(&text));
}

/* "2, not before 2026-05-21 05:20:54 UTC" */
static void add_retry(struct sw_buf *out, const json_t *job)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    char at[CLI_TIME_SIZE];

    if (sw_json_int(job, "attempt", 1) < 2)
        return;
    cli_time_shown(sw_json_str(job, "next_attempt_at"), at);
    sw_buf_addf(&text, "%lld", (long long)sw_json_int(job, "attempt", 1));
    if (*at)
        sw_buf_addf(&text, ", not before %s", at);
    add_line(out, "attempt", sw_buf_text(&text));
}

/* "/results to s3://bucket/runs/7/" */
static void add_outputs(struct sw_buf *out, const json_t *job)
{
    const json_t *output;
    size_t i;

    json_array_foreach(json_object_get(job, "outputs"), i, output) {
        sw_autofree char *text = sw_format("%s to %s", sw_json_str(output, "path"),
                                           sw_json_str(output, "to"));

        add_line(out, "output", text);
    }
}

/* "8 x H100, 2 nodes, 16 CPUs, 64 GiB, 12h": what it asks for. */
static void add_resources(struct sw_buf *out, const json_t *job)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    long long gpus = sw_json_int(job, "gpus", 0), nodes = sw_json_int(job, "nodes", 1);
    const char *type = sw_json_str(job, "gpu_type");
    double cpus = json_number_value(json_object_get(job, "cpus"));
    int64_t memory = sw_json_int(job, "memory_bytes", 0), time = sw_json_int(job, "time_limit_ms", 0);
    char word[32];

    if (gpus && type)
        sw_buf_addf(&text, "%lld x %s", gpus, type);
    else if (gpus)
        sw_buf_addf(&text, "%lld GPU%s", gpus, sw_text_plural(gpus));
    if (nodes > 1)
        sw_buf_addf(&text, "%s%lld nodes", text.length ? " on each of " : "", nodes);
    if (cpus > 0)
        sw_buf_addf(&text, "%s%g CPU%s", text.length ? ", " : "", cpus, sw_text_plural(cpus));
    sw_size_format(memory, word);
    if (memory)
        sw_buf_addf(&text, "%s%s of memory", text.length ? ", " : "", word);
    cli_duration(time, word);
    if (time)
        sw_buf_addf(&text, "%s%s at most", text.length ? ", " : "", word);
    add_line(out, "resources", sw_buf_text(&text));
}

/* "1a2b3c4 on main, with uncommitted changes" */
static void add_git(struct sw_buf *out, const json_t *job)
{
    const json_t *git = json_object_get(job, "git");
    const char *commit = sw_json_str(git, "commit"), *branch = sw_json_str(git, "branch");
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    if (!commit)
        return;
    sw_buf_addf(&text, "%.10s", commit);
    if (branch)
        sw_buf_addf(&text, " on %s", branch);
    if (sw_json_bool(git, "dirty", false))
        sw_buf_addf(&text, ", with uncommitted changes ('slipway diff %s')", sw_json_str(job, "id"));
    add_line(out, "commit", sw_buf_text(&text));
}

static void add_what(struct sw_buf *out, const json_t *job)
{
    const char *user = sw_json_str(job, "user"), *host = sw_json_str(job, "host");
    sw_autofree char *by = user || host ? sw_format("%s@%s", user ? user : "?", host ? host : "?") : NULL;
    double hours = json_number_value(json_object_get(job, "gpu_hours"));
    char text[32];

    add_line(out, "command", sw_json_str(job, "command"));
    add_line(out, "image", sw_json_str(job, "image"));
    add_line(out, "digest", sw_json_str(job, "image_digest"));
    add_resources(out, job);
    add_line(out, "job file", sw_json_str(job, "file"));
    add_git(out, job);
    add_line(out, "by", by);
    snprintf(text, sizeof text, "%.2f", hours);
    add_line(out, "GPU hours", hours > 0 ? text : NULL);
}

static void add_card(struct sw_buf *out, const struct cli *cli, const json_t *job)
{
    enum sw_state state = cli_job_state(job);
    int64_t code = sw_json_int(job, "exit_code", -1);
    sw_autofree char *message = cli_job_message(job);
    const char *reason = sw_json_str(job, "reason");
    char text[32];

    cli_job_head(out, cli->screen.out_color, sw_json_str(job, "id"), state);
    sw_buf_add_char(out, '\n');
    add_line(out, "message", message);
    add_line(out, "cause", cli_cause(job));
    add_line(out, "advice", state == SW_PENDING && sw_text_same(reason, SW_REASON_UNSCHEDULABLE)
                                ? "it can never be scheduled as it is: 'slipway cancel' ends it"
                                : sw_json_str(job, "suggestion"));
    add_line(out, "name", sw_json_str(job, "name"));
    add_line(out, "platform", sw_json_str(job, "backend_type"));
    add_line(out, "place", sw_json_str(job, "place"));
    add_what(out, job);
    add_line(out, "platform id", sw_json_str(job, "backend_job_id"));
    snprintf(text, sizeof text, "%lld", (long long)code);
    add_line(out, "exit code", code >= 0 ? text : NULL);
    if (sw_text_same(reason, SW_REASON_OUTPUTS) && sw_state_is_final(state))
        add_line(out, "command", "ended with exit code 0; only its outputs were not copied");
    snprintf(text, sizeof text, "%lld", (long long)sw_json_int(job, "signal", 0));
    add_line(out, "signal", sw_json_int(job, "signal", 0) > 0 ? text : NULL);
    add_time(out, "created", job, "created_at");
    add_time(out, "started", job, "started_at");
    add_time(out, "ended", job, "ended_at");
    cli_duration(sw_json_int(job, "duration_ms", -1), text);
    add_line(out, sw_state_is_final(state) ? "took" : "running for", text);
    add_progress(out, job);
    add_data(out, job);
    add_retry(out, job);
    add_labels(out, job);
    add_line(out, "node", sw_json_str(job, "node"));
    add_line(out, "results", sw_json_str(job, "results_place"));
    add_outputs(out, job);
    cli_job_age(job, "seen_age_ms", text);
    if (!sw_state_is_final(state))
        sw_buf_addf(out, "  %-11s %s%s\n", "checked", strcmp(text, "-") ? text : "never",
                    strcmp(text, "-") ? " ago" : "");
    add_attempts(out, cli, job);
}

static void print_cards(const struct cli *cli, const json_t *jobs)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job) {
        if (i)
            sw_buf_add_char(&out, '\n');
        add_card(&out, cli, job);
    }
    cli_print(sw_buf_text(&out));
}

static void print_names(const json_t *ids)
{
    const json_t *id;
    size_t i;

    json_array_foreach(ids, i, id)
        cli_printf("%s\n", json_string_value(id));
}

/* What it uses is asked of one job: by a person, or when it is said. Without an answer the rest is shown. */
static void add_use(struct cli *cli, const struct status_options *options, json_t *jobs)
{
    json_t *job = json_array_get(jobs, 0), *use;
    struct sw_error why = { 0 };

    if (json_array_size(jobs) != 1 || options->stored || (cli->format != CLI_TABLE && !options->use) ||
        cli_job_state(job) != SW_RUNNING)
        return;
    use = cli_document(sw_use(cli->session, sw_json_str(job, "id"), &why), &why);
    if (!use && options->use)
        cli_warn(cli, "%s", why.message);
    json_object_del(use, "version");
    json_object_del(use, "job");
    if (use)
        json_object_set_new(job, "live", use);
}

static int status_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct status_options *options = args->options;
    sw_auto(json) json_t *ids = cli_select(cli, args, err);
    sw_auto(json) json_t *document = NULL, *one = NULL;
    json_t *jobs;

    if (!ids)
        return -1;
    if (cli->format == CLI_NAME) {
        print_names(ids);
        return 0;
    }
    document = cli_status(cli, ids, options->stored ? SW_LOOK_STORED : SW_LOOK_REFRESH, err);
    if (!document)
        return -1;
    cli_say_unreachable(cli, document);
    jobs = json_object_get(document, "jobs");
    add_use(cli, options, jobs);
    if (cli->format == CLI_TABLE) {
        print_cards(cli, jobs);
        return 0;
    }
    if (!cli_names_one(args, ids) || json_array_size(jobs) != 1)
        return cli_document_print(cli, document, err);
    one = cli_versioned(json_array_get(jobs, 0));
    json_object_set(one, "unreachable", json_object_get(document, "unreachable"));
    return cli_document_print(cli, one, err);
}

const struct command command_status = {
    .name = "status",
    .args = "[JOB...]",
    .summary = "show everything known about jobs",
    .description =
        "Show a card for each job: its state and why, exit code, times, progress, its attempts, and "
        "where its results are; of one running job, the CPUs, memory and GPUs it uses. With -o json, one "
        "named job is one object; several are {\"version\", \"jobs\"}. Without JOB, the newest job is "
        "shown. How to name jobs: slipway help selectors.",
    .example = "slipway status last\nslipway status last -o json",
    .flags = status_flags,
    .shared = { cli_output_jobs },
    .options_size = sizeof(struct status_options),
    .max_args = CLI_MANY,
    .last_job = true,
    .run = status_run,
};
