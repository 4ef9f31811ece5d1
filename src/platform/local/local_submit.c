/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_submit.c - hand a plan to a new supervisor, at most once.
 *
 * A conversation over two descriptors makes "at most once" certain whenever the client dies:
 *
 *     client                                   supervisor (own session, double fork)
 *     writes the folder, starts it       ->    takes the folder's lock
 *     secrets on descriptor 3, end       ->    reads them all
 *                                        <-    "ready", or "known PID" when it was started before
 *     "go"                               ->    writes supervisor.json: from here on the job exists
 *                                        <-    "ok PID"
 *
 * A client that dies before "go" leaves a supervisor that reads end-of-file and leaves, too. No
 * file is synced to disk on the way: the plan is in the store already, and a machine that loses
 * these files has lost the processes with them.
 */
#include "platform/local/local_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "plan/bundle.h"

extern char **environ;

enum { ANSWER_DEADLINE_MS = 20000 };

struct talk {                      /* our ends of the conversation */
    int secrets;
    int control;
};

static void talk_auto(struct talk *talk)
{
    if (talk->secrets >= 0)
        close(talk->secrets);
    if (talk->control >= 0)
        close(talk->control);
}

void local_receipt(struct sw_submission *receipt, const char *folder, const char *results_dir)
{
    sw_auto(json) json_t *supervisor = local_record_read(folder, LOCAL_SUPERVISOR);
    int64_t pid = sw_json_int(supervisor, "pid", 0);

    if (pid > 0)
        snprintf(receipt->remote_id, sizeof receipt->remote_id, "%lld", (long long)pid);
    receipt->details = sw_json_object(SW_STR("folder", folder), SW_STR("results_dir", results_dir),
                                      SW_STR_OPT("host", sw_json_str(supervisor, "host")));
    receipt->results_dir = sw_strdup(results_dir);
}

/* Packed once, at the first attempt: a later one runs the same code, whatever was edited since. */
static int write_code(const struct local_job *job, int attempt, struct sw_error *err)
{
    const struct sw_plan *plan = &job->plan;
    sw_autofree char *path = sw_path_join(job->folder, LOCAL_CODE);
    sw_autofree char *first = sw_format("%s/../attempt-1/" LOCAL_CODE, job->folder);
    sw_auto(sw_bundle) struct sw_bundle bundle = { 0 };

    if (!plan->code)
        return 0;
    if (attempt > 1 && sw_file_exists(first))
        return sw_copy_tree(first, path, NULL, NULL, err);
    if (sw_bundle_code(plan->code, plan->base_dir, &bundle, NULL, err) < 0)
        return -1;
    return sw_file_write(path, bundle.bytes, bundle.length, 0600, err);
}

static int write_folder(const struct local_job *job, int attempt, struct sw_error *err)
{
    sw_auto(sw_payload) struct sw_payload *payload = local_payload(job, err);
    sw_auto(json) json_t *plan = NULL, *payload_json = NULL, *launch = NULL;
    sw_autofree char *logs = sw_path_join(job->folder, "logs");
    sw_autofree char *runner = sw_helper_path("slipway-runner", err);

    if (!payload || !runner || sw_mkdirs(logs, 0700, err) < 0 ||
        sw_mkdirs(job->work_dir, 0700, err) < 0 || sw_mkdirs(job->results_dir, 0777, err) < 0 ||
        write_code(job, attempt, err) < 0)
        return -1;
    plan = sw_plan_to_json(&job->plan);
    payload_json = sw_payload_to_json(payload);
    launch = local_launch(job, attempt);
    json_object_set_new(launch, "runner", sw_json_text(runner));
    if (!sw_text_empty(getenv("SLIPWAY_GPU_LEASE_DIR")))
        json_object_set_new(launch, "lease_dir", sw_json_text(getenv("SLIPWAY_GPU_LEASE_DIR")));
    if (local_record_write(job->folder, LOCAL_PAYLOAD, payload_json, err) < 0 ||
        local_record_write(job->folder, LOCAL_LAUNCH, launch, err) < 0 ||
        local_record_write(job->folder, LOCAL_PLAN, plan, err) < 0)
        return -1;
    return 0;
}

/* Both ends far above 0-4, so that moving them to 3 and 4 in the child overwrites neither. */
static int pair_out_of_the_way(int ends[2], bool is_socket)
{
    int made[2];

    if ((is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, made)
                   : pipe2(made, O_CLOEXEC)) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(made[i], F_DUPFD_CLOEXEC, 16);
        close(made[i]);
    }
    if (ends[0] >= 0 && ends[1] >= 0)
        return 0;
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    errno = EMFILE;              /* also when no descriptor may be as large as 16 */
    return -1;
}

static int spawn_program(const char *program, const char *folder, char **environment,
                         int secrets, int control, pid_t *pid)
{
    char *const argv[] = { (char *)"slipway-supervisor", (char *)folder, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int failed;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, 0, 1);
    posix_spawn_file_actions_adddup2(&actions, 0, 2);
    posix_spawn_file_actions_adddup2(&actions, secrets, 3);
    posix_spawn_file_actions_adddup2(&actions, control, 4);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    failed = posix_spawn(pid, program, &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    errno = failed;
    return failed ? -1 : 0;
}

static int start_supervisor(const struct local_job *job, struct talk *talk, struct sw_error *err)
{
    sw_autofree char *program = sw_helper_path("slipway-supervisor", err);
    sw_autofree char **environment = local_env_for(job, environ);
    int secrets[2], control[2], result;
    pid_t pid = 0;

    if (!program)
        return -1;
    if (pair_out_of_the_way(secrets, false) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot make a pipe");
    if (pair_out_of_the_way(control, true) < 0) {
        close(secrets[0]);
        close(secrets[1]);
        return sw_fail_errno(err, SW_E_IO, "cannot make a socket pair");
    }
    result = spawn_program(program, job->folder, environment, secrets[0], control[1], &pid);
    if (result < 0)
        sw_fail_errno(err, SW_E_IO, "cannot start '%s'", program);
    close(secrets[0]);
    close(control[1]);
    *talk = (struct talk){ .secrets = secrets[1], .control = control[0] };
    /* The first of its two forks ends at once; a caller that ignores SIGCHLD has reaped it. */
    while (result == 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return result;
}

/* A supervisor that died early must not end the client by SIGPIPE, whatever handler it has. */
static void send_secrets(struct talk *talk, const struct sw_secrets *secrets)
{
    sigset_t pipe_only, before, pending;
    const struct timespec at_once = { 0, 0 };
    bool was_pending;

    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    if (sw_secrets_send(secrets, talk->secrets) < 0 && errno == EPIPE && !was_pending)
        while (sigtimedwait(&pipe_only, NULL, &at_once) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(talk->secrets);
    talk->secrets = -1;
}

/* One line of the supervisor; -1 when it says nothing more. */
static int hear(const struct talk *talk, char *line, size_t size)
{
    int64_t deadline = sw_monotonic_ms() + ANSWER_DEADLINE_MS;
    size_t length = 0;

    while (length + 1 < size) {
        struct pollfd wait = { .fd = talk->control, .events = POLLIN };
        int64_t left = deadline - sw_monotonic_ms();
        ssize_t n;

        if (left <= 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        if (poll(&wait, 1, (int)left) <= 0)
            continue;
        n = recv(talk->control, line + length, 1, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = ECONNRESET;
            return -1;
        }
        if (line[length] == '\n')
            break;
        length++;
    }
    line[length] = '\0';
    return 0;
}

static int converse(struct talk *talk, const struct sw_secrets *secrets, const char *folder,
                    struct sw_error *err)
{
    char line[1024];

    send_secrets(talk, secrets);
    if (hear(talk, line, sizeof line) < 0)
        return sw_fail(err, SW_E_IO, "the supervisor ended before it was ready");
    if (sw_text_starts(line, "known"))
        return 0;
    if (!sw_text_starts(line, "ready"))
        return sw_fail(err, SW_E_IO, "%s", line);
    if (send(talk->control, "go\n", 3, MSG_NOSIGNAL) == 3 && hear(talk, line, sizeof line) == 0)
        return sw_text_starts(line, "ok") ? 0 : sw_fail(err, SW_E_IO, "%s", line);
    /* It heard "go" or it did not: the record tells, unless it is still about to write it. */
    if (local_has(folder, LOCAL_SUPERVISOR) || local_has(folder, LOCAL_EXIT))
        return 0;
    if (local_lock_held(folder)) {
        sw_fail(err, SW_E_UNREACHABLE, "the supervisor does not answer");
        return sw_hint(err, "`slipway status` will tell whether the job was started");
    }
    return sw_fail(err, SW_E_IO, "the supervisor ended before it started the job");
}

static int earlier_attempt_is_over(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                                   struct sw_error *err)
{
    sw_autofree char *before = NULL;
    char host[128];

    if (attempt <= 1)
        return 0;
    before = local_attempt_folder(conn, plan->job_id, attempt - 1);
    if (local_is_elsewhere(before, host))
        return sw_fail(err, SW_E_CONFLICT, "attempt %d of '%s' may still run on '%s'", attempt - 1,
                       plan->job_id, host);
    if (!local_lock_held(before) || local_has(before, LOCAL_EXIT))
        return 0;
    return sw_fail(err, SW_E_CONFLICT, "attempt %d of '%s' still runs", attempt - 1, plan->job_id);
}

int local_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                 const struct sw_secrets *secrets, struct sw_submission *receipt,
                 struct sw_error *err)
{
    sw_auto(local_job) struct local_job job = { 0 };
    sw_auto(talk) struct talk talk = { -1, -1 };

    if (local_job_init(&job, conn, plan, attempt, LOCAL_MOUNTS_CLONE, err) < 0 ||
        earlier_attempt_is_over(conn, plan, attempt, err) < 0)
        return -1;
    if (!local_has(job.folder, LOCAL_SUPERVISOR) && !local_has(job.folder, LOCAL_EXIT)) {
        if (write_folder(&job, attempt, err) < 0 ||
            start_supervisor(&job, &talk, err) < 0 ||
            converse(&talk, secrets, job.folder, err) < 0)
            return sw_wrap(err, "cannot start '%s'", plan->job_id);
    }
    local_receipt(receipt, job.folder, job.results_dir);
    return 0;
}
