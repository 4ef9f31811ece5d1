/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.c - open links to platforms, and the places they lead to.
 *
 * A job is tied to its place. Before it is sent, the place is settled from the job's own options and
 * written down with the identity of what answers there; every later verb opens its connection from the
 * row. Today's folder, profile and environment decide only where new jobs go.
 *
 * That a job is there is proven by our marks on it. That it is gone is believed only where the
 * identity is still the same: an engine that answers at another's address knows nothing about it.
 */
#include "api/api_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void api_connections_close(struct sw_session *session)
{
    for (size_t i = 0; i < session->connection_count; i++) {
        session->connections[i].platform->close(session->connections[i].conn);
        free(session->connections[i].key);
    }
    free(session->connections);
}

/* The session's lock is held by the callers of these. */

static struct connection *find(struct sw_session *session, const struct sw_platform *platform,
                               const char *key, int64_t place)
{
    for (size_t i = 0; i < session->connection_count; i++) {
        struct connection *known = &session->connections[i];

        if (known->platform == platform &&
            (place ? known->place == place : known->key && sw_text_same(known->key, key)))
            return known;
    }
    return NULL;
}

/* `folder`: that of the job which is planned; NULL: variables come from the user's own files alone. */
static struct sw_connection *open_one(struct sw_session *session, const struct sw_platform *platform,
                                const json_t *options, struct api_folder *folder,
                                const char *key, int64_t place, struct sw_error *err)
{
    const struct sw_connect_options config = {
        .state_dir = session->state_dir, .options = options, .warn = api_warn,
        .warn_context = session, .progress = api_progress, .progress_context = session,
        .env = folder ? api_folder_env : api_env,
        .env_context = folder ? (void *)folder : session,
        .borrow = session->kept ? NULL : api_borrow, .borrow_context = session,
    };
    struct sw_connection *conn = platform->open(&config, err);

    if (!conn)
        return NULL;
    session->connections = sw_realloc_array(session->connections, session->connection_count + 1,
                                            sizeof *session->connections);
    session->connections[session->connection_count++] =
        (struct connection){ platform, sw_strdup(key), place, conn };
    return conn;
}

/* A platform's own options outside any job: profile, environment, defaults. */
static json_t *options_of_today(struct sw_session *session, const struct sw_platform *platform,
                                const char *profile, struct sw_error *err)
{
    size_t count;
    const struct sw_spec_platform *platforms = api_spec_platforms(&count);
    struct sw_spec_input input = {
        .profile = profile, .platforms = platforms, .platform_count = count, .env = api_env,
        .env_context = session,
    };

    if (api_load_once(session, err) < 0)
        return NULL;
    input.profiles = session->profiles;
    return sw_spec_place_options(&input, platform->name, err);
}

static struct sw_connection *connect_profile(struct sw_session *session,
                                       const struct sw_platform *platform, const char *profile,
                                       struct sw_error *err)
{
    sw_autofree char *key = sw_format("profile %s", profile ? profile : "");
    struct connection *known = find(session, platform, key, 0);
    sw_auto(json) json_t *options = known ? NULL
                                          : options_of_today(session, platform, profile, err);

    if (known)
        return known->conn;
    return options ? open_one(session, platform, options, NULL, key, 0, err) : NULL;
}

/* What the job says about the connection counts; everything else comes from the user's own files, so that
 * jobs of one place share a connection. */
static struct sw_connection *connect_options(struct sw_session *session,
                                       const struct sw_platform *platform, const json_t *options,
                                       struct api_folder *folder, struct sw_error *err)
{
    sw_auto(json) json_t *mine = sw_connection_options(platform->options, options);
    sw_autofree char *text = json_dumps(mine, JSON_SORT_KEYS | JSON_COMPACT);
    sw_autofree char *key = sw_format("folder %p options %s", (void *)folder, text ? text : "");
    struct connection *known = find(session, platform, key, 0);
    const struct sw_place wanted = { .options = mine };
    sw_auto(json) json_t *today = NULL, *whole = NULL;

    if (known)
        return known->conn;
    today = options_of_today(session, platform, session->profile, err);
    if (!today)
        return NULL;
    whole = sw_place_open_options(&wanted, platform->options, today);
    return open_one(session, platform, whole, folder, key, 0, err);
}

/* What the row says about the connection counts; a profile that cannot be read any more takes nothing from
 * it. */
static struct sw_connection *connect_place(struct sw_session *session,
                                     const struct sw_platform *platform, const char *profile,
                                     int64_t seq, struct sw_error *err)
{
    struct connection *known = find(session, platform, NULL, seq);
    sw_auto(sw_place) struct sw_place place = { 0 };
    sw_auto(json) json_t *today = NULL, *options = NULL;

    if (known)
        return known->conn;
    if (sw_store_place(session->store, seq, &place, err) < 0)
        return NULL;
    today = options_of_today(session, platform, profile, NULL);
    options = sw_place_open_options(&place, platform->options, today);
    return open_one(session, platform, options, NULL, NULL, seq, err);
}

struct sw_connection *api_connect(struct sw_session *session, const struct sw_platform *platform,
                         const char *profile, struct sw_error *err)
{
    struct sw_connection *conn;

    pthread_mutex_lock(&session->lock);
    conn = connect_profile(session, platform, profile, err);
    pthread_mutex_unlock(&session->lock);
    return conn;
}

struct sw_connection *api_connect_job(struct sw_session *session, const struct sw_platform *platform,
                                const json_t *options, struct api_folder *folder,
                                struct sw_error *err)
{
    struct sw_connection *conn;

    pthread_mutex_lock(&session->lock);
    conn = connect_options(session, platform, options, folder, err);
    pthread_mutex_unlock(&session->lock);
    return conn;
}

struct sw_connection *api_connect_place(void *context, const struct sw_platform *platform,
                                  const char *profile, int64_t place, struct sw_error *err)
{
    struct sw_session *session = context;
    struct sw_connection *conn;

    pthread_mutex_lock(&session->lock);
    conn = place ? connect_place(session, platform, profile, place, err)
                 : connect_profile(session, platform, profile, err);
    pthread_mutex_unlock(&session->lock);
    return conn;
}

/* ---- the place itself --------------------------------------------------------------------------- */

/* All but the identity, which has to be asked for. */
static void describe(const struct sw_platform *platform, struct sw_connection *conn,
                     struct sw_place *out)
{
    *out = (struct sw_place){ .platform = sw_strdup(platform->name) };
    if (platform->place)
        platform->place(conn, out);
    if (!out->address)
        out->address = sw_strdup("");
    if (!out->options)
        out->options = json_object();
}

char *api_address(const struct sw_platform *platform, struct sw_connection *conn)
{
    sw_auto(sw_place) struct sw_place place = { 0 };

    describe(platform, conn, &place);
    return *place.address ? sw_take(place.address) : NULL;
}

static int ask_identity(const struct sw_platform *platform, struct sw_connection *conn, char **identity,
                        struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    if (platform->identify && platform->identify(conn, &text, err) < 0)
        return -1;
    *identity = sw_strdup(sw_buf_text(&text));
    return 0;
}

/* Rows of this place are served by this connection. */
static void serve(struct sw_session *session, const struct sw_connection *conn, int64_t place)
{
    pthread_mutex_lock(&session->lock);
    for (size_t i = 0; i < session->connection_count; i++)
        if (session->connections[i].conn == conn)
            session->connections[i].place = place;
    pthread_mutex_unlock(&session->lock);
}

/* Never heard before: is it the same when asked again? Some engines make a new id for each answer. */
static int believe_identity(const struct sw_platform *platform, struct sw_connection *conn,
                            struct sw_place *place, struct sw_error *err)
{
    sw_autofree char *again = NULL;

    if (sw_text_empty(place->identity))
        return 0;
    if (ask_identity(platform, conn, &again, err) < 0)
        return -1;
    if (sw_text_empty(again) || !sw_identity_same(place->identity, again))
        *place->identity = '\0';
    return 0;
}

int api_settle_place(struct sw_session *session, const struct sw_platform *platform,
                     struct sw_connection *conn, int64_t *place, struct sw_error *err)
{
    sw_auto(sw_place) struct sw_place here = { 0 };

    describe(platform, conn, &here);
    if (ask_identity(platform, conn, &here.identity, err) < 0 ||
        sw_store_place_find(session->store, &here, place, err) < 0)
        return -1;
    if (!*place && (believe_identity(platform, conn, &here, err) < 0 ||
                    sw_store_place_add(session->store, &here, place, err) < 0))
        return -1;
    serve(session, conn, *place);
    return 0;
}

static int fail_elsewhere(const struct sw_place *place, const char *identity, struct sw_error *err)
{
    const char *was = strchr(place->identity, ' '), *now = strchr(identity, ' ');

    sw_fail(err, SW_E_UNREACHABLE, "it runs on %s%s%s%s, but another one answers there now%s%s%s",
            *place->address ? place->address : "another machine", was ? " (" : "",
            was ? was + 1 : "", was ? ")" : "", now ? " (" : "", now ? now + 1 : "",
            now ? ")" : "");
    return sw_hint(err, "ask from where %s leads to the one it was sent to; if that no longer exists, "
                        "`slipway rm --forget` removes the record",
                   *place->address ? place->address : "its address");
}

int api_verify_place(void *context, const struct sw_platform *platform, const char *profile,
                     int64_t seq, struct sw_error *err)
{
    struct sw_session *session = context;
    sw_auto(sw_place) struct sw_place place = { 0 };
    sw_autofree char *identity = NULL;
    struct sw_connection *conn;

    if (!seq || !platform->identify)
        return 0;
    conn = api_connect_place(session, platform, profile, seq, err);
    if (!conn || sw_store_place(session->store, seq, &place, err) < 0)
        return -1;
    if (sw_text_empty(place.identity))
        return 0;
    if (ask_identity(platform, conn, &identity, err) < 0)
        return -1;
    if (sw_identity_same(place.identity, identity))
        return 0;
    fail_elsewhere(&place, identity, err);
    return SW_ANOTHER_PLACE;
}

/* ---- a job and all that leads to it ---------------------------------------------------------- */

int api_job_verify(struct sw_session *session, const struct api_job *job, struct sw_error *err)
{
    return api_verify_place(session, job->platform, job->row.profile, job->row.place, err);
}

int api_job_reach(struct sw_session *session, const char *id, struct api_job *out,
                  struct sw_error *err)
{
    return api_job_open(session, id, out, err) < 0 || api_job_verify(session, out, err) != 0 ? -1
                                                                                             : 0;
}

int api_job_open(struct sw_session *session, const char *id, struct api_job *out,
                 struct sw_error *err)
{
    if (api_need(session, err) < 0 ||
        sw_store_get(session->store, id, SW_COLUMNS_ALL, &out->row, err) < 0)
        return -1;
    out->platform = sw_platform_need(out->row.platform, err);
    if (!out->platform)
        return -1;
    out->conn = api_connect_place(session, out->platform, out->row.profile, out->row.place, err);
    if (!out->conn)
        return -1;
    out->ref = sw_job_ref(&out->row);
    return 0;
}

bool api_knows(struct sw_session *session, const char *id)
{
    sw_auto(sw_job) struct sw_job row = { 0 };
    struct sw_error why = { 0 };

    return sw_store_get(session->store, id, SW_COLUMNS_LIST, &row, &why) == 0 ||
           why.code != SW_E_NOT_FOUND;
}

int api_replicas(const struct sw_job *row)
{
    return (int)sw_json_int(row->details, "replicas", sw_json_int(row->plan, "nodes", 1));
}
