/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_exec.c - a command in a container, as a stream: a WebSocket whose messages begin with the number of a
 * channel.
 *
 * The command starts with the handshake, so everything is decided before it: a server without
 * v5.channel.k8s.io cannot be told that the input ended, and a command that reads its input would wait for
 * ever. Such a server is asked again without input; a refused handshake started nothing.
 */
#include "platform/kube/kube_streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { PIECE = 32 * 1024, STATUS_MOST = 64 * 1024, CLOSED_SOON_MS = 5000 };

enum { INPUT = 0, OUTPUT = 1, ERRORS = 2, STATUS = 3, SIZE = 4, CLOSE = 255 };

#define V5 "v5.channel.k8s.io"
#define V4 "v4.channel.k8s.io"

struct kube_exec_stream {
    struct sw_stream stream;
    struct sw_websocket *ws;
    bool can_close;                  /* the server knows the end of the input */
    struct sw_buf said;              /* the Status behind the last output */
    int64_t said_ms;                 /* when it came; 0: not yet */
    sw_stream_put *put;              /* during a read */
    void *put_context;
};

/* ---- the stream -------------------------------------------------------------------------------- */

static void note(struct kube_exec_stream *exec)
{
    exec->stream.unsent = sw_websocket_unsent(exec->ws) > 0;
}

static int take_message(void *context, const char *bytes, size_t length)
{
    struct kube_exec_stream *exec = context;
    unsigned char channel = length ? (unsigned char)bytes[0] : CLOSE;

    if (channel == OUTPUT || channel == ERRORS)
        return length > 1 ? exec->put(exec->put_context, channel, bytes + 1, length - 1) : 0;
    if (channel == STATUS && exec->said.length + length <= STATUS_MOST) {
        sw_buf_add_bytes(&exec->said, bytes + 1, length - 1);
        if (length > 1)
            exec->said_ms = sw_monotonic_ms();
    }
    return 0;
}

/* The Status comes last, and then the server closes the connection; one that does not is not waited for. */
static int exec_read(struct sw_stream *stream, sw_stream_put *put, void *context)
{
    struct kube_exec_stream *exec = (struct kube_exec_stream *)stream;
    int over;

    exec->put = put;
    exec->put_context = context;
    over = sw_websocket_read(exec->ws, take_message, exec);
    note(exec);
    if (over == 0 && exec->said_ms && sw_monotonic_ms() - exec->said_ms >= CLOSED_SOON_MS)
        return 1;
    return over;
}

static ssize_t exec_write(struct sw_stream *stream, const char *bytes, size_t length)
{
    struct kube_exec_stream *exec = (struct kube_exec_stream *)stream;
    const char channel = INPUT;
    size_t n = length < PIECE ? length : PIECE;

    if (exec->said_ms)
        return -1;
    if (sw_websocket_flush(exec->ws) > 0)
        return 0;
    if (sw_websocket_send(exec->ws, &channel, 1, bytes, n) < 0)
        return -1;
    note(exec);
    return (ssize_t)n;
}

static void exec_finish(struct sw_stream *stream)
{
    struct kube_exec_stream *exec = (struct kube_exec_stream *)stream;
    const unsigned char message[] = { CLOSE, INPUT };

    if (exec->can_close)
        sw_websocket_send(exec->ws, message, sizeof message, NULL, 0);
    note(exec);
}

static void exec_resize(struct sw_stream *stream, unsigned rows, unsigned columns)
{
    struct kube_exec_stream *exec = (struct kube_exec_stream *)stream;
    char text[64];
    int length = snprintf(text, sizeof text, "%c{\"Width\":%u,\"Height\":%u}", SIZE, columns, rows);

    sw_websocket_send(exec->ws, text, (size_t)length, NULL, 0);
    note(exec);
}

static void exec_close(struct sw_stream *stream)
{
    struct kube_exec_stream *exec = (struct kube_exec_stream *)stream;

    sw_websocket_close(exec->ws);
    sw_buf_done(&exec->said);
    free(exec);
}

/* ---- how it ended ------------------------------------------------------------------------------ */

/* -1: this Status tells no exit status. */
static int exit_of(const json_t *status)
{
    const json_t *causes = json_object_get(json_object_get(status, "details"), "causes");
    size_t i;
    json_t *cause;

    if (sw_text_same(sw_json_str(status, "status"), "Success"))
        return 0;
    json_array_foreach((json_t *)causes, i, cause) {
        const char *code = sw_json_str(cause, "message");

        if (sw_text_same(sw_json_str(cause, "reason"), "ExitCode") && code)
            return (int)strtol(code, NULL, 10) & 0xff;
    }
    return -1;
}

static int exec_status(struct sw_stream *stream, int *exit_status, struct sw_error *err)
{
    const struct kube_exec_stream *exec = (struct kube_exec_stream *)stream;
    const struct sw_websocket_end *end = sw_websocket_end(exec->ws);
    sw_auto(json) json_t *status = exec->said_ms ? sw_json_parse(exec->said.data, exec->said.length,
                                                                 "status", NULL) : NULL;
    sw_autofree char *words = exec->said_ms ? sw_rest_words(exec->said.data, exec->said.length, NULL) : NULL;
    int code = exit_of(status);

    if (code >= 0) {
        *exit_status = code;
        return 0;
    }
    if (words)
        return sw_fail(err, SW_E_REFUSED, "the cluster reports: %s", words);
    return sw_fail(err, SW_E_UNREACHABLE, "the connection to the command ended before the command%s%s",
                   *end->why ? ": " : "", end->why);
}

/* ---- opening ----------------------------------------------------------------------------------- */

static char *exec_path(const char *namespace, const char *pod, const char *container,
                       const struct sw_exec *what, bool input)
{
    sw_autofree char *base = sw_rest_path("/api/v1/namespaces/%s/pods/%s/exec", namespace, pod);
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;

    sw_buf_add(&path, base);
    if (container)
        sw_rest_query(&path, "container", container);
    sw_rest_query(&path, "stdin", input ? "true" : "false");
    sw_rest_query(&path, "stdout", "true");
    sw_rest_query(&path, "stderr", what->terminal ? "false" : "true");
    sw_rest_query(&path, "tty", what->terminal ? "true" : "false");
    for (char *const *word = what->argv; *word; word++)
        sw_rest_query(&path, "command", *word);
    return sw_buf_steal(&path);
}

static struct sw_websocket *ask(struct sw_rest *rest, const char *namespace, const char *pod,
                                const char *container, const struct sw_exec *what, bool input,
                                const char *protocols, struct sw_error *err)
{
    sw_autofree char *path = exec_path(namespace, pod, container, what, input);

    return sw_rest_websocket(rest, &(struct sw_rest_call){ .path = path }, protocols, err);
}

static int begin(struct kube_exec_stream *exec, struct sw_rest *rest, const char *namespace, const char *pod,
                 const char *container, const struct sw_exec *what, struct sw_error *err)
{
    struct sw_error why = { 0 };

    exec->stream.takes_input = true;
    exec->ws = ask(rest, namespace, pod, container, what, true, what->terminal ? V5 ", " V4 : V5, &why);
    if (!exec->ws && !what->terminal && why.code == SW_E_REFUSED) {
        exec->stream.takes_input = false;
        exec->ws = ask(rest, namespace, pod, container, what, false, V4, err);
        return exec->ws ? 0 : -1;
    }
    return exec->ws ? 0 : sw_pass(err, &why);
}

int kube_exec_open(struct sw_rest *rest, const char *namespace, const char *pod, const char *container,
                   const struct sw_exec *what, struct sw_stream **out, struct sw_error *err)
{
    static const struct sw_stream_ops ops = {
        .read = exec_read, .write = exec_write, .finish = exec_finish, .resize = exec_resize,
        .status = exec_status, .close = exec_close,
    };
    struct kube_exec_stream *exec = sw_new(struct kube_exec_stream);

    exec->stream = (struct sw_stream){ .ops = &ops, .terminal = what->terminal,
                                       .wake_ms = SW_WEBSOCKET_WAKE_MS };
    if (begin(exec, rest, namespace, pod, container, what, err) < 0) {
        exec_close(&exec->stream);
        return sw_wrap(err, "cannot run a command in pod '%s'", pod);
    }
    exec->can_close = strcmp(sw_websocket_protocol(exec->ws), V5) == 0;
    exec->stream.fd = sw_websocket_fd(exec->ws);
    *out = &exec->stream;
    return 0;
}
