/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_exec.c - a command beside a running rank, as if it were started here: our input is its input,
 * what it prints comes here as it is printed, and its exit status is ours.
 *
 * When input and output are both a terminal it gets one, too, and ours is raw meanwhile: every key, Ctrl-C
 * included, is for the command, and a new size of the window reaches it. Otherwise input is passed on
 * to its end. Bytes wait in one direction without stopping the other, or `cat` with much input would
 * never end.
 */
#include "platform/docker/docker_job.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "net/http_stream.h"
#include "platform/docker/docker_terminal.h"

enum { PIECE = 32 * 1024, END_NOTED_MS = 5000, LOOK_EVERY_MS = 10 };

struct beside {                      /* one command */
    struct docker_api *api;
    struct sw_http_stream *stream;
    struct docker_terminal *terminal;    /* NULL: none on both sides */
    struct docker_frames frames;
    char *id;
    char input[PIECE];
    size_t waiting, sent;            /* bytes of `input`, and how many of them are on their way */
    bool reads;                      /* our input has more to come */
    bool over;
};

static int print(void *context, const struct docker_message *message)
{
    (void)context;
    return sw_write_all(message->stream == 2 ? STDERR_FILENO : STDOUT_FILENO, message->bytes,
                        message->length);
}

/* ---- making it ------------------------------------------------------------------------------- */

static char *make_exec(struct docker_api *api, const char *container, const char *job,
                       char *const argv[], bool terminal, bool input, struct sw_error *err)
{
    sw_autofree char *path = docker_path("/containers/", container, "/exec");
    sw_auto(json) json_t *words = json_array(), *body = NULL, *reply = NULL;
    sw_auto(json) json_t *inspected = docker_inspect(api, container, err);
    sw_autofree char *runner = inspected ? docker_runner_path(inspected) : NULL;

    if (!runner)
        return NULL;
    json_array_append_new(words, json_string(runner));           /* it sees what the job sees */
    json_array_append_new(words, json_string("beside"));
    json_array_append_new(words, json_sprintf("SLIPWAY_JOB_ID=%s", job));
    for (; *argv; argv++)
        json_array_append_new(words, sw_json_text(*argv));
    body = sw_json_object(SW_BOOL("AttachStdout", true), SW_BOOL("AttachStderr", true),
                          SW_BOOL("AttachStdin", input), SW_BOOL("Tty", terminal),
                          SW_SUB("Env", terminal ? docker_terminal_env() : NULL),
                          SW_SUB("Cmd", sw_take(words)));
    if (docker_ask(api, &(struct docker_call){ .method = "POST", .path = path, .json = body },
                   &reply, err) < 0)
        return NULL;
    return sw_strdup(sw_json_str(reply, "Id"));
}

static int start(struct beside *b, struct sw_error *err)
{
    sw_autofree char *path = docker_path("/exec/", b->id, "/start");
    sw_auto(json) json_t *body = sw_json_object(SW_BOOL("Detach", false),
                                                SW_BOOL("Tty", b->terminal != NULL));

    b->stream = docker_hijack(b->api, path, body, err);
    return b->stream ? 0 : -1;
}

/* ---- the two directions ---------------------------------------------------------------------- */

static int show(struct beside *b, const char *bytes, size_t length)
{
    return b->terminal ? sw_write_all(STDOUT_FILENO, bytes, length)
                       : docker_frames_feed(&b->frames, bytes, length);
}

/* All there is; nobody polls for what libcurl has already taken from the socket. */
static int take_output(struct beside *b)
{
    char bytes[PIECE];
    ssize_t n;

    while ((n = sw_http_stream_read(b->stream, bytes, sizeof bytes)) > 0)
        if (show(b, bytes, (size_t)n))
            return -1;
    b->over = n != SW_HTTP_LATER;
    return 0;
}

static void take_input(struct beside *b)
{
    ssize_t n = read(STDIN_FILENO, b->input, sizeof b->input);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    b->waiting = n > 0 ? (size_t)n : 0;
    b->sent = 0;
    if (n > 0)
        return;
    b->reads = false;
    sw_http_stream_finish(b->stream);
}

/* A command that closed its input, or is over, takes no more: its output goes on. */
static void pass_input(struct beside *b)
{
    while (b->sent < b->waiting) {
        ssize_t n = sw_http_stream_write(b->stream, b->input + b->sent, b->waiting - b->sent);

        if (n == SW_HTTP_LATER)
            return;
        if (n <= 0) {
            b->reads = false;
            b->waiting = b->sent = 0;
            return;
        }
        b->sent += (size_t)n;
    }
    b->waiting = b->sent = 0;
}

static void note_size(struct beside *b)
{
    sw_autofree char *path = NULL;
    unsigned rows, columns;
    sw_auto(sw_buf) struct sw_buf url = SW_BUF_INIT;

    if (!b->terminal || !docker_terminal_size(b->terminal, &rows, &columns))
        return;
    path = docker_path("/exec/", b->id, "/resize");
    sw_buf_addf(&url, "%s?h=%u&w=%u", path, rows, columns);
    docker_ask(b->api, &(struct docker_call){ .method = "POST", .path = sw_buf_text(&url) }, NULL, NULL);
}

/* Until the command is over, or somebody ends us: then the terminal is put right first. */
static int stay_with(struct beside *b)
{
    note_size(b);
    while (take_output(b) == 0 && !b->over) {
        struct pollfd ends[] = {
            { .fd = sw_http_stream_fd(b->stream), .events = POLLIN | (b->waiting ? POLLOUT : 0) },
            { .fd = b->reads && !b->waiting ? STDIN_FILENO : -1, .events = POLLIN },
            { .fd = docker_terminal_signals(b->terminal), .events = POLLIN },
        };

        if (poll(ends, SW_COUNT(ends), -1) < 0 && errno != EINTR)
            return -1;
        if (ends[1].revents)
            take_input(b);
        pass_input(b);
        if (ends[2].revents && docker_terminal_changed(b->terminal))
            note_size(b);
        else if (ends[2].revents)
            return 0;
    }
    return 0;
}

/* Its output ends a little before the engine has noted its end. */
static int ask_status(struct beside *b, int *exit_status, struct sw_error *err)
{
    sw_autofree char *path = docker_path("/exec/", b->id, "/json");
    int64_t until_ms = sw_monotonic_ms() + END_NOTED_MS;

    for (;; sw_sleep_ms(LOOK_EVERY_MS)) {
        sw_auto(json) json_t *ended = NULL;

        if (docker_ask(b->api, &(struct docker_call){ .path = path }, &ended, err) < 0)
            return -1;
        *exit_status = (int)sw_json_int(ended, "ExitCode", 1);
        if (!sw_json_bool(ended, "Running", false) || sw_monotonic_ms() >= until_ms)
            return 0;
    }
}

static int run_beside(struct beside *b, int *exit_status, struct sw_error *err)
{
    if (start(b, err) < 0)
        return -1;
    if (b->terminal && docker_terminal_take(b->terminal, err) < 0)
        return -1;
    stay_with(b);
    docker_terminal_give_back(b->terminal);
    return b->over ? ask_status(b, exit_status, err) : 0;
}

int docker_exec(struct sw_connection *conn, const struct sw_jobref *job, int replica, char *const argv[],
                int *exit_status, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    struct docker_terminal terminal = DOCKER_TERMINAL_INIT;
    struct beside b = { .frames = { .take = print } };
    char name[DOCKER_NAME_SIZE];
    int result = -1;

    if (docker_borrow(conn, &lent, err) < 0)
        return -1;
    b.api = lent.api;
    b.terminal = docker_terminal_here() ? &terminal : NULL;
    /* A terminal has a key for "no more"; a file over TLS has nothing (http_stream.h). */
    b.reads = b.terminal || conn->where.way != DOCKER_TLS;
    docker_name(name, job->id, job->attempt, (int)sw_json_int(job->plan, "nodes", 1),
                replica < 0 ? 0 : replica);
    b.id = make_exec(lent.api, name, job->id, argv, b.terminal != NULL, b.reads, err);
    if (b.id)
        result = run_beside(&b, exit_status, err);
    docker_frames_done(&b.frames);
    sw_http_stream_close(b.stream);
    free(b.id);
    docker_terminal_leave(&terminal);
    return result < 0 ? sw_wrap(err, "cannot run a command beside '%s'", job->id) : 0;
}
