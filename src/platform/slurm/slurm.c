/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm.c - a Slurm cluster as a place where jobs run: the descriptor and the connection.
 *
 * Everything is a script that goes down one held shell (net/ssh.h) on the login node, or on this
 * machine when it is the login node. Follow a job in slurm_submit.c, then slurm_batch.c, then
 * slurm_observe.c.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "net/ssh_options.h"

extern const struct sw_platform sw_platform_slurm;

enum {
    BUSY = 75,                       /* EX_TEMPFAIL: our scripts' word for "ask again" */
    SAID = 300,
};

static const struct sw_credential slurm_credentials[] = {
    { "SSH_KEY_PATH", false, "private key file for the login host; the ssh agent is used too" },
    { NULL, false, NULL },
};

static const char *const slurm_variables[] = {
    "SSH_HOST", "SSH_USER", "DOCKER_REGISTRY", "DOCKER_USERNAME", "DOCKER_PASSWORD", NULL
};

/* The names of the Python SDK's second spelling. */
static const char *or_variable(const char *said, const struct sw_connect_options *config,
                               const char *variable)
{
    const char *value = config->env ? config->env(config->env_context, variable)
                                    : getenv(variable);

    return !sw_text_empty(said) ? said : sw_text_empty(value) ? NULL : value;
}

/* What was found out is kept among the options, so that they lead here again. */
static json_t *settled_options(const struct sw_connect_options *config,
                               const struct sw_ssh_options *way)
{
    json_t *options = config->options ? json_deep_copy(config->options) : json_object();

    if (!way->local) {
        json_object_set_new(options, "hostname", sw_json_text(way->hosts));
        json_object_set_new(options, "user", sw_json_text(way->user ? way->user : ""));
    }
    return options;
}

static struct sw_connection *connection_new(const struct sw_connect_options *config,
                                            const struct sw_ssh_options *way, struct sw_ssh *ssh)
{
    struct slurm_connection *slurm = sw_new(struct slurm_connection);

    slurm->ssh = ssh;
    slurm->twin = sw_ssh_twin(ssh);
    slurm->documents = settled_options(config, way);
    sw_options_fill(slurm_options, slurm->documents, SW_CONNECTION, &slurm->options, NULL);
    slurm->state_dir = sw_strdup(config->state_dir);
    slurm->warn = config->warn;
    slurm->warn_context = config->warn_context;
    slurm->env = config->env ? config->env : sw_env_process;
    slurm->env_context = config->env_context;
    pthread_mutex_init(&slurm->lock, NULL);
    pthread_mutex_init(&slurm->lending, NULL);
    return (struct sw_connection *)slurm;
}

static struct sw_connection *slurm_open(const struct sw_connect_options *config, struct sw_error *err)
{
    struct slurm_connect_options said = { 0 };
    struct sw_ssh_options *way = &said.ssh;
    sw_autofree char *hosts = NULL;
    struct sw_ssh *ssh;

    if (sw_options_fill(slurm_options, config->options, SW_CONNECTION, &said, err) < 0)
        return NULL;
    hosts = slurm_joined(said.hostname);
    way->state_dir = config->state_dir;
    way->hosts = or_variable(hosts, config, "SSH_HOST");
    /* A row that names no user means none, whatever is exported today. */
    way->user = said.user && !*said.user ? NULL : or_variable(said.user, config, "SSH_USER");
    way->port = said.port;
    way->local = said.transport == SLURM_LOCAL;
    way->borrow = config->borrow;
    way->borrow_context = config->borrow_context;
    if (!way->local && !way->hosts) {
        sw_fail(err, SW_E_SPEC, "no login host is configured");
        sw_hint(err, "set SLURM_HOSTNAME and SLURM_USER (or slurm.hostname, slurm.user), or "
                     "`transport: local` on the login node itself");
        return NULL;
    }
    ssh = sw_ssh_open(way, err);
    return ssh ? connection_new(config, way, ssh) : NULL;
}

static void slurm_place(struct sw_connection *conn, struct sw_place *out)
{
    const struct slurm_connection *slurm = slurm_of(conn);
    const char *user = slurm->options.user;
    sw_autofree char *hosts = slurm_joined(slurm->options.hostname);
    sw_auto(sw_buf) struct sw_buf address = SW_BUF_INIT;

    out->options = sw_connection_options(slurm_options, slurm->documents);
    sw_ssh_options_settle(out->options);
    if (slurm->options.transport == SLURM_LOCAL) {
        out->address = sw_format("local://%s", sw_ssh_host(slurm->ssh));
        return;
    }
    sw_buf_addf(&address, "ssh://%s%s%s", user, *user ? "@" : "", hosts);
    if (slurm->options.port > 0)
        sw_buf_addf(&address, ":%d", slurm->options.port);
    out->address = sw_buf_steal(&address);
}

static void slurm_close(struct sw_connection *conn)
{
    struct slurm_connection *slurm = slurm_of(conn);

    if (!slurm)
        return;
    sw_ssh_close(slurm->ssh);
    sw_ssh_close(slurm->twin);
    pthread_mutex_destroy(&slurm->lock);
    pthread_mutex_destroy(&slurm->lending);
    json_decref(slurm->documents);
    free(slurm->state_dir);
    free(slurm->identity);
    free(slurm->identity_of);
    free(slurm->safe_base);
    free(slurm->allowed_in);
    slurm_times_free(slurm->times);
    free(slurm);
}

/* ---- calls ----------------------------------------------------------------------------------------- */

int slurm_call(struct sw_connection *conn, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
               struct sw_error *err)
{
    struct slurm_connection *slurm = slurm_of(conn);
    int result;

    pthread_mutex_lock(&slurm->lock);
    result = sw_ssh_run(slurm->ssh, call, reply, err);
    pthread_mutex_unlock(&slurm->lock);
    if (result == 0)
        slurm->answered_ms = sw_monotonic_ms();
    return result;
}

int slurm_ask(struct sw_connection *conn, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
              struct sw_error *err)
{
    struct sw_ssh_call filled = *call;
    int result;

    filled.output_limit = call->output_limit ? call->output_limit : (size_t)64 << 20;
    filled.timeout_ms = call->timeout_ms ? call->timeout_ms : 120000;
    result = slurm_call(conn, &filled, reply, err);
    if (result == 0 && reply->exit_code == BUSY)
        return sw_fail(err, SW_E_UNREACHABLE, "Slurm does not answer on %s: %.*s",
                       sw_ssh_host(slurm_of(conn)->ssh), SAID, sw_buf_text(&reply->errors));
    return result;
}

int slurm_read(struct sw_connection *conn, const char *script, struct sw_ssh_reply *reply,
               struct sw_error *err)
{
    return slurm_ask(conn, &(struct sw_ssh_call){ .script = script, .repeatable = true }, reply, err);
}

int slurm_inspect(struct sw_connection *conn, const char *question, const char *name, const char *value,
                  struct sw_ssh_reply *reply, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;

    slurm_text_add(&script, SLURM_TEXT_COMMON);
    slurm_text_add(&script, SLURM_TEXT_INSPECT);
    if (name)
        slurm_set(&script, name, value);
    sw_buf_addf(&script, "%s\n", question);
    return slurm_read(conn, script.data, reply, err);
}

int64_t slurm_timeout(int64_t most_ms, int64_t deadline_ms)
{
    int64_t left_ms = deadline_ms - sw_monotonic_ms();

    return deadline_ms == SW_NO_DEADLINE || left_ms > most_ms ? most_ms : left_ms > 0 ? left_ms : 1;
}

/* ---- which cluster ------------------------------------------------------------------------------------ */

/* "cluster@first,second" from the records; NULL: they name none. Owned. */
static char *identity_in(struct sw_buf *answer)
{
    struct slurm_records records = slurm_records_of(answer);
    struct slurm_record record;
    const char *name = NULL;
    sw_auto(sw_buf) struct sw_buf hosts = SW_BUF_INIT;

    while (slurm_record_next(&records, &record)) {
        char *text = record.rest;

        text[strcspn(text, " \t(")] = '\0';                 /* "host(address)" */
        if (sw_text_same(record.kind, "cluster") && !name)
            name = text;
        else if (sw_text_same(record.kind, "host") && *text)
            sw_buf_addf(&hosts, "%s%s", hosts.length ? "," : "", text);
    }
    return sw_text_empty(name) ? NULL : sw_format("%.200s@%.1000s", name, sw_buf_text(&hosts));
}

static void remember_identity(struct slurm_connection *slurm, const char *identity)
{
    pthread_mutex_lock(&slurm->lock);
    free(slurm->identity);
    free(slurm->identity_of);
    slurm->identity = sw_strdup(identity);
    slurm->identity_of = sw_strdup(sw_ssh_host(slurm->ssh));
    pthread_mutex_unlock(&slurm->lock);
}

/* Asked once per login host in use: each of them could lead to another cluster. */
int slurm_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    struct slurm_connection *slurm = slurm_of(conn);
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    sw_autofree char *found = NULL;
    bool known;

    pthread_mutex_lock(&slurm->lock);
    slurm_borrow(slurm);
    known = slurm->identity && sw_text_same(slurm->identity_of, sw_ssh_host(slurm->ssh));
    if (known)
        sw_buf_add(identity, slurm->identity);
    pthread_mutex_unlock(&slurm->lock);
    if (known)
        return 0;
    if (slurm_inspect(conn, "inspect_identity", NULL, NULL, &reply, err) < 0)
        return -1;
    found = reply.exit_code == 0 ? identity_in(&reply.output) : NULL;
    if (!found)
        return sw_fail(err, SW_E_UNREACHABLE, "cannot determine which cluster %s belongs to: %.300s",
                       sw_ssh_host(slurm->ssh), sw_buf_text(&reply.errors));
    for (char *at = found; (at = strpbrk(at, " \t|"));)
        *at = '_';                                   /* the first word is compared */
    sw_buf_addf(identity, "%s %.*s", found, (int)strcspn(found, "@"), found);
    remember_identity(slurm, sw_buf_text(identity));
    return 0;
}

/* ---- jobs --------------------------------------------------------------------------------------------- */

int slurm_job_of(struct sw_connection *conn, const struct sw_plan *plan, int attempt, struct slurm_job *job,
                 struct sw_error *err)
{
    struct slurm_connect_options own = { 0 };

    sw_options_fill(slurm_options, plan->options, SW_CONNECTION, &own, NULL);
    return slurm_job_init(job, plan, own.base_dir ? own.base_dir : slurm_of(conn)->options.base_dir,
                          own.job_name_prefix, attempt, err);
}

bool slurm_is_array(const struct sw_jobref *job)
{
    struct slurm_job_options options;

    slurm_job_options_fill(json_object_get(job->plan, "options"), &options, NULL);
    return options.array != NULL;
}

/* A job that tries again by itself stays in the folders of the attempt it was submitted as. */
int slurm_submitted_as(const struct sw_jobref *job)
{
    return (int)sw_json_int(job->details, "attempt", job->attempt);
}

int slurm_base_of(struct sw_connection *conn, const struct sw_jobref *job, const char **base,
                  const char **prefix, struct sw_error *err)
{
    const struct slurm_connect_options *usual = &slurm_of(conn)->options;

    *base = sw_json_str(job->details, "base_dir");
    *prefix = sw_json_str(job->details, "job_name_prefix");
    *base = *base ? *base : usual->base_dir;
    *prefix = *prefix ? *prefix : usual->job_name_prefix;
    return slurm_base_check(*base, err) < 0 ? -1 : slurm_word_check("job_name_prefix", *prefix, err);
}

int slurm_names_of(struct sw_connection *conn, const struct sw_jobref *job, struct slurm_names *names,
                   struct sw_error *err)
{
    const char *base, *prefix;

    if (slurm_base_of(conn, job, &base, &prefix, err) < 0)
        return -1;
    slurm_names_init(names, base, prefix, job->id, slurm_submitted_as(job));
    return 0;
}

const struct sw_platform sw_platform_slurm = {
    .name = "slurm",
    .summary = "a Slurm cluster, over ssh or from its login node",
    .options = slurm_options,
    .credentials = slurm_credentials,
    .lend = slurm_lend,
    .shares = true,
    .variables = slurm_variables,
    .collects = true,
    .retries = true,
    .one_log = true,
    .retry_max = SLURM_RETRIES,
    .open = slurm_open,
    .close = slurm_close,
    .place = slurm_place,
    .identify = slurm_identify,
    .orphans = slurm_orphans,
    .render = slurm_render,
    .preflight = slurm_preflight,
    .preflight_report = slurm_preflight_report,
    .submit = slurm_submit,
    .observe = slurm_observe,
    .reconcile = slurm_reconcile,
    .log_read = slurm_log_read,
    .log_size = slurm_log_size,
    .log_since = slurm_log_since,
    .log_time = slurm_log_time,
    .log_time_asks = true,
    .cancel = slurm_cancel,
    .cleanup = slurm_cleanup,
    .replicas = slurm_replicas,
    .evidence = slurm_evidence,
    .log_ends = slurm_log_ends,
    .results_dir = slurm_results_dir,
    .rewrites_paths = slurm_rewrites_paths,
    .fetch_results = slurm_fetch_results,
    .check_path = slurm_check_path,
    .list_path = slurm_list_path,
    .adopt = slurm_adopt,
    .jobs = slurm_jobs,
    .exec_open = slurm_exec_open,
    .terminals = true,
    .port_open = slurm_port_open,
    .inventory = slurm_inventory,
};
