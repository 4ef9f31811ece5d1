/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_submit.c - one attempt becomes one job of the workspace.
 *
 *     group, shape, mounts     GET /dedicated-node-groups, /shapes, /storage-permission (all remembered)
 *     login for the image      GET /imagepullsecrets                                    (likewise)
 *     secrets                  POST /usersecrets, where the job has some
 *     the job                  POST /jobs
 *
 * A name is no key on Lepton: the same body posted twice makes two jobs. So a note on this machine says
 * that an attempt may have been sent before anything is; where it is found, the job is looked for first.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/kit/chunks.h"
#include "platform/kit/sending.h"

/* An etcd object has 1.5 MiB, and a process 2 MiB for arguments and variables. */
static const struct sw_chunk_limits limits = { "Lepton", 96 * 1024, 1200 * 1024 };

int lepton_preflight(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    (void)conn;
    return lepton_check(plan, err);
}

/* What only the workspace knows is shown as the job file names it. */
json_t *lepton_render(struct sw_connection *conn, const struct sw_plan *plan, struct sw_error *err)
{
    struct lepton_job_options options = lepton_job_options(plan->options);
    sw_auto(lepton_site) struct lepton_site site = {
        .attempt = 1, .group = sw_strdup(options.node_group), .shape = sw_strdup(options.resource_shape),
        .pull_secret = sw_strdup(options.image_pull_secret), .secrets = json_array() };
    sw_auto(json) json_t *body = NULL;
    sw_autofree char *text = NULL;

    (void)conn;
    if (lepton_check(plan, err) < 0)
        return NULL;
    json_array_extend(site.secrets, plan->secrets);
    body = lepton_render_body(plan, &site);
    text = sw_json_dump_pretty(body);
    return json_pack("[{s:s,s:s}]", "what", "POST /jobs", "text", text);
}

static void fill_submission(const json_t *job, struct sw_submission *out)
{
    snprintf(out->remote_id, sizeof out->remote_id, "%s", lepton_meta(job, "id") ? lepton_meta(job,
            "id") : "");
    out->details = json_object();
}

/* 1: it is there. A job that was just made may be missing from lists for a moment. */
static int find_sent(struct sw_connection *conn, const struct sw_plan *plan, int attempt, const char *note,
                     struct sw_submission *out, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *job = NULL;
    struct stat info = { 0 };
    int64_t age_ms = stat(note, &info) == 0 ? sw_now_ms() - (int64_t)info.st_mtime * 1000 : 0;

    if (age_ms >= 0 && age_ms < LEPTON_SETTLES_MS)
        sw_sleep_ms(LEPTON_SETTLES_MS - age_ms);
    job = lepton_find_job(conn, plan->job_id, attempt, &why);
    if (!job)
        return why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
    fill_submission(job, out);
    return 1;
}

static json_t *body_of(struct sw_connection *conn, const struct sw_plan *plan, const struct lepton_site *site,
                       struct sw_error *err)
{
    sw_autofree char *results = lepton_results(site, plan->job_id), *cache = NULL;
    sw_autofree char *kept = sw_path_join(lepton_of(conn)->root, plan->job_id);
    const char *shared = lepton_shared(site);
    sw_auto(json) json_t *chunks = json_object(), *body = lepton_render_body(plan, site);

    if (shared && lepton_job_options(plan->options).cache_inputs)
        cache = sw_format("%s/.slipway-inputs", shared);
    if (sw_chunks_put_job(chunks, LEPTON_CHUNKS, &(struct sw_chunks_job){
            .plan = plan, .arch = site->arch, .results = results, .attempt = site->attempt,
            .kept = kept, .shared = shared, .cache = cache }, &limits, err) < 0)
        return NULL;
    lepton_env_add(body, chunks);
    return sw_take(body);
}

static json_t *names_of(const struct sw_secrets *secrets)
{
    json_t *names = json_array();

    for (size_t i = 0; i < sw_secrets_count(secrets); i++)
        json_array_append_new(names, sw_json_text(sw_secrets_name(secrets, i)));
    return names;
}

int lepton_submit(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                  const struct sw_secrets *secrets, struct sw_submission *out, struct sw_error *err)
{
    sw_auto(lepton_site) struct lepton_site site = { .attempt = attempt, .secrets = names_of(secrets) };
    sw_autofree char *note = lepton_note_path(conn, plan->job_id, attempt, "sent");
    sw_autofree char *folder = lepton_note_path(conn, plan->job_id, attempt, "");
    bool again = sw_file_exists(note);
    int found = again ? find_sent(conn, plan, attempt, note, out, err) : 0;
    sw_auto(json) json_t *body = NULL, *made = NULL;
    struct sw_error why = { 0 };

    if (found)
        return found < 0 ? -1 : 0;
    if (lepton_find_site(conn, plan, &site, err) < 0 ||
        lepton_pull_secret(conn, plan, &site.pull_secret, err) < 0 ||
        !(body = body_of(conn, plan, &site, err)) ||
        sw_mkdirs(folder, 0700, err) < 0 || sw_file_write(note, "", 0, 0600, err) < 0 ||
        lepton_send_secrets(conn, plan, attempt, secrets, again, err) < 0)
        return -1;
    if (sw_rest_call(lepton_of(conn)->rest, &(struct sw_rest_call){ .method = "POST", .path = "/jobs",
                                                                    .json = body }, &made,
                     &why) == 0) {
        fill_submission(made, out);
        sw_file_write(note, out->remote_id, strlen(out->remote_id), 0600, NULL);
        return 0;
    }
    if (why.code != SW_E_UNREACHABLE) {           /* nothing runs: nothing is left */
        sw_facts_forget(lepton_of(conn)->facts);
        if (json_array_size(site.secrets))
            lepton_delete_secrets(conn, plan->job_id, attempt, NULL);
        remove(note);
    }
    return sw_pass(err, &why);
}
