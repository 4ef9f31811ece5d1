/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_jobs.c - jobs by name: what a list without a job means, what is done about a failed rank, and when a
 * cancel is done. The platform is a table in this file.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/reason.h"
#include "platform/kit/jobs.h"

struct sw_connection {
    json_t *listed, *there;          /* by name; what the list says, what is true */
    enum sw_code fails;              /* of every call; SW_OK: none */
    int gets, left;                  /* calls so far; how many until a stopped job is over */
    char stopped[256];               /* "NAME why;" of each stop */
};

static struct sw_jobs_name name_of(const char *id, int attempt)
{
    struct sw_jobs_name name;

    snprintf(name.text, sizeof name.text, "%s.%d", id, attempt);
    return name;
}

static int answer(const struct sw_connection *conn, struct sw_error *err)
{
    return conn->fails ? sw_fail(err, conn->fails, "no") : 0;
}

static json_t *list(struct sw_connection *conn, const struct sw_observation *wanted, size_t count,
                    struct sw_error *err)
{
    (void)wanted, (void)count;
    return answer(conn, err) < 0 ? NULL : json_incref(conn->listed);
}

static json_t *get(struct sw_connection *conn, const char *name, struct sw_error *err)
{
    json_t *job = json_object_get(conn->there, name);

    conn->gets++;
    if (answer(conn, err) < 0)
        return NULL;
    if (!job)
        sw_fail(err, SW_E_NOT_FOUND, "no such job");
    if (*conn->stopped && --conn->left < 0)
        return json_string("canceled");
    return json_incref(job);
}

/* One word for each rank. */
static void read_job(const json_t *job, struct sw_observation *seen)
{
    static const struct { const char *word; enum sw_state state; int exit_code; } words[] = {
        { "running", SW_RUNNING, SW_NO_EXIT_CODE }, { "canceled", SW_CANCELED, 143 },
        { "failed", SW_ERROR, 3 }, { "done", SW_COMPLETE, 0 }, { "lost", SW_ERROR, SW_NO_EXIT_CODE },
    };
    const char *said = json_string_value(job);
    struct sw_jobs_rank ranks[4] = { 0 };
    int count = 0;

    for (; *said; said += strcspn(said, " "), said += strspn(said, " "), count++)
        for (size_t i = 0; i < SW_COUNT(words); i++)
            if (strncmp(said, words[i].word, strlen(words[i].word)) == 0) {
                ranks[count].rank = (struct sw_rank){ .presence = SW_PRESENT, .state = words[i].state };
                ranks[count].exit_code = words[i].exit_code;
                ranks[count].log_tail = "a last wordslipway: report {\"version\":1,\"job_id\":\"a\","
                                        "\"rank\":0,\"exit_code\":124,\"timed_out\":true}\n";
            }
    sw_jobs_read_ranks(ranks, count, strstr(json_string_value(job), "canceled") != NULL, seen);
}

static int stop(struct sw_connection *conn, const char *name, const char *why, struct sw_error *err)
{
    if (answer(conn, err) < 0)
        return -1;
    snprintf(conn->stopped + strlen(conn->stopped), sizeof conn->stopped - strlen(conn->stopped), "%s %s;",
             name, why);
    return json_object_get(conn->there, name) ? 0 : sw_fail(err, SW_E_NOT_FOUND, "no such job");
}

static const struct sw_jobs_api api = { name_of, list, get, read_job, stop, NULL };

static struct sw_connection connection(const char *listed, const char *there)
{
    return (struct sw_connection){ .listed = json_loads(listed, 0, NULL),
                                   .there = json_loads(there, 0, NULL) };
}

static void done(struct sw_connection *conn)
{
    json_decref(conn->listed);
    json_decref(conn->there);
}

static void a_job_that_the_list_lacks_is_asked_for_by_name(void **state)
{
    struct sw_connection conn = connection("{\"a.1\":\"running\"}",
                                           "{\"a.1\":\"running\",\"b.2\":\"running\"}");
    struct sw_observation jobs[3] = { { .job = { .id = "a", .attempt = 1 } },
                                      { .job = { .id = "b", .attempt = 2 } }, { .job = { .id = "c" } } };

    (void)state;
    assert_int_equal(sw_jobs_observe(&api, &conn, jobs, 3, NULL), 0);
    assert_int_equal(conn.gets, 2);
    assert_int_equal(jobs[0].state, SW_RUNNING);
    assert_int_equal(jobs[1].presence, SW_PRESENT);
    assert_int_equal(jobs[2].presence, SW_ABSENT);
    done(&conn);
}

static void a_platform_that_does_not_answer_changes_nothing(void **state)
{
    struct sw_connection conn = connection("{}", "{}");
    struct sw_observation job = { .job = { .id = "a" } };

    (void)state;
    conn.fails = SW_E_UNREACHABLE;
    assert_int_equal(sw_jobs_observe(&api, &conn, &job, 1, NULL), -1);
    assert_int_equal(job.presence, SW_UNSEEN);
    done(&conn);
}

static void the_report_decides_how_a_run_ended(void **state)
{
    static const struct { const char *ranks; enum sw_state state; const char *reason; int failed; } rows[] = {
        { "failed", SW_ERROR, SW_REASON_TIME, 0 },       /* as its runner reported */
        { "running failed", SW_RUNNING, SW_REASON_ENDING, -1 },
        { "done canceled", SW_CANCELED, SW_REASON_CANCELED, -1 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *job = json_string(rows[i].ranks);
        struct sw_observation seen = { .job = { .id = "a" } };

        read_job(job, &seen);
        if (seen.state != rows[i].state || strcmp(seen.reason, rows[i].reason) != 0)
            fail_msg("%s: state %d, reason %s", rows[i].ranks, seen.state, seen.reason);
        json_decref(seen.runner);
    }
}

static void the_other_ranks_of_a_failed_one_are_ended(void **state)
{
    struct sw_connection conn = connection("{\"a.1\":\"running failed\",\"b.1\":\"running\"}",
                                           "{\"a.1\":\"x\"}");
    struct sw_observation jobs[2] = { { .job = { .id = "a" } }, { .job = { .id = "b" } } };

    (void)state;
    sw_jobs_observe(&api, &conn, jobs, 2, NULL);
    sw_jobs_reconcile(&api, &conn, jobs, 2);
    assert_string_equal(conn.stopped, "a.1 ending;");
    done(&conn);
}

static void a_cancel_tells_all_first_and_waits_for_each(void **state)
{
    struct sw_connection conn = connection("{}", "{\"a.1\":\"running\",\"b.1\":\"running\"}");
    struct sw_jobref refs[3] = { { .id = "a" }, { .id = "b" }, { .id = "gone" } };
    struct sw_batch_job jobs[3] = { { .job = &refs[0] }, { .job = &refs[1] }, { .job = &refs[2] } };

    (void)state;
    conn.left = 3;
    sw_jobs_cancel(&api, &conn, jobs, 3, SW_NO_DEADLINE);
    assert_string_equal(conn.stopped, "a.1 canceled;b.1 canceled;gone.1 canceled;");
    for (int i = 0; i < 3; i++)
        assert_int_equal(jobs[i].result, 0);
    done(&conn);
}

static void a_cancel_ends_at_its_deadline_and_asks_a_silent_platform_once(void **state)
{
    struct sw_connection conn = connection("{}", "{\"a.1\":\"running\",\"b.1\":\"running\"}");
    struct sw_jobref refs[2] = { { .id = "a" }, { .id = "b" } };
    struct sw_batch_job jobs[2] = { { .job = &refs[0] }, { .job = &refs[1] } };

    (void)state;
    conn.left = 1000000;
    sw_jobs_cancel(&api, &conn, jobs, 2, sw_monotonic_ms() + 30);
    assert_int_equal(jobs[0].err.code, SW_E_UNREACHABLE);
    conn.fails = SW_E_UNREACHABLE;
    conn.gets = 0;
    jobs[0].result = jobs[1].result = 0;
    sw_jobs_cancel(&api, &conn, jobs, 2, SW_NO_DEADLINE);
    assert_int_equal(jobs[1].result, -1);
    assert_int_equal(conn.gets, 0);
    done(&conn);
}

static bool is_over(const json_t *job)
{
    return !strstr(json_string_value(job), "running");
}

/* Notes what goes on, and ends it as far as the next lists show. */
static int stop_all(struct sw_connection *conn, const struct sw_batch_job *jobs, size_t count,
                    const json_t *going_on, struct sw_error *err)
{
    (void)jobs, (void)err;
    snprintf(conn->stopped, sizeof conn->stopped, "%zu of %zu", json_array_size(going_on), count);
    json_object_set_new(conn->listed, "a.1", json_string("canceled"));
    return 0;
}

static void one_call_cancels_all_that_go_on(void **state)
{
    static const struct sw_jobs_api many = { name_of, list, get, read_job, stop, NULL, stop_all, is_over };
    struct sw_connection conn = connection("{\"a.1\":\"running\",\"b.1\":\"done\"}", "{}");
    struct sw_jobref refs[3] = { { .id = "a" }, { .id = "b" }, { .id = "gone" } };
    struct sw_batch_job jobs[3] = { { .job = &refs[0] }, { .job = &refs[1] }, { .job = &refs[2] } };

    (void)state;
    sw_jobs_cancel(&many, &conn, jobs, 3, SW_NO_DEADLINE);
    assert_string_equal(conn.stopped, "1 of 3");
    for (int i = 0; i < 3; i++)
        assert_int_equal(jobs[i].result, 0);
    conn.fails = SW_E_UNREACHABLE;
    sw_jobs_cancel(&many, &conn, jobs, 3, SW_NO_DEADLINE);
    assert_int_equal(jobs[2].err.code, SW_E_UNREACHABLE);
    done(&conn);
}

static void the_rank_that_the_platform_saw_fail_first_explains_it(void **state)
{
    struct sw_observation seen = { .job = { .id = "a" } };

    (void)state;
    sw_jobs_read_end(&(struct sw_jobs_end){ .over = SW_ERROR, .ranks = 3, .failed = 2,
                                            .message = "a\tb\x1b[0m" }, &seen);
    assert_int_equal(seen.failed_replica, 2);
    assert_int_equal(seen.exit_code, SW_NO_EXIT_CODE);
    assert_null(strchr(seen.message, '\x1b'));
    sw_observation_done(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_the_list_lacks_is_asked_for_by_name),
        cmocka_unit_test(a_platform_that_does_not_answer_changes_nothing),
        cmocka_unit_test(the_report_decides_how_a_run_ended),
        cmocka_unit_test(the_other_ranks_of_a_failed_one_are_ended),
        cmocka_unit_test(a_cancel_tells_all_first_and_waits_for_each),
        cmocka_unit_test(a_cancel_ends_at_its_deadline_and_asks_a_silent_platform_once),
        cmocka_unit_test(one_call_cancels_all_that_go_on),
        cmocka_unit_test(the_rank_that_the_platform_saw_fail_first_explains_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
