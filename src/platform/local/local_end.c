/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_end.c - stopping a job for certain, and removing what is left of it.
 *
 * The cancel flag is written before anybody is asked: should we die in between, the supervisor
 * sees the flag, and a job that has not started yet never will.
 */
#include "platform/local/local_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <poll.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/stop.h"
#include "platform/local/local_tree.h"

enum { CANCEL_SLACK_MS = 10000, LOOK_EVERY_MS = 200 };

static int64_t grace_of(const char *folder)
{
    sw_auto(json) json_t *launch = local_record_read(folder, LOCAL_LAUNCH);

    return sw_json_int(launch, "grace_ms", 10000);
}

static int raise_flag(const char *folder, struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(folder, LOCAL_CANCEL);
    sw_autofd int fd = -1;

    if (sw_mkdirs(folder, 0700, err) < 0)
        return -1;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0 ? 0 : sw_fail_errno(err, SW_E_IO, "cannot write '%s'", path);
}

static void signal_supervisor(const char *folder)
{
    sw_auto(json) json_t *who = local_record_read(folder, LOCAL_SUPERVISOR);
    struct sw_proc supervisor;

    if (sw_proc_from_json(who, &supervisor) == 0)
        sw_proc_signal(&supervisor, SIGTERM);
}

/* Woken by the exit record; the lock has the last say. */
static bool wait_until_over(const char *folder, int64_t deadline)
{
    sw_autofd int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char events[4096] __attribute__((aligned(8)));

    if (watch >= 0)
        inotify_add_watch(watch, folder, IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
    while (local_lock_held(folder)) {
        struct pollfd wait = { .fd = watch, .events = POLLIN };
        bool over = local_has(folder, LOCAL_EXIT);

        if (sw_monotonic_ms() > deadline)
            return over;
        poll(&wait, 1, over ? 1 : LOOK_EVERY_MS);
        while (watch >= 0 && read(watch, events, sizeof events) > 0)
            ;
    }
    return true;
}

static int refuse_elsewhere(const char *folder, const char *id, struct sw_error *err)
{
    char host[128];

    if (!local_is_elsewhere(folder, host))
        return 0;
    sw_fail(err, SW_E_UNREACHABLE, "'%s' cannot be reached from here: it runs on '%s'", id, host);
    return sw_hint(err, "this machine shares its folder only; do it on '%s'", host);
}

int local_cancel(struct sw_link *link, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *folder = local_attempt_folder(link, job->id, job->attempt);
    sw_auto(json) json_t *lost = NULL;
    int64_t grace = grace_of(folder);

    if (local_has(folder, LOCAL_EXIT))
        return 0;
    if (refuse_elsewhere(folder, job->id, err) < 0 || raise_flag(folder, err) < 0)
        return -1;
    signal_supervisor(folder);
    if (!wait_until_over(folder, sw_monotonic_ms() + sw_stop_budget_ms(grace) + CANCEL_SLACK_MS)) {
        sw_fail(err, SW_E_TIMEOUT, "'%s' does not end: its supervisor is still busy", job->id);
        return sw_hint(err, "the cancel stays asked for; look again with `slipway status %s`",
                       job->id);
    }
    if (local_has(folder, LOCAL_EXIT) || !local_has(folder, LOCAL_SUPERVISOR))
        return 0;
    lost = local_declare_lost(folder);      /* it was killed on the way */
    return lost ? 0 : sw_fail(err, SW_E_TIMEOUT, "cannot tell whether '%s' ended", job->id);
}

static int refuse_while_running(struct sw_link *link, const char *id, struct sw_error *err)
{
    for (int attempt = local_newest_attempt(link, id); attempt > 0; attempt--) {
        sw_autofree char *folder = local_attempt_folder(link, id, attempt);
        sw_auto(json) json_t *lost = NULL;

        if (refuse_elsewhere(folder, id, err) < 0)
            return -1;
        if (local_lock_held(folder) && !local_has(folder, LOCAL_EXIT)) {
            sw_fail(err, SW_E_CONFLICT, "'%s' still runs", id);
            return sw_hint(err, "cancel it first: `slipway cancel %s`", id);
        }
        if (local_has(folder, LOCAL_SUPERVISOR) && !local_has(folder, LOCAL_EXIT))
            lost = local_declare_lost(folder);
    }
    return 0;
}

static char *results_outside(const char *folder, int attempt)
{
    sw_autofree char *where = sw_format("%s/attempt-%d", folder, attempt);
    sw_auto(json) json_t *launch = local_record_read(where, LOCAL_LAUNCH);
    const char *results = sw_json_str(launch, "results_dir");

    return results && strncmp(results, folder, strlen(folder)) != 0 ? sw_strdup(results) : NULL;
}

int local_cleanup(struct sw_link *link, const struct sw_jobref *job, bool keep_results,
                  struct sw_error *err)
{
    sw_autofree char *folder = local_job_folder(link, job->id);
    sw_autofree char *outside = NULL;
    int newest = local_newest_attempt(link, job->id);

    if (refuse_while_running(link, job->id, err) < 0)
        return -1;
    outside = results_outside(folder, newest);
    for (int attempt = newest; attempt > 0; attempt--) {
        sw_autofree char *below = local_attempt_folder(link, job->id, attempt);

        if (sw_remove_tree(below, err) < 0)
            return -1;
    }
    if (keep_results)
        return 0;
    if (outside && sw_remove_tree(outside, err) < 0)
        return -1;
    return sw_remove_tree(folder, err);
}
