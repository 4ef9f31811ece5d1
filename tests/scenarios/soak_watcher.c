/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak_watcher.c - starts slipway-watcher, moves its clock, and knows when it has looked.
 *
 * A look that had begun before the clock was moved may end after it. So a second one is asked for when
 * one has ended: that one began afterwards.
 */
#include "soak_watcher.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "watcher/watcher.h"

static int64_t moved_ms;

static void set_later(struct trial *here, int64_t ms)
{
    sw_autofree char *path = path_in(here, "later");
    sw_autofd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    moved_ms = ms;
    assert_int_equal(pwrite(fd, &ms, sizeof ms, 0), sizeof ms);
}

/* When it last looked, by its own clock; INT64_MAX: nothing is left to look at; 0: it does not answer. */
static int64_t looked_ms(struct trial *here)
{
    sw_auto(sw_watcher_place) struct sw_watcher_place place = { 0 };
    sw_auto(json) json_t *hello = NULL;

    assert_int_equal(sw_watcher_place(here->state_dir, &place, NULL), 0);
    hello = sw_watcher_hello(&place, NULL);
    if (!hello || sw_json_int(hello, "looked_ms", 0) == 0)
        return 0;
    if (sw_json_int(hello, "jobs", 0) + sw_json_int(hello, "notices", 0) == 0)
        return INT64_MAX;
    return sw_json_int(hello, "looked_ms", 0);
}

static int64_t true_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void look_once(struct trial *here)
{
    sw_auto(sw_watcher_place) struct sw_watcher_place place = { 0 };
    int64_t asked_ms = true_now_ms() + moved_ms, deadline = sw_monotonic_ms() + 120 * 1000;

    assert_int_equal(sw_watcher_place(here->state_dir, &place, NULL), 0);
    assert_int_equal(sw_watcher_wake(&place, NULL), 1);
    while (looked_ms(here) <= asked_ms) {
        assert_true(sw_monotonic_ms() < deadline);
        sw_sleep_ms(5);
    }
}

void watcher_look(struct trial *here, int64_t ms)
{
    set_later(here, ms);
    look_once(here);
    look_once(here);
}

pid_t watcher_begin(struct trial *here, const char *later)
{
    sw_autofree char *run = path_in(here, "run"), *path = path_in(here, "later");
    sw_autofree char *program = sw_format("%s/slipway-watcher", getenv("SLIPWAY_LIBEXEC_DIR"));
    int64_t deadline = sw_monotonic_ms() + 60 * 1000;
    pid_t pid;

    mkdir(run, 0700);
    setenv("XDG_RUNTIME_DIR", run, 1);
    set_later(here, 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("LD_PRELOAD", later, 1);
        setenv("SLIPWAY_TEST_LATER", path, 1);
        execl(program, "slipway-watcher", here->state_dir, NULL);
        _exit(127);
    }
    while (looked_ms(here) == 0) {
        assert_true(sw_monotonic_ms() < deadline);
        sw_sleep_ms(20);
    }
    return pid;
}

void watcher_end(struct trial *here, pid_t pid)
{
    int status = -1;

    (void)here;
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}
