/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_secrets.c - the workspace's two stores: secrets that variables refer to, and logins to pull images
 * with.
 *
 * Values are written into memory that is wiped, and are in no job's body. A job's secrets carry its id and
 * attempt in their names, since the store knows no owner; they go with the job. A login's name has two
 * hashes: whose it is and what it is. The same name is the same login; another one of the same owner is an
 * old key, which is deleted when the new one is made.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "core/image_ref.h"
#include "core/registry_login.h"
#include "platform/kit/sending.h"

#define SECRET_BEGINS "slipway."
enum { HASH_SHOWN = 8, HOST_SHOWN = 4 };

/* ---- secrets of a job ----------------------------------------------------------------------- */

char *lepton_secret_name(const char *id, int attempt, const char *name)
{
    return sw_format(SECRET_BEGINS "%s.%d.%s", id, attempt, name);
}

/* Whose secret it is: the job's id, owned; NULL: none of ours. */
static char *job_of(const char *name)
{
    const char *id = name && sw_text_starts(name, SECRET_BEGINS) ? name + strlen(SECRET_BEGINS) : NULL;
    const char *end = id ? strchr(id, '.') : NULL;

    return end ? sw_strndup(id, (size_t)(end - id)) : NULL;
}

static int post_bytes(struct sw_connection *conn, const char *path, struct sw_buf *body, struct sw_error *err)
{
    const struct sw_rest_call call = { .method = "POST", .path = path, .bytes = body->data,
                                       .length = (int64_t)body->length, .content_type = "application/json" };
    int result = sw_rest_call(lepton_of(conn)->rest, &call, NULL, err);

    sw_buf_wipe(body);
    return result;
}

static int post_secrets(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                        const struct sw_secrets *secrets, struct sw_error *err)
{
    struct sw_buf body = SW_BUF_INIT;

    sw_buf_add_char(&body, '[');
    for (size_t i = 0; i < sw_secrets_count(secrets); i++) {
        const char *of = sw_secrets_name(secrets, i);
        sw_autofree char *name = lepton_secret_name(plan->job_id, attempt, of);

        sw_buf_reserve_wiping(&body, strlen(name) + 256);
        sw_buf_addf(&body, "%s{\"name\":\"%s\",\"visibility\":\"private\",\"tags\":[\"%s\"],\"value\":",
                    i ? "," : "", name, plan->store_id ? plan->store_id : "");
        sw_json_secret(&body, sw_secrets_reveal(secrets, of));
        sw_buf_reserve_wiping(&body, 4);
        sw_buf_add_char(&body, '}');
    }
    sw_buf_add_char(&body, ']');
    return post_bytes(conn, "/usersecrets", &body, err);
}

int lepton_send_secrets(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                        const struct sw_secrets *secrets, bool again, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (sw_secrets_count(secrets) == 0)
        return 0;
    if (again && lepton_delete_secrets(conn, plan->job_id, attempt, err) < 0)
        return -1;
    if (post_secrets(conn, plan, attempt, secrets, &why) == 0)
        return 0;
    if (why.code != SW_E_CONFLICT || lepton_delete_secrets(conn, plan->job_id, attempt, err) < 0) {
        sw_pass(err, &why);
        return sw_wrap(err, "cannot put the secrets into the workspace's store");
    }
    return post_secrets(conn, plan, attempt, secrets, err);
}

static int delete_at(struct sw_connection *conn, const char *path, struct sw_error *err)
{
    struct sw_error why = { 0 };

    return lepton_call(conn, "DELETE", path, NULL, NULL, &why) == 0 || why.code == SW_E_NOT_FOUND
               ? 0 : sw_pass(err, &why);
}

int lepton_delete_secrets(struct sw_connection *conn, const char *id, int attempt, struct sw_error *err)
{
    sw_auto(json) json_t *all = NULL;
    sw_autofree char *begins = attempt ? sw_format(SECRET_BEGINS "%s.%d.", id, attempt)
                                       : sw_format(SECRET_BEGINS "%s.", id);
    json_t *entry;
    size_t i;

    if (lepton_call(conn, NULL, "/usersecrets", NULL, &all, err) < 0)
        return -1;
    json_array_foreach(all, i, entry) {
        const char *name = sw_json_str(entry, "name");
        sw_autofree char *path = name && sw_text_starts(name, begins)
            ? sw_rest_path("/usersecrets/%s", name) : NULL;

        if (path && delete_at(conn, path, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- logins for images ---------------------------------------------------------------------- */

/* The name of the one with this name or id, borrowed; NULL: there is none. Jobs refer to names. */
static const char *named(const json_t *all, const char *wanted)
{
    json_t *secret;
    size_t i;

    json_array_foreach(all, i, secret) {
        const char *name = lepton_meta(secret, "name"), *id = lepton_meta(secret, "id");

        if (sw_text_same(name, wanted) || sw_text_same(id, wanted))
            return name ? name : id;
    }
    return NULL;
}

static int create(struct sw_connection *conn, const struct sw_registry_login *login, const char *registry,
                  const char *name, struct sw_error *err)
{
    struct sw_buf body = SW_BUF_INIT;
    struct sw_error why = { 0 };

    sw_buf_addf(&body, "{\"metadata\":{\"name\":\"%s\",\"id\":\"%s\"},"
                "\"spec\":{\"registry_server\":\"https://%s\","
                "\"username\":", name, name, registry);
    sw_json_secret(&body, login->user ? login->user : "");
    sw_buf_add(&body, ",\"password\":");
    sw_json_secret(&body, sw_secret_reveal(login->secret));
    sw_buf_reserve_wiping(&body, 4);
    sw_buf_add(&body, "}}");
    if (post_bytes(conn, "/imagepullsecrets", &body, &why) == 0 || why.code == SW_E_CONFLICT)
        return 0;
    sw_pass(err, &why);
    return sw_wrap(err, "cannot make the image pull secret");
}

/* Logins of the same owner with another key. */
static int delete_old(struct sw_connection *conn, const json_t *all, const char *begins, struct sw_error *err)
{
    json_t *secret;
    size_t i;

    json_array_foreach(all, i, secret) {
        const char *name = lepton_meta(secret, "name") ? lepton_meta(secret, "name")
            : lepton_meta(secret, "id");
        sw_autofree char *path = name && sw_text_starts(name, begins)
            ? sw_rest_path("/imagepullsecrets/%s", name)
                                                                      : NULL;

        if (path && delete_at(conn, path, err) < 0)
            return -1;
    }
    return 0;
}

/* LEPTON_PULL, the store, a registry (NULL: any). */
static char *owner_of(const char *store_id, const char *registry)
{
    char store[SW_DIGEST_HEX], host[SW_DIGEST_HEX] = "";

    sw_sha256_hex(store_id ? store_id : "", store_id ? strlen(store_id) : 0, store);
    if (registry)
        sw_sha256_hex(registry, strlen(registry), host);
    return sw_format(LEPTON_PULL "%.*s-%.*s%s", HASH_SHOWN, store, HOST_SHOWN, host, registry ? "-" : "");
}

static char *make(struct sw_connection *conn, const struct sw_plan *plan,
                  const struct sw_registry_login *login,
                  const char *registry, struct sw_error *err)
{
    sw_autofree char *begins = owner_of(plan->store_id, registry), *name = NULL;
    struct sw_buf config = SW_BUF_INIT;
    char hash[SW_DIGEST_HEX];
    sw_auto(json) json_t *all = NULL;

    sw_registry_docker_config(login, registry, &config);
    sw_sha256_hex(config.data, config.length, hash);
    sw_buf_wipe(&config);
    name = sw_format("%s%.*s", begins, HASH_SHOWN, hash);
    all = sw_fact(lepton_of(conn)->facts, "/imagepullsecrets", false, err);
    if (!all)
        return NULL;
    if (named(all, name))
        return sw_take(name);
    json_decref(sw_take(all));
    all = sw_fact(lepton_of(conn)->facts, "/imagepullsecrets", true, err);
    if (!all || (!named(all, name) && (delete_old(conn, all, begins, err) < 0 ||
                                     create(conn, login, registry, name, err) < 0)))
        return NULL;
    json_array_append_new(all, json_pack("{s:{s:s}}", "metadata", "name", name));
    return sw_take(name);
}

int lepton_pull_secret(struct sw_connection *conn, const struct sw_plan *plan, char **out,
                       struct sw_error *err)
{
    const char *given = lepton_job_options(plan->options).image_pull_secret;
    sw_auto(sw_image_ref) struct sw_image_ref ref = { 0 };
    sw_auto(sw_registry_login) struct sw_registry_login login = { 0 };
    sw_auto(json) json_t *all = NULL;

    if (given) {
        all = sw_fact(lepton_of(conn)->facts, "/imagepullsecrets", false, err);
        *out = sw_strdup(named(all, given));
        return !all ? -1 : *out ? 0
               : sw_fail(err, SW_E_REFUSED, "lepton.image_pull_secret: the workspace has no pull "
                                            "secret '%s'", given);
    }
    if (sw_image_ref_parse(plan->image, &ref, err) < 0)
        return -1;
    if (!ref.registry)
        return 0;
    sw_registry_login_find(&(struct sw_registry_query){
        .registry = ref.registry, .env = lepton_of(conn)->given.env,
        .env_context = lepton_of(conn)->given.env_context }, &login);
    if (login.trouble)
        lepton_warn(conn, login.trouble);
    *out = login.secret && !login.is_token ? make(conn, plan, &login, ref.registry, err) : NULL;
    return !login.secret || login.is_token || *out ? 0 : -1;
}

/* ---- what is left --------------------------------------------------------------------------- */

static int secret_orphans(struct sw_connection *conn, const struct sw_orphans *search, struct sw_error *err)
{
    sw_auto(json) json_t *all = NULL;
    json_t *entry;
    size_t i;

    if (lepton_call(conn, NULL, "/usersecrets", NULL, &all, err) < 0)
        return -1;
    json_array_foreach(all, i, entry) {
        const char *name = sw_json_str(entry, "name");
        sw_autofree char *id = job_of(name), *path = id ? sw_rest_path("/usersecrets/%s", name) : NULL;

        if (id && !search->sweep->known(search->sweep->context, id) &&
            sw_orphan_add(search, &(struct sw_orphan){
                .what = "secret", .where = name, .job = id, .marked = true,
                .store = json_string_value(json_array_get(json_object_get(entry, "tags"), 0)),
                .owner = sw_json_str(entry, "owner") }) &&
            delete_at(conn, path, NULL) < 0)
            sw_orphan_stays(search);
    }
    return 0;
}

int lepton_secret_orphans(struct sw_connection *conn, const struct sw_orphans *search, struct sw_error *err)
{
    sw_auto(json) json_t *all = NULL;
    sw_autofree char *begins = owner_of(search->sweep->store_id, NULL);
    json_t *entry;
    size_t i;

    if (secret_orphans(conn, search, err) < 0)
        return -1;
    if (!search->sweep->caches || !search->sweep->store_id)
        return 0;
    all = sw_fact(lepton_of(conn)->facts, "/imagepullsecrets", true, err);
    if (!all)
        return -1;
    json_array_foreach(all, i, entry) {
        const char *name = lepton_meta(entry, "name");
        sw_autofree char *path = name && sw_text_starts(name, begins)
            ? sw_rest_path("/imagepullsecrets/%s", name)
                                                                      : NULL;

        if (path && sw_orphan_add(search, &(struct sw_orphan){ .what = "cache", .where = name }) &&
            delete_at(conn, path, NULL) < 0)
            sw_orphan_stays(search);
    }
    sw_facts_forget(lepton_of(conn)->facts);
    return 0;
}
