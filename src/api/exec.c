/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.c - run a command beside a job, on the terminal of the caller (exec_pump.c).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/clock.h"

enum { START_MS = 10000, LOOK_EVERY_MS = 50 };

/* A job that was submitted a moment ago is about to run: wait for it, but for no queue. */
static int await_start(struct sw_session *session, const char *id, struct sw_error *err)
{
    for (int64_t until = sw_monotonic_ms() + START_MS;; sw_sleep_ms(LOOK_EVERY_MS)) {
        sw_auto(sw_job) struct sw_job row = { 0 };

        if (api_refresh(session, &id, 1, NULL, err) < 0 ||
            sw_store_get(session->store, id, SW_COLUMNS_LIST, &row, err) < 0)
            return -1;
        if (row.phase == SW_PHASE_OVER || row.state == SW_RUNNING || sw_monotonic_ms() >= until ||
            sw_now_ms() - row.submitted_ms > START_MS)
            return 0;
    }
}

int api_job_running(struct sw_session *session, const char *id, int replica, struct api_job *out,
                    struct sw_error *err)
{
    if (await_start(session, id, err) < 0 ||
        api_job_reach(session, id, out, err) < 0)
        return -1;
    if (out->row.state != SW_RUNNING) {
        sw_fail(err, SW_E_CONFLICT, "job '%s' is %s, not Running", id, sw_state_name(out->row.state));
        return sw_hint(err, out->row.phase == SW_PHASE_OVER
                                ? "`slipway logs %s` shows what it printed"
                                : "`slipway why %s` explains what it is waiting for", id);
    }
    if (replica < 0 || replica >= api_replicas(&out->row))
        return sw_fail(err, SW_E_NOT_FOUND, "job '%s' has no rank %d", id, replica);
    return 0;
}

int sw_exec(struct sw_session *session, const char *id, int replica, int argc,
            const char *const *argv, int *exit_status, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    sw_autofree char **words = NULL;
    struct sw_exec what = { .replica = replica, .fds = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO },
                            .terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
                            .term = getenv("TERM") };
    struct sw_stream *stream;

    if (argc < 1)
        return sw_fail(err, SW_E_USAGE, "no command to run in job '%s'", id);
    if (api_job_running(session, id, replica, &job, err) < 0)
        return -1;
    if (!job.platform->exec_open)
        return sw_fail(err, SW_E_UNSUPPORTED, "running a command in a job is not available on %s",
                       job.platform->name);
    words = sw_alloc(((size_t)argc + 1) * sizeof *words);
    memcpy(words, argv, (size_t)argc * sizeof *words);
    what.argv = words;
    if (job.platform->exec_open(job.conn, &job.ref, &what, &stream, err) < 0)
        return -1;
    return api_exec_pump(stream, what.fds, exit_status, err);
}

int sw_check_terminal(struct sw_session *session, const struct sw_request *request,
                      struct sw_error *err)
{
    sw_auto(api_plan) struct api_plan plan = { 0 };

    if (api_need(session, err) < 0 || api_plan_prepare(session, request, &plan, err) < 0)
        return -1;
    if (plan.platform->terminals)
        return 0;
    return sw_fail(err, SW_E_UNSUPPORTED, "a job on %s cannot have a terminal", plan.platform->name);
}
