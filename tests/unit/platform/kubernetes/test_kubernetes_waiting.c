/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kubernetes_waiting.c - the words of scheduler, kubelet, API server and queues, in ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "platform/kubernetes/kubernetes_internal.h"

static void the_scheduler_is_understood(void **state)
{
    static const struct { const char *said, *ours; } rows[] = {
        { "0/12 nodes are available: 8 Insufficient nvidia.com/gpu, 4 node(s) had untolerated taint "
          "{nvidia.com/gpu: present}. preemption: 0/12 nodes are available: 12 No preemption victims "
          "found for "
          "incoming pod.", "0 of 12 nodes fit: 8 have no free GPU, 4 are tainted" },
        { "0/2 nodes are available: 1 Insufficient memory, 1 node(s) were unschedulable.",
          "0 of 2 nodes fit: 1 has too little free memory, 1 takes no new pods" },
        { "0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 1 node(s) had untolerated "
          "taint {c: }, "
          "1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, "
          "preemption: 0/3 nodes "
          "are available: 3 Preemption is not helpful for scheduling.",
          "0 of 3 nodes fit: 2 are tainted, 1 does not match its node selector" },
        { "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 "
          "nodes ...",
          "a volume claim of it is not bound to a volume yet" },
        { "0/1 nodes are available: persistentvolumeclaim \"data\" not found. not found",
          "its volume claim data does not exist" },
        { "0/4 nodes are available: 4 Insufficient rdma/hca.", "0 of 4 nodes fit: 4 have too little "
          "free rdma/hca" },
        { "0/4 nodes are available: 4 node(s) had a volume node affinity conflict, 4 words of tomorrow.",
          "0 of 4 nodes fit: 4 cannot reach its volume, 4 words of tomorrow" },
        { "0/4 nodes are available: 3 node(s) had volume node affinity conflict, 1 Too many pods.",
          "0 of 4 nodes fit: 3 cannot reach its volume, 1 has no room for more pods" },
        { "0/0 nodes are available: .", "0 of 0 nodes fit" },
        { "no nodes available to schedule pods", NULL },
        { "pod group is not ready, 1 Pending, 2 minAvailable", NULL },
        { "x/y nodes are available: 1 a", NULL }, { "", NULL }, { NULL, NULL },
    };
    char out[256];

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        bool known = k8s_explain_scheduler(rows[i].said, out, sizeof out);

        assert_int_equal(known, rows[i].ours != NULL);
        if (known)
            assert_string_equal(out, rows[i].ours);
    }
}

#define SCHEDULED(words) \
    "{'status':{'phase':'Pending','conditions':[{'type':'PodScheduled','status':'False'," \
    "'reason':'Unschedulable','message':\"" words "\"}]}}"
#define CONTAINER(reason, words) \
    "{'metadata':{'name':'p'},'spec':{'nodeName':'n1'},'status':{'phase':'Pending','containerStatuses':" \
    "[{'name':'slipway','state':{'waiting':{'reason':'" reason "','message':\"" words "\"}}}]}}"
#define EVENT(reason, words) \
    "[{'involvedObject':{'name':'p'},'reason':'" reason "','message':\"" words "\"}]"

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

static void every_wait_of_a_pod_has_a_reason(void **state)
{
    static const struct { const char *pod, *events, *reason, *message; } rows[] = {
        { SCHEDULED("0/2 nodes are available: 2 Insufficient nvidia.com/gpu."), NULL, "gpu-wait",
          "0 of 2 nodes fit: 2 have no free GPU" },
        { SCHEDULED("0/2 nodes are available: 2 Insufficient cpu."), NULL, "resources",
          "0 of 2 nodes fit: 2 have too little free CPU" },
        { SCHEDULED("0/2 nodes are available: 2 node(s) did not match Pods node affinity/selector."), NULL,
          "unschedulable", "0 of 2 nodes fit: 2 do not match its node selector" },
        { SCHEDULED("0/2 nodes are available: 1 node(s) were unschedulable, 1 node(s) had untolerated "
          "taint {a: b}."),
          NULL, "resources", "0 of 2 nodes fit: 1 takes no new pods, 1 is tainted" },
        { SCHEDULED("0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."), NULL,
          "mount",
          "a volume claim of it is not bound to a volume yet" },
        { SCHEDULED("pod group is not ready"), NULL, "resources", "the scheduler reports: pod group is not "
          "ready" },
        { CONTAINER("ErrImagePull", "rpc error: code = NotFound desc = x:1: not found"), NULL,
          "image-missing",
          "its image cannot be pulled: rpc error: code = NotFound desc = x:1: not found" },
        { CONTAINER("ErrImagePull", "401 Unauthorized"), NULL, "image-auth",
          "its image cannot be pulled: 401 Unauthorized" },
        { CONTAINER("ErrImagePull", "dial tcp: timeout"), NULL, "image-error",
          "its image cannot be pulled: dial tcp: timeout" },
        { CONTAINER("ImagePullBackOff", "Back-off pulling image"),
          EVENT("Failed", "Failed to pull image x: pull access denied, repository does not exist"),
          "image-auth",
          "its image cannot be pulled: Failed to pull image x: pull access denied, repository does not "
          "exist" },
        { CONTAINER("ErrImagePull", "failed to pull and unpack image x/y/z:1: failed to resolve "
          "reference x/y/z:1: "
          "failed to do request: Head http://x/v2/y/z/manifests/1: dial tcp 127.0.0.1:1: connect: "
          "connection refused"), NULL, "image-error", "its image cannot be pulled: failed to resolve "
          "reference "
          "x/y/z:1: failed to do request: Head http://x/v2/y/z/manifests/1: dial tcp 127.0.0.1:1: connect: "
          "connection refused" },
        { CONTAINER("ImagePullBackOff", ""), NULL, "image-error", "its image cannot be pulled" },
        { CONTAINER("InvalidImageName", "invalid reference format"), NULL, "image-missing",
          "the name of its image is wrong: invalid reference format" },
        { CONTAINER("CreateContainerConfigError", "container has runAsNonRoot and image will run as "
          "root"), NULL,
          "start", "its container cannot be created: container has runAsNonRoot and image will run as "
                   "root" },
        { CONTAINER("CrashLoopBackOff", "back-off 10s"), NULL, "crash-loop", "it keeps crashing: "
          "back-off 10s" },
        { CONTAINER("ContainerCreating", ""), EVENT("FailedMount", "configmap x not found"), "mount",
          "a volume cannot be mounted: configmap x not found" },
        { CONTAINER("ContainerCreating", ""), EVENT("Pulling", "Pulling image x"), "image",
          "its image is being pulled on n1" },
        { CONTAINER("ContainerCreating", ""), NULL, "starting", "its container is being created on n1" },
        { CONTAINER("Tomorrow", "words"), NULL, "starting", "Tomorrow: words" },
        { "{'status':{'phase':'Pending'}}", NULL, "queue", "the scheduler has not placed it yet" },
        { "{'status':{'phase':'Running'}}", NULL, NULL, NULL }, { "{'status':{'phase':'Failed'}}", NULL,
          NULL, NULL },
        { "{}", NULL, NULL, NULL }, { "[]", NULL, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *pod = quoted(rows[i].pod);
        sw_auto(json) json_t *events = rows[i].events ? quoted(rows[i].events) : NULL;
        char reason[48] = "", message[256] = "";

        assert_int_equal(k8s_pod_waits(pod, events, reason, message), rows[i].reason != NULL);
        assert_string_equal(reason, rows[i].reason ? rows[i].reason : "");
        assert_string_equal(message, rows[i].message ? rows[i].message : "");
    }
}

static void a_refusal_of_the_api_server_has_a_reason(void **state)
{
    static const struct { const char *said, *reason, *message; } rows[] = {
        { "Error creating: pods x is forbidden: exceeded quota: gpus, requested: 8, used: 8, limited: 8",
          "quota",
          "the quota of the namespace is used up: exceeded quota: gpus, requested: 8, used: 8, limited: "
          "8" },
        { "Error creating: pods x is forbidden: violates PodSecurity restricted: runAsNonRoot != true",
          "pod-security",
          "the namespace does not allow such a pod: violates PodSecurity restricted: runAsNonRoot != "
          "true" },
        { "Error creating: admission webhook a.b denied the request: no", "admission",
          "a webhook of the cluster rejects its pod: admission webhook a.b denied the request: no" },
        { "Error creating: something new", "starting", "its pod cannot be created: Error creating: "
          "something new" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *events = json_pack("[{s:s,s:s}]", "reason", "FailedCreate", "message",
        rows[i].said);
        char reason[48], message[256];

        assert_true(k8s_refused(events, reason, message));
        assert_string_equal(reason, rows[i].reason);
        assert_string_equal(message, rows[i].message);
    }
    assert_false(k8s_refused(NULL, (char[48]){ 0 }, (char[256]){ 0 }));
}

static void queues_say_what_they_wait_for(void **state)
{
    static const struct { const char *workload, *reason, *message; } rows[] = {
        { "{'status':{'conditions':[{'type':'QuotaReserved','status':'False','reason':'Pending',"
          "'message':'couldnt "
          "assign flavors: insufficient unused quota for nvidia.com/gpu'}]}}", "queue",
          "Kueue: couldnt assign flavors: insufficient unused quota for nvidia.com/gpu" },
        { "{'status':{'conditions':[{'type':'Evicted','status':'True','message':'Preempted to "
          "accommodate x'}]}}",
          "preempted", "Kueue put it back into the queue: Preempted to accommodate x" },
        { "{'status':{'conditions':[{'type':'QuotaReserved','status':'True','message':''}]}}", "queue",
          "Kueue admitted it; it starts" },
        { "{'status':{'conditions':[{'type':'Unschedulable','status':'True','message':'2/2 tasks in gang "
          "unschedulable'}]}}", "resources",
          "Volcano is waiting for room for all pods: 2/2 tasks in gang unschedulable" },
        { "{'status':{}}", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *workload = quoted(rows[i].workload);
        char reason[48] = "", message[256] = "";

        assert_int_equal(k8s_queue_waits(workload, reason, message), rows[i].reason != NULL);
        assert_string_equal(reason, rows[i].reason ? rows[i].reason : "");
        assert_string_equal(message, rows[i].message ? rows[i].message : "");
    }
    assert_false(k8s_queue_waits(NULL, (char[48]){ 0 }, (char[256]){ 0 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scheduler_is_understood),
        cmocka_unit_test(every_wait_of_a_pod_has_a_reason),
        cmocka_unit_test(a_refusal_of_the_api_server_has_a_reason),
        cmocka_unit_test(queues_say_what_they_wait_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
