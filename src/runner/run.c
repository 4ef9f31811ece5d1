/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - the user's command as our child: its own process group, signals passed on, its exact end
 * reported.
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
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "core/command.h"
#include "core/stop.h"
#include "runner/ray.h"

void runner_apply_environment(const struct runner *runner)
{
    const char *name;
    json_t *value;

    runner_hide_secrets(runner->payload);
    json_object_foreach(runner->payload->env, name, value)
        if (json_is_string(value))
            setenv(name, json_string_value(value), 1);
    json_object_foreach(runner->payload->defaults, name, value)
        if (json_is_string(value))
            setenv(name, json_string_value(value), 0);
    if (runner->resume_from)
        setenv("SLIPWAY_RESUME_FROM", runner->resume_from, 1);
    if (runner->ray)
        runner_ray_of_command(runner->ray);
}

/* Owned vector of owned words: an image's entry point, and behind it the command. */
static char **words_of(const struct runner *runner)
{
    const json_t *entrypoint = runner->payload->entrypoint;
    size_t before = json_array_size(entrypoint);
    size_t count = before + (runner->argv ? json_array_size(runner->argv) : 3);
    char **words = sw_realloc_array(NULL, count + 1, sizeof *words);
    sw_autofree char *rank = sw_format("%d", runner->scratch.rank);
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

enum { IN_PROGRAM, IN_FOLDER };     /* steps at which the start may fail */

struct runner_command {
    const struct runner *runner;
    char **words;
    const struct runner_redaction *redaction;
};

static void become_command(void *context, struct sw_start_failure *why)
{
    const struct runner_command *command = context;
    sw_autofree char *workdir = runner_command_folder(command->runner);

    setpgid(0, 0);
    signal(SIGXFSZ, SIG_DFL);
    runner_terminal_hand_to(getpid());
    runner_apply_environment(command->runner);
    if (command->redaction->pump) {
        dup2(command->redaction->out, STDOUT_FILENO);
        dup2(command->redaction->err, STDERR_FILENO);
    }
    if (workdir && chdir(workdir) < 0) {
        *why = (struct sw_start_failure){ errno, IN_FOLDER };
        return;
    }
    if (workdir)
        setenv("PWD", workdir, 1);
    execvp(command->words[0], command->words);
    *why = (struct sw_start_failure){ errno, IN_PROGRAM };
}

static int start_failed(const struct runner *runner, char **words,
                        const struct sw_start_failure *why, struct runner_result *result,
                        struct sw_error *err)
{
    result->exit_code = why->error == ENOENT || why->step == IN_FOLDER ? RUNNER_NOT_FOUND
                                                               : RUNNER_NOT_EXECUTABLE;
    if (why->step == IN_FOLDER) {
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
    struct runner_command command = { runner, words, redaction };
    struct sw_start_failure why;
    pid_t pid;

    if (!words[0])
        return sw_fail(err, SW_E_SPEC, "the payload has no command");
    pid = sw_proc_start(become_command, &command, &why, err);
    return pid < 0 && why.error ? start_failed(runner, words, &why, result, err) : pid;
}

/* Folders that belong to one rank are made by that rank. */
static int make_own_outputs(const struct runner *runner, struct sw_error *err)
{
    sw_autofree char *rank = sw_format("%d", runner->scratch.rank);
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

struct runner_beat_context {
    struct runner *runner;
    struct runner_result *result;
};

static void beat(void *context)
{
    const struct runner_beat_context *running = context;

    runner_beat(running->runner, "running");
    if (running->runner->ray && runner_ray_failed(running->runner->ray))
        running->result->stop_wanted = true;
    if (running->result->failed_peer < 0 && !running->result->stopped) {
        running->result->failed_peer = runner_failed_rank(running->runner);
        running->result->stop_wanted |= running->result->failed_peer >= 0;
    }
}

/* It may finish its round; after a stop half of the outputs' own time is left for the last one. */
static int64_t syncer_until(const struct runner *runner, const struct runner_result *result)
{
    int64_t grace_ms = runner_grace_ms(runner, result);

    return result->stopped_ms ? result->stopped_ms + grace_ms + sw_collect_ms(grace_ms) / 2 : 0;
}

int runner_run(struct runner *runner, struct runner_result *result, struct sw_error *err)
{
    return runner->payload->ray ? runner_ray_run(runner, result, err)
                                : runner_run_command(runner, result, err);
}

int runner_run_command(struct runner *runner, struct runner_result *result, struct sw_error *err)
{
    struct runner_redaction redaction = RUNNER_REDACTION_INIT;
    struct runner_beat_context running = { runner, result };
    int64_t begun = sw_monotonic_ms(), oom_kills = runner_oom_kills();
    struct runner_child command = { .kind = RUNNER_COMMAND, .grace_ms = runner->payload->grace_ms,
                                    .time_grace_ms = runner->payload->time_grace_ms,
                                    .tick = beat, .context = &running };
    pid_t syncer;
    int status;

    runner_block_signals();
    if (make_own_outputs(runner, err) < 0)
        return -1;
    runner_terminal_find();
    runner_listener_start();
    command.pid = runner->payload->redact && runner_redact_begin(&redaction, err) < 0
                      ? -1 : start(runner, &redaction, result, err);
    runner_redact_started(&redaction);
    if (command.pid < 0) {
        runner_terminal_hand_to(getpgrp());
        runner_redact_end(&redaction);
        runner_listener_end();
        return -1;
    }
    syncer = runner_start_syncer(runner);
    if (runner->only_command)
        runner_drop_credentials(runner->payload);
    status = runner_watch(&command, result);
    runner_terminal_hand_to(getpgrp());
    runner->tally->command_ms = sw_monotonic_ms() - begun;
    runner->tally->oom_kills = runner_oom_kills() - oom_kills;
    runner_listener_end();
    runner_redact_end(&redaction);
    runner_stop_syncer(syncer, syncer_until(runner, result));
    runner_end_runaways();
    result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result->exit_code = result->signal ? 128 + result->signal : WEXITSTATUS(status);
    if (result->timed_out)
        result->exit_code = RUNNER_TIME_UP;
    return 0;
}
