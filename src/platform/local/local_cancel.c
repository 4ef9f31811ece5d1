/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_cancel.c - stopping jobs for certain: every supervisor is told, then all are waited for together.
 *
 * The cancel flag is written before a supervisor is signaled: should we die in between, the supervisor
 * sees the flag, and a job that has not started yet never will.
 */
#include "platform/local/local_internal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/stop.h"

enum { CANCEL_SLACK_MS = 10000, LOOK_EVERY_MS = 200 };

struct ending {                    /* one job on its way to the end */
    char *folder;                  /* of its attempt */
    int64_t deadline;
    int watch;                     /* what inotify calls its folder; -1: not watched */
    bool waits;                    /* not over yet, as far as is known */
    bool news;                     /* something happened in its folder: ask */
    bool late;
};

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

/* The folder is watched before its supervisor is told: no exit record comes unseen. */
static void begin(struct sw_connection *conn, int watches, struct sw_batch_job *one, struct ending *ending)
{
    const struct sw_jobref *job = one->job;

    ending->folder = local_attempt_folder(conn, job->id, job->attempt);
    ending->watch = -1;
    if (local_has(ending->folder, LOCAL_EXIT))
        return;
    if (local_refuse_elsewhere(ending->folder, job->id, &one->err) < 0 ||
        raise_flag(ending->folder, &one->err) < 0) {
        one->result = -1;
        return;
    }
    if (watches >= 0)
        ending->watch = inotify_add_watch(watches, ending->folder,
                                          IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
    ending->deadline = sw_monotonic_ms() + sw_stop_budget_ms(grace_of(ending->folder)) +
                       CANCEL_SLACK_MS;
    ending->waits = ending->news = true;
    signal_supervisor(ending->folder);
}

/* Which folders something happened in. */
static void hear(int watches, struct ending *endings, size_t count)
{
    char events[16384] __attribute__((aligned(8)));
    ssize_t length;

    while (watches >= 0 && (length = read(watches, events, sizeof events)) > 0) {
        for (const char *at = events; at < events + length;) {
            const struct inotify_event *event = (const void *)at;

            for (size_t i = 0; i < count; i++)
                endings[i].news |= endings[i].watch == event->wd;
            at += sizeof *event + event->len;
        }
    }
}

/* The lock has the last say. An exit record without it is asked about again in a moment. */
static void ask(struct ending *ending, int64_t now_ms)
{
    ending->news = false;
    ending->waits = local_lock_held(ending->folder);
    if (!ending->waits)
        return;
    ending->news = local_has(ending->folder, LOCAL_EXIT);
    if (now_ms > ending->deadline) {
        ending->late = !ending->news;
        ending->waits = false;
    }
}

/* Woken by exit records; every folder is asked now and then, should a wake-up be missing. */
static void wait_for_all(int watches, struct ending *endings, size_t count)
{
    int64_t all_at = sw_monotonic_ms() + LOOK_EVERY_MS;
    bool waits = true;

    while (waits) {
        struct pollfd wake = { .fd = watches, .events = POLLIN };
        int64_t now_ms = sw_monotonic_ms();
        bool all = now_ms >= all_at, soon = false;

        waits = false;
        for (size_t i = 0; i < count; i++) {
            if (endings[i].waits && (all || endings[i].news))
                ask(&endings[i], now_ms);
            waits |= endings[i].waits;
            soon |= endings[i].waits && endings[i].news;
        }
        if (all)
            all_at = now_ms + LOOK_EVERY_MS;
        if (waits)
            poll(&wake, 1, soon ? 1 : LOOK_EVERY_MS);
        hear(watches, endings, count);
    }
}

static int conclude(const struct ending *ending, const char *id, struct sw_error *err)
{
    sw_auto(json) json_t *lost = NULL;

    if (ending->late) {
        sw_fail(err, SW_E_TIMEOUT, "'%s' does not end: its supervisor is still busy", id);
        return sw_hint(err, "the cancel stays asked for; look again with `slipway status %s`", id);
    }
    if (local_has(ending->folder, LOCAL_EXIT) || !local_has(ending->folder, LOCAL_SUPERVISOR))
        return 0;
    lost = local_declare_lost(ending->folder);      /* it was killed on the way */
    return lost ? 0 : sw_fail(err, SW_E_TIMEOUT, "cannot tell whether '%s' ended", id);
}

void local_cancel(struct sw_connection *conn, struct sw_batch_job *jobs, size_t count, int64_t deadline_ms)
{
    (void)deadline_ms;
    sw_autofree struct ending *endings = sw_alloc((count ? count : 1) * sizeof *endings);
    sw_autofd int watches = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    for (size_t i = 0; i < count; i++)
        begin(conn, watches, &jobs[i], &endings[i]);
    wait_for_all(watches, endings, count);
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].result == 0)
            jobs[i].result = conclude(&endings[i], jobs[i].job->id, &jobs[i].err);
        free(endings[i].folder);
    }
}
