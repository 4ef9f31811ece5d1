/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_secrets.c - credentials of a project: a job's secrets, and logins of registries.
 *
 * run:ai copies a credential into a Kubernetes secret of the project, whose name only the answer tells,
 * a moment later. A job's credential has the job's name and goes when the job is over. A login is named
 * after a hash of its content, as on Kubernetes: a changed key is another name, and two users never
 * overwrite each other's. Values go from struct sw_secrets into the bytes of one request.
 */
#include "platform/runai/runai_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/kit/pull_login.h"
#include "platform/kit/sending.h"

#define PULL     "slipway-pull-"          /* a login's name begins so */
#define GENERIC  "generic-secret"
#define REGISTRY "docker-registry"
enum { HASH_SHOWN = 12, COPIED_WITHIN_MS = 60000, FIRST_PAUSE_MS = 100, LONGEST_PAUSE_MS = 2000 };

/* ---- one credential -------------------------------------------------------------------------------- */

static const char *secret_name(const json_t *asset)
{
    return sw_json_str(json_array_get(sw_at(asset, "clusterInfo.resources"), 0), "name");
}

static const char *asset_id(const json_t *asset)
{
    const char *id = sw_at_text(asset, "meta.id");

    return id ? id : "";
}

/* Owned; NULL without an error: there is none of that name. */
static json_t *find_asset(struct sw_connection *conn, const char *kind, const char *name,
                          struct sw_error *err)
{
    const struct runai_site *site = runai_site(conn, err);
    const struct sw_rest_pair query[] = { { "name", name }, { "scope", "project" },
                                          { "projectId", site ? site->project_id : NULL }, { 0 } };
    sw_autofree char *path = sw_rest_path("/asset/credentials/%s", kind);
    const struct sw_rest_call call = { .path = path, .query = query, .repeatable = true };
    sw_auto(json) json_t *answer = NULL;

    if (!site || sw_rest_call(sw_cloud_of(conn)->rest, &call, &answer, err) < 0)
        return NULL;
    return json_incref(sw_find(json_object_get(answer, "entries"), "meta.name", name));
}

static int delete_asset(struct sw_connection *conn, const char *kind, const json_t *asset,
                        struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/asset/credentials/%s/%s", kind, asset_id(asset));

    return sw_cloud_delete(conn, path, err);
}

/* `head` with "spec": the bytes, which the caller wipes. */
static int post_asset(struct sw_connection *conn, const char *kind, const json_t *head,
                      const struct sw_buf *spec, json_t **made, struct sw_error *err)
{
    sw_autofree char *text = sw_json_dump(head), *path = sw_rest_path("/asset/credentials/%s", kind);
    struct sw_buf body = SW_BUF_INIT;

    sw_buf_reserve_wiping(&body, strlen(text) + spec->length + 16);
    sw_buf_add_bytes(&body, text, strlen(text) - 1);
    sw_buf_add(&body, ",\"spec\":");
    sw_buf_add_bytes(&body, spec->data, spec->length);
    sw_buf_add_char(&body, '}');
    return sw_cloud_post_secret(conn, path, &body, true, made, err);
}

/* The Kubernetes secret of a credential that was made: the first answer may not have it yet. Owned. */
static char *wait_for_copy(struct sw_connection *conn, const char *kind, const json_t *made,
                           struct sw_error *err)
{
    sw_autofree char *path = sw_rest_path("/asset/credentials/%s/%s", kind, asset_id(made));
    int64_t until_ms = sw_monotonic_ms() + COPIED_WITHIN_MS, pause_ms = FIRST_PAUSE_MS;
    char *name = sw_strdup(secret_name(made));

    while (!name) {
        sw_auto(json) json_t *asset = NULL;

        if (sw_cloud_call(conn, NULL, path, NULL, &asset, err) < 0)
            return NULL;
        name = sw_strdup(secret_name(asset));
        if (name)
            break;
        if (sw_monotonic_ms() >= until_ms) {
            sw_fail(err, SW_E_REFUSED, "run:ai has not copied the credential to the cluster within a minute");
            sw_hint(err, "is the cluster connected? `slipway preflight -p runai` shows it");
            return NULL;
        }
        sw_sleep_ms(pause_ms);
        pause_ms = pause_ms * 2 < LONGEST_PAUSE_MS ? pause_ms * 2 : LONGEST_PAUSE_MS;
    }
    return name;
}

static json_t *head_of(const struct runai_site *site, const char *name, const char *description)
{
    return sw_json_object(SW_SUB("meta", sw_json_object(
        SW_STR("name", name), SW_STR("scope", "project"),
        SW_INT("projectId", strtoll(site->project_id, NULL, 10)),
        SW_STR_OPT("description", description))));
}

/* ---- a job's own ----------------------------------------------------------------------------------- */

static void add_pairs(struct sw_buf *spec, const json_t *names, const struct sw_secrets *secrets)
{
    const char *shape = "{\"keyValuePairs\":[{\"key\":?,\"value\":?}", *name;
    json_t *value;

    json_object_foreach((json_t *)names, name, value) {
        sw_json_secrets(spec, shape, (const char *[]){ name, sw_secrets_reveal(secrets, name) });
        shape = ",{\"key\":?,\"value\":?}";
    }
    sw_json_secrets(spec, "]}", NULL);
}

/* One that an interrupted submit left may have other values. */
static int replace_asset(struct sw_connection *conn, const char *name, const json_t *head,
                         const struct sw_buf *spec, json_t **made, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *old = NULL;

    if (post_asset(conn, GENERIC, head, spec, made, &why) == 0)
        return 0;
    if (why.code != SW_E_CONFLICT && why.code != SW_E_REFUSED)
        return sw_pass(err, &why);
    old = find_asset(conn, GENERIC, name, err);
    if (!old)
        return sw_pass(err, &why);
    return delete_asset(conn, GENERIC, old, err) < 0 ? -1 : post_asset(conn, GENERIC, head, spec, made, err);
}

int runai_send_secrets(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                       const struct sw_secrets *secrets, const json_t *names, char **name,
                       struct sw_error *err)
{
    const struct runai_site *site = runai_site(conn, err);
    struct sw_jobs_name own = runai_name(plan->job_id, attempt);
    sw_autofree char *description = sw_format("Slipway job %s of store %s", plan->job_id,
                                              plan->store_id ? plan->store_id : "-");
    sw_auto(json) json_t *head = site ? head_of(site, own.text, description) : NULL, *made = NULL;
    struct sw_buf spec = SW_BUF_INIT;
    int result;

    *name = NULL;
    if (!site || json_object_size(names) == 0)
        return site ? 0 : -1;
    add_pairs(&spec, names, secrets);
    result = replace_asset(conn, own.text, head, &spec, &made, err);
    sw_buf_wipe(&spec);
    if (result == 0)
        *name = wait_for_copy(conn, GENERIC, made, err);
    return *name ? 0 : sw_wrap(err, "cannot send the job's secrets");
}

int runai_delete_secrets(struct sw_connection *conn, const char *id, int attempt, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *asset = find_asset(conn, GENERIC, runai_name(id, attempt).text, &why);

    if (asset)
        return delete_asset(conn, GENERIC, asset, err);
    return why.code ? sw_pass(err, &why) : 0;
}

/* ---- registries ------------------------------------------------------------------------------------ */

static int make_login(struct sw_connection *conn, const struct sw_pull_login *pull, const char *name,
                      json_t **made, struct sw_error *err)
{
    const struct runai_site *site = runai_site(conn, err);
    sw_auto(json) json_t *head = site ? head_of(site, name, "Slipway: login of a registry, shared by jobs")
                                      : NULL;
    struct sw_buf spec = SW_BUF_INIT;
    struct sw_error why = { 0 };

    if (!site)
        return -1;
    sw_json_secrets(&spec, "{\"user\":?,\"password\":?,\"url\":?}", (const char *[]){
        pull->login.user ? pull->login.user : "", sw_secret_reveal(pull->login.secret), pull->registry });
    post_asset(conn, REGISTRY, head, &spec, made, &why);
    sw_buf_wipe(&spec);
    if (why.code == SW_E_CONFLICT)               /* by another submit meanwhile: the same content */
        return (*made = find_asset(conn, REGISTRY, name, err)) ? 0 : -1;
    return why.code ? sw_pass(err, &why) : 0;
}

static int login_secret(struct sw_connection *conn, const struct sw_pull_login *pull, char **name,
                        struct sw_error *err)
{
    sw_autofree char *own = sw_format(PULL "%.*s", HASH_SHOWN, pull->hash);
    struct sw_error why = { 0 };
    sw_auto(json) json_t *asset = find_asset(conn, REGISTRY, own, &why);

    if (why.code)
        return sw_pass(err, &why);
    if (!asset && make_login(conn, pull, own, &asset, err) < 0)
        return -1;
    *name = wait_for_copy(conn, REGISTRY, asset, err);
    return *name ? 0 : -1;
}

int runai_pull_secret(struct sw_connection *conn, const struct sw_plan *plan, char **name,
                      struct sw_error *err)
{
    const char *said = runai_job_options(plan->options).image_pull_secret;
    sw_auto(sw_pull_login) struct sw_pull_login pull = { 0 };

    *name = sw_strdup(said);
    if (said)
        return 0;
    if (sw_pull_login_find(&sw_cloud_of(conn)->given, plan->image, false, &pull, err) < 0)
        return -1;
    if (pull.login.secret && login_secret(conn, &pull, name, err) < 0)
        return sw_wrap(err, "cannot make the credential for %s", pull.registry);
    return 0;
}
