/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session.c - one session used from many threads, and the words people use for jobs.
 *
 * The platform is rehearsal: what is tested is the session, not a place.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "slipway.h"

enum { THREADS = 8, JOBS_EACH = 5 };

struct fixture {
    char dir[64];
    struct sw_session *session;
};

static int open_fixture(void **state)
{
    struct fixture *here = calloc(1, sizeof *here);
    struct sw_open_options options = { .size = sizeof options, .state_dir = here->dir };

    strcpy(here->dir, "/tmp/slipway-api-XXXXXX");
    if (!mkdtemp(here->dir))
        return -1;
    options.project_dir = here->dir;
    setenv("HOME", here->dir, 1);
    here->session = sw_open(&options, NULL);
    *state = here;
    return here->session ? 0 : -1;
}

static int close_fixture(void **state)
{
    struct fixture *here = *state;

    sw_close(here->session);
    sw_remove_tree(here->dir, NULL);
    free(here);
    return 0;
}

static int submit(struct sw_session *session, const char *name, const char *script,
                  char id[SW_ID_SIZE], struct sw_error *err)
{
    struct sw_request *request = sw_request_new();
    int result = -1;

    if (sw_request_set(request, "platform", "rehearsal", err) == 0 &&
        sw_request_set(request, "name", name, err) == 0 &&
        sw_request_set(request, "command", "true", err) == 0 &&
        sw_request_set(request, "rehearsal.script", script, err) == 0)
        result = sw_submit(session, request, id, err);
    sw_request_free(request);
    return result;
}

static int count_bytes(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    (void)replica;
    (void)at_ms;
    (void)bytes;
    *(size_t *)context += length;
    return 0;
}

static void *work(void *context)
{
    struct sw_session *session = context;
    const struct sw_log_options all = { .size = sizeof all, .replica = -1, .tail_lines = -1,
                                        .follow = true };

    for (int i = 0; i < JOBS_EACH; i++) {
        char id[SW_ID_SIZE];
        struct sw_error err = { 0 };
        int exit_status = -1;
        size_t bytes = 0;
        char *list;

        if (submit(session, "thread", "log 3 lines, running 50ms, exit 3", id, &err) < 0 ||
            sw_logs(session, id, &all, count_bytes, &bytes, &err) < 0 ||
            sw_wait(session, id, 20000, NULL, NULL, &exit_status, &err) < 0)
            return sw_format("%s", err.message);
        list = sw_list(session, NULL, &err);
        if (!list || exit_status != 3 || bytes == 0)
            return sw_format("exit %d, %zu bytes", exit_status, bytes);
        sw_text_free(list);
    }
    return NULL;
}

static void a_session_serves_many_threads_at_once(void **state)
{
    struct fixture *here = *state;
    pthread_t threads[THREADS];
    struct sw_list_options options = { .size = sizeof options, .limit = 1000 };
    sw_auto(json) json_t *list = NULL;
    char *text;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, here->session), 0);
    for (int i = 0; i < THREADS; i++) {
        void *problem = NULL;

        pthread_join(threads[i], &problem);
        if (problem)
            fail_msg("%s", (char *)problem);
    }
    text = sw_list(here->session, &options, NULL);
    list = json_loads(text, 0, NULL);
    sw_text_free(text);
    assert_int_equal(json_array_size(json_object_get(list, "jobs")), THREADS * JOBS_EACH);
    assert_int_equal(sw_json_int(list, "total", -1), THREADS * JOBS_EACH);
}

static json_t *pick(struct fixture *here, const char *word, struct sw_error *err)
{
    char *text = sw_select(here->session, &word, 1, NULL, 0, err);
    json_t *ids = text ? json_loads(text, 0, NULL) : NULL;

    sw_text_free(text);
    return ids;
}

static void expect_picks(struct fixture *here, const char *word, const char *const *ids,
                         size_t count)
{
    struct sw_error err = { 0 };
    sw_auto(json) json_t *picked = pick(here, word, &err);

    if (!picked)
        fail_msg("%s: %s", word, err.message);
    assert_int_equal(json_array_size(picked), count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(json_string_value(json_array_get(picked, i)), ids[i]);
}

static void jobs_are_found_by_the_words_people_use(void **state)
{
    struct fixture *here = *state;
    char a[SW_ID_SIZE], b[SW_ID_SIZE], c[SW_ID_SIZE];
    struct sw_error err = { 0 };
    char prefix[SW_ID_SIZE];
    int code;

    assert_int_equal(submit(here->session, "alpha", "exit 0", a, NULL), 0);
    assert_int_equal(submit(here->session, "beta", "exit 1", b, NULL), 0);
    assert_int_equal(submit(here->session, "alpha", "running 1000s", c, NULL), 0);
    assert_int_equal(sw_wait(here->session, a, 20000, NULL, NULL, &code, NULL), 0);
    assert_int_equal(sw_wait(here->session, b, 20000, NULL, NULL, &code, NULL), 0);

    expect_picks(here, a, (const char *const[]){ a }, 1);
    expect_picks(here, "last", (const char *const[]){ c }, 1);
    expect_picks(here, "last-2", (const char *const[]){ a }, 1);
    expect_picks(here, "alpha", (const char *const[]){ c }, 1);       /* the newest of that name */
    expect_picks(here, "failed", (const char *const[]){ b }, 1);
    expect_picks(here, "active", (const char *const[]){ c }, 1);
    expect_picks(here, "all", (const char *const[]){ c, b, a }, 3);
    snprintf(prefix, sizeof prefix, "%.8s", b);
    expect_picks(here, prefix, (const char *const[]){ b }, 1);

    assert_null(pick(here, "alpha-", &err));                          /* two jobs begin so */
    assert_int_equal(err.code, SW_E_USAGE);
    assert_non_null(strstr(err.message, "not unique"));
    assert_null(pick(here, "gamma", &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    assert_int_equal(sw_cancel(here->session, c, NULL), 0);
}

static void a_job_cannot_be_removed_before_it_is_over(void **state)
{
    struct fixture *here = *state;
    char id[SW_ID_SIZE];
    struct sw_error err = { 0 };

    assert_int_equal(submit(here->session, "busy", "running 1000s", id, NULL), 0);
    assert_int_equal(sw_remove(here->session, id, false, &err), -1);
    assert_int_equal(err.code, SW_E_CONFLICT);
    assert_non_null(strstr(err.hint, "slipway cancel"));
    assert_int_equal(sw_cancel(here->session, id, NULL), 0);
    assert_int_equal(sw_remove(here->session, id, false, NULL), 0);
    assert_null(sw_status(here->session, id, SW_LOOK_STORED, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

/* In env.toml of the project; rehearsal's "log" is what the rule reads. */
static void a_users_own_rule_explains_a_failure_and_a_bad_one_is_named(void **state)
{
    static const char rules[] = "[[rules]]\npattern = 'flux capacitor .* empty'\n"
                                "cause = 'storage'\nsuggestion = 'refill it'\n";
    static const char bad[] = "[[rules]]\npattern = '('\ncause = 'storage'\n";
    struct fixture *here = *state;
    sw_autofree char *path = sw_path_join(here->dir, "env.toml");
    struct sw_open_options options = { .size = sizeof options, .state_dir = here->dir,
                                       .project_dir = here->dir };
    struct sw_error err = { 0 };
    sw_auto(json) json_t *why = NULL;
    char id[SW_ID_SIZE], *text;

    assert_int_equal(sw_file_write(path, rules, strlen(rules), 0600, NULL), 0);
    assert_int_equal(submit(here->session, "delorean",
                            "log the flux capacitor is empty, running 10ms, exit 7", id, &err), 0);
    text = sw_why(here->session, id, &err);
    for (int i = 0; text && i < 200 && !strstr(text, "refill it"); i++) {
        sw_text_free(text);
        sw_sleep_ms(20);
        text = sw_why(here->session, id, &err);
    }
    assert_non_null(text);
    why = json_loads(text, 0, NULL);
    assert_string_equal(sw_json_str(why, "suggestion"), "refill it");
    assert_string_equal(sw_json_str(why, "cause"), "storage");
    sw_text_free(text);

    assert_int_equal(sw_file_write(path, bad, strlen(bad), 0600, NULL), 0);
    sw_close(here->session);
    here->session = sw_open(&options, NULL);
    assert_int_equal(submit(here->session, "again", "exit 0", id, &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
    assert_non_null(strstr(err.message, "[[rules]]"));
}

static int count_by_rank(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    size_t *ranks = context;

    (void)at_ms, (void)bytes;
    ranks[replica] += length;
    return 0;
}

static void options_that_are_zero_read_the_whole_log_of_every_rank(void **state)
{
    struct fixture *here = *state;
    const struct sw_log_options all = { .size = sizeof all };
    const struct sw_log_options new = { .size = sizeof new, .tail_lines = SW_LOG_NEW };
    struct sw_request *request = sw_request_new();
    size_t ranks[2] = { 0 };
    char id[SW_ID_SIZE];
    int status = -1;

    assert_int_equal(sw_request_set(request, "platform", "rehearsal", NULL), 0);
    assert_int_equal(sw_request_set(request, "nodes", "2", NULL), 0);
    assert_int_equal(sw_request_set(request, "rehearsal.script", "log 5 lines, exit 0", NULL), 0);
    assert_int_equal(sw_request_set(request, "command", "x", NULL), 0);
    assert_int_equal(sw_submit(here->session, request, id, NULL), 0);
    assert_int_equal(sw_wait(here->session, id, 20000, NULL, NULL, &status, NULL), 0);
    assert_int_equal(sw_logs(here->session, id, &new, count_by_rank, ranks, NULL), 0);
    assert_int_equal(ranks[0], 0);
    assert_int_equal(sw_logs(here->session, id, &all, count_by_rank, ranks, NULL), 0);
    assert_int_equal(ranks[0], 5 * 64);
    assert_int_equal(ranks[1], 5 * 64);
    sw_request_free(request);
}

static void without_a_session_there_is_an_error_and_no_crash(void **state)
{
    struct sw_request *request = sw_request_new();
    const struct sw_log_options all = { .size = sizeof all };
    const char *const ids[] = { "x" };
    char id[SW_ID_SIZE];

    (void)state;
    assert_int_equal(sw_request_set(request, "command", "x", NULL), 0);
    for (enum sw_look look = SW_LOOK_REFRESH; look <= SW_LOOK_STORED; look++) {
        struct sw_list_options list = { .size = sizeof list, .look = look };
        struct sw_error err = { 0 };

        assert_null(sw_status(NULL, "x", look, &err));
        assert_int_equal(err.code, SW_E_USAGE);
        assert_null(sw_status_many(NULL, ids, 1, look, NULL));
        assert_null(sw_list(NULL, &list, NULL));
    }
    assert_null(sw_events(NULL, "x", 0, NULL));
    assert_null(sw_why(NULL, "x", NULL));
    assert_null(sw_plan_job(NULL, request, NULL));
    assert_null(sw_preflight(NULL, request, NULL));
    assert_int_equal(sw_submit(NULL, request, id, NULL), -1);
    assert_int_equal(sw_logs(NULL, "x", &all, count_by_rank, NULL, NULL), -1);
    sw_request_free(request);
}

/* Also what meson.build says, since the library's is from there. */
static void the_header_and_the_library_are_of_one_version(void **state)
{
    char numbers[32];

    (void)state;
    snprintf(numbers, sizeof numbers, "%d.%d.%d", SLIPWAY_VERSION_MAJOR, SLIPWAY_VERSION_MINOR,
             SLIPWAY_VERSION_PATCH);
    assert_string_equal(numbers, SLIPWAY_VERSION);
    assert_string_equal(sw_version(), SLIPWAY_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(options_that_are_zero_read_the_whole_log_of_every_rank, open_fixture,
                                        close_fixture),
        cmocka_unit_test(without_a_session_there_is_an_error_and_no_crash),
        cmocka_unit_test(the_header_and_the_library_are_of_one_version),
        cmocka_unit_test_setup_teardown(a_session_serves_many_threads_at_once, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(jobs_are_found_by_the_words_people_use, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_job_cannot_be_removed_before_it_is_over, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(
            a_users_own_rule_explains_a_failure_and_a_bad_one_is_named, open_fixture,
            close_fixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
