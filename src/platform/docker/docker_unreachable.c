/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_unreachable.c - why the engine did not answer, and what the user can do about it.
 *
 * libcurl only says "could not connect"; the difference between "you may not" and "it does not
 * run" is what people need, so docker_no_answer() connects to the socket once more itself.
 */
#include "platform/docker/docker_endpoint.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/text.h"
#include "net/ssh_dialer.h"

int docker_socket_trouble(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    sw_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof address.sun_path)
        return ENAMETOOLONG;
    strcpy(address.sun_path, path);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return errno;
    return 0;
}

#define JOIN_GROUP "add yourself to its group (`sudo usermod -aG docker $USER`, then log in again), or" \
                   " use a rootless engine"
static const struct {
    int trouble;
    const char *hint;
} socket_hints[] = {
    { EACCES, JOIN_GROUP },
    { EPERM, JOIN_GROUP },
    { ENOENT, "start Docker (`sudo systemctl start docker`), or set its address with DOCKER_HOST"
              " or `docker: {host: ...}`" },
    { ECONNREFUSED, "the engine is not running: `sudo systemctl start docker`" },
    { ENAMETOOLONG, "a socket's path is limited to 107 bytes" },
};

static int says_nothing(const struct docker_endpoint *endpoint, enum sw_code code, const char *why,
                        struct sw_error *err)
{
    return sw_fail(err, code ? code : SW_E_UNREACHABLE, "the Docker engine at %s does not answer: %s",
                   endpoint->text, why);
}

static void no_socket(const struct docker_endpoint *endpoint, const struct sw_http_reply *reply,
                      struct sw_error *err)
{
    int trouble = docker_socket_trouble(endpoint->socket);

    says_nothing(endpoint, reply->failure == SW_E_TIMEOUT ? SW_E_TIMEOUT : SW_E_UNREACHABLE,
                 trouble ? strerror(trouble) : reply->why, err);
    for (size_t i = 0; i < SW_COUNT(socket_hints); i++)
        if (socket_hints[i].trouble == trouble)
            sw_hint(err, "%s", socket_hints[i].hint);
}

static void no_tls(const struct docker_endpoint *endpoint, const struct sw_http_reply *reply,
                   struct sw_error *err)
{
    bool distrust = reply->failure == SW_E_REFUSED;

    says_nothing(endpoint, distrust ? SW_E_CREDENTIAL : reply->failure, reply->why, err);
    if (distrust)
        sw_hint(err, "its certificate is for another name, or not from the authority in %s",
                endpoint->ca ? endpoint->ca : "this machine's list");
    else
        sw_hint(err, "is it running there, does it listen with TLS, and does it accept the certificate "
                     "%s?", endpoint->cert ? endpoint->cert : "(none given)");
}

static void no_ssh(const struct docker_endpoint *endpoint, struct sw_ssh_dialer *dialer,
                   struct sw_error *err)
{
    sw_ssh_dialer_why(dialer, err);
    sw_wrap(err, "the Docker engine at %s does not answer", endpoint->text);
    if (err && !err->hint[0])
        sw_hint(err, "`ssh %s%s%s docker version` must work without a prompt",
                endpoint->user ? endpoint->user : "", endpoint->user ? "@" : "", endpoint->host);
}

int docker_no_answer(const struct docker_endpoint *endpoint, struct sw_ssh_dialer *dialer, bool met,
                     const struct sw_http_reply *reply, struct sw_error *err)
{
    bool other = reply->failure == SW_E_UNSUPPORTED;       /* it speaks, but not HTTP */

    switch (endpoint->way) {
    case DOCKER_UNIX:
        no_socket(endpoint, reply, err);
        break;
    case DOCKER_TLS:
        no_tls(endpoint, reply, err);
        break;
    case DOCKER_SSH:
        /* We closed the connection ourselves, so neither ssh nor docker there has a reason to give. */
        if (reply->failure == SW_E_TIMEOUT)
            says_nothing(endpoint, SW_E_TIMEOUT, reply->why, err);
        else
            no_ssh(endpoint, dialer, err);
        break;
    case DOCKER_TCP:
        says_nothing(endpoint, other ? SW_E_REFUSED : reply->failure, reply->why, err);
        sw_hint(err, "is it running there, and does it listen on that port? (%s)",
                endpoint->origin);
    }
    if (met && err && err->code != SW_E_TIMEOUT)
        err->code = SW_E_UNREACHABLE;
    return -1;
}
