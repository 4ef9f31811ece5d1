/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listen.c - the watcher's socket: one connection at a time, one word each.
 *
 * A thread of its own answers, so that a look that waits for a slow platform delays no client. A client
 * that says nothing for PATIENCE_MS is dropped. Those that asked for the end are kept until it has come.
 */
#include "watcher/watcher.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"

enum { PATIENCE_MS = 1000, WAITING = 64, LONGEST_LINE = 128, LEAVERS_MOST = 8 };

struct sw_watcher_door {
    struct sw_watcher_service service;
    char *path;
    int socket, closing;             /* the second wakes the thread when it shall end */
    pthread_t thread;
    struct {
        int fd;
        bool yields;
    } leavers[LEAVERS_MOST];         /* clients that wait for our end */
    size_t leaver_count;
};

/* ---- words ------------------------------------------------------------------------------------- */

static void answer(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        return;                      /* the client is gone: it learns nothing, and nothing is lost */
}

static void on_hello(struct sw_watcher_door *door, int *fd, const char *rest)
{
    sw_auto(json) json_t *status = door->service.hello(door->service.context);
    sw_autofree char *text = json_dumps(status, JSON_COMPACT);

    (void)rest;
    if (text)
        answer(*fd, text);
}

static void on_wake(struct sw_watcher_door *door, int *fd, const char *rest)
{
    (void)rest;
    door->service.wake(door->service.context);
    answer(*fd, "ok\n");
}

static void on_secret(struct sw_watcher_door *door, int *fd, const char *rest)
{
    struct sw_error err = { 0 };
    struct sw_secrets *secrets = sw_secrets_receive(*fd, &err);

    if (!secrets) {
        answer(*fd, "not a list of secrets\n");
        return;
    }
    door->service.secret(door->service.context, rest, secrets);
    answer(*fd, "ok\n");
}

static void leave(struct sw_watcher_door *door, int *fd, bool yields)
{
    if (door->leaver_count < LEAVERS_MOST) {
        door->leavers[door->leaver_count].yields = yields;
        door->leavers[door->leaver_count++].fd = sw_take_fd(*fd);
    }
    door->service.stop(door->service.context);
}

static void on_yield(struct sw_watcher_door *door, int *fd, const char *rest)
{
    (void)rest;
    leave(door, fd, true);
}

static void on_stop(struct sw_watcher_door *door, int *fd, const char *rest)
{
    (void)rest;
    leave(door, fd, false);
}

static const struct {
    const char *word;
    void (*act)(struct sw_watcher_door *door, int *fd, const char *rest);
} words[] = {
    { "hello", on_hello }, { "wake", on_wake }, { "secret", on_secret }, { "yield", on_yield },
    { "stop", on_stop },
};

/* The first line, byte by byte: what follows it belongs to the word. false: there is none. */
static bool read_line(int fd, char line[LONGEST_LINE])
{
    for (size_t length = 0; length < LONGEST_LINE; length++) {
        if (read(fd, &line[length], 1) != 1)
            return false;
        if (line[length] == '\n') {
            line[length] = '\0';
            return true;
        }
    }
    return false;
}

static void serve(struct sw_watcher_door *door, int client)
{
    const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
    sw_autofd int fd = client;
    char line[LONGEST_LINE];
    size_t length;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (!sw_socket_is_ours(fd) || !read_line(fd, line))
        return;
    length = strcspn(line, " ");
    for (size_t i = 0; i < SW_COUNT(words); i++)
        if (strlen(words[i].word) == length && strncmp(words[i].word, line, length) == 0) {
            words[i].act(door, &fd, line + length + (line[length] == ' '));
            return;
        }
    if (door->service.stream)
        door->service.stream(door->service.context, line, sw_take_fd(fd));
    else
        answer(fd, "unknown request\n");
}

/* ---- the door ------------------------------------------------------------------------------------ */

static void *listen_on(void *context)
{
    struct sw_watcher_door *door = context;
    struct pollfd ready[] = { { .fd = door->socket, .events = POLLIN },
                              { .fd = door->closing, .events = POLLIN } };

    for (;;) {
        if (poll(ready, SW_COUNT(ready), -1) < 0 && errno != EINTR)
            return NULL;
        if (ready[1].revents)
            return NULL;
        if (ready[0].revents) {
            int client = accept4(door->socket, NULL, NULL, SOCK_CLOEXEC);

            if (client >= 0)
                serve(door, client);
        }
    }
}

static int open_socket(const char *path, struct sw_error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    sw_autofd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || strlen(path) >= sizeof address.sun_path)
        return sw_fail(err, SW_E_IO, "cannot listen at '%s'", path);
    strcpy(address.sun_path, path);
    unlink(path);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0600) < 0 ||
        listen(fd, WAITING) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot listen at '%s'", path);
    return sw_take_fd(fd);
}

struct sw_watcher_door *sw_watcher_listen(const struct sw_watcher_place *place,
                                          const struct sw_watcher_service *service, struct sw_error *err)
{
    sw_autofd int fd = open_socket(place->socket, err);
    sw_autofree struct sw_watcher_door *door = NULL;

    if (fd < 0)
        return NULL;
    door = sw_new(struct sw_watcher_door);
    door->service = *service;
    door->socket = fd;
    door->closing = eventfd(0, EFD_CLOEXEC);
    if (door->closing < 0 || sw_thread_start(&door->thread, 0, listen_on, door) < 0) {
        if (door->closing >= 0)
            close(door->closing);
        return sw_null(sw_fail(err, SW_E_IO, "cannot start a thread"));
    }
    door->path = sw_strdup(place->socket);
    sw_take_fd(fd);
    return sw_take(door);
}

void sw_watcher_close(struct sw_watcher_door *door, const struct sw_secrets *secrets)
{
    const uint64_t one = 1;

    if (!door)
        return;
    if (write(door->closing, &one, sizeof one) == sizeof one)
        pthread_join(door->thread, NULL);
    unlink(door->path);
    for (size_t i = 0; i < door->leaver_count; i++) {
        answer(door->leavers[i].fd, "ok\n");
        if (door->leavers[i].yields && secrets)
            sw_secrets_send(secrets, door->leavers[i].fd);
        close(door->leavers[i].fd);
    }
    close(door->socket);
    close(door->closing);
    free(door->path);
    free(door);
}
