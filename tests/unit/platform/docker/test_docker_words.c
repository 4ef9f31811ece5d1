/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_docker_words.c - the engine's words in ours: states, ends, log frames, small archives, GPUs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/state.h"
#include "platform/docker/docker_job.h"

static void every_word_for_a_state_has_one_of_ours(void **state)
{
    static const struct { const char *said; enum sw_state state; } rows[] = {
        { "created", SW_PENDING }, { "running", SW_RUNNING }, { "restarting", SW_RUNNING },
        { "paused", SW_PAUSED }, { "removing", SW_UNKNOWN }, { "exited", SW_COMPLETE },
        { "dead", SW_COMPLETE }, { "never heard of", SW_UNKNOWN }, { "", SW_UNKNOWN },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        assert_int_equal(docker_state(rows[i].said, NULL), rows[i].state);
    assert_int_equal(docker_state(NULL, NULL), SW_UNKNOWN);
}

/* What no platform but this one knows; the rest is tests/unit/core/test_run_end.c. */
static void ends_are_distinguished(void **state)
{
    static const struct {
        struct docker_ended story;
        enum sw_state state;
        const char *reason, *message;
    } rows[] = {
        { { .end = { .exit_code = 143, .signal = 15, .stopped = true, .failed_peer = -1, .rank = -1 },
            .engine = DOCKER_ENGINE_CAME_LATER }, SW_ERROR, "restart",
          "its container was stopped from outside: the engine went down" },
        { { .end = { .exit_code = 143, .signal = 15, .stopped = true, .failed_peer = -1, .rank = 1 } },
          SW_ERROR, "stopped", "the container of rank 1 was stopped from outside; whether by hand or by "
                               "an engine that went down is unknown" },
        { { .end = { .exit_code = 143, .stopped = true, .failed = "outputs", .message = "late",
                     .failed_peer = -1, .rank = -1 }, .engine = DOCKER_ENGINE_CAME_LATER }, SW_ERROR,
          "restart", "its container was stopped from outside: the engine went down" },
        { { .end = { .exit_code = 137, .signal = 9, .by_hand = true, .failed_peer = -1, .rank = -1 } },
          SW_CANCELED, "canceled", "it was stopped by hand on the engine" },
        { { .end = { .exit_code = 255, .failed_peer = -1, .rank = -1 }, .engine = DOCKER_ENGINE_CAME_LATER },
          SW_ERROR, "restart", "the engine failed and lost its container" },
        { { .end = { .exit_code = 255, .failed_peer = -1, .rank = -1 }, .engine = DOCKER_ENGINE_STAYED },
          SW_ERROR, "exit", "exited with code 255" },
        { { .end = { .exit_code = 255, .failed_peer = -1, .rank = -1 } }, SW_ERROR, "exit",
          "exited with code 255" },
        { { .end = { .exit_code = 255, .reported = true, .failed_peer = -1, .rank = -1 },
            .engine = DOCKER_ENGINE_CAME_LATER }, SW_ERROR, "exit", "exited with code 255" },
        { { .end = SW_RUN_END_INIT, .gone = true }, SW_ERROR, "removed", "its container is gone, and the "
            "engine no longer knows who removed it; how far it got is unknown" },
        { { .end = { .exit_code = SW_NO_EXIT_CODE, .by_hand = true, .rank = 2, .failed_peer = -1 },
            .gone = true }, SW_CANCELED, "canceled",
          "the container of rank 2 was removed by hand on the engine" },
        { { .end = { .exit_code = SW_NO_EXIT_CODE, .canceled = true, .rank = -1, .failed_peer = -1 },
            .gone = true }, SW_CANCELED, "canceled", "canceled" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen = { 0 };

        docker_judge_end(&rows[i].story, &seen);
        assert_int_equal(seen.state, rows[i].state);
        assert_string_equal(seen.reason, rows[i].reason);
        assert_string_equal(seen.message, rows[i].message);
    }
}

static void one_that_never_began_is_absent(void **state)
{
    const struct docker_ended story = { .end = SW_RUN_END_INIT, .gone = true, .never_began = true };
    struct sw_observation seen = { 0 };

    (void)state;
    docker_judge_end(&story, &seen);
    assert_int_equal(seen.presence, SW_ABSENT);
}

static void an_exit_code_is_read_from_a_list(void **state)
{
    (void)state;
    assert_int_equal(docker_exit_code("Exited (137) 5 seconds ago"), 137);
    assert_int_equal(docker_exit_code("Exited (0) About an hour ago"), 0);
    assert_int_equal(docker_exit_code("Up 2 minutes (healthy)"), SW_NO_EXIT_CODE);
    assert_int_equal(docker_exit_code("Exited (x) ago"), SW_NO_EXIT_CODE);
    assert_int_equal(docker_exit_code("Exited (99999)"), SW_NO_EXIT_CODE);
    assert_int_equal(docker_exit_code(NULL), SW_NO_EXIT_CODE);
}

static void times_of_the_engine_are_read(void **state)
{
    (void)state;
    assert_int_equal(docker_time_ms("1970-01-01T00:00:00Z"), 0);
    assert_int_equal(docker_time_ms("2026-11-15T08:17:25.958187122Z"), 1794730645958);
    assert_int_equal(docker_time_ms("2024-02-29T23:59:59.9Z"), 1709251199900);
    assert_int_equal(docker_time_ms("2024-03-01T01:29:59.9+01:30"), 1709251199900);
    assert_int_equal(docker_time_ms("2024-02-29T15:59:59.9-08:00"), 1709251199900);
    assert_int_equal(docker_time_ms("2024-02-29T15:59:59.9-0800"), 0);
    assert_int_equal(docker_time_ms("0001-01-01T00:00:00Z"), 0);
    assert_int_equal(docker_time_ms("yesterday"), 0);
    assert_int_equal(docker_time_ms("3026-11-15T08:17:25.958187122Z"), 0);   /* nanoseconds overflow */
    assert_int_equal(docker_time_ms("1970-01-01T00:00:00+23:00"), 0);
    assert_int_equal(docker_time_ms(NULL), 0);
}

/* ---- frames -------------------------------------------------------------------------------------- */

static int gather(void *context, const struct docker_message *message)
{
    sw_buf_addf(context, "%d:%lld:", message->stream, (long long)message->at_ns);
    sw_buf_add_bytes(context, message->bytes, message->length);
    sw_buf_add_char(context, '|');
    return 0;
}

#define STAMP "2026-11-15T08:17:25.000000001Z "
static const char frames_bytes[] =
    "\1\0\0\0\0\0\0\x22" STAMP "ab\n"
    "\2\0\0\0\0\0\0\x20" STAMP "x"
    "\1\0\0\0\0\0\0\2" "no";
static const char frames_meaning[] =
    "1:1794730645000000001:ab\n|2:1794730645000000001:x|1:0:no|";

static void frames_may_be_cut_anywhere(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof frames_bytes; cut++) {
        sw_auto(sw_buf) struct sw_buf seen = SW_BUF_INIT;
        struct docker_frames frames = { .take = gather, .context = &seen, .stamped = true };

        assert_int_equal(docker_frames_feed(&frames, frames_bytes, cut), 0);
        assert_int_equal(docker_frames_feed(&frames, frames_bytes + cut,
                                            sizeof frames_bytes - 1 - cut), 0);
        assert_string_equal(sw_buf_text(&seen), frames_meaning);
        docker_frames_done(&frames);
    }
}

static void what_is_no_frame_is_refused(void **state)
{
    struct docker_frames frames = { .take = gather };

    (void)state;
    assert_int_equal(docker_frames_feed(&frames, "plain text", 10), -1);
    docker_frames_done(&frames);
    assert_int_equal(docker_frames_feed(&frames, "\1\0\0\0\xff\xff\xff\xff", 8), -1);
    docker_frames_done(&frames);
}

static void the_report_of_a_runner_is_known_by_its_job(void **state)
{
    static const char line[] = "slipway: report {\"version\":1,\"job_id\":\"a-b\",\"rank\":0}\n";
    struct docker_message message = { .stream = 2, .bytes = line, .length = sizeof line - 1 };

    (void)state;
    assert_true(docker_is_report(&message, "a-b"));
    assert_false(docker_is_report(&message, "a-c"));
    message.stream = 1;
    assert_false(docker_is_report(&message, "a-b"));
}

/* ---- users --------------------------------------------------------------------------------------- */

static void a_user_is_numbers_or_a_name_of_the_image(void **state)
{
    static const char passwd[] = "root:x:0:0::/root:/bin/sh\nuser:x:1000:100::/:\nbad:x:y:z\n";
    struct docker_owner owner;

    (void)state;
    assert_true(docker_user_numbers("1000:100", &owner));
    assert_int_equal(owner.uid, 1000);
    assert_int_equal(owner.gid, 100);
    assert_true(docker_user_numbers("1000:staff", &owner));
    assert_false(docker_user_numbers("user", &owner));
    assert_false(docker_user_numbers("", &owner));
    assert_true(docker_user_lookup(passwd, "user:wheel", &owner));
    assert_int_equal(owner.uid, 1000);
    assert_int_equal(owner.gid, 100);
    assert_false(docker_user_lookup(passwd, "use", &owner));
    assert_false(docker_user_lookup(passwd, "bad", &owner));
}

/* ---- GPUs ---------------------------------------------------------------------------------------- */

static json_t *container(const char *id, const char *state, const char *wants, const char *holds,
                         int created)
{
    json_t *labels = json_pack("{s:s, s:s, s:s, s:s}", LABEL_ID, id, LABEL_RANK, "0", LABEL_WANTS, wants,
                               LABEL_CHOICE, "all");

    if (holds)
        json_object_set_new(labels, LABEL_HOLDS, json_string(holds));
    return json_pack("{s:s, s:i, s:o}", "State", state, "Created", created, "Labels", labels);
}

static void expect_ids(json_t *ids, const char *wanted)
{
    sw_autofree char *text = sw_json_joined(ids, ",");

    assert_string_equal(text ? text : "", wanted);
    json_decref(ids);
}

static void what_containers_hold_is_not_free(void **state)
{
    sw_auto(json) json_t *all = json_pack("[s, s, s]", "a", "b", "ab");
    sw_auto(json) json_t *list = json_array();

    (void)state;
    expect_ids(docker_gpu_free(list, all, false), "a,b,ab");
    json_array_append_new(list, container("j1", "running", "1", "a", 1));
    json_array_append_new(list, container("j2", "exited", "1", "b", 1));
    expect_ids(docker_gpu_free(list, all, false), "b,ab");
    json_array_append_new(list, container("j3", "created", "1", "b", 1));
    expect_ids(docker_gpu_free(list, all, false), "ab");
    expect_ids(docker_gpu_free(list, all, true), "b,ab");
    json_array_append_new(list, container("j4", "paused", "1", "any", 1));
    expect_ids(docker_gpu_free(list, all, true), "");
}

static void who_came_first_is_first(void **state)
{
    sw_auto(json) json_t *list = json_array();

    (void)state;
    json_array_append_new(list, container("late", "created", "1", NULL, 9));
    json_array_append_new(list, container("early", "created", "2", NULL, 3));
    json_array_append_new(list, container("holder", "created", "2", "a", 1));
    json_array_append_new(list, container("over", "exited", "2", NULL, 1));
    expect_ids(docker_gpu_waiting(list), "early,late");
}

static void gpus_are_given_rank_by_rank(void **state)
{
    sw_auto(json) json_t *left = json_pack("[s, s, s, s]", "a", "b", "c", "d");
    sw_auto(json) json_t *any = json_pack("[s]", "any");
    sw_auto(json) json_t *two = docker_gpu_choose(left, 2, 2);
    sw_auto(json) json_t *whole = docker_gpu_choose(any, 1, 4);

    (void)state;
    expect_ids(json_incref(json_array_get(two, 1)), "c,d");
    expect_ids(json_incref(json_array_get(whole, 0)), "any");
    assert_null(docker_gpu_choose(left, 3, 2));
    assert_null(docker_gpu_choose(any, 2, 1));
}

static void a_number_and_a_uuid_mean_the_same_device(void **state)
{
    sw_auto(json) json_t *found = json_pack("[s, s]", "GPU-x", "GPU-y");
    sw_auto(json) json_t *none = json_array();
    sw_auto(json) json_t *by_number = json_pack("[s, s]", "1", "GPU-x");
    sw_auto(json) json_t *told = json_pack("[s]", "7");

    (void)state;
    expect_ids(docker_gpu_candidates(NULL, NULL, found), "GPU-x,GPU-y");
    expect_ids(docker_gpu_candidates(by_number, NULL, found), "GPU-y,GPU-x");
    expect_ids(docker_gpu_candidates(NULL, told, found), "7");
    expect_ids(docker_gpu_candidates(NULL, NULL, none), "any");
}

/* One event as the engine sends it; true: worth a look. */
static bool hear(json_t *known, const char *action, const char *code, int64_t at_ms)
{
    sw_auto(json) json_t *event = json_pack("{s:s, s:{s:{s:s, s:s*}}, s:I}", "Action", action, "Actor",
                                            "Attributes", "name", "job-x", "exitCode", code,
                                            "timeNano", (json_int_t)at_ms * 1000000);

    return docker_event_note(known, event);
}

static void the_story_of_a_container_is_heard_event_by_event(void **state)
{
    sw_auto(json) json_t *known = json_object();
    const json_t *entry;

    (void)state;
    assert_true(hear(known, "start", NULL, 1000));
    assert_false(hear(known, "exec_create: sh -c x", NULL, 1100));
    assert_false(hear(known, "kill", NULL, 1200));
    assert_false(hear(known, "oom", NULL, 1300));
    assert_true(hear(known, "pause", NULL, 1400));
    entry = json_object_get(known, "job-x");
    assert_false(sw_json_bool(entry, "over", false));
    assert_true(hear(known, "die", "137", 1500));
    assert_true(sw_json_bool(entry, "over", false) && sw_json_bool(entry, "oom", false));
    assert_int_equal(sw_json_int(entry, "exit_code", -1), 137);
    assert_int_equal(sw_json_int(entry, "started_ms", 0), 1000);
    assert_int_equal(sw_json_int(entry, "ended_ms", 0), 1500);
    assert_true(hear(known, "start", NULL, 1600));                    /* by hand: all begins anew */
    entry = json_object_get(known, "job-x");
    assert_false(sw_json_bool(entry, "over", false) || sw_json_bool(entry, "oom", false));
    assert_true(hear(known, "destroy", NULL, 1700));
    assert_true(sw_json_bool(entry, "over", false));
}

static void an_exit_code_that_is_none_is_not_believed(void **state)
{
    static const char *const codes[] = { NULL, "", "x", "3x", "-1", "256", "99999999999999999999" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(codes); i++) {
        sw_auto(json) json_t *known = json_object();

        assert_true(hear(known, "die", codes[i], 1));
        assert_int_equal(sw_json_int(json_object_get(known, "job-x"), "exit_code", 0),
                         SW_NO_EXIT_CODE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_for_a_state_has_one_of_ours),
        cmocka_unit_test(ends_are_distinguished),
        cmocka_unit_test(one_that_never_began_is_absent),
        cmocka_unit_test(an_exit_code_is_read_from_a_list),
        cmocka_unit_test(times_of_the_engine_are_read),
        cmocka_unit_test(frames_may_be_cut_anywhere),
        cmocka_unit_test(what_is_no_frame_is_refused),
        cmocka_unit_test(the_report_of_a_runner_is_known_by_its_job),
        cmocka_unit_test(a_user_is_numbers_or_a_name_of_the_image),
        cmocka_unit_test(what_containers_hold_is_not_free),
        cmocka_unit_test(who_came_first_is_first),
        cmocka_unit_test(gpus_are_given_rank_by_rank),
        cmocka_unit_test(a_number_and_a_uuid_mean_the_same_device),
        cmocka_unit_test(the_story_of_a_container_is_heard_event_by_event),
        cmocka_unit_test(an_exit_code_that_is_none_is_not_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
