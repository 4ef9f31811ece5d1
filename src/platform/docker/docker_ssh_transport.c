/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_ssh_transport.c - an engine on another machine, reached through the shared ssh connection: each HTTP
 * connection is one `docker system dial-stdio` there.
 */
#include "net/ssh_dialer.h"
#include "platform/docker/docker_endpoint.h"

struct sw_ssh_dialer *docker_dialer_open(const struct docker_endpoint *endpoint, struct sw_error *err)
{
    struct sw_ssh_options options = endpoint->ssh;
    /* The socket's path holds only harmless characters (docker_endpoint.c). */
    sw_autofree char *command = sw_format("docker%s%s system dial-stdio",
                                          endpoint->remote_socket ? " -H unix://" : "",
                                          endpoint->remote_socket ? endpoint->remote_socket : "");

    options.state_dir = endpoint->state_dir;
    options.hosts = endpoint->host;
    options.user = endpoint->user;
    options.port = endpoint->port;
    return sw_ssh_dialer_open(&options, command, 0, err);
}
