/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_exec.c - a command beside a running rank, as a stream: the engine's connection becomes its input and
 * output, with a terminal of its own when the caller has one.
 */
#include "platform/docker/docker_job.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "net/http_stream.h"
#include "platform/kit/port.h"

enum { PIECE = 32 * 1024, END_NOTED_MS = 5000, ASK_EVERY_MS = 10 };

struct docker_exec {
    struct sw_stream stream;
    struct docker_api *api;          /* lent */
    struct sw_http_stream *http;
    struct docker_frames frames;     /* without a terminal: output and errors apart */
    sw_stream_put *put;              /* during a read */
    void *put_context;
    char *id;
};

static int take_message(void *context, const struct docker_message *message)
{
    const struct docker_exec *exec = context;

    return exec->put(exec->put_context, message->stream, message->bytes, message->length);
}

/* A connection that was cut ends the output, too; then status() says what happened. */
static int exec_read(struct sw_stream *stream, sw_stream_put *put, void *context)
{
    struct docker_exec *exec = (struct docker_exec *)stream;
    char bytes[PIECE];
    ssize_t n;

    exec->put = put;
    exec->put_context = context;
    while ((n = sw_http_stream_read(exec->http, bytes, sizeof bytes)) > 0)
        if (stream->terminal ? put(context, 1, bytes, (size_t)n)
                             : docker_frames_feed(&exec->frames, bytes, (size_t)n))
            return -1;
    return n != SW_HTTP_LATER;
}

static ssize_t exec_write(struct sw_stream *stream, const char *bytes, size_t length)
{
    ssize_t n = sw_http_stream_write(((struct docker_exec *)stream)->http, bytes, length);

    return n == SW_HTTP_LATER ? 0 : n > 0 ? n : -1;
}

static void exec_finish(struct sw_stream *stream)
{
    sw_http_stream_finish(((struct docker_exec *)stream)->http);
}

static void exec_resize(struct sw_stream *stream, unsigned rows, unsigned columns)
{
    const struct docker_exec *exec = (struct docker_exec *)stream;
    sw_autofree char *path = sw_rest_path("/exec/%s/resize?h=%d&w=%d", exec->id, (int)rows,
                                          (int)columns);

    docker_ask(exec->api, &(struct sw_rest_call){ .method = "POST", .path = path }, NULL, NULL);
}

/* The output ends a little before the engine has noted the end of the command. */
static int exec_status(struct sw_stream *stream, int *exit_status, struct sw_error *err)
{
    const struct docker_exec *exec = (struct docker_exec *)stream;
    int64_t until_ms = sw_monotonic_ms() + END_NOTED_MS;

    for (;; sw_sleep_ms(ASK_EVERY_MS)) {
        sw_auto(json) json_t *ended = docker_get(exec->api,
                                                 sw_rest_path("/exec/%s/json", exec->id), err);

        if (!ended)
            return -1;
        *exit_status = (int)sw_json_int(ended, "ExitCode", 1);
        if (!sw_json_bool(ended, "Running", false) || sw_monotonic_ms() >= until_ms)
            return 0;
    }
}

static void exec_close(struct sw_stream *stream)
{
    struct docker_exec *exec = (struct docker_exec *)stream;

    sw_http_stream_close(exec->http);
    docker_frames_done(&exec->frames);
    docker_give_back(exec->api);
    free(exec->id);
    free(exec);
}

/* The command sees what the job sees. */
static json_t *command_words(const char *runner, const char *job, char *const argv[])
{
    json_t *words = json_pack("[sso]", runner, "beside", json_sprintf("SLIPWAY_JOB_ID=%s", job));

    for (; *argv; argv++)
        json_array_append_new(words, sw_json_text(*argv));
    return words;
}

static int create(struct docker_exec *exec, const char *container, const char *job,
                  const struct sw_exec *what, struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/containers/%s/exec", container);
    sw_autofree char *term = sw_format("TERM=%s", sw_text_empty(what->term) ? "dumb" : what->term);
    sw_auto(json) json_t *inspected = docker_inspect(exec->api, container, err);
    sw_auto(json) json_t *reply = NULL, *body = NULL;
    const char *runner = sw_json_str(inspected, "Path");

    if (!inspected)
        return -1;
    if (!runner || !sw_text_ends(runner, "/slipway-runner"))
        runner = DOCKER_RUNNER;
    body = sw_json_object(
        SW_BOOL("AttachStdout", true), SW_BOOL("AttachStderr", true),
        SW_BOOL("AttachStdin", exec->stream.takes_input), SW_BOOL("Tty", what->terminal),
        SW_SUB("Env", what->terminal ? json_pack("[o]", sw_json_text(term)) : NULL),
        SW_SUB("Cmd", command_words(runner, job, what->argv)));
    if (docker_ask(exec->api, &(struct sw_rest_call){ .method = "POST", .path = path, .json = body },
                   &reply, err) < 0)
        return -1;
    exec->id = sw_strdup(sw_json_str(reply, "Id"));
    return exec->id ? 0 : sw_fail(err, SW_E_UNREACHABLE, "the engine returned no id for the command");
}

static int start(struct docker_exec *exec, struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/exec/%s/start", exec->id);
    sw_auto(json) json_t *body = sw_json_object(SW_BOOL("Detach", false),
                                                SW_BOOL("Tty", exec->stream.terminal));

    exec->http = docker_hijack(exec->api, path, body, err);
    if (!exec->http)
        return -1;
    exec->stream.fd = sw_http_stream_fd(exec->http);
    return 0;
}

int docker_exec_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                     struct sw_stream **out, struct sw_error *err)
{
    static const struct sw_stream_ops ops = {
        .read = exec_read, .write = exec_write, .finish = exec_finish, .resize = exec_resize,
        .status = exec_status, .close = exec_close,
    };
    struct docker_exec *exec = sw_new(struct docker_exec);
    char name[DOCKER_NAME_SIZE];

    exec->frames = (struct docker_frames){ .take = take_message, .context = exec };
    exec->stream = (struct sw_stream){
        .ops = &ops, .terminal = what->terminal,
        /* A terminal has a key for the end of input; a file over TLS has nothing (http_stream.h). */
        .takes_input = what->terminal || what->endless || docker_of(conn)->endpoint.way != DOCKER_TLS,
    };
    docker_name(name, job->id, job->attempt, (int)sw_json_int(job->plan, "nodes", 1), what->replica);
    exec->api = docker_borrow(conn, err);
    if (create(exec, name, job->id, what, err) < 0 || start(exec, err) < 0) {
        exec_close(&exec->stream);
        return sw_wrap(err, "cannot run a command in '%s'", job->id);
    }
    *out = &exec->stream;
    return 0;
}

/* The engine publishes no port of a container that runs already, and servers listen at its loopback
 * address. */
int docker_port_open(struct sw_connection *conn, const struct sw_jobref *job, int replica, int port,
                     struct sw_stream **out, struct sw_error *err)
{
    struct sw_port_command command;

    sw_port_command_init(&command, port);
    return docker_exec_open(conn, job, &(struct sw_exec){ .replica = replica, .argv = command.argv,
                                                          .endless = true }, out, err);
}
