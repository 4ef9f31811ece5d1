/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_report.c - what a job needs here, looked at one by one, and what there is: projects, quota,
 * pools, nodes.
 */
#include "platform/runai/runai_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/finding.h"

enum { ALIVE_WITHIN_MS = 10 * 60000 };

/* ---- preflight ------------------------------------------------------------------------------------- */

/* More than the quota may still run, when others leave theirs unused. */
static void check_quota(json_t *rows, const struct sw_plan *plan, const json_t *project)
{
    double quota = json_number_value(sw_at(project, "totalResources.gpuQuota"));
    double used = json_number_value(sw_at(project, "status.quotaStatus.allocated.gpu"));
    double portion = runai_job_options(plan->options).gpu_portion;
    double needs = plan->gpus * (portion > 0 ? portion : 1) * plan->nodes;
    const char *kind = runai_job_options(plan->options).preemptibility;
    bool fits = needs <= quota || needs == 0 || !sw_text_same(kind, "non-preemptible");
    bool beyond = needs > quota - used && fits && needs > 0;
    sw_autofree char *message = sw_format(
        "the job asks for %g GPU%s; the project's quota is %g, %g in use%s",
        needs, sw_text_plural(needs), quota, used,
        beyond ? ": beyond that it uses what others leave free" : "");

    sw_finding(rows, "quota", fits, message, "leave runai.preemptibility out, or ask for fewer GPUs");
}

static void check_cluster(json_t *rows, const json_t *clusters, const struct runai_site *site)
{
    const json_t *cluster = runai_find_cluster(clusters, site->cluster_id, NULL);
    const char *state = sw_at_text(cluster, "status.state");
    int64_t seen_ms = runai_time_ms(cluster, "lastLiveness");
    bool alive = state ? sw_text_same(state, "Connected") : sw_now_ms() - seen_ms < ALIVE_WITHIN_MS;
    sw_autofree char *message = sw_format("%s, version %s, %s", site->cluster_name,
        sw_json_str(cluster, "version") ? sw_json_str(cluster, "version") : "unknown",
        state ? state : "state unknown");

    sw_finding(rows, "cluster", alive, message, "its administrator must connect it again");
}

static void check_pools(json_t *rows, struct sw_connection *conn, const struct sw_plan *plan,
                        const struct runai_site *site)
{
    const json_t *wanted = runai_job_options(plan->options).node_pools;
    sw_autofree char *filter = sw_format("clusterId==%s", site->cluster_id);
    struct sw_error why = { 0 };
    sw_auto(json) json_t *pools = json_array_size(wanted)
                                      ? runai_list_all(conn, "/node-pools", "nodepools", filter, &why) : NULL;
    json_t *name;
    size_t i;

    if (json_array_size(wanted) && !pools)
        sw_finding_error(rows, "node pools", &why);
    json_array_foreach(pools ? wanted : NULL, i, name) {
        sw_autofree char *check = sw_format("node pool %s", json_string_value(name));
        const json_t *pool = sw_find(pools, "name", json_string_value(name));
        const char *phase = sw_json_str(pool, "phase");

        sw_finding(rows, check, pool != NULL, !pool ? "does not exist" : phase ? phase : "is there",
                   "`slipway inventory runai` lists them");
    }
}

static void check_logs(json_t *rows, struct sw_connection *conn, const struct sw_plan *plan,
                       const struct runai_site *site)
{
    sw_autofree char *store = runai_kept_uri(plan->outputs, plan->job_id);
    sw_autofree char *message = runai_of(conn)->kubeconfig
        ? sw_format("from the Kubernetes API of %s", runai_of(conn)->kubeconfig)
        : runai_of(conn)->kube_url ? sw_format("from the Kubernetes API at %s, if it takes run:ai's tokens",
                                     runai_of(conn)->kube_url)
        : store ? sw_format("from the results store, %s", store)
        : site->domain ? sw_format("from the Cluster API at %s, while a job runs", site->domain) : NULL;

    sw_finding(rows, "logs", message != NULL, message ? message : "no way to read them",
               "set runai.kubeconfig or runai.kube_apiserver_url, or let an output go to object storage");
}

json_t *runai_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    json_t *rows = json_array();
    struct sw_error why = { 0 };
    const struct runai_site *site;
    sw_autofree char *filter = sw_format("name==%s", runai_of(conn)->project ? runai_of(conn)->project : "");
    sw_auto(json) json_t *projects = NULL, *clusters = NULL;

    (void)err;
    if (sw_cloud_call(conn, NULL, "/clusters", NULL, &clusters, &why) < 0) {
        sw_finding_error(rows, "login", &why);
        return rows;
    }
    sw_finding(rows, "login", true, runai_of(conn)->account.legacy ? "as application" : "with an access key",
               NULL);
    sw_rest_clock(sw_cloud_of(conn)->rest, rows);
    site = runai_site(conn, &why);
    projects = site ? runai_list_all(conn, "/org-unit/projects", "projects", filter, &why) : NULL;
    if (!projects) {
        sw_finding_error(rows, "project", &why);
        return rows;
    }
    sw_finding(rows, "project", true, runai_of(conn)->project, NULL);
    check_cluster(rows, clusters, site);
    check_quota(rows, plan, runai_find_project(projects, runai_of(conn)->project, site->cluster_id, NULL));
    check_pools(rows, conn, plan, site);
    check_logs(rows, conn, plan, site);
    if (runai_preflight(conn, plan, &why) < 0)
        sw_finding_error(rows, "job", &why);
    return rows;
}

/* ---- inventory ------------------------------------------------------------------------------------- */

static json_t *project_rows(const json_t *projects)
{
    json_t *rows = json_array(), *one;
    size_t i;

    json_array_foreach((json_t *)projects, i, one)
        json_array_append_new(rows, sw_json_object(
            SW_STR("project", sw_json_str(one, "name")), SW_STR_OPT("cluster", sw_json_str(one, "clusterId")),
            SW_SUB_COPY("gpu_quota", sw_at(one, "totalResources.gpuQuota")),
            SW_SUB_COPY("gpus_used", sw_at(one, "status.quotaStatus.allocated.gpu"))));
    return rows;
}

static json_t *pool_rows(const json_t *pools)
{
    json_t *rows = json_array(), *one;
    size_t i;

    json_array_foreach((json_t *)pools, i, one)
        json_array_append_new(rows, sw_json_object(
            SW_STR("node_pool", sw_json_str(one, "name")), SW_STR_OPT("state", sw_json_str(one, "phase")),
            SW_INT("nodes", (json_int_t)json_array_size(sw_at(one, "status.nodes")))));
    return rows;
}

static json_t *node_rows(const json_t *nodes, int64_t *gpus)
{
    json_t *rows = json_array(), *one;
    size_t i;

    json_array_foreach((json_t *)nodes, i, one) {
        int64_t count = sw_json_int(json_object_get(one, "gpuInfo"), "gpuCount", 0);

        *gpus += count;
        json_array_append_new(rows, sw_json_object(
            SW_STR("node", sw_json_str(one, "name")), SW_STR_OPT("state", sw_json_str(one, "status")),
            SW_STR_OPT("node_pool", sw_json_str(one, "nodePool")),
            SW_STR_OPT("gpu_type", sw_json_str(json_object_get(one, "gpuInfo"), "gpuType")),
            SW_INT("gpus_total", count)));
    }
    return rows;
}

/* Every project that the account sees, and the cluster of ours, where one is named. What may not be
 * listed stays out. */
json_t *runai_inventory(struct sw_connection *conn, struct sw_error *err)
{
    sw_auto(json) json_t *projects = runai_list_all(conn, "/org-unit/projects", "projects", NULL, err);
    const struct runai_site *site = projects && runai_of(conn)->project ? runai_site(conn, NULL) : NULL;
    sw_autofree char *filter = site ? sw_format("clusterId==%s", site->cluster_id) : NULL;
    sw_autofree char *path = site ? sw_rest_path("/clusters/%s/nodes", site->cluster_id)
               : sw_strdup("/nodes");
    sw_auto(json) json_t *pools = NULL, *nodes = NULL, *out = NULL;
    int64_t gpus = 0;

    if (!projects)
        return NULL;
    pools = runai_list_all(conn, "/node-pools", "nodepools", filter, NULL);
    nodes = runai_list_all(conn, path, "nodes", NULL, NULL);
    out = sw_json_object(SW_STR("server", runai_of(conn)->url),
                         SW_STR_OPT("project", runai_of(conn)->project),
                         SW_STR_OPT("cluster", site ? site->cluster_name : NULL),
                         SW_SUB("projects", project_rows(projects)));
    if (pools)
        json_object_set_new(out, "node_pools", pool_rows(pools));
    if (nodes)
        json_object_set_new(out, "nodes", node_rows(nodes, &gpus));
    json_object_set_new(out, "gpus_total", json_integer(gpus));
    return sw_take(out);
}
