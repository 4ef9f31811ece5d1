/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - the user's command as our child: its own process group, signals passed on, all orphans
 * reaped, and its end told exactly.
 *
 * We may be the first process of a container, where nobody else reaps and where TERM comes to us
 * alone; so TERM, INT and USR1 go to the command's whole group, and after the grace KILL does.
 * Standard input is left as it is.
 */
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static const int noticed[] = { SIGCHLD, SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP };

static void apply_environment(const json_t *env)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)env, name, value)
        if (json_is_string(value))
            setenv(name, json_string_value(value), 1);
}

/* Owned vector of borrowed words. */
static char **words_of(const struct sw_payload *payload)
{
    size_t count = payload->argv ? json_array_size(payload->argv) : 3;
    char **words = sw_realloc_array(NULL, count + 1, sizeof *words);

    if (payload->argv) {
        for (size_t i = 0; i < count; i++)
            words[i] = (char *)json_string_value(json_array_get(payload->argv, i));
    } else {
        words[0] = (char *)"/bin/sh";
        words[1] = (char *)"-c";
        words[2] = payload->command;
    }
    words[count] = NULL;
    return words;
}

struct start_failure {              /* what the child says when it cannot exec */
    int error;
    bool in_folder;
};

static void become_command(const struct sw_payload *payload, char **words, pid_t parent,
                           int failed)
{
    struct start_failure why = { 0 };
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(RUNNER_NOT_FOUND);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (payload->workdir && chdir(payload->workdir) < 0) {
        why = (struct start_failure){ errno, true };
    } else {
        if (payload->workdir)
            setenv("PWD", payload->workdir, 1);
        execvp(words[0], words);
        why = (struct start_failure){ errno, false };
    }
    if (write(failed, &why, sizeof why) < 0)
        _exit(RUNNER_NOT_EXECUTABLE);
    _exit(RUNNER_NOT_FOUND);
}

static int start_failed(const struct sw_payload *payload, char **words,
                        const struct start_failure *why, struct runner_result *result,
                        struct sw_error *err)
{
    result->exit_code = why->error == ENOENT || why->in_folder ? RUNNER_NOT_FOUND
                                                               : RUNNER_NOT_EXECUTABLE;
    if (why->in_folder)
        return sw_fail(err, SW_E_NOT_FOUND, "cannot enter the folder '%s': %s", payload->workdir,
                       strerror(why->error));
    return sw_fail(err, SW_E_NOT_FOUND, "cannot start '%s': %s", words[0], strerror(why->error));
}

static pid_t start(const struct sw_payload *payload, struct runner_result *result,
                   struct sw_error *err)
{
    sw_autofree char **words = words_of(payload);
    struct start_failure why;
    pid_t parent = getpid(), pid;
    int ends[2];
    ssize_t n;

    if (!words[0] || pipe2(ends, O_CLOEXEC) < 0)
        return sw_fail(err, SW_E_IO, "the payload holds no command");
    pid = fork();
    if (pid == 0)
        become_command(payload, words, parent, ends[1]);
    close(ends[1]);
    do
        n = pid > 0 ? read(ends[0], &why, sizeof why) : -1;
    while (n < 0 && pid > 0 && errno == EINTR);
    close(ends[0]);
    if (pid < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot start a process");
    if (n != (ssize_t)sizeof why)
        return pid;
    waitpid(pid, NULL, 0);
    return start_failed(payload, words, &why, result, err);
}

/* Reap everything that ended; true: the command is among it. */
static bool reap(pid_t command, int *status)
{
    bool over = false;
    int how;

    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;)
        if (pid == command) {
            *status = how;
            over = true;
        }
    return over;
}

static int wait_for(pid_t command, const sigset_t *signals, int64_t grace_ms)
{
    int64_t kill_at = 0;
    int status = 0;

    while (!reap(command, &status)) {
        int64_t left = kill_at ? kill_at - sw_monotonic_ms() : 3600000;
        struct timespec wait = { .tv_sec = left > 0 ? left / 1000 : 0,
                                 .tv_nsec = left > 0 ? left % 1000 * 1000000 : 0 };
        int signal = sigtimedwait(signals, NULL, &wait);

        if (signal < 0 && errno == EAGAIN && kill_at) {
            kill(-command, SIGKILL);
            kill_at = sw_monotonic_ms() + 1000;
        } else if (signal > 0 && signal != SIGCHLD) {
            kill(-command, signal);
            if (!kill_at && (signal == SIGTERM || signal == SIGINT))
                kill_at = sw_monotonic_ms() + grace_ms;
        }
    }
    return status;
}

int runner_run(const struct sw_payload *payload, struct runner_result *result,
               struct sw_error *err)
{
    sigset_t signals;
    pid_t command;
    int status;

    sigemptyset(&signals);
    for (size_t i = 0; i < SW_COUNT(noticed); i++)
        sigaddset(&signals, noticed[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    apply_environment(payload->env);
    command = start(payload, result, err);
    if (command < 0)
        return -1;
    status = wait_for(command, &signals, payload->grace_ms);
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->exit_code = result->signal ? 128 + result->signal : WEXITSTATUS(status);
    return 0;
}
