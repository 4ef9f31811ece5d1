/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_volumes.c - what users may write for a volume, and what it means for pod and results.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "platform/kubernetes/kubernetes_internal.h"

static int begin(void **state)
{
    struct sw_plan *plan = calloc(1, sizeof *plan);

    strcpy(plan->job_id, "job-1");
    plan->nodes = 1;
    *state = plan;
    return 0;
}

static int end(void **state)
{
    sw_plan_free(*state);
    return 0;
}

static void give(struct sw_plan *plan, const char *volumes, const char *mounts)
{
    json_decref(plan->options);
    json_decref(plan->mounts);
    plan->options = json_object();
    plan->mounts = mounts ? json_pack("[s]", mounts) : NULL;
    if (volumes)
        json_object_set_new(plan->options, "volumes", json_loads(volumes, 0, NULL));
}

static void a_text_names_one_volume(void **state)
{
    static const struct { const char *text; int kind; const char *source, *server, *sub; } rows[] = {
        { "pvc:data", K8S_VOLUME_PVC, "data", NULL, NULL },
        { "pvc:data/a/b/", K8S_VOLUME_PVC, "data", NULL, "a/b" },
        { "nfs:10.0.0.1:/export/x", K8S_VOLUME_NFS, "/export/x", "10.0.0.1", NULL },
        { "nfs:[fd00::1]:/x", K8S_VOLUME_NFS, "/x", "[fd00::1]", NULL },
        { "/data", K8S_VOLUME_HOST, "/data", NULL, NULL },
        { "config_map:settings", K8S_VOLUME_CONFIG_MAP, "settings", NULL, NULL },
        { "secret:tls.keys", K8S_VOLUME_SECRET, "tls.keys", NULL, NULL },
        { "empty", K8S_VOLUME_EMPTY, NULL, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct k8s_volume volume;

        assert_int_equal(k8s_volume_parse(rows[i].text, &volume, NULL), 0);
        assert_int_equal(volume.kind, rows[i].kind);
        assert_true(sw_text_same(volume.source, rows[i].source));
        assert_true(sw_text_same(volume.server, rows[i].server));
        assert_true(sw_text_same(volume.sub_path, rows[i].sub));
        k8s_volume_done(&volume);
    }
}

static void a_text_that_names_none_is_refused(void **state)
{
    static const char *const texts[] = { "", "data", "pvc:", "pvc:Data", "pvc:data/../x", "pvc:-x",
                                         "nfs:server",
                                         "nfs::/x", "nfs:s:/../x", "/a/../b", "config_map:", "config_map:a/b",
                                         "~/x" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(texts); i++) {
        struct k8s_volume volume;
        struct sw_error err = { 0 };

        if (k8s_volume_parse(texts[i], &volume, &err) == 0)
            fail_msg("'%s' was taken", texts[i]);
        assert_int_equal(err.code, SW_E_SPEC);
        assert_null(volume.source);
    }
}

static void entries_that_make_no_sense_are_refused(void **state)
{
    static const struct { const char *volumes, *mounts, *words; } rows[] = {
        { "{\"/a\": {}}", NULL, "one of" },
        { "{\"/a\": {\"pvc\": \"x\", \"nfs\": \"s:/p\"}}", NULL, "one of" },
        { "{\"/a\": {\"pvc\": \"x\", \"path\": \"../y\"}}", NULL, "below the volume" },
        { "{\"/a\": {\"source\": \"pvc:x/y\", \"path\": \"z\"}}", NULL, "below the volume" },
        { "{\"a\": {\"pvc\": \"x\"}}", NULL, "absolute" },
        { "{\"/\": {\"pvc\": \"x\"}}", NULL, "absolute" },
        { "{\"/.slipway/bin\": {\"pvc\": \"x\"}}", NULL, "Slipway's own" },
        { "{\"/results\": {\"pvc\": \"x\", \"read_only\": true}}", NULL, "cannot be written" },
        { "{\"/results\": {\"config_map\": \"x\"}}", NULL, "cannot be written" },
        { "{\"/a\": {\"pvc\": \"x\"}}", "y:/a", "two volumes" },
        { NULL, "git+https://git.example.org/code.git@v1:/code", "repository" },
        { NULL, "./data:/data", "this machine" },
        { NULL, "a/b:/data", "this machine" },
        { NULL, "/a:/b:rx", "not ro or rw" },
    };

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct k8s_volumes all;
        struct sw_error err = { 0 };

        give(*state, rows[i].volumes, rows[i].mounts);
        if (k8s_volumes_read(*state, &all, &err) == 0)
            fail_msg("row %zu was taken", i);
        assert_int_equal(err.code, SW_E_SPEC);
        if (!strstr(err.message, rows[i].words))
            fail_msg("'%s' is not in '%s'", rows[i].words, err.message);
    }
}

static void results_on_a_volume_have_a_folder_of_the_job(void **state)
{
    static const struct { const char *volumes, *mounts, *source; } rows[] = {
        { NULL, NULL, NULL },
        { "{\"/results\": {\"empty_dir\": true}}", NULL, NULL },
        { "{\"/results/deep\": {\"pvc\": \"x\"}}", NULL, NULL },
        { "{\"/results\": {\"source\": \"pvc:x\"}}", NULL, "pvc:x/job-1" },
        { "{\"/results\": {\"pvc\": \"x\", \"path\": \"/runs/\"}}", NULL, "pvc:x/runs/job-1" },
        { "{\"/results\": {\"nfs\": \"s:/e\", \"path\": \"r\"}}", NULL, "nfs:s:/e/r/job-1" },
        { NULL, "/lustre/results/:/results", "/lustre/results/job-1" },
        { NULL, "claim:/results", "pvc:claim/job-1" },
    };

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *source = NULL;

        give(*state, rows[i].volumes, rows[i].mounts);
        source = k8s_results_source(*state);
        if (!sw_text_same(source, rows[i].source))
            fail_msg("row %zu: %s", i, source ? source : "none");
    }
}

static void a_claim_at_two_places_is_one_volume(void **state)
{
    sw_auto(json) json_t *volumes = json_array(), *mounts = json_array();
    size_t claims = 0, uses = 0, i;
    json_t *one;

    give(*state, "{\"/a\": {\"pvc\": \"x\", \"path\": \"a\"}, \"/b\": {\"pvc\": \"x\"}, "
                 "\"/c\": {\"source\": \"empty\"}, \"/d\": {\"source\": \"empty\"}}", NULL);
    assert_int_equal(k8s_render_volumes(*state, &(struct k8s_site){ .attempt = 1, .runner = "r" }, volumes,
                                        mounts, NULL), 0);
    json_array_foreach(volumes, i, one)
        claims += json_object_get(one, "persistentVolumeClaim") != NULL;
    json_array_foreach(mounts, i, one)
        uses += sw_text_same(sw_json_str(one, "name"), "volume-0");
    assert_int_equal(claims, 1);
    assert_int_equal(uses, 2);
    assert_int_equal(json_array_size(volumes), 5 + 3);        /* ours, the claim, and two empty ones */
}

static void inputs_and_outputs_of_this_machine_are_refused(void **state)
{
    static const char *const paths[] = { "data/a.json", "/data/a.json", "file:///data/a.json", "~/a" };
    struct sw_plan *plan = *state;

    for (size_t i = 0; i < 2 * SW_COUNT(paths); i++) {
        sw_auto(json) json_t *volumes = json_array(), *mounts = json_array();
        bool is_input = i < SW_COUNT(paths);
        struct sw_error err = { 0 };
        json_t **list = is_input ? &plan->inputs : &plan->outputs;

        json_decref(plan->inputs);
        json_decref(plan->outputs);
        plan->inputs = plan->outputs = NULL;
        *list = json_pack("[{s:s, s:s}]", "path", "/data/a", is_input ? "from" : "to",
                          paths[i % SW_COUNT(paths)]);
        assert_int_equal(k8s_render_volumes(plan, &(struct k8s_site){ .attempt = 1 }, volumes, mounts, &err),
                         -1);
        assert_int_equal(err.code, SW_E_SPEC);
        assert_non_null(strstr(err.message, is_input ? "input" : "output"));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_text_names_one_volume),
        TEST(a_text_that_names_none_is_refused),
        TEST(entries_that_make_no_sense_are_refused),
        TEST(results_on_a_volume_have_a_folder_of_the_job),
        TEST(a_claim_at_two_places_is_one_volume),
        TEST(inputs_and_outputs_of_this_machine_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
