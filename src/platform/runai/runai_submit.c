/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_submit.c - one plan becomes one workload, once.
 *
 *     1  project and cluster by name; the workload by its name: one of ours was made by an earlier call
 *     2  credentials of registry and job, where they are needed
 *     3  the workload itself, with runner, payload and code in its variables
 *
 * Names are used as given, so that the server refuses a second workload of the same name. Which status
 * that is, is not documented: after any refusal the name is looked up, and what carries our marks is
 * adopted.
 */
#include "platform/runai/runai_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "platform/kit/chunks.h"
#include "platform/kit/sending.h"

void runai_fill_submission(const json_t *workload, const json_t *whole, const struct sw_plan *plan,
                           struct sw_submission *out)
{
    sw_autofree char *log = plan && runai_brings_log(whole) ? runai_kept_uri(plan->outputs, plan->job_id)
                                                            : NULL;

    sw_jobs_receipt(out, runai_id(workload), NULL);
    if (log)
        json_object_set_new(out->details, RUNAI_LOG_STORED, sw_json_text(log));
    out->results_dir = plan ? runai_results_source(plan) : NULL;
}

/* 1: it is there, and ours; 0: there is none; -1: another's has the name, or it is not known. */
static int adopt_named(struct sw_connection *conn, const struct sw_plan *plan, const char *name,
                       struct sw_submission *receipt, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *entry = runai_by_name(conn, name, false, &why), *whole = NULL;
    const char *store;

    if (!entry)
        return why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
    whole = runai_whole(conn, entry, err);
    if (!whole)
        return -1;
    store = runai_mark(whole, "labels", SW_MARK_STORE);
    if (!sw_text_same(runai_mark(whole, "labels", SW_MARK_ID), plan->job_id) ||
        (plan->store_id && !sw_text_same(store, plan->store_id))) {
        sw_fail(err, SW_E_CONFLICT, "project '%s' has a workload '%s' already, and it is not this job's",
                runai_of(conn)->project,
                name);
        return sw_hint(err, "delete it in run:ai, or submit the job again: it then gets another id");
    }
    runai_fill_submission(entry, whole, plan, receipt);
    return 1;
}

static int add_kept_log(const struct sw_plan *plan, int attempt, bool with_ca, json_t *variables,
                        struct sw_error *err)
{
    sw_autofree char *text = runai_kept_payload(plan, attempt, with_ca, err);

    if (!text)
        return -1;
    if (strlen(text) > RUNAI_VALUE_MAX / 2)      /* '$' may be doubled */
        return sw_fail(err, SW_E_SPEC, "the settings of the job's data have %zu characters, and %d fit",
                       strlen(text), RUNAI_VALUE_MAX / 2);
    json_object_set_new(variables, RUNAI_LOG, json_string(text));
    return 0;
}

/* Runner, payload and code as variables, owned; NULL + err. */
static json_t *chunks_of(struct sw_connection *conn, const struct sw_plan *plan,
                         const struct runai_target *target, struct sw_error *err)
{
    static const struct sw_chunk_limits limits = { "run:ai", RUNAI_VALUE_MAX, RUNAI_CHUNKS_MAX };
    sw_autofree char *kept = sw_cloud_note_path(conn, plan->job_id, 1, "code");
    sw_autofree char *results = runai_results_dir(plan);
    sw_auto(json) json_t *chunks = json_object(), *outputs = runai_outputs(plan);
    struct sw_plan sent = *plan;                 /* borrows all but the outputs */
    bool without_ca = false;

    sent.outputs = outputs;
    if (sw_chunks_put_job(chunks, RUNAI_CHUNKS, &(struct sw_chunks_job){
            .plan = &sent, .arch = runai_arch_name(runai_job_options(plan->options).arch), .results = results,
            .scratch = "/tmp/slipway-work", .shared = results, .attempt = target->attempt, .kept = kept,
            .without_ca = &without_ca }, &limits, err) < 0 ||
        (target->keeps_log && add_kept_log(plan, target->attempt, !without_ca, chunks, err) < 0))
        return NULL;
    if (without_ca)
        sw_cloud_warn(conn, "the certificates that this machine names (SSL_CERT_FILE and its like) do not "
                            "fit; the job uses those of its image");
    return sw_take(chunks);
}

/* Only where no other way leads to it: it costs the pod a second runner. */
static bool keeps_log(struct sw_connection *conn, const struct sw_plan *plan)
{
    sw_autofree char *uri = runai_kept_uri(plan->outputs, plan->job_id);

    return uri && !runai_of(conn)->kubeconfig && !runai_reads_kube(conn);
}

struct runai_sending {
    struct sw_connection *conn;
    const struct sw_plan *plan;
    int attempt;
    char *pull, *secret;                 /* Kubernetes names; owned */
    json_t *body;
};

static void sending_auto(struct runai_sending *s)
{
    free(s->pull);
    free(s->secret);
    json_decref(s->body);
}

static int prepare(struct runai_sending *s, const struct runai_site *site, const struct sw_secrets *secrets,
                   struct sw_error *err)
{
    char owner[128];
    struct runai_target target = { .attempt = s->attempt, .project_id = site->project_id, .owner = owner,
                                   .cluster_id = site->cluster_id,
                                   .keeps_log = keeps_log(s->conn, s->plan) };
    sw_auto(json) json_t *names = json_object(), *chunks = NULL;

    for (size_t i = 0; i < sw_secrets_count(secrets); i++)
        json_object_set_new(names, sw_secrets_name(secrets, i), json_true());
    sw_owner_name(owner);
    s->body = runai_render_body(s->plan, &target, err);          /* refuses before anything is sent */
    if (!s->body || !(chunks = chunks_of(s->conn, s->plan, &target, err)) ||
        runai_pull_secret(s->conn, s->plan, &s->pull, err) < 0 ||
        runai_send_secrets(s->conn, s->plan, s->attempt, secrets, names, &s->secret, err) < 0)
        return -1;
    json_decref(sw_take(s->body));
    target.pull_secret = s->pull;
    target.secret = s->secret;
    target.secret_names = names;
    s->body = runai_render_body(s->plan, &target, err);
    if (s->body)
        runai_env_add(s->body, chunks);
    return s->body ? 0 : -1;
}

/* Nothing of a job that was refused stays. */
static int send(struct runai_sending *s, struct sw_submission *receipt, struct sw_error *err)
{
    struct sw_jobs_name name = runai_name(s->plan->job_id, s->attempt);
    sw_autofree char *path = sw_rest_path("/workloads/%s", runai_kind(s->plan));
    sw_auto(json) json_t *made = NULL;
    struct sw_error why = { 0 }, other = { 0 };
    int adopted;

    if (sw_cloud_call(s->conn, "POST", path, s->body, &made, &why) == 0) {
        runai_fill_submission(made, s->body, s->plan, receipt);
        if (receipt->remote_id[0])
            return 0;
        sw_fail(&why, SW_E_UNREACHABLE, "run:ai created the workload but returned no id");
    }
    adopted = adopt_named(s->conn, s->plan, name.text, receipt, &other);
    if (adopted == 1)
        return 0;
    if (adopted < 0 && why.code == SW_E_CONFLICT)
        sw_pass(&why, &other);
    if (why.code != SW_E_UNREACHABLE && s->secret)
        runai_delete_secrets(s->conn, s->plan->job_id, s->attempt, NULL);
    return sw_pass(err, &why);
}

int runai_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                 const struct sw_secrets *secrets, struct sw_submission *receipt, struct sw_error *err)
{
    __attribute__((cleanup(sending_auto))) struct runai_sending s = { .conn = conn, .plan = plan,
                                                                .attempt = attempt };
    const struct runai_site *site = runai_site(conn, err);
    struct sw_jobs_name name = runai_name(plan->job_id, attempt);
    int adopted = site ? adopt_named(conn, plan, name.text, receipt, err) : -1;

    if (adopted == 1)
        return 0;
    if (adopted < 0 || prepare(&s, site, secrets, err) < 0 || send(&s, receipt, err) < 0)
        return sw_wrap(err, "cannot start '%s'", plan->job_id);
    return 0;
}

/* ---- without asking -------------------------------------------------------------------------------- */

int runai_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(json) json_t *storage = NULL;

    (void)conn;
    if (runai_check(plan, err) < 0)
        return -1;
    storage = runai_storage(plan, err);
    return storage ? 0 : -1;
}

static void warn_of_lost(struct sw_connection *conn, const struct sw_plan *plan)
{
    sw_autofree char *kept = runai_results_source(plan);
    json_t *output;
    size_t i;

    json_array_foreach(plan->outputs, i, output)
        if (!kept && !sw_json_str(output, "to"))
            sw_cloud_warn(conn, "output '%s' stays in the pod and is lost with it; name a destination with "
                          "'to:', or mount a volume at /results ('runai.volumes')",
                          sw_json_str(output, "path"));
}

static void add_names(json_t *names, const json_t *list)
{
    json_t *name;
    size_t i;

    json_array_foreach((json_t *)list, i, name)
        json_object_set_new(names, json_string_value(name), json_true());
}

json_t *runai_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_autofree char *project = sw_format("(id of project %s)",
                                          runai_of(conn)->project ? runai_of(conn)->project : "");
    sw_autofree char *what = sw_format("POST /workloads/%s", runai_kind(plan)), *text = NULL;
    sw_auto(json) json_t *names = json_object();
    const struct runai_target target = {
        .attempt = 1, .project_id = project, .cluster_id = "(id of its cluster)", .owner = "",
        .pull_secret = runai_job_options(plan->options).image_pull_secret,
        .secret = "(credential of this job)", .secret_names = names };
    sw_auto(json) json_t *body = NULL;

    add_names(names, plan->secrets);
    add_names(names, plan->credentials);
    body = runai_render_body(plan, &target, err);
    if (!body)
        return NULL;
    warn_of_lost(conn, plan);
    text = sw_json_dump_pretty(body);
    return json_pack("[o]", sw_json_object(SW_STR("what", what), SW_STR("text", text)));
}
