/* SPDX-License-Identifier: Apache-2.0 */
/*
 * under_ray.c - the runner as the driver of a Ray job.
 *
 * No container ends with us: what the command left running becomes our child (a subreaper's) and is ended
 * when the command is. The log is a file that Ray reads as text. An attempt that Ray starts after its time
 * was given up before, and its successor may run: it ends itself.
 *
 * Ray keeps nothing secret. So we make a key, say its public half in our log, and wait for a file in a folder
 * of our own, which a client seals for that key and has brought there (docs/decisions/0073).
 */
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/report.h"
#include "net/seal.h"

enum { WAIT_MS = 15 * 60 * 1000, SEALED_MAX = 2 * 1024 * 1024, ENDING_MS = 5000 };

static bool under_ray;

/* ---- beginning ----------------------------------------------------------------------------------- */

int runner_check_start(const char *start_by, struct sw_error *err)
{
    int64_t by_ms = start_by ? atoll(start_by) : 0;

    return by_ms <= 0 || sw_now_ms() <= by_ms ? 0
           : sw_fail(err, SW_E_CONFLICT, "this attempt was given up: it should have begun %lld s ago",
                     (long long)((sw_now_ms() - by_ms) / 1000));
}

/* Ray appends to the log of an earlier job with this id. The number that only this submission's entrypoint
 * has marks where its own log begins. */
void runner_begin_under_ray(const char *start_by)
{
    sw_autofree char *line = sw_report_begin_by(start_by, start_by ? strlen(start_by) : 0);

    under_ray = true;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sw_write_all(STDOUT_FILENO, line, strlen(line));
}

bool runner_is_under_ray(void)
{
    return under_ray;
}

/* ---- ending -------------------------------------------------------------------------------------- */

/* Helpers are copies of ourselves; they end by themselves. */
static bool is_helper(pid_t pid)
{
    sw_autofree char *path = sw_format("/proc/%d/exe", (int)pid);
    struct stat own, its;

    return stat("/proc/self/exe", &own) == 0 && stat(path, &its) == 0 && own.st_ino == its.st_ino &&
           own.st_dev == its.st_dev;
}

/* Ends our children that are no helpers; whether there were any. Those of theirs become ours next. */
static bool end_children(void)
{
    sw_autofree char *path = sw_format("/proc/self/task/%d/children", (int)getpid());
    sw_autofree char *text = sw_file_read(path, 1024 * 1024, NULL, NULL);
    bool any = false;

    for (char *at = text; at && *at;) {
        pid_t pid = (pid_t)strtol(at, &at, 10);

        if (pid > 0 && !is_helper(pid)) {
            kill(pid, SIGKILL);
            any = waitpid(pid, NULL, 0) == pid || any;
        }
        at += strspn(at, " \n");
        if (pid <= 0)
            break;
    }
    return any;
}

void runner_end_runaways(void)
{
    int64_t until_ms = sw_monotonic_ms() + ENDING_MS;

    while (under_ray && end_children() && sw_monotonic_ms() < until_ms)
        ;
}

/* ---- secrets ------------------------------------------------------------------------------------- */

/* Owned bytes; NULL: it did not come. A signal that ends us ends the wait. */
static char *wait_for_file(const char *path, size_t *length, struct sw_error *err)
{
    int64_t until_ms = sw_monotonic_ms() + WAIT_MS;

    while (!sw_file_exists(path)) {
        int signal = runner_next_signal(100);

        if (signal == SIGTERM || signal == SIGINT || signal == SIGQUIT) {
            sw_fail(err, SW_E_INTERRUPTED, "it was stopped while it waited for its secrets");
            return NULL;
        }
        if (sw_monotonic_ms() > until_ms) {
            sw_fail(err, SW_E_CREDENTIAL, "no client handed the secrets over within 15 minutes");
            sw_hint(err, "keep the watcher running (`slipway watcher`), or stay with the job");
            return NULL;
        }
    }
    return sw_file_read(path, SEALED_MAX, length, err);
}

/* In memory that no disk ever sees, as runner_take_secrets() reads it. */
static int as_descriptor(const struct sw_buf *bytes, struct sw_error *err)
{
    sw_autofd int fd = memfd_create("secrets", MFD_CLOEXEC);

    if (fd < 0 || sw_write_all(fd, bytes->data, bytes->length) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot keep the secrets");
    return sw_take_fd(fd);
}

static int take_sealed(const struct sw_seal_key *key, const char *folder, struct sw_error *err)
{
    sw_autofree char *path = sw_path_join(folder, "sealed"), *bytes = NULL;
    struct sw_buf plain = SW_BUF_INIT;
    size_t length = 0;
    int fd = -1;

    if ((bytes = wait_for_file(path, &length, err)) && sw_unseal(key, bytes, length, &plain, err) == 0)
        fd = as_descriptor(&plain, err);
    sw_buf_wipe(&plain);
    return fd;
}

int runner_unseal_secrets(const char *job_id, struct sw_error *err)
{
    sw_auto(sw_seal_key) struct sw_seal_key *key = sw_seal_key_new(err);
    const char *above = getenv("TMPDIR");
    sw_autofree char *folder = sw_format("%s/slipway-secrets-XXXXXX", above && *above ? above : "/tmp");
    sw_auto(json) json_t *said = NULL;
    sw_autofree char *text = NULL;
    int fd;

    if (!key)
        return -1;
    if (!mkdtemp(folder))
        return sw_fail_errno(err, SW_E_IO, "cannot make a folder for the secrets");
    said = sw_json_object(SW_STR("job_id", job_id), SW_STR("key", sw_seal_public(key)), SW_STR("to", folder));
    text = sw_json_dump(said);
    runner_log("secrets %s", text);
    fd = take_sealed(key, folder, err);
    sw_remove_tree(folder, NULL);
    return fd;
}
