/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_login.c - which workspace, at which address, with which token.
 *
 * In this order: the job's own row or the block, the environment, and the login that the official client
 * saved, which is read and never written. The token comes as "WORKSPACE:TOKEN" or alone.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/document.h"
#include "base/file.h"
#include "base/text.h"

#define LOGIN_FILE "workspace_info.yaml"
enum { LOGIN_MAX = 1024 * 1024 };

static struct sw_secret *secret_of(const char *text)
{
    return sw_text_empty(text) ? NULL : sw_secret_new(text);
}

json_t *lepton_saved_login(const char *text, size_t length, const char *id, struct sw_secret **token)
{
    sw_auto(sw_document) struct sw_document *document = sw_document_parse(text, length, SW_YAML, LOGIN_FILE,
                                                                          NULL);
    const json_t *all = document ? sw_document_value(document) : NULL, *entry;

    id = sw_text_empty(id) ? sw_json_str(all, "current_workspace") : id;
    entry = id ? json_object_get(json_object_get(all, "workspaces"), id) : NULL;
    if (!json_is_object(entry))
        return NULL;
    *token = secret_of(sw_json_str(entry, "auth_token"));
    return sw_json_object(
        SW_STR("workspace", id), SW_STR_OPT("url", sw_json_str(entry, "url")),
        SW_STR_OPT("origin", sw_json_str(entry, "workspace_origin_url")),
        SW_INT("expires_ms", sw_json_int(entry, "token_expires_at", 0)));
}

static json_t *saved(const struct sw_connect_options *config, const char *id, struct sw_secret **token)
{
    const char *folder = sw_cloud_variable(config, "LEPTON_CACHE_DIR");
    const char *home = sw_cloud_variable(config, "HOME");
    sw_autofree char *path = folder ? sw_path_join(folder, LOGIN_FILE)
                             : home ? sw_path_join(home, ".cache/lepton/" LOGIN_FILE) : NULL;
    size_t length = 0;
    sw_auto(sw_text_wipe) char *text = path ? sw_file_read(path, LOGIN_MAX, &length, NULL) : NULL;

    return text ? lepton_saved_login(text, length, id, token) : NULL;
}

/* "WORKSPACE:TOKEN" for another workspace than the one that is meant is no token for it. */
static struct sw_secret *token_of(const char *value, char **workspace)
{
    const char *colon = value ? strchr(value, ':') : NULL;
    sw_autofree char *id = colon ? sw_strndup(value, (size_t)(colon - value)) : NULL;

    if (id && *workspace && !sw_text_same(id, *workspace))
        return NULL;
    if (id && !*workspace)
        *workspace = sw_take(id);
    return secret_of(colon ? colon + 1 : value);
}

/* Scheme and host of an address. */
static char *origin_of(const char *url)
{
    const char *host = strstr(url, "://");

    return sw_strndup(url, host ? (size_t)(host + 3 - url) + strcspn(host + 3, "/?#") : strlen(url));
}

void lepton_login(struct lepton_connection *conn, const struct sw_connect_options *config)
{
    struct lepton_connect_options said = lepton_connect_options(config->options);
    const char *token = sw_cloud_variable(config, "LEPTON_WORKSPACE_TOKEN"), *origin;
    struct sw_secret *kept = NULL;
    sw_auto(json) json_t *login = NULL;

    conn->workspace = sw_strdup(said.workspace);
    conn->token = token_of(token ? token : sw_cloud_variable(config, "LEPTON_AUTH_TOKEN"), &conn->workspace);
    login = saved(config, conn->workspace, &kept);
    if (!conn->workspace)
        conn->workspace = sw_strdup(sw_json_str(login, "workspace"));
    if (!conn->token) {
        conn->token = sw_take(kept);
        conn->token_expires_ms = sw_json_int(login, "expires_ms", 0);
    }
    sw_secret_free(kept);
    conn->url = said.url ? sw_strdup(said.url) : sw_strdup(sw_json_str(login, "url"));
    if (!conn->url)
        conn->url = sw_format(LEPTON_HOST "/api/v2/workspaces/%s", conn->workspace ? conn->workspace : "");
    origin = said.origin ? said.origin : sw_json_str(login, "origin");
    conn->origin = origin ? sw_strdup(origin) : strstr(conn->url, "dgxc") ? origin_of(conn->url) : NULL;
}
