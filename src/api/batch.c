/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch.c - something is done to many jobs: those of one place together, the places side by side, so that
 * one that does not answer costs its deadline once and holds up no other.
 */
#include "api/batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/text.h"

enum { SLICE = 1024, PLACES_AT_ONCE = 16 };

struct batch_slice {                     /* rows in memory at a time */
    struct sw_session *session;
    api_batch_fn *fn;
    struct api_one *jobs;          /* in the order of their places */
    size_t count;
    struct api_batch *batches;
    size_t batch_count;
};

void api_one_fail(struct api_one *one, const struct sw_error *why)
{
    one->done = true;
    one->result = -1;
    one->err = *why;
}

void api_batch_fail(struct api_batch *batch, const struct sw_error *why)
{
    for (size_t i = 0; i < batch->count; i++)
        if (!batch->jobs[i].done)
            api_one_fail(&batch->jobs[i], why);
}

size_t api_batch_open(const struct api_batch *batch)
{
    size_t open = 0;

    for (size_t i = 0; i < batch->count; i++)
        open += !batch->jobs[i].done;
    return open;
}

int api_batch_refresh(struct api_batch *batch, int64_t deadline_ms, json_t *unreachable,
                      struct sw_error *err)
{
    const struct sw_refresh_options options = { .deadline_ms = deadline_ms, .act = true };
    sw_autofree const char **ids = sw_alloc((batch->count + 1) * sizeof *ids);
    size_t open = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (!batch->jobs[i].done)
            ids[open++] = batch->jobs[i].row.id;
    return open ? api_refresh_within(batch->session, ids, open, &options, unreachable, err) : 0;
}

static void is_gone(struct api_one *one)
{
    struct sw_error why = { 0 };

    sw_fail(&why, SW_E_NOT_FOUND, "no job '%s'", one->row.id);
    api_one_fail(one, &why);
}

/* The rows that were found are in the order of the ids; what is missing was removed meanwhile. */
static void take_rows(struct api_one *const *open, size_t count, struct sw_job *rows, size_t found)
{
    size_t next = 0;

    for (size_t i = 0; i < count; i++) {
        if (next == found || strcmp(rows[next].id, open[i]->row.id) != 0) {
            is_gone(open[i]);
            continue;
        }
        sw_job_done(&open[i]->row);
        open[i]->row = rows[next++];
    }
}

static int load(struct sw_session *session, struct api_one *const *open, size_t count,
                struct sw_error *err)
{
    sw_autofree char (*ids)[SW_ID_SIZE] = sw_alloc((count + 1) * sizeof *ids);
    sw_autofree struct sw_job *rows = sw_alloc((count + 1) * sizeof *rows);
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        memcpy(ids[i], open[i]->row.id, SW_ID_SIZE);
    if (sw_store_get_many(session->store, (const char (*)[SW_ID_SIZE])ids, count, NULL,
                          rows, &found, err) < 0)
        return -1;
    take_rows(open, count, rows, found);
    return 0;
}

int api_batch_reload(struct api_batch *batch, struct sw_error *err)
{
    sw_autofree struct api_one **open = sw_alloc((batch->count + 1) * sizeof *open);
    size_t count = 0;

    for (size_t i = 0; i < batch->count; i++)
        if (!batch->jobs[i].done)
            open[count++] = &batch->jobs[i];
    return load(batch->session, open, count, err);
}

/* ---- places ------------------------------------------------------------------------------------ */

static int by_place(const void *first, const void *second)
{
    const struct api_one *a = first, *b = second;
    int platforms = strcmp(a->row.platform ? a->row.platform : "", b->row.platform ? b->row.platform : "");
    int profiles = strcmp(a->row.profile ? a->row.profile : "", b->row.profile ? b->row.profile : "");

    if (platforms)
        return platforms;
    if (a->row.place != b->row.place)
        return a->row.place < b->row.place ? -1 : 1;
    if (a->row.place == 0 && profiles)             /* rows that do not say: those of one profile */
        return profiles;
    return a->at < b->at ? -1 : 1;
}

static bool same_place(const struct sw_job *a, const struct sw_job *b)
{
    return sw_text_same(a->platform, b->platform) && a->place == b->place &&
           (a->place || sw_text_same(a->profile, b->profile));
}

static void split(struct batch_slice *slice, const void *options)
{
    slice->batches = sw_alloc((slice->count + 1) * sizeof *slice->batches);
    for (size_t i = 0; i < slice->count; i++) {
        struct api_one *one = &slice->jobs[i];
        struct api_batch *batch = slice->batch_count ? &slice->batches[slice->batch_count - 1] : NULL;

        if (one->done)
            continue;
        if (batch && same_place(&batch->jobs[0].row, &one->row)) {
            batch->count++;
            continue;
        }
        slice->batches[slice->batch_count++] = (struct api_batch){
            .session = slice->session, .options = options, .profile = one->row.profile,
            .place = one->row.place, .jobs = one, .count = 1 };
    }
}

static void run_place(void *context, size_t index)
{
    const struct batch_slice *slice = context;
    struct api_batch *batch = &slice->batches[index];
    sw_autofree char *profile = sw_strdup(batch->profile);       /* rows are read anew */
    struct sw_error why = { 0 };

    batch->profile = profile;
    batch->platform = sw_platform_need(batch->jobs[0].row.platform, &why);
    if (batch->platform)
        batch->conn = api_connect_place(batch->session, batch->platform, profile, batch->place, &why);
    if (batch->conn)
        slice->fn(batch);
    else
        api_batch_fail(batch, &why);
    batch->profile = NULL;
}

/* ---- slices ------------------------------------------------------------------------------------ */

static int in_order(const void *first, const void *second)
{
    const struct api_one *a = first, *b = second;

    return a->at < b->at ? -1 : 1;
}

static int tell_all(const struct batch_slice *slice, sw_outcome_fn *tell, void *context, struct sw_error *err)
{
    int result = 0;

    for (size_t i = 0; i < slice->count; i++) {
        const struct api_one *one = &slice->jobs[i];
        const struct sw_job *row = &one->row;
        const struct sw_outcome outcome = {
            .size = sizeof outcome, .id = row->id, .index = one->at, .state = row->state,
            .attempt = row->attempt,
            .exit_code = row->exit_code, .signal = row->signal,
            .duration_ms = row->started_ms && row->ended_ms ? row->ended_ms - row->started_ms : -1,
            .err = one->result < 0 ? &one->err : NULL,
        };

        if (tell)
            tell(context, &outcome);
        if (one->result < 0 && result == 0 && err)
            *err = one->err;
        result = one->result < 0 ? -1 : result;
    }
    return result;
}

static void slice_done(struct batch_slice *slice)
{
    for (size_t i = 0; i < slice->count; i++)
        sw_job_done(&slice->jobs[i].row);
    free(slice->jobs);
    free(slice->batches);
}

/* Each job once. An id that is none is not there. */
static int fill(struct batch_slice *slice, const char *const *ids, size_t from, size_t count,
                struct sw_error *err)
{
    sw_autofree struct api_one **open = sw_alloc((count + 1) * sizeof *open);
    sw_auto(json) json_t *known = json_object();
    size_t valid = 0;

    slice->jobs = sw_alloc((count + 1) * sizeof *slice->jobs);
    for (size_t i = 0; i < count; i++) {
        struct api_one *one = &slice->jobs[slice->count];
        const char *id = ids[from + i];

        if (json_object_get(known, id))
            continue;
        json_object_set_new(known, id, json_true());
        one->at = from + i;
        snprintf(one->row.id, sizeof one->row.id, "%s", id);
        slice->count++;
        if (strlen(id) < sizeof one->row.id)
            open[valid++] = one;
        else
            is_gone(one);
    }
    return load(slice->session, open, valid, err);
}

int api_batch_run(struct sw_session *session, const char *const *ids, size_t count, api_batch_fn *fn,
                  const void *options, sw_outcome_fn *tell, void *context, struct sw_error *err)
{
    int result = 0;

    for (size_t from = 0; from < count; from += SLICE) {
        struct batch_slice slice = { .session = session, .fn = fn };
        struct sw_error why = { 0 };

        if (fill(&slice, ids, from, count - from < SLICE ? count - from : SLICE, &why) == 0) {
            qsort(slice.jobs, slice.count, sizeof *slice.jobs, by_place);
            split(&slice, options);
            sw_parallel(slice.batch_count, PLACES_AT_ONCE, run_place, &slice);
            qsort(slice.jobs, slice.count, sizeof *slice.jobs, in_order);
        } else {                                     /* nothing can be read: each gets that answer */
            for (size_t i = 0; i < slice.count; i++)
                api_one_fail(&slice.jobs[i], &why);
        }
        if (tell_all(&slice, tell, context, &why) < 0) {
            if (result == 0 && err)
                *err = why;
            result = -1;
        }
        slice_done(&slice);
    }
    return result;
}
