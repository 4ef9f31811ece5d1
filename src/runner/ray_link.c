/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_link.c - the connection between rank 0 and every other rank of a Ray cluster.
 *
 *     head    slipway-ray NONCE
 *     rank    join RANK HOST NONCE PROOF
 *     head    welcome PROOF
 *     head    head IP:PORT FOLDER        its Ray runs: the rank may start its own
 *     rank    up                         and it has
 *     rank    failed WORDS
 *     head    end                        the command is over: end your Ray, in good order
 *     head    end failed                 the same, and Ray's logs are to be kept
 *
 * Both prove that they know the job's token, and neither sends it: on the port of a head there may be
 * another job, or anything else. A connection that closes without "end" is a node that is gone; that a
 * machine was switched off is seen by TCP's own questions, after some twenty seconds.
 */
#include "runner/ray.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

enum { ANSWER_MS = 3000, PROVE_MS = 10000, AGAIN_MS = 500, IDLE_S = 10, EVERY_S = 4, PROBES = 3 };

static void make_nonce(char out[33])
{
    unsigned char bytes[16] = { 0 };

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        memset(bytes, 0, sizeof bytes);          /* the token is the secret; a nonce only must not repeat */
    sw_hex(bytes, sizeof bytes, out);
}

static void notice_death(int fd)
{
    static const struct {
        int level, option, value;
    } settings[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S },
        { IPPROTO_TCP, TCP_KEEPINTVL, EVERY_S },
        { IPPROTO_TCP, TCP_KEEPCNT, PROBES },
        { IPPROTO_TCP, TCP_USER_TIMEOUT, (IDLE_S + EVERY_S * PROBES) * 1000 },
    };

    for (size_t i = 0; i < SW_COUNT(settings); i++)
        setsockopt(fd, settings[i].level, settings[i].option, &settings[i].value, sizeof(int));
}

void ray_link_close(struct ray_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
}

void ray_link_say(struct ray_link *link, const char *fmt, ...)
{
    char line[RAY_LINE];
    va_list args;
    int length;

    if (link->fd < 0)
        return;
    va_start(args, fmt);
    length = vsnprintf(line, sizeof line - 1, fmt, args);
    va_end(args);
    if (length > (int)sizeof line - 2)
        length = (int)sizeof line - 2;
    line[length] = '\n';
    /* A few short lines always find room; one that does not is from a rank that reads nothing any more. */
    if (send(link->fd, line, (size_t)length + 1, MSG_NOSIGNAL | MSG_DONTWAIT) != length + 1)
        shutdown(link->fd, SHUT_RDWR);
}

static bool take_line(struct ray_link *link, char line[RAY_LINE])
{
    char *end = memchr(link->line, '\n', link->length);
    size_t length = end ? (size_t)(end - link->line) : 0;

    if (!end)
        return false;
    memcpy(line, link->line, length);
    line[length] = '\0';
    link->length -= length + 1;
    memmove(link->line, end + 1, link->length);
    return true;
}

int ray_link_read(struct ray_link *link, char line[RAY_LINE])
{
    ssize_t n;

    if (link->fd < 0)
        return -1;
    if (take_line(link, line))
        return 1;
    if (link->length == sizeof link->line)
        return -1;                               /* so long a line is none of ours */
    n = recv(link->fd, link->line + link->length, sizeof link->line - link->length, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1;
    link->length += (size_t)n;
    return take_line(link, line) ? 1 : 0;
}

/* ---- rank 0 --------------------------------------------------------------------------------------- */

int ray_link_listen(const char *ip, int port, struct sw_error *err)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    sw_autofd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int yes = 1;

    /* Where one machine has all ranks no other needs to reach it. */
    at.sin_addr.s_addr = htonl(INADDR_ANY);
    if (ray_is_loopback(ip))
        inet_pton(AF_INET, ip, &at.sin_addr);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, SOMAXCONN) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot listen on port %d", port);
    return sw_take_fd(fd);
}

void ray_link_accept(struct ray_link *link, int listener)
{
    *link = (struct ray_link){ .fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), .rank = -1,
                               .prove_by_ms = sw_monotonic_ms() + PROVE_MS };
    if (link->fd < 0)
        return;
    notice_death(link->fd);
    make_nonce(link->nonce);
    ray_link_say(link, "slipway-ray %s", link->nonce);
}

/* ---- the others ----------------------------------------------------------------------------------- */

static int dial(const char *ip, int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    sw_autofd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd wait = { .fd = fd, .events = POLLOUT };
    int why = 0;
    socklen_t size = sizeof why;

    inet_pton(AF_INET, ip, &at.sin_addr);
    if (fd < 0 || (connect(fd, (struct sockaddr *)&at, sizeof at) < 0 && errno != EINPROGRESS) ||
        poll(&wait, 1, ANSWER_MS) <= 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size) < 0 || why != 0)
        return -1;
    return sw_take_fd(fd);
}

static int wait_line(struct ray_link *link, char line[RAY_LINE])
{
    int64_t until = sw_monotonic_ms() + ANSWER_MS, left;
    int came;

    while ((came = ray_link_read(link, line)) == 0 && (left = until - sw_monotonic_ms()) > 0) {
        struct pollfd wait = { .fd = link->fd, .events = POLLIN };

        poll(&wait, 1, (int)left);
    }
    return came > 0 ? 0 : -1;
}

static bool greet(struct ray_link *link, const char *token, int rank)
{
    char line[RAY_LINE], theirs[33] = "", own[33], proof[SW_DIGEST_HEX], expected[SW_DIGEST_HEX];
    char host[SW_HOST_SIZE];

    if (wait_line(link, line) < 0 || sscanf(line, "slipway-ray %32[0-9a-f]", theirs) != 1)
        return false;
    make_nonce(own);
    sw_host_name(host);
    ray_proof(token, "join", theirs, rank, proof);
    ray_link_say(link, "join %d %s %s %s", rank, host, own, proof);
    ray_proof(token, "welcome", own, rank, expected);
    return wait_line(link, line) == 0 && sscanf(line, "welcome %64[0-9a-f]", proof) == 1 &&
           strcmp(proof, expected) == 0;
}

int ray_link_connect(struct ray_link *link, const char *host, struct ray_keeper *keeper, int64_t deadline_ms,
                     struct sw_error *err)
{
    char ip[16] = "";
    struct sw_error why = { 0 };

    for (int nth = 0; sw_monotonic_ms() < deadline_ms && !keeper->stop_by_ms; nth = (nth + 1) % RAY_BLOCKS) {
        /* A container's name appears when it has started, and a head listens when it has found its ports. */
        bool pause = nth == 0 && ray_resolve(host, ip, &why) < 0;

        *link = (struct ray_link){ .fd = pause ? -1 : dial(ip, ray_block(keeper->key, nth) + RAY_LINK) };
        if (link->fd >= 0 && greet(link, keeper->token, keeper->node.rank)) {
            notice_death(link->fd);
            return 0;
        }
        ray_link_close(link);
        if (pause || nth == RAY_BLOCKS - 1)
            ray_keeper_turn(keeper, NULL, 0, -1, AGAIN_MS);
        if (pause)
            nth = -1;
    }
    return sw_fail(err, SW_E_TIMEOUT, "found no Ray head on rank 0 (%s)%s%s", host,
                   why.code ? ": " : "", why.message);
}
