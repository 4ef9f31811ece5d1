/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker.c - containers of a Docker engine, here or elsewhere: the descriptor, its options, and the
 * connection.
 *
 * Real engine, no docker program, nothing shelled out. Everything about a job is on the engine and
 * carries its id; this machine only keeps a copy of its log. Follow submit in docker_submit.c.
 */
#include "platform/docker/docker_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "net/ssh_options.h"
#include "platform/kit/log.h"

static const char *const docker_variables[] = {
    "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY",
    "DOCKER_TLS", "DOCKER_REGISTRY", NULL
};

static const struct sw_credential docker_credentials[] = {
    { "NGC_KEY", false, "for images of nvcr.io, when docker has no login for it" },
    { "DOCKER_USERNAME", false, "with DOCKER_PASSWORD, for other registries" },
    { "DOCKER_PASSWORD", false, "see DOCKER_USERNAME" },
    { 0 }
};

/* ---- the connection -------------------------------------------------------------------------- */

static void docker_close(struct sw_connection *closing)
{
    struct docker_connection *conn = docker_of(closing);

    if (!conn)
        return;
    sw_watch_close(conn->events);
    sw_log_spools_close(conn->spools);
    docker_pool_free(conn->pool);
    docker_endpoint_done(&conn->endpoint);
    free(conn->state_dir);
    free(conn->root);
    free(conn);
}

static struct sw_connection *docker_open(const struct sw_connect_options *config, struct sw_error *err)
{
    sw_autofree char *warning = NULL;
    struct docker_connection *conn;

    if (!config->state_dir) {
        sw_fail(err, SW_E_USAGE, "the docker platform needs a state folder");
        return NULL;
    }
    conn = sw_new(struct docker_connection);
    conn->pool = docker_pool_new(&conn->endpoint);
    conn->state_dir = sw_path_absolute(config->state_dir, NULL);
    conn->root = sw_path_join(conn->state_dir, "docker");
    conn->spools = sw_log_spools_open(conn->root);
    conn->warn = config->warn;
    conn->warn_context = config->warn_context;
    conn->progress = config->progress;
    conn->progress_context = config->progress_context;
    conn->endpoint.env = config->env;
    conn->endpoint.env_context = config->env_context;
    if (docker_endpoint_find(config->options, &conn->endpoint, err) < 0) {
        docker_close((struct sw_connection *)conn);
        return NULL;
    }
    conn->endpoint.state_dir = sw_strdup(conn->state_dir);
    conn->events = docker_events_open(&conn->endpoint);
    warning = docker_endpoint_warning(&conn->endpoint);
    if (warning && conn->warn)
        conn->warn(conn->warn_context, warning);
    return (struct sw_connection *)conn;
}

static void docker_place(struct sw_connection *conn, struct sw_place *out)
{
    const struct docker_endpoint *endpoint = &docker_of(conn)->endpoint;
    sw_auto(json) json_t *way = docker_endpoint_options(endpoint);

    out->address = sw_strdup(endpoint->text);
    out->options = sw_connection_options(docker_options, endpoint->options);
    json_object_del(out->options, "context");
    json_object_update(out->options, way);
    sw_ssh_options_settle(out->options);
}

/* The id that the engine gave itself and where it keeps its things, since engines of one machine may share
 * an id; then the name of its machine. Podman makes a new id for every answer. */
static int docker_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    sw_auto(docker_lent) struct docker_api *api = docker_borrow(conn, err);
    sw_auto(json) json_t *info = docker_get(api, sw_rest_path("/info"), err);
    const char *id = sw_json_str(info, "ID"), *name = sw_json_str(info, "Name");
    const char *root = sw_json_str(info, "DockerRootDir");

    if (!info)
        return -1;
    if (sw_text_empty(id))
        return 0;
    sw_buf_addf(identity, "%.200s@%.1000s", id, root ? root : "");
    for (char *at = identity->data; (at = strpbrk(at, " \n"));)
        *at = '_';                                  /* the first word is compared */
    sw_buf_addf(identity, " %.200s", name ? name : "");
    return 0;
}

/* A container has a network of its own unless the job says otherwise. */
static bool docker_sees_loopback(struct sw_connection *conn, const struct sw_plan *plan)
{
    return sw_text_same(docker_job_options(plan->options).network, "host") && docker_is_local(conn);
}

char *docker_job_folder(const struct sw_connection *conn, const char *id)
{
    return sw_path_join(docker_of(conn)->root, id);
}

static struct sw_log_spools *docker_log_spools(struct sw_connection *conn)
{
    return docker_of(conn)->spools;
}

const struct sw_platform sw_platform_docker = {
    .name = "docker",
    .collects = true,
    .summary = "containers of a Docker engine, here or on another machine",
    .options = docker_options,
    .credentials = docker_credentials,
    .shares = true,
    .queues = true,
    .variables = docker_variables,
    .open = docker_open,
    .close = docker_close,
    .place = docker_place,
    .identify = docker_identify,
    .sees_loopback = docker_sees_loopback,
    .render = docker_render,
    .preflight = docker_preflight,
    .preflight_report = docker_preflight_report,
    .submit = docker_submit,
    .observe = docker_observe,
    .reconcile = docker_reconcile,
    .wake_fd = docker_wake_fd,
    .log_fetch = docker_log_fetch,
    .log_spools = docker_log_spools,
    .cancel = docker_cancel,
    .cleanup = docker_cleanup,
    .finalize = docker_finalize,
    .replicas = docker_replicas,
    .evidence = docker_evidence,
    .results_dir = docker_results_dir,
    .check_path = docker_check_path,
    .list_path = docker_list_path,
    .adopt = docker_adopt,
    .jobs = docker_jobs,
    .terminals = true,
    .exec_open = docker_exec_open,
    .port_open = docker_port_open,
    .orphans = docker_orphans,
    .inventory = docker_inventory,
};
