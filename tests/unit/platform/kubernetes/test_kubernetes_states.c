/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_states.c - a Job and its pods, as one observation.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "core/state.h"
#include "platform/kubernetes/kubernetes_internal.h"

/* Single quotes are easier to read here. */
static json_t *quoted(const char *text)
{
    char *copy = sw_strdup(text);
    json_t *document;

    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    document = json_loads(copy, JSON_DECODE_ANY, NULL);
    free(copy);
    assert_non_null(document);
    return document;
}

#define NAMED "'metadata':{'name':'j','uid':'u1','labels':{'slipway.id':'j','slipway.attempt':'1'}," \
              "'annotations':{'slipway.sent':'1'"
#define JOB(nodes, conditions) "{" NAMED ",'slipway.nodes':'" nodes "'}},'spec':{'suspend':false," \
    "'parallelism':" nodes \
                               "},'status':{'conditions':[" conditions "]}}"
#define COMPLETE "{'type':'Complete','status':'True','lastTransitionTime':'2026-01-01T00:10:00Z'}"
#define FAILED(reason) "{'type':'Failed','status':'True','reason':'" reason "','message':'words'}"

/* One pod: rank, when it was made, phase, more of its status. */
#define POD(rank, made, phase, status) "{'metadata':{'name':'p" rank "'," \
    "'creationTimestamp':'2026-01-01T00:" made \
    ":00Z','annotations':{'batch.kubernetes.io/job-completion-index':'" rank "'}},'spec':{'nodeName':'n" \
    rank "'}," \
    "'status':{'phase':'" phase "'" status "}}"
#define ENDED(more) ",'containerStatuses':[{'name':'slipway','state':{'terminated':{" more "}}}]"
#define AT(second) ",'startedAt':'2026-01-01T00:01:00Z','finishedAt':'2026-01-01T00:02:" second "Z'"
#define EXIT(code, second) ENDED("'exitCode':" code AT(second))
#define RUNNING ",'containerStatuses':[{'name':'slipway'," \
    "'state':{'running':{'startedAt':'2026-01-01T00:01:00Z'}}}]"
#define TAKEN(reason) ",'conditions':[{'type':'DisruptionTarget','status':'True','reason':'" reason "'}]"

static void judge(const char *object, const char *pods, const char *remote_id, struct sw_observation *seen)
{
    sw_auto(json) json_t *parsed = object ? quoted(object) : NULL, *all = quoted(pods);
    const struct k8s_seen known = { .engine = k8s_engine_named("job"), .object = parsed, .pods = all };

    *seen = (struct sw_observation){ .job = { .id = "j", .attempt = 1, .remote_id = remote_id } };
    k8s_judge(&known, seen);
}

static void every_story_has_one_state(void **state)
{
    static const struct {
        const char *object, *pods;
        enum sw_state state;
        const char *reason, *message;
    } rows[] = {
        { JOB("1", COMPLETE), "[" POD("0", "00", "Succeeded", EXIT("0", "00")) "]", SW_COMPLETE, "exit",
          "exit code 0" },
        { JOB("1", COMPLETE), "[]", SW_COMPLETE, "exit", "exit code 0" },
        { JOB("1", FAILED("PodFailurePolicy")), "[" POD("0", "00", "Failed", EXIT("3", "00")) "]",
          SW_ERROR, "exit",
          "exited with code 3" },
        { JOB("1", FAILED("PodFailurePolicy")), "[" POD("0", "00", "Failed", ENDED("'exitCode':137,"
          "'reason':'OOMKilled'"))
          "]", SW_ERROR, "memory", "out of memory: the kernel killed a process of the job" },
        { JOB("1", FAILED("PodFailurePolicy")), "[" POD("0", "00", "Failed", ENDED("'exitCode':128,"
          "'reason':'StartError',"
          "'message':'exec: no such file'")) "]", SW_ERROR, "start", "exec: no such file" },
        { JOB("1", FAILED("DeadlineExceeded")), "[" POD("0", "00", "Failed", EXIT("143", "00")) "]",
          SW_ERROR, "time",
          "it reached its time limit" },
        { JOB("1", FAILED("DeadlineExceeded")), "[]", SW_ERROR, "time", "it reached its time limit" },
        { JOB("1", FAILED("BackoffLimitExceeded")), "[]", SW_ERROR, "lost",
          "it failed and none of its pods is left (BackoffLimitExceeded: words)" },
        { JOB("1", FAILED("BackoffLimitExceeded")), "[" POD("0", "00", "Failed", ",'reason':'Evicted',"
          "'message':"
          "'The node was low on resource: memory.'") "]", SW_ERROR, "evicted",
          "its node evicted it (n0): The node was low on resource: memory." },
        { JOB("1", FAILED("BackoffLimitExceeded")), "[" POD("0", "00", "Failed", EXIT("143", "00")
          TAKEN("PreemptionByScheduler")) "]", SW_ERROR, "preempted", "a pod of higher priority took "
          "its place (n0)" },
        { JOB("1", FAILED("BackoffLimitExceeded")), "[" POD("0", "00", "Failed",
          TAKEN("DeletionByTaintManager")) "]",
          SW_ERROR, "node-lost", "its node failed (n0)" },
        { JOB("1", FAILED("BackoffLimitExceeded")), "[" POD("0", "00", "Failed", ","
          "'reason':'UnexpectedAdmissionError',"
          "'message':'Allocate failed'") "]", SW_ERROR, "node-refused", "its node refused it (n0): "
          "Allocate failed" },
        /* several ranks: the first that failed decides, one that was stopped did not fail */
        { JOB("2", FAILED("PodFailurePolicy")), "[" POD("0", "00", "Failed", ENDED("'exitCode':143"
          AT("05") ",'message':"
          "'{\\u0022job_id\\u0022:\\u0022j\\u0022,\\u0022phase\\u0022:\\u0022done\\u0022,"
          "\\u0022exit_code\\u0022:143,"
          "\\u0022stopped\\u0022:true}'")) "," POD("1", "00", "Failed", EXIT("7", "09")) "]", SW_ERROR,
          "exit",
          "rank 1 exited with code 7" },
        { JOB("2", ""), "[" POD("0", "00", "Running", RUNNING) "," POD("1", "00", "Failed", EXIT("7",
          "09")) "]",
          SW_RUNNING, "ending", "rank 1 failed; the others are being stopped" },
        { JOB("2", ""), "[" POD("0", "00", "Running", RUNNING) "," POD("1", "00", "Running", RUNNING) "]",
          SW_RUNNING,
          "", "" },
        { JOB("2", ""), "[" POD("0", "00", "Running", RUNNING) "," POD("1", "00", "Pending", "") "]",
          SW_PENDING,
          "starting", "rank 1: its container is being created on n1" },
        { JOB("2", ""), "[" POD("1", "00", "Running", RUNNING) "]", SW_PENDING, "starting",
          "the pod of rank 0 does not exist yet" },
        { JOB("1", ""), "[]", SW_PENDING, "starting", "its pods are not created yet" },
        { JOB("1", ""), "[" POD("0", "00", "Failed", EXIT("7", "09")) "]", SW_RUNNING, "ending",
          "its pods have finished; the cluster is recording it" },
        { JOB("1", ""), "[" POD("0", "00", "Failed", TAKEN("EvictionByEvictionAPI")) "]", SW_PENDING,
          "preempted",
          "it was evicted: its node is being emptied; it is being restarted" },
        { "{" NAMED "}},'spec':{'suspend':true}}", "[]", SW_PAUSED, "paused", "it is suspended on the "
          "cluster" },
        { "{'metadata':{'uid':'u1','labels':{'kueue.x-k8s.io/queue-name':'q'},"
          "'annotations':{'slipway.sent':'1'}},"
          "'spec':{'suspend':true}}", "[]", SW_PENDING, "queue", "it is waiting for Kueue to admit it" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen;

        judge(rows[i].object, rows[i].pods, "u1", &seen);
        assert_int_equal(seen.presence, SW_PRESENT);
        assert_string_equal(seen.message, rows[i].message);
        assert_string_equal(seen.reason, rows[i].reason);
        assert_int_equal(seen.state, rows[i].state);
        assert_string_equal(seen.remote_id, "u1");
        sw_observation_done(&seen);
    }
}

static void the_rank_that_failed_is_named_with_its_node_and_facts(void **state)
{
    struct sw_observation seen;

    (void)state;
    judge(JOB("2", FAILED("PodFailurePolicy")), "[" POD("0", "00", "Failed", EXIT("1", "09")) ","
          POD("1", "00", "Failed", ENDED("'exitCode':137,'reason':'OOMKilled'" AT("03"))) "]", "u1", &seen);
    assert_int_equal(seen.failed_replica, 1);
    assert_string_equal(seen.node, "n1");
    assert_int_equal(sw_json_int(seen.facts, "oom_kills", 0), 1);
    assert_int_equal(sw_json_int(seen.facts, "exit_code", 0), 137);
    assert_string_equal(sw_json_str(seen.facts, "pod"), "p1");
    assert_string_equal(sw_json_str(seen.facts, "workload_reason"), "PodFailurePolicy");
    assert_int_equal(seen.started_ms, 1767225660000);
    sw_observation_done(&seen);
}

static void a_report_counts_only_when_it_is_one_of_this_job(void **state)
{
    struct sw_observation seen;

    (void)state;
    judge(JOB("1", FAILED("PodFailurePolicy")), "[" POD("0", "00", "Failed", ENDED("'exitCode':1,'message':'{"
          "\\u0022job_id\\u0022:\\u0022other\\u0022,\\u0022canceled\\u0022:true}'")) "]", "u1", &seen);
    assert_int_equal(seen.state, SW_ERROR);
    assert_null(seen.runner);
    sw_observation_done(&seen);
    judge(JOB("1", FAILED("PodFailurePolicy")), "[" POD("0", "00", "Failed", ENDED("'exitCode':1,'message':'{"
          "\\u0022job_id\\u0022:\\u0022j\\u0022,\\u0022canceled\\u0022:true}'")) "]", "u1", &seen);
    assert_int_equal(seen.state, SW_CANCELED);
    assert_non_null(seen.runner);
    sw_observation_done(&seen);
}

static void another_object_of_the_same_name_is_not_the_job(void **state)
{
    struct sw_observation seen;

    (void)state;
    judge(JOB("1", COMPLETE), "[]", "other", &seen);
    assert_int_equal(seen.presence, SW_ABSENT);
    judge(NULL, "[]", "u1", &seen);
    assert_int_equal(seen.presence, SW_ABSENT);
}

static void a_half_made_object_waits_for_reconcile(void **state)
{
    static const char half[] = "{'metadata':{'uid':'u1'},'spec':{'suspend':true}}";
    struct sw_observation seen;

    (void)state;
    judge(half, "[]", NULL, &seen);
    assert_int_equal(seen.presence, SW_UNSEEN);
    assert_true(seen.needs_reconcile);
    judge(half, "[]", "u1", &seen);
    assert_int_equal(seen.presence, SW_PRESENT);
    assert_int_equal(seen.state, SW_PENDING);
    sw_observation_done(&seen);
}

static void a_pod_that_was_replaced_is_an_attempt_of_its_own(void **state)
{
    struct sw_observation seen;
    const json_t *was;

    (void)state;
    judge(JOB("1", ""), "[" POD("0", "05", "Running", RUNNING) "," POD("0", "01", "Failed", EXIT("143", "30")
          TAKEN("EvictionByEvictionAPI")) "]", "u1", &seen);
    assert_int_equal(seen.state, SW_RUNNING);
    assert_int_equal(seen.attempt, 2);
    assert_int_equal(json_array_size(seen.before), 1);
    was = json_array_get(seen.before, 0);
    assert_int_equal(sw_json_int(was, "number", 0), 1);
    assert_string_equal(sw_json_str(was, "reason"), "evicted");
    assert_int_equal(sw_json_int(was, "exit_code", 0), 143);
    sw_observation_done(&seen);
}

static void events_are_wanted_only_where_they_explain(void **state)
{
    static const struct { const char *object, *pods; bool wanted; } rows[] = {
        { JOB("1", ""), "[]", true },
        { JOB("1", ""), "[" POD("0", "00", "Pending", "") "]", true },
        { JOB("1", ""), "[" POD("0", "00", "Running", RUNNING) "]", false },
        { JOB("1", COMPLETE), "[]", false },
        { "{" NAMED "}},'spec':{'suspend':true}}", "[]", false },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *object = quoted(rows[i].object), *pods = quoted(rows[i].pods);
        const struct k8s_seen known = { .engine = k8s_engine_named("job"), .object = object, .pods = pods };

        assert_int_equal(k8s_wants_events(&known), rows[i].wanted);
    }
}

/* Also of an object that was trimmed to what is read. */
static void the_digest_of_the_image_is_that_of_the_jobs_container(void **state)
{
#define SUM "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    sw_auto(json) json_t *pod = quoted(POD("0", "00", "Running",
        ",'containerStatuses':[{'name':'mesh','imageID':'x'},"
        "{'name':'slipway','imageID':'host/app@" SUM "','state':{'running':{}}}]"));
    sw_auto(json) json_t *kept = k8s_trim(pod);
    sw_autofree char *text = sw_json_dump(kept), *pods = sw_format("[%s]", text);
    struct sw_observation seen;

    (void)state;
    judge(JOB("1", ""), pods, NULL, &seen);
    assert_string_equal(seen.image_digest, SUM);
    sw_observation_done(&seen);
    judge(JOB("1", ""), "[" POD("0", "00", "Running", RUNNING) "]", NULL, &seen);
    assert_string_equal(seen.image_digest, "");
    sw_observation_done(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_story_has_one_state),
        cmocka_unit_test(the_rank_that_failed_is_named_with_its_node_and_facts),
        cmocka_unit_test(a_report_counts_only_when_it_is_one_of_this_job),
        cmocka_unit_test(another_object_of_the_same_name_is_not_the_job),
        cmocka_unit_test(a_half_made_object_waits_for_reconcile),
        cmocka_unit_test(a_pod_that_was_replaced_is_an_attempt_of_its_own),
        cmocka_unit_test(events_are_wanted_only_where_they_explain),
        cmocka_unit_test(the_digest_of_the_image_is_that_of_the_jobs_container),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
