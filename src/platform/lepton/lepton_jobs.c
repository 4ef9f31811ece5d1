/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_jobs.c - the jobs that are there: list, stop, cleanup, and those that are found by their labels
 * alone.
 *
 * Our name for a job is ID.ATTEMPT (kit/jobs.h); on Lepton it is found by its labels, since the server adds
 * an ending to names and takes the same one twice. An answer contains the whole body, chunks included, so a
 * refresh asks for the jobs that it wants and keeps none of their variables.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/payload.h"
#include "core/reason.h"
#include "core/state.h"
#include "platform/kit/sending.h"

#define PAGE_SIZE "50"                   /* of bodies with up to a megabyte each */
enum { NAMED_MAX = 100 };

static const struct sw_rest_pages pages = { "jobs", NULL, "page", .numbered = true };

static struct sw_jobs_name name_of(const char *id, int attempt)
{
    struct sw_jobs_name name;

    snprintf(name.text, sizeof name.text, "%s.%d", id, attempt > 1 ? attempt : 1);
    return name;
}

static int attempt_of(const json_t *job)
{
    const char *text = lepton_label(job, SW_MARK_ATTEMPT);
    int attempt = text ? atoi(text) : 1;

    return attempt > 1 ? attempt : 1;
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Of two jobs of one attempt (a POST that was repeated) the newer one counts. */
static int keep(void *jobs, json_t *job)
{
    const char *id = lepton_label(job, SW_MARK_ID);
    struct sw_jobs_name name = name_of(id ? id : "", attempt_of(job));
    const json_t *other = json_object_get(jobs, name.text);

    if (!id || (other && sw_json_int(json_object_get(other, "metadata"), "created_at", 0) >
                             sw_json_int(json_object_get(job, "metadata"), "created_at", 0)))
        return 0;
    return json_object_set(jobs, name.text, job);
}

static int keep_slim(void *jobs, json_t *job)
{
    json_object_del(json_object_get(job, "spec"), "envs");
    return keep(jobs, job);
}

/* By ID.ATTEMPT; owned; NULL + err. `words` (NULL: none) is part of the name. */
static json_t *list_jobs(struct sw_connection *conn, const char *selector, const char *words, bool archived,
                         int (*take)(void *, json_t *), struct sw_error *err)
{
    const struct sw_rest_pair query[] = {
        { "job_query_mode", archived ? LEPTON_ALL_JOBS : "alive_only" }, { "query", selector },
        { "q", words }, { "page_size", PAGE_SIZE }, { 0 } };
    const struct sw_rest_call call = { .path = "/jobs", .query = query, .repeatable = true };
    sw_auto(json) json_t *jobs = json_object();

    return sw_rest_list(sw_cloud_of(conn)->rest, &call, &pages, take, jobs, err) < 0 ? NULL : sw_take(jobs);
}

static json_t *list(struct sw_connection *conn, const struct sw_observation *jobs, size_t count,
                    struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf selector = SW_BUF_INIT;

    sw_buf_add(&selector, SW_MARK_ID);
    if (jobs && count <= NAMED_MAX) {
        for (size_t i = 0; i < count; i++)
            sw_buf_addf(&selector, "%s%s", i ? "," : " in (", jobs[i].job.id);
        sw_buf_add(&selector, ")");
    }
    return list_jobs(conn, sw_buf_text(&selector), NULL, false, keep_slim, err);
}

/* By the id that Lepton gave it, where this machine sent it. */
static json_t *get_by_id(struct sw_connection *conn, const char *remote_id, struct sw_error *err)
{
    sw_autofree char *start = sw_rest_path("/jobs/%s", remote_id);
    sw_autofree char *path = sw_format("%s?job_query_mode=" LEPTON_ALL_JOBS, start);
    json_t *job = NULL;

    if (sw_cloud_call(conn, NULL, path, NULL, &job, err) < 0)
        return NULL;
    json_object_del(json_object_get(job, "spec"), "envs");
    return job;
}

json_t *lepton_find_job(struct sw_connection *conn, const char *id, int attempt, struct sw_error *err)
{
    int number = attempt > 1 ? attempt : 1;
    sw_autofree char *sent = sw_cloud_note(conn, id, number, "sent");
    sw_autofree char *selector = sw_format(SW_MARK_ID "=%s," SW_MARK_ATTEMPT "=%d", id, number);
    sw_auto(json) json_t *jobs = NULL;
    char name[LEPTON_NAME_SIZE];
    json_t *job;

    if (!sw_text_empty(sent))
        return get_by_id(conn, sent, err);
    lepton_name(id, number, name);
    jobs = list_jobs(conn, selector, name, true, keep_slim, err);
    job = json_object_get(jobs, name_of(id, number).text);
    if (jobs && (!job || !sw_text_same(lepton_meta(job, "name"), name))) {
        sw_fail(err, SW_E_NOT_FOUND, "the workspace has no job '%s'", name);
        return NULL;
    }
    return json_incref(job);
}

static json_t *get(struct sw_connection *conn, const char *name, struct sw_error *err)
{
    const char *dot = strrchr(name, '.');
    sw_autofree char *id = sw_strndup(name, (size_t)(dot - name));

    return lepton_find_job(conn, id, atoi(dot + 1), err);
}

json_t *lepton_job_part(struct sw_connection *conn, const json_t *job, const char *part, struct sw_error *err)
{
    sw_autofree char *start = sw_rest_path("/jobs/%s", lepton_meta(job, "id") ? lepton_meta(job, "id") : "");
    sw_autofree char *path = sw_format("%s/%s", start, part);
    json_t *answer = NULL;

    if (sw_cloud_call(conn, NULL, path, NULL, &answer, err) < 0)
        return NULL;
    return answer ? answer : json_array();
}

/* ---- more than the list says ---------------------------------------------------------------- */

static void add_part(struct sw_connection *conn, json_t *job, const char *key, const char *part)
{
    json_t *answer = lepton_job_part(conn, job, part, NULL);

    if (answer)
        json_object_set_new(job, key, answer);
}

static void add_end(struct sw_connection *conn, const struct sw_jobref *ref, json_t *job, bool failed)
{
    json_t *reports = NULL;
    bool late = lepton_is_late(conn, job, ref->id, &reports);

    if (late && !json_object_get(job, "asked"))
        json_object_set_new(job, "late", json_true());
    else if (failed || !sw_jobs_have_ended(reports, ref->id))
        add_part(conn, job, "events", "events");
    if (reports)
        json_object_set_new(job, "reports", reports);
}

/* Why a client of ours stopped it, owned; NULL: none did. The label is there for other machines. */
static char *asked_for(struct sw_connection *conn, const struct sw_jobref *ref, const json_t *job)
{
    char *noted = sw_cloud_note(conn, ref->id, ref->attempt, "asked");

    return noted ? noted : sw_strdup(lepton_label(job, LEPTON_STOPPED));
}

/* Replicas say why a job waits and where it failed; the log has the runner's reports. */
static void detail(struct sw_connection *conn, const struct sw_jobref *ref, json_t *job)
{
    sw_autofree char *asked = asked_for(conn, ref, job);
    const json_t *status = json_object_get(job, "status");
    const char *said = sw_json_str(status, "state");
    enum sw_state state = lepton_state(said, NULL);
    bool over = sw_state_is_final(state) || (asked && state == SW_PAUSED) || sw_text_same(said, "Archived");
    bool begins = state == SW_RUNNING && ref->state != SW_RUNNING && !asked &&
                  sw_json_int(status, "ready", 0) < sw_json_int(status, "active", 0);

    if (asked)
        json_object_set_new(job, "asked", sw_json_text(asked));
    if (asked && over)
        lepton_recall_waiting(conn, ref, job);
    if (over)
        add_end(conn, ref, job, state == SW_ERROR);
    if (over && state != SW_COMPLETE && !json_object_get(job, "late"))
        add_part(conn, job, "replicas", LEPTON_REPLICAS);
    else if (state == SW_PENDING || begins)
        lepton_explain_waiting(conn, ref, job);
}

/* ---- stop ----------------------------------------------------------------------------------- */

/* Ended, or stopped by anyone: Lepton refuses to stop it once more. */
static bool is_over(const json_t *job)
{
    const char *said = sw_json_str(json_object_get(job, "status"), "state");
    enum sw_state state = lepton_state(said, NULL);

    return sw_state_is_final(state) || state == SW_PAUSED || sw_text_same(said, "Archived");
}

/* With a label that tells other machines why. All labels are sent, in case the service replaces them; one
 * that does not take labels there gets the stop alone. */
static json_t *stop_body(const json_t *job, const char *why)
{
    const json_t *has = json_object_get(json_object_get(job, "metadata"), "labels");
    json_t *labels = has ? json_deep_copy(has) : json_object();

    json_object_set_new(labels, LEPTON_STOPPED, json_string(why));
    return json_pack("{s:{s:o},s:{s:b}}", "metadata", "labels", labels, "spec", "stopped", 1);
}

/* It may have ended since it was looked at: then the refusal means nothing. */
static int send_stop(struct sw_connection *conn, const char *name, const json_t *job, const char *why,
                     struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/jobs/%s", lepton_meta(job, "id"));
    sw_auto(json) json_t *body = stop_body(job, why), *now = NULL;
    struct sw_error refusal = { 0 };
    int sent = sw_cloud_call(conn, "PATCH", path, body, NULL, &refusal);

    if (sent < 0 && refusal.code == SW_E_REFUSED) {
        json_object_del(body, "metadata");
        refusal = (struct sw_error){ 0 };
        sent = sw_cloud_call(conn, "PATCH", path, body, NULL, &refusal);
    }
    if (sent == 0)
        return 0;
    now = refusal.code == SW_E_CONFLICT ? get(conn, name, NULL) : NULL;
    return is_over(now) ? 0 : sw_pass(err, &refusal);
}

static int stop(struct sw_connection *conn, const char *name, const char *why, struct sw_error *err)
{
    sw_auto(json) json_t *job = get(conn, name, err);
    const char *id = lepton_label(job, SW_MARK_ID);

    if (!job)
        return -1;
    if (is_over(job))
        return 0;
    return sw_cloud_note_write(conn, id, attempt_of(job), "asked", why, err) < 0
               ? -1 : send_stop(conn, name, job, why, err);
}

static const struct sw_jobs_api api = { name_of, list, get, lepton_read, stop, detail };

int lepton_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                   struct sw_error *err)
{
    lepton_of(conn)->explained = 0;
    if (sw_jobs_observe(&api, conn, jobs, count, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        lepton_suggest(&jobs[i], sw_now_ms());
    return 0;
}

void lepton_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    sw_jobs_cancel(&api, conn, jobs, count, deadline_ms);
}

/* A job that cannot start is stopped, where its file says so: then it has failed for that reason, and
 * `retry:` begins its next attempt, away from the node. */
void lepton_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    sw_jobs_reconcile(&api, conn, jobs, count);
    for (size_t i = 0; i < count; i++) {
        struct lepton_job_options options = lepton_job_options(json_object_get(jobs[i].job.plan, "options"));
        const char *why = lepton_stuck_reason(&jobs[i], options.stuck_after_ms, sw_now_ms());

        if (why && options.stuck == LEPTON_RESUBMIT && lepton_is_still_stuck(conn, &jobs[i]))
            stop(conn, name_of(jobs[i].job.id, jobs[i].job.attempt).text, why, NULL);
    }
}

/* ---- after the end -------------------------------------------------------------------------- */

void lepton_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_jobs_finalize(&sw_platform_lepton, conn, jobs, count, lepton_delete_secrets);
}

static int delete_job(struct sw_connection *conn, const json_t *job, struct sw_error *err)
{
    sw_autofree char *start = sw_rest_path("/jobs/%s", lepton_meta(job, "id") ? lepton_meta(job, "id") : "");
    sw_autofree char *path = sw_format("%s?job_query_mode=" LEPTON_ALL_JOBS, start);

    return sw_cloud_delete(conn, path, err);
}

static json_t *attempts_of(struct sw_connection *conn, const char *id, struct sw_error *err)
{
    sw_autofree char *selector = sw_format(SW_MARK_ID "=%s", id);

    return list_jobs(conn, selector, NULL, true, keep, err);
}

static int cleanup_one(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(json) json_t *attempts = attempts_of(conn, job->id, err);
    const char *name;
    json_t *each;

    if (!attempts)
        return -1;
    json_object_foreach(attempts, name, each)
        if (delete_job(conn, each, err) < 0)
            return -1;
    if (sw_got_secrets(job->plan) && lepton_delete_secrets(conn, job->id, 0, err) < 0)
        return -1;
    return sw_cloud_forget(conn, job->id, err);
}

/* Results on a mount stay: no route leads there. */
void lepton_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, bool keep_results,
                    int64_t deadline_ms)
{
    (void)keep_results, (void)deadline_ms;
    for (size_t i = 0; i < count; i++)
        jobs[i].result = cleanup_one(conn, jobs[i].job, &jobs[i].err);
}

/* ---- for people and for diagnosis ----------------------------------------------------------- */

json_t *lepton_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(json) json_t *found = lepton_find_job(conn, job->id, job->attempt, err);
    sw_auto(json) json_t *all = found ? lepton_job_part(conn, found, LEPTON_REPLICAS, err) : NULL;
    json_t *rows = all ? json_array() : NULL;
    enum sw_state state = lepton_state(sw_at_text(found, "status.state"), NULL);
    int count = (int)sw_json_int(json_object_get(found, "spec"), "completions", 1);

    for (int i = 0; rows && i < count; i++) {
        const json_t *replica = lepton_replica(all, lepton_meta(found, "id"), i);
        const json_t *issue = sw_at(replica, "status.readiness_issue");

        if (replica)
            json_array_append_new(rows, sw_json_object(
                SW_INT("rank", i), SW_STR_OPT("node", sw_at_text(replica, "status.node.name")),
                SW_STR("status", sw_state_name(issue && state == SW_RUNNING ? SW_PENDING : state)),
                SW_STR_OPT("reason", sw_json_str(issue, "reason")),
                SW_STR_OPT("message", sw_json_str(issue, "message")),
                SW_STR_OPT("replica", lepton_meta(replica, "id"))));
    }
    return rows;
}

/* What Lepton's own analysis says becomes facts that our rules know; a workspace without it has none. */
static void add_analysis(struct sw_connection *conn, const struct sw_jobref *job, json_t *facts)
{
    static const struct { const char *words, *fact; } events[] = {
        { "preempt", "preempt_notice" }, { "evict", "preempt_notice" }, { "xid", "gpu_lost" },
        { "gpu", "gpu_lost" }, { "ecc", "ecc_uncorrected" }, { "disk", "disk_full" }, { "", "node_down" },
    };
    sw_auto(json) json_t *found = lepton_find_job(conn, job->id, job->attempt, NULL);
    sw_auto(json) json_t *analysis = found ? lepton_job_part(conn, found, "failure-analysis", NULL) : NULL;
    bool infra = sw_text_same(sw_json_str(analysis, "err_class"), SW_CLASS_INFRA);
    const json_t *node_events = json_object_get(analysis, "job_failure_by_node_event");
    json_t *event;
    size_t i;

    json_array_foreach(node_events, i, event) {
        const char *name = sw_json_str(event, "node_event_name"), *message = sw_json_str(event, "message");

        for (size_t k = 0; name && infra && k < SW_COUNT(events); k++)
            if (strcasestr(name, events[k].words)) {
                sw_autofree char *text = sw_format("%s%s%s", name, sw_text_empty(message) ? "" : ": ",
                                                   message ? message : "");

                json_object_set_new(facts, events[k].fact, sw_json_text(text));
                break;
            }
    }
    if (infra && json_array_size(node_events) == 0)
        json_object_set_new(facts, "node_down", sw_json_text("Lepton reports that its own machines "
                                                             "failed"));
}

void lepton_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                     struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;                   /* each call has its own */
    sw_jobs_evidence(&sw_platform_lepton, conn, seen, out, count);
    for (size_t i = 0; i < count; i++)
        add_analysis(conn, &seen[i]->job, out[i].facts);
}

/* ---- jobs that are found by their labels ---------------------------------------------------- */

/* One that was just made may be missing from lists for a moment. */
static json_t *settled_attempts_of(struct sw_connection *conn, const char *id, struct sw_error *err)
{
    json_t *attempts = attempts_of(conn, id, err);

    if (!attempts || json_object_size(attempts) > 0)
        return attempts;
    json_decref(attempts);
    sw_sleep_ms(LEPTON_SETTLES_MS);
    return attempts_of(conn, id, err);
}

int lepton_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *out,
                 struct sw_error *err)
{
    sw_auto(json) json_t *attempts = settled_attempts_of(conn, id, err);
    const json_t *job = sw_jobs_newest(&api, attempts, id);
    const json_t *variables = sw_at(job, "spec.envs");
    const char *text = sw_named(variables, SW_PLAN_VARIABLE);

    if (!job)
        return attempts ? sw_fail(err, SW_E_NOT_FOUND, "the workspace has no job '%s'", id) : -1;
    sw_jobs_receipt(out, lepton_meta(job, "id"), sw_named(variables, LEPTON_SIGNATURE));
    if (plan)
        *plan = text ? sw_json_parse(text, strlen(text), "plan", NULL) : NULL;
    return 0;
}

static int visit(struct sw_connection *conn, sw_marked_take *take, void *context, struct sw_error *err)
{
    sw_auto(json) json_t *all = list_jobs(conn, SW_MARK_ID, NULL, true, keep_slim, err);
    const char *name;
    json_t *job;

    json_object_foreach(all, name, job) {
        struct sw_observation seen = { .job = { .id = lepton_label(job, SW_MARK_ID) } };

        lepton_read(job, &seen);
        take(context, &(struct sw_marked){
            .id = seen.job.id, .where = lepton_meta(job, "id"), .attempt = attempt_of(job),
            .store = lepton_label(job, SW_MARK_STORE), .uid = lepton_label(job, SW_MARK_UID),
            .owner = lepton_label(job, SW_MARK_OWNER), .state = seen.state, .over = is_over(job),
            .created_ms = lepton_time_ms(json_object_get(job, "metadata"), "created_at"), .answer = job });
        sw_observation_done(&seen);
    }
    return all ? 0 : -1;
}

static const struct sw_marked_api marked = { "job", visit, delete_job, lepton_secret_orphans };

SW_MARKED_SLOTS(lepton, &marked)
