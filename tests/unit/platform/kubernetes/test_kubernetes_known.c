/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_known.c - what is kept of objects, and which of them belong to a job.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "platform/kubernetes/kubernetes_internal.h"

static void only_what_is_read_is_kept(void **state)
{
    sw_auto(json) json_t *pod = json_pack(
        "{s:{s:s,s:[s],s:{s:s,s:s},s:{s:s,s:s}},s:{s:s,s:[]},s:{s:s,s:[{s:s},{s:s,s:s,s:s}]}}",
        "metadata", "name", "p", "managedFields", "x", "labels", "slipway.id", "j", "app", "x",
        "annotations", "slipway.sent", "1", "long", "text", "spec", "nodeName", "n", "containers",
        "status", "phase", "Pending", "conditions", "type", "Initialized",
        "type", "PodScheduled", "status", "False", "lastProbeTime", "t");
    sw_auto(json) json_t *kept = k8s_trim(pod);
    sw_autofree char *text = sw_json_dump(kept);

    (void)state;
    assert_string_equal(text, "{\"metadata\":{\"name\":\"p\",\"labels\":{\"slipway.id\":\"j\"},"
                        "\"annotations\":{\"slipway.sent\":\"1\"}},\"spec\":{\"nodeName\":\"n\"},"
                        "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
                        "\"status\":\"False\"}]}}");
}

static json_t *one_job(void)
{
    json_t *list = k8s_list_new();
    sw_auto(json) json_t *job = json_pack("{s:{s:s,s:s,s:{s:s,s:s}}}", "metadata", "name", "j", "uid", "u1",
                                          "labels", K8S_LABEL_ID, "j", K8S_LABEL_ATTEMPT, "1");
    sw_auto(json) json_t *pod = json_pack("{s:{s:s,s:{s:s,s:s}}}", "metadata", "name", "j-0", "labels",
                                          K8S_LABEL_ID, "j", K8S_LABEL_ATTEMPT, "1");
    sw_auto(json) json_t *child = json_pack("{s:{s:s,s:{s:s},s:[{s:b}]}}", "metadata", "name", "c", "labels",
                                            K8S_LABEL_ID, "c", "ownerReferences", "controller", 1);

    k8s_list_add(list, "job", job);
    k8s_list_add(list, K8S_PODS, pod);
    k8s_list_add(list, "job", child);
    return list;
}

static void an_attempt_is_found_by_its_uid_or_its_number(void **state)
{
    static const struct {
        struct sw_jobref job;
        bool found;
    } rows[] = {
        { { .id = "j", .attempt = 1 }, true },
        { { .id = "j", .attempt = 1, .remote_id = "u1" }, true },
        { { .id = "j", .attempt = 2, .remote_id = "u1" }, true },    /* the cluster replaced its pod */
        { { .id = "j", .attempt = 2 }, false },                      /* it was not sent yet */
        { { .id = "j", .attempt = 2, .remote_id = "u2" }, false },
        { { .id = "c", .attempt = 1 }, false },                      /* another object's child */
        { { .id = "x", .attempt = 1 }, false },
    };
    sw_auto(json) json_t *list = one_job();

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct k8s_seen known;

        k8s_find(list, &rows[i].job, &known);
        assert_int_equal(known.object != NULL, rows[i].found);
        assert_int_equal(json_array_size(known.pods), rows[i].found ? 1 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_read_is_kept),
        cmocka_unit_test(an_attempt_is_found_by_its_uid_or_its_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
