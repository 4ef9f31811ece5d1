/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_report.c - what a job needs, looked at one by one (preflight), and what the workspace has
 * (inventory).
 */
#include "platform/lepton/lepton_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/finding.h"

/* ---- preflight ------------------------------------------------------------------------------ */

static bool check_workspace(struct sw_connection *conn, json_t *rows, const struct sw_plan *plan)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *workspace = sw_cloud_fact(conn, "/workspace", true, &why);
    const char *state = sw_json_str(workspace, "workspace_state");
    const char *name = sw_json_str(workspace, "workspace_name");
    int64_t most = json_integer_value(sw_at(workspace, "resource_quota.limit.accelerator_num"));
    int64_t used = json_integer_value(sw_at(workspace, "resource_quota.used.accelerator_num")), wants;
    sw_autofree char *message = NULL, *gpus = NULL;

    if (!workspace && why.code == SW_E_NOT_FOUND)
        sw_hint(&why, "check LEPTON_WORKSPACE_ID; a new workspace takes some ten minutes");
    if (!workspace)
        return sw_finding_error(rows, "workspace", &why);
    message = sw_format("%s (%s) at %s: %s", name ? name : lepton_of(conn)->workspace,
                        lepton_of(conn)->workspace, lepton_of(conn)->url, state ? state : "no state");
    sw_finding(rows, "workspace", !state || strcmp(state, "normal") == 0, message,
               "a workspace that is paused or terminated runs nothing: ask who owns it");
    wants = (int64_t)plan->gpus * plan->nodes;
    gpus = sw_format("%lld of %lld GPUs in use, the job needs %lld", (long long)used, (long long)most,
                     (long long)wants);
    if (most > 0)
        sw_finding(rows, "quota", wants <= most, gpus, "ask for fewer GPUs or a larger quota");
    return true;
}

/* "ab...yz" is the beginning and the end of a token. */
static bool is_masked(const char *masked, const char *value)
{
    const char *dots = masked ? strstr(masked, "...") : NULL;

    return dots && strncmp(value, masked, (size_t)(dots - masked)) == 0 && sw_text_ends(value, dots + 3);
}

static void check_token(struct sw_connection *conn, json_t *rows)
{
    sw_auto(json) json_t *all = NULL;
    int64_t expires_ms = lepton_of(conn)->token_expires_ms, left_ms;
    char when[40], age[24];
    sw_autofree char *message = NULL;
    json_t *entry;
    size_t i;

    sw_cloud_call(conn, NULL, "/tokens", NULL, &all, NULL);
    json_array_foreach(all, i, entry) {                   /* it works: one that has expired is another one */
        int64_t at_ms = sw_json_int(entry, "expires_at", 0);

        if (lepton_of(conn)->token && at_ms > sw_now_ms() &&
            is_masked(sw_json_str(entry, "masked_value"), sw_secret_reveal(lepton_of(conn)->token)))
            expires_ms = at_ms;
    }
    if (expires_ms <= 0) {
        sw_finding(rows, "token", true, "works; its expiry is unknown", NULL);
        return;
    }
    left_ms = expires_ms - sw_now_ms();
    sw_time_format(expires_ms, when);
    sw_age_format(left_ms > 0 ? left_ms : -left_ms, age);
    message = sw_format(left_ms > 0 ? "expires in %s (%.16s)" : "expired %s ago (%.16s)", age, when);
    sw_finding(rows, "token", left_ms > 0, message, "create a new one in the dashboard (Settings, Tokens)");
}

static void check_site(struct sw_connection *conn, json_t *rows, const struct sw_plan *plan)
{
    sw_auto(lepton_site) struct lepton_site site = { 0 };
    sw_autofree char *group = NULL, *shape = NULL;
    struct sw_error why = { 0 };
    json_t *mount;
    size_t i;

    if (lepton_find_site(conn, plan, &site, &why) < 0) {
        sw_finding_error(rows, "node group, shape and mounts", &why);
        return;
    }
    group = site.group ? sw_format("%s", site.group) : sw_strdup("shared machines, which may be taken back");
    sw_finding(rows, "node group", true, group, NULL);
    shape = sw_format("%s (%s)", site.shape, site.arch);
    sw_finding(rows, "shape", true, shape, NULL);
    json_array_foreach(site.mounts, i, mount) {
        sw_autofree char *text = sw_format("%s%s at %s", sw_json_str(mount, "from"),
                                           sw_json_str(mount, "path"), sw_json_str(mount, "mount_path"));

        sw_finding(rows, "mount", true, text, NULL);
    }
}

json_t *lepton_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    json_t *rows = json_array();
    struct sw_error why = { 0 };

    (void)err;
    sw_facts_forget(sw_cloud_of(conn)->facts);
    if (!check_workspace(conn, rows, plan))
        return rows;
    sw_rest_clock(sw_cloud_of(conn)->rest, rows);
    check_token(conn, rows);
    if (lepton_check(plan, &why) < 0)
        sw_finding_error(rows, "job file", &why);
    check_site(conn, rows, plan);
    return rows;
}

/* ---- inventory ------------------------------------------------------------------------------ */

static json_t *shape_row(const json_t *shape)
{
    const json_t *spec = json_object_get(shape, "spec");

    return sw_json_object(
        SW_STR_OPT("shape", lepton_meta(shape, "id")),
        SW_SUB_COPY("gpus", json_object_get(spec, "accelerator_num")),
        SW_STR_OPT("gpu_type", sw_json_str(spec, "accelerator_type")),
        SW_SUB_COPY("cpus", json_object_get(spec, "cpu")),
        SW_INT("memory_bytes", sw_json_int(spec, "memory_in_mb", 0) * 1024 * 1024),
        SW_STR_OPT("node_group", sw_json_str(spec, "node_group_id")));
}

/* Free are those of nodes that take jobs. */
static void count_gpus(const json_t *nodes, int64_t *total, int64_t *free_gpus)
{
    json_t *node;
    size_t i;

    json_array_foreach(nodes, i, node) {
        const json_t *spec = json_object_get(node, "spec"), *gpu = sw_at(spec, "resource.gpu");
        int64_t has = sw_json_int(gpu, "total", 0), left = has - sw_json_int(gpu, "allocated", 0);

        *total += has;
        if (!sw_json_bool(spec, "unschedulable", false) && left > 0)
            *free_gpus += left;
    }
}

static json_t *group_row(struct sw_connection *conn, const json_t *group)
{
    const char *id = lepton_meta(group, "id"), *name = lepton_meta(group, "name");
    sw_autofree char *path = sw_rest_path("/dedicated-node-groups/%s/nodes", id ? id : "");
    sw_auto(json) json_t *nodes = sw_cloud_fact(conn, path, true, NULL);
    int64_t total = 0, free_gpus = 0;

    count_gpus(nodes, &total, &free_gpus);
    return sw_json_object(
        SW_STR("node_group", name ? name : id ? id : ""), SW_STR_OPT("id", id),
        SW_STR_OPT("gpu_type", sw_json_str(json_object_get(group, "spec"), "gpu_product")),
        SW_SUB_COPY("ready_nodes", sw_at(group, "status.ready_nodes")),
        SW_SUB("gpus_total", nodes ? json_integer(total) : NULL),
        SW_SUB("gpus_free", nodes ? json_integer(free_gpus) : NULL),
        SW_BOOL("quotas", sw_json_bool(json_object_get(group, "status"), "quota_enabled", false)));
}

static void add_volumes(struct sw_connection *conn, const json_t *group, json_t *rows)
{
    const char *id = lepton_meta(group, "id");
    json_t *volume;
    size_t i;

    json_array_foreach(sw_at(group, "spec.volumes"), i, volume) {
        const char *name = sw_json_str(volume, "name");
        sw_autofree char *start = sw_rest_path("/storage-permission/%s", name ? name : "");
        sw_autofree char *path = sw_format("%s?nodegroup_id=%s", start, id ? id : "");
        sw_auto(json) json_t *permissions = sw_cloud_fact(conn, path, true, NULL);
        json_t *paths = json_array(), *entry;
        size_t k;

        json_array_foreach(permissions, k, entry)
            json_array_append_new(paths, sw_json_text(sw_json_str(entry, "path_prefix")));
        json_array_append_new(rows, sw_json_object(
            SW_STR("volume", name ? name : ""), SW_STR_OPT("node_group", id),
            SW_STR_OPT("kind", sw_json_str(volume, "from")),
            SW_STR_OPT("source", sw_json_str(volume, "from_path")), SW_SUB("permitted", paths)));
    }
}

json_t *lepton_inventory(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *workspace = sw_cloud_fact(conn, "/workspace", true, err);
    sw_auto(json) json_t *groups = !workspace ? NULL
                                   : sw_cloud_fact(conn, "/dedicated-node-groups", true, err);
    sw_auto(json) json_t *shapes = groups ? sw_cloud_fact(conn, "/shapes?purpose=job", true, err) : NULL;
    json_t *group_rows = json_array(), *shape_rows = json_array(), *volumes = json_array(), *entry;
    size_t i;

    json_array_foreach(shapes, i, entry)
        json_array_append_new(shape_rows, shape_row(entry));
    json_array_foreach(groups, i, entry) {
        json_array_append_new(group_rows, group_row(conn, entry));
        add_volumes(conn, entry, volumes);
    }
    sw_auto(json) json_t *out = sw_json_object(
        SW_STR("workspace", lepton_of(conn)->workspace),
        SW_STR_OPT("state", sw_json_str(workspace, "workspace_state")),
        SW_SUB_COPY("gpu_quota", sw_at(workspace, "resource_quota.limit.accelerator_num")),
        SW_SUB_COPY("gpus_used", sw_at(workspace, "resource_quota.used.accelerator_num")),
        SW_SUB("node_groups", group_rows), SW_SUB("shapes", shape_rows), SW_SUB("volumes", volumes));
    return shapes ? sw_take(out) : NULL;
}
