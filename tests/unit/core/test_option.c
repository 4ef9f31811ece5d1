/* SPDX-License-Identifier: Apache-2.0 */
/* test_option.c - a table of options fills a typed struct. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/option.h"

enum pull { PULL_ALWAYS, PULL_MISSING, PULL_NEVER };

struct connect_options {
    const char *host;
    int port;
};

struct job_options {
    const char *queue, *mode;
    enum pull pull;
    int nice;
    int64_t wait_ms, shm_bytes, seed;
    double hours;
    bool check, quiet;
    const json_t *nodes, *limits, *roles, *more;
};

static const char *const pulls[] = { "always", "missing", "never", NULL };
static const char *const modes[] = { "fast", "slow", NULL };

#define JOB(member)     SW_FILLS(struct job_options, member)
#define CONNECT(member) SW_FILLS(struct connect_options, member)

static const struct sw_option table[] = {
    { "host", SW_TEXT, SW_CONNECTION, CONNECT(host) },
    { "port", SW_WHOLE, SW_CONNECTION, CONNECT(port), .initial = "22" },
    { "elsewhere", SW_TEXT, .initial = "filled by nothing" },
    { "queue", SW_TEXT, JOB(queue), .initial = "normal" },
    { "mode", SW_CHOICE, JOB(mode), .choices = modes, .initial = "slow" },
    { "pull", SW_CHOICE, JOB(pull), .choices = pulls, .initial = "missing" },
    { "nice", SW_WHOLE, JOB(nice) },
    { "seed", SW_WHOLE, JOB(seed), .initial = "9007199254740993" },
    { "wait", SW_DURATION, JOB(wait_ms), .initial = "2m" },
    { "shm", SW_SIZE, JOB(shm_bytes), .initial = "1GiB" },
    { "hours", SW_NUMBER, JOB(hours), .initial = "4.5" },
    { "check", SW_FLAG, JOB(check), .initial = "true" },
    { "quiet", SW_FLAG, JOB(quiet), .initial = "false" },
    { "nodes", SW_TEXTS, JOB(nodes) },
    { "limits", SW_TEXT_MAP, JOB(limits) },
    { "roles", SW_GROUP, JOB(roles) },
    { "more", SW_FREE, JOB(more) },
    { 0 }
};

static void defaults_are_filled_in(void **state)
{
    struct job_options job;
    struct connect_options connect;

    (void)state;
    memset(&job, 0xff, sizeof job);
    assert_int_equal(sw_options_fill(table, NULL, SW_JOB, &job, NULL), 0);
    assert_string_equal(job.queue, "normal");
    assert_string_equal(job.mode, "slow");
    assert_int_equal(job.pull, PULL_MISSING);
    assert_int_equal(job.nice, 0);
    assert_true(job.seed == INT64_C(9007199254740993));
    assert_int_equal(job.wait_ms, 120000);
    assert_int_equal(job.shm_bytes, 1 << 30);
    assert_true(job.hours > 4.4 && job.hours < 4.6);
    assert_true(job.check && !job.quiet);
    assert_null(job.nodes);
    assert_null(job.limits);
    assert_null(job.roles);
    assert_null(job.more);
    assert_int_equal(sw_options_fill(table, NULL, SW_CONNECTION, &connect, NULL), 0);
    assert_null(connect.host);
    assert_int_equal(connect.port, 22);
}

static void values_win_in_their_normal_form(void **state)
{
    sw_auto(json) json_t *given = json_loads(
        "{\"host\": \"h\", \"port\": 7, \"queue\": \"\", \"pull\": \"never\", \"nice\": -5, \"mode\": null,"
        " \"wait\": \"90s\", \"shm\": \"2048\", \"hours\": 0.5, \"check\": false, \"nodes\": [\"n1\"],"
        " \"limits\": {\"memlock\": \"-1\"}, \"roles\": {}, \"more\": 3}", 0, NULL);
    struct job_options job;
    struct connect_options connect;

    (void)state;
    assert_int_equal(sw_options_fill(table, given, SW_CONNECTION, &connect, NULL), 0);
    assert_string_equal(connect.host, "h");
    assert_int_equal(connect.port, 7);
    assert_int_equal(sw_options_fill(table, given, SW_JOB, &job, NULL), 0);
    assert_string_equal(job.queue, "");
    assert_string_equal(job.mode, "slow");                  /* null: not given */
    assert_int_equal(job.pull, PULL_NEVER);
    assert_int_equal(job.nice, -5);
    assert_int_equal(job.wait_ms, 90000);
    assert_int_equal(job.shm_bytes, 2048);
    assert_true(job.hours > 0.4 && job.hours < 0.6);
    assert_false(job.check);
    assert_ptr_equal(job.nodes, json_object_get(given, "nodes"));
    assert_ptr_equal(job.limits, json_object_get(given, "limits"));
    assert_ptr_equal(job.roles, json_object_get(given, "roles"));
    assert_int_equal(json_integer_value(job.more), 3);
}

static void numbers_are_seconds_and_bytes(void **state)
{
    sw_auto(json) json_t *given = json_pack("{s:f, s:i}", "wait", 1.5, "shm", 4096);
    struct job_options job;

    (void)state;
    assert_int_equal(sw_options_fill(table, given, SW_JOB, &job, NULL), 0);
    assert_int_equal(job.wait_ms, 1500);
    assert_int_equal(job.shm_bytes, 4096);
}

static void another_type_is_an_error_and_leaves_the_default(void **state)
{
    static const struct {
        const char *json, *message;
    } cases[] = {
        { "{\"queue\": 3}", "queue: is not text" },
        { "{\"pull\": \"often\"}", "pull: is not one of a few words" },
        { "{\"mode\": \"often\"}", "mode: is not one of a few words" },
        { "{\"nice\": \"3\"}", "nice: is not a whole number" },
        { "{\"wait\": \"soon\"}", "wait: is not a duration such as 90s, 30m, 12h or 2d" },
        { "{\"shm\": true}", "shm: is not a size such as 512MiB or 64GB" },
        { "{\"hours\": \"1\"}", "hours: is not a number" },
        { "{\"check\": 1}", "check: is not true or false" },
        { "{\"nodes\": {}}", "nodes: is not a list of strings" },
        { "{\"limits\": []}", "limits: is not a mapping of strings" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(json) json_t *given = json_loads(cases[i].json, 0, NULL);
        struct sw_error err = { 0 };
        struct job_options job;

        json_object_set_new(given, "seed", json_integer(7));
        assert_int_equal(sw_options_fill(table, given, SW_JOB, &job, &err), -1);
        assert_int_equal(err.code, SW_E_SPEC);
        assert_string_equal(err.message, cases[i].message);
        assert_string_equal(job.queue, "normal");
        assert_int_equal(job.pull, PULL_MISSING);
        assert_int_equal(job.wait_ms, 120000);
        assert_true(job.check);
        assert_int_equal(job.seed, 7);
    }
}

static void a_member_fits_its_row(void **state)
{
    static const struct sw_option wrong = { "hours", SW_NUMBER, JOB(wait_ms) };

    (void)state;
    for (const struct sw_option *row = table; row->name; row++)
        assert_true(row->member == SW_MEMBER_NONE || sw_option_fits(row));
    assert_false(sw_option_fits(&wrong));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(values_win_in_their_normal_form),
        cmocka_unit_test(numbers_are_seconds_and_bytes),
        cmocka_unit_test(another_type_is_an_error_and_leaves_the_default),
        cmocka_unit_test(a_member_fits_its_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
