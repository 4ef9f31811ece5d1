/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loopback.c - a TCP connection to a port of this machine (loopback.h). Used by `slipway forward` on this
 * machine, and by the runner beside a job (runner/port.c).
 */
#include "base/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/auto.h"

int sw_loopback_connect(int port)
{
    const struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port),
                                      .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    sw_autofd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sw_autofd int other = -1;
    int why;

    if (fd < 0 || connect(fd, (const struct sockaddr *)&four, sizeof four) == 0)
        return sw_take_fd(fd);
    why = errno;
    other = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (other >= 0 && connect(other, (const struct sockaddr *)&six, sizeof six) == 0)
        return sw_take_fd(other);
    errno = why;
    return -1;
}
