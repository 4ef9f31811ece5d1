/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm.c - a Slurm cluster as a place where jobs run: the descriptor and the connection.
 *
 * Everything is a script that goes down one held shell (net/ssh.h) on the login node, or on this
 * machine when it is the login node. Follow a job in slurm_submit.c, then slurm_render.c, then
 * slurm_watch.c.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "net/ssh_options.h"
#include "platform/slurm/slurm_retry.h"

extern const struct sw_platform sw_platform_slurm;

enum { BUSY = 75, SAID = 300 };          /* EX_TEMPFAIL: our scripts' word for "ask again" */

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

/* A row that names no user means none, whatever is exported today. */
static const char *user_of(const struct sw_connect_options *config)
{
    const char *said = sw_json_str(config->options, "user");

    return said && !*said ? NULL : or_variable(said, config, "SSH_USER");
}

/* What was found out stands among the options, so that they lead here again. */
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

static struct sw_connection *slurm_open(const struct sw_connect_options *config, struct sw_error *err)
{
    sw_autofree char *hosts = slurm_joined(config->options, "hostname");
    struct sw_ssh_options options = {
        .state_dir = config->state_dir, .hosts = or_variable(hosts, config, "SSH_HOST"),
        .user = user_of(config), .port = (int)sw_json_int(config->options, "port", 0),
        .local = sw_text_same(sw_json_str(config->options, "transport"), "local"),
    };
    struct sw_connection *conn;
    struct sw_ssh *ssh;

    sw_ssh_options_read(config->options, &options);
    if (!options.local && !options.hosts) {
        sw_fail(err, SW_E_SPEC, "nobody says which host to log in to");
        sw_hint(err, "set SLURM_HOSTNAME and SLURM_USER (or slurm.hostname, slurm.user), or "
                     "`transport: local` on the login node itself");
        return NULL;
    }
    ssh = sw_ssh_open(&options, err);
    if (!ssh)
        return NULL;
    conn = sw_new(struct sw_connection);
    conn->ssh = ssh;
    conn->options = settled_options(config, &options);
    conn->state_dir = sw_strdup(config->state_dir);
    conn->warn = config->warn;
    conn->warn_context = config->warn_context;
    conn->env = config->env ? config->env : sw_env_process;
    conn->env_context = config->env_context;
    pthread_mutex_init(&conn->lock, NULL);
    return conn;
}

static void slurm_place(struct sw_connection *conn, struct sw_place *out)
{
    const char *user = sw_json_str(conn->options, "user");
    int64_t port = sw_json_int(conn->options, "port", 0);
    sw_auto(sw_buf) struct sw_buf address = SW_BUF_INIT;

    out->options = sw_connection_options(slurm_options, conn->options);
    sw_ssh_options_settle(out->options);
    if (sw_text_same(sw_json_str(conn->options, "transport"), "local")) {
        out->address = sw_format("local://%s", sw_ssh_host(conn->ssh));
        return;
    }
    sw_buf_addf(&address, "ssh://%s%s%s", user, *user ? "@" : "",
                sw_json_str(conn->options, "hostname"));
    if (port > 0)
        sw_buf_addf(&address, ":%lld", (long long)port);
    out->address = sw_buf_steal(&address);
}

static void slurm_close(struct sw_connection *conn)
{
    if (!conn)
        return;
    sw_ssh_close(conn->ssh);
    pthread_mutex_destroy(&conn->lock);
    json_decref(conn->options);
    free(conn->state_dir);
    free(conn->identity);
    free(conn->identity_of);
    free(conn->safe_base);
    free(conn->allowed_in);
    free(conn->met);
    slurm_times_free(conn->times);
    free(conn);
}

int slurm_call(struct sw_connection *conn, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
               struct sw_error *err)
{
    int result;

    pthread_mutex_lock(&conn->lock);
    result = sw_ssh_run(conn->ssh, call, reply, err);
    pthread_mutex_unlock(&conn->lock);
    return result;
}

int slurm_ask_as(struct sw_connection *conn, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
                 struct sw_error *err)
{
    int result = slurm_call(conn, call, reply, err);

    if (result == 0 && reply->exit_code == BUSY)
        return sw_fail(err, SW_E_UNREACHABLE, "Slurm does not answer on %s: %.*s",
                       sw_ssh_host(conn->ssh), SAID, sw_buf_text(&reply->errors));
    return result;
}

int slurm_ask(struct sw_connection *conn, const char *script, const struct sw_ssh_piece *input,
              size_t input_count, bool repeatable, struct sw_ssh_reply *reply,
              struct sw_error *err)
{
    const struct sw_ssh_call call = { .script = script, .input = input,
                                      .input_count = input_count, .repeatable = repeatable,
                                      .output_limit = (size_t)64 << 20, .timeout_ms = 120000 };

    return slurm_ask_as(conn, &call, reply, err);
}

int slurm_ask_patiently(struct sw_connection *conn, const char *script, struct sw_ssh_reply *reply,
                        struct sw_error *err)
{
    const struct sw_ssh_call call = { .script = script, .repeatable = true,
                                      .output_limit = (size_t)1 << 20, .timeout_ms = 900000 };

    return slurm_ask_as(conn, &call, reply, err);
}

/* The lines of `scontrol show config` that tell one cluster from another: its name, and the machines that its
 * controller was put on, in the order of its configuration (not which of them is at work now). */
static const char identify_text[] =
    "said=$(scontrol show config 2>&1) || { printf '%s\\n' \"$said\" >&2; exit 75; }\n"
    "printf '%s\\n' \"$said\" | sed -n 's/^ClusterName *= */C|/p; "
    "s/^\\(SlurmctldHost\\[[0-9]*\\]\\|ControlMachine\\) *= */H|/p'\n";

/* "cluster@first,second" from the answer's lines; NULL: it names none. Owned. */
static char *identity_in(char *answer)
{
    sw_autofree char *name = NULL;
    sw_auto(sw_buf) struct sw_buf hosts = SW_BUF_INIT;

    for (char *line; (line = strsep(&answer, "\n"));) {
        size_t length = strcspn(line, " \t(");              /* "host(address)" */

        if (sw_text_starts(line, "C|") && !name)
            name = sw_strndup(line + 2, strcspn(line + 2, " \t"));
        else if (sw_text_starts(line, "H|") && length > 2)
            sw_buf_addf(&hosts, "%s%.*s", hosts.length ? "," : "", (int)(length - 2), line + 2);
    }
    if (sw_text_empty(name) || sw_text_same(name, "(null)"))
        return NULL;
    return sw_format("%.200s@%.1000s", name, sw_buf_text(&hosts));
}

/* Asked once per login host in use: each of them could lead to another cluster. */
static int slurm_identify(struct sw_connection *conn, struct sw_buf *identity, struct sw_error *err)
{
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    sw_autofree char *found = NULL;
    bool known;

    pthread_mutex_lock(&conn->lock);
    known = conn->identity && sw_text_same(conn->identity_of, sw_ssh_host(conn->ssh));
    if (known)
        sw_buf_add(identity, conn->identity);
    pthread_mutex_unlock(&conn->lock);
    if (known)
        return 0;
    if (slurm_ask(conn, identify_text, NULL, 0, true, &reply, err) < 0)
        return -1;
    found = reply.exit_code == 0 ? identity_in(reply.output.data) : NULL;
    if (!found)
        return sw_fail(err, SW_E_UNREACHABLE, "%s does not say which cluster it belongs to: %.300s",
                       sw_ssh_host(conn->ssh), sw_buf_text(&reply.errors));
    for (char *at = found; (at = strpbrk(at, " \t|"));)
        *at = '_';                                   /* the first word is compared */
    sw_buf_addf(identity, "%s %.*s", found, (int)strcspn(found, "@"), found);
    pthread_mutex_lock(&conn->lock);
    free(conn->identity);
    free(conn->identity_of);
    conn->identity = sw_strdup(sw_buf_text(identity));
    conn->identity_of = sw_strdup(sw_ssh_host(conn->ssh));
    pthread_mutex_unlock(&conn->lock);
    return 0;
}

const char *slurm_base(struct sw_connection *conn, const json_t *details, struct sw_error *err)
{
    const char *own = sw_json_str(details, "base_dir");
    const char *base = own ? own : sw_json_str(conn->options, "base_dir");

    return slurm_base_check(base, err) < 0 ? NULL : base;
}

const char *slurm_prefix(const struct sw_connection *conn, const json_t *details)
{
    const char *own = sw_json_str(details, "job_name_prefix");
    const char *said = own ? own : sw_json_str(conn->options, "job_name_prefix");

    return said ? said : "tao-job-";
}

bool slurm_is_array(const struct sw_jobref *job)
{
    return sw_json_str(json_object_get(job->plan, "options"), "array") != NULL;
}

/* A job that tries again by itself stays in the folders of the attempt it was submitted as. */
int slurm_submitted_as(const struct sw_jobref *job)
{
    return (int)sw_json_int(job->details, "attempt", job->attempt);
}

int slurm_names_of(struct sw_connection *conn, const struct sw_jobref *job, struct slurm_names *names,
                   struct sw_error *err)
{
    const char *base = slurm_base(conn, job->details, err);

    const char *prefix = slurm_prefix(conn, job->details);

    if (!base || slurm_word_check("job_name_prefix", prefix, err) < 0)
        return -1;
    slurm_names_init(names, base, prefix, job->id, slurm_submitted_as(job));
    return 0;
}

const struct sw_platform sw_platform_slurm = {
    .name = "slurm",
    .summary = "a Slurm cluster, over ssh or from its login node",
    .options = slurm_options,
    .credentials = slurm_credentials,
    .variables = slurm_variables,
    .collects = true,
    .retries = true,
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
    .inventory = slurm_inventory,
};
