/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervisor_loop.c - one poll() round: output, children, cancel, time, memory, disk.
 *
 * Nothing is checked on a timer that can wake us by itself: signals come through a
 * signalfd, the cancel flag through inotify, output through its pipes. Only memory without a
 * cgroup is sampled, and what people like to see of a running job (supervisor_usage.c).
 */
#include "platform/local/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "core/reason.h"
#include "core/run_end.h"
#include "platform/local/local_internal.h"

enum {
    SAMPLE_EVERY_MS = 250,
    DISK_RETRY_MS = 250,
    FIXED_FDS = 3,
};

void sup_decide(struct sup *sup, enum sw_state state, const char *reason, int exit_code,
                const char *fmt, ...)
{
    va_list args;

    if (sup->end.decided)
        return;
    sup->end.decided = true;
    sup->end.state = state;
    sup->end.exit_code = exit_code;
    snprintf(sup->end.reason, sizeof sup->end.reason, "%s", reason);
    va_start(args, fmt);
    vsnprintf(sup->end.message, sizeof sup->end.message, fmt, args);
    va_end(args);
}

bool sup_all_ended(const struct sup *sup)
{
    for (int i = 0; i < sup->nodes; i++)
        if (sup->replicas[i].pid && !sup->replicas[i].ended)
            return false;
    return true;
}

/* ---- how a rank ended ------------------------------------------------------------------- */

static void blame(struct sup *sup, int rank, const json_t *report)
{
    const struct sup_replica *replica = &sup->replicas[rank];
    struct sw_run_end end = SW_RUN_END_INIT;
    struct sw_observation seen = { .exit_code = SW_NO_EXIT_CODE };

    if (sup->end.decided)
        return;
    end.exit_code = replica->exit_code;
    sw_run_end_report(&end, report);
    end.signal = replica->signal;
    end.rank = sup->nodes > 1 ? rank : -1;
    end.memory_limit_bytes = sup->limits.memory_bytes;
    end.oom = sup_limits_oom_kills(&sup->limits) > 0;
    if (end.oom) {                         /* whichever process of the rank the kernel killed */
        end.exit_code = SW_NO_EXIT_CODE;
        end.signal = SIGKILL;
    }
    sw_run_end_judge(&end, &seen);
    sup_decide(sup, seen.state, seen.reason, seen.exit_code, "%s", seen.message);
    sup->end.signal = seen.signal;
    sup->end.failed_replica = rank;
}

/* The runner's own exit code cannot tell "exit 137" from "killed": its report can. */
static void replica_ended(struct sup *sup, int rank, int status, const struct rusage *usage)
{
    struct sup_replica *replica = &sup->replicas[rank];
    sw_autofree char *name = sw_format("report-%d.json", rank);
    sw_auto(json) json_t *report = local_record_read(sup->folder, name);

    sup_facts_report(sup, report);
    replica->ended = true;
    replica->ended_ms = sw_now_ms();
    replica->peak_bytes = (int64_t)usage->ru_maxrss * 1024;
    replica->signal = WIFSIGNALED(status) ? WTERMSIG(status)
                                          : (int)sw_json_int(report, "signal", 0);
    replica->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    replica->stopped_by_us = sup->end.decided;
    if (replica->exit_code != 0 || replica->signal)
        blame(sup, rank, report);
}

static void reap(struct sup *sup)
{
    struct rusage usage;
    int status;

    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
        if (pid == sup->helper) {
            sup->helper = 0;
            sup->helper_status = status;
        }
        for (int i = 0; i < sup->nodes; i++)
            if (sup->replicas[i].pid == pid && !sup->replicas[i].ended)
                replica_ended(sup, i, status, &usage);
    }
}

/* ---- what may end the job from outside -------------------------------------------------- */

static void cancel(struct sup *sup)
{
    if (!sup->cancel_asked)
        sup->cancel_at = sw_monotonic_ms();
    sup->cancel_asked = true;
    sup_decide(sup, SW_CANCELED, SW_REASON_CANCELED, 130, "%s",
               sup->started_ms ? "canceled" : "canceled before it started");
}

static void read_signals(struct sup *sup)
{
    struct signalfd_siginfo info;

    while (read(sup->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
            cancel(sup);
    reap(sup);
}

static void read_watch(struct sup *sup)
{
    char events[4096] __attribute__((aligned(8)));

    while (read(sup->watch_fd, events, sizeof events) > 0)
        ;
    if (local_has(sup->folder, LOCAL_CANCEL))
        cancel(sup);
    if (local_has(sup->folder, LOCAL_NOW))
        sup->next.at = 0;
}

static void check_time(struct sup *sup, int64_t now)
{
    char limit[32];

    if (!sup->commands_run || !sup->time_limit_at || now < sup->time_limit_at)
        return;
    sw_duration_format(sup->time_ms, limit);
    sup_decide(sup, SW_ERROR, SW_REASON_TIME, 124, "it reached its time limit of %s", limit);
}

static void check_memory(struct sup *sup, int64_t now)
{
    sw_auto(local_processes) struct local_processes below = { 0 };
    char used[32], limit[32];
    int64_t bytes;

    if (!sup->commands_run || !sup->limits.sample || now < sup->sample_at)
        return;
    sup->sample_at = now + SAMPLE_EVERY_MS;
    local_tree_below(getpid(), &below);
    bytes = local_tree_memory(&below, sup->limits.memory_bytes);
    if (bytes > sup->limits.peak_bytes)
        sup->limits.peak_bytes = bytes;
    if (bytes <= sup->limits.memory_bytes || sup->end.decided)
        return;
    sw_size_format(bytes, used);
    sw_size_format(sup->limits.memory_bytes, limit);
    sup_decide(sup, SW_ERROR, SW_REASON_MEMORY, 128 + SIGKILL, "it used %s of memory, its limit is %s",
               used, limit);
    sup->end.signal = SIGKILL;             /* as the kernel's own killer reports it */
}

static void check_disk(struct sup *sup, int64_t now)
{
    for (int i = 0; i < sup->nodes; i++) {
        const struct sup_log *log = &sup->replicas[i].log;

        if (log->blocked_errno && now - log->blocked_since_ms > sup->disk_wait_ms)
            sup_decide(sup, SW_ERROR, SW_REASON_DISK, 74, "cannot write its log: %s",
                       strerror(log->blocked_errno));
    }
}

/* ---- the round --------------------------------------------------------------------------- */

static void sooner(int64_t *until, int64_t at)
{
    if (at > 0 && (*until == 0 || at < *until))
        *until = at;
}

static int timeout_of(const struct sup *sup, int64_t until, int64_t now)
{
    if (sup->commands_run) {
        sooner(&until, sup->time_limit_at);
        if (sup->limits.sample)
            sooner(&until, sup->sample_at);
        if (!sup->end.decided) {
            sooner(&until, sup->usage.next_at);
            sooner(&until, sup_guard_next(sup));
        }
    }
    for (int i = 0; i < sup->nodes; i++)
        if (sup->replicas[i].log.blocked_errno)
            sooner(&until, now + DISK_RETRY_MS);
    if (until == 0)
        return -1;
    if (until <= now)
        return 0;
    return until - now > 60000 ? 60000 : (int)(until - now);
}

void sup_turn(struct sup *sup, int64_t until_ms)
{
    struct pollfd fds[FIXED_FDS + LOCAL_REPLICAS_MAX];
    int64_t now = sw_monotonic_ms();
    int queue = sup->queue        ? gpu_queue_watch(sup->queue)
                : sup->room_queue ? room_queue_watch(sup->room_queue)
                                  : -1;

    fds[0] = (struct pollfd){ .fd = sup->signal_fd, .events = POLLIN };
    fds[1] = (struct pollfd){ .fd = sup->watch_fd, .events = POLLIN };
    fds[2] = (struct pollfd){ .fd = queue, .events = POLLIN };
    for (int i = 0; i < sup->nodes; i++) {
        const struct sup_log *log = &sup->replicas[i].log;

        fds[FIXED_FDS + i] = (struct pollfd){ .fd = log->blocked_errno ? -1 : log->pipe_read,
                                              .events = POLLIN };
    }
    if (poll(fds, (nfds_t)(FIXED_FDS + sup->nodes), timeout_of(sup, until_ms, now)) < 0 &&
        errno != EINTR)
        sw_sleep_ms(10);
    for (int i = 0; i < sup->nodes; i++)
        if ((fds[FIXED_FDS + i].revents || sup->replicas[i].log.blocked_errno) &&
            sup_log_move(&sup->replicas[i].log))
            sup_guard_output(sup);
    if (fds[0].revents)
        read_signals(sup);
    if (fds[1].revents)
        read_watch(sup);
    now = sw_monotonic_ms();
    check_time(sup, now);
    check_memory(sup, now);
    check_disk(sup, now);
    sup_usage_measure(sup, now);
    sup_guard_check(sup, now);
}
