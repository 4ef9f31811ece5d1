/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scenes_opaque.c - platforms that do not say what they do, many nodes, data;
 * and a clock that was set back, which any of them could meet.
 */
#include "scenes.h"

#include <stdlib.h>
#include <string.h>

static void why_answers_in_one_line_for_a_job_that_waits(void **state)
{
    struct trial *here = *state;
    sw_auto(json) json_t *said = NULL;
    const char *job;
    char *out = NULL;

    wait_until(here, launch(here, HOLDS_THE_QUEUE, 0), SW_RUNNING);
    job = launch(here, WAITS_IN_QUEUE, 0);
    wait_until(here, job, SW_PENDING);
    said = why(here, job);
    assert_string_not_equal(text_of(said, "waits"), "");
    assert_true(*text_of(said, "headline") && !strchr(text_of(said, "headline"), '\n'));
    assert_int_equal(slipway(here, &out, "why", job, NULL), 0);
    expect_has(out, "GPU");
    free(out);
}

static void a_job_not_seen_yet_says_so(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = script(here, "running", NULL);
    sw_auto(json) json_t *seen = NULL, *said = NULL;
    char id[SW_ID_SIZE];

    connect_with(here, "lose-answer, empty-list");
    assert_int_equal(sw_submit(here->session, made, id, NULL), -1);
    sw_request_free(made);
    for (int i = 0; i < 4; i++) {
        time_passes(10 * 1000);
        json_decref(seen);
        seen = status(here, id);
        assert_string_equal(text_of(seen, "status"), "Pending");
        assert_string_not_equal(text_of(seen, "message"), "");
    }
    said = why(here, id);
    assert_string_not_equal(text_of(said, "headline"), "");
    connect_with(here, NULL);
    wait_until(here, id, SW_RUNNING);
}

static void out_of_memory_is_the_programs_and_not_tried_again(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "running 20ms, oom", "retry.max", "10", "retry.wait", "1s",
                               NULL);
    sw_auto(json) json_t *seen = NULL, *said = NULL;

    assert_int_equal(wait_until_over(here, job), 137);
    time_passes(3600 * 1000);
    seen = status(here, job);
    assert_string_equal(text_of(seen, "status"), "Error");
    assert_int_equal(number_of(seen, "attempt"), 1);
    said = why(here, job);
    assert_string_equal(text_of(said, "cause"), "memory");
    assert_string_equal(text_of(said, "err_class"), "ERR_PROGRAM");
    assert_string_not_equal(text_of(said, "suggestion"), "");
}

static void when_one_rank_dies_the_others_end_within_seconds(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request_shell(here, "if [ $NODE_RANK = 2 ]; then sleep 0.2; "
                                            "kill -9 $$; fi; sleep 600");
    int64_t begun = sw_monotonic_ms();
    const char *job;

    set(made, "nodes", "4");
    job = send_request(here, made);
    assert_int_equal(wait_until_over(here, job), 137);
    expect_quick(begun, 8000, "the end of all ranks after the first");
    expect_none_left(here, job);
}

static void a_clock_set_back_changes_no_story(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "sleep 0.5; exit 3");
    sw_auto(json) json_t *seen = NULL, *events = NULL;
    int64_t last = -1;
    json_t *event;
    size_t i;

    wait_until(here, job, SW_RUNNING);
    time_passes(-3600 * 1000);
    seen = status(here, job);
    assert_string_equal(text_of(seen, "status"), "Running");
    assert_true(number_of(seen, "seen_age_ms") >= 0);
    assert_int_equal(wait_until_over(here, job), 3);
    events = events_of(here, job);
    json_array_foreach(events, i, event) {
        assert_true(number_of(event, "seq") > last);
        last = number_of(event, "seq");
    }
    assert_int_equal(wait_until_over(here, launch_shell(here, "exit 0")), 0);
}

static void a_server_whose_clock_is_late_is_believed_about_states_only(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "running 100ms, exit 3", "rehearsal.api", "clock-back 2h",
                               NULL);
    sw_auto(json) json_t *seen = NULL;

    assert_int_equal(wait_until_over(here, job), 3);
    seen = status(here, job);
    assert_string_equal(text_of(seen, "status"), "Error");
    assert_true(strcmp(text_of(seen, "started_at"), text_of(seen, "submitted_at")) >= 0);
    assert_true(strcmp(text_of(seen, "ended_at"), text_of(seen, "started_at")) >= 0);
}

static void a_retry_does_not_wait_for_a_clock_that_was_set_back(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "running 20ms, node-lost; running 20ms, exit 0", "retry.max",
                               "1", "retry.wait", "1s", NULL);
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;

    for (int64_t attempt = 1; attempt < 2; sw_sleep_ms(10)) {
        sw_auto(json) json_t *seen = (sw_watcher_once(here->session, NULL), status(here, job));

        attempt = number_of(seen, "attempt");
        assert_true(sw_monotonic_ms() < deadline);
    }
    time_passes(-24 * 3600 * 1000);
    assert_int_equal(wait_until_over(here, job), 0);
}

struct scene scenes_opaque[] = {
    NEEDS("skypilot#7925 #2345", "the event that holds a pod up is named", "Kubernetes"),
    SCENE("kueue#2833 #3158 volcano#4311",
          why_answers_in_one_line_for_a_job_that_waits, local),
    SCENE("kubeflow/trainer#2351", a_job_not_seen_yet_says_so, rehearsal),
    SCENE("flyte#4704 metaflow#1249 marin#4339",
          out_of_memory_is_the_programs_and_not_tried_again, rehearsal),
    SCENE("skypilot#3116 #1410 #7117",
          when_one_rank_dies_the_others_end_within_seconds, local),
    ELSEWHERE("skypilot#706 #1862 PR#8712", "inputs are copied in parallel, in little memory",
              "scenes data"),
    NEEDS("pyxis#39 #67 #108 enroot#161", "image names are normalised, credentials checked",
          "a container platform (Docker, Slurm with pyxis)"),
    ELSEWHERE("huggingface_hub#2543 #3342", "one fetch serves all, behind no dead holder",
              "scenes data"),
    SCENE("a clock that was set back", a_clock_set_back_changes_no_story, local),
    SCENE("a clock that was set back",
          a_server_whose_clock_is_late_is_believed_about_states_only, rehearsal),
    SCENE("a clock that was set back",
          a_retry_does_not_wait_for_a_clock_that_was_set_back, rehearsal),
    { 0 }
};
