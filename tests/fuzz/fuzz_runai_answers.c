/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_runai_answers.c - any JSON {"workload", "projects", "clusters", "token"} as what run:ai answers:
 * one of our states, every text ended, a project or a reason, and a token's life that is no accident.
 */
#include <string.h>

#include "fuzz.h"
#include "platform/runai/runai_internal.h"

static void read_workload(const json_t *workload, int nodes)
{
    struct sw_observation seen = { .job = { .id = "j", .attempt = 1, .remote_id = "u" } };
    sw_auto(json) json_t *plan = json_pack("{s:i}", "nodes", nodes), *carried;

    carried = runai_plan_of(workload);
    CLAIM(!carried || json_typeof(carried) <= JSON_NULL);
    seen.job.plan = plan;
    runai_read(workload, &seen);
    (void)runai_mark(workload, "labels", SW_MARK_ID);
    CLAIM(strnlen(seen.message, sizeof seen.message) < sizeof seen.message);
    CLAIM(strnlen(seen.reason, sizeof seen.reason) < sizeof seen.reason);
    CLAIM(strnlen(seen.node, sizeof seen.node) < sizeof seen.node);
    CLAIM(strnlen(seen.remote_id, sizeof seen.remote_id) < sizeof seen.remote_id);
    CLAIM(seen.presence == SW_PRESENT);
    CLAIM(seen.state != SW_COMPLETE || seen.exit_code == 0);
    CLAIM(seen.failed_replica >= -1 && seen.failed_replica < nodes);
    sw_observation_done(&seen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(json) json_t *given = json_loadb((const char *)data, size, 0, NULL);
    struct sw_error err = { 0 };
    const json_t *found;
    int64_t life_ms;

    if (!given)
        return 0;
    read_workload(json_object_get(given, "workload"), 1);
    read_workload(json_object_get(given, "workload"), 3);
    found = runai_find_project(json_object_get(given, "projects"), "team", NULL, &err);
    CLAIM((found == NULL) == (err.code != SW_OK));
    err = (struct sw_error){ 0 };
    found = runai_find_cluster(json_object_get(given, "clusters"), "north", &err);
    CLAIM((found == NULL) == (err.code != SW_OK));
    life_ms = runai_token_life_ms(sw_json_int(given, "expiresIn", 0), sw_json_str(given, "token"), 1000);
    CLAIM(life_ms >= 0);
    return 0;
}
