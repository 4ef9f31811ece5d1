/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.c - `slipway-runner relay --report FILE JOB COMMAND...`: be the container in which a job that runs
 * elsewhere is seen.
 *
 * COMMAND prints the log of a runner that is in another container (Ray's driver, on the head of its cluster).
 * That runner's last report, in the log, becomes ours: the file, and the exit code. So a cluster keeps log,
 * report and exit code in one pod, also when the pods that did the work are gone. Behind the report nothing
 * is passed on: what the command says then is about itself.
 *
 * A TERM ends the command only while nothing was printed: a job that began is stopped by others, and the
 * end of its log is worth waiting for.
 */
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/report.h"

enum { LINE_MAX_BYTES = SW_REPORT_MAX + 1024, BEHIND_MS = 5000, PIECE = 65536 };

struct relay {
    const char *job_id;
    pid_t child;
    int from;                        /* the command's output */
    struct sw_buf line;              /* what has come of the line that goes on, but not all of a long one */
    json_t *report;                  /* the last one; NULL: it has not come */
    bool began;                      /* something was printed */
};

static volatile sig_atomic_t stops;

static void note_stop(int number)
{
    (void)number;
    stops = 1;
}

static int start(struct relay *relay, char *const argv[], struct sw_error *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot start '%s'", argv[0]);
    relay->child = fork();
    if (relay->child < 0) {
        close(ends[0]);
        close(ends[1]);
        return sw_fail_errno(err, SW_E_IO, "cannot start '%s'", argv[0]);
    }
    if (relay->child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execvp(argv[0], argv);
        _exit(errno == ENOENT ? RUNNER_NOT_FOUND : RUNNER_NOT_EXECUTABLE);
    }
    close(ends[1]);
    relay->from = ends[0];
    return 0;
}

/* A command may end without a newline: then the report follows its last word. */
static void read_line(struct relay *relay)
{
    const char *text = sw_buf_text(&relay->line), *at = strstr(text, SW_REPORT_START);
    size_t start = strlen(SW_REPORT_START);
    sw_auto(json) json_t *report = at ? sw_report_parse(at + start, strlen(at + start)) : NULL;

    if (report && sw_report_is_last(report) && sw_text_same(sw_json_str(report, "job_id"), relay->job_id))
        relay->report = sw_take(report);
    sw_buf_clear(&relay->line);
}

/* How many of these bytes are the job's: all of them, or those up to the end of the report. */
static size_t take(struct relay *relay, const char *bytes, size_t length)
{
    size_t used = 0;

    while (used < length && !relay->report) {
        const char *end = memchr(bytes + used, '\n', length - used);
        size_t part = end ? (size_t)(end - bytes) - used : length - used;
        size_t room = relay->line.length < LINE_MAX_BYTES ? LINE_MAX_BYTES - relay->line.length : 0;

        sw_buf_add_bytes(&relay->line, bytes + used, part < room ? part : room);
        used += part + (end ? 1 : 0);
        if (end)
            read_line(relay);
    }
    return used;
}

/* Until it is over; behind the report only for a moment. */
static void pass_on(struct relay *relay)
{
    sw_autofree char *bytes = sw_alloc(PIECE);
    int64_t until_ms = 0;

    for (;;) {
        struct pollfd one = { .fd = relay->from, .events = POLLIN };
        int64_t left_ms = until_ms ? until_ms - sw_monotonic_ms() : 1000;
        ssize_t count;

        if (left_ms <= 0)
            return;
        if (stops && !relay->began)
            kill(relay->child, SIGTERM);
        if (poll(&one, 1, (int)left_ms) <= 0)
            continue;
        count = read(relay->from, bytes, PIECE);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return;
        if (relay->report)
            continue;
        relay->began = true;
        sw_write_all(STDOUT_FILENO, bytes, take(relay, bytes, (size_t)count));
        if (relay->report)
            until_ms = sw_monotonic_ms() + BEHIND_MS;
    }
}

/* The exit code of the command itself: of use only where there is no report. */
static int end(struct relay *relay)
{
    int status = 0;

    close(relay->from);
    if (relay->report)
        kill(relay->child, SIGTERM);
    while (waitpid(relay->child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The job is gone without a last word: its node, or the process that brought its log. */
static json_t *lost_report(const char *job_id, int code)
{
    sw_autofree char *message = sw_format("the driver left no report (its log ended with code %d)", code);

    return sw_json_object(SW_STR("job_id", job_id), SW_STR("phase", "lost"), SW_INT("exit_code", RUNNER_IO),
                          SW_STR("message", stops ? "it was stopped before it began" : message),
                          SW_SUB("stopped", stops ? json_true() : NULL));
}

int runner_relay(const char *report_file, const char *job_id, char *const argv[])
{
    struct sigaction noted = { .sa_handler = note_stop };
    struct relay relay = { .job_id = job_id, .from = -1, .line = SW_BUF_INIT };
    struct sw_error err = { 0 };
    int code;

    sigaction(SIGTERM, &noted, NULL);
    sigaction(SIGINT, &noted, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (start(&relay, argv, &err) < 0) {
        runner_log("%s", err.message);
        return RUNNER_IO;
    }
    pass_on(&relay);
    code = end(&relay);
    if (!relay.report) {
        relay.report = lost_report(job_id, code);
        code = RUNNER_IO;
    } else {
        code = (int)sw_json_int(relay.report, "exit_code", RUNNER_IO);
    }
    runner_leave_report(report_file, relay.report);
    json_decref(relay.report);
    sw_buf_done(&relay.line);
    return code;
}
