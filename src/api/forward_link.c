/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward_link.c - one forwarded connection (forward_link.h).
 *
 * A client that reads slowly holds back its own stream and no other: above a limit nothing more is read for
 * it. A client that is done writing may still read; where the job's side is not told so, the connection ends
 * after a minute of silence.
 */
#include "api/forward_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/text.h"

enum { ENOUGH = 256 * 1024, TOO_MUCH = 64 << 20, WORDS_MOST = 400, SILENCE_MS = 60000 };

struct forward_link *forward_link_new(int client, struct sw_stream *stream, size_t port)
{
    struct forward_link *link = sw_new(struct forward_link);

    fcntl(client, F_SETFL, fcntl(client, F_GETFL) | O_NONBLOCK);
    link->client = client;
    link->stream = stream;
    link->port = port;
    return link;
}

void forward_link_free(struct forward_link *link)
{
    if (!link)
        return;
    link->stream->ops->close(link->stream);
    close(link->client);
    sw_buf_done(&link->out);
    sw_buf_done(&link->words);
    free(link);
}

static int take(void *context, int which, const char *bytes, size_t length)
{
    struct forward_link *link = context;
    struct sw_buf *to = which == 2 ? &link->words : &link->out;
    size_t room = (which == 2 ? WORDS_MOST : TOO_MUCH) - to->length;

    link->answered |= which == 1;
    sw_buf_add_bytes(to, bytes, length < room ? length : room);
    return which == 1 && length > room;
}

static size_t unsent(const struct forward_link *link)
{
    return link->out.length - link->out_sent;
}

/* False: the client is gone. */
static bool to_client(struct forward_link *link)
{
    while (unsent(link) > 0) {
        ssize_t n = send(link->client, link->out.data + link->out_sent, unsent(link), MSG_NOSIGNAL);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        link->out_sent += (size_t)n;
    }
    sw_buf_clear(&link->out);
    link->out_sent = 0;
    return true;
}

static bool from_client(struct forward_link *link)
{
    ssize_t n = recv(link->client, link->in, sizeof link->in, 0);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    link->in_count = (size_t)n;
    link->in_sent = 0;
    link->client_ended = n == 0;
    if (n == 0)
        link->stream->ops->finish(link->stream);
    return true;
}

static void to_job(struct forward_link *link)
{
    while (link->in_sent < link->in_count) {
        ssize_t n = link->stream->ops->write(link->stream, link->in + link->in_sent,
                                             link->in_count - link->in_sent);

        if (n == 0)
            return;
        link->in_sent += n > 0 ? (size_t)n : link->in_count - link->in_sent;
    }
}

bool forward_link_step(struct forward_link *link, int64_t now_ms)
{
    size_t before = link->out.length;
    int result = 0;

    if (!link->stream_ended && unsent(link) < ENOUGH)
        result = link->stream->ops->read(link->stream, take, link);
    link->stream_ended |= result != 0;
    if (!link->quiet_since_ms || link->out.length != before)
        link->quiet_since_ms = now_ms;
    if (result < 0 || !to_client(link))
        return true;
    if (link->stream_ended)
        return unsent(link) == 0;
    if (!link->client_ended && link->in_sent == link->in_count && !from_client(link))
        return true;
    to_job(link);
    return link->client_ended && now_ms - link->quiet_since_ms >= SILENCE_MS;
}

int forward_link_polls(const struct forward_link *link, struct pollfd polls[LINK_POLLS])
{
    bool waits = link->in_sent < link->in_count;
    int wake_ms = link->stream->wake_ms ? link->stream->wake_ms : -1;

    polls[0] = (struct pollfd){ .fd = link->stream->fd };
    polls[1] = (struct pollfd){ .fd = link->client };
    if (!link->stream_ended)
        polls[0].events = (unsent(link) < ENOUGH ? POLLIN : 0) |
                          (waits || link->stream->unsent ? POLLOUT : 0);
    polls[1].events = (unsent(link) ? POLLOUT : 0) |
                      (!waits && !link->client_ended && !link->stream_ended ? POLLIN : 0);
    for (size_t i = 0; i < LINK_POLLS; i++)
        if (!polls[i].events)
            polls[i].fd = -1;        /* an end that was seen must not wake us again */
    return link->client_ended && (wake_ms < 0 || wake_ms > SILENCE_MS) ? SILENCE_MS : wake_ms;
}

char *forward_link_trouble(struct forward_link *link)
{
    struct sw_error err = { 0 };
    int status = 0;

    if (link->answered || !link->stream_ended)
        return NULL;
    if (link->words.length > 0)
        return sw_text_printable(link->words.data, strcspn(sw_buf_text(&link->words), "\n"));
    if (link->stream->ops->status(link->stream, &status, &err) < 0)
        return sw_strdup(err.message);
    return NULL;
}
