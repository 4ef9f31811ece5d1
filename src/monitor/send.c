/* SPDX-License-Identifier: Apache-2.0 */
/*
 * send.c - the next attempts of jobs, some at a time. Each is written down before and after, whatever becomes
 * of another.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "core/reason.h"
#include "monitor/monitor_internal.h"

enum { AT_ONCE = 8, SECRET_MS = 60 * 1000 };          /* a secret that is missing is looked for again */

struct sending {
    const struct sw_monitor *monitor;
    const struct sw_platform *platform;
    struct sw_connection *conn;
    const char *const *ids;
    struct sw_error *errors;           /* of the store, one for each */
};

/* It may come: the values are in the shell that submitted the job, or in that of a `slipway retry`. */
static int wait_for_secret(struct sw_store *store, const struct sw_job *job, const struct sw_error *why,
                           struct sw_error *err)
{
    struct sw_observation seen = { .job = { .id = job->id, .attempt = job->attempt } };
    sw_autofree char *message = sw_format("attempt %d is waiting: %.160s; run `slipway retry %s` where it "
                                          "is set",
                                          job->attempt, why->message, job->id);
    int result;

    monitor_say(&seen, SW_PENDING, SW_REASON_CREDENTIAL, message);
    result = sw_store_saw(store, &seen, NULL, sw_now_ms(), NULL, err);
    if (result == 0)
        result = sw_store_attempt_later(store, job->id, job->attempt, sw_now_ms() + SECRET_MS, err);
    sw_store_let_go(store, job->id);
    return result;
}

/* A watcher that lives has its secrets: it sends the attempt. */
static bool is_left_to_another(const struct sw_monitor *monitor, const struct sw_job *job)
{
    if ((monitor->watcher && sw_text_same(monitor->host, job->host)) ||
        !sw_store_watcher_lives(monitor->store, job->host))
        return false;
    sw_store_let_go(monitor->store, job->id);
    return true;
}

/* The row is claimed by us, and the platform certainly has nothing of it. */
static int send_next(const struct sending *sending, const char *id, struct sw_error *err)
{
    const struct sw_monitor *monitor = sending->monitor;
    sw_auto(sw_job) struct sw_job job = { 0 };
    sw_auto(sw_plan) struct sw_plan *plan = NULL;
    sw_auto(sw_secrets) struct sw_secrets *secrets = NULL;
    struct sw_error why = { 0 };

    if (sw_store_get(monitor->store, id, SW_COLUMNS_ALL, &job, err) < 0)
        return -1;
    if (job.canceling) {                            /* meanwhile: the next refresh ends it */
        sw_store_let_go(monitor->store, id);
        return 0;
    }
    plan = sw_attempt_plan(&job, &why);
    if (!plan)
        return sw_attempt_refuse(monitor->store, id, job.attempt, "no-plan", &why, err);
    secrets = monitor->secrets ? monitor->secrets(monitor->context, id) : NULL;
    if (!secrets && !(secrets = sw_attempt_secrets(plan, NULL, NULL, &why)))
        return is_left_to_another(monitor, &job) ? 0 : wait_for_secret(monitor->store, &job, &why, err);
    return sw_attempt_submit(&(struct sw_attempt){
        .store = monitor->store, .platform = sending->platform, .conn = sending->conn,
        .plan = plan, .number = job.attempt, .secrets = secrets, .warn = monitor->warn,
        .warn_context = monitor->context }, &why, err);
}

static struct sw_secrets *secrets_of(const struct sw_monitor *monitor, const char *id)
{
    sw_auto(sw_job) struct sw_job job = { 0 };
    sw_auto(sw_plan) struct sw_plan *plan = NULL;
    struct sw_secrets *kept = monitor->secrets ? monitor->secrets(monitor->context, id) : NULL;

    if (kept || sw_store_get(monitor->store, id, SW_COLUMNS_ALL, &job, NULL) < 0)
        return kept;
    plan = sw_attempt_plan(&job, NULL);
    return plan ? sw_attempt_secrets(plan, NULL, NULL, NULL) : NULL;
}

void monitor_hand_secrets(const struct sw_monitor *monitor, const struct sw_platform *platform,
                          struct sw_connection *conn, const struct sw_observation *seen, size_t count)
{
    for (size_t i = 0; platform->hand_secrets && i < count; i++) {
        sw_auto(sw_secrets) struct sw_secrets *secrets =
            seen[i].wants_secrets ? secrets_of(monitor, seen[i].job.id) : NULL;
        struct sw_error why = { 0 };

        if (seen[i].wants_secrets && platform->hand_secrets(conn, &seen[i], secrets, &why) < 0 &&
            monitor->warn) {
            sw_autofree char *text = sw_format("the secrets of '%s' cannot be handed over: %s",
                                               seen[i].job.id, why.message);

            monitor->warn(monitor->context, text);
        }
    }
}

static void send_one(void *context, size_t index)
{
    const struct sending *sending = context;

    send_next(sending, sending->ids[index], &sending->errors[index]);
}

int monitor_send(const struct sw_monitor *monitor, const struct sw_platform *platform,
                 struct sw_connection *conn, const char *const *ids, size_t count, struct sw_error *err)
{
    sw_autofree struct sw_error *errors = sw_alloc((count + 1) * sizeof *errors);
    struct sending sending = { monitor, platform, conn, ids, errors };

    sw_parallel(count, AT_ONCE, send_one, &sending);
    for (size_t i = 0; i < count; i++)
        if (errors[i].code)
            return sw_pass(err, &errors[i]);
    return 0;
}
