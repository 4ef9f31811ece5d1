/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_cluster.c - what the cluster has, and what jobs wait for.
 *
 * A driver that waits says "resources" and not which; a driver whose tasks find none runs on, silent. The
 * cluster's own counts say what there is, and the list of waiting tasks says who wants what: two questions
 * for all jobs, and only while one of them waits, or has run for a while without an end.
 */
#include "platform/ray/ray_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"

enum { PATIENCE_MS = 20000 };
#define TASKS_PATH "/api/v0/tasks?detail=1&limit=200&filter_keys=state&filter_predicates=%3D&filter_values="

json_t *ray_nodes(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *answer = NULL;

    if (ray_call(conn, NULL, "/api/v0/nodes?detail=1&limit=10000", NULL, &answer, err) < 0)
        return NULL;
    return json_deep_copy(sw_at(answer, "data.result.result"));
}

json_t *ray_usage(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *answer = NULL;
    const json_t *usage;

    if (ray_call(conn, NULL, "/api/cluster_status", NULL, &answer, err) < 0)
        return NULL;
    usage = sw_at(answer, "data.clusterStatus.loadMetricsReport.usage");
    return usage ? json_deep_copy(usage) : json_object();
}

static void say_amount(struct sw_buf *out, const char *name, double amount)
{
    char size[32];

    if (strcmp(name, "memory") == 0) {
        sw_size_format((int64_t)amount, size);
        sw_buf_add(out, size);
    } else {
        sw_buf_addf(out, "%g", amount);
    }
}

char *ray_missing(const json_t *demand, const json_t *usage)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *name;
    json_t *amount;

    json_object_foreach((json_t *)demand, name, amount) {
        const json_t *counts = json_object_get(usage, name);
        double wants = json_number_value(amount), has = json_number_value(json_array_get(counts, 1));
        double left = has - json_number_value(json_array_get(counts, 0));

        if (wants <= left || sw_text_starts(name, "node:"))
            continue;
        sw_buf_addf(&out, "%s%s ", out.length ? ", " : "", name);
        say_amount(&out, name, wants);
        sw_buf_add(&out, " (the cluster has ");
        say_amount(&out, name, has);
        sw_buf_add(&out, wants <= has ? ", in use)" : ")");
    }
    return out.length ? sw_buf_steal(&out) : NULL;
}

/* What the driver itself asks for. */
static json_t *demand_of(const json_t *job)
{
    static const struct { const char *key, *name; } amounts[] = {
        { "entrypoint_num_gpus", "GPU" }, { "entrypoint_num_cpus", "CPU" }, { "entrypoint_memory", "memory" },
    };
    const json_t *custom = json_object_get(job, "entrypoint_resources");
    json_t *demand = json_is_object(custom) ? json_deep_copy(custom) : json_object();

    for (size_t i = 0; i < SW_COUNT(amounts); i++)
        if (json_number_value(json_object_get(job, amounts[i].key)) > 0)
            json_object_set(demand, amounts[i].name, json_object_get(job, amounts[i].key));
    return demand;
}

/* The list of jobs does not say what they asked for; the plan in their metadata does. */
static json_t *demand_in_plan(const json_t *job)
{
    const char *text = ray_mark(job, RAY_MARK_PLAN);
    sw_auto(json) json_t *plan = text ? sw_json_parse(text, strlen(text), "plan", NULL) : NULL;
    json_t *demand = demand_of(job), *value;
    const char *name;
    double amount;

    if (!plan || sw_text_same(sw_json_str(plan, "launcher"), "ray"))
        return demand;
    if (sw_json_int(plan, "gpus", 0) > 0)
        json_object_set_new(demand, "GPU", json_integer(sw_json_int(plan, "gpus", 0)));
    if (json_number_value(json_object_get(plan, "cpus")) > 0)
        json_object_set(demand, "CPU", json_object_get(plan, "cpus"));
    if (sw_json_int(plan, "memory_bytes", 0) > 0)
        json_object_set(demand, "memory", json_object_get(plan, "memory_bytes"));
    json_object_foreach(sw_at(plan, "options.resources"), name, value)
        if (sscanf(json_string_value(value) ? json_string_value(value) : "", "%lf", &amount) == 1)
            json_object_set_new(demand, name, json_real(amount));
    return demand;
}

static void say_waiting(json_t *job, const char *who, const json_t *demand, const json_t *usage)
{
    sw_autofree char *missing = ray_missing(demand, usage);
    sw_autofree char *text = missing ? sw_format("%s for %s", who, missing) : NULL;

    if (text && !json_object_get(job, "waits_for"))
        json_object_set_new(job, "waits_for", sw_json_text(text));
}

static void explain_tasks(struct sw_connection *conn, json_t *jobs, const json_t *usage)
{
    sw_auto(json) json_t *answer = NULL;
    json_t *task, *job;
    const char *name;
    size_t i;

    if (ray_call(conn, NULL, TASKS_PATH "PENDING_NODE_ASSIGNMENT", NULL, &answer, NULL) < 0)
        return;
    json_array_foreach(sw_at(answer, "data.result.result"), i, task)
        json_object_foreach(jobs, name, job)
            if (sw_json_str(job, "job_id") &&
                sw_text_same(sw_json_str(job, "job_id"), sw_json_str(task, "job_id")))
                say_waiting(job, "its tasks wait", json_object_get(task, "required_resources"), usage);
}

static bool is_patient(const json_t *job, const char *state)
{
    return sw_text_same(sw_json_str(job, "status"), state) &&
           sw_now_ms() - sw_json_int(job, "start_time", 0) > PATIENCE_MS;
}

void ray_explain_waiting(struct sw_connection *conn, json_t *jobs)
{
    sw_auto(json) json_t *usage = NULL;
    bool pending = false, running = false;
    const char *name;
    json_t *job;

    json_object_foreach(jobs, name, job) {
        const char *said = sw_json_str(job, "message");

        pending |= sw_text_same(sw_json_str(job, "status"), "PENDING") && said &&
                   strstr(said, "waiting for resources");
        running |= is_patient(job, "RUNNING") && sw_json_str(job, "job_id");
    }
    if ((!pending && !running) || !(usage = ray_usage(conn, NULL)))
        return;
    json_object_foreach(jobs, name, job)
        if (sw_text_same(sw_json_str(job, "status"), "PENDING")) {
            sw_auto(json) json_t *demand = demand_in_plan(job);

            say_waiting(job, "the driver waits", demand, usage);
        }
    if (running)
        explain_tasks(conn, jobs, usage);
}
