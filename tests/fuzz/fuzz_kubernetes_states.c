/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_kubernetes_states.c - any JSON {"object", "pods", "events", "workload"} as what a cluster says about
 * a job, with each engine: one of our states, every text ended, and trimming changes nothing.
 */
#include <string.h>

#include "fuzz.h"
#include "core/state.h"
#include "platform/kubernetes/kubernetes_internal.h"

static void judge(const struct k8s_engine *engine, const json_t *given, struct sw_observation *seen)
{
    const struct k8s_seen known = {
        .engine = engine, .object = json_object_get(given, "object"), .pods = json_object_get(given, "pods"),
        .events = json_object_get(given, "events"), .workload = json_object_get(given, "workload"),
    };

    *seen = (struct sw_observation){ .job = { .id = "j", .attempt = 1, .remote_id = "u" } };
    k8s_judge(&known, seen);
    (void)k8s_wants_events(&known);
    CLAIM(strnlen(seen->message, sizeof seen->message) < sizeof seen->message);
    CLAIM(strnlen(seen->reason, sizeof seen->reason) < sizeof seen->reason);
    CLAIM(seen->presence != SW_PRESENT || seen->state != SW_UNKNOWN);
    CLAIM(seen->state != SW_COMPLETE || seen->exit_code == 0);
    CLAIM(json_array_size(seen->before) <= 32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(json) json_t *given = json_loadb((const char *)data, size, 0, NULL);

    for (const struct k8s_engine *engine = k8s_engines; given && engine->name; engine++) {
        struct sw_observation whole, trimmed;
        sw_auto(json) json_t *copy = json_deep_copy(given);
        json_t *pod;
        size_t i;

        judge(engine, given, &whole);
        k8s_trim(json_object_get(copy, "object"));
        json_array_foreach(json_object_get(copy, "pods"), i, pod)
            k8s_trim(pod);
        judge(engine, copy, &trimmed);
        CLAIM(whole.state == trimmed.state && strcmp(whole.reason, trimmed.reason) == 0);
        sw_observation_done(&whole);
        sw_observation_done(&trimmed);
    }
    return 0;
}
