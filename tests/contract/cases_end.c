/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_end.c - how jobs end, and that the same end has the same words everywhere.
 */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "cases.h"

static void a_job_that_succeeds_is_complete_with_code_0(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, EXITS, 0);

    assert_int_equal(wait_until_over(here, job), 0);
    expect_state(here, job, SW_COMPLETE);
    expect_exit_code(here, job, 0);
}

static void a_job_that_exits_3_ends_in_error_and_says_3(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, EXITS, 3);

    assert_int_equal(wait_until_over(here, job), 3);
    expect_state(here, job, SW_ERROR);
    expect_exit_code(here, job, 3);
    expect_reason(here, job, "exit");
}

/* Those that mean something to shells, engines, schedulers and ourselves; with SLIPWAY_ALL_EXIT_CODES
 * all there are. */
static size_t exit_codes_to_try(int codes[256])
{
    static const int chosen[] = { 0, 1, 2, 3, 64, 124, 125, 126, 127, 128, 130, 137, 139, 143, 254, 255 };
    size_t count = 0;

    if (!getenv("SLIPWAY_ALL_EXIT_CODES")) {
        memcpy(codes, chosen, sizeof chosen);
        return SW_COUNT(chosen);
    }
    for (; count < 256; count++)
        codes[count] = (int)count;
    return count;
}

static void expect_code(struct trial *here, const char *job, int code)
{
    int told = wait_until_over(here, job);
    sw_auto(json) json_t *seen = status(here, job);

    if (told != code || number_of(seen, "exit_code") != code || number_of(seen, "attempt") != 1 ||
        strcmp(text_of(seen, "status"), code == 0 ? "Complete" : "Error") != 0)
        fail_msg("exit %d ended as %s, exit code %lld, reason %s, attempt %lld; wait gave %d", code,
                 text_of(seen, "status"), (long long)number_of(seen, "exit_code"),
                 text_of(seen, "reason"), (long long)number_of(seen, "attempt"), told);
}

/* A last burst of short lines: the runner's own words are behind all of that, and a pipe may still be full
 * when it ends. A few at a time, as many as a small engine takes. */
static void an_exit_code_is_reported_as_it_was_after_much_output(void **state)
{
    enum { AT_ONCE = 8 };
    struct trial *here = *state;
    char jobs[AT_ONCE][SW_ID_SIZE];
    int codes[256];
    size_t count = exit_codes_to_try(codes);

    for (size_t first = 0; first < count; first += AT_ONCE) {
        size_t some = count - first < AT_ONCE ? count - first : AT_ONCE;

        for (size_t i = 0; i < some; i++)
            memcpy(jobs[i], launch_shell(here, "s=$(yes x | head -n 30000); "
                                         "yes 'a line of a program that says much, 50 bytes long.' | "
                                         "head -n 20000; echo \"$s\"; exit %d", codes[first + i]),
                   SW_ID_SIZE);
        for (size_t i = 0; i < some; i++)
            expect_code(here, jobs[i], codes[first + i]);
    }
}

static void a_job_killed_by_a_signal_says_which(void **state)
{
    static const int signals[] = { 9, 11, 15 };
    struct trial *here = *state;

    for (size_t i = 0; i < SW_COUNT(signals); i++) {
        const char *job = launch(here, DIES, signals[i]);
        int code = wait_until_over(here, job);
        sw_auto(json) json_t *seen = status(here, job);

        assert_int_equal(code, 128 + signals[i]);
        assert_string_equal(text_of(seen, "status"), "Error");
        assert_int_equal(number_of(seen, "signal"), signals[i]);
    }
}

static void a_job_that_runs_out_of_memory_says_so(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, EATS_MEMORY, 0);
    struct sw_error err = { 0 };
    char *why;

    assert_int_not_equal(wait_until_over(here, job), 0);
    expect_state(here, job, SW_ERROR);
    expect_reason(here, job, "memory");
    why = sw_failure_analysis(here->session, job, &err);
    assert_non_null(why);
    assert_non_null(strstr(why, "\"cause\":\"memory\""));
    sw_text_free(why);
}

static void a_command_that_does_not_exist_gives_127(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "/no/such/program");

    assert_int_equal(wait_until_over(here, job), 127);
    expect_exit_code(here, job, 127);
}

static void a_program_named_by_its_words_that_does_not_exist_gives_127(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(here, "true");
    const char *const words[] = { "/no/such/program", "a" };

    assert_int_equal(sw_request_argv(made, 2, words, NULL), 0);
    assert_int_equal(wait_until_over(here, send_request(here, made)), 127);
}

static void a_job_past_its_time_limit_gives_124(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, SLEEPS, 60000);
    const char *job;

    set(made, "time", "1s");
    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 124);
    expect_state(here, job, SW_ERROR);
    expect_reason(here, job, "time");
}

static void a_job_at_its_time_limit_gets_one_term_and_all_of_its_grace(void **state)
{
    struct trial *here = *state;
    sw_autofree char *mark = path_in(here, "told");
    struct sw_request *made = request_that_saves(here, mark);

    set(made, "time", "2s");
    assert_int_equal(wait_until_over(here, send_request(here, made)), 124);
    expect_saved_once(mark);
}

/* On a busy machine a short job is over before anybody looks: the next one is longer. */
static void a_job_is_running_between_its_beginning_and_its_end(void **state)
{
    struct trial *here = *state;
    const char *job = NULL;
    enum sw_state seen = SW_UNKNOWN;

    for (int ms = 400; seen != SW_RUNNING && ms < 60000; ms *= 5) {
        job = launch(here, SLEEPS, ms);
        seen = wait_until_or_over(here, job, SW_RUNNING);
    }
    assert_int_equal(seen, SW_RUNNING);
    assert_int_equal(wait_until_over(here, job), 0);
    expect_state(here, job, SW_COMPLETE);
}

static void a_job_that_waits_says_why(void **state)
{
    struct trial *here = *state;
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;
    const char *job;

    wait_until(here, launch(here, HOLDS_THE_QUEUE, 0), SW_RUNNING);
    job = launch(here, WAITS_IN_QUEUE, 0);
    for (bool said = false; !said; sw_sleep_ms(10)) {
        sw_auto(json) json_t *seen = status(here, job);

        assert_string_equal(text_of(seen, "status"), "Pending");
        said = *text_of(seen, "reason") && *text_of(seen, "message");
        assert_true(sw_monotonic_ms() < deadline);
    }
}

static void a_status_carries_the_fields_of_the_seed(void **state)
{
    static const char *const fields[] = {
        "id", "status", "message", "backend_type", "backend_job_id", "backend_details",
        "results_dir", "created_at", "submitted_at", "started_at", "ended_at", "updated_at",
        "name", "reason", "attempt", "exit_code", "signal",
    };
    struct trial *here = *state;
    const char *job = launch(here, EXITS, 0);
    sw_auto(json) json_t *seen = NULL;

    wait_until_over(here, job);
    seen = status(here, job);
    for (size_t i = 0; i < SW_COUNT(fields); i++)
        if (!json_object_get(seen, fields[i]))
            fail_msg("a status has no field '%s'", fields[i]);
    assert_string_equal(text_of(seen, "id"), job);
    assert_string_equal(text_of(seen, "backend_type"), here->fixture->name);
    assert_string_not_equal(text_of(seen, "backend_job_id"), "");
    assert_true(strcmp(text_of(seen, "submitted_at"), text_of(seen, "created_at")) >= 0);
    assert_true(strcmp(text_of(seen, "started_at"), text_of(seen, "submitted_at")) >= 0);
    assert_true(strcmp(text_of(seen, "ended_at"), text_of(seen, "started_at")) >= 0);
}

static void a_list_shows_every_job_newest_first(void **state)
{
    struct trial *here = *state;
    struct sw_list_options options = { .size = sizeof options };
    char ids[3][SW_ID_SIZE];
    char *text;
    sw_auto(json) json_t *list = NULL;

    for (int i = 0; i < 3; i++)
        memcpy(ids[i], launch(here, EXITS, 0), SW_ID_SIZE);
    text = sw_list(here->session, &options, NULL);
    assert_non_null(text);
    list = json_loads(text, 0, NULL);
    sw_text_free(text);
    assert_int_equal(number_of(list, "version"), 1);
    assert_int_equal(number_of(list, "total"), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(
            text_of(json_array_get(json_object_get(list, "jobs"), 2 - i), "id"), ids[i]);
}

static void a_failure_is_explained(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, EXITS, 3);
    struct sw_error err = { 0 };
    char *text;

    wait_until_over(here, job);
    text = sw_failure_analysis(here->session, job, &err);
    assert_non_null(text);
    canary_heard(here->canary, "sw_failure_analysis", text);
    assert_non_null(strstr(text, "\"err_class\":\"ERR_PROGRAM\""));
    sw_text_free(text);
}

static void events_tell_the_story_in_order(void **state)
{
    struct trial *here = *state;
    const char *job = launch(here, EXITS, 0);
    int64_t last = -1;
    char *text;
    sw_auto(json) json_t *document = NULL;
    const json_t *events;
    size_t i;
    json_t *event;

    wait_until_over(here, job);
    text = sw_events(here->session, job, 0, NULL);
    assert_non_null(text);
    canary_heard(here->canary, "sw_events", text);
    document = json_loads(text, 0, NULL);
    sw_text_free(text);
    events = json_object_get(document, "events");
    assert_true(json_array_size(events) >= 2);
    json_array_foreach(events, i, event) {
        assert_true(number_of(event, "seq") > last);
        last = number_of(event, "seq");
    }
}

static void an_unknown_job_is_not_found(void **state)
{
    struct trial *here = *state;
    struct sw_error err = { 0 };

    assert_null(sw_status(here->session, "missing-aaaaaaaa", SW_LOOK_REFRESH, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    assert_int_equal(sw_cancel(here->session, "missing-aaaaaaaa", &err), -1);
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

static bool log_has(struct trial *here, const char *job, const char *words)
{
    struct log log = read_log(here, job, -1, false);
    bool there = log.bytes && strstr(log.bytes, words);

    log_done(&log);
    return there;
}

static void setup_runs_before_the_command_and_its_failure_is_that_of_the_job(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(here, "cat \"$SLIPWAY_SETUP_DIR/made\"");
    const char *job;

    set(made, "setup", "echo setup speaks");
    set(made, "setup", "echo made by setup >\"$SLIPWAY_SETUP_DIR/made\"");
    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 0);
    assert_true(log_has(here, job, "setup speaks\nmade by setup\n"));

    made = request_shell(here, "echo the command ran");
    set(made, "setup", "exit 7");
    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 7);
    expect_state(here, job, SW_ERROR);
    expect_exit_code(here, job, 7);
    assert_true(log_has(here, job, "setup failed with exit code 7: the command was not started"));
    assert_false(log_has(here, job, "the command ran"));
}

static void planning_sends_nothing(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, EXITS, 0);
    struct sw_error err = { 0 };
    struct sw_list_options all = { .size = sizeof all };
    char *plan = sw_plan_job(here->session, made, &err);
    char *list = sw_list(here->session, &all, NULL);

    assert_non_null(plan);
    assert_non_null(strstr(plan, "\"sends\""));
    assert_non_null(strstr(list, "\"total\":0"));
    /* A connection may have been made, to ask whether the job could be sent. */
    expect_none_left(here, "nothing");
    sw_text_free(plan);
    sw_text_free(list);
    sw_request_free(made);
}

const struct contract_case cases_end[] = {
    CLAIM(a_job_that_succeeds_is_complete_with_code_0, 0),
    CLAIM(a_job_that_exits_3_ends_in_error_and_says_3, 0),
    CLAIM(an_exit_code_is_reported_as_it_was_after_much_output, COMMANDS),
    CLAIM(a_job_killed_by_a_signal_says_which, 0),
    CLAIM(a_job_that_runs_out_of_memory_says_so, MEMORY_LIMIT),
    CLAIM(a_command_that_does_not_exist_gives_127, COMMANDS),
    CLAIM(a_program_named_by_its_words_that_does_not_exist_gives_127, COMMANDS),
    CLAIM(setup_runs_before_the_command_and_its_failure_is_that_of_the_job, COMMANDS),
    CLAIM(a_job_past_its_time_limit_gives_124, 0),
    CLAIM(a_job_at_its_time_limit_gets_one_term_and_all_of_its_grace, COMMANDS),
    CLAIM(a_job_is_running_between_its_beginning_and_its_end, 0),
    CLAIM(a_job_that_waits_says_why, QUEUE),
    CLAIM(a_status_carries_the_fields_of_the_seed, 0),
    CLAIM(a_list_shows_every_job_newest_first, 0),
    CLAIM(a_failure_is_explained, 0),
    CLAIM(events_tell_the_story_in_order, 0),
    CLAIM(an_unknown_job_is_not_found, 0),
    CLAIM(planning_sends_nothing, 0),
    { 0 }
};
