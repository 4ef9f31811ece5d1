/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_exec.c - a command beside a running rank, with the caller's own input, output and terminal.
 *
 * It gets what the rank's own command got: the command's environment (read from a process of it,
 * since secrets stand nowhere else), the payload's, its folder, CPUs and cgroup. It carries the
 * job's mark, and a flag in the folder makes the supervisor look for such guests when it ends the
 * job; we watch for the last word, too, so that nothing begun at that very moment is left behind.
 */
#include "platform/local/local_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "core/payload.h"

extern char **environ;

enum { CHECK_EVERY_MS = 100, GUEST_GRACE_MS = 2000, COMMAND_MS = 2000 };

struct guest {                         /* a process beside the rank */
    struct sw_stream stream;
    const struct sw_exec *what;        /* while it is started */
    pid_t pid;                         /* 0: it could not be started, or ended */
    int exit_status;                   /* then */

    char *folder;                      /* the attempt's */
    pid_t runner;
    char *inherited;                   /* the command's environment as /proc gives it */
    size_t inherited_length;
    char **environment;                /* vector of owned texts */
    size_t count;
    struct sw_payload *payload;
    char *runner_program;              /* to execute as SW_EXEC_RUNNER; NULL: another command */
    char *cgroup;                      /* file to write our pid to; NULL: none */
    cpu_set_t cpus;
};

static void guest_close(struct sw_stream *stream)
{
    struct guest *guest = (struct guest *)stream;

    for (size_t i = 0; i < guest->count; i++)
        free(guest->environment[i]);
    free(guest->environment);
    if (guest->inherited)
        explicit_bzero(guest->inherited, guest->inherited_length);
    free(guest->inherited);
    free(guest->folder);
    free(guest->runner_program);
    free(guest->cgroup);
    sw_payload_free(guest->payload);
    free(guest);
}

/* ---- the rank ------------------------------------------------------------------------------- */

static int not_running(const char *id, const json_t *status, struct sw_error *err)
{
    const char *state = sw_json_str(status, "state"), *message = sw_json_str(status, "message");

    sw_fail(err, SW_E_CONFLICT, "'%s' is not running: it is %s%s%s", id, state ? state : "not here",
            sw_text_empty(message) ? "" : ", ", message ? message : "");
    return sw_hint(err, "a command can only run in a running job; see `slipway status %s`",
                   id);
}

static char *environment_of(const struct guest *guest, pid_t pid, size_t *length)
{
    sw_autofree char *text = local_environ(pid, length);

    return sw_text_same(local_mark_in(text, *length), guest->folder) ? sw_take(text) : NULL;
}

/* Of the processes below the runner the nearest that has another environment than the runner's own: that
 * one was executed, by the runner or by the command. The runner's is not readable as a rule; where it is,
 * it holds no secrets. */
static bool find_command(struct guest *guest)
{
    sw_auto(local_processes) struct local_processes below = { 0 };
    size_t own_length = 0;
    sw_autofree char *own = environment_of(guest, guest->runner, &own_length);

    local_tree_below(guest->runner, &below);
    for (size_t i = 0; i < below.count; i++) {
        size_t length = 0;
        char *text = environment_of(guest, below.items[i].pid, &length);

        if (text && !(own && length == own_length && memcmp(text, own, length) == 0)) {
            guest->inherited = text;
            guest->inherited_length = length;
            return true;
        }
        free(text);
    }
    if (own && json_array_size(guest->payload->secrets) == 0) {
        guest->inherited = sw_take(own);
        guest->inherited_length = own_length;
    }
    return guest->inherited != NULL;
}

static int read_payload(struct guest *guest, struct sw_error *err)
{
    sw_auto(json) json_t *document = local_record_read(guest->folder, LOCAL_PAYLOAD);

    guest->payload = document ? sw_payload_from_json(document, err) : NULL;
    return guest->payload ? 0 : sw_fail(err, SW_E_IO, "cannot read '%s/%s'", guest->folder,
                                        LOCAL_PAYLOAD);
}

/* The status may be old and its pid used again: what counts is that processes below carry the job's
 * mark, and that the supervisor is there. The command itself may have begun just now. */
static int find_rank(const struct sw_jobref *job, int replica, struct guest *guest, struct sw_error *err)
{
    sw_auto(json) json_t *over = local_record_read(guest->folder, LOCAL_EXIT);
    sw_auto(json) json_t *status = local_record_read(guest->folder, LOCAL_STATUS);
    const json_t *ranks = json_object_get(status, "replicas");
    const json_t *rank = json_array_get(ranks, (size_t)(replica < 0 ? 0 : replica));
    int64_t until = sw_monotonic_ms() + COMMAND_MS;

    if (over || !local_lock_held(guest->folder) ||
        !sw_text_same(sw_json_str(status, "state"), sw_state_name(SW_RUNNING)))
        return not_running(job->id, over ? over : status, err);
    if (!rank)
        return sw_fail(err, SW_E_NOT_FOUND, "'%s' has no rank %d, it has %zu", job->id, replica,
                       json_array_size(ranks));
    guest->runner = (pid_t)sw_json_int(rank, "pid", 0);
    if (read_payload(guest, err) < 0)
        return -1;
    while (!find_command(guest)) {
        if (sw_monotonic_ms() > until || local_has(guest->folder, LOCAL_EXIT))
            return sw_fail(err, SW_E_CONFLICT, "rank %d of '%s' is not running (any more)",
                           replica < 0 ? 0 : replica, job->id);
        sw_sleep_ms(10);
    }
    return 0;
}

/* ---- environment ---------------------------------------------------------------------------- */

/* `text`, taken: "NAME=value"; replaces one of that name. */
static void add_variable(struct guest *guest, char *text)
{
    size_t length = strcspn(text, "="), i = 0;

    while (i < guest->count && (strncmp(guest->environment[i], text, length) != 0 ||
                                guest->environment[i][length] != '='))
        i++;
    if (i == guest->count) {
        guest->environment = sw_realloc_array(guest->environment, ++guest->count + 1,
                                              sizeof *guest->environment);
        guest->environment[guest->count] = NULL;
    } else {
        free(guest->environment[i]);
    }
    guest->environment[i] = text;
}

static void make_environment(struct guest *guest, const char *term)
{
    const char *at = guest->inherited, *end = at + guest->inherited_length, *name;
    json_t *value;

    for (; at < end; at += strlen(at) + 1)
        add_variable(guest, sw_strdup(at));
    json_object_foreach(guest->payload->env, name, value)
        if (json_is_string(value))
            add_variable(guest, sw_format("%s=%s", name, json_string_value(value)));
    if (guest->payload->command_dir)
        add_variable(guest, sw_format("PWD=%s", guest->payload->command_dir));
    if (term)
        add_variable(guest, sw_format("TERM=%s", term));     /* the terminal is the caller's */
}

/* ---- limits --------------------------------------------------------------------------------- */

/* The cgroup that a supervisor made for the job of `pid`; NULL: none. */
static char *cgroup_of_job(pid_t pid)
{
    sw_autofree char *place = local_cgroup_of(pid);
    const char *name = place ? strrchr(place, '/') : NULL;

    return name && sw_text_starts(name + 1, LOCAL_CGROUP_PREFIX)
               ? sw_format(LOCAL_CGROUPS "%s", place) : NULL;
}

static void find_limits(struct guest *guest)
{
    sw_autofree char *cgroup = cgroup_of_job(guest->runner);

    if (sched_getaffinity(guest->runner, sizeof guest->cpus, &guest->cpus) < 0)
        CPU_ZERO(&guest->cpus);
    if (cgroup)
        guest->cgroup = sw_path_join(cgroup, "cgroup.procs");
}

/* ---- the process ---------------------------------------------------------------------------- */

enum { IN_PROGRAM, IN_LIMITS, IN_FOLDER };       /* steps at which the start may fail */

static void become_guest(void *context, struct sw_start_failure *why)
{
    const struct guest *guest = context;
    const struct sw_exec *what = guest->what;
    sw_autofd int cgroup = guest->cgroup ? open(guest->cgroup, O_WRONLY | O_CLOEXEC) : -1;

    sw_proc_take_fds(what->fds);
    if (CPU_COUNT(&guest->cpus) > 0)
        sched_setaffinity(0, sizeof guest->cpus, &guest->cpus);
    if (guest->cgroup && (cgroup < 0 || write(cgroup, "0", 1) != 1)) {
        why->step = IN_LIMITS;
    } else if (guest->payload->command_dir && chdir(guest->payload->command_dir) < 0) {
        why->step = IN_FOLDER;
    } else {
        environ = guest->environment;                 /* its PATH finds the program */
        execvp(guest->runner_program ? guest->runner_program : what->argv[0], what->argv);
    }
    why->error = errno;
}

static int explain(const struct guest *guest, const struct sw_start_failure *why, struct sw_error *err)
{
    if (why->step == IN_LIMITS)
        return sw_fail(err, SW_E_REFUSED, "cannot join the limits of the job: %s",
                       strerror(why->error));
    return sw_fail(err, SW_E_NOT_FOUND, "cannot enter the folder '%s': %s", guest->payload->command_dir,
                   strerror(why->error));
}

/* As a shell does it: 127 when there is no such command, 126 when it cannot be executed. */
static void say_not_started(struct guest *guest, const struct sw_exec *what, int error)
{
    sw_autofree char *text = sw_format("slipway: cannot start '%s': %s\n", what->argv[0], strerror(error));

    sw_write_all(what->fds[2], text, strlen(text));
    guest->exit_status = error == ENOENT ? 127 : 126;
}

static int start(struct guest *guest, const struct sw_exec *what, struct sw_error *err)
{
    struct sw_start_failure why;
    pid_t pid;

    guest->what = what;
    if (strcmp(what->argv[0], SW_EXEC_RUNNER) == 0 &&
        !(guest->runner_program = sw_helper_path(SW_EXEC_RUNNER, err)))
        return -1;
    make_environment(guest, what->term);
    find_limits(guest);
    pid = sw_proc_start(become_guest, guest, &why, err);
    if (pid < 0 && (!why.error || why.step != IN_PROGRAM))
        return why.error ? explain(guest, &why, err) : -1;
    if (pid < 0)
        say_not_started(guest, what, why.error);
    guest->pid = pid < 0 ? 0 : pid;
    return 0;
}

/* ---- the stream: only the end is awaited ------------------------------------------------------ */

/* Until it ends, or the job does: then it has a moment to end, too. */
static int await_end(const struct guest *guest)
{
    sw_autofd int process = (int)syscall(SYS_pidfd_open, guest->pid, 0);
    struct pollfd wait = { .fd = process, .events = POLLIN };
    int64_t kill_at = 0;
    int status = 0;

    while (waitpid(guest->pid, &status, WNOHANG) == 0) {
        if (kill_at && sw_monotonic_ms() >= kill_at) {
            kill(guest->pid, SIGKILL);
        } else if (!kill_at && local_has(guest->folder, LOCAL_EXIT)) {
            kill(guest->pid, SIGTERM);
            kill_at = sw_monotonic_ms() + GUEST_GRACE_MS;
        }
        poll(&wait, 1, process < 0 ? 20 : CHECK_EVERY_MS);
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int guest_read(struct sw_stream *stream, sw_stream_put *put, void *context)
{
    struct guest *guest = (struct guest *)stream;

    (void)put;
    (void)context;
    if (guest->pid > 0)
        guest->exit_status = await_end(guest);
    guest->pid = 0;
    return 1;
}

static int guest_status(struct sw_stream *stream, int *exit_status, struct sw_error *err)
{
    (void)err;
    *exit_status = ((struct guest *)stream)->exit_status;
    return 0;
}

int local_exec_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                    struct sw_stream **out, struct sw_error *err)
{
    static const struct sw_stream_ops ops = { .read = guest_read, .status = guest_status,
                                              .close = guest_close };
    struct guest *guest = sw_new(struct guest);

    guest->stream = (struct sw_stream){ .ops = &ops, .fd = -1, .passed = true };
    guest->folder = local_attempt_folder(conn, job->id, job->attempt);
    if (find_rank(job, what->replica, guest, err) < 0 ||
        local_flag(guest->folder, LOCAL_GUESTS, err) < 0 || start(guest, what, err) < 0) {
        guest_close(&guest->stream);
        return -1;
    }
    *out = &guest->stream;
    return 0;
}
