/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_ports.c - a block of ports that is free on this machine, and stays ours.
 *
 * Ray has to bind the ports itself, so they cannot be held for it. What keeps two jobs from choosing the same
 * block is a socket whose name is the block's number in the abstract namespace: it exists once per network
 * namespace, as the ports do, whatever containers or users there are, and goes with the process that has it.
 * Programs that are none of ours are seen by trying every port of the block.
 */
#include "runner/ray.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"

/* -1: another job has it. */
static int lock(int block)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "slipway-ray-%d", block);
    sw_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&name,
                       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) < 0)
        return -1;
    return sw_take_fd(fd);
}

static bool is_free(int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    sw_autofd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;

    /* As Ray's servers do: a connection that is closing does not keep it from being used again. */
    return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
           bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0;
}

static bool all_free(int block)
{
    for (int port = block; port < block + RAY_BLOCK; port++)
        if (!is_free(port))
            return false;
    return true;
}

int ray_ports_take(const char *key, struct ray_ports *ports, struct sw_error *err)
{
    for (int nth = 0; nth < RAY_BLOCKS; nth++) {
        int block = ray_block(key, nth), fd = lock(block);

        if (fd >= 0 && all_free(block)) {
            *ports = (struct ray_ports){ block, fd };
            return 0;
        }
        if (fd >= 0)
            close(fd);
    }
    sw_fail(err, SW_E_REFUSED, "this machine has no %d free ports in a row between %d and %d for Ray",
            RAY_BLOCK, RAY_FIRST, RAY_FIRST + RAY_BLOCKS * RAY_BLOCK);
    return sw_hint(err, "end other Ray clusters here, or run it on another node");
}

/* ---- addresses -------------------------------------------------------------------------------------- */

int ray_resolve(const char *host, char out[16], struct sw_error *err)
{
    const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;

    if (getaddrinfo(host, NULL, &wanted, &found) != 0)
        return sw_fail(err, SW_E_UNREACHABLE, "the name '%s' has no address", host);
    inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)found->ai_addr)->sin_addr, out, 16);
    freeaddrinfo(found);
    return 0;
}

bool ray_is_loopback(const char *ip)
{
    return strncmp(ip, "127.", 4) == 0;
}

int ray_own_ip(const char *towards, char out[16], struct sw_error *err)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(9) };
    socklen_t size = sizeof at;
    sw_autofd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char ip[16];

    if (ray_resolve(towards, ip, err) < 0)
        return -1;
    inet_pton(AF_INET, ip, &at.sin_addr);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at) < 0 ||      /* sends nothing */
        getsockname(fd, (struct sockaddr *)&at, &size) < 0)
        return sw_fail_errno(err, SW_E_UNREACHABLE, "there is no way to '%s'", towards);
    inet_ntop(AF_INET, &at.sin_addr, out, 16);
    return 0;
}
