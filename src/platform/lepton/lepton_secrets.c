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

#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "platform/kit/pull_login.h"
#include "platform/kit/sending.h"

#define SECRET_BEGINS "slipway."
#define SECRET        "{\"name\":?,\"visibility\":\"private\",\"tags\":[?],\"value\":?}"
#define PULL_BEGINS   "slipway-pull-"            /* a pull secret's name */
#define PULL          "imagepullsecrets"
#define PULL_SECRETS  "/" PULL
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

static int post_secrets(struct sw_connection *conn, const struct sw_plan *plan, int attempt,
                        const struct sw_secrets *secrets, struct sw_error *err)
{
    struct sw_buf body = SW_BUF_INIT;

    sw_json_secrets(&body, "[", NULL);
    for (size_t i = 0; i < sw_secrets_count(secrets); i++) {
        const char *of = sw_secrets_name(secrets, i);
        sw_autofree char *name = lepton_secret_name(plan->job_id, attempt, of);

        sw_json_secrets(&body, i ? "," SECRET : SECRET, (const char *[]){
            name, plan->store_id ? plan->store_id : "", sw_secrets_reveal(secrets, of) });
    }
    sw_json_secrets(&body, "]", NULL);
    return sw_cloud_post_secret(conn, "/usersecrets", &body, false, NULL, err);
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

/* Those of a list whose names begin so. */
static int delete_all(struct sw_connection *conn, const json_t *all, const char *begins, const char *kind,
                      struct sw_error *err)
{
    json_t *entry;
    size_t i;

    json_array_foreach(all, i, entry) {
        const char *own = sw_json_str(entry, "name"), *meta = lepton_meta(entry, "name");
        const char *name = own ? own : meta ? meta : lepton_meta(entry, "id");
        sw_autofree char *path = name && sw_text_starts(name, begins)
                                     ? sw_rest_path("/%s/%s", kind, name) : NULL;

        if (path && sw_cloud_delete(conn, path, err) < 0)
            return -1;
    }
    return 0;
}

int lepton_delete_secrets(struct sw_connection *conn, const char *id, int attempt, struct sw_error *err)
{
    sw_auto(json) json_t *all = NULL;
    sw_autofree char *begins = attempt ? sw_format(SECRET_BEGINS "%s.%d.", id, attempt)
                                       : sw_format(SECRET_BEGINS "%s.", id);

    return sw_cloud_call(conn, NULL, "/usersecrets", NULL, &all, err) < 0
               ? -1 : delete_all(conn, all, begins, "usersecrets", err);
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

static int create(struct sw_connection *conn, const struct sw_pull_login *pull, const char *name,
                  struct sw_error *err)
{
    sw_autofree char *server = sw_format("https://%s", pull->registry);
    struct sw_buf body = SW_BUF_INIT;
    struct sw_error why = { 0 };

    sw_json_secrets(&body, "{\"metadata\":{\"name\":?,\"id\":?},\"spec\":{\"registry_server\":?,"
                    "\"username\":?,\"password\":?}}", (const char *[]){
        name, name, server, pull->login.user ? pull->login.user : "", sw_secret_reveal(pull->login.secret) });
    if (sw_cloud_post_secret(conn, PULL_SECRETS, &body, false, NULL, &why) == 0 || why.code == SW_E_CONFLICT)
        return 0;
    sw_pass(err, &why);
    return sw_wrap(err, "cannot create the image pull secret");
}

/* PULL_BEGINS, the store, a registry (NULL: any). */
static char *owner_of(const char *store_id, const char *registry)
{
    char store[SW_DIGEST_HEX], host[SW_DIGEST_HEX] = "";

    sw_sha256_hex(store_id ? store_id : "", store_id ? strlen(store_id) : 0, store);
    if (registry)
        sw_sha256_hex(registry, strlen(registry), host);
    return sw_format(PULL_BEGINS "%.*s-%.*s%s", HASH_SHOWN, store, HOST_SHOWN, host, registry ? "-" : "");
}

static char *make(struct sw_connection *conn, const struct sw_plan *plan, const struct sw_pull_login *pull,
                  struct sw_error *err)
{
    sw_autofree char *begins = owner_of(plan->store_id, pull->registry);
    sw_autofree char *name = sw_format("%s%.*s", begins, HASH_SHOWN, pull->hash);
    sw_auto(json) json_t *all = sw_cloud_fact(conn, PULL_SECRETS, false, err);

    if (!all || named(all, name))
        return all ? sw_take(name) : NULL;
    json_decref(sw_take(all));
    all = sw_cloud_fact(conn, PULL_SECRETS, true, err);
    if (!all || (!named(all, name) &&            /* those of the same owner have another key */
                 (delete_all(conn, all, begins, PULL, err) < 0 ||
                  create(conn, pull, name, err) < 0)))
        return NULL;
    json_array_append_new(all, json_pack("{s:{s:s}}", "metadata", "name", name));
    return sw_take(name);
}

int lepton_pull_secret(struct sw_connection *conn, const struct sw_plan *plan, char **out,
                       struct sw_error *err)
{
    const char *given = lepton_job_options(plan->options).image_pull_secret;
    sw_auto(sw_pull_login) struct sw_pull_login pull = { 0 };
    sw_auto(json) json_t *all = NULL;

    if (given) {
        all = sw_cloud_fact(conn, PULL_SECRETS, false, err);
        *out = sw_strdup(named(all, given));
        return !all ? -1 : *out ? 0
               : sw_fail(err, SW_E_REFUSED, "lepton.image_pull_secret: the workspace has no pull secret '%s'",
                         given);
    }
    if (sw_pull_login_find(&sw_cloud_of(conn)->given, plan->image, false, &pull, err) < 0)
        return -1;
    *out = pull.login.secret ? make(conn, plan, &pull, err) : NULL;
    return !pull.login.secret || *out ? 0 : -1;
}

/* ---- what is left --------------------------------------------------------------------------- */

static int secret_orphans(struct sw_connection *conn, const struct sw_orphans *search, struct sw_error *err)
{
    sw_auto(json) json_t *all = NULL;
    json_t *entry;
    size_t i;

    if (sw_cloud_call(conn, NULL, "/usersecrets", NULL, &all, err) < 0)
        return -1;
    json_array_foreach(all, i, entry) {
        const char *name = sw_json_str(entry, "name");
        sw_autofree char *id = job_of(name), *path = id ? sw_rest_path("/usersecrets/%s", name) : NULL;

        if (id && !search->sweep->known(search->sweep->context, id) &&
            sw_orphan_add(search, &(struct sw_orphan){
                .what = "secret", .where = name, .job = id, .marked = true,
                .store = json_string_value(json_array_get(json_object_get(entry, "tags"), 0)),
                .owner = sw_json_str(entry, "owner") }) &&
            sw_cloud_delete(conn, path, NULL) < 0)
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
    all = sw_cloud_fact(conn, PULL_SECRETS, true, err);
    if (!all)
        return -1;
    json_array_foreach(all, i, entry) {
        const char *name = lepton_meta(entry, "name");
        sw_autofree char *path = name && sw_text_starts(name, begins)
                                     ? sw_rest_path(PULL_SECRETS "/%s", name) : NULL;

        if (path && sw_orphan_add(search, &(struct sw_orphan){ .what = "cache", .where = name }) &&
            sw_cloud_delete(conn, path, NULL) < 0)
            sw_orphan_stays(search);
    }
    sw_facts_forget(sw_cloud_of(conn)->facts);
    return 0;
}
