/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lepton_states.c - what Lepton says about a job, and what we make of it, row by row.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"
#include "platform/lepton/lepton_internal.h"

#define REPORT(rank, more) \
    "slipway: report {\\'job_id\\':\\'j\\',\\'rank\\':" rank ",\\'phase\\':\\'over\\'," more "}\\n"
#define REPORTS(more) "{'0':'" REPORT("0", more) "'}"
#define STATUS(words) "'metadata':{'id':'j-ab12','name':'j'},'status':{'creation_time':1000," words "}"
#define FAILED_BY(event) STATUS("'state':'Failed'") ",'events':[{'reason':'Pulled'},{'reason':'" event "'}]"
#define WAITS(reason, words) \
    "'replicas':[{'metadata':{'id':'j-ab12-0-xyzzy'},'status':{'node':{'name':'n1'}," \
    "'readiness_issue':{'reason':'" reason "','message':'" words "'}}}]"
#define STARTS(reason, words) STATUS("'state':'Starting'") "," WAITS(reason, words)

/* With ' for ". */
static struct sw_observation read_text(const char *text, enum sw_state before)
{
    struct sw_observation seen = { .job = { .id = "j", .attempt = 1, .state = before } };
    sw_autofree char *whole = sw_format("{%s}", text);
    sw_auto(json) json_t *job = NULL;

    for (char *at = whole; (at = strchr(at, '\'')); at++)
        *at = '"';
    job = json_loads(whole, 0, NULL);
    if (!job)
        fail_msg("no JSON: %s", whole);
    lepton_read(job, &seen);
    return seen;
}

/* One row for each thing that Lepton can say: the state before, its words, then state, reason, exit code. */
static void every_story_has_one_state(void **state)
{
    static const struct {
        enum sw_state before;
        const char *said;
        enum sw_state state;
        const char *reason;
        int exit_code;
    } rows[] = {
        { SW_UNKNOWN, STATUS("'state':'Queueing'"), SW_PENDING, "queue", -1 },
        { SW_UNKNOWN, STATUS("'state':'Awaiting'"), SW_PENDING, "starting", -1 },
        { SW_UNKNOWN, STATUS("'state':'Starting'"), SW_PENDING, "starting", -1 },
        { SW_UNKNOWN, STATUS("'state':'PendingRetry'"), SW_PENDING, "starting", -1 },
        { SW_RUNNING, STATUS("'state':'Restarting'"), SW_PENDING, "starting", -1 },
        { SW_PENDING, STATUS("'state':'Running','ready':1,'active':2"), SW_PENDING, "starting", -1 },
        { SW_RUNNING, STATUS("'state':'Running','ready':1,'active':2"), SW_RUNNING, "", -1 },
        { SW_PENDING, STATUS("'state':'Running','ready':2,'active':2"), SW_RUNNING, "", -1 },
        { SW_RUNNING, STATUS("'state':'Stopping'"), SW_RUNNING, "", -1 },
        { SW_RUNNING, STATUS("'state':'Stopped'"), SW_PAUSED, "paused", -1 },
        { SW_RUNNING, STATUS("'state':'Stopped'") ",'asked':'canceled'", SW_CANCELED, "canceled", 130 },
        { SW_PENDING, STATUS("'state':'Stopped'") ",'asked':'mount'", SW_ERROR, "mount", -1 },
        { SW_RUNNING, STATUS("'state':'Deleting'"), SW_CANCELED, "canceled", 130 },
        { SW_RUNNING, STATUS("'state':'Terminating'"), SW_CANCELED, "canceled", 130 },
        { SW_RUNNING, STATUS("'state':'Deleted'"), SW_CANCELED, "canceled", 130 },
        { SW_RUNNING, STATUS("'state':'Completed'"), SW_COMPLETE, "exit", 0 },
        { SW_RUNNING, STATUS("'state':'Failed'"), SW_ERROR, "exit", -1 },
        { SW_RUNNING, STATUS("'state':'Failed'") ",'late':true", SW_RUNNING, "outputs", -1 },
        { SW_RUNNING, STATUS("'state':'Failed'") ",'reports':" REPORTS("\\'exit_code\\':3"), SW_ERROR,
          "exit", 3 },
        { SW_RUNNING, FAILED_BY("Preempted"),
          SW_ERROR, "preempted", -1 },
        { SW_RUNNING, FAILED_BY("Evicted"), SW_ERROR, "preempted", -1 },
        { SW_RUNNING, STATUS("'state':'Failed'") ",'reports':"
          REPORTS("\\'stopped\\':true,\\'exit_code\\':143"), SW_ERROR, "preempted", 143 },
        { SW_RUNNING, FAILED_BY("NodeNotReady") ",'reports':"
          REPORTS("\\'stopped\\':true,\\'exit_code\\':143"), SW_ERROR, "node-lost", 143 },
        { SW_RUNNING, FAILED_BY("OOMKilling"), SW_ERROR, "memory", -1 },
        { SW_RUNNING, FAILED_BY("NodeNotReady"), SW_ERROR,
          "node-lost", -1 },
        { SW_COMPLETE, STATUS("'state':'Archived'"), SW_COMPLETE, "exit", 0 },
        { SW_RUNNING, STATUS("'state':'Archived','succeeded':1"), SW_COMPLETE, "exit", 0 },
        { SW_RUNNING, STATUS("'state':'Archived','failed':1,'succeeded':1"), SW_ERROR, "exit", -1 },
        { SW_RUNNING, STATUS("'state':'Archived','job_history':[{'state':'Completed'}]"), SW_COMPLETE,
          "exit", 0 },
        { SW_RUNNING, STATUS("'state':'Archived'"), SW_UNKNOWN, "", -1 },
        { SW_RUNNING, STATUS("'state':'Shimmering'"), SW_UNKNOWN, "", -1 },
        { SW_RUNNING, "'status':{}", SW_UNKNOWN, "", -1 },
        { SW_UNKNOWN, STARTS("NoCapacity", "not scheduled"), SW_PENDING, "no-capacity", -1 },
        { SW_UNKNOWN, STARTS("InProgress", "pulling image"), SW_PENDING, "image", -1 },
        { SW_UNKNOWN, STARTS("InProgress", "initializing"), SW_PENDING, "starting", -1 },
        { SW_UNKNOWN, STARTS("ConfigError", "Image pull failed"), SW_PENDING, "image-error",
          -1 },
        { SW_UNKNOWN, STARTS("ConfigError", "mount point not found"), SW_PENDING, "mount", -1 },
        { SW_UNKNOWN, STARTS("ConfigError", "secret not found"), SW_PENDING, "start", -1 },
        { SW_UNKNOWN, STARTS("SystemError", "x"), SW_PENDING, "node-refused", -1 },
        { SW_UNKNOWN, STARTS("Shimmering", "x"), SW_PENDING, "starting", -1 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen = read_text(rows[i].said, rows[i].before);

        if (seen.state != rows[i].state || !sw_text_same(seen.reason, rows[i].reason) ||
            seen.exit_code != rows[i].exit_code)
            fail_msg("row %zu: %s '%s' %d: %s", i, sw_state_name(seen.state), seen.reason, seen.exit_code,
                     rows[i].said);
        sw_observation_done(&seen);
    }
}

static void the_first_rank_that_failed_is_named_with_its_node(void **state)
{
    struct sw_observation seen = read_text(
        STATUS("'state':'Failed'") ",'spec':{'completions':2},'reports':{'0':'"
        REPORT("0", "\\'stopped\\':true,\\'exit_code\\':143") "','1':'" REPORT("1", "\\'exit_code\\':9")
        "'},'replicas':[{'metadata':{'id':'j-ab12-1-xyzzy'},'status':{'node':{'name':'n7'}}}]",
        SW_RUNNING);

    (void)state;
    assert_int_equal(seen.state, SW_ERROR);
    assert_int_equal(seen.exit_code, 9);
    assert_int_equal(seen.failed_replica, 1);
    assert_string_equal(seen.node, "n7");
    assert_int_equal(seen.started_ms, 1000000);
    sw_observation_done(&seen);
}

static void times_have_any_unit(void **state)
{
    static const char *const texts[] = { "1700000000", "1700000000000", "1700000000000000",
                                         "1700000000000000000" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(texts); i++) {
        sw_auto(json) json_t *status = json_pack("{s:I}", "at", (json_int_t)atoll(texts[i]));

        assert_int_equal(lepton_time_ms(status, "at"), INT64_C(1700000000000));
    }
}

static void a_job_is_stuck_only_after_its_time_and_for_some_reasons(void **state)
{
    static const struct { const char *waits; int64_t now_ms; const char *stuck; } rows[] = {
        { WAITS("NoCapacity", ""), 1000000 + 899000, NULL },
        { WAITS("NoCapacity", ""), 1000000 + 900000, SW_REASON_NO_CAPACITY },
        { WAITS("ConfigError", "mount"), 1000000 + 900000, SW_REASON_MOUNT },
        { WAITS("SystemError", ""), 1000000 + 900000, SW_REASON_NODE_REFUSED },
        { WAITS("Queueing", ""), 1000000 + 90000000, NULL },
        { WAITS("InProgress", "pulling image"), 1000000 + 90000000, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *text = sw_format("%s,%s", STATUS("'state':'Starting'"), rows[i].waits);
        struct sw_observation seen = read_text(text, SW_UNKNOWN);
        const char *stuck = lepton_stuck_reason(&seen, 900000, rows[i].now_ms);

        if (!sw_text_same(stuck, rows[i].stuck))
            fail_msg("row %zu: %s", i, stuck ? stuck : "not stuck");
        sw_observation_done(&seen);
    }
}

static void the_node_of_the_replica_that_could_not_start_is_avoided(void **state)
{
    struct sw_observation seen = read_text(
        STATUS("'state':'Stopped'") ",'asked':'mount','waited_for':{'status':{'node':{'name':'n3'}}}",
        SW_PENDING);
    struct sw_observation nowhere = read_text(STATUS("'state':'Stopped'") ",'asked':'no-capacity'",
                                              SW_PENDING);

    (void)state;
    assert_string_equal(seen.node, "n3");
    assert_true(seen.bad_node);
    assert_false(nowhere.bad_node);
    sw_observation_done(&seen);
    sw_observation_done(&nowhere);
}

static void replicas_are_asked_after_a_minute_and_then_seldom(void **state)
{
    enum { MINUTE = 60000 };
    static const struct { int64_t asked_ms; const char *then; int64_t now_ms; bool asks; } rows[] = {
        { 0, NULL, MINUTE - 1, false },
        { 0, NULL, MINUTE, true },
        { MINUTE, "Starting", MINUTE + 1, false },
        { MINUTE, "Queueing", MINUTE + 1, true },
        { MINUTE, "Starting", 6 * MINUTE - 1, false },
        { MINUTE, "Starting", 6 * MINUTE, true },
        { 2 * MINUTE, "Starting", MINUTE, true },              /* the clock was set back */
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *note = rows[i].then ? json_pack("{s:I,s:s}", "asked_ms",
            (json_int_t)rows[i].asked_ms, "state", rows[i].then) : NULL;

        if (lepton_asks_again(note, "Starting", 0, rows[i].now_ms) != rows[i].asks)
            fail_msg("row %zu", i);
    }
}

static void the_message_of_a_stuck_job_says_what_to_do(void **state)
{
    static const struct { const char *options, *says; } rows[] = {
        { "{}", "x; it cannot start: 'slipway cancel', then 'slipway retry' --avoid-node n1" },
        { "{'stuck':'resubmit'}", "x; it cannot start and is submitted again (lepton.stuck)" },
        { "{'stuck_after':'1h'}", "x" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen = read_text(STARTS("SystemError", "x"), SW_UNKNOWN);
        sw_autofree char *text = sw_format("{'options':%s}", rows[i].options);
        sw_auto(json) json_t *plan = NULL;

        for (char *at = text; (at = strchr(at, '\'')); at++)
            *at = '"';
        seen.job.plan = plan = json_loads(text, 0, NULL);
        lepton_suggest(&seen, 1000000 + 900000);
        assert_string_equal(seen.message, rows[i].says);
        sw_observation_done(&seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_story_has_one_state),
        cmocka_unit_test(the_first_rank_that_failed_is_named_with_its_node),
        cmocka_unit_test(times_have_any_unit),
        cmocka_unit_test(a_job_is_stuck_only_after_its_time_and_for_some_reasons),
        cmocka_unit_test(the_node_of_the_replica_that_could_not_start_is_avoided),
        cmocka_unit_test(replicas_are_asked_after_a_minute_and_then_seldom),
        cmocka_unit_test(the_message_of_a_stuck_job_says_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
