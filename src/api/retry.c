/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry.c - try finished jobs again, under the same ids.
 *
 * A row becomes "submitting" without an owner; the refresh claims it and sends it, like every retry. Dying in
 * between leaves it to the next refresh.
 */
#include "api/batch.h"
#include "base/parallel.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/report.h"

enum { CHECKS_AT_ONCE = 8 };

struct api_retry_options {
    bool avoid_node, collect;          /* collect: only the outputs, the command is not run */
};

static int avoid_its_node(struct sw_session *session, const struct sw_job *row,
                          struct sw_error *err)
{
    sw_auto(json) json_t *avoid = json_is_array(row->avoid) ? json_deep_copy(row->avoid)
                                                            : json_array();

    if (sw_text_empty(row->node))
        return sw_fail(err, SW_E_NOT_FOUND, "the node on which job '%s' failed is not known", row->id);
    json_array_append_new(avoid, sw_json_text(row->node));
    return sw_store_avoid(session->store, row->id, avoid, err);
}

/* All that the next attempt needs is there: what cannot be submitted is refused before the row
 * changes. */
static int check_next(const struct api_batch *batch, const struct sw_job *row, struct sw_error *err)
{
    sw_auto(sw_plan) struct sw_plan *plan = sw_attempt_plan(row, err);
    sw_auto(sw_secrets) struct sw_secrets *secrets =
        plan ? sw_attempt_secrets(plan, NULL, NULL, err) : NULL;

    if (!secrets)
        return -1;
    return batch->platform->preflight ? batch->platform->preflight(batch->conn, plan, err) : 0;
}

/* ---- outputs alone ---------------------------------------------------------------------------- */

/* Is there anything to bring? */
static int check_outputs(const struct api_batch *batch, const struct sw_job *row, struct sw_error *err)
{
    if (!batch->platform->collects) {
        sw_fail(err, SW_E_UNSUPPORTED, "copying the outputs of a finished job again is not available on "
                                       "%s", batch->platform->name);
        return sw_hint(err, "fetch its results with `slipway get %s`", row->id);
    }
    if (json_array_size(json_object_get(row->plan, "outputs")) == 0 &&
        json_array_size(json_object_get(row->plan, "config_outputs")) == 0) {
        sw_fail(err, SW_E_SPEC, "job '%s' declares no outputs: there is nothing to copy", row->id);
        return sw_hint(err, "fetch its results with `slipway get %s`", row->id);
    }
    if (row->started_ms == 0 && !row->only_collect) {
        sw_fail(err, SW_E_CONFLICT, "the command of job '%s' was never started: it left no outputs",
                row->id);
        return sw_hint(err, "run the whole job again: slipway retry %s", row->id);
    }
    return 0;
}

/* How the command itself ended: "outputs" means that it ended well. */
static int command_exit_of(const struct sw_job *row)
{
    if (row->only_collect)
        return row->command_exit;
    return sw_text_same(row->reason, SW_REASON_OUTPUTS)
               ? 0 : api_exit_status(row->state, row->reason, row->exit_code, row->signal);
}

/* ---- the whole job ---------------------------------------------------------------------------- */

static int still_active(const struct sw_job *row, struct sw_error *err)
{
    sw_fail(err, SW_E_CONFLICT, "job '%s' is still %s", row->id, sw_state_name(row->state));
    return sw_hint(err, "wait for it to finish, or cancel it: slipway cancel %s", row->id);
}

/* Its platform will begin the next attempt by itself, and can be told to do so now. */
static bool waits_there(const struct api_batch *batch, const struct sw_job *row)
{
    const struct api_retry_options *options = batch->options;

    return row->phase == SW_PHASE_ACTIVE && api_awaits_attempt(row) && batch->platform->hurry &&
           !options->collect;
}

static int hurry(const struct api_batch *batch, const struct sw_job *row, struct sw_error *err)
{
    const struct sw_jobref ref = sw_job_ref(row);

    return batch->platform->hurry(batch->conn, &ref, err);
}

/* The attempt that is paused goes on: there is no other one to begin. */
static bool is_paused_there(const struct api_batch *batch, const struct sw_job *row)
{
    const struct api_retry_options *options = batch->options;

    return row->phase == SW_PHASE_ACTIVE && row->state == SW_PAUSED && batch->platform->resume &&
           !options->collect;
}

static int resume(const struct api_batch *batch, const struct sw_job *row, struct sw_error *err)
{
    const struct sw_jobref ref = sw_job_ref(row);

    return batch->platform->resume(batch->conn, &ref, err);
}

static int check_row(const struct api_batch *batch, const struct sw_job *row, struct sw_error *err)
{
    const struct api_retry_options *options = batch->options;

    if (row->phase == SW_PHASE_SUBMITTING && !options->collect)
        return 0;                      /* it may wait for its next attempt: begin() finds out */
    if (waits_there(batch, row))
        return hurry(batch, row, err);
    if (is_paused_there(batch, row))
        return resume(batch, row, err);
    if (row->phase != SW_PHASE_OVER)
        return still_active(row, err);
    return options->collect && check_outputs(batch, row, err) < 0 ? -1 : check_next(batch, row, err);
}

static void check_one(void *context, size_t index)
{
    struct api_batch *batch = context;
    struct api_one *one = &batch->jobs[index];
    struct sw_error why = { 0 };

    if (!one->done && check_row(batch, &one->row, &why) < 0)
        api_one_fail(one, &why);
}

/* One that waits for its next attempt by itself: that one is sent now. */
static int send_now(struct sw_store *store, const struct sw_job *row, struct sw_error *err)
{
    bool due = false;

    if (sw_store_attempt_now(store, row->id, row->attempt, &due, err) < 0)
        return -1;
    return due ? 0 : still_active(row, err);
}

static int begin(struct sw_session *session, const struct sw_job *row,
                 const struct api_retry_options *options, struct sw_error *err)
{
    int attempt;

    if (row->phase == SW_PHASE_SUBMITTING)
        return send_now(session->store, row, err);
    if (row->phase == SW_PHASE_ACTIVE)                   /* its platform begins it now, or goes on with it */
        return 0;
    if (options->collect)
        return sw_store_collect_again(session->store, row->id, row->attempt, command_exit_of(row),
                                      "its outputs are copied again (slipway retry "
                                      "--collect)", &attempt, err);
    if (options->avoid_node && avoid_its_node(session, row, err) < 0)
        return -1;
    return sw_store_next_attempt(session->store, row->id, row->attempt, "retried by hand", &attempt, err);
}

static int begin_attempts(void *context, struct sw_error *err)
{
    struct api_batch *batch = context;

    (void)err;
    for (size_t i = 0; i < batch->count; i++) {
        struct api_one *one = &batch->jobs[i];
        struct sw_error why = { 0 };

        if (!one->done && begin(batch->session, &one->row, batch->options, &why) < 0)
            api_one_fail(one, &why);
    }
    return 0;
}

/* The platform itself said no: then nothing was submitted, whatever the row went through. */
static void find_refusals(struct api_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct api_one *one = &batch->jobs[i];
        const struct sw_job *row = &one->row;
        struct sw_error why = { 0 };

        if (one->done || row->phase != SW_PHASE_OVER || !sw_text_same(row->reason, SW_REASON_REFUSED))
            continue;
        sw_fail(&why, SW_E_REFUSED, "%s", row->message ? row->message : "the platform rejected it");
        if (row->suggestion)
            sw_hint(&why, "%s", row->suggestion);
        api_one_fail(one, &why);
    }
}

static void retry_place(struct api_batch *batch)
{
    sw_auto(json) json_t *unreachable = json_array();
    struct sw_error why = { 0 };

    if (api_batch_refresh(batch, SW_REFRESH_PATIENT, NULL, &why) < 0 || api_batch_reload(batch, &why) < 0) {
        api_batch_fail(batch, &why);
        return;
    }
    sw_parallel(batch->count, CHECKS_AT_ONCE, check_one, batch);
    if (sw_store_together(batch->session->store, begin_attempts, batch, &why) < 0 ||
        api_batch_refresh(batch, SW_REFRESH_PATIENT, unreachable, &why) < 0 ||
        api_batch_reload(batch, &why) < 0) {
        api_batch_fail(batch, &why);
        return;
    }
    if (json_array_size(unreachable) > 0)
        api_warn(batch->session, "the platform did not answer; the attempt is sent as soon as it does");
    find_refusals(batch);
}

int sw_retry_many(struct sw_session *session, const char *const *ids, size_t count, bool avoid_node,
                  sw_outcome_fn *tell, void *context, struct sw_error *err)
{
    const struct api_retry_options options = { .avoid_node = avoid_node };

    return api_batch_run(session, ids, count, retry_place, &options, tell, context, err);
}

static void take_attempt(void *context, const struct sw_outcome *outcome)
{
    if (!outcome->err)
        *(int *)context = outcome->attempt;
}

int sw_retry(struct sw_session *session, const char *id, bool avoid_node, int *attempt,
             struct sw_error *err)
{
    return sw_retry_many(session, &id, 1, avoid_node, take_attempt, attempt, err);
}

int sw_collect_again_many(struct sw_session *session, const char *const *ids, size_t count,
                          sw_outcome_fn *tell, void *context, struct sw_error *err)
{
    const struct api_retry_options options = { .collect = true };

    return api_batch_run(session, ids, count, retry_place, &options, tell, context, err);
}

int sw_collect_again(struct sw_session *session, const char *id, int *attempt, struct sw_error *err)
{
    return sw_collect_again_many(session, &id, 1, take_attempt, attempt, err);
}
