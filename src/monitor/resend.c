/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resend.c - the next attempt of a job is handed to its platform.
 *
 * The row is claimed by us, so nobody else sends it; the platform was asked and has nothing of
 * this attempt. Secrets are named in the plan and taken from the environment of whoever watches;
 * where one is missing the job ends and says which, since an attempt without it would fail in a
 * less honest way.
 */
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "core/job_values.h"
#include "monitor/monitor_internal.h"

void monitor_let_go(struct sw_store *store, const char *id)
{
    struct sw_proc self;
    sw_auto(json) json_t *me = sw_proc_self(&self) == 0 ? sw_proc_json(&self) : NULL;
    bool won;

    if (me)
        sw_store_claim(store, id, me, NULL, &won, NULL);
}

static struct sw_secrets *gather_secrets(const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    sw_auto(sw_environment) struct sw_environment *values = sw_job_values(plan->dotenv);
    size_t i;
    json_t *name;

    json_array_foreach(plan->secrets, i, name)
        if (sw_secrets_add_from(secrets, json_string_value(name), sw_environment_get, values,
                                err) < 0)
            return NULL;
    return sw_take(secrets);
}

/* It cannot be sent, and trying again would not help: the job is over. */
static int end_it(struct sw_store *store, const struct sw_job *job, const char *reason,
                  const struct sw_error *why, struct sw_error *err)
{
    struct sw_sighting seen = { .job = monitor_ref(job) };
    sw_auto(json) json_t *verdict = sw_json_object(
        SW_STR("err_class", "ERR_PROGRAM"), SW_STR("cause", "user"),
        SW_STR("suggestion", why->hint[0] ? why->hint : "see the message, then `slipway retry`"));
    sw_autofree char *message = sw_format("attempt %d cannot be sent: %.200s", job->attempt,
                                          why->message);

    monitor_say(&seen, SW_ERROR, reason, message);
    return sw_store_saw(store, &seen, verdict, sw_now_ms(), NULL, err);
}

static int submit(struct sw_store *store, const struct sw_platform *platform, struct sw_link *link,
                  const struct sw_job *job, const struct sw_plan *plan,
                  const struct sw_secrets *secrets, struct sw_error *err)
{
    struct sw_receipt receipt = { 0 };
    struct sw_error why = { 0 };
    int result;

    if (platform->submit(link, plan, job->attempt, secrets, &receipt, &why) == 0) {
        result = sw_store_submitted(store, job->id, receipt.remote_id, receipt.details,
                                    receipt.results_dir, err);
    } else if (why.code == SW_E_UNREACHABLE) {
        monitor_let_go(store, job->id);             /* maybe: the next look finds out */
        result = 0;
    } else {
        result = end_it(store, job, "refused", &why, err);
    }
    json_decref(receipt.details);
    free(receipt.results_dir);
    return result;
}

int monitor_send_again(struct sw_store *store, const struct sw_platform *platform,
                       struct sw_link *link, const char *id, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job job = { 0 };
    sw_auto(sw_plan) struct sw_plan *plan = NULL;
    sw_auto(sw_secrets) struct sw_secrets *secrets = NULL;
    struct sw_error why = { 0 };

    if (sw_store_get(store, id, SW_COLUMNS_ALL, &job, err) < 0)
        return -1;
    if (job.canceling) {                            /* meanwhile: the next look ends it */
        monitor_let_go(store, id);
        return 0;
    }
    plan = sw_plan_from_json(job.plan, &why);
    if (!plan)
        return end_it(store, &job, "no-plan", &why, err);
    json_decref(plan->avoid);
    plan->avoid = json_incref(job.avoid);
    secrets = gather_secrets(plan, &why);
    if (!secrets)
        return end_it(store, &job, "credential", &why, err);
    return submit(store, platform, link, &job, plan, secrets, err);
}
