/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_files.c - what the states of pods and the words of kubelets mean for logs and files, and
 * the pod that shows a volume.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "platform/kube/kube_log.h"
#include "platform/kubernetes/kubernetes_files.h"

static json_t *parse(const char *text)
{
    json_t *json = sw_json_parse(text, strlen(text), "test", NULL);

    assert_non_null(json);
    return json;
}

static void the_state_of_a_container_tells_whether_its_log_grows(void **state)
{
    static const struct { const char *status; enum sw_log_life life; } rows[] = {
        { "{}", SW_LOG_NOT_BEGUN },
        { "{'phase':'Pending'}", SW_LOG_NOT_BEGUN },
        { "{'phase':'Pending','containerStatuses':[{'name':'slipway','state':{'waiting':{}}}]}",
          SW_LOG_NOT_BEGUN },
        { "{'phase':'Running','containerStatuses':[{'name':'slipway','state':{'running':{}}}]}",
          SW_LOG_GROWS },
        { "{'phase':'Running','containerStatuses':[{'name':'slipway','restartCount':1,"
          "'state':{'waiting':{}}}]}",
          SW_LOG_GROWS },
        { "{'phase':'Running','containerStatuses':[{'name':'slipway','state':{'terminated':{}}}]}",
          SW_LOG_GROWS },
        { "{'phase':'Running','containerStatuses':[{'name':'other','state':{'running':{}}}]}",
          SW_LOG_NOT_BEGUN },
        { "{'phase':'Succeeded'}", SW_LOG_ENDED },
        { "{'phase':'Failed','reason':'Evicted'}", SW_LOG_ENDED },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *text = sw_format("{\"status\":%s}", rows[i].status);
        sw_auto(json) json_t *pod = NULL;

        for (char *at = text; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        pod = parse(text);
        assert_int_equal(k8s_log_life(pod, "slipway"), rows[i].life);
    }
}

static void the_words_of_a_refusal_tell_whether_there_will_be_a_log(void **state)
{
    static const struct { const char *words; enum kube_log_said said; } rows[] = {
        { "container \"slipway\" in pod \"a-0\" is waiting to start: ContainerCreating", KUBE_LOG_NOT_BEGUN },
        { "container \"slipway\" in pod \"a-0\" is waiting to start: trying and failing to pull image",
          KUBE_LOG_NOT_BEGUN },
        { "pod a-0 does not have a host assigned", KUBE_LOG_NOT_BEGUN },
        { "previous terminated container \"slipway\" in pod \"a-0\" not found", KUBE_LOG_GONE },
        { "unable to retrieve container logs for containerd://abc", KUBE_LOG_GONE },
        { "failed to try resolving symlinks in path \"/var/log/x/0.log\": lstat: no such file or directory",
          KUBE_LOG_GONE },
        { "pods \"a-0\" is forbidden", KUBE_LOG_FAILED },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        assert_int_equal(kube_log_said(rows[i].words), rows[i].said);
}

static void what_is_above_a_path_is_looked_into(void **state)
{
    static const struct { const char *path, *above, *name; } rows[] = {
        { "/data/x", "/data", "x" }, { "/data/", "/", "data" }, { "/data", "/", "data" }, { "/", "/", NULL },
    };
    static const struct { const char *path, *sub, *name; } claims[] = {
        { "pvc:c", NULL, NULL }, { "pvc:c/a", NULL, "a" }, { "pvc:c/a/b", "a", "b" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct k8s_volume volume;
        sw_autofree char *name = NULL;

        assert_int_equal(k8s_volume_parse(rows[i].path, &volume, NULL), 0);
        name = k8s_volume_above(&volume);
        assert_string_equal(volume.source, rows[i].above);
        assert_true(sw_text_same(name, rows[i].name));
        k8s_volume_done(&volume);
    }
    for (size_t i = 0; i < SW_COUNT(claims); i++) {
        struct k8s_volume volume;
        sw_autofree char *name = NULL;

        assert_int_equal(k8s_volume_parse(claims[i].path, &volume, NULL), 0);
        name = k8s_volume_above(&volume);
        assert_true(sw_text_same(volume.sub_path, claims[i].sub));
        assert_true(sw_text_same(name, claims[i].name));
        k8s_volume_done(&volume);
    }
}

static void only_a_mount_that_failed_for_want_of_a_folder_says_so(void **state)
{
    sw_auto(json) json_t *missing = parse(
        "[{\"reason\":\"Scheduled\",\"message\":\"No such file or directory\"},"
        "{\"reason\":\"FailedMount\",\"message\":\"MountVolume.SetUp failed for volume look : "
        "hostPath type check failed: /x is not a directory\"}]");
    sw_auto(json) json_t *other = parse("[{\"reason\":\"FailedMount\",\"message\":\"timed out\"},{}]");

    (void)state;
    assert_true(k8s_no_such_folder(missing));
    assert_false(k8s_no_such_folder(other));
    assert_false(k8s_no_such_folder(NULL));
}

static void a_pod_that_shows_files_reads_only_and_ends_by_itself(void **state)
{
    sw_auto(json) json_t *pod = NULL, *restricted = NULL;
    struct k8s_helper_spec shown = { .arch = "arm64", .life_s = 600, .node = "n1" };
    struct k8s_volume volume;
    const json_t *spec, *mounts, *mount;
    size_t i;

    (void)state;
    assert_int_equal(k8s_volume_parse("pvc:c/a", &volume, NULL), 0);
    shown.volume = &volume;
    pod = k8s_helper_render(&shown, "look-1", "runner-1", false);
    restricted = k8s_helper_render(&shown, "look-1", "runner-1", true);
    k8s_volume_done(&volume);
    spec = json_object_get(pod, "spec");
    assert_int_equal(sw_json_int(spec, "activeDeadlineSeconds", 0), 600);
    assert_string_equal(sw_json_str(spec, "restartPolicy"), "Never");
    assert_string_equal(sw_json_str(spec, "nodeName"), "n1");
    mounts = json_object_get(json_array_get(json_object_get(spec, "containers"), 0), "volumeMounts");
    assert_int_equal(json_array_size(mounts), 2);
    json_array_foreach(mounts, i, mount) {
        assert_true(sw_json_bool(mount, "readOnly", false));
        assert_null(json_object_get(mount, "subPath"));      /* it would be made where it is missing */
    }
    spec = json_object_get(json_object_get(restricted, "spec"), "securityContext");
    assert_true(sw_json_bool(spec, "runAsNonRoot", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_of_a_container_tells_whether_its_log_grows),
        cmocka_unit_test(the_words_of_a_refusal_tell_whether_there_will_be_a_log),
        cmocka_unit_test(what_is_above_a_path_is_looked_into),
        cmocka_unit_test(only_a_mount_that_failed_for_want_of_a_folder_says_so),
        cmocka_unit_test(a_pod_that_shows_files_reads_only_and_ends_by_itself),
    };

    return cmocka_run_group_tests_name("kubernetes_files", tests, NULL, NULL);
}
