/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_preflight_report.c - everything a job needs on the cluster, looked at one by one: each
 * login host, Slurm
 * itself, partition, account, container, folder.
 *
 * A small file in the base folder is what the hosts and one compute node must all see; it is
 * removed at the end. Nothing else is changed. What a submit would refuse (slurm_needs.c) and what Slurm says
 * about the batch script come with the same round trip.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"
#include "core/registry_login.h"
#include "platform/slurm/slurm_credentials.h"
#include "platform/slurm/slurm_site.h"

enum { HOSTS_MOST = 32 };

static char *probe_path(const char *base)
{
    unsigned char random[8] = { 0 };
    char hex[17];

    if (getrandom(random, sizeof random, 0) < 0)
        return sw_format("%s/.slipway-check", base);
    sw_hex(random, sizeof random, hex);
    return sw_format("%s/.slipway-check-%s", base, hex);
}

/* ---- each host --------------------------------------------------------------------------------- */

static bool reach_host(struct sw_connection *conn, size_t index, json_t *rows)
{
    sw_autofree char *check = sw_format("ssh %s", sw_ssh_host_at(conn->ssh, index));
    struct sw_error why = { 0 };
    int64_t began = sw_monotonic_ms();
    sw_autofree char *message = NULL;
    int result;

    pthread_mutex_lock(&conn->lock);
    result = sw_ssh_connect_to(conn->ssh, index, &why);
    pthread_mutex_unlock(&conn->lock);
    if (result < 0) {
        slurm_finding(rows, check, false, why.message, why.hint);
        return false;
    }
    message = sw_format("answers in %lld ms", (long long)(sw_monotonic_ms() - began));
    slurm_finding(rows, check, true, message, NULL);
    return true;
}

static int ask_host(struct sw_connection *conn, size_t index, const char *script,
                    struct sw_ssh_reply *reply, struct sw_error *err)
{
    sw_ssh_prefer(conn->ssh, sw_ssh_host_at(conn->ssh, index));
    return slurm_ask(conn, script, NULL, 0, true, reply, err);
}

static void same_folder(struct sw_connection *conn, size_t index, const char *probe, json_t *rows)
{
    sw_autofree char *check = sw_format("shared folder on %s", sw_ssh_host_at(conn->ssh, index));
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error why = { 0 };
    const char *name = strrchr(probe, '/') + 1;

    sw_buf_add(&script, "cat ");
    sw_buf_add_quoted(&script, probe);
    if (ask_host(conn, index, sw_buf_text(&script), &reply, &why) < 0)
        slurm_finding(rows, check, false, why.message, why.hint);
    else if (sw_text_starts(sw_buf_text(&reply.output), name))
        slurm_finding(rows, check, true, "the same as on the first host", NULL);
    else
        slurm_finding(rows, check, false, "this host does not see what the first one wrote",
                      "choose a folder of the shared file system with slurm.base_dir");
}

static void forget_probe(struct sw_connection *conn, size_t index, const char *probe)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

    sw_buf_add(&script, "rm -f ");
    sw_buf_add_quoted(&script, probe);
    ask_host(conn, index, sw_buf_text(&script), &reply, NULL);
}

/* ---- the cluster ------------------------------------------------------------------------------- */

static bool names_secret(const struct sw_plan *plan, const char *name)
{
    size_t i;
    json_t *one;

    if (name)
        json_array_foreach(plan->secrets, i, one)
            if (sw_text_same(json_string_value(one), name))
                return true;
    return false;
}

static bool wants_container(const struct sw_plan *plan)
{
    const char *how = plan ? sw_json_str(plan->options, "container") : NULL;

    return plan && plan->image && !sw_text_same(how, "none") && !sw_text_same(how, "oci");
}

/* The image's registry; `wish` learns whether the job brings its password. */
static void add_registry(struct sw_buf *script, const struct sw_plan *plan, struct slurm_wish *wish)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    struct slurm_registry unknown;
    const struct slurm_registry *registry;

    if (!wants_container(plan) || slurm_image_parse(plan->image, &image, NULL) < 0)
        return;
    registry = slurm_registry_of(&image, &unknown);
    if (!registry)
        return;
    wish->secret_named = names_secret(plan, sw_registry_variable(registry->host));
    wish->login_brought = sw_json_bool(plan->options, "registry_login", false);
    sw_buf_add(script, "{\n");
    slurm_credentials_check(script, registry);
    sw_buf_add(script, "} | sed 's/^/credential /'\n");
}

/* Slurm itself looks at the very script that a submit would hand over, and queues nothing. Which account is
 * charged is looked at elsewhere: a submit tries the user's own. */
static const char rehearse_text[] =
    "if [ -n \"$sw_slurm\" ] && ! said=$(printf '%s' \"$batch\" | sbatch --test-only 2>&1); then\n"
    "    case $said in *nvalid\\ account* | *ccount*required*) ;; "
    "*) fail \"refused|$said$(gpus_here \"$said\")\" ;; esac\n"
    "fi\n";

/* What a submit would look at, and refuse. */
static void add_needs(struct sw_buf *script, struct sw_connection *conn, const struct sw_plan *plan,
                      const char *base, const struct slurm_shape *shape)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT;
    struct slurm_job job = { .plan = plan, .names = &names, .shape = shape, .attempt = 1,
                             .runner = { "slipway-runner", "slipway-runner" } };

    slurm_names_init(&names, base, slurm_prefix(conn, plan->options), plan->job_id, 1);
    if (slurm_batch(&batch, &job, NULL) < 0)       /* the plan is wrong: the quick check says how */
        return;
    sw_buf_addf(script, "asked=%lld\n", (long long)shape->limit_minutes);
    sw_buf_add(script, "fail() { printf 'refusal %s\\n' \"$(printf '%s' \"$*\" | tr '\\n' ' ')\"; }\n");
    slurm_needs(script, plan, true);
    slurm_gpus_here(script, plan);
    slurm_set(script, "batch", sw_buf_text(&batch));
    sw_buf_add(script, rehearse_text);
}

static int ask_cluster(struct sw_connection *conn, size_t host, const struct sw_plan *plan,
                       const char *base, const char *probe, json_t *rows, struct sw_error *err)
{
    const json_t *options = plan ? plan->options : conn->options;
    sw_autofree char *partition = slurm_joined(options, "partition");
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct slurm_shape shape = { 0 };
    struct slurm_wish wish = { 0 };

    bool shaped = plan && slurm_shape_of(plan, &shape, NULL) == 0;

    wish.minutes = shape.limit_minutes;
    sw_buf_add(&script, SLURM_ENVIRONMENT);
    slurm_set(&script, "base", base);
    slurm_set(&script, "probe", probe);
    slurm_set(&script, "partition", partition);
    slurm_set(&script, "account", sw_json_str(options, "account"));
    slurm_set(&script, "image", wants_container(plan) ? "1" : "0");
    slurm_set(&script, "bundle", plan && slurm_in_bundle(plan) ? plan->image : NULL);
    slurm_text_add(&script, SLURM_TEXT_CHECKS);
    add_registry(&script, plan, &wish);
    if (shaped)
        add_needs(&script, conn, plan, base, &shape);
    if (ask_host(conn, host, sw_buf_text(&script), &reply, err) < 0)
        return -1;
    slurm_findings(rows, &wish, sw_buf_text(&reply.output));
    return 0;
}

json_t *slurm_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    const char *base = slurm_base(conn, plan ? plan->options : NULL, err);
    size_t hosts = sw_ssh_host_count(conn->ssh), first = HOSTS_MOST;
    sw_auto(json) json_t *rows = json_array();
    sw_autofree char *probe = NULL;
    bool reached[HOSTS_MOST] = { false };

    if (!base)
        return NULL;
    for (size_t i = 0; i < hosts && i < HOSTS_MOST; i++) {
        reached[i] = reach_host(conn, i, rows);
        if (reached[i] && first == HOSTS_MOST)
            first = i;
    }
    if (first == HOSTS_MOST)
        return sw_take(rows);
    probe = probe_path(base);
    if (ask_cluster(conn, first, plan, base, probe, rows, err) < 0)
        return NULL;
    for (size_t i = first + 1; i < hosts && i < HOSTS_MOST; i++)
        if (reached[i])
            same_folder(conn, i, probe, rows);
    forget_probe(conn, first, probe);
    return sw_take(rows);
}
