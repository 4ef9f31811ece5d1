/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - the user's command as our child: its own process group, signals passed on, and its end
 * told exactly.
 *
 * Standard input, terminal and environment are left as they are, but for what the payload adds and
 * for credentials that were brought for the runner alone.
 */
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/command.h"

static void apply_environment(const struct runner *runner)
{
    const char *name;
    json_t *value;

    runner_hide_secrets(runner->payload);
    json_object_foreach(runner->payload->env, name, value)
        if (json_is_string(value))
            setenv(name, json_string_value(value), 1);
    if (runner->resume_from)
        setenv("SLIPWAY_RESUME_FROM", runner->resume_from, 1);
}

/* Owned vector of owned words: an image's entry point, and behind it the command. */
static char **words_of(const struct runner *runner)
{
    const json_t *entrypoint = runner->payload->entrypoint;
    size_t before = json_array_size(entrypoint);
    size_t count = before + (runner->argv ? json_array_size(runner->argv) : 3);
    char **words = sw_realloc_array(NULL, count + 1, sizeof *words);
    sw_autofree char *rank = sw_format("%d", runner->place.rank);
    const struct sw_fill fill = { .rank = runner->payload->filled ? NULL : rank };

    for (size_t i = 0; i < before; i++)
        words[i] = sw_format("%s", json_string_value(json_array_get(entrypoint, i)));
    if (runner->argv) {
        for (size_t i = before; i < count; i++)
            words[i] = sw_fill_word(json_string_value(json_array_get(runner->argv, i - before)),
                                    &fill);
    } else {
        words[before] = sw_strdup("/bin/sh");
        words[before + 1] = sw_strdup("-c");
        words[before + 2] = sw_fill_command(runner->command, &fill);
    }
    words[count] = NULL;
    return words;
}

static void words_free(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}
SW_DEFINE_AUTO(words, char **, words_free)

struct start_failure {              /* what the child says when it cannot exec */
    int error;
    bool in_folder;
};

static void become_command(const struct runner *runner, char **words, pid_t parent, int failed,
                           const struct runner_redaction *redaction)
{
    sw_autofree char *workdir = runner_command_folder(runner);
    struct start_failure why = { 0 };
    sigset_t none;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(RUNNER_NOT_FOUND);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    apply_environment(runner);
    if (redaction->pump) {
        dup2(redaction->out, STDOUT_FILENO);
        dup2(redaction->err, STDERR_FILENO);
    }
    if (workdir && chdir(workdir) < 0) {
        why = (struct start_failure){ errno, true };
    } else {
        if (workdir)
            setenv("PWD", workdir, 1);
        execvp(words[0], words);
        why = (struct start_failure){ errno, false };
    }
    if (write(failed, &why, sizeof why) < 0)
        _exit(RUNNER_NOT_EXECUTABLE);
    _exit(RUNNER_NOT_FOUND);
}

static int start_failed(const struct runner *runner, char **words,
                        const struct start_failure *why, struct runner_result *result,
                        struct sw_error *err)
{
    result->exit_code = why->error == ENOENT || why->in_folder ? RUNNER_NOT_FOUND
                                                               : RUNNER_NOT_EXECUTABLE;
    if (why->in_folder) {
        sw_autofree char *workdir = runner_command_folder(runner);

        return sw_fail(err, SW_E_NOT_FOUND, "cannot enter the folder '%s': %s", workdir,
                       strerror(why->error));
    }
    return sw_fail(err, SW_E_NOT_FOUND, "cannot start '%s': %s", words[0], strerror(why->error));
}

static pid_t start(const struct runner *runner, const struct runner_redaction *redaction,
                   struct runner_result *result, struct sw_error *err)
{
    sw_auto(words) char **words = words_of(runner);
    struct start_failure why;
    pid_t parent = getpid(), pid;
    int ends[2];
    ssize_t n;

    if (!words[0] || pipe2(ends, O_CLOEXEC) < 0)
        return sw_fail(err, SW_E_IO, "the payload holds no command");
    pid = fork();
    if (pid == 0)
        become_command(runner, words, parent, ends[1], redaction);
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
    return start_failed(runner, words, &why, result, err);
}

/* Folders that belong to one rank are made by that rank. */
static int make_own_outputs(const struct runner *runner, struct sw_error *err)
{
    sw_autofree char *rank = sw_format("%d", runner->place.rank);
    size_t i;
    json_t *entry;

    json_array_foreach(runner->outputs, i, entry) {
        sw_autofree char *path = NULL;

        if (!sw_json_bool(entry, "each_rank", false))
            continue;
        path = sw_fill_word(sw_json_str(entry, "path"), &(struct sw_fill){ .rank = rank });
        if (sw_mkdirs(path, 0777, err) < 0)
            return -1;
    }
    return 0;
}

struct running {
    struct runner *runner;
    struct runner_result *result;
};

static void beat(void *context)
{
    const struct running *running = context;

    runner_beat(running->runner, "running");
    if (running->result->failed_peer < 0 && !running->result->stopped) {
        running->result->failed_peer = runner_peers_look(running->runner);
        running->result->stop_wanted = running->result->failed_peer >= 0;
    }
}

int runner_run(struct runner *runner, struct runner_result *result, struct sw_error *err)
{
    struct runner_redaction redaction = RUNNER_REDACTION_INIT;
    struct running running = { runner, result };
    int64_t begun = sw_monotonic_ms();
    pid_t command, syncer;
    int status;

    runner_block_signals();
    if (make_own_outputs(runner, err) < 0)
        return -1;
    command = runner->payload->redact && runner_redact_begin(&redaction, err) < 0
                  ? -1 : start(runner, &redaction, result, err);
    runner_redact_started(&redaction);
    if (command < 0) {
        runner_redact_end(&redaction);
        return -1;
    }
    syncer = runner_start_syncer(runner);
    status = runner_watch(command, true, runner->payload->grace_ms, result, beat, &running);
    runner->tally->command_ms = sw_monotonic_ms() - begun;
    runner_redact_end(&redaction);
    runner_stop_syncer(syncer, result->stop_at_ms);
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->exit_code = result->signal ? 128 + result->signal : WEXITSTATUS(status);
    if (result->timed_out)
        result->exit_code = RUNNER_TIME_UP;
    return 0;
}
