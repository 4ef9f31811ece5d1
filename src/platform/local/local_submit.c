/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_submit.c - hand a plan to a new supervisor, at most once.
 *
 * A conversation over a socket, one message at a time, makes "at most once" certain whenever the
 * client dies:
 *
 *     client                                   supervisor (own session, double fork)
 *     writes the folder, starts it       ->    takes the folder's lock
 *     (descriptor 3: secrets)                  reads them all
 *                                        <-    "ready", or "known" when it was started before
 *     "go"                               ->    writes supervisor.json: from here on the job exists
 *                                        <-    "ok"
 *
 * When the client dies before "go", the supervisor reads end-of-file and exits. No file is synced to disk
 * on the way: the plan is in the store already, and a machine that loses these files has lost the
 * processes with them.
 */
#include "platform/local/local_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/text.h"
#include "plan/bundle.h"
#include "storage/settings.h"

extern char **environ;

enum { ANSWER_DEADLINE_S = 20 };

void local_submission(struct sw_submission *receipt, const char *folder, const char *results_dir)
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

/* ---- what of the client's environment a job may see ----------------------------------------
 *
 * A job on this machine inherits the environment, as any command would: PATH, conda, proxies.
 * What looks like a credential stays behind unless the job names it under `secrets`; then it
 * travels by a file in memory. The environment is handed on and never written down. */

/* Besides those of the data (storage/settings.h). */
static const char *const credential_endings[] = {
    "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_API_KEY", "_SECRET_KEY", "_ACCESS_KEY",
    "_PRIVATE_KEY",
};

/* With `inherit_env: false` only what a program cannot sensibly be without. */
static const char *const bare_minimum[] = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM",
};

bool local_env_is_credential(const char *name)
{
    const struct sw_setting_row *setting = sw_setting_find(name, strlen(name));
    bool is = (setting && setting->way == SW_SETTING_SECRET) || strcmp(name, "CLOUD_METADATA") == 0;

    for (size_t i = 0; !is && *name && i < SW_COUNT(credential_endings); i++)
        is = sw_text_ends(name + 1, credential_endings[i]);     /* the ending alone is no name */
    return is;
}

static bool passes(const struct local_job *job, const char *name)
{
    bool minimum = false;
    json_t *secret;
    size_t i;

    json_array_foreach(job->plan.secrets, i, secret)
        if (sw_text_same(json_string_value(secret), name))
            return false;
    /* SLIPWAY_*: a job started from within a job is a job of its own. */
    if (sw_text_starts(name, "SLIPWAY_") || local_env_is_credential(name) ||
        (job->plan.python && strcmp(name, "PYTHONHOME") == 0))
        return false;
    for (i = 0; i < SW_COUNT(bare_minimum); i++)
        minimum = minimum || strcmp(bare_minimum[i], name) == 0;
    return minimum || job->options.inherit_env;
}

/* NULL-ended vector of borrowed texts; free() the vector only. */
static char **environment_for(const struct local_job *job)
{
    size_t count = 0, kept = 0;
    char **out;

    while (environ[count])
        count++;
    out = sw_realloc_array(NULL, count + 1, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        sw_autofree char *name = sw_strndup(environ[i], strcspn(environ[i], "="));

        if (strchr(environ[i], '=') && passes(job, name))
            out[kept++] = environ[i];
    }
    out[kept] = NULL;
    return out;
}

/* ---- the supervisor -------------------------------------------------------------------------- */

/* A descriptor far above 0-4, so that moving it to 3 or 4 in the child overwrites no other. */
static int out_of_the_way(int fd)
{
    int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 16) : -1, why = errno;

    if (fd >= 0)
        close(fd);
    errno = why == EINVAL ? EMFILE : why;      /* no descriptor may be as large as 16 */
    return moved;
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

/* Returns our end of the conversation, or -1. */
static int start_supervisor(const struct local_job *job, const struct sw_secrets *secrets,
                            struct sw_error *err)
{
    sw_autofree char *program = sw_helper_path("slipway-supervisor", err);
    sw_autofree char **environment = environment_for(job);
    sw_autofd int values = out_of_the_way(local_secrets_file(secrets));
    sw_autofd int ours = -1, theirs = -1;
    const struct timeval patience = { .tv_sec = ANSWER_DEADLINE_S };
    int ends[2];
    pid_t pid = 0;

    if (!program)
        return -1;
    if (values < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot open a socket or a file in memory");
    ours = out_of_the_way(ends[0]);
    theirs = out_of_the_way(ends[1]);
    if (ours < 0 || theirs < 0 ||
        setsockopt(ours, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot open a socket");
    if (spawn_program(program, job->folder, environment, values, theirs, &pid) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot start '%s'", program);
    /* The first of its two forks ends immediately; a caller that ignores SIGCHLD has reaped it. */
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return sw_take_fd(ours);
}

/* One message of the supervisor; -1 when none comes any more. */
static int read_answer(int control, char *line, size_t size)
{
    ssize_t n;

    do
        n = recv(control, line, size - 1, 0);
    while (n < 0 && errno == EINTR);
    line[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : -1;
}

static int converse(int control, const char *folder, struct sw_error *err)
{
    char line[1024];

    if (read_answer(control, line, sizeof line) < 0)
        return sw_fail(err, SW_E_IO, "the supervisor ended before it was ready");
    if (sw_text_starts(line, "known"))
        return 0;
    if (!sw_text_starts(line, "ready"))
        return sw_fail(err, SW_E_IO, "%s", line);
    if (send(control, "go", 2, MSG_NOSIGNAL) == 2 && read_answer(control, line, sizeof line) == 0)
        return sw_text_starts(line, "ok") ? 0 : sw_fail(err, SW_E_IO, "%s", line);
    /* Did "go" arrive? The record answers, unless the supervisor is about to write it. */
    if (local_has_begun(folder))
        return 0;
    if (local_lock_held(folder)) {
        sw_fail(err, SW_E_UNREACHABLE, "the supervisor does not answer");
        return sw_hint(err, "`slipway status` shows whether the job started");
    }
    return sw_fail(err, SW_E_IO, "the supervisor ended before it started the job");
}

static int earlier_attempt_is_over(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                                   struct sw_error *err)
{
    sw_autofree char *before = NULL, *folder = local_attempt_folder(conn, plan->job_id, attempt);
    char host[128];

    if (attempt <= 1 || local_has_begun(folder))
        return 0;
    before = local_attempt_folder(conn, plan->job_id, attempt - 1);
    if (local_is_elsewhere(before, host))
        return sw_fail(err, SW_E_CONFLICT, "attempt %d of '%s' may still run on '%s'", attempt - 1,
                       plan->job_id, host);
    if (!local_is_attended(before))
        return 0;
    return sw_fail(err, SW_E_CONFLICT, "attempt %d of '%s' still runs", attempt - 1, plan->job_id);
}

int local_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                 const struct sw_secrets *secrets, struct sw_submission *receipt,
                 struct sw_error *err)
{
    sw_auto(local_job) struct local_job job = { 0 };
    sw_autofd int control = -1;

    if (local_job_init(&job, conn, plan, attempt, LOCAL_MOUNTS_CLONE, err) < 0 ||
        earlier_attempt_is_over(conn, plan, attempt, err) < 0)
        return -1;
    if (!local_has_begun(job.folder)) {
        if (write_folder(&job, attempt, err) < 0 ||
            (control = start_supervisor(&job, secrets, err)) < 0 ||
            converse(control, job.folder, err) < 0)
            return sw_wrap(err, "cannot start '%s'", plan->job_id);
    }
    local_submission(receipt, job.folder, job.results_dir);
    return 0;
}
