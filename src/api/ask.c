/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - a few lines of shell beside a running job, and what they print.
 *
 * For one job, when a person asks about it: lists never do.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/file.h"

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

/* Where the command got our descriptors themselves, its answer is there and passed no stream. */
static void take_printed(int printed, struct sw_buf *answer)
{
    char piece[4096];
    ssize_t n;

    for (off_t at = 0;
         answer->length < ANSWER_MAX && (n = pread(printed, piece, sizeof piece, at)) > 0; at += n)
        take(answer, 1, piece, (size_t)n);
}

/* An input that is open and stays silent: without any, some streams wait for the end of the command. */
int api_ask(const struct api_job *job, const char *script, struct sw_buf *answer, struct sw_error *err)
{
    sw_autofd int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    sw_autofd int printed = memfd_create("answer", MFD_CLOEXEC);
    int silent[2];
    struct sw_exec what = { .replica = 0, .endless = true, .limit_ms = PATIENCE_MS };
    struct sw_stream *stream;
    int result;

    if (nothing < 0 || printed < 0 || pipe2(silent, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot create a pipe");
    what.argv = (char *const[]){ (char *)"sh", (char *)"-c", (char *)script, NULL };
    what.fds[0] = silent[0];
    what.fds[1] = printed;
    what.fds[2] = nothing;
    result = job->platform->exec_open(job->conn, &job->ref, &what, &stream, err);
    if (result == 0) {
        result = hear(stream, answer, err);
        take_printed(printed, answer);
        stream->ops->close(stream);
    }
    close(silent[0]);
    close(silent[1]);
    return result;
}
