/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_site.c - project and cluster, as the user names them, become the ids that every request needs.
 *
 * The cluster is the project's own. Where several clusters have a project of the same name, `cluster`
 * decides; nothing is ever chosen silently.
 */
#include "platform/runai/runai_internal.h"

#include <stdlib.h>

#include "base/text.h"

enum { PAGE = 500 };

void runai_site_free(struct runai_site *site)
{
    if (!site)
        return;
    free(site->project_id);
    free(site->namespace);
    free(site->cluster_id);
    free(site->cluster_name);
    free(site->domain);
    free(site);
}

json_t *runai_list_all(struct sw_connection *conn, const char *path, const char *items, const char *filter,
                       struct sw_error *err)
{
    const struct sw_rest_pair query[] = { { "filterBy", filter }, { "limit", "500" }, { 0 } };
    const struct sw_rest_call call = { .path = path, .query = query, .repeatable = true };
    const struct sw_rest_pages pages = { .items = items, .parameter = "offset", .full = PAGE };

    return sw_cloud_list(conn, &call, &pages, err);
}

/* ---- by name, pure --------------------------------------------------------------------------------- */

const json_t *runai_find_project(const json_t *projects, const char *name, const char *cluster_id,
                                 struct sw_error *err)
{
    const json_t *found = NULL;
    size_t i;
    json_t *one;

    json_array_foreach((json_t *)projects, i, one) {
        if (!sw_text_same(sw_json_str(one, "name"), name) ||
            (cluster_id && !sw_text_same(sw_json_str(one, "clusterId"), cluster_id)))
            continue;
        if (found) {
            sw_fail(err, SW_E_SPEC, "runai.project_name: several clusters have a project '%.80s'", name);
            sw_hint(err, "choose one with runai.cluster");
            return NULL;
        }
        found = one;
    }
    if (!found) {
        sw_fail(err, SW_E_NOT_FOUND, "runai.project_name: this access key sees no project '%.80s'%s", name,
                cluster_id ? " in that cluster" : "");
        sw_hint(err, "`slipway inventory runai` lists those it sees");
    }
    return found;
}

const json_t *runai_find_cluster(const json_t *clusters, const char *wanted, struct sw_error *err)
{
    const json_t *found = sw_find(clusters, "uuid", wanted);

    found = found ? found : sw_find(clusters, "name", wanted);
    if (!found)
        sw_fail(err, SW_E_NOT_FOUND, "runai.cluster: run:ai has no cluster '%.80s'", wanted);
    return found;
}

/* ---- asked ----------------------------------------------------------------------------------------- */

static char *id_of(const json_t *project)
{
    const json_t *id = json_object_get(project, "id");

    return json_is_integer(id) ? sw_format("%lld", (long long)json_integer_value(id))
                               : sw_strdup(json_string_value(id));
}

static struct runai_site *look_up(struct sw_connection *conn, struct sw_error *err)
{
    sw_autofree char *filter = sw_format("name==%s", runai_of(conn)->project);
    sw_auto(json) json_t *projects = runai_list_all(conn, "/org-unit/projects", "projects", filter, err);
    sw_auto(json) json_t *clusters = NULL;
    const json_t *project, *cluster = NULL;
    struct runai_site *site;

    if (!projects || sw_cloud_call(conn, NULL, "/clusters", NULL, &clusters, err) < 0 ||
        (runai_of(conn)->cluster && !(cluster = runai_find_cluster(clusters, runai_of(conn)->cluster, err))))
        return NULL;
    project = runai_find_project(projects, runai_of(conn)->project, sw_json_str(cluster, "uuid"), err);
    if (!project)
        return NULL;
    if (!cluster && !(cluster = runai_find_cluster(clusters, sw_json_str(project, "clusterId"), err)))
        return NULL;
    site = sw_new(struct runai_site);
    site->project_id = id_of(project);
    site->namespace = sw_strdup(sw_json_str(json_object_get(project, "status"), "namespace"));
    site->cluster_id = sw_strdup(sw_json_str(cluster, "uuid"));
    site->cluster_name = sw_strdup(sw_json_str(cluster, "name"));
    site->domain = sw_strdup(sw_json_str(cluster, "domain"));
    if (!site->namespace)
        site->namespace = sw_format("runai-%s", runai_of(conn)->project);
    if (site->project_id && site->cluster_id && site->cluster_name)
        return site;
    runai_site_free(site);
    sw_fail(err, SW_E_UNREACHABLE, "run:ai lists project '%.80s' or its cluster without an id",
            runai_of(conn)->project);
    return NULL;
}

const struct runai_site *runai_site(struct sw_connection *conn, struct sw_error *err)
{
    const struct runai_site *site;

    if (!runai_of(conn)->project) {
        sw_fail(err, SW_E_SPEC, "runai.project_name: no project is configured");
        sw_hint(err, "name it in your profile, in the job file or in RUNAI_PROJECT");
        return NULL;
    }
    pthread_mutex_lock(&runai_of(conn)->lock);
    if (!runai_of(conn)->site)
        runai_of(conn)->site = look_up(conn, err);
    site = runai_of(conn)->site;
    pthread_mutex_unlock(&runai_of(conn)->lock);
    return site;
}
