/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_finalize.c - jobs that are over: the end of their logs is kept, and with `auto_remove` their
 * containers are taken away.
 *
 * That is not done by the engine: its own AutoRemove takes the exit code, the log and results in the
 * container with it, at the very moment somebody wants to know them. Here everything is home first: it is
 * written down how the job ended (the caller did), its logs are whole in their spools, its results on this
 * machine. What cannot be brought home keeps its container; `rm` takes it like any other.
 */
#include "platform/docker/docker_observe.h"

#include "platform/docker/docker_events.h"
#include "platform/kit/log.h"

static bool removes_itself(const struct sw_jobref *job)
{
    return docker_job_options(json_object_get(job->plan, "options")).auto_remove;
}

/* To ask for the size of a log that grows no more is to have all of it. */
static int keep_log(struct sw_connection *conn, const struct sw_jobref *job, const json_t *container,
                    struct sw_error *err)
{
    struct sw_jobref attempt = *job;
    int64_t size;

    attempt.attempt = docker_label_number(container, LABEL_ATTEMPT, 1);
    attempt.finished = true;
    return sw_log_size(&(struct sw_log){ &sw_platform_docker, conn, &attempt,
                                         docker_label_number(container, LABEL_RANK, 0) }, &size, err);
}

static int keep_results(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *folder = docker_results_dir(conn, job, err);

    return folder ? 0 : -1;
}

static bool all_over(const json_t *list)
{
    json_t *container;
    size_t i;

    json_array_foreach((json_t *)list, i, container)
        if (!docker_is_over(sw_json_str(container, "State")))
            return false;
    return true;
}

static int remove_containers(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    sw_auto(json) json_t *list = NULL;
    json_t *container;
    size_t i;

    if (docker_borrow(conn, &lent, err) < 0 || !(list = docker_list_now(conn, lent.api, job->id, err)))
        return -1;
    if (json_array_size(list) == 0 || !all_over(list))
        return 0;
    json_array_foreach(list, i, container)
        if (keep_log(conn, job, container, err) < 0)
            return -1;
    if (keep_results(conn, job, err) < 0)
        return -1;
    json_array_foreach(list, i, container)
        if (docker_delete(lent.api, sw_json_str(container, "Id"), false, err) < 0)
            return -1;
    return 0;
}

void docker_finalize(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_log_keep_ends(&sw_platform_docker, conn, jobs, count);
    for (size_t i = 0; i < count; i++)
        if (removes_itself(jobs[i]))
            remove_containers(conn, jobs[i], NULL);
}
