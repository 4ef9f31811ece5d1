/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_helper.c - ask docker-credential-NAME for a login, the way docker does: the registry on
 * its standard input, {"Username","Secret"} on its output.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/docker/docker_internal.h"

#define ANSWER_MAX 65536
#define PATIENCE_MS 30000

extern char **environ;

void docker_helped_done(struct docker_helped *got)
{
    if (got->secret)
        explicit_bzero(got->secret, strlen(got->secret));
    free(got->secret);
    free(got->user);
    memset(got, 0, sizeof *got);
}

/* Names end up in a path search: no slash, no blank. */
static bool is_name(const char *program)
{
    for (const char *c = program; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            return false;
    return strlen(program) < 100;
}

static pid_t start(const char *program, int input, int output, struct sw_error *err)
{
    char *argv[] = { (char *)program, (char *)"get", NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, pipes;
    pid_t pid = -1;
    int failed;

    sigemptyset(&none);
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &pipes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    failed = posix_spawnp(&pid, program, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        sw_fail(err, SW_E_CREDENTIAL, "%s cannot be started: %s", program, strerror(failed));
        return -1;
    }
    return pid;
}

/* All it says, bounded in size and time. */
static int listen_to(int fd, struct sw_buf *out)
{
    int64_t deadline_ms = sw_monotonic_ms() + PATIENCE_MS;

    sw_buf_reserve(out, ANSWER_MAX);         /* once, so that growing leaves no copy behind */
    while (out->length < ANSWER_MAX - 1) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int64_t left = deadline_ms - sw_monotonic_ms();
        ssize_t got;

        if (left <= 0 || (poll(&wait, 1, (int)left) < 0 && errno != EINTR))
            return -1;
        if (!wait.revents)
            continue;
        got = read(fd, out->data + out->length, ANSWER_MAX - 1 - out->length);
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return -1;
        out->length += got > 0 ? (size_t)got : 0;
        out->data[out->length] = '\0';
    }
    return -1;
}

static int end_of(pid_t pid, bool heard)
{
    int status = 0;

    if (!heard)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return heard && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int read_answer(const char *program, const struct sw_buf *said, int status,
                       struct docker_helped *out, struct sw_error *err)
{
    sw_auto(json) json_t *answer = NULL;
    json_t *secret;

    if (status > 0 && strstr(sw_buf_text(said), "not found"))
        return 0;                            /* it works and has none */
    if (status != 0)
        return sw_fail(err, SW_E_CREDENTIAL, "%s %s", program,
                       status < 0 ? "did not answer in time" : "failed");
    answer = sw_json_parse(said->data, said->length, program, NULL);
    secret = json_object_get(answer, "Secret");
    if (!sw_json_str(answer, "Username") || !json_is_string(secret))
        return sw_fail(err, SW_E_CREDENTIAL, "%s answered something else than a login", program);
    out->user = sw_strdup(sw_json_str(answer, "Username"));
    out->secret = sw_strdup(json_string_value(secret));
    explicit_bzero((char *)json_string_value(secret), json_string_length(secret));
    return 0;
}

int docker_helper_ask(const char *program, const char *registry, struct docker_helped *out,
                      struct sw_error *err)
{
    int to[2] = { -1, -1 }, from[2] = { -1, -1 };
    struct sw_buf said = SW_BUF_INIT;
    bool heard;
    pid_t pid;
    int result;

    if (!is_name(program))
        return sw_fail(err, SW_E_CREDENTIAL, "'%.100s' is no name of a credential helper", program);
    /* A socket, since writing to it can be told not to raise SIGPIPE: it may end unread. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to) < 0)
        return sw_fail_errno(err, SW_E_IO, "%s", program);
    if (pipe2(from, O_CLOEXEC) < 0) {
        close(to[0]);
        close(to[1]);
        return sw_fail_errno(err, SW_E_IO, "%s", program);
    }
    pid = start(program, to[0], from[1], err);
    close(to[0]);
    close(from[1]);
    if (pid > 0)
        (void)!send(to[1], registry, strlen(registry), MSG_NOSIGNAL);
    close(to[1]);
    heard = pid > 0 && listen_to(from[0], &said) == 0;
    close(from[0]);
    result = pid > 0 ? read_answer(program, &said, end_of(pid, heard), out, err) : -1;
    if (said.data)
        explicit_bzero(said.data, said.room);
    sw_buf_done(&said);
    return result;
}
