/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_serve.c - HTTP over streams that are not sockets of a network: libcurl connects to us, and
 * we hand the other end to somebody who knows the way (an ssh with a remote command).
 *
 * libcurl could be given a connected socket (CURL_SOCKOPT_ALREADY_CONNECTED), but 7.88, which is
 * Debian 12's, connects it again and fails. So there is a listener nobody else can use: its name
 * is the kernel's choice and leaves no file behind, and a connection of another process is closed.
 * A connect to it is over at once, inside multi_perform, so accepting afterwards finds them all.
 */
#include "net/http_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define WAITING 128

int http_serve_open(struct sw_http *http, struct sw_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    socklen_t length = sizeof address;

    http->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (http->listener < 0 ||
        bind(http->listener, (const struct sockaddr *)&address, sizeof address.sun_family) < 0 ||
        listen(http->listener, WAITING) < 0 ||
        getsockname(http->listener, (struct sockaddr *)&address, &length) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot listen to ourselves");
    /* A NUL and five digits; never another length. */
    snprintf(http->listener_name, sizeof http->listener_name, "%.*s",
             (int)(length - sizeof address.sun_family - 1), address.sun_path + 1);
    return 0;
}

static bool is_ours(int fd)
{
    struct ucred peer = { 0 };
    socklen_t length = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == getpid();
}

void http_serve_new(struct sw_http *http)
{
    int fd;

    while ((fd = accept4(http->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        if (is_ours(fd))
            http->options.serve(http->options.serve_context, fd);
        else
            close(fd);
}
