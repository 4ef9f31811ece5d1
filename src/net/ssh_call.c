/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_call.c - one script down the held shell: send, receive and find the end, at the same time.
 *
 * Both directions move together, so a script may answer while its input still comes, of any
 * size. What came is passed on except for the few bytes that may be the beginning of the end mark.
 */
#include "net/ssh_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

#define CHUNK 65536
#define ERRORS_LIMIT 32768
#define OUTPUT_LIMIT ((size_t)4 << 20)
#define SHORT_SCRIPT 1500        /* measured: so many reads of a byte cost what starting head does */

/* ---- sending --------------------------------------------------------------------------------- */

struct outgoing {
    const struct sw_ssh_call *call;
    struct sw_buf head;          /* header line and script */
    size_t head_sent;
    size_t piece, piece_sent;    /* which piece, and how much of it */
    char *chunk;                 /* what was read from a piece's file ... */
    size_t chunk_length, chunk_sent;
    bool all;                    /* nothing is left to send */
};

/* The next bytes to send; 0: none are left; -1: a piece cannot be read. */
static ssize_t next_bytes(struct outgoing *out, const char **bytes, struct sw_error *err)
{
    const struct sw_ssh_piece *piece;
    ssize_t got;

    if (out->head_sent < out->head.length) {
        *bytes = out->head.data + out->head_sent;
        return (ssize_t)(out->head.length - out->head_sent);
    }
    while (out->piece < out->call->input_count &&
           out->piece_sent == out->call->input[out->piece].length) {
        out->piece++;
        out->piece_sent = 0;
    }
    if (out->piece == out->call->input_count)
        return 0;
    piece = &out->call->input[out->piece];
    if (piece->bytes) {
        *bytes = (const char *)piece->bytes + out->piece_sent;
        return (ssize_t)(piece->length - out->piece_sent);
    }
    if (out->chunk_sent == out->chunk_length) {
        size_t left = piece->length - out->piece_sent;

        if (!out->chunk)
            out->chunk = sw_alloc(CHUNK);
        got = pread(piece->fd, out->chunk, left < CHUNK ? left : CHUNK,
                    piece->offset + (int64_t)out->piece_sent);
        if (got <= 0)
            return sw_fail(err, SW_E_IO, "cannot read the data to send: %s",
                           got < 0 ? strerror(errno) : "the file has become shorter");
        out->chunk_length = (size_t)got;
        out->chunk_sent = 0;
    }
    *bytes = out->chunk + out->chunk_sent;
    return (ssize_t)(out->chunk_length - out->chunk_sent);
}

static void count_sent(struct outgoing *out, size_t sent)
{
    if (out->head_sent < out->head.length) {
        out->head_sent += sent;
        return;
    }
    if (!out->call->input[out->piece].bytes)
        out->chunk_sent += sent;
    out->piece_sent += sent;
}

enum step { GOES_ON, ENDED, BROKEN, FAILED };

static enum step send_some(struct sw_ssh *ssh, struct outgoing *out, struct sw_error *err)
{
    for (;;) {
        const char *bytes = NULL;
        ssize_t left = next_bytes(out, &bytes, err), sent;

        if (left < 0)
            return FAILED;
        if (left == 0) {
            out->all = true;
            return GOES_ON;
        }
        sent = send(ssh->shell.in, bytes, (size_t)left < CHUNK ? (size_t)left : CHUNK, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR ? GOES_ON : BROKEN;
        ssh->counters.sent_bytes += sent;
        count_sent(out, (size_t)sent);
    }
}

/* ---- receiving ------------------------------------------------------------------------------- */

struct incoming {                /* one of the two streams */
    char begin[48], end[48];     /* "<MARK\n", "\n>MARK " */
    struct sw_buf held;          /* not passed on yet: may belong to a mark */
    bool begun, ended;
    int exit_code;
    sw_ssh_sink *sink;           /* NULL: keep in `kept`, up to `limit` */
    void *sink_context;
    struct sw_buf *kept;
    size_t limit;
    bool overflowed, interrupted;
};

static void pass_on(struct incoming *in, const char *bytes, size_t length)
{
    size_t room;

    if (length == 0 || in->interrupted)
        return;
    if (in->sink) {
        in->interrupted = in->sink(in->sink_context, bytes, length) != 0;
        return;
    }
    room = in->limit - in->kept->length;
    if (length > room)
        in->overflowed = true;
    sw_buf_add_bytes(in->kept, bytes, length < room ? length : room);
}

static void forget(struct sw_buf *buf, size_t length)
{
    if (length == 0)
        return;
    memmove(buf->data, buf->data + length, buf->length - length);
    buf->length -= length;
    buf->data[buf->length] = '\0';
}

static char *find(const struct incoming *in, const char *mark)
{
    return in->held.length ? memmem(in->held.data, in->held.length, mark, strlen(mark)) : NULL;
}

/* What comes before the begin mark is not part of the answer: a process that an earlier script left, or
 * ssh itself; its last words stay, in case they tell why the call never began. */
static bool find_begin(struct incoming *in)
{
    const char *at = find(in, in->begin);

    in->begun = at != NULL;
    if (at)
        forget(&in->held, (size_t)(at - in->held.data) + strlen(in->begin));
    else if (in->held.length > CHUNK)
        forget(&in->held, in->held.length - CHUNK / 4);
    return in->begun;
}

/* Look for the marks in what is held, and pass on what is certainly none. */
static void understand(struct incoming *in)
{
    size_t keep = strlen(in->end) - 1;
    const char *at;

    if (!in->begun && !find_begin(in))
        return;
    at = find(in, in->end);
    if (at) {
        const char *code = at + strlen(in->end);

        if (strchr(code, '\n') && sscanf(code, "%d", &in->exit_code) == 1) {
            pass_on(in, in->held.data, (size_t)(at - in->held.data));
            in->ended = true;
        }
        return;
    }
    if (in->held.length > keep) {
        pass_on(in, in->held.data, in->held.length - keep);
        forget(&in->held, in->held.length - keep);
    }
}

static enum step receive_some(struct sw_ssh *ssh, int fd, struct incoming *in)
{
    while (!in->ended && !in->interrupted) {
        ssize_t got = read(fd, sw_buf_reserve(&in->held, CHUNK), CHUNK);

        if (got == 0)
            return BROKEN;
        if (got < 0)
            return errno == EAGAIN || errno == EINTR ? GOES_ON : BROKEN;
        in->held.length += (size_t)got;
        in->held.data[in->held.length] = '\0';
        ssh->counters.received_bytes += got;
        understand(in);
    }
    return in->interrupted ? FAILED : ENDED;
}

/* ---- the call -------------------------------------------------------------------------------- */

struct ssh_exchange {
    struct outgoing out;
    struct incoming output, errors;
};

/* The header line and the script. A short one ends with a newline; a long one with a comment, because the
 * shell's $(head) drops newlines at the end. */
static void add_head(struct sw_buf *head, struct sw_buf *known, const char *mark, const char *script,
                     unsigned long long input)
{
    size_t length = strlen(script), lines = 1;

    for (const char *at = script; (at = strchr(at, '\n')); at++)
        lines++;
    if (length < SHORT_SCRIPT) {
        sw_buf_addf(head, "%s %zu %llu %zu\n", mark, length + 1, input, lines);
        sw_buf_add_bytes(head, script, length);
        sw_buf_add(head, "\n");
    } else if (strcmp(sw_buf_text(known), script) == 0) {
        sw_buf_addf(head, "%s %zu %llu -1\n", mark, length + 2, input);
    } else {
        sw_buf_addf(head, "%s %zu %llu 0\n", mark, length + 2, input);
        sw_buf_add_bytes(head, script, length);
        sw_buf_add(head, "\n#");
        sw_buf_clear(known);
        sw_buf_add_bytes(known, script, length);
    }
}

static void prepare(struct ssh_exchange *call, struct sw_ssh *ssh, const struct sw_ssh_call *wanted,
                    struct sw_ssh_reply *reply)
{
    struct incoming *streams[] = { &call->output, &call->errors };
    unsigned long long input = 0;
    char mark[33];

    ssh_marker(mark);
    for (size_t i = 0; i < wanted->input_count; i++)
        input += wanted->input[i].length;
    call->out.call = wanted;
    add_head(&call->out.head, &ssh->shell_knows, mark, wanted->script, input);
    for (size_t i = 0; i < SW_COUNT(streams); i++) {
        snprintf(streams[i]->begin, sizeof streams[i]->begin, "<%s\n", mark);
        snprintf(streams[i]->end, sizeof streams[i]->end, "\n>%s ", mark);
    }
    call->output.sink = wanted->sink;
    call->output.sink_context = wanted->sink_context;
    call->output.kept = &reply->output;
    call->output.limit = wanted->output_limit ? wanted->output_limit : OUTPUT_LIMIT;
    call->errors.kept = &reply->errors;
    call->errors.limit = ERRORS_LIMIT;
}

static void release(struct ssh_exchange *call)
{
    if (call->out.chunk)
        explicit_bzero(call->out.chunk, CHUNK);          /* may have been a secret */
    free(call->out.chunk);
    sw_buf_done(&call->out.head);
    sw_buf_done(&call->output.held);
    sw_buf_done(&call->errors.held);
}
static inline void call_auto(struct ssh_exchange *call) { release(call); }

/* Move bytes until both streams ended. */
static enum step converse(struct sw_ssh *ssh, struct ssh_exchange *call, int64_t until_ms,
                          struct sw_error *err)
{
    enum step step = GOES_ON;

    for (;;) {
        struct pollfd wait[3] = {
            { .fd = call->output.ended ? -1 : ssh->shell.out, .events = POLLIN },
            { .fd = call->errors.ended ? -1 : ssh->shell.err, .events = POLLIN },
            { .fd = call->out.all ? -1 : ssh->shell.in, .events = POLLOUT },
        };
        int64_t left = until_ms - sw_monotonic_ms();

        if (!call->out.all)
            step = send_some(ssh, &call->out, err);
        if (step == FAILED || step == BROKEN)
            return step;
        if (left <= 0)
            return GOES_ON;
        poll(wait, 3, left < 1000 ? (int)left : 1000);
        if (wait[1].revents && receive_some(ssh, ssh->shell.err, &call->errors) == BROKEN)
            return BROKEN;
        if (wait[0].revents) {
            step = receive_some(ssh, ssh->shell.out, &call->output);
            if (step == BROKEN || step == FAILED)
                return step;
        }
        if (call->output.ended && call->errors.ended)
            return ENDED;
        step = GOES_ON;
    }
}

static int broken(struct sw_ssh *ssh, const struct ssh_exchange *call, struct sw_ssh_reply *reply,
                  struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf said = SW_BUF_INIT;
    struct sw_error why = { 0 };

    if (!call->errors.begun)
        sw_buf_add(&said, sw_buf_text(&call->errors.held));
    ssh_process_wait(&ssh->shell, &said, sw_monotonic_ms() + 300);
    if (!ssh->local)
        ssh_explain_current(ssh, sw_buf_text(&said), &why);
    sw_fail(err, SW_E_UNREACHABLE, "the connection to %s broke %s%s%s", sw_ssh_host(ssh),
            call->output.begun ? "while the commands ran"
            : reply->fate == SW_SSH_MAYBE ? "just after the commands were sent"
                                          : "before the commands were sent",
            ssh->local ? "" : ": ", ssh->local ? "" : why.message);
    return -1;
}

/* What a conversation that did not end well is called. */
static int give_up(struct sw_ssh *ssh, enum step step, const struct ssh_exchange *call,
                   struct sw_ssh_reply *reply, struct sw_error *err)
{
    reply->fate = call->out.head_sent < call->out.head.length ? SW_SSH_NOT_STARTED : SW_SSH_MAYBE;
    if (call->output.interrupted)
        sw_fail(err, SW_E_INTERRUPTED, "the receiver closed the output");
    else if (step == BROKEN)
        broken(ssh, call, reply, err);
    else if (step == GOES_ON)
        sw_fail(err, SW_E_UNREACHABLE, "%s did not finish the commands in time", sw_ssh_host(ssh));
    ssh_shell_end(ssh);
    return -1;
}

int ssh_call_run(struct sw_ssh *ssh, const struct sw_ssh_call *wanted, int64_t until_ms,
                 struct sw_ssh_reply *reply, struct sw_error *err)
{
    sw_auto(call) struct ssh_exchange call = { .out = { .call = wanted } };
    enum step step;

    prepare(&call, ssh, wanted, reply);
    ssh->counters.round_trips++;
    step = converse(ssh, &call, until_ms, err);
    if (step != ENDED)
        return give_up(ssh, step, &call, reply, err);
    reply->fate = SW_SSH_DONE;
    reply->exit_code = call.output.exit_code;
    if (!call.out.all)           /* the loop swallows all input before it ends: not our shell */
        ssh_shell_end(ssh);
    if (call.output.overflowed)
        return sw_fail(err, SW_E_REFUSED, "the answer of %s is longer than %zu bytes",
                       sw_ssh_host(ssh), call.output.limit);
    return 0;
}
