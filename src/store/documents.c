/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents.c - jobs with their plan and details, many at a time.
 *
 * A watcher reads the same jobs again and again, and parsing their documents was most of what a refresh
 * cost. So the parsed ones are kept, each beside its text: while the text in the file is the same,
 * so is the document. A thousand are kept (what a watcher looks at in one go);
 * two jobs whose numbers fall on one place take turns. What is handed out is shared: for reading only.
 *
 * Of a plan only what the caller needs is kept: a watcher holds ten thousand of them at once.
 */
#include "store/store_internal.h"

#include <string.h>

enum { KEPT = 1024, LONGEST_KEPT = 16384 };

static const char SQL_READ[] =
    "SELECT " STORE_JOB_COLUMNS ", plan, details, owner, avoid, collect FROM jobs"
    " LEFT JOIN documents ON documents.job = jobs.seq WHERE id = :id";

enum document_kind { PLAN, DETAILS, KINDS };

struct store_documents {
    struct kept {
        int64_t seq;
        char *text;
        size_t length;
        sw_shorten_fn *shorten;
        json_t *document;
    } kept[KINDS][KEPT];
};

static void forget(struct kept *kept)
{
    free(kept->text);
    json_decref(kept->document);
    *kept = (struct kept){ 0 };
}

void store_documents_free(struct store_documents *documents)
{
    if (!documents)
        return;
    for (size_t i = 0; i < KINDS; i++)
        for (size_t j = 0; j < KEPT; j++)
            forget(&documents->kept[i][j]);
    free(documents);
}

/* A copy: an object keeps the room of what was removed from it. */
static json_t *shortened(json_t *plan, sw_shorten_fn *shorten)
{
    json_t *rest;

    shorten(plan);
    rest = json_copy(plan);
    json_decref(plan);
    return rest;
}

static int shared_document(struct sw_store *store, enum document_kind kind, int64_t seq, sqlite3_stmt *row,
                           int column, sw_shorten_fn *shorten, json_t **out, struct sw_error *err)
{
    struct kept *kept = &store->documents->kept[kind][seq % KEPT];
    const char *text = (const char *)sqlite3_column_text(row, column);
    size_t length = (size_t)sqlite3_column_bytes(row, column);

    if (text && kept->seq == seq && kept->length == length && kept->shorten == shorten &&
        memcmp(kept->text, text, length) == 0) {
        *out = json_incref(kept->document);
        return 0;
    }
    if (store_column_json(row, column, out, err) < 0)
        return -1;
    if (shorten && *out)
        *out = shortened(*out, shorten);
    forget(kept);
    if (*out && length <= LONGEST_KEPT)
        *kept = (struct kept){ .seq = seq, .text = sw_strndup(text, length), .length = length,
                               .shorten = shorten, .document = json_incref(*out) };
    return 0;
}

/* 1: read; 0: there is no such job. */
static int read_one(struct sw_store *store, const char *id, sw_shorten_fn *shorten, struct sw_job *out,
                    struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job job = { 0 };
    sqlite3_stmt *row = store_ask(store, SQL_READ, err, BIND_TEXT(":id", id));
    int found = row ? store_next(store, row, err) : -1, column;
    int64_t seq = 0;

    if (found <= 0)
        return found;
    column = store_row_read(row, &seq, &job);
    if (shared_document(store, PLAN, seq, row, column, shorten, &job.plan, err) < 0 ||
        shared_document(store, DETAILS, seq, row, column + 1, NULL, &job.details, err) < 0 ||
        store_column_json(row, column + 2, &job.owner, err) < 0 ||
        store_column_json(row, column + 3, &job.avoid, err) < 0)
        return -1;
    store_row_collect(row, column + 4, &job);
    *out = job;
    job = (struct sw_job){ 0 };
    return 1;
}

int sw_store_get_many(struct sw_store *store, const char (*ids)[SW_ID_SIZE], size_t count,
                      sw_shorten_fn *shorten, struct sw_job *out, size_t *found, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    size_t taken = 0;
    int got = 0;

    if (store_begin(&work, store, STORE_READS, err) < 0)
        return -1;
    if (!store->documents)
        store->documents = sw_new(struct store_documents);
    for (size_t i = 0; i < count && got >= 0; i++) {
        got = read_one(store, ids[i], shorten, &out[taken], err);
        taken += got > 0;
    }
    for (size_t i = 0; got < 0 && i < taken; i++)
        sw_job_done(&out[i]);
    if (got < 0)
        return -1;
    *found = taken;
    return 0;
}
