/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_report.c - what a job needs, looked at one by one (preflight), and what the cluster has (inventory,
 * replicas).
 */
#include "platform/ray/ray_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/state.h"
#include "core/finding.h"

/* Tokens came with 2.52, and with them the header that a proxy leaves alone; but a 2.52 with a token does
 * not read its own log files: its dashboard has no token for the node that has them. */
static const int oldest[] = { 2, 53 };

/* ---- preflight ------------------------------------------------------------------------------ */

static bool is_too_old(const char *version)
{
    int major = 0, minor = 0;

    sscanf(version, "%d.%d", &major, &minor);
    return major < oldest[0] || (major == oldest[0] && minor < oldest[1]);
}

static bool check_cluster(struct sw_connection *conn, json_t *rows)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *version = NULL;
    const char *ray, *session;
    sw_autofree char *message = NULL;

    if (ray_call(conn, NULL, "/api/version", NULL, &version, &why) < 0)
        return sw_finding_error(rows, "cluster", &why);
    ray = sw_json_str(version, "ray_version");
    session = sw_json_str(version, "session_name");
    message = sw_format("Ray %s at %s (%s)", ray ? ray : "of an unknown version", ray_of(conn)->address,
                        session ? session : "no session");
    sw_finding(rows, "cluster", ray && !is_too_old(ray), message, "Slipway needs Ray 2.53 or later");
    return true;
}

static bool is_open_to_others(const struct ray_connection *conn)
{
    return !conn->kube && !conn->dialer && !sw_http_is_loopback(conn->url);
}

static bool check_token(struct sw_connection *conn, json_t *rows)
{
    struct sw_error why = { 0 };
    const char *mode = ray_mode(conn, true, &why);
    sw_autofree char *message = NULL;

    if (!mode)
        return sw_finding_error(rows, "token", &why);
    if (strcmp(mode, "token") == 0 && ray_of(conn)->token)
        message = sw_format("the cluster wants a token, and %s has one", ray_of(conn)->token_from);
    else
        message = sw_strdup(strcmp(mode, "token") == 0 ? "the cluster wants a token, and none is known"
                            : is_open_to_others(ray_of(conn))
                            ? "the cluster wants no token: anyone who reaches its dashboard runs commands"
                            : "the cluster wants no token");
    sw_finding(rows, "token", strcmp(mode, "disabled") == 0 || ray_of(conn)->token, message,
               "export RAY_AUTH_TOKEN, or name its file with RAY_AUTH_TOKEN_PATH");
    if (strcmp(mode, "disabled") == 0 && is_open_to_others(ray_of(conn)))
        sw_cloud_warn(conn, "the Ray cluster at %s wants no token: anyone who reaches its dashboard can run "
                            "commands there (start it with RAY_AUTH_MODE=token)", ray_of(conn)->address);
    return true;
}

static json_t *demand_of(const struct sw_plan *plan)
{
    json_t *demand = json_object(), *value;
    const char *name;
    double amount;

    if (plan->gpus > 0)
        json_object_set_new(demand, "GPU", json_integer(plan->gpus));
    if (plan->cpus > 0)
        json_object_set_new(demand, "CPU", json_real(plan->cpus));
    if (plan->memory_bytes > 0)
        json_object_set_new(demand, "memory", json_integer(plan->memory_bytes));
    json_object_foreach((json_t *)ray_job_options(plan->options).resources, name, value)
        if (sscanf(json_string_value(value), "%lf", &amount) == 1)
            json_object_set_new(demand, name, json_real(amount));
    return demand;
}

/* Does one node have all of it, busy or not? */
static bool fits(const json_t *node, const json_t *demand)
{
    const char *name;
    json_t *amount;

    if (!sw_text_same(sw_json_str(node, "state"), "ALIVE"))
        return false;
    json_object_foreach((json_t *)demand, name, amount)
        if (json_number_value(json_object_get(json_object_get(node, "resources_total"), name)) <
            json_number_value(amount))
            return false;
    return true;
}

static void check_room(struct sw_connection *conn, json_t *rows, const struct sw_plan *plan)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *nodes = ray_nodes(conn, &why), *demand = demand_of(plan);
    sw_auto(json) json_t *usage = nodes ? ray_usage(conn, &why) : NULL;
    sw_autofree char *missing = usage ? ray_missing(demand, usage) : NULL, *message = NULL;
    int count = 0;
    json_t *node;
    size_t i;

    if (!usage) {
        sw_finding_error(rows, "resources", &why);
        return;
    }
    json_array_foreach(nodes, i, node)
        count += fits(node, demand);
    message = sw_format("%d of the nodes can run it%s%s", count, missing ? "; now missing: " : "",
                        missing ? missing : "");
    sw_finding(rows, "resources", count >= plan->nodes, message,
               "ask for less, or for a cluster with larger nodes");
    sw_finding(rows, "driver", true, ray_takes_resources(plan)
               ? "runs on a node with the resources that it takes"
               : "takes no resources: it runs on the head node and sees all of its GPUs", NULL);
}

json_t *ray_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    json_t *rows = json_array();
    struct sw_error why = { 0 };

    (void)err;
    if (ray_check(plan, &why) < 0)
        sw_finding_error(rows, "job file", &why);
    if (check_token(conn, rows) && check_cluster(conn, rows)) {
        sw_rest_clock(ray_of(conn)->cloud.rest, rows);
        check_room(conn, rows, plan);
    }
    return rows;
}

/* ---- what is there -------------------------------------------------------------------------- */

static json_t *node_row(const json_t *node)
{
    const json_t *total = json_object_get(node, "resources_total");

    return sw_json_object(
        SW_STR_OPT("node", sw_json_str(node, "node_ip")), SW_STR_OPT("id", sw_json_str(node, "node_id")),
        SW_BOOL("head", sw_json_bool(node, "is_head_node", false)),
        SW_STR_OPT("state", sw_json_str(node, "state")),
        SW_SUB_COPY("gpus", json_object_get(total, "GPU")),
        SW_SUB_COPY("cpus", json_object_get(total, "CPU")),
        SW_SUB_COPY("memory_bytes", json_object_get(total, "memory")));
}

static json_t *resource_rows(const json_t *usage)
{
    json_t *rows = json_array(), *counts;
    const char *name;

    json_object_foreach((json_t *)usage, name, counts)
        if (!sw_text_starts(name, "node:"))
            json_array_append_new(rows, sw_json_object(
                SW_STR("resource", name), SW_SUB_COPY("used", json_array_get(counts, 0)),
                SW_SUB_COPY("total", json_array_get(counts, 1))));
    return rows;
}

json_t *ray_inventory(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *nodes = ray_nodes(conn, err), *version = NULL;
    sw_auto(json) json_t *usage = nodes ? ray_usage(conn, err) : NULL;
    json_t *rows, *node;
    size_t i;

    if (!usage || ray_call(conn, NULL, "/api/version", NULL, &version, err) < 0)
        return NULL;
    rows = json_array();
    json_array_foreach(nodes, i, node)
        json_array_append_new(rows, node_row(node));
    return sw_json_object(
        SW_STR("address", ray_of(conn)->address), SW_STR_OPT("version", sw_json_str(version, "ray_version")),
        SW_STR_OPT("session", sw_json_str(version, "session_name")), SW_SUB("nodes", rows),
        SW_SUB("resources", resource_rows(usage)));
}

/* The driver first, then the nodes of the cluster that its tasks may use. */
json_t *ray_replicas(struct sw_connection *conn, const struct sw_jobref *ref, struct sw_error *err)
{
    sw_auto(json) json_t *job = ray_get(conn, ray_name(ref->id, ref->attempt).text, err);
    sw_auto(json) json_t *nodes = job ? ray_nodes(conn, NULL) : NULL;
    struct sw_observation seen = { .job = *ref };
    json_t *rows, *node;
    size_t i;

    if (!job)
        return NULL;
    ray_read(job, &seen);
    rows = json_array();
    json_array_append_new(rows, sw_json_object(
        SW_INT("rank", 0), SW_STR_OPT("node", *seen.node ? seen.node : NULL),
        SW_STR("status", sw_state_name(seen.state)), SW_STR("role", "driver"),
        SW_STR_OPT("pid", sw_at_text(job, "driver_info.pid")),
        SW_SUB("exit_code", seen.exit_code == SW_NO_EXIT_CODE ? NULL : json_integer(seen.exit_code))));
    sw_observation_done(&seen);
    json_array_foreach(nodes, i, node)
        json_array_append_new(rows, sw_json_object(
            SW_INT("rank", (json_int_t)i + 1), SW_STR_OPT("node", sw_json_str(node, "node_ip")),
            SW_STR("status", sw_text_same(sw_json_str(node, "state"), "ALIVE") ? "Running" : "Error"),
            SW_STR("role", "node")));
    return rows;
}
