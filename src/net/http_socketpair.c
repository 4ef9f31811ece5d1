/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_socketpair.c - HTTP over streams that are not sockets of a network: libcurl connects to us, and
 * we hand the other end to a function that connects it (an ssh with a remote command).
 *
 * libcurl could be given a connected socket (CURL_SOCKOPT_ALREADY_CONNECTED), but 7.88, which is
 * Debian 12's, connects it again and fails; to a socket with an abstract name it makes a new
 * connection for every request. So there is a listener whose file is gone as soon as it is made: only
 * we still hold it, and connect to it by our own descriptor. A connect to it is over at once, inside
 * multi_perform, so accepting afterwards finds them all.
 */
#include "net/http_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define WAITING 128

/* Bind it in a folder of our own, keep hold of the file, and take the folder away again. */
static int bind_hidden(struct sw_http *http)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char folder[] = "/tmp/slipway-XXXXXX";
    bool bound;

    if (!mkdtemp(folder))
        return -1;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/s", folder);
    bound = bind(http->listener, (const struct sockaddr *)&address, sizeof address) == 0;
    if (bound) {
        http->listener_file = open(address.sun_path, O_PATH | O_CLOEXEC);
        unlink(address.sun_path);
    }
    rmdir(folder);
    return bound && http->listener_file >= 0 ? 0 : -1;
}

int http_socketpair_open(struct sw_http *http, struct sw_error *err)
{
    http->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (http->listener < 0 || bind_hidden(http) < 0 || listen(http->listener, WAITING) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot open a socket pair");
    snprintf(http->listener_name, sizeof http->listener_name, "/proc/self/fd/%d",
             http->listener_file);
    return 0;
}

static bool is_ours(int fd)
{
    struct ucred peer = { 0 };
    socklen_t length = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == getpid();
}

void http_socketpair_new(struct sw_http *http)
{
    int fd;

    while ((fd = accept4(http->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        if (is_ours(fd))
            http->options.serve(http->options.serve_context, fd);
        else
            close(fd);
}
