/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use.c - CPU time, memory and GPUs that a running job uses.
 *
 * A platform that measures its jobs has the answer in what it was last seen as (local). On all others a few
 * lines of shell (use.sh) run beside the job and read what the kernel counts for its container or group: one
 * question for one job, asked by a person; lists never ask it.
 */
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/file.h"
#include "core/use.h"

static const char *const use_text[] = {
#include "api/use.sh.inc"
    NULL
};

enum { ANSWER_MAX = 64 * 1024, PATIENCE_MS = 15000, STEP_MS = 200 };

static int take(void *context, int which, const char *bytes, size_t length)
{
    struct sw_buf *answer = context;
    size_t room = ANSWER_MAX - answer->length;

    if (which == 1)
        sw_buf_add_bytes(answer, bytes, length < room ? length : room);
    return which == 1 && length > room;
}

static int hear(struct sw_stream *stream, struct sw_buf *answer, struct sw_error *err)
{
    int64_t deadline_ms = sw_monotonic_ms() + PATIENCE_MS;

    for (;;) {
        int ended = stream->ops->read(stream, take, answer);
        struct pollfd wait = { .fd = stream->fd, .events = POLLIN | (stream->unsent ? POLLOUT : 0) };

        if (ended)
            return ended > 0 ? 0 : sw_fail(err, SW_E_REFUSED, "its answer is too long");
        if (sw_monotonic_ms() > deadline_ms)
            return sw_fail(err, SW_E_UNREACHABLE, "it did not answer within %d seconds", PATIENCE_MS / 1000);
        poll(&wait, 1, stream->wake_ms && stream->wake_ms < STEP_MS ? stream->wake_ms : STEP_MS);
    }
}

/* An input that is open and stays silent: without any, some streams wait for the end of the command. */
static json_t *ask(const struct api_job *job, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT, answer = SW_BUF_INIT;
    sw_autofd int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    int silent[2];
    struct sw_exec what = { .replica = 0, .endless = true, .limit_ms = PATIENCE_MS };
    struct sw_stream *stream;
    int result;

    for (size_t i = 0; use_text[i]; i++)
        sw_buf_add(&script, use_text[i]);
    if (nothing < 0 || pipe2(silent, O_CLOEXEC) < 0)
        return sw_null(sw_fail_errno(err, SW_E_IO, "cannot create a pipe"));
    what.argv = (char *const[]){ (char *)"sh", (char *)"-c", script.data, NULL };
    what.fds[0] = silent[0];
    what.fds[1] = what.fds[2] = nothing;
    result = job->platform->exec_open(job->conn, &job->ref, &what, &stream, err);
    if (result == 0) {
        result = hear(stream, &answer, err);
        stream->ops->close(stream);
    }
    close(silent[0]);
    close(silent[1]);
    return result < 0 ? NULL : sw_use_read(sw_buf_text(&answer));
}

static json_t *known(const struct api_job *job)
{
    const json_t *live = json_object_get(job->row.progress, "live");

    return live ? json_copy((json_t *)live) : NULL;
}

/* On average since it started: one look is enough for it. */
static json_t *average(const json_t *use, const struct sw_job *row)
{
    const json_t *spent = json_object_get(use, "cpu_seconds");
    int64_t ran_ms = sw_json_int(use, "at_ms", 0) - row->started_ms;

    return json_is_number(spent) && row->started_ms > 0 && ran_ms > 0
               ? json_real(json_number_value(spent) * 1000 / (double)ran_ms) : json_null();
}

char *sw_use(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    json_t *use;

    if (api_job_running(session, id, 0, &job, err) < 0)
        return NULL;
    use = known(&job);
    if (!use && !job.platform->exec_open)
        return sw_null(sw_fail(err, SW_E_UNSUPPORTED, "what a job uses is not known on %s",
                               job.platform->name));
    if (!use)
        use = ask(&job, err);
    if (!use)
        return sw_null(sw_wrap(err, "cannot ask job '%s' what it uses", id));
    if (!json_object_get(use, "at_ms"))
        json_object_set_new(use, "at_ms", json_integer(sw_now_ms()));
    json_object_set_new(use, "cpus", average(use, &job.row));
    json_object_set_new(use, "job", json_string(id));
    return api_document("use", use);
}
