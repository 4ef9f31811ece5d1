/* SPDX-License-Identifier: Apache-2.0 */
/*
 * talk.c - one word to the watcher, and its answer.
 *
 * The socket is in a folder that only the user can enter; who answers is checked all the same, because
 * secrets follow. A watcher that takes a word and does not answer in time counts as unreachable.
 */
#include "watcher/watcher.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

enum {
    PATIENCE_MS = 3000,
    END_MS = 40 * 1000,              /* the look that it is at comes first */
    LONGEST_ANSWER = 1 << 20,
};

bool sw_socket_is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

int watcher_dial(const struct sw_watcher_place *place, struct sw_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    sw_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || strlen(place->socket) >= sizeof address.sun_path)
        return sw_fail(err, SW_E_IO, "cannot reach the watcher at '%s'", place->socket);
    strcpy(address.sun_path, place->socket);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return errno == ENOENT || errno == ECONNREFUSED
                   ? -1 : sw_fail_errno(err, SW_E_IO, "cannot reach the watcher at '%s'", place->socket);
    if (!sw_socket_is_ours(fd))
        return sw_fail(err, SW_E_REFUSED, "another user listens at '%s'", place->socket);
    return sw_take_fd(fd);
}

/* What came until the other side closed. */
static int read_answer(int fd, struct sw_buf *out, int64_t patience_ms, struct sw_error *err)
{
    int64_t until_ms = sw_monotonic_ms() + patience_ms;

    for (;;) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        int64_t left_ms = until_ms - sw_monotonic_ms();
        ssize_t n;

        if (left_ms <= 0 || (poll(&ready, 1, (int)left_ms) < 0 && errno != EINTR))
            return sw_fail(err, SW_E_TIMEOUT, "the watcher does not answer");
        if (!ready.revents)
            continue;
        n = read(fd, sw_buf_reserve(out, 4096), 4096);
        if (n < 0 && errno != ECONNRESET)
            return sw_fail_errno(err, SW_E_IO, "cannot read the watcher's answer");
        if (n <= 0)
            return 0;
        out->length += (size_t)n;
        out->data[out->length] = '\0';
        if (out->length > LONGEST_ANSWER)
            return sw_fail(err, SW_E_IO, "the watcher's answer does not end");
    }
}

/* 1: answered; 0: no watcher runs; -1. */
static int say(const struct sw_watcher_place *place, const char *line, const struct sw_secrets *secrets,
               int64_t patience_ms, struct sw_buf *answer, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_autofd int fd = watcher_dial(place, &why);

    if (fd < 0)
        return why.code ? sw_pass(err, &why) : 0;
    if (sw_write_all(fd, line, strlen(line)) < 0 || (secrets && sw_secrets_send(secrets, fd) < 0))
        return errno == EPIPE || errno == ECONNRESET
                   ? 0 : sw_fail_errno(err, SW_E_IO, "cannot send to the watcher");
    shutdown(fd, SHUT_WR);
    if (read_answer(fd, answer, patience_ms, err) < 0)
        return -1;
    return answer->length > 0;                       /* one that says nothing died meanwhile */
}

static int say_plainly(const struct sw_watcher_place *place, const char *line,
                       const struct sw_secrets *secrets, int64_t patience_ms, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf answer = SW_BUF_INIT;
    int said = say(place, line, secrets, patience_ms, &answer, err);

    if (said <= 0 || sw_text_same(sw_buf_text(&answer), "ok\n"))
        return said;
    return sw_fail(err, SW_E_REFUSED, "the watcher says '%.100s'", sw_buf_text(&answer));
}

json_t *sw_watcher_hello(const struct sw_watcher_place *place, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf answer = SW_BUF_INIT;

    if (say(place, "hello\n", NULL, PATIENCE_MS, &answer, err) <= 0)
        return NULL;
    return sw_json_parse(answer.data, answer.length, "the watcher's answer", err);
}

int sw_watcher_wake(const struct sw_watcher_place *place, struct sw_error *err)
{
    return say_plainly(place, "wake\n", NULL, PATIENCE_MS, err);
}

/* Its answer comes when it has nothing more to do; its lock goes with its process. */
int sw_watcher_stop(const struct sw_watcher_place *place, struct sw_error *err)
{
    int64_t until_ms = sw_monotonic_ms() + END_MS;
    int said = say_plainly(place, "stop\n", NULL, END_MS, err);

    while (said > 0 && sw_watcher_is_locked(place) && sw_monotonic_ms() < until_ms)
        sw_sleep_ms(1);
    return said;
}

int sw_watcher_give(const struct sw_watcher_place *place, const char *id, const struct sw_secrets *secrets,
                    struct sw_error *err)
{
    sw_autofree char *line = sw_format("secret %s\n", id);

    return say_plainly(place, line, secrets, PATIENCE_MS, err);
}

json_t *sw_watcher_ask(const struct sw_watcher_place *place, const char *line, const json_t *request,
                       int64_t patience_ms, struct sw_error *err)
{
    sw_autofree char *text = sw_json_dump(request);
    sw_auto(sw_buf) struct sw_buf answer = SW_BUF_INIT;
    struct sw_error why = { 0 };
    sw_autofd int fd = watcher_dial(place, &why);

    if (fd < 0)
        return sw_null(why.code ? sw_pass(err, &why) : 0);
    if (sw_write_all(fd, line, strlen(line)) < 0 || sw_write_all(fd, text, strlen(text)) < 0)
        return NULL;
    shutdown(fd, SHUT_WR);
    if (read_answer(fd, &answer, patience_ms, err) < 0 || answer.length == 0)
        return NULL;
    return sw_json_parse(answer.data, answer.length, "the watcher's answer", err);
}
