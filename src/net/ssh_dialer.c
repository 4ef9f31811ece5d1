/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_dialer.c - HTTP connections through ssh.
 *
 * Streams that ended are kept until the next one begins: what the last of them said is the reason if
 * nothing was answered.
 */
#include "net/ssh_dialer.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"

#define LAST_WORDS_MS 500

struct sw_ssh_dialer {
    pthread_mutex_t lock;            /* connections are made by any thread */
    struct sw_ssh *ssh;
    char *command;                   /* NULL: the port */
    int port;
    struct sw_ssh_stream **streams;  /* the newest last */
    size_t count;
    struct sw_error trouble;         /* why the last one could not be made */
};

struct sw_ssh_dialer *sw_ssh_dialer_open(const struct sw_ssh_options *options, const char *command, int port,
                                         struct sw_error *err)
{
    sw_auto(sw_ssh_dialer) struct sw_ssh_dialer *dialer = sw_new(struct sw_ssh_dialer);

    pthread_mutex_init(&dialer->lock, NULL);
    dialer->command = sw_strdup(command);
    dialer->port = port;
    dialer->ssh = sw_ssh_open(options, err);
    return dialer->ssh ? sw_take(dialer) : NULL;
}

void sw_ssh_dialer_close(struct sw_ssh_dialer *dialer)
{
    if (!dialer)
        return;
    for (size_t i = 0; i < dialer->count; i++)
        sw_ssh_stream_close(dialer->streams[i]);
    sw_ssh_close(dialer->ssh);
    pthread_mutex_destroy(&dialer->lock);
    free(dialer->streams);
    free(dialer->command);
    free(dialer);
}

struct sw_ssh *sw_ssh_dialer_ssh(const struct sw_ssh_dialer *dialer)
{
    return dialer ? dialer->ssh : NULL;
}

static void forget_ended(struct sw_ssh_dialer *dialer)
{
    size_t kept = 0;

    for (size_t i = 0; i < dialer->count; i++)
        if (sw_ssh_stream_over(dialer->streams[i]))
            sw_ssh_stream_close(dialer->streams[i]);
        else
            dialer->streams[kept++] = dialer->streams[i];
    dialer->count = kept;
}

void sw_ssh_dial(void *context, int fd)
{
    struct sw_ssh_dialer *dialer = context;
    struct sw_ssh_stream *stream;

    pthread_mutex_lock(&dialer->lock);
    forget_ended(dialer);
    dialer->trouble = (struct sw_error){ 0 };
    stream = dialer->command ? sw_ssh_stream_join(dialer->ssh, dialer->command, fd, &dialer->trouble)
                             : sw_ssh_stream_port(dialer->ssh, dialer->port, fd, &dialer->trouble);
    if (stream) {
        dialer->streams = sw_realloc_array(dialer->streams, dialer->count + 1, sizeof *dialer->streams);
        dialer->streams[dialer->count++] = stream;
    }
    pthread_mutex_unlock(&dialer->lock);
}

/* The newest that ended; NULL: none did. */
static struct sw_ssh_stream *last_ended(struct sw_ssh_dialer *dialer)
{
    for (size_t i = dialer->count; i-- > 0;)
        if (sw_ssh_stream_over(dialer->streams[i]))
            return dialer->streams[i];
    return NULL;
}

int sw_ssh_dialer_why(struct sw_ssh_dialer *dialer, struct sw_error *err)
{
    struct sw_ssh_stream *ended = NULL;
    int result;

    pthread_mutex_lock(&dialer->lock);
    /* Its output ends a little before it does. */
    for (int64_t until_ms = sw_monotonic_ms() + LAST_WORDS_MS; dialer->trouble.code == SW_OK;
         sw_sleep_ms(5)) {
        ended = last_ended(dialer);
        if (ended || sw_monotonic_ms() >= until_ms)
            break;
    }
    if (dialer->trouble.code != SW_OK)
        result = sw_pass(err, &dialer->trouble);
    else if (ended)
        result = sw_ssh_stream_why(ended, err);
    else
        result = sw_fail(err, SW_E_UNREACHABLE, "the connection was cut");
    if (!dialer->command)
        result = sw_wrap(err, "cannot reach port %d through ssh", dialer->port);
    pthread_mutex_unlock(&dialer->lock);
    return result;
}
