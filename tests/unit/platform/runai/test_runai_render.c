/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_runai_render.c - what run:ai is sent, compared with files that are reviewed like code; and the
 * shell text that a container begins with, run by every shell an image may have.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "platform/kit/names.h"
#include "platform/runai/runai_internal.h"
#include "../golden.h"
#include "../plan_fixture.h"

static struct runai_target target = { .attempt = 1, .project_id = "4501", .owner = "me@here",
                                      .cluster_id = "71f6e2a4-0c1b-4d55-9a5e-3c1f0b6a7d21" };

static int begin(void **state)
{
    struct sw_plan *plan = plan_fixture("runai", "nvcr.io/nvidia/pytorch:25.08-py3", NULL);

    plan->store_id = sw_strdup("0123456789abcdef");
    plan->owner_uid = 1000;
    target.pull_secret = target.secret = NULL;
    *state = plan;
    return 0;
}

static int end(void **state)
{
    sw_plan_free(*state);
    return 0;
}

static json_t *body_of(const struct sw_plan *plan)
{
    struct sw_error err = { 0 };
    json_t *body = runai_render_body(plan, &target, &err);

    if (!body)
        fail_msg("%s", err.message);
    return body;
}

static json_t *variable(const json_t *body, const char *name)
{
    size_t i;
    json_t *one;

    json_array_foreach(json_object_get(json_object_get(body, "spec"), "environmentVariables"), i, one)
        if (sw_text_same(sw_json_str(one, "name"), name))
            return one;
    return NULL;
}

/* The beginning and the plan are long, and have tests of their own. */
static void compare(const struct sw_plan *plan, const char *name)
{
    static const char *const left_out[] = { RUNAI_START, RUNAI_PLAN "_0" };
    sw_auto(json) json_t *body = body_of(plan);
    sw_autofree char *text = NULL;

    for (size_t i = 0; i < SW_COUNT(left_out); i++)
        json_object_set_new(variable(body, left_out[i]), "value", json_string("..."));
    text = sw_json_dump_pretty(body);
    compare_text(name, text);
}

static void option(struct sw_plan *plan, const char *name, const char *json)
{
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    json_object_set_new(plan->options, name, value);
}

/* ---- bodies --------------------------------------------------------------------------------------- */

static void one_node_is_a_training(void **state)
{
    struct sw_plan *plan = *state;

    plan->gpus = 8;
    assert_string_equal(runai_kind(plan), "trainings");
    compare(plan, "training.json");
}

static void no_gpu_is_said(void **state)
{
    compare(*state, "training-no-gpu.json");
}

static void several_nodes_are_workers_without_a_master(void **state)
{
    struct sw_plan *plan = *state;

    plan->gpus = 8;
    plan->nodes = 4;
    assert_string_equal(runai_kind(plan), "distributed");
    compare(plan, "distributed.json");
}

static void a_part_of_a_gpu(void **state)
{
    struct sw_plan *plan = *state;

    plan->gpus = 1;
    option(plan, "gpu_portion", "0.25");
    option(plan, "gpu_portion_limit", "0.5");
    compare(plan, "training-portion.json");
}

static void memory_of_a_gpu(void **state)
{
    struct sw_plan *plan = *state;

    plan->gpus = 1;
    option(plan, "gpu_memory", "\"20GiB\"");
    compare(plan, "training-gpu-memory.json");
}

static void all_that_can_be_said(void **state)
{
    struct sw_plan *plan = *state;
    sw_auto(json) json_t *names = json_pack("{s:b, s:b}", "HF_TOKEN", 1, "ACCESS_KEY", 1);

    plan->gpus = 2;
    plan->cpus = 2.5;
    plan->memory_bytes = INT64_C(16) << 30;
    plan->shm_bytes = 1 << 30;
    plan->keep_ms = 3600000;
    plan->signature = sw_strdup("c2lnbmVk");
    plan->avoid = json_pack("[s]", "node-7");
    json_object_set_new(plan->env, "PLAIN", json_string("$HOME is kept"));
    json_object_set_new(plan->env, "REFERENCE", json_string("$(HOSTNAME) and $$"));
    json_object_set_new(plan->labels, "team", json_string("vision"));
    json_object_set_new(plan->labels, "note", json_string("two words"));
    json_array_append_new(plan->secrets, json_string("HF_TOKEN"));
    json_array_append_new(plan->credentials, json_string("ACCESS_KEY"));
    option(plan, "node_pools", "[\"h100\", \"a100\"]");
    option(plan, "node_type", "\"dgx\"");
    option(plan, "priority", "\"high\"");
    option(plan, "preemptibility", "\"non-preemptible\"");
    option(plan, "large_shm", "false");
    option(plan, "extended_resources", "{\"nvidia.com/mlnxnics\": \"8\"}");
    option(plan, "tolerations", "[{\"key\": \"gpu\", \"operator\": \"Exists\"}]");
    option(plan, "security", "{\"runAsUid\": 1000}");
    option(plan, "labels", "{\"cost\": \"42\"}");
    option(plan, "annotations", "{\"who\": \"ann lee\"}");
    option(plan, "pull", "\"always\"");
    target.pull_secret = "dockerregistry-slipway-pull-0123";
    target.secret = "genericsecret-train-abcdefgh";
    target.secret_names = names;
    compare(plan, "training-everything.json");
    target.secret_names = NULL;
}

static void every_data_source(void **state)
{
    struct sw_plan *plan = *state;

    option(plan, "volumes",
           "{\"/data\": \"pvc:team-data\","
           " \"/ro\": {\"source\": \"pvc:other\", \"read_only\": true},"
           " \"/new\": {\"source\": \"pvc:\", \"size\": \"100Gi\", \"storage_class\": \"fast\"},"
           " \"/nfs\": \"nfs:10.0.0.1:/exports/a\","
           " \"/host\": {\"source\": \"/raid/cache\", \"read_only\": true},"
           " \"/s3\": {\"source\": \"s3:bucket\", \"url\": \"https://s3.example\","
           " \"access_key\": \"s3-key\"},"
           " \"/etc/app\": {\"source\": \"config_map:settings\", \"sub_path\": \"app.yaml\"},"
           " \"/etc/keys\": \"secret:keys\", \"/scratch\": \"empty\"}");
    compare(plan, "training-volumes.json");
}

/* ---- refusals ------------------------------------------------------------------------------------- */

static void refused(const struct sw_plan *plan, const char *words)
{
    struct sw_error err = { 0 };
    sw_auto(json) json_t *body = runai_render_body(plan, &target, &err);

    assert_null(body);
    assert_int_equal(err.code, SW_E_SPEC);
    if (!strstr(err.message, words))
        fail_msg("'%s' is not in '%s'", words, err.message);
}

static void what_run_ai_cannot_do_is_refused_with_its_key(void **state)
{
    struct sw_plan *plan = *state;

    plan->mounts = json_pack("[s]", "/a:/b");
    refused(plan, "mounts: ");
    json_array_clear(plan->mounts);
    plan->gpu_type = sw_strdup("H100");
    refused(plan, "gpus: ");
    free(sw_take(plan->gpu_type));
    option(plan, "gpu_portion", "0.5");
    refused(plan, "runai.gpu_portion: ");
    plan->gpus = 1;
    option(plan, "gpu_memory", "\"1GiB\"");
    refused(plan, "not both");
    json_object_del(plan->options, "gpu_memory");
    option(plan, "gpu_portion", "1.5");
    refused(plan, "at most 1");
    json_object_del(plan->options, "gpu_portion");
    plan->launcher = SW_LAUNCHER_MPI;
    refused(plan, "launcher: ");
    plan->launcher = SW_LAUNCHER_RAY;
    json_decref(body_of(plan));
    plan->launcher = SW_LAUNCHER_NONE;
    free(sw_take(plan->image));
    refused(plan, "image: ");
}

static void what_is_too_long_is_named(void **state)
{
    struct sw_plan *plan = *state;
    char value[9002];

    option(plan, "dgxcloud_max_args_chars", "10");
    refused(plan, "dgxcloud_max_args_chars: the workload's args have 16 characters; 10 are allowed");
    json_object_del(plan->options, "dgxcloud_max_args_chars");
    memset(value, 'x', 9000);
    value[9000] = '\0';
    json_object_set_new(plan->env, "LONG", json_string(value));
    json_decref(body_of(plan));
    value[0] = '$';                              /* which may be doubled */
    json_object_set_new(plan->env, "LONG", json_string(value));
    refused(plan, "env.LONG: run:ai accepts 9000 characters per variable; this one has 9001");
}

static void a_volume_that_cannot_be_read_is_named(void **state)
{
    static const struct { const char *volumes, *words; } rows[] = {
        { "{\"/x\": \"nfs:server\"}", "runai.volumes./x: this source cannot be read" },
        { "{\"/x\": \"tape:1\"}", "no such kind of source" },
        { "{\"x\": \"pvc:a\"}", "it needs an absolute path" },
        { "{\"/x\": \"pvc:\"}", "needs a size" },
        { "{\"/x\": {\"source\": \"secret:a\", \"read_only\": true}}", "has no 'read_only'" },
    };
    struct sw_plan *plan = *state;

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        option(plan, "volumes", rows[i].volumes);
        refused(plan, rows[i].words);
    }
}

/* ---- names and the plan --------------------------------------------------------------------------- */

static void a_name_has_at_most_35_characters_and_its_random_end(void **state)
{
    static const struct { const char *id; int attempt; const char *name; } rows[] = {
        { "train-abcdefgh", 1, "train-abcdefgh" }, { "train-abcdefgh", 2, "train-abcdefgh-a2" },
        { "a-very-long-name-of-a-job1-abcdefgh", 1, "a-very-long-name-of-a-job1-abcdefgh" },
        { "a-very-long-name-of-a-job1-abcdefgh", 2, "a-very-long-name-of-a-j-abcdefgh-a2" },
        { "a-very-long-name-of-a-job1-abcdefgh", 12, "a-very-long-name-of-a-abcdefgh-a12" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_jobs_name name = runai_name(rows[i].id, rows[i].attempt);

        assert_string_equal(name.text, rows[i].name);
        assert_true(strlen(name.text) <= 35);
    }
}

static void a_workload_carries_its_plan(void **state)
{
    struct sw_plan *plan = *state;
    sw_auto(json) json_t *body = NULL, *sent = NULL, *found = NULL;
    sw_autofree char *command = sw_alloc(30001);

    memset(command, 'y', 30000);
    memcpy(command, "$(a) $$ \"\xc3\xa4\"", 12);
    command[30000] = '\0';
    free(plan->command);
    plan->command = sw_strdup(command);
    body = body_of(plan);
    sent = sw_plan_to_json(plan);
    found = runai_plan_of(body);
    assert_true(json_equal(sent, found));
    assert_string_equal(runai_mark(body, "labels", SW_MARK_ID), "train-abcdefgh");
    assert_null(runai_mark(body, "labels", "other"));
}

/* ---- the beginning of a container ------------------------------------------------------------------ */

static void the_beginning_of_a_worker(void **state)
{
    struct sw_plan *plan = *state;
    sw_auto(json) json_t *env = json_pack("{s:s, s:s, s:s}", "WORLD_SIZE", "4", "MASTER_PORT", "29500",
                                          RUNAI_PLAN "_0", "x");
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    plan->nodes = 4;
    runai_bootstrap(plan, &target, env, &text);
    compare_text("bootstrap-worker.sh", sw_buf_text(&text));
}

static void the_beginning_of_a_job_that_keeps_its_log_and_its_results(void **state)
{
    struct sw_plan *plan = *state;
    sw_auto(json) json_t *env = json_pack("{s:s, s:s}", "WORLD_SIZE", "4", "MASTER_PORT", "29500");
    sw_auto(json) json_t *body = NULL;
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    plan->nodes = 4;
    option(plan, "volumes", "{\"/results\": \"pvc:team\"}");
    target.keeps_log = true;
    runai_bootstrap(plan, &target, env, &text);
    compare_text("bootstrap-keeping.sh", sw_buf_text(&text));
    body = body_of(plan);
    target.keeps_log = false;
    assert_true(json_string_length(json_object_get(variable(body, RUNAI_START), "value")) <= RUNAI_VALUE_MAX);
}

static void outputs_below_results_are_those_of_the_volume(void **state)
{
    struct sw_plan *plan = *state;
    sw_auto(json) json_t *found = NULL, *wanted = json_loads(
        "[{\"path\": \"/slipway-results/train-abcdefgh\"},"
        " {\"path\": \"/slipway-results/train-abcdefgh/a\", \"to\": \"s3://b/\"},"
        " {\"path\": \"/results-of-others\"}]", 0, NULL);

    json_decref(plan->outputs);
    plan->outputs = json_loads("[{\"path\": \"/results\"}, {\"path\": \"/results/a\", \"to\": \"s3://b/\"},"
                               "{\"path\": \"/results-of-others\"}]", 0, NULL);
    option(plan, "volumes", "{\"/results\": \"pvc:team\"}");
    found = runai_outputs(plan);
    assert_true(json_equal(found, wanted));
}

static void a_log_goes_beside_the_first_output_in_object_storage(void **state)
{
    static const struct { const char *outputs, *uri; } rows[] = {
        { "[]", NULL }, { "[{\"path\": \"/out\"}]", NULL }, { "[{\"to\": \"/lustre/out/\"}]", NULL },
        { "[{\"to\": \"s3://b/{id}/\"}]", "s3://b/train-abcdefgh/.slipway/train-abcdefgh/" },
        { "[{\"to\": \"/x\"}, {\"to\": \"s3://b/k/model.bin\"}]",
          "s3://b/k/.slipway/train-abcdefgh/" },
        { "[{\"to\": \"s3://b/k/r-{rank}/out/\"}]", "s3://b/k/.slipway/train-abcdefgh/" },
        { "[{\"to\": \"s3://b\"}]", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *outputs = json_loads(rows[i].outputs, 0, NULL);
        sw_autofree char *uri = runai_kept_uri(outputs, "train-abcdefgh");

        if (rows[i].uri)
            assert_string_equal(uri, rows[i].uri);
        else
            assert_null(uri);
    }
}

static char *run_shell(const char *const shell[2], const json_t *body, const char *script)
{
    const char *args = sw_json_str(json_object_get(body, "spec"), "args");
    static char said[4096];
    int out[2], status;
    ssize_t length, all = 0;
    pid_t pid;

    assert_string_equal(args, "-c $SLIPWAY_BOOT");       /* words by any splitter: -c, $SLIPWAY_BOOT */
    assert_int_equal(pipe(out), 0);
    pid = fork();
    if (pid == 0) {
        clearenv();
        setenv("PATH", "/usr/bin:/bin", 1);
        setenv("HOSTNAME", "train-worker-2", 1);
        setenv("MASTER_ADDR", "the-operators", 1);
        setenv("SLIPWAY_START", script, 1);
        setenv("SLIPWAY_BOOT", sw_json_str(variable(body, RUNAI_BOOT), "value"), 1);
        dup2(out[1], 1);
        if (shell[1])
            execlp(shell[0], shell[0], shell[1], "-c", "$SLIPWAY_BOOT", (char *)NULL);
        execlp(shell[0], shell[0], "-c", "$SLIPWAY_BOOT", (char *)NULL);
        _exit(99);
    }
    close(out[1]);
    while ((length = read(out[0], said + all, sizeof said - 1 - (size_t)all)) > 0)
        all += length;
    close(out[0]);
    said[all] = '\0';
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return said;
}

static void every_shell_begins_with_the_variable(void **state)
{
    static const char *const shells[][2] = { { "dash", NULL }, { "busybox", "sh" }, { "bash", NULL } };
    /* base64 of: echo "two  words" * '$x' `echo "tick"` $((1 + 1)); echo "$HOSTNAME" */
    static const char script[] = "ZWNobyAidHdvICB3b3JkcyIgJyR4JyBgZWNobyAidGljayJgICQoKDEgKyAxKSk7"
                                 "IGVjaG8gIiRIT1NUTkFNRSIK";
    sw_auto(json) json_t *body = body_of(*state);

    for (size_t i = 0; i < SW_COUNT(shells); i++)
        assert_string_equal(run_shell(shells[i], body, script), "two  words $x tick 2\ntrain-worker-2\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(one_node_is_a_training),
        CASE(no_gpu_is_said),
        CASE(several_nodes_are_workers_without_a_master),
        CASE(a_part_of_a_gpu),
        CASE(memory_of_a_gpu),
        CASE(all_that_can_be_said),
        CASE(every_data_source),
        CASE(what_run_ai_cannot_do_is_refused_with_its_key),
        CASE(what_is_too_long_is_named),
        CASE(a_volume_that_cannot_be_read_is_named),
        CASE(a_name_has_at_most_35_characters_and_its_random_end),
        CASE(a_workload_carries_its_plan),
        CASE(the_beginning_of_a_worker),
        CASE(the_beginning_of_a_job_that_keeps_its_log_and_its_results),
        CASE(outputs_below_results_are_those_of_the_volume),
        CASE(a_log_goes_beside_the_first_output_in_object_storage),
        CASE(every_shell_begins_with_the_variable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
