/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt.c - one attempt of a job is handed to its platform.
 *
 * api/submit.c sends first attempts, reconcile.c later ones; both come through here. The caller owns the
 * row (its lock and its owner field), so no other process sends it. Secrets are named in the plan and
 * looked up by the caller's function; where one is missing the attempt is not sent, since it would fail
 * in a less honest way.
 *
 * While the platform is asked, which may take minutes (an image is pulled), a heartbeat keeps the row
 * from those who cannot see the lock. And afterwards the row is read once more: it may have been
 * canceled, ended or removed meanwhile, and a job that no row tells of would run for ever.
 */
#include "monitor/attempt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"
#include "base/thread.h"
#include "core/job_values.h"
#include "core/payload.h"
#include "core/reason.h"
#include "core/signature.h"
#include "monitor/monitor_internal.h"

/* ---- what a plan names ------------------------------------------------------------------------ */

/* Every attempt has its own: what an earlier one left behind opens nothing. */
static int add_ray_token(struct sw_secrets *secrets, struct sw_error *err)
{
    unsigned char bytes[32];
    char token[2 * sizeof bytes + 1];
    int result;

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return sw_fail_errno(err, SW_E_IO, "no random numbers for the token of the Ray cluster");
    sw_hex(bytes, sizeof bytes, token);
    result = sw_secrets_add(secrets, SW_RAY_TOKEN, token, err);
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(token, sizeof token);
    return result;
}

struct sw_secrets *sw_attempt_secrets(const struct sw_plan *plan, sw_env_fn *env,
                                      void *context, struct sw_error *err)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    sw_auto(sw_environment) struct sw_environment *values = env ? NULL : sw_job_values(plan->dotenv);
    size_t i;
    json_t *entry;

    if (!env) {
        env = sw_environment_get;
        context = values;
    }
    json_array_foreach(plan->secrets, i, entry) {
        const char *name = json_string_value(entry);

        if (name && sw_secrets_add(secrets, name, env(context, name), err) < 0)
            return NULL;
    }
    if (sw_plan_send_settings(plan, env, context, secrets, err) < 0 ||
        (sw_json_lists(plan->credentials, SW_RAY_TOKEN) && add_ray_token(secrets, err) < 0))
        return NULL;
    return sw_take(secrets);
}

struct sw_plan *sw_attempt_plan(const struct sw_job *row, struct sw_error *err)
{
    sw_auto(sw_plan) struct sw_plan *plan = NULL;

    if (sw_json_bool(row->plan, SW_PLAN_UNSIGNED, false)) {
        sw_fail(err, SW_E_CREDENTIAL, "the plan of '%s' is not signed by you: it is not submitted "
                "again", row->id);
        sw_hint(err, "if you know whose it is: slipway adopt --trust-plan -p %s %s", row->platform,
                row->id);
        return NULL;
    }
    plan = sw_plan_from_json(row->plan, err);
    if (!plan)
        return NULL;
    memcpy(plan->job_id, row->id, sizeof plan->job_id);
    json_decref(plan->avoid);
    plan->avoid = json_incref(row->avoid);
    plan->results_dir = sw_strdup(row->results_dir);
    plan->only_collect = row->only_collect;
    plan->command_exit = row->command_exit;
    return sw_take(plan);
}

void sw_attempt_mark(struct sw_plan *plan, const struct sw_store *store)
{
    free(plan->store_id);
    plan->store_id = sw_strdup(sw_store_id(store));
    plan->owner_uid = (long)geteuid();
}

/* Without a key the job is as good, only that another store of this user will not know its plan. */
static void sign(struct sw_plan *plan)
{
    sw_auto(json) json_t *stored = sw_plan_to_json(plan);
    char signature[SW_DIGEST_HEX];

    free(sw_take(plan->signature));
    if (sw_signature_make(stored, signature, NULL) == 0)
        plan->signature = sw_strdup(signature);
}

/* ---- the heartbeat ---------------------------------------------------------------------------- */

struct heartbeat {
    struct sw_store *store;
    const char *id;
    pthread_t thread;
    bool runs, ends;                 /* `ends` is guarded */
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

static void *beat(void *context)
{
    struct heartbeat *heart = context;
    bool ends = false;

    while (!ends) {
        struct timespec until;
        int code = 0;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += SW_OWNER_BEAT_MS / 1000;
        pthread_mutex_lock(&heart->lock);
        while (!heart->ends && code != ETIMEDOUT)
            code = pthread_cond_timedwait(&heart->ended, &heart->lock, &until);
        ends = heart->ends;
        pthread_mutex_unlock(&heart->lock);
        if (!ends)
            sw_store_beat(heart->store, heart->id);
    }
    return NULL;
}

static void heartbeat_begin(struct heartbeat *heart)
{
    pthread_mutex_init(&heart->lock, NULL);
    sw_cond_init_monotonic(&heart->ended);
    heart->runs = sw_thread_start(&heart->thread, 0, beat, heart) == 0;
}

static void heartbeat_end(struct heartbeat *heart)
{
    pthread_mutex_lock(&heart->lock);
    heart->ends = true;
    pthread_cond_broadcast(&heart->ended);
    pthread_mutex_unlock(&heart->lock);
    if (heart->runs)
        pthread_join(heart->thread, NULL);
    pthread_cond_destroy(&heart->ended);
    pthread_mutex_destroy(&heart->lock);
}

/* ---- what came of it -------------------------------------------------------------------------- */

int sw_attempt_refuse(struct sw_store *store, const char *id, int number, const char *reason,
                      const struct sw_error *why, struct sw_error *err)
{
    struct sw_observation seen = { .job = { .id = id, .attempt = number } };
    sw_auto(json) json_t *verdict = sw_json_object(
        SW_STR("err_class", "ERR_PROGRAM"), SW_STR("cause", "user"),
        SW_STR("suggestion", why->hint[0] ? why->hint
                             : number > 1 ? "see the message, then use `slipway retry`"
                                          : "the platform rejected the job"));
    sw_autofree char *message = number > 1 ? sw_format("could not submit attempt %d: %.200s", number,
                                                       why->message)
                                           : sw_format("%.255s", why->message);

    monitor_say(&seen, SW_ERROR, reason, message);
    return sw_store_saw(store, &seen, verdict, sw_now_ms(), NULL, err);
}

/* The platform may have it or not. Until a refresh finds out, the row says just that. */
static int record_doubt(const struct sw_attempt *attempt, const struct sw_error *why,
                        struct sw_error *err)
{
    struct sw_observation seen = { .job = { .id = attempt->plan->job_id,
                                         .attempt = attempt->number } };
    sw_autofree char *message = sw_format("sent, not confirmed yet: %.200s", why->message);

    monitor_say(&seen, SW_PENDING, "unconfirmed", message);
    if (sw_store_saw(attempt->store, &seen, NULL, sw_now_ms(), NULL, err) < 0)
        return -1;
    sw_store_let_go(attempt->store, attempt->plan->job_id);
    return 0;
}

static void tell(const struct sw_attempt *attempt, const char *text)
{
    if (attempt->warn)
        attempt->warn(attempt->warn_context, text);
}

/* Started, and not wanted any more. 0: nothing of it runs; -1 + why. */
static int take_back(const struct sw_attempt *attempt, const struct sw_submission *receipt,
                     struct sw_error *why)
{
    const struct sw_jobref job = { .id = attempt->plan->job_id, .remote_id = receipt->remote_id,
                                   .attempt = attempt->number, .details = receipt->details };

    return sw_platform_cancel(attempt->platform, attempt->conn, &job, why) < 0 ? -1 : 0;
}

/* The row is gone, or tells of another attempt: what was started has no row. */
static int take_back_unknown(const struct sw_attempt *attempt, const struct sw_submission *receipt,
                             struct sw_error *why)
{
    struct sw_error trouble = { 0 };

    if (take_back(attempt, receipt, &trouble) == 0)
        return sw_fail(why, SW_E_CONFLICT, "job '%s' was removed or retried while attempt %d was being "
                                           "submitted; what had started was stopped",
                       attempt->plan->job_id, attempt->number);
    sw_fail(why, SW_E_CONFLICT, "job '%s' was removed or retried while attempt %d was being submitted, "
                                "and what had started cannot be stopped: %s", attempt->plan->job_id,
            attempt->number, trouble.message);
    return sw_hint(why, "import it again: slipway adopt -p %s %s", attempt->platform->name,
                   attempt->plan->job_id);
}

/* Canceled meanwhile: it is stopped; where that fails the row is open again, and every later refresh
 * tries once more. */
static int carry_cancel_out(const struct sw_attempt *attempt, const struct sw_submission *receipt,
                            const struct sw_job *row, struct sw_error *err)
{
    struct sw_error trouble = { 0 };

    if (take_back(attempt, receipt, &trouble) == 0) {
        tell(attempt, "the job was canceled while it was being submitted: what had started was stopped");
        return 0;
    }
    tell(attempt, "the job was canceled while it was being submitted, and cannot be stopped yet");
    return row->phase == SW_PHASE_OVER
               ? sw_store_reopen(attempt->store, row->id, attempt->number, SW_REASON_CANCELING,
                                 trouble.message, err)
               : 0;
}

static int confirm(const struct sw_attempt *attempt, const struct sw_submission *receipt,
                   struct sw_error *why, struct sw_error *err)
{
    const char *id = attempt->plan->job_id;
    sw_auto(sw_job) struct sw_job row = { 0 };
    struct sw_error trouble = { 0 };

    if (sw_store_get(attempt->store, id, SW_COLUMNS_LIST, &row, &trouble) < 0 &&
        trouble.code != SW_E_NOT_FOUND) {
        if (err)
            *err = trouble;
        return -1;
    }
    if (trouble.code || row.attempt != attempt->number) {
        take_back_unknown(attempt, receipt, why);
        return 0;
    }
    if (sw_store_submitted(attempt->store, id, receipt->remote_id, receipt->details,
                           receipt->results_dir, err) < 0)
        return -1;
    if (row.canceling || row.state == SW_CANCELED)
        return carry_cancel_out(attempt, receipt, &row, err);
    if (row.phase != SW_PHASE_OVER || !sw_text_same(row.reason, SW_REASON_NOT_STARTED))
        return 0;
    tell(attempt, "another process considered this submit dead; it is open again");
    return sw_store_reopen(attempt->store, id, attempt->number, SW_REASON_REOPENED,
                           "submitted after all: its submit had been considered dead", err);
}

int sw_attempt_submit(const struct sw_attempt *attempt, struct sw_error *why, struct sw_error *err)
{
    struct heartbeat heart = { .store = attempt->store, .id = attempt->plan->job_id };
    struct sw_submission receipt = { 0 };
    int result;

    sw_attempt_mark(attempt->plan, attempt->store);
    sign(attempt->plan);
    heartbeat_begin(&heart);
    result = attempt->platform->submit(attempt->conn, attempt->plan, attempt->number,
                                       attempt->secrets, &receipt, why);
    heartbeat_end(&heart);
    if (result == 0) {
        result = confirm(attempt, &receipt, why, err);
    } else if (why->code == SW_E_UNREACHABLE || why->code == SW_E_TIMEOUT) {
        why->code = SW_E_UNREACHABLE;
        result = record_doubt(attempt, why, err);
    } else {
        result = sw_attempt_refuse(attempt->store, attempt->plan->job_id, attempt->number, SW_REASON_REFUSED,
                                   why, err);
    }
    json_decref(receipt.details);
    free(receipt.results_dir);
    return result;
}
