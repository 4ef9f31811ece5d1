/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.c - between a row of the table `jobs` and struct sw_job.
 *
 * What is not there is NULL in the file and NULL, -1 or 0 in the struct, as store.h says; no other file
 * else in the folder knows the order of the columns.
 */
#include "store/store_internal.h"

#include <stdio.h>
#include <string.h>

#include "core/state.h"

static const char SQL_FIND[] = "SELECT " STORE_JOB_COLUMNS " FROM jobs WHERE id = :id";
static const char SQL_DOCUMENTS[] =
    "SELECT plan, details, owner, avoid, collect, host, origin, request"
    " FROM jobs LEFT JOIN documents ON documents.job = jobs.seq WHERE jobs.seq = :seq";
static const char SQL_LABELS[] = "SELECT key, value FROM labels WHERE job = :seq ORDER BY key";

static const char *const phase_names[] = {
    [SW_PHASE_SUBMITTING] = "submitting",
    [SW_PHASE_ACTIVE]     = "active",
    [SW_PHASE_OVER]       = "over",
};

const char *sw_phase_name(enum sw_phase phase)
{
    return phase_names[phase];
}

static enum sw_phase phase_named(const char *name)
{
    for (size_t i = 0; i < SW_COUNT(phase_names); i++)
        if (name && strcmp(name, phase_names[i]) == 0)
            return (enum sw_phase)i;
    return SW_PHASE_ACTIVE;          /* a CHECK in the table keeps other words out */
}

static int number_or(sqlite3_stmt *statement, int column, int missing)
{
    return sqlite3_column_type(statement, column) == SQLITE_NULL
               ? missing
               : sqlite3_column_int(statement, column);
}

struct sw_jobref sw_job_ref(const struct sw_job *job)
{
    return (struct sw_jobref){ .id = job->id, .remote_id = job->remote_id, .attempt = job->attempt,
                               .state = job->state, .details = job->details, .plan = job->plan,
                               .finished = job->phase == SW_PHASE_OVER };
}

int store_row_read(sqlite3_stmt *row, int64_t *seq, struct sw_job *out)
{
    const char *state;
    int c = 0;

    memset(out, 0, sizeof *out);
    *seq = sqlite3_column_int64(row, c++);
    snprintf(out->id, sizeof out->id, "%s", (const char *)sqlite3_column_text(row, c++));
    out->name = store_column_text(row, c++);
    out->platform = store_column_text(row, c++);
    out->profile = store_column_text(row, c++);
    out->phase = phase_named((const char *)sqlite3_column_text(row, c++));
    state = (const char *)sqlite3_column_text(row, c++);
    if (!state || sw_state_parse(state, &out->state) < 0)
        out->state = SW_UNKNOWN;
    out->canceling = sqlite3_column_int(row, c++) != 0;
    out->reason = store_column_text(row, c++);
    out->message = store_column_text(row, c++);
    out->attempt = sqlite3_column_int(row, c++);
    out->exit_code = number_or(row, c++, SW_NO_EXIT_CODE);
    out->signal = sqlite3_column_int(row, c++);
    out->failed_replica = number_or(row, c++, -1);
    out->remote_id = store_column_text(row, c++);
    out->node = store_column_text(row, c++);
    out->results_dir = store_column_text(row, c++);
    out->err_class = store_column_text(row, c++);
    out->cause = store_column_text(row, c++);
    out->suggestion = store_column_text(row, c++);
    out->created_ms = sqlite3_column_int64(row, c++);
    out->submitted_ms = sqlite3_column_int64(row, c++);
    out->started_ms = sqlite3_column_int64(row, c++);
    out->ended_ms = sqlite3_column_int64(row, c++);
    out->updated_ms = sqlite3_column_int64(row, c++);
    out->seen_ms = sqlite3_column_int64(row, c++);
    out->keep_ms = sqlite3_column_int64(row, c++);
    out->not_before_ms = sqlite3_column_int64(row, c++);
    /* A courtesy, and written by us: when it cannot be read, the job is none the worse. */
    if (store_column_json(row, c++, &out->progress, NULL) < 0)
        out->progress = NULL;
    out->place = sqlite3_column_int64(row, c++);
    out->address = store_column_text(row, c++);
    return c;
}

int store_row_read_list(sqlite3_stmt *row, int64_t *seq, struct sw_job *out)
{
    int c = store_row_read(row, seq, out);

    /* Like the progress: for show, and written by us. */
    if (store_column_json(row, c++, &out->brief, NULL) < 0)
        out->brief = NULL;
    if (store_column_json(row, c++, &out->labels, NULL) < 0)
        out->labels = NULL;
    return c;
}

int store_row_read_names(sqlite3_stmt *row, int64_t *seq, struct sw_job *out)
{
    int c = 0;

    memset(out, 0, sizeof *out);
    *seq = sqlite3_column_int64(row, c++);
    snprintf(out->id, sizeof out->id, "%s", (const char *)sqlite3_column_text(row, c++));
    out->platform = store_column_text(row, c++);
    out->profile = store_column_text(row, c++);
    out->phase = phase_named((const char *)sqlite3_column_text(row, c++));
    out->place = sqlite3_column_int64(row, c++);
    return c;
}

static int read_labels(struct sw_store *store, int64_t seq, json_t **out, struct sw_error *err)
{
    sw_auto(json) json_t *labels = json_object();
    sqlite3_stmt *rows = store_ask(store, SQL_LABELS, err, BIND_INT(":seq", seq));
    int row;

    if (!rows)
        return -1;
    while ((row = store_next(store, rows, err)) > 0)
        json_object_set_new_nocheck(labels, (const char *)sqlite3_column_text(rows, 0),
                                    sw_json_text((const char *)sqlite3_column_text(rows, 1)));
    if (row == 0)
        *out = sw_take(labels);
    return row;
}

void store_row_collect(sqlite3_stmt *row, int column, struct sw_job *job)
{
    job->only_collect = sqlite3_column_type(row, column) != SQLITE_NULL;
    job->command_exit = sqlite3_column_int(row, column);
}

int store_row_documents(struct sw_store *store, int64_t seq, struct sw_job *job,
                        struct sw_error *err)
{
    sqlite3_stmt *row = store_ask(store, SQL_DOCUMENTS, err, BIND_INT(":seq", seq));

    if (!row || store_next(store, row, err) < 0 ||
        store_column_json(row, 0, &job->plan, err) < 0 ||
        store_column_json(row, 1, &job->details, err) < 0 ||
        store_column_json(row, 2, &job->owner, err) < 0 ||
        store_column_json(row, 3, &job->avoid, err) < 0)
        return -1;
    store_row_collect(row, 4, job);
    job->host = store_column_text(row, 5);
    if (store_column_json(row, 6, &job->origin, err) < 0 || store_column_json(row, 7, &job->request, err) < 0)
        return -1;
    sqlite3_reset(row);
    return read_labels(store, seq, &job->labels, err);
}

int store_row_find(struct sw_store *store, const char *id, int64_t *seq, struct sw_job *out,
                   struct sw_error *err)
{
    sqlite3_stmt *row = store_ask(store, SQL_FIND, err, BIND_TEXT(":id", id));
    int found = row ? store_next(store, row, err) : -1;

    if (found < 0)
        return -1;
    if (found == 0)
        return sw_fail(err, SW_E_NOT_FOUND, "no job '%s'", id);
    store_row_read(row, seq, out);
    sqlite3_reset(row);
    return 0;
}

void sw_job_done(struct sw_job *job)
{
    char *const texts[] = { job->name, job->platform, job->profile, job->reason, job->message,
                            job->remote_id, job->node, job->results_dir, job->err_class,
                            job->cause, job->suggestion, job->address, job->host };

    for (size_t i = 0; i < SW_COUNT(texts); i++)
        free(texts[i]);
    json_decref(job->details);
    json_decref(job->plan);
    json_decref(job->labels);
    json_decref(job->owner);
    json_decref(job->avoid);
    json_decref(job->origin);
    json_decref(job->request);
    json_decref(job->brief);
    json_decref(job->progress);
    memset(job, 0, sizeof *job);
}
