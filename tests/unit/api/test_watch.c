/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_watch.c - what watchers do happens once, however many there are and however they die; a
 * slow platform delays no caller.
 */
#include "watch_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WATCHERS = 4, KILLS = 30 };

static int never_mind(void *context, const char *document)
{
    (void)context, (void)document;
    return 0;
}

/* ---- retries ---------------------------------------------------------------------------------- */

static void watch_in_child(const char *dir)
{
    const struct sw_watch_options options = { .size = sizeof options, .every_ms = 50 };
    struct sw_session *session = open_session(dir);

    _exit(session && sw_watch(session, NULL, 0, &options, never_mind, NULL, NULL) == 0 ? 0 : 1);
}

static void many_watchers_retry_once(void **state)
{
    struct post *here = *state;
    const char *id = submit(here,
        "name: again\ncommand: x\nplatform: rehearsal\nretry: {wait: 0s, avoid_bad_nodes: true}\n"
        "rehearsal: {script: 'running 100ms, node-lost; running 100ms, node-lost;"
        " running 100ms, node-lost; running 100ms, exit 0'}\n");
    pid_t children[WATCHERS];

    for (int i = 0; i < WATCHERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            watch_in_child(here->dir);
    }
    for (int i = 0; i < WATCHERS; i++) {
        int status = 1;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    {
        sw_auto(json) json_t *job = status_of(here, id);
        json_t *attempts = json_object_get(job, "attempts");
        sw_autofree char *fifth = sw_format("%s/state/rehearsal/%s/attempt-5.json", here->dir, id);

        assert_string_equal(sw_json_str(job, "status"), "Complete");
        assert_int_equal(sw_json_int(job, "attempt", 0), 4);
        assert_int_equal(json_array_size(attempts), 4);
        assert_string_equal(sw_json_str(json_array_get(attempts, 0), "cause"), "node");
        assert_string_equal(sw_json_str(json_array_get(attempts, 1), "node"), "rehearsal-1");
        assert_false(sw_file_exists(fifth));
    }
    assert_int_equal(events_of(here, id, "attempt"), 3);
}

static void a_cancel_during_the_wait_cancels(void **state)
{
    struct post *here = *state;
    const char *id = submit(here, "name: c\ncommand: x\nplatform: rehearsal\nretry: {wait: 1h}\n"
                                  "rehearsal: {script: 'node-lost'}\n");
    sw_auto(json) json_t *waiting = status_of(here, id);
    int status = 0;

    assert_string_equal(sw_json_str(waiting, "status"), "Pending");
    assert_string_equal(sw_json_str(waiting, "reason"), "retry");
    assert_non_null(sw_json_str(waiting, "next_attempt_at"));
    must(sw_cancel(here->session, id, &here->err));
    must(sw_wait(here->session, id, 1000, NULL, NULL, &status, &here->err));
    assert_int_equal(status, 130);
    {
        sw_auto(json) json_t *job = status_of(here, id);

        assert_string_equal(sw_json_str(job, "status"), "Canceled");
    }
}

static void an_attempt_without_its_secret_waits_for_it(void **state)
{
    struct post *here = *state;
    const char *id;
    int status = 0, attempt = 0;

    setenv("WATCH_TEST_SECRET", "value", 1);
    id = submit(here, "name: s\ncommand: x\nplatform: rehearsal\nretry: {wait: 0s}\n"
                      "secrets: [WATCH_TEST_SECRET]\nrehearsal: {script: 'node-lost; exit 0'}\n");
    unsetenv("WATCH_TEST_SECRET");
    assert_int_equal(sw_wait(here->session, id, 500, NULL, NULL, &status, &here->err), -1);
    assert_int_equal(here->err.code, SW_E_TIMEOUT);
    {
        sw_auto(json) json_t *job = status_of(here, id);

        assert_string_equal(sw_json_str(job, "status"), "Pending");
        assert_string_equal(sw_json_str(job, "reason"), "credential");
        assert_non_null(strstr(sw_json_str(job, "message"), "WATCH_TEST_SECRET"));
        assert_int_equal(sw_json_int(job, "attempt", 0), 2);
    }
    setenv("WATCH_TEST_SECRET", "value", 1);
    must(sw_retry(here->session, id, false, &attempt, &here->err));
    must(sw_wait(here->session, id, 5000, NULL, NULL, &status, &here->err));
    assert_int_equal(status, 0);
    assert_int_equal(attempt, 2);
    unsetenv("WATCH_TEST_SECRET");
}

static void a_finished_job_can_be_tried_again_by_hand(void **state)
{
    struct post *here = *state;
    const char *id = submit(here, "name: r\ncommand: x\nplatform: rehearsal\n"
                                  "rehearsal: {script: 'running 10ms, exit 3; exit 0'}\n");
    int status = 0, attempt = 0;

    must(sw_wait(here->session, id, 5000, NULL, NULL, &status, &here->err));
    assert_int_equal(status, 3);
    must(sw_retry(here->session, id, true, &attempt, &here->err));
    assert_int_equal(attempt, 2);
    must(sw_wait(here->session, id, 5000, NULL, NULL, &status, &here->err));
    assert_int_equal(status, 0);
}

/* ---- hooks ------------------------------------------------------------------------------------ */

static const char *submit_hooked(struct post *here)
{
    sw_autofree char *yaml = sw_format(
        "name: h\ncommand: x\nplatform: rehearsal\nretry: {wait: 0s}\n"
        "hooks:\n"
        "  on_status: echo \"status $SLIPWAY_JOB_STATUS $SLIPWAY_JOB_ATTEMPT\" >> %s/heard\n"
        "  on_complete: echo all done >> %s/heard\n"
        "  on_epoch_milestone: echo \"epoch $SLIPWAY_JOB_EPOCH.\" >> %s/heard\n"
        "notify: {command: 'echo told $SLIPWAY_JOB_EVENT >> %s/heard', on: [retry, complete]}\n"
        "rehearsal: {script: 'running 400ms, node-lost; epochs 30 every 40ms, exit 0'}\n",
        here->dir, here->dir, here->dir, here->dir);

    return submit(here, yaml);
}

static const char *const lines[] = { "status Running 1\n", "status Pending 2\n", "told retry\n",
                                     "status Running 2\n", "epoch 10.\n", "epoch 20.\n",
                                     "epoch 30.\n", "status Complete 2\n", "all done\n",
                                     "told complete\n" };

static bool all_heard(const char *text)
{
    for (size_t i = 0; i < SW_COUNT(lines); i++)
        if (!strstr(text, lines[i]))
            return false;
    return true;
}

static void expect_each_line_once(struct post *here)
{
    sw_autofree char *path = sw_path_join(here->dir, "heard");
    int64_t until = sw_monotonic_ms() + 20000;
    sw_autofree char *text = content_of(path);
    size_t expected = 0;

    while (!all_heard(text) && sw_monotonic_ms() < until) {
        must(sw_watcher_once(here->session, &here->err));
        sw_sleep_ms(50);
        free(text);
        text = content_of(path);
    }
    for (size_t i = 0; i < SW_COUNT(lines); i++) {
        if (count_of(text, lines[i]) != 1)
            fail_msg("'%s' came %zu times:\n%s", lines[i], count_of(text, lines[i]), text);
        expected++;
    }
    assert_int_equal(count_of(text, "\n"), expected);
}

static void hooks_hear_each_change_once_from_many_watchers(void **state)
{
    struct post *here = *state;
    pid_t children[WATCHERS];

    submit_hooked(here);
    for (int i = 0; i < WATCHERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            watch_in_child(here->dir);
    }
    for (int i = 0; i < WATCHERS; i++)
        waitpid(children[i], NULL, 0);
    expect_each_line_once(here);
}

static void a_watcher_killed_at_random_loses_and_doubles_no_hook(void **state)
{
    struct post *here = *state;
    unsigned chance = 12345;

    submit_hooked(here);
    for (int i = 0; i < KILLS; i++) {
        pid_t child = fork();

        if (child == 0)
            watch_in_child(here->dir);
        chance = chance * 1103515245u + 12345u;
        sw_sleep_ms(5 + (chance >> 16) % 90);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    expect_each_line_once(here);
}

/* ---- slow platforms --------------------------------------------------------------------------- */

struct hearing {
    int64_t begun_ms, local_done_ms;
    bool slow_named;
};

static int hear(void *context, const char *document)
{
    struct hearing *hearing = context;
    sw_auto(json) json_t *all = json_loads(document, 0, NULL);
    json_t *row;
    size_t i;

    json_array_foreach(json_object_get(all, "jobs"), i, row)
        if (strcmp(sw_json_str(row, "backend_type"), "local") == 0 &&
            strcmp(sw_json_str(row, "status"), "Complete") == 0 && !hearing->local_done_ms)
            hearing->local_done_ms = sw_monotonic_ms() - hearing->begun_ms;
    json_array_foreach(json_object_get(all, "unreachable"), i, row)
        if (strcmp(sw_json_str(row, "platform"), "rehearsal") == 0 &&
            strstr(sw_json_str(row, "message"), "no answer after"))
            hearing->slow_named = true;
    return hearing->local_done_ms > 0 && hearing->slow_named;
}

static void a_slow_platform_delays_no_caller_and_closing_does_not_wait_for_it(void **state)
{
    struct post *here = *state;
    const struct sw_watch_options options = { .size = sizeof options, .every_ms = 100,
                                              .rounds = 100 };
    struct hearing hearing = { 0 };
    int64_t closing;

    submit(here, "name: fast\ncommand: sleep 0.5\nplatform: local\n");
    submit(here, "name: slow\ncommand: x\nplatform: rehearsal\n"
                 "rehearsal: {script: 'running 1h', api: 'slow 6s'}\n");
    hearing.begun_ms = sw_monotonic_ms();
    sw_watch(here->session, NULL, 0, &options, hear, &hearing, &here->err);
    assert_true(hearing.slow_named);
    assert_in_range(hearing.local_done_ms, 1, 5000);
    closing = sw_monotonic_ms();
    sw_close(here->session);
    assert_in_range(sw_monotonic_ms() - closing, 0, 2500);
    sw_sleep_ms(7000);               /* the task that still ran ends after its session */
    here->session = open_session(here->dir);
    assert_non_null(here->session);
}

/* ---- progress, guards -------------------------------------------------------------------------- */

static void progress_and_the_last_line_are_shown(void **state)
{
    struct post *here = *state;
    const char *id = submit(here, "name: p\ncommand: x\nplatform: rehearsal\n"
                                  "rehearsal: {script: 'epochs 10 every 30ms, log done at last,"
                                  " exit 0'}\n");
    int status = 0;

    await_status(here, id, "Complete");
    must(sw_wait(here->session, id, 5000, NULL, NULL, &status, &here->err));
    {
        sw_auto(json) json_t *job = status_of(here, id);
        json_t *progress = json_object_get(job, "progress");

        assert_int_equal(sw_json_int(progress, "epoch", 0), 10);
        assert_int_equal(sw_json_int(progress, "epochs", 0), 10);
        assert_string_equal(sw_json_str(job, "last_line"), "done at last");
        assert_non_null(sw_json_str(job, "last_output_at"));
    }
}

static void a_guard_stops_a_silent_job(void **state)
{
    struct post *here = *state;
    const char *id = submit(here, "name: g\ncommand: x\nplatform: rehearsal\n"
                                  "guard: {no_output: 1s, action: stop}\n"
                                  "rehearsal: {script: 'log hello, running 1h'}\n");

    await_status(here, id, "Canceled");
    {
        sw_auto(json) json_t *job = status_of(here, id);

        assert_string_equal(sw_json_str(job, "reason"), "guard");
        assert_non_null(strstr(sw_json_str(job, "message"), "no output for "));
    }
    assert_int_equal(events_of(here, id, "guard"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        POST_TEST(many_watchers_retry_once),
        POST_TEST(a_cancel_during_the_wait_cancels),
        POST_TEST(an_attempt_without_its_secret_waits_for_it),
        POST_TEST(a_finished_job_can_be_tried_again_by_hand),
        POST_TEST(hooks_hear_each_change_once_from_many_watchers),
        POST_TEST(a_watcher_killed_at_random_loses_and_doubles_no_hook),
        POST_TEST(a_slow_platform_delays_no_caller_and_closing_does_not_wait_for_it),
        POST_TEST(progress_and_the_last_line_are_shown),
        POST_TEST(a_guard_stops_a_silent_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
