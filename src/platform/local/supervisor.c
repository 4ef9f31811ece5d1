/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor.c - `slipway-supervisor FOLDER`: stays with one job of the local platform.
 *
 * Started by local_submit.c with two descriptors: 3 brings the secrets, 4 is the conversation
 * described there. It leaves the client's session and terminal behind, takes the folder's lock,
 * and lives until the job's exit record is on disk. Where another attempt follows a failure, it goes on
 * to that one's folder (supervisor_retry.c). Never run by hand.
 */
#include "platform/local/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "core/reason.h"
#include "core/stop.h"
#include "platform/local/local_internal.h"

enum { SECRETS_FD = 3, CONTROL_FD = 4, LOCK_PATIENCE_MS = 10000 };

/* The client may be gone; then the folder holds the answer. */
static void answer(const char *text)
{
    send(CONTROL_FD, text, strlen(text), MSG_NOSIGNAL);
}

/* Away from the client: no descriptor, folder, terminal or parent of its. */
static void detach(void)
{
    syscall(SYS_close_range, CONTROL_FD + 1, ~0U, 0);
    if (fork() != 0)
        _exit(0);
    if (chdir("/") < 0)
        _exit(1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, LOCAL_SUPERVISOR_NAME);
}

/* The lock; -1: another supervisor has started this job before us. One that holds the lock and has not
 * started the job yet may still give up, so wait for one of the two. */
static int take_lock(const char *folder)
{
    int64_t deadline = sw_monotonic_ms() + LOCK_PATIENCE_MS;

    for (;;) {
        int lock = local_lock_take(folder), why = errno;

        if (local_has_begun(folder)) {
            answer("known");
            return -1;
        }
        if (lock >= 0)
            return lock;
        if (why != EAGAIN && why != EACCES) {
            sw_autofree char *text = sw_format("cannot lock '%s': %s", folder, strerror(why));

            answer(text);
            return -1;
        }
        if (sw_monotonic_ms() > deadline) {
            answer("another supervisor of this job does not continue");
            return -1;
        }
        sw_sleep_ms(2);
    }
}

static int load(struct sup *sup, struct sw_error *err)
{
    sup->launch = local_record_read(sup->folder, LOCAL_LAUNCH);
    sup->job_id = sw_json_str(sup->launch, "job_id");
    if (!sup->job_id)
        return sw_fail(err, SW_E_IO, "cannot read '%s/%s'", sup->folder, LOCAL_LAUNCH);
    sup->attempt = (int)sw_json_int(sup->launch, "attempt", 1);
    sup->nodes = (int)sw_json_int(sup->launch, "nodes", 1);
    sup->gpus = (int)sw_json_int(sup->launch, "gpus", 0);
    sup->grace_ms = sw_json_int(sup->launch, "grace_ms", SW_GRACE_MS);
    sup->time_ms = sw_json_int(sup->launch, "time_ms", 0);
    sup->disk_wait_ms = sw_json_int(sup->launch, "disk_wait_ms", 60000);
    sup->cpus = json_number_value(json_object_get(sup->launch, "cpus"));
    sup_guard_load(sup);
    sup->end.failed_replica = -1;
    sup->facts = json_object();
    if (sup->nodes < 1 || sup->nodes > LOCAL_REPLICAS_MAX || sup->gpus < 0 ||
        sup->gpus * sup->nodes > SW_GPU_MAX)
        return sw_fail(err, SW_E_SPEC, "%d nodes with %d GPUs each are too many for one machine",
                       sup->nodes, sup->gpus);
    sup->runner = sw_json_str(sup->launch, "runner");
    return sup->runner ? 0 : sw_fail(err, SW_E_IO, "the launch record has no runner");
}

static int receive_secrets(struct sup *sup, struct sw_error *err)
{
    sup->secrets = sw_secrets_receive(SECRETS_FD, err);
    close(SECRETS_FD);
    if (sup->secrets &&
        (int64_t)sw_secrets_count(sup->secrets) < sw_json_int(sup->launch, "secrets", 0))
        return sw_fail(err, SW_E_CREDENTIAL, "not all secrets of the job arrived");
    return sup->secrets ? 0 : -1;
}

static int open_descriptors(struct sup *sup, struct sw_error *err)
{
    static const int noticed[] = { SIGCHLD, SIGTERM, SIGINT,  SIGHUP, SIGQUIT,
                                   SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ };
    sigset_t signals;

    sigemptyset(&signals);
    for (size_t i = 0; i < SW_COUNT(noticed); i++)
        sigaddset(&signals, noticed[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    sup->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    sup->watch_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (sup->signal_fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot watch signals");
    /* Out of inotify watches: cancel still arrives as a signal. */
    if (sup->watch_fd >= 0)
        inotify_add_watch(sup->watch_fd, sup->folder, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
    sup->replicas = sw_alloc((size_t)sup->nodes * sizeof *sup->replicas);
    for (int i = 0; i < sup->nodes; i++)
        if (sup_log_open(&sup->replicas[i].log, sup->folder, i, sup->secrets) < 0)
            return sw_fail_errno(err, SW_E_IO, "cannot open the log of rank %d", i);
    return 0;
}

static void set_limits(struct sup *sup)
{
    int64_t memory = sw_json_int(sup->launch, "memory_bytes", 0);
    sw_autofree char *name = sw_format(LOCAL_CGROUP_PREFIX "%s-%d", sup->job_id, sup->attempt);

    sup_limits_open(&sup->limits, NULL, NULL, name, memory * sup->nodes, sup->cpus * sup->nodes);
    if (memory > 0)
        json_object_set_new(sup->facts, "memory_limit",
                            json_string(sup->limits.cgroup ? "cgroup" : "sampled"));
    if (sup->cpus > 0)
        json_object_set_new(sup->facts, "cpu_limit",
                            json_string(sup->limits.cgroup ? "cgroup" : "affinity"));
}

static bool received_go(void)
{
    char line[3];

    return recv(CONTROL_FD, line, sizeof line, 0) == 2 && memcmp(line, "go", 2) == 0;
}

/* The pipes of the logs: a process that writes to one of them belongs to the job. */
static json_t *pipe_names(const struct sup *sup)
{
    json_t *names = json_array();

    for (int i = 0; i < sup->nodes; i++) {
        char path[64], target[64];
        ssize_t n;

        snprintf(path, sizeof path, "/proc/self/fd/%d", sup->replicas[i].log.pipe_write);
        n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        json_array_append_new(names, json_string(target));
    }
    return names;
}

static int write_who(const struct sup *sup, struct sw_error *err)
{
    struct sw_proc self;
    char host[128];
    sw_auto(json) json_t *record = NULL;

    if (sw_proc_self(&self) < 0)
        return sw_fail(err, SW_E_IO, "/proc does not show this process");
    local_host_name(host);
    record = sw_proc_json(&self);
    json_object_set_new(record, "host", sw_json_text(host));
    json_object_set_new(record, "pipes", pipe_names(sup));
    json_object_set_new(record, "started_ms", json_integer(sw_now_ms()));
    return local_record_write(sup->folder, LOCAL_SUPERVISOR, record, err);
}

static int start(struct sup *sup, int lock)
{
    struct sw_error err = { 0 };

    if (load(sup, &err) < 0 || receive_secrets(sup, &err) < 0 || open_descriptors(sup, &err) < 0) {
        close(lock);              /* a client that reads of the failure finds nothing of us */
        answer(err.message);
        return -1;
    }
    answer("ready");
    if (!received_go())
        return -1;
    if (write_who(sup, &err) < 0) {
        close(lock);
        answer(err.message);
        return -1;
    }
    answer("ok");
    close(CONTROL_FD);
    return 0;
}

static void release(struct sup *sup)
{
    for (int i = 0; sup->replicas && i < sup->nodes; i++) {
        sup_log_finish(&sup->replicas[i].log);
        free(sup->replicas[i].gpus);
    }
    if (sup->replicas) {
        close(sup->signal_fd);
        close(sup->watch_fd);
    }
    free(sup->replicas);
    sw_secrets_free(sup->secrets);
    json_decref(sup->next.record);
    json_decref(sup->facts);
    json_decref(sup->launch);
    free(sup->folder);
}

/* To the next attempt, with the same secrets. -1: it does not begin; when our lock is gone, that is seen. */
static int go_on(struct sup *sup, int *lock)
{
    struct sup next = { .folder = sup_next_folder(sup), .secrets = sw_take(sup->secrets) };
    sw_autofd int own = next.folder ? local_lock_take(next.folder) : -1;

    if (own < 0 || local_has_begun(next.folder) || load(&next, NULL) < 0 ||
        open_descriptors(&next, NULL) < 0 || write_who(&next, NULL) < 0) {
        release(&next);
        return -1;
    }
    /* It was asked for in the pause. A client that writes this flag looks for our record afterwards: one of
     * the two sees the other. */
    if (local_has(sup->folder, LOCAL_CANCEL))
        sup_decide(&next, SW_CANCELED, SW_REASON_CANCELED, 130, "canceled while waiting for attempt %d",
                   next.attempt);
    close(*lock);
    *lock = sw_take_fd(own);
    release(sup);
    *sup = next;
    return 0;
}

int supervisor_main(int argc, char **argv)
{
    struct sup sup = { 0 };
    int lock, result;

    if (argc != 2 || *argv[1] != '/') {
        fprintf(stderr, "slipway-supervisor is started by slipway itself\n");
        return 64;
    }
    sw_secrets_guard();
    detach();
    lock = take_lock(argv[1]);
    if (lock < 0)
        return 0;
    sup.folder = sw_strdup(argv[1]);
    result = start(&sup, lock);
    while (result == 0) {
        set_limits(&sup);
        sup_run_job(&sup);
        if (!sup_pause(&sup) || go_on(&sup, &lock) < 0)
            break;
    }
    release(&sup);
    return result < 0;
}
