/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_data.c - a job that only tries its data from where it would run, for `slipway preflight --probe`.
 *
 * Everything that decides where it runs and what it may reach stays: image, options, mounts, settings and
 * secrets. What would make it wait, cost or act goes. Pure.
 */
#include <stdlib.h>

#include "core/id.h"
#include "plan/plan.h"

enum { TIME_MS = 10 * 60 * 1000 };
#define MEMORY_BYTES (INT64_C(1) << 30)

static void drop(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}

void sw_plan_only_data(struct sw_plan *plan)
{
    json_t **const acts[] = { &plan->setup, &plan->ray_cluster, &plan->retry, &plan->guard, &plan->hooks,
                              &plan->notify, &plan->checkpoint, &plan->code, &plan->watcher };

    for (size_t i = 0; i < SW_COUNT(acts); i++)
        drop(acts[i]);
    plan->only_data = 1;
    plan->launcher = SW_LAUNCHER_NONE;
    plan->nodes = 1;
    plan->splits = 0;
    json_object_del(plan->labels, SW_LABEL_GROUP);
    plan->gpus = 0;
    free(sw_take(plan->gpu_type));
    plan->cpus = plan->cpus > 1 ? 1 : plan->cpus;
    plan->memory_bytes = plan->memory_bytes > MEMORY_BYTES ? MEMORY_BYTES : plan->memory_bytes;
    plan->shm_bytes = 0;
    plan->time_ms = TIME_MS;
    plan->retry = json_pack("{s:i}", "max", 0);
    plan->watcher = json_false();
}
