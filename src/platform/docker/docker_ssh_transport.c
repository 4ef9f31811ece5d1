/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_ssh_transport.c - an engine on another machine, reached through the shared ssh connection.
 *
 * Each HTTP connection is one `docker system dial-stdio` over there, with its input and output as
 * the stream. Commands that ended are kept until the next one begins: what the
 * last of them said is the reason if nothing was answered.
 */
#include <string.h>

#include "base/clock.h"
#include "net/ssh.h"
#include "platform/docker/docker_endpoint.h"

#define LAST_WORDS_MS 500

struct docker_dialer {
    struct sw_ssh *ssh;
    char *command;
    struct sw_ssh_stream **streams;  /* the newest last */
    size_t count;
    struct sw_error trouble;         /* why the last one could not be made */
};

struct docker_dialer *docker_dialer_open(const struct docker_endpoint *endpoint, struct sw_error *err)
{
    struct sw_ssh_options options = endpoint->ssh;
    struct docker_dialer *dialer = sw_new(struct docker_dialer);

    options.state_dir = endpoint->state_dir;
    options.hosts = endpoint->host;
    options.user = endpoint->user;
    options.port = endpoint->port;
    dialer->ssh = sw_ssh_open(&options, err);
    if (!dialer->ssh) {
        docker_dialer_close(dialer);
        return NULL;
    }
    /* The socket's path holds only harmless characters (docker_endpoint.c). */
    dialer->command = sw_format("docker%s%s system dial-stdio", endpoint->remote_socket ? " -H unix://" : "",
                                endpoint->remote_socket ? endpoint->remote_socket : "");
    return dialer;
}

void docker_dialer_close(struct docker_dialer *dialer)
{
    if (!dialer)
        return;
    for (size_t i = 0; i < dialer->count; i++)
        sw_ssh_stream_close(dialer->streams[i]);
    sw_ssh_close(dialer->ssh);
    free(dialer->streams);
    free(dialer->command);
    free(dialer);
}

struct sw_ssh *docker_dialer_ssh(const struct docker_dialer *dialer)
{
    return dialer ? dialer->ssh : NULL;
}

static void forget_ended(struct docker_dialer *dialer)
{
    size_t kept = 0;

    for (size_t i = 0; i < dialer->count; i++)
        if (sw_ssh_stream_over(dialer->streams[i]))
            sw_ssh_stream_close(dialer->streams[i]);
        else
            dialer->streams[kept++] = dialer->streams[i];
    dialer->count = kept;
}

void docker_dial(void *context, int fd)
{
    struct docker_dialer *dialer = context;
    struct sw_ssh_stream *stream;

    forget_ended(dialer);
    memset(&dialer->trouble, 0, sizeof dialer->trouble);
    stream = sw_ssh_stream_join(dialer->ssh, dialer->command, fd, &dialer->trouble);
    if (!stream)
        return;
    dialer->streams = sw_realloc_array(dialer->streams, dialer->count + 1,
                                       sizeof *dialer->streams);
    dialer->streams[dialer->count++] = stream;
}

int docker_dialer_why(struct docker_dialer *dialer, struct sw_error *err)
{
    if (dialer->trouble.code != SW_OK)
        return sw_pass(err, &dialer->trouble);
    /* Its output ends a little before it does. */
    for (int64_t until_ms = sw_monotonic_ms() + LAST_WORDS_MS; ; sw_sleep_ms(5)) {
        for (size_t i = dialer->count; i-- > 0;)
            if (sw_ssh_stream_over(dialer->streams[i]))
                return sw_ssh_stream_why(dialer->streams[i], err);
        if (sw_monotonic_ms() >= until_ms)
            break;
    }
    return sw_fail(err, SW_E_UNREACHABLE, "the connection was cut");
}
