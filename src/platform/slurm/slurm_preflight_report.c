/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_preflight_report.c - everything a job needs on the cluster, checked one by one: each login host,
 * Slurm itself, partition, account, container, folder.
 *
 * A small file in the base folder is what the hosts and one compute node must all see; it is
 * removed at the end. Nothing else is changed. What a submit would refuse (slurm_needs.sh) and what Slurm
 * says about the batch script come with the same round trip.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"
#include "core/registry_login.h"
#include "platform/slurm/slurm_image.h"

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
    sw_autofree char *check = sw_format("ssh %s", sw_ssh_host_at(slurm_of(conn)->ssh, index));
    struct sw_error why = { 0 };
    int64_t began = sw_monotonic_ms();
    sw_autofree char *message = NULL;
    int result;

    pthread_mutex_lock(&slurm_of(conn)->lock);
    result = sw_ssh_connect_to(slurm_of(conn)->ssh, index, &why);
    pthread_mutex_unlock(&slurm_of(conn)->lock);
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
    sw_ssh_prefer(slurm_of(conn)->ssh, sw_ssh_host_at(slurm_of(conn)->ssh, index));
    return slurm_read(conn, script, reply, err);
}

static void same_folder(struct sw_connection *conn, size_t index, const char *probe, json_t *rows)
{
    sw_autofree char *check = sw_format("shared folder on %s", sw_ssh_host_at(slurm_of(conn)->ssh, index));
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error why = { 0 };
    const char *name = strrchr(probe, '/') + 1;

    slurm_call_add(&script, "cat", &probe, 1);
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

    slurm_call_add(&script, "rm -f", &probe, 1);
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

/* The image's registry; `checked` learns whether the job brings its password. */
static void add_registry(struct sw_buf *script, const struct slurm_job *job, struct slurm_checked *checked)
{
    sw_auto(slurm_image) struct slurm_image image = { 0 };
    struct slurm_registry unknown;
    const struct slurm_registry *registry;

    if (!slurm_has_own_root(job) || slurm_image_parse(job->plan->image, &image, NULL) < 0)
        return;
    registry = slurm_registry_of(&image, &unknown);
    if (!registry)
        return;
    checked->secret_named = names_secret(job->plan, sw_registry_variable(registry->host));
    checked->login_brought = job->options.registry_login;
    slurm_credentials_check(script, registry);
}

/* The values of a job, and the batch script that a submit would hand over. */
static void add_job(struct sw_buf *script, struct slurm_job *job)
{
    sw_auto(sw_buf) struct sw_buf batch = SW_BUF_INIT;

    job->runner[0] = job->runner[1] = "slipway-runner";
    slurm_set(script, "account", job->options.account);
    slurm_set_flag(script, "image", slurm_has_own_root(job));
    slurm_needs_values(script, job, true);
    if (slurm_batch(&batch, job, NULL) < 0)        /* the plan is wrong: the quick check says how */
        sw_buf_clear(&batch);
    slurm_set(script, "batch", sw_buf_text(&batch));
}

/* Without a job: what the profile says. */
static void add_usual(struct sw_buf *script, const struct slurm_connection *slurm)
{
    struct slurm_job_options usual;
    sw_autofree char *partition = NULL;

    slurm_job_options_fill(slurm->documents, &usual, NULL);
    partition = slurm_joined(usual.partition);
    slurm_set(script, "partition", partition);
    slurm_set(script, "account", usual.account);
    sw_buf_add(script, "image= bundle= batch=\n");
}

/* Without a job, or with one whose options make no sense, the cluster itself is checked. */
static int ask_cluster(struct sw_connection *conn, size_t host, struct slurm_job *job, const char *base,
                       const char *probe, json_t *rows, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct slurm_checked checked = { 0 };

    slurm_text_add(&script, SLURM_TEXT_COMMON);
    slurm_text_add(&script, SLURM_TEXT_NEEDS);
    if (job)
        add_job(&script, job);
    else
        add_usual(&script, slurm_of(conn));
    slurm_set(&script, "base", base);
    slurm_set(&script, "probe", probe);
    slurm_text_add(&script, SLURM_TEXT_CHECKS);
    if (job) {
        checked.minutes = job->shape.limit_minutes;
        add_registry(&script, job, &checked);
    }
    if (ask_host(conn, host, sw_buf_text(&script), &reply, err) < 0)
        return -1;
    slurm_check_text(rows, &checked, sw_buf_text(&reply.output));
    return 0;
}

json_t *slurm_preflight_report(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    sw_auto(slurm_job) struct slurm_job job = { 0 };
    bool has_job = plan && slurm_job_of(conn, plan, 1, &job, NULL) == 0;
    const char *base = has_job ? job.names.base : slurm_of(conn)->options.base_dir;
    size_t hosts = sw_ssh_host_count(slurm_of(conn)->ssh), first = HOSTS_MOST;
    sw_auto(json) json_t *rows = json_array();
    sw_autofree char *probe = NULL;
    bool reached[HOSTS_MOST] = { false };

    if (slurm_base_check(base, err) < 0)
        return NULL;
    for (size_t i = 0; i < hosts && i < HOSTS_MOST; i++) {
        reached[i] = reach_host(conn, i, rows);
        if (reached[i] && first == HOSTS_MOST)
            first = i;
    }
    if (first == HOSTS_MOST)
        return sw_take(rows);
    probe = probe_path(base);
    if (ask_cluster(conn, first, has_job ? &job : NULL, base, probe, rows, err) < 0)
        return NULL;
    for (size_t i = first + 1; i < hosts && i < HOSTS_MOST; i++)
        if (reached[i])
            same_folder(conn, i, probe, rows);
    forget_probe(conn, first, probe);
    return sw_take(rows);
}
