/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_submit.c - one attempt becomes one submission.
 *
 *     the package   GET /api/packages/gcs/NAME, and PUT where it is missing
 *     the job       POST /api/jobs/
 *
 * A submission id can be used once, but Ray says so with 500, as it says everything: after any POST that
 * failed the id is asked for, and only its answer decides. Secrets do not travel here (ray_secrets.c).
 */
#include "platform/ray/ray_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/payload.h"
#include "platform/kit/sending.h"

enum { AGENT_MS = 60000, PAUSE_MS = 1000 };      /* a head that has just started has no agent yet */
enum ray_sent { SENT = 0, NOT_SENT = -1, SEND_AGAIN = 1 };

int ray_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    (void)conn;
    return ray_check(plan, err);
}

static const char *where_it_runs(const struct sw_plan *plan)
{
    return ray_takes_resources(plan)
               ? "the driver takes resources of the cluster, and any node that has them may run it"
               : "the driver takes no resources: it runs on the head node and sees all of its GPUs";
}

/* The package's name follows from its bytes, which are made when it is sent. */
json_t *ray_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(json) json_t *env = NULL, *body = NULL;
    sw_auto(sw_payload) struct sw_payload *payload = NULL;
    sw_autofree char *text = NULL;

    (void)conn;
    if (ray_check(plan, err) < 0 || !(payload = ray_payload(plan, 1, &env, err)))
        return NULL;
    body = ray_render_body(plan, 1, "_ray_pkg_HASH.zip", env, sw_sends_secrets(plan), 0);
    text = sw_json_dump_pretty(body);
    return json_pack("[{s:s,s:s},{s:s,s:s}]", "what", "where the driver runs", "text", where_it_runs(plan),
                     "what", "POST /api/jobs/", "text", text);
}

static bool is_ours(const json_t *job, const struct sw_plan *plan, int attempt)
{
    sw_autofree char *number = sw_format("%d", attempt);

    return sw_text_same(ray_mark(job, SW_MARK_ID), plan->job_id) &&
           sw_text_same(ray_mark(job, SW_MARK_ATTEMPT), number);
}

/* What Ray writes when it ends a supervisor of a job that was deleted meanwhile: a record of nothing. */
static bool is_of_deleted(const json_t *job)
{
    return ray_is_over(job) && !ray_mark(job, SW_MARK_ID) &&
           sw_text_same(sw_json_str(job, "entrypoint"), "Entrypoint not found.");
}

/* Without an agent Ray answers 500, like all that it refuses; these words are the only difference. */
static bool has_no_agent(const struct sw_error *why, int status)
{
    return status >= 500 && strstr(why->message, "try again later");
}

/* `why`: what the POST said. */
static enum ray_sent find_sent(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                               const struct sw_error *why, int status, struct sw_error *err)
{
    struct sw_error unseen = { 0 };
    const struct sw_jobs_name name = ray_name(plan->job_id, attempt);
    sw_auto(json) json_t *job = ray_get(conn, name.text, &unseen);

    if (job && is_ours(job, plan, attempt))
        return SENT;
    if (job && is_of_deleted(job)) {
        ray_forget_beside(conn, name.text);
        sw_fail(err, SW_E_REFUSED, "the cluster still has the record of a deleted job '%s'", name.text);
        return SEND_AGAIN;
    }
    if (job)
        return sw_fail(err, SW_E_CONFLICT, "the cluster has another job '%s'", name.text);
    sw_pass(err, why);
    if (unseen.code != SW_E_NOT_FOUND || status < 500)
        return NOT_SENT;
    if (err)
        err->code = SW_E_REFUSED;            /* it answered, and has no such job */
    return has_no_agent(why, status) ? SEND_AGAIN : NOT_SENT;
}

static enum ray_sent post_once(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                               const json_t *body, struct sw_error *err)
{
    sw_auto(sw_rest_seen) struct sw_rest_seen seen = { 0 };
    struct sw_error why = { 0 };

    if (ray_ask(conn, &(struct sw_rest_call){ .method = "POST", .path = "/api/jobs/", .json = body,
                                              .seen = &seen }, NULL, &why) == 0)
        return SENT;
    return why.code == SW_E_CREDENTIAL ? sw_pass(err, &why)
                                       : find_sent(conn, plan, attempt, &why, seen.status, err);
}

static int post(struct sw_connection *conn, const struct sw_plan *plan, int attempt, const json_t *body,
                struct sw_error *err)
{
    int64_t until_ms = sw_monotonic_ms() + AGENT_MS;

    for (;;) {
        struct sw_error why = { 0 };
        enum ray_sent sent = post_once(conn, plan, attempt, body, &why);

        if (sent == SENT)
            return 0;
        if (sent == NOT_SENT || sw_monotonic_ms() > until_ms)
            return sw_pass(err, &why);
        sw_sleep_ms(PAUSE_MS);
    }
}

int ray_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
               const struct sw_secrets *secrets, struct sw_submission *out, struct sw_error *err)
{
    int64_t start_by_ms = sw_now_ms() + ray_job_options(plan->options).start_limit_ms;
    sw_auto(json) json_t *env = NULL, *body = NULL;
    sw_auto(sw_payload) struct sw_payload *payload = ray_payload(plan, attempt, &env, err);
    sw_auto(ray_package) struct ray_package package = { .bytes = NULL };

    if (!payload || ray_package_make(conn, plan, payload, attempt, &package, err) < 0 ||
        ray_package_send(conn, &package, err) < 0)
        return -1;
    body = ray_render_body(plan, attempt, package.name, env, sw_secrets_count(secrets) > 0, start_by_ms);
    if (sw_secrets_count(secrets) > 0)
        ray_keep_secrets(conn, plan->job_id, secrets);
    if (post(conn, plan, attempt, body, err) < 0)
        return -1;
    sw_jobs_receipt(out, ray_name(plan->job_id, attempt).text, NULL);
    json_object_set_new(out->details, "package", json_string(package.name));
    return 0;
}
