/* SPDX-License-Identifier: Apache-2.0 */
/*
 * platforms.c - what platforms there are, what they take, what they have, and paths there.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api_internal.h"
#include "api/copy.h"
#include "base/text.h"

const struct sw_spec_platform *api_spec_platforms(size_t *count)
{
    static struct sw_spec_platform table[16];
    static size_t known;
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&once);
    for (const struct sw_platform *p; known < SW_COUNT(table) && (p = sw_platform_at(known));)
        table[known++] = (struct sw_spec_platform){ p->name, p->options, p->alias };
    *count = known;
    pthread_mutex_unlock(&once);
    return table;
}

bool api_is_idle(struct sw_session *session, const struct sw_platform *platform,
                 const struct sw_error *why)
{
    const struct sw_job_filter filter = { .platform = platform->name };
    int64_t count = 0;

    return (why->code == SW_E_UNREACHABLE || why->code == SW_E_SPEC || why->code == SW_E_UNSUPPORTED) &&
           sw_store_count(session->store, &filter, &count, NULL) == 0 && count == 0;
}

static json_t *option_rows(const struct sw_option *options)
{
    json_t *rows = json_array();

    for (; options && options->name; options++) {
        json_t *choices = options->choices ? json_array() : json_null();

        for (const char *const *word = options->choices; word && *word; word++)
            json_array_append_new(choices, json_string(*word));
        json_array_append_new(rows, sw_json_object(
            SW_STR("name", options->name), SW_STR("type", sw_type_name(options->type)),
            SW_STR("default", options->initial), SW_STR("env", options->env),
            SW_STR("help", options->help), SW_SUB("choices", choices),
            SW_SUB("fields", options->fields ? option_rows(options->fields) : json_null())));
    }
    return rows;
}

static json_t *credential_rows(struct sw_session *session, const struct sw_credential *credentials)
{
    json_t *rows = json_array();

    for (; credentials && credentials->name; credentials++)
        json_array_append_new(rows, sw_json_object(
            SW_STR("name", credentials->name), SW_BOOL("required", credentials->required),
            SW_BOOL("present", !sw_text_empty(session ? api_env(session, credentials->name)
                                                       : getenv(credentials->name))),
            SW_STR("help", credentials->help)));
    return rows;
}

static void add_variable(struct sw_session *session, json_t *rows, const char *name)
{
    const char *value = session ? api_env(session, name) : getenv(name);
    const json_t *each;
    size_t i;

    json_array_foreach(rows, i, each)
        if (sw_text_same(sw_json_str(each, "name"), name))
            return;
    json_array_append_new(rows, sw_json_object(SW_STR("name", name), SW_BOOL("set", !sw_text_empty(value))));
}

/* Every variable that decides something there, each once; whether it is set, never what to. */
static json_t *variable_rows(struct sw_session *session, const struct sw_platform *platform)
{
    json_t *rows = json_array();

    for (const struct sw_option *row = platform->options; row && row->name; row++)
        if (row->env)
            add_variable(session, rows, row->env);
    for (const struct sw_credential *each = platform->credentials; each && each->name; each++)
        add_variable(session, rows, each->name);
    for (const char *const *name = platform->variables; name && *name; name++)
        add_variable(session, rows, *name);
    return rows;
}

/* `ready` is taken; NULL: it was not asked. */
static json_t *platform_row(struct sw_session *session, const struct sw_platform *platform, json_t *ready)
{
    return sw_json_object(
        SW_STR("name", platform->name), SW_STR_OPT("alias", platform->alias),
        SW_STR("summary", platform->summary),
        SW_SUB("options", option_rows(platform->options)),
        SW_SUB("credentials", credential_rows(session, platform->credentials)),
        SW_SUB("variables", variable_rows(session, platform)), SW_SUB("ready", ready ? ready : json_null()));
}

static void add_all(struct sw_session *session, json_t *rows)
{
    sw_auto(json) json_t *ready = json_array();
    const struct sw_platform *platform;

    if (session)
        api_ready_rows(session, ready);
    for (size_t i = 0; (platform = sw_platform_at(i)); i++)
        json_array_append_new(rows, platform_row(session, platform, json_incref(json_array_get(ready, i))));
}

char *sw_platforms(struct sw_session *session, const char *name, struct sw_error *err)
{
    sw_auto(json) json_t *rows = json_array();
    const struct sw_platform *platform = name ? sw_platform_need(name, err) : NULL;

    if (name && !platform)
        return NULL;
    if (session && !api_profiles(session, err))     /* ~/.config/tao/.env may hold them */
        return NULL;
    if (platform)
        json_array_append_new(rows, platform_row(session, platform, session ? api_ready(session,
                platform) : NULL));
    else
        add_all(session, rows);
    return api_document("platforms", sw_json_object(SW_SUB_COPY("platforms", rows)));
}

static struct sw_connection *link_to(struct sw_session *session, const char *name,
                               const struct sw_platform **platform, struct sw_error *err)
{
    *platform = name ? sw_platform_need(name, err) : sw_platform_at(0);
    return *platform ? api_connect(session, *platform, session->profile, err) : NULL;
}

/* A URI, or a path when no platform is asked about: storage answers. The paths of a cluster's file
 * system are that platform's, when one is named. */
static bool is_ours(const char *platform_name, const char *path)
{
    if (!platform_name)
        return true;
    return strstr(path, "://") && !sw_text_starts(path, "lustre://") &&
           !sw_text_starts(path, "slurm://");
}

int sw_check_path(struct sw_session *session, const char *platform_name, const char *path,
                  bool *exists, struct sw_error *err)
{
    const struct sw_platform *platform;
    struct sw_connection *conn;

    if (is_ours(platform_name, path))
        return api_check_uri(session, path, exists, err);
    conn = link_to(session, platform_name, &platform, err);
    if (!conn)
        return -1;
    if (!platform->check_path)
        return sw_fail(err, SW_E_UNSUPPORTED, "paths cannot be checked on %s", platform->name);
    return platform->check_path(conn, path, exists, err);
}

char *sw_list_path(struct sw_session *session, const char *platform_name, const char *path,
                   struct sw_error *err)
{
    const struct sw_platform *platform;
    struct sw_connection *conn;

    if (is_ours(platform_name, path))
        return api_list_uri(session, path, err);
    conn = link_to(session, platform_name, &platform, err);
    if (!conn)
        return NULL;
    if (!platform->list_path)
        return sw_null(sw_fail(err, SW_E_UNSUPPORTED, "paths cannot be listed on %s",
                               platform->name));
    return api_text(platform->list_path(conn, path, err));
}

char *sw_schema(struct sw_error *err)
{
    size_t count;
    const struct sw_spec_platform *platforms = api_spec_platforms(&count);

    (void)err;
    return api_text(sw_spec_schema(platforms, count));
}

char *sw_inventory(struct sw_session *session, const char *platform, struct sw_error *err)
{
    const struct sw_platform *found = platform ? sw_platform_need(platform, err) : sw_platform_at(0);
    struct sw_connection *conn;
    json_t *inventory;

    if (!found)
        return NULL;
    if (!found->inventory)
        return sw_null(sw_fail(err, SW_E_UNSUPPORTED, "an inventory is not available on %s",
                               found->name));
    conn = api_connect(session, found, session->profile, err);
    inventory = conn ? found->inventory(conn, err) : NULL;
    return inventory ? api_document("inventory", sw_json_object(SW_STR("platform", found->name),
                                                                SW_SUB("inventory", inventory)))
                     : NULL;
}
