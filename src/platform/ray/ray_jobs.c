/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_jobs.c - the submissions that are there: one list for all of them, cleanup, and those that are found by
 * their metadata. How they are stopped is in ray_cancel.c.
 */
#include "platform/ray/ray_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"
#include "platform/kit/sending.h"

enum { TAIL_LINES = 30, TAIL_MAX = 256 * 1024, SETTLE_MS = 3000 };

const char *ray_mark(const json_t *job, const char *key)
{
    return sw_json_str(json_object_get(job, "metadata"), key);
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* A driver that was not submitted (ray.init() elsewhere) has no submission id. */
static int keep(void *jobs, json_t *job)
{
    const char *id = sw_json_str(job, "submission_id");

    return id && sw_text_same(sw_json_str(job, "type"), "SUBMISSION") ? json_object_set(jobs, id, job) : 0;
}

json_t *ray_list(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *answer = NULL, *jobs = json_object();
    json_t *job;
    size_t i;

    if (ray_call(conn, NULL, "/api/jobs/", NULL, &answer, err) < 0)
        return NULL;
    json_array_foreach(answer, i, job)
        keep(jobs, job);
    return sw_take(jobs);
}

static json_t *list(struct sw_connection *conn, const struct sw_observation *wanted, size_t count,
                    struct sw_error *err)
{
    sw_auto(json) json_t *all = ray_list(conn, err), *jobs = all && wanted ? json_object() : NULL;

    if (!jobs)
        return sw_take(all);
    for (size_t i = 0; i < count; i++) {
        const char *name = ray_name(wanted[i].job.id, wanted[i].job.attempt).text;
        json_t *job = json_object_get(all, name);

        if (job && ray_wants_secrets(job, all, &wanted[i].job))
            json_object_set_new(job, "wants_secrets", json_true());
        if (job)
            json_object_set(jobs, name, job);
    }
    ray_explain_waiting(conn, jobs);
    return sw_take(jobs);
}

json_t *ray_get(struct sw_connection *conn, const char *name, struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/api/jobs/%s", name);
    json_t *job = NULL;

    return ray_call(conn, NULL, path, NULL, &job, err) < 0 ? NULL : job;
}

/* ---- more than the list says ---------------------------------------------------------------- */

static int take_tail(void *context, const struct sw_http_reply *so_far, const char *bytes, size_t length)
{
    struct sw_buf *tail = context;

    (void)so_far;
    if (tail->length + length <= TAIL_MAX)
        sw_buf_add_bytes(tail, bytes, length);
    return 0;
}

char *ray_log_end(struct sw_connection *conn, const json_t *job)
{
    const char *node = sw_json_str(job, "driver_node_id"), *id = sw_json_str(job, "submission_id");
    sw_autofree char *path = sw_rest_path("/api/v0/logs/file?node_id=%s&filename=job-driver-%s.log&lines=%d",
                                          node ? node : "", id, TAIL_LINES);
    sw_auto(sw_buf) struct sw_buf tail = SW_BUF_INIT;

    if (!node || ray_ask(conn, &(struct sw_rest_call){ .path = path, .sink = take_tail, .sink_context = &tail,
                                                       .repeatable = true }, NULL, NULL) < 0)
        return NULL;
    return tail.length ? sw_text_utf8(tail.data, tail.length) : NULL;
}

/* With the runner's report; a failed job has it in its message. */
static void add_tail(struct sw_connection *conn, json_t *job)
{
    sw_autofree char *tail = ray_log_end(conn, job);

    if (tail)
        json_object_set_new(job, "tail", sw_json_text(tail));
}

static void detail(struct sw_connection *conn, const struct sw_jobref *ref, json_t *job)
{
    struct ray_job_options options = ray_job_options(json_object_get(ref->plan, "options"));

    if (ray_is_stuck(job, options.start_limit_ms, sw_now_ms()))
        json_object_set_new(job, "stuck", json_true());
    if (ray_state(sw_json_str(job, "status")) == SW_COMPLETE)
        add_tail(conn, job);
}

/* ---- the state of each ---------------------------------------------------------------------- */

const struct sw_jobs_api ray_jobs_api = { ray_name, list, ray_get, ray_read, ray_stop, detail };

int ray_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count, struct sw_error *err)
{
    return sw_jobs_observe(&ray_jobs_api, conn, jobs, count, err);
}

/* An attempt that is given up because it never began gets a stop as well: should its supervisor come to
 * life after all, the runner finds that its time to begin is over. */
void ray_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].presence == SW_PRESENT && jobs[i].state == SW_ERROR &&
            sw_text_same(jobs[i].reason, SW_REASON_LOST))
            ray_stop(conn, ray_name(jobs[i].job.id, jobs[i].job.attempt).text, SW_REASON_LOST, NULL);
}

/* ---- a command beside a job ----------------------------------------------------------------- */

static int delete_named(struct sw_connection *conn, const char *name, struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/api/jobs/%s", name);
    struct sw_error why = { 0 };

    return ray_call(conn, "DELETE", path, NULL, NULL, &why) == 0 || why.code == SW_E_NOT_FOUND
               ? 0 : sw_pass(err, &why);
}

int ray_run_beside(struct sw_connection *conn, const struct ray_beside *beside, struct sw_error *err)
{
    sw_autofree char *node = beside->node ? sw_format("node:%s", beside->node) : NULL;
    sw_autofree char *uri = beside->package ? sw_format("gcs://%s", beside->package) : NULL;
    sw_auto(json) json_t *body = sw_json_object(
        SW_STR("submission_id", beside->name), SW_STR("entrypoint", beside->command),
        SW_SUB("entrypoint_resources", node ? json_pack("{s:f}", node, 0.001) : NULL),
        SW_SUB("runtime_env", uri ? json_pack("{s:s}", "working_dir", uri) : NULL),
        SW_SUB("metadata", json_pack("{s:s}", "slipway.beside", beside->job)));
    sw_auto(json) json_t *found = NULL;
    struct sw_error why = { 0 };

    if (ray_ask(conn, &(struct sw_rest_call){ .method = "POST", .path = "/api/jobs/", .json = body }, NULL,
                &why) == 0 || (found = ray_get(conn, beside->name, NULL)))
        return 0;
    return sw_pass(err, &why);
}

void ray_forget_beside(struct sw_connection *conn, const char *name)
{
    delete_named(conn, name, NULL);
}

/* ---- after the end -------------------------------------------------------------------------- */

void ray_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_log_keep_ends(&sw_platform_ray, conn, jobs, count);
}

static int delete_job(struct sw_connection *conn, const json_t *job, struct sw_error *err)
{
    return delete_named(conn, sw_json_str(job, "submission_id"), err);
}

static bool belongs_to(const json_t *job, const char *id)
{
    const char *beside = ray_mark(job, "slipway.beside");
    size_t length = strlen(id);

    return sw_text_same(ray_mark(job, SW_MARK_ID), id) ||
           (beside && strncmp(beside, id, length) == 0 &&
            (!beside[length] || sw_text_starts(beside + length, "-a")));
}

/* Ray checks each job once a second. A check that comes when the record is gone takes the next job with this
 * id for the old one, and ends it. */
static void wait_for_last_look(const struct sw_batch_job *jobs, size_t count, const json_t *all)
{
    int64_t now_ms = sw_now_ms(), ended_ms = 0, left_ms;
    const char *name;
    json_t *each;

    for (size_t i = 0; i < count; i++)
        json_object_foreach((json_t *)all, name, each)
            if (belongs_to(each, jobs[i].job->id) && sw_json_int(each, "end_time", 0) > ended_ms)
                ended_ms = sw_json_int(each, "end_time", 0);
    left_ms = ended_ms + SETTLE_MS - now_ms;
    if (left_ms > 0)                     /* the cluster's clock may be another */
        sw_sleep_ms(left_ms < SETTLE_MS ? left_ms : SETTLE_MS);
}

/* What a node has of it stays there: no route of the dashboard leads to files. */
static int cleanup_one(struct sw_connection *conn, const struct sw_jobref *job, const json_t *all,
                       struct sw_error *err)
{
    const char *name;
    json_t *each;

    json_object_foreach((json_t *)all, name, each)
        if (belongs_to(each, job->id) && ray_is_over(each) && delete_named(conn, name, err) < 0)
            return -1;
    return sw_cloud_forget(conn, job->id, err);
}

void ray_cleanup(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, bool keep_results,
                 int64_t deadline_ms)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *all = ray_list(conn, &why);

    (void)keep_results, (void)deadline_ms;
    if (!all)
        sw_batch_fail(jobs, count, &why);
    else
        wait_for_last_look(jobs, count, all);
    for (size_t i = 0; all && i < count; i++)
        jobs[i].result = cleanup_one(conn, jobs[i].job, all, &jobs[i].err);
}

void ray_evidence(struct sw_connection *conn, const struct sw_observation *const *seen,
                  struct sw_evidence *out, size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;                   /* each call has its own */
    sw_jobs_evidence(&sw_platform_ray, conn, seen, out, count);
}

/* ---- jobs that are found by their metadata -------------------------------------------------- */

int ray_adopt(struct sw_connection *conn, const char *id, json_t **plan, struct sw_submission *out,
              struct sw_error *err)
{
    sw_auto(json) json_t *all = ray_list(conn, err);
    const json_t *job = sw_jobs_newest(&ray_jobs_api, all, id);
    const char *text = ray_mark(job, RAY_MARK_PLAN);

    if (!job || !ray_mark(job, SW_MARK_ID))
        return all ? sw_fail(err, SW_E_NOT_FOUND, "the cluster has no job '%s'", id) : -1;
    sw_jobs_receipt(out, sw_json_str(job, "submission_id"), ray_mark(job, SW_MARK_SIGNATURE));
    if (plan)
        *plan = text ? sw_json_parse(text, strlen(text), "plan", NULL) : NULL;
    return 0;
}

static int visit(struct sw_connection *conn, sw_marked_take *take, void *context, struct sw_error *err)
{
    sw_auto(json) json_t *all = ray_list(conn, err);
    const char *name;
    json_t *job;

    json_object_foreach(all, name, job) {
        const char *id = ray_mark(job, SW_MARK_ID), *attempt = ray_mark(job, SW_MARK_ATTEMPT);

        if (id)
            take(context, &(struct sw_marked){
                .id = id, .where = name, .attempt = attempt ? atoi(attempt) : 1,
                .store = ray_mark(job, SW_MARK_STORE), .uid = ray_mark(job, SW_MARK_UID),
                .owner = ray_mark(job, SW_MARK_OWNER), .state = ray_state(sw_json_str(job, "status")),
                .over = ray_is_over(job), .created_ms = sw_json_int(job, "start_time", 0), .answer = job });
    }
    return all ? 0 : -1;
}

static const struct sw_marked_api marked = { "job", visit, delete_job, NULL };

SW_MARKED_SLOTS(ray, &marked)
