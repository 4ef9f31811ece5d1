/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_columns.c - what a column of `slipway ps` shows, and which ones a list of jobs needs.
 *
 * A column without anything in it is not shown, and on a narrow terminal they are left out from the right
 * of this order: labels, command and the rest of -o wide, GPUs, platform, result, progress, duration. The
 * id and the state always stay. Progress is shown whole or not at all: half a number is a wrong one.
 *
 * Pure: documents in, text out.
 */
#include "cli/ps_columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/cli_progress.h"

/* ---- cells -------------------------------------------------------------------------------------- */

static char *text_of(const json_t *job, const char *key)
{
    const char *text = sw_json_str(job, key);

    return sw_strdup(text ? text : "");
}

static double number_of(const json_t *job, const char *key)
{
    const json_t *value = json_object_get(job, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static char *id_text(const json_t *job)
{
    return text_of(job, "id");
}

static char *name_text(const json_t *job)
{
    return text_of(job, "name");
}

static char *state_text(const json_t *job)
{
    return sw_strdup(sw_state_name(cli_job_state(job)));
}

static double state_number(const json_t *job)
{
    return cli_job_state(job);
}

static char *platform_text(const json_t *job)
{
    return text_of(job, "backend_type");
}

static char *place_text(const json_t *job)
{
    return text_of(job, "place");
}

static char *user_text(const json_t *job)
{
    return text_of(job, "user");
}

static char *node_text(const json_t *job)
{
    return text_of(job, "node");
}

static double gpus_number(const json_t *job)
{
    int64_t gpus = sw_json_int(job, "gpus", 0);

    return gpus > 0 ? (double)(gpus * sw_json_int(job, "nodes", 1)) : NAN;
}

static char *gpus_text(const json_t *job)
{
    double gpus = gpus_number(job);

    return isnan(gpus) ? sw_strdup("") : sw_format("%.0f", gpus);
}

static double attempt_number(const json_t *job)
{
    return number_of(job, "attempt");
}

static char *attempt_text(const json_t *job)
{
    return sw_format("%lld", (long long)sw_json_int(job, "attempt", 1));
}

static char *age_text(const json_t *job)
{
    char age[24];

    cli_job_age(job, "age_ms", age);
    return sw_strdup(age);
}

static double age_number(const json_t *job)
{
    return number_of(job, "age_ms");
}

/* Only of jobs that may still change. */
static char *seen_text(const json_t *job)
{
    char seen[24];

    cli_job_age(job, "seen_age_ms", seen);
    return sw_strdup(sw_state_is_final(cli_job_state(job)) || strcmp(seen, "-") == 0 ? "" : seen);
}

static double seen_number(const json_t *job)
{
    return sw_state_is_final(cli_job_state(job)) ? NAN : number_of(job, "seen_age_ms");
}

/* Two units are enough in a table: "69d10h", not "69d10h48m19s". */
static char *duration_text(const json_t *job)
{
    const int64_t minute = 60000, hour = 60 * minute, day = 24 * hour;
    int64_t ms = sw_json_int(job, "duration_ms", -1);
    char took[32];

    cli_duration(ms >= day ? ms / hour * hour : ms >= hour ? ms / minute * minute : ms, took);
    return sw_strdup(took);
}

static double duration_number(const json_t *job)
{
    return number_of(job, "duration_ms");
}

/* "epoch 3/10 loss 0.25" */
static char *progress_text(const json_t *job)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *words = cli_progress_cell(job, 0);

    sw_buf_add(&text, words);
    if (*words)
        cli_metric_words(&text, sw_json_str(job, "last_line"));
    return sw_strdup(sw_buf_text(&text));
}

static double progress_number(const json_t *job)
{
    struct cli_progress progress;

    return cli_progress_read(job, &progress) && progress.share >= 0 ? progress.share : NAN;
}

static double exit_number(const json_t *job)
{
    return number_of(job, "exit_code");
}

static char *exit_text(const json_t *job)
{
    int64_t signal = sw_json_int(job, "signal", 0);
    double code = exit_number(job);

    if (signal > 0)
        return sw_format("signal %lld", (long long)signal);
    return isnan(code) ? sw_strdup("") : sw_format("%.0f", code);
}

/* Why it waits or failed; of a job that has nothing to say, its exit code. */
static char *result_text(const json_t *job)
{
    char *message = cli_job_message(job);
    double code = exit_number(job);

    if (*message || isnan(code))
        return message;
    free(message);
    return sw_format("exit code %.0f", code);
}

static char *command_text(const json_t *job)
{
    return text_of(job, "command");
}

static char *labels_text(const json_t *job)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    const char *key;
    const json_t *value;

    json_object_foreach((json_t *)json_object_get(job, "labels"), key, value)
        sw_buf_addf(&text, "%s%s=%s", text.length ? "," : "", key,
                    json_is_string(value) ? json_string_value(value) : "");
    return sw_strdup(sw_buf_text(&text));
}

const struct ps_column ps_columns[] = {
    { "id", "the id of the job", { "ID", .least = 14 }, PS_ALWAYS, id_text, NULL },
    { "name", "the name it was given", { "NAME", .least = 8, .drop = 9 }, PS_WIDE, name_text, NULL },
    { "state", "Pending, Running, Paused, Complete, Error, Canceled or Unknown", { "STATE" }, PS_ALWAYS,
      state_text, state_number },
    { "platform", "where it runs", { "PLATFORM", .drop = 4 }, PS_ALWAYS, platform_text, NULL },
    { "place", "which engine or cluster, when there are several", { "PLACE", .least = 12, .drop = 6 },
      PS_IF_SEVERAL, place_text, NULL },
    { "user", "who submitted it", { "USER", .drop = 9 }, PS_WIDE, user_text, NULL },
    { "node", "the machine that ran it", { "NODE", .least = 8, .drop = 9 }, PS_WIDE, node_text, NULL },
    { "gpus", "GPUs on all its nodes", { "GPUS", .right = true, .drop = 5 }, PS_IF_KNOWN, gpus_text,
      gpus_number },
    { "attempt", "how often it was tried", { "ATTEMPT", .right = true, .drop = 9 }, PS_WIDE, attempt_text,
      attempt_number },
    { "age", "time since it was submitted", { "AGE", .right = true, .drop = 9 }, PS_WIDE, age_text,
      age_number },
    { "duration", "how long it ran, or has been running", { "DURATION", .right = true, .drop = 1 },
      PS_ALWAYS, duration_text, duration_number },
    { "seen", "age of what is known about an unfinished job", { "SEEN", .right = true, .drop = 9 },
      PS_WIDE, seen_text, seen_number },
    { "progress", "epoch, step and last metric, as its log shows them", { "PROGRESS", .drop = 2 },
      PS_IF_KNOWN, progress_text, progress_number },
    { "exit", "exit code or signal", { "EXIT", .right = true, .drop = 9 }, PS_WIDE, exit_text,
      exit_number },
    { "result", "exit code, or the reason why it failed or is waiting",
      { "RESULT", .least = 10, .drop = 3 }, PS_ALWAYS, result_text, NULL },
    { "labels", "its labels", { "LABELS", .least = 8, .drop = 10 }, PS_WIDE, labels_text, NULL },
    { "command", "what it runs", { "COMMAND", .least = 8, .drop = 11 }, PS_WIDE, command_text, NULL },
    { 0 }
};
_Static_assert(SW_COUNT(ps_columns) <= PS_COLUMNS_MOST, "a layout has room for all columns");

/* ---- which columns ------------------------------------------------------------------------------- */

void ps_column_names(struct sw_buf *out)
{
    for (const struct ps_column *c = ps_columns; c->name; c++)
        sw_buf_addf(out, "%s%s", c == ps_columns ? "" : ", ", c->name);
}

const struct ps_column *ps_column_find(const char *name, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;
    const char *words[PS_COLUMNS_MOST], *nearest;
    size_t count = 0;

    for (const struct ps_column *c = ps_columns; c->name; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
        words[count++] = c->name;
    }
    ps_column_names(&names);
    nearest = sw_text_nearest(name, words, count);
    if (nearest)
        sw_fail(err, SW_E_USAGE, "unknown column '%s' (did you mean '%s'?)", name, nearest);
    else
        sw_fail(err, SW_E_USAGE, "unknown column '%s'", name);
    sw_hint(err, "columns: %s", sw_buf_text(&names));
    return NULL;
}

int ps_layout_named(const char *names, struct ps_layout *out, struct sw_error *err)
{
    struct ps_layout layout = { .chosen = true };

    do {
        size_t length = strcspn(names, ",");
        sw_autofree char *name = sw_strndup(names, length);
        const struct ps_column *column = ps_column_find(name, err);

        if (!column)
            return -1;
        if (layout.count == PS_COLUMNS_MOST)
            return sw_fail(err, SW_E_USAGE, "too many columns: at most %d", PS_COLUMNS_MOST);
        layout.columns[layout.count++] = column;
        names += length;
    } while (*names++ == ',');
    *out = layout;
    return 0;
}

/* Of one engine or cluster its platform says enough; of two, the user wants to know which. */
static bool is_needed(const struct ps_column *column, const json_t *jobs)
{
    sw_autofree char *first = NULL;
    const json_t *job;
    size_t i;

    json_array_foreach(jobs, i, job) {
        sw_autofree char *text = column->text(job);

        if (!*text)
            continue;
        if (column->when == PS_IF_KNOWN || (first && strcmp(first, text) != 0))
            return true;
        if (!first)
            first = sw_take(text);
    }
    return false;
}

void ps_layout_for(const json_t *jobs, bool wide, struct ps_layout *out)
{
    *out = (struct ps_layout){ .whole = wide };
    for (const struct ps_column *c = ps_columns; c->name; c++)
        if (wide || c->when == PS_ALWAYS || (c->when != PS_WIDE && is_needed(c, jobs)))
            out->columns[out->count++] = c;
}

void ps_write(struct sw_buf *out, const json_t *jobs, const struct ps_layout *layout, size_t width,
              bool color)
{
    struct sw_column shapes[PS_COLUMNS_MOST] = { 0 };
    sw_auto(sw_table) struct sw_table *table = sw_table_new(shapes, layout->count);
    const json_t *job;
    size_t i;

    for (size_t k = 0; k < layout->count; k++) {
        shapes[k] = layout->columns[k]->shape;
        shapes[k].drop = layout->chosen ? 0 : shapes[k].drop;
    }
    json_array_foreach(jobs, i, job)
        for (size_t k = 0; k < layout->count; k++) {
            const struct ps_column *column = layout->columns[k];
            sw_autofree char *text = column->text(job);
            const char *style = column->text == state_text ? cli_state_style(cli_job_state(job)) : NULL;

            sw_table_cell(table, !*text && column->shape.right ? "-" : text, style);
        }
    sw_table_write(table, layout->whole ? 0 : width, color, out);
}
