/* SPDX-License-Identifier: Apache-2.0 */
/*
 * killed_watcher.c - `killed_watcher [SEED]`: a watcher is killed with SIGKILL and started again,
 * fifty times, at random instants, over jobs whose node dies and which have hooks. Afterwards:
 * no attempt twice, no hook twice, none missing.
 *
 * The hooks write one line each, in one write(), so that two runs would be two lines.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "stage.h"

enum { JOBS = 24, KILLS = 50, SHORTEST_US = 2000, LONGEST_US = 90000 };

static unsigned seed = 20260521;

static const struct kind {
    const char *script, *retries;
    const char *last_hook;             /* what is heard at the end */
    int attempts;
} kinds[] = {
    { "running 120ms, node-lost; running 150ms, node-lost; running 100ms, exit 0", "5",
      "on_complete", 3 },
    { "pending 60ms, running 150ms, node-lost; running 200ms, exit 0", "5", "on_complete", 2 },
    { "running 200ms, node-lost", "2", "on_error", 3 },
    { "running 300ms, exit 3", "5", "on_error", 1 },
};

static const struct kind *kind_of(int job)
{
    return &kinds[(size_t)job % SW_COUNT(kinds)];
}

static void name_job(int job, char id[SW_ID_SIZE])
{
    snprintf(id, SW_ID_SIZE, "watched-%d", job);
}

static int begin(void **state)
{
    return stage_begin(&fixture_rehearsal, state);
}

static void submit_all(struct trial *here, const char *heard)
{
    static const char *const hooks[] = { "on_complete", "on_error", "on_status" };

    for (int job = 0; job < JOBS; job++) {
        struct sw_request *made = script(here, kind_of(job)->script, "retry.max",
                                         kind_of(job)->retries, "retry.wait", "50ms", NULL);
        char id[SW_ID_SIZE];

        name_job(job, id);
        set_id(made, id);
        for (size_t i = 0; i < SW_COUNT(hooks); i++) {
            sw_autofree char *key = sw_format("hooks.%s", hooks[i]);
            sw_autofree char *command = sw_format(
                "echo %s $SLIPWAY_JOB_ID $SLIPWAY_JOB_EVENT $SLIPWAY_JOB_STATUS"
                " $SLIPWAY_JOB_ATTEMPT >>'%s'", hooks[i], heard);

            set(made, key, command);
        }
        send_request(here, made);
    }
}

static int just_go_on(void *context, const char *document)
{
    (void)context, (void)document;
    return 0;
}

static void watch_all(struct trial *here)
{
    struct sw_session *session = open_session(here);
    struct sw_watch_options options = { .size = sizeof options, .every_ms = 50 };

    sw_watch(session, NULL, 0, &options, just_go_on, NULL, NULL);
    sw_close(session);
}

static void watch_until_killed(struct trial *here)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        watch_all(here);
        pause();
    }
    usleep(SHORTEST_US + (useconds_t)rand_r(&seed) % (LONGEST_US - SHORTEST_US));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* How many hooks are still to be heard, by the store's own account: due and not done. */
static int lines_with(const char *text, const char *words)
{
    int count = 0;

    for (const char *at = text; at && (at = strstr(at, words)); at += strlen(words))
        count++;
    return count;
}

/* Changes of state and new attempts: what on_status must have heard. */
static int changes_of(struct trial *here, const char *id)
{
    sw_auto(json) json_t *events = events_of(here, id);
    json_t *event;
    size_t i;
    int count = 0;

    json_array_foreach(events, i, event) {
        const json_t *data = json_object_get(event, "data");

        if (strcmp(text_of(event, "kind"), "attempt") == 0)
            count++;
        else if (strcmp(text_of(event, "kind"), "state") == 0)
            count += strcmp(text_of(data, "status"), text_of(data, "was")) != 0;
    }
    return count;
}

static void expect_attempts(struct trial *here, int job)
{
    sw_autofree char *last = NULL, *beyond = NULL;
    sw_auto(json) json_t *seen = NULL;
    char id[SW_ID_SIZE];

    name_job(job, id);
    seen = status(here, id);
    assert_int_equal(number_of(seen, "attempt"), kind_of(job)->attempts);
    assert_int_equal(count_events(here, id, "attempt"), kind_of(job)->attempts - 1);
    last = sw_format("%s/rehearsal/%s/attempt-%d.json", here->state_dir, id,
                     kind_of(job)->attempts);
    beyond = sw_format("%s/rehearsal/%s/attempt-%d.json", here->state_dir, id,
                       kind_of(job)->attempts + 1);
    assert_true(sw_file_exists(last));
    assert_false(sw_file_exists(beyond));
}

static void expect_hooks(struct trial *here, int job, const char *heard)
{
    static const char *const ends[] = { "on_complete", "on_error" };
    char id[SW_ID_SIZE];
    sw_autofree char *status_words = NULL;

    name_job(job, id);
    for (size_t i = 0; i < SW_COUNT(ends); i++) {
        sw_autofree char *words = sw_format("%s %s ", ends[i], id);
        int wanted = strcmp(ends[i], kind_of(job)->last_hook) == 0;

        if (lines_with(heard, words) != wanted)
            fail_msg("'%s' was run %d times instead of %d", words, lines_with(heard, words),
                     wanted);
    }
    status_words = sw_format("on_status %s ", id);
    if (lines_with(heard, status_words) != changes_of(here, id))
        fail_msg("'%s' was run %d times for %d changes", status_words,
                 lines_with(heard, status_words), changes_of(here, id));
}

static int hooks_wanted(struct trial *here)
{
    int wanted = 0;

    for (int job = 0; job < JOBS; job++) {
        char id[SW_ID_SIZE];

        name_job(job, id);
        wanted += 1 + changes_of(here, id);
    }
    return wanted;
}

static void a_watcher_killed_fifty_times_repeats_and_forgets_nothing(void **state)
{
    struct trial *here = *state;
    sw_autofree char *heard_path = path_in(here, "heard"), *heard = NULL;
    int64_t deadline = sw_monotonic_ms() + 3 * PATIENCE_MS;
    int wanted;

    print_message("seed %u\n", seed);
    submit_all(here, heard_path);
    for (int i = 0; i < KILLS; i++)
        watch_until_killed(here);
    watch_all(here);
    wanted = hooks_wanted(here);
    while (lines_in(heard_path) < wanted && sw_monotonic_ms() < deadline) {
        json_decref(list_all(here, SW_LOOK_REFRESH));      /* every client that looks starts what is due */
        sw_sleep_ms(20);
    }
    for (int i = 0; i < 3; i++)                            /* and nothing is run afterwards */
        json_decref(list_all(here, SW_LOOK_REFRESH));
    heard = read_text(heard_path);
    for (int job = 0; job < JOBS; job++) {
        expect_attempts(here, job);
        expect_hooks(here, job, heard);
    }
    print_message("%d kills, %d jobs, %d hooks heard\n", KILLS, JOBS, wanted);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_watcher_killed_fifty_times_repeats_and_forgets_nothing, begin, stage_end),
    };

    if (argc > 1)
        seed = (unsigned)strtoul(argv[1], NULL, 10);
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests_name("a watcher that is killed", tests, NULL, NULL);
}
