/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill.c - the jobs of fill.h.
 *
 * Rows are made by the store's own insert, so their shape cannot drift from the real one; only
 * the states, which would need one observation each, are spread by a single statement.
 */
#include "fill.h"

#include <stdio.h>

#include "base/clock.h"
#include "store/store_internal.h"

/* What still runs is on a platform that no client here asks. */
static const char SQL_SPREAD[] =
    "UPDATE jobs SET"
    "  platform = CASE seq % 20 WHEN 0 THEN 'elsewhere' ELSE platform END,"
    "  state = CASE seq % 20 WHEN 0 THEN 'Running' WHEN 1 THEN 'Error' WHEN 2 THEN 'Canceled'"
    "          ELSE 'Complete' END,"
    "  phase = CASE seq % 20 WHEN 0 THEN 'active' ELSE 'over' END,"
    "  exit_code = CASE seq % 20 WHEN 0 THEN NULL WHEN 1 THEN 3 ELSE 0 END,"
    "  node = 'node-' || (seq % 64), remote_id = seq, submitted_ms = created_ms + 20,"
    "  started_ms = created_ms + 1000,"
    "  ended_ms = CASE seq % 20 WHEN 0 THEN 0 ELSE created_ms + 600000 END, owner = NULL";

static const char *const names[] = { "train", "evaluate", "export", "distill" };
static const char *const platforms[] = { "local", "slurm", "kubernetes" };

static int add(struct sw_store *store, size_t i, size_t count, json_t *plan, json_t *brief, json_t *labels,
               int64_t now_ms, struct sw_error *err)
{
    struct sw_job job = { .name = (char *)names[i % SW_COUNT(names)],
                          .platform = (char *)platforms[i % SW_COUNT(platforms)],
                          .results_dir = (char *)"/results", .plan = plan, .brief = brief,
                          .labels = i % 5 ? NULL : labels,
                          .keep_ms = i % 2 ? 86400000 : 0 };

    snprintf(job.id, sizeof job.id, "%.8s-%07u-aaaaaaaa", job.name, (unsigned)i % 10000000u);
    return store_job_insert(store, &job, now_ms - (int64_t)(count - i) * 60000, err);
}

int fill_store(struct sw_store *store, size_t count, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(json) json_t *labels = sw_json_object(SW_STR("team", "vision"), SW_STR("tier", "gold"));
    sw_auto(json) json_t *plan = sw_json_object(
        SW_STR("image", "nvcr.io/nvidia/tao/tao-toolkit:6.26.3-pyt"),
        SW_STR("command", "dino train -e /config/spec.yaml"), SW_INT("gpus", 8),
        SW_INT("nodes", 2), SW_STR("results_dir", "/results"));
    sw_auto(json) json_t *brief = sw_json_object(
        SW_STR("command", "dino train -e /config/spec.yaml"), SW_INT("gpus", 8), SW_STR("gpu_type", "H100"),
        SW_INT("nodes", 2), SW_STR("user", "ann"));
    int64_t now_ms = sw_now_ms();

    if (store_begin(&work, store, STORE_DURABLE, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (add(store, i, count, plan, brief, labels, now_ms, err) < 0)
            return -1;
    if (store_exec(store, SQL_SPREAD, err) < 0)
        return -1;
    return store_commit(&work, err);
}
