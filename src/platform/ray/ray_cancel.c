/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_cancel.c - jobs are stopped, also those that wait for resources.
 *
 * `stop` answers true when it has asked the supervisor of a job. The supervisor of a job that waits for
 * resources does not run yet: it would be stopped when it gets them, and no route of the dashboard ends it
 * before. So such jobs are stopped inside the cluster: a submission without resources, which the head runs
 * at once, takes back the supervisors that do not run yet. Ray then says FAILED, "killed by `ray.kill`".
 *
 * In any case a cancel is done when the job is over or gone, never when it was asked for.
 */
#include "platform/ray/ray_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"

/* A job that has its resources begins, and then it ends itself: it is left the time to do so. */
enum { BEGINS_MS = 3000, PAUSE_MS = 300 };

/* Names follow. One whose supervisor runs meanwhile has been asked to stop, and keeps its grace. */
#define TAKE_BACK                                                                                            \
    "python -c \"import sys, ray; from ray.util.state import list_actors; ray.init(log_to_driver=False); "   \
    "waits = {a.name for a in list_actors(filters=[('class_name', '=', 'JobSupervisor'), "                   \
    "('state', '=', 'PENDING_CREATION')], limit=10000)}; [ray.kill(ray.get_actor(name, "                     \
    "namespace='SUPERVISOR_ACTOR_RAY_NAMESPACE')) for name in ('_ray_internal_job_actor_' + job "            \
    "for job in sys.argv[1:]) if name in waits]\""

/* Of one that is over or gone nothing is wanted. */
int ray_stop(struct sw_connection *conn, const char *name, const char *why, struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/api/jobs/%s/stop", name);
    struct sw_error unseen = { 0 };

    (void)why;
    if (ray_call(conn, "POST", path, NULL, NULL, &unseen) == 0 || unseen.code == SW_E_NOT_FOUND)
        return 0;
    return sw_pass(err, &unseen);
}

/* Those of `jobs` that have no driver yet, by their submissions; NULL: that is not known. */
static json_t *without_driver(struct sw_connection *conn, const struct sw_batch_job *jobs, size_t count)
{
    sw_auto(json) json_t *all = ray_list(conn, NULL), *found = all ? json_object() : NULL;

    for (size_t i = 0; all && i < count; i++) {
        const struct sw_jobs_name name = ray_name(jobs[i].job->id, jobs[i].job->attempt);
        json_t *job = json_object_get(all, name.text);

        if (ray_state(sw_json_str(job, "status")) == SW_PENDING)
            json_object_set(found, name.text, job);
    }
    return sw_take(found);
}

static void take_back(struct sw_connection *conn, const json_t *waiting)
{
    const char *first = json_object_iter_key(json_object_iter((json_t *)waiting)), *name;
    sw_autofree char *helper = sw_format("%s-stop", first);
    sw_auto(sw_buf) struct sw_buf command = SW_BUF_INIT;
    json_t *job;

    sw_buf_add(&command, TAKE_BACK);
    json_object_foreach((json_t *)waiting, name, job)
        sw_buf_addf(&command, " %s", name);
    ray_forget_beside(conn, helper);             /* of a cancel before this one */
    ray_run_beside(conn, &(struct ray_beside){ .name = helper, .job = first,
                                               .command = sw_buf_text(&command) }, NULL);
}

/* What does not work here leaves a job that is stopped when it begins. */
static void stop_waiting(struct sw_connection *conn, const struct sw_batch_job *jobs, size_t count)
{
    int64_t until_ms = sw_monotonic_ms() + BEGINS_MS;
    sw_auto(json) json_t *waiting = without_driver(conn, jobs, count);
    const char *name;
    json_t *job;

    json_object_foreach(waiting, name, job)
        ray_stop(conn, name, NULL, NULL);
    while (json_object_size(waiting) > 0 && sw_monotonic_ms() < until_ms) {
        sw_sleep_ms(PAUSE_MS);
        json_decref(waiting);
        waiting = without_driver(conn, jobs, count);
    }
    if (json_object_size(waiting) > 0)
        take_back(conn, waiting);
}

void ray_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    stop_waiting(conn, jobs, count);
    sw_jobs_cancel(&ray_jobs_api, conn, jobs, count, deadline_ms);
}
