/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes_watching.c - a process that watches jobs may be small, killed and restarted.
 * The long forms are soak.c and killed_watcher.c.
 */
#include "scenes.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/store/fill.h"
#include "base/file.h"

/* ---- 29 ----------------------------------------------------------------------------------------- */

/* The address sanitizer keeps freed memory aside. */
#if defined(__SANITIZE_ADDRESS__)
enum { KIB_PER_JOB = 1024 };
#else
enum { KIB_PER_JOB = 16 };
#endif

static void five_hundred_jobs_take_kilobytes_each(void **state)
{
    enum { JOBS = 500 };
    struct trial *here = *state;
    long before;

    wait_until_over(here, rehearse(here, "exit 0", NULL));
    before = peak_memory_kib();
    for (int i = 0; i < JOBS; i++) {
        struct sw_request *made = script(here, "running 1h, exit 0", NULL);
        char id[SW_ID_SIZE];

        assert_int_equal(sw_submit(here->session, made, id, NULL), 0);
        sw_request_free(made);
    }
    for (int hour = 0; hour < 5; hour++) {
        json_decref(list_all(here, SW_LOOK_REFRESH));
        time_passes(1800 * 1000);
    }
    if (peak_memory_kib() - before > JOBS * KIB_PER_JOB)
        fail_msg("%d jobs took %ld KiB", JOBS, peak_memory_kib() - before);
}

/* ---- 30 ----------------------------------------------------------------------------------------- */

enum { BURST = 12 };

static struct sw_request *burst_request(struct trial *here, int number)
{
    struct sw_request *made = script(here, "running 50ms, exit 0", NULL);
    char id[SW_ID_SIZE];

    snprintf(id, sizeof id, "burst-%d", number);
    set_id(made, id);
    return made;
}

static void submit_a_burst(struct trial *here)
{
    struct sw_session *session = open_session(here);
    char id[SW_ID_SIZE];

    for (int i = 0; i < BURST; i++)
        sw_submit(session, burst_request(here, i), id, NULL);
    pause();
}

static void a_client_killed_while_submitting_fails_no_job(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };
    pid_t child = fork();

    if (child == 0)
        submit_a_burst(here);
    usleep(15000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (int i = 0; i < BURST; i++) {
        struct sw_request *made = burst_request(here, i);
        char id[SW_ID_SIZE];

        expect_ok(sw_submit(here->session, made, id, &err), &err, "the same submit again");
        sw_request_free(made);
        assert_int_equal(wait_until_over(here, id), 0);
    }
}

/* ---- 31 ----------------------------------------------------------------------------------------- */

struct crowd {
    struct trial *here;
    char id[SW_ID_SIZE];
    atomic_int following;
};

static int just_take(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    struct crowd *crowd = context;

    (void)replica, (void)at_ms, (void)bytes, (void)length;
    atomic_fetch_add(&crowd->following, 1);
    return 0;
}

static void *follow(void *context)
{
    struct crowd *crowd = context;
    struct sw_log_options options = { .size = sizeof options, .tail_lines = -1, .follow = true };

    sw_logs(crowd->here->session, crowd->id, &options, just_take, crowd, NULL);
    return NULL;
}

static void thirty_people_following_do_not_hold_up_a_command(void **state)
{
    enum { PEOPLE = 30 };
    struct crowd crowd = { .here = *state };
    pthread_t people[PEOPLE];
    int64_t begun;

    memcpy(crowd.id, rehearse(*state, "log 1 line, running", NULL), SW_ID_SIZE);
    for (int i = 0; i < PEOPLE; i++)
        pthread_create(&people[i], NULL, follow, &crowd);
    while (atomic_load(&crowd.following) < PEOPLE)
        sw_sleep_ms(5);
    begun = sw_monotonic_ms();
    assert_int_equal(wait_until_over(*state, rehearse(*state, "exit 0", NULL)), 0);
    expect_quick(begun, 2000, "a job beside thirty followers");
    assert_int_equal(sw_cancel(crowd.here->session, crowd.id, NULL), 0);
    for (int i = 0; i < PEOPLE; i++)
        pthread_join(people[i], NULL);
}

/* ---- 32 ----------------------------------------------------------------------------------------- */

static void submit_and_be_killed(struct trial *here)
{
    struct sw_session *session = open_session(here);
    char id[SW_ID_SIZE];

    for (int i = 0; i < BURST; i++)
        sw_submit(session, burst_request(here, i), id, NULL);
    kill(getpid(), SIGKILL);
}

static void zeroes_at_the_end_of_the_journal_cost_only_what_they_hit(void **state)
{
    struct trial *here = *state;
    sw_autofree char *journal = sw_format("%s/jobs.db-wal", here->state_dir);
    sw_auto(json) json_t *list = NULL;
    static const char zeroes[8192];
    struct stat info = { 0 };
    pid_t child;
    int fd;

    sw_close(here->session);
    child = fork();
    if (child == 0)
        submit_and_be_killed(here);
    waitpid(child, NULL, 0);
    fd = open(journal, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &info) == 0 && info.st_size > (off_t)sizeof zeroes);
    assert_int_equal(pwrite(fd, zeroes, sizeof zeroes, info.st_size - (off_t)sizeof zeroes),
                     sizeof zeroes);
    close(fd);
    here->session = open_session(here);
    list = list_all(here, SW_LOOK_STORED);
    assert_true(json_array_size(json_object_get(list, "jobs")) >= BURST - 1);
}

static void starting_takes_no_longer_after_twelve_thousand_jobs(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };
    struct sw_store *store = sw_store_open(here->state_dir, false, &err);
    int64_t begun;

    assert_non_null(store);
    expect_ok(fill_store(store, 12000, &err), &err, "fill");
    sw_store_close(store);
    begun = sw_monotonic_ms();
    assert_int_equal(slipway(here, NULL, "ps", NULL), 0);
    expect_quick(begun, 500, "`slipway ps` after 12,000 jobs");
}

struct scene scenes_watching[] = {
    SCENE("skypilot#4243 #2668", five_hundred_jobs_take_kilobytes_each, rehearsal),
    SCENE("skypilot#7707", a_client_killed_while_submitting_fails_no_job,
          rehearsal),
    SCENE("skypilot#7110", thirty_people_following_do_not_hold_up_a_command,
          rehearsal),
    SCENE("hyperqueue#1059 #742",
          zeroes_at_the_end_of_the_journal_cost_only_what_they_hit, rehearsal),
    SCENE("flux-core#4177 #7809",
          starting_takes_no_longer_after_twelve_thousand_jobs, rehearsal),
    { 0 }
};
