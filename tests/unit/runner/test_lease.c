/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lease.c - one of many does the work; who dies is replaced; who is only slow knows it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runner/lease.h"

static void what_does_not_change_is_taken_after_its_length(void **state)
{
    struct lease_memory memory = { 0 };
    struct lease_state held = { .generation = 3, .beat = 7 };

    (void)state;
    assert_int_equal(lease_decide(&memory, &held, 1000, 100), LEASE_WAIT);
    assert_int_equal(lease_decide(&memory, &held, 1099, 100), LEASE_WAIT);
    held.beat = 8;                                      /* it lives: the time begins again */
    assert_int_equal(lease_decide(&memory, &held, 1100, 100), LEASE_WAIT);
    assert_int_equal(lease_decide(&memory, &held, 1199, 100), LEASE_WAIT);
    assert_int_equal(lease_decide(&memory, &held, 1200, 100), LEASE_TAKE);
    held.generation = 4;                                /* another waiter was quicker */
    assert_int_equal(lease_decide(&memory, &held, 1201, 100), LEASE_WAIT);
}

static void what_is_free_is_taken_at_once(void **state)
{
    static const struct lease_state free_ones[] = {
        { .generation = 0 }, { .generation = 2, .released = true },
        { .generation = 2, .holder_dead = true },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(free_ones); i++) {
        struct lease_memory memory = { 0 };

        assert_int_equal(lease_decide(&memory, &free_ones[i], 5, 100), LEASE_TAKE);
    }
}

struct place {
    char folder[64];
    char *lock;
};

static int place_open(void **state)
{
    struct place *here = sw_new(struct place);

    snprintf(here->folder, sizeof here->folder, "/tmp/slipway-lease-XXXXXX");
    *state = here;
    if (!mkdtemp(here->folder))
        return -1;
    here->lock = sw_path_join(here->folder, "prepare.lock");
    return 0;
}

static int place_close(void **state)
{
    struct place *here = *state;

    sw_remove_tree(here->folder, NULL);
    free(here->lock);
    free(here);
    return 0;
}

/* One line into a file, in one write. */
static void note(const struct place *here, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(here->folder, name);
    sw_autofd int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static size_t notes(const struct place *here, const char *name)
{
    sw_autofree char *path = sw_path_join(here->folder, name);
    sw_autofree char *text = sw_file_read(path, 1000000, NULL, NULL);
    size_t lines = 0;

    for (const char *at = text; at && (at = strchr(at, '\n')); at++)
        lines++;
    return lines;
}

static void wait_for_notes(const struct place *here, const char *name, size_t count)
{
    for (int64_t end = sw_monotonic_ms() + 30000; notes(here, name) < count; sw_sleep_ms(2))
        if (sw_monotonic_ms() > end)
            fail_msg("'%s' never has %zu lines", name, count);
}

static void only_one_at_a_time_holds_it(void **state)
{
    struct place *here = *state;
    pid_t children[4];

    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            for (int round = 0; round < 10; round++) {
                struct lease *lease = NULL;
                sw_autofree char *inside = sw_path_join(here->folder, "inside");
                int fd;

                if (lease_take(here->lock, NULL, &lease, NULL) < 0 || !lease)
                    _exit(2);
                fd = open(inside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (fd < 0)
                    _exit(3);                            /* another holder is inside */
                close(fd);
                sw_sleep_ms(1);
                unlink(inside);
                lease_release(lease);
            }
            _exit(0);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status;

        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
}

static bool is_done(void *context)
{
    return notes(context, "done") > 0;
}

/* The work of a rank: some time, then a note. */
static void work(const struct place *here, int64_t work_ms, int64_t length_ms)
{
    const struct lease_rules rules = { .length_ms = length_ms, .is_done = is_done,
                                       .context = (void *)here };
    struct lease *lease = NULL;

    if (lease_take(here->lock, &rules, &lease, NULL) < 0)
        _exit(2);
    if (lease) {
        note(here, "began", "x\n");
        for (int64_t end = sw_monotonic_ms() + work_ms; sw_monotonic_ms() < end;)
            sw_sleep_ms(5);
        note(here, "done", "x\n");
        lease_release(lease);
    }
    _exit(0);
}

static void a_killed_holder_is_replaced_by_exactly_one(void **state)
{
    struct place *here = *state;
    pid_t first = fork(), others[3];

    if (first == 0)
        work(here, 60000, 2000);
    wait_for_notes(here, "began", 1);
    for (int i = 0; i < 3; i++) {
        others[i] = fork();
        if (others[i] == 0)
            work(here, 20, 2000);
    }
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    for (int i = 0; i < 3; i++) {
        int status;

        waitpid(others[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(notes(here, "began"), 2);          /* the dead one, and one more */
    assert_int_equal(notes(here, "done"), 1);
}

static void a_holder_that_is_only_slow_keeps_it(void **state)
{
    struct place *here = *state;
    struct lease *mine = NULL;
    int go[2];
    char word;
    pid_t other;

    /* The other is made before our thread is, and waits for the word: a child of a process with
     * threads may not even allocate. The thread renews the lease four times within its length. */
    assert_int_equal(pipe(go), 0);
    other = fork();
    if (other == 0 && read(go[0], &word, 1) == 1)
        work(here, 0, 200);
    assert_int_equal(lease_take(here->lock, &(struct lease_rules){ .length_ms = 200 }, &mine, NULL),
                     0);
    assert_int_equal(write(go[1], "g", 1), 1);
    sw_sleep_ms(900);
    assert_int_equal(notes(here, "began"), 0);
    assert_false(lease_is_lost(mine));
    lease_release(mine);
    waitpid(other, NULL, 0);
    assert_int_equal(notes(here, "began"), 1);
}

/* Stopped, not dead: no waiter sees the difference until it comes back. */
static void a_holder_that_was_frozen_finds_out_that_it_lost(void **state)
{
    struct place *here = *state;
    pid_t frozen = fork();
    struct lease *mine = NULL;
    int status;

    if (frozen == 0) {
        struct lease *lease = NULL;

        if (lease_take(here->lock, &(struct lease_rules){ .length_ms = 200 }, &lease, NULL) < 0)
            _exit(2);
        note(here, "began", "x\n");
        for (int64_t end = sw_monotonic_ms() + 30000; sw_monotonic_ms() < end; sw_sleep_ms(5))
            if (lease_is_lost(lease))
                _exit(0);
        _exit(1);
    }
    wait_for_notes(here, "began", 1);
    kill(frozen, SIGSTOP);
    assert_int_equal(lease_take(here->lock, &(struct lease_rules){ .length_ms = 200 }, &mine, NULL),
                     0);
    assert_non_null(mine);
    kill(frozen, SIGCONT);
    waitpid(frozen, &status, 0);
    assert_int_equal(status, 0);
    assert_false(lease_is_lost(mine));
    lease_release(mine);
}

static void waiting_has_an_end(void **state)
{
    struct place *here = *state;
    struct lease *mine = NULL, *other = NULL;
    struct sw_error err = { 0 };
    const struct lease_rules rules = { .length_ms = 5000, .give_up_ms = 50 };

    assert_int_equal(lease_take(here->lock, &rules, &mine, NULL), 0);
    assert_int_equal(lease_take(here->lock, &rules, &other, &err), -1);
    assert_int_equal(err.code, SW_E_TIMEOUT);
    lease_release(mine);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_change_is_taken_after_its_length),
        cmocka_unit_test(what_is_free_is_taken_at_once),
        CLAIM(only_one_at_a_time_holds_it),
        CLAIM(a_killed_holder_is_replaced_by_exactly_one),
        CLAIM(a_holder_that_is_only_slow_keeps_it),
        CLAIM(a_holder_that_was_frozen_finds_out_that_it_lost),
        CLAIM(waiting_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
