/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_beside.c - why, reports, sweeping up: nothing is shown that must stay hidden, and nothing is
 * removed that is not ours.
 */
#include "watch_test.h"

#include <sys/stat.h>

static void why_explains_a_failure_and_that_it_is_not_retried(void **state)
{
    struct post *here = *state;
    const char *id = submit(here, "name: w\ncommand: x\nplatform: rehearsal\n"
                                  "rehearsal: {script: 'running 10ms, exit 3'}\n");
    int status = 0;

    must(sw_wait(here->session, id, 5000, NULL, NULL, &status, &here->err));
    {
        sw_auto(json) json_t *why = ask(here, sw_why(here->session, id, &here->err));

        assert_non_null(strstr(sw_json_str(why, "headline"), "exited with code 3"));
        assert_non_null(sw_json_str(why, "cause"));
        assert_non_null(sw_json_str(why, "suggestion"));
        assert_true(json_is_null(json_object_get(why, "waits")));
        assert_false(sw_json_bool(json_object_get(why, "retry"), "again", true));
    }
}

static void why_explains_a_job_that_waits(void **state)
{
    struct post *here = *state;
    const char *id = submit(here, "name: w\ncommand: x\nplatform: rehearsal\n"
                                  "rehearsal: {script: 'pending 1h'}\n");
    sw_auto(json) json_t *why = ask(here, sw_why(here->session, id, &here->err));

    assert_string_equal(sw_json_str(why, "headline"), sw_json_str(why, "waits"));
    assert_true(strlen(sw_json_str(why, "waits")) > 0);
}

static void why_tells_when_the_next_attempt_comes(void **state)
{
    struct post *here = *state;
    const char *id = submit(here, "name: w\ncommand: x\nplatform: rehearsal\nretry: {wait: 1h}\n"
                                  "rehearsal: {script: 'node-lost'}\n");

    json_decref(status_of(here, id));
    {
        sw_auto(json) json_t *why = ask(here, sw_why(here->session, id, &here->err));
        json_t *retry = json_object_get(why, "retry");

        assert_true(sw_json_bool(retry, "again", false));
        assert_non_null(sw_json_str(retry, "at"));
    }
}

static void a_report_holds_what_helps_and_no_secret(void **state)
{
    struct post *here = *state;
    sw_autofree char *path = sw_path_join(here->dir, "report.tar");
    sw_autofree char *bytes = NULL;
    const char *id;
    size_t length = 0;

    setenv("WATCH_TEST_SECRET", "canary-value-1", 1);
    setenv("SOME_API_TOKEN", "canary-value-2", 1);
    id = submit(here, "name: w\ncommand: echo canary-value-2\nplatform: rehearsal\n"
                      "env: {MODE: canary-value-3}\nsecrets: [WATCH_TEST_SECRET]\n"
                      "notify: {webhook: 'https://127.0.0.1/canary-value-4', on: [guard]}\n"
                      "rehearsal: {script: 'log saying canary-value-1 aloud, exit 3'}\n");
    json_decref(status_of(here, id));
    must(sw_report(here->session, id, path, &here->err));
    bytes = sw_file_read(path, 16 << 20, &length, &here->err);
    assert_non_null(bytes);
    assert_non_null(memmem(bytes, length, "about.txt", 9));
    assert_non_null(memmem(bytes, length, "saying [redacted] aloud", 23));
    assert_non_null(memmem(bytes, length, "\"MODE\"", 6));
    assert_null(memmem(bytes, length, "canary-value", 12));
    unsetenv("WATCH_TEST_SECRET");
    unsetenv("SOME_API_TOKEN");
}

static void a_report_about_no_job_tells_of_the_installation(void **state)
{
    struct post *here = *state;
    sw_autofree char *path = sw_path_join(here->dir, "report.tar");
    struct stat info;

    must(sw_report(here->session, NULL, path, &here->err));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(sw_report(here->session, "missing-aaaaaaaa", path, &here->err), -1);
    assert_int_equal(here->err.code, SW_E_NOT_FOUND);
}

static void exec_needs_a_platform_that_can(void **state)
{
    struct post *here = *state;
    const char *id = submit(here, "name: w\ncommand: x\nplatform: rehearsal\n"
                                  "rehearsal: {script: 'running 1h'}\n");
    const char *const argv[] = { "true" };
    int status = 0;

    assert_int_equal(sw_exec(here->session, id, 0, 1, argv, &status, &here->err), -1);
    assert_int_equal(here->err.code, SW_E_UNSUPPORTED);
    assert_non_null(strstr(here->err.message, "rehearsal"));
}

static void sweeping_finds_nothing_where_nothing_is_left(void **state)
{
    struct post *here = *state;
    sw_auto(json) json_t *found = ask(here, sw_gc(here->session, false, &here->err));

    assert_true(json_is_array(json_object_get(found, "leftovers")));
    assert_int_equal(json_array_size(json_object_get(found, "leftovers")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        POST_TEST(why_explains_a_failure_and_that_it_is_not_retried),
        POST_TEST(why_explains_a_job_that_waits),
        POST_TEST(why_tells_when_the_next_attempt_comes),
        POST_TEST(a_report_holds_what_helps_and_no_secret),
        POST_TEST(a_report_about_no_job_tells_of_the_installation),
        POST_TEST(exec_needs_a_platform_that_can),
        POST_TEST(sweeping_finds_nothing_where_nothing_is_left),
    };

    setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
