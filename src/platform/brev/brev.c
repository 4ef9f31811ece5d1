/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev.c - machines of NVIDIA Brev: the descriptor, the connection, and questions about one job, which go to
 * the Docker engine of its instance.
 */
#include "platform/brev/brev_internal.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "platform/kit/log.h"

/* Those that begin with BREV_ are read by the brev program itself: a watcher must have them, too. */
static const char *const brev_variables[] = {
    "HOME", "DOCKER_CONFIG", "BREV_API_URL", "BREV_PUBLIC_API_URL", "BREV_GRPC_URL", "BREV_AUTH_URL",
    "BREV_AUTH_ISSUER_URL", "BREV_CONSOLE_URL", NULL
};

static const struct sw_credential brev_credentials[] = {
    { "BREV_API_TOKEN", false, "for a separate login; without it that of `brev login` is used" },
    { "NGC_KEY", false, "for images of nvcr.io, when docker has no login for it" },
    { "DOCKER_USERNAME", false, "with DOCKER_PASSWORD, for other registries" },
    { "DOCKER_PASSWORD", false, "see DOCKER_USERNAME" },
    { 0 }
};

/* ---- the connection ------------------------------------------------------------------------------ */

static void brev_close(struct sw_connection *closing)
{
    struct brev_connection *conn = brev_of(closing);

    if (!conn)
        return;
    sw_log_spools_close(conn->spools);               /* its open streams are the engines' */
    for (size_t i = 0; i < conn->engine_count; i++) {
        brev_engine_close(conn->engines[i].docker);
        free(conn->engines[i].id);
    }
    free(conn->engines);
    sw_secret_free(conn->token);
    json_decref(conn->types[0]);
    json_decref(conn->types[1]);
    json_decref(conn->list);
    json_decref(conn->organization);
    json_decref(conn->options);
    free(conn->login);
    free(conn->home);
    free(conn->folder);
    free(conn->state_dir);
    pthread_mutex_destroy(&conn->lock);
    free(conn);
}

static struct sw_connection *brev_open(const struct sw_connect_options *config, struct sw_error *err)
{
    sw_autofree char *copies = NULL;
    struct brev_connection *conn;

    if (!config->state_dir)
        return sw_null(sw_fail(err, SW_E_USAGE, "the brev platform needs a state folder"));
    conn = sw_new(struct brev_connection);
    pthread_mutex_init(&conn->lock, NULL);
    conn->options = config->options ? json_deep_copy(config->options) : json_object();
    conn->with = brev_connect_options(conn->options);
    conn->state_dir = sw_path_absolute(config->state_dir, NULL);
    conn->folder = sw_path_join(conn->state_dir, "brev");
    conn->config = *config;
    conn->config.state_dir = conn->state_dir;
    conn->config.options = NULL;
    copies = sw_path_join(conn->state_dir, "docker");
    conn->spools = sw_log_spools_open(copies);
    if (brev_login_find(conn, err) < 0) {
        brev_close((struct sw_connection *)conn);
        return NULL;
    }
    return (struct sw_connection *)conn;
}

static void brev_place(struct sw_connection *on, struct sw_place *out)
{
    const struct brev_connection *conn = brev_of(on);

    out->address = sw_format("brev://%s%s%s", conn->login, conn->with.organization ? "/" : "",
                             conn->with.organization ? conn->with.organization : "");
    out->options = sw_connection_options(brev_options, conn->options);
    json_object_set_new(out->options, "login", sw_json_text(conn->login));
}

/* The organisation: all of its instances are in one list. */
static int brev_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    sw_auto(json) json_t *organization = brev_organization(brev_of(conn), err);
    const char *name = sw_json_str(organization, "name");

    if (!organization)
        return -1;
    sw_buf_add(identity, sw_json_str(organization, "id"));
    if (name)
        sw_buf_addf(identity, " %s", name);
    return 0;
}

static struct sw_log_spools *brev_log_spools(struct sw_connection *conn)
{
    return brev_of(conn)->spools;
}

/* ---- what would be sent -------------------------------------------------------------------------- */

/* Which instance it would be. Types that are not named are chosen from what is offered then. */
static char *render_instance(const struct sw_plan *plan)
{
    const struct brev_job_options options = brev_job_options(plan->options);
    sw_autofree char *types = sw_json_joined(options.types, ",");
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    char name[BREV_NAME_SIZE];

    if (options.instance_id)
        return sw_format("the instance %s\n", options.instance_id);
    if (options.pool)
        sw_buf_addf(&out, "an instance whose name begins with %s, or a new one:\n", options.pool);
    brev_name(name, brev_prefix(&options), plan->job_id, plan->store_id, 1);
    sw_buf_addf(&out, "brev create %s --type %s --detached\n", name, *types ? types : "TYPES");
    if (!*types)
        sw_buf_addf(&out, "TYPES: the cheapest with %d GPU%s%s%s\n", brev_plan_gpus(plan),
                    sw_text_plural(brev_plan_gpus(plan)), plan->gpu_type ? " of type " : "",
                    plan->gpu_type ? plan->gpu_type : "");
    return sw_buf_steal(&out);
}

static json_t *brev_render(struct sw_connection *on, const struct sw_plan *plan, struct sw_error *err)
{
    struct sw_connect_options config = brev_of(on)->config;
    sw_auto(json) json_t *way = sw_json_object(SW_STR("host", "ssh://instance"));
    sw_autofree char *text = render_instance(plan);
    struct sw_connection *docker;
    json_t *sends;

    config.options = way;
    docker = sw_platform_docker.open(&config, err);
    sends = docker ? docker_render(docker, plan, err) : NULL;
    sw_platform_docker.close(docker);
    if (sends)
        json_array_insert_new(sends, 0, sw_json_object(SW_STR("what", "instance"), SW_STR("text", text)));
    return sends;
}

/* ---- one job ------------------------------------------------------------------------------------- */

/* Asks the job's engine by `call`, which uses `docker` and `why`; what cannot be asked is looked into. */
#define ASK(conn, job, result, failed, call)                                                          \
    struct sw_error why = { 0 };                                                                      \
    struct sw_connection *docker = brev_engine_of(brev_of(conn), job, &why);                           \
    __typeof__(call) result = docker ? (call) : (failed);                                             \
    if (result == (failed))                                                                           \
        brev_engine_doubt(brev_of(conn), job, &why, err);                                             \
    return result

static int brev_log_fetch(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                          struct sw_log_cursor *cursor, const struct sw_log_sink *sink, struct sw_error *err)
{
    ASK(conn, job, got, -1, docker_log_fetch(docker, job, replica, cursor, sink, &why));
}

static json_t *brev_replicas(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    ASK(conn, job, rows, NULL, docker_replicas(docker, job, &why));
}

static int brev_exec_open(struct sw_connection *conn, const struct sw_jobref *job, const struct sw_exec *what,
                          struct sw_stream **out, struct sw_error *err)
{
    ASK(conn, job, got, -1, docker_exec_open(docker, job, what, out, &why));
}

static int brev_port_open(struct sw_connection *conn, const struct sw_jobref *job, int replica, int port,
                          struct sw_stream **out, struct sw_error *err)
{
    ASK(conn, job, got, -1, docker_port_open(docker, job, replica, port, out, &why));
}

/* What was brought here before its instance was deleted is still here. */
static char *brev_results_dir(struct sw_connection *conn, const struct sw_jobref *job, struct sw_error *err)
{
    sw_autofree char *folder = sw_format("%s/docker/%s", brev_of(conn)->state_dir, job->id);
    sw_autofree char *brought = sw_format("%s/brought-%d", folder, job->attempt);

    if (sw_file_exists(brought))
        return sw_path_join(folder, "results");
    ASK(conn, job, path, NULL, docker_results_dir(docker, job, &why));
}

/* ---- paths --------------------------------------------------------------------------------------- */

/* No job is named: the instance that the options name. */
static struct sw_connection *named_engine(struct brev_connection *conn, struct sw_error *err)
{
    const char *wanted = brev_job_options(conn->options).instance_id;
    sw_auto(json) json_t *list = wanted ? brev_list(conn, BREV_NOW, err) : NULL;
    const json_t *found = brev_find(list, wanted);

    if (!wanted) {
        sw_fail(err, SW_E_UNSUPPORTED, "no instance is given");
        sw_hint(err, "name it: BREV_INSTANCE_ID, or instance_id in the profile");
    } else if (list && !found) {
        sw_fail(err, SW_E_NOT_FOUND, "Brev has no instance '%s'", wanted);
    }
    return found ? brev_engine_at(conn, found, err) : NULL;
}

static int brev_check_path(struct sw_connection *conn, const char *path, bool *exists, struct sw_error *err)
{
    struct sw_connection *docker = named_engine(brev_of(conn), err);

    return docker ? docker_check_path(docker, path, exists, err) : -1;
}

static json_t *brev_list_path(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    struct sw_connection *docker = named_engine(brev_of(conn), err);

    return docker ? docker_list_path(docker, path, err) : NULL;
}

const struct sw_platform sw_platform_brev = {
    .name = "brev",
    .summary = "NVIDIA Brev machines, created when needed; jobs run there in Docker",
    .options = brev_options,
    .credentials = brev_credentials,
    .variables = brev_variables,
    .collects = true,
    .shares = true,
    .queues = true,
    .open = brev_open,
    .close = brev_close,
    .place = brev_place,
    .identify = brev_identify,
    .render = brev_render,
    .preflight = brev_preflight,
    .preflight_report = brev_preflight_report,
    .submit = brev_submit,
    .observe = brev_observe,
    .reconcile = brev_reconcile,
    .log_fetch = brev_log_fetch,
    .log_spools = brev_log_spools,
    .cancel = brev_cancel,
    .cleanup = brev_cleanup,
    .finalize = brev_finalize,
    .replicas = brev_replicas,
    .evidence = brev_evidence,
    .results_dir = brev_results_dir,
    .check_path = brev_check_path,
    .list_path = brev_list_path,
    .adopt = brev_adopt,
    .jobs = brev_jobs,
    .terminals = true,
    .exec_open = brev_exec_open,
    .port_open = brev_port_open,
    .orphans = brev_orphans,
    .inventory = brev_inventory,
};
