/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - opening and closing a session, and what it keeps open in between.
 *
 * Opening touches only the store. Profiles, .env files and platform connections are made when a
 * call first needs them, so that a verb pays for nothing it does not use.
 *
 * A platform that never answers must not keep sw_close() waiting. Whoever still asks one holds a
 * reference, and the last to let go releases everything.
 */
#include "api/api_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/shown.h"
#include "base/text.h"
#include "base/thread.h"
#include "diagnose/diagnose.h"
#include "monitor/hooks.h"

char *api_state_dir(void)
{
    const char *asked = getenv("SLIPWAY_STATE_DIR");
    const char *xdg = getenv("XDG_STATE_HOME");
    sw_autofree char *home = NULL;

    if (!sw_text_empty(asked))
        return sw_path_absolute(asked, NULL);
    if (!sw_text_empty(xdg) && *xdg == '/')
        return sw_path_absolute("slipway", xdg);
    home = sw_home();
    return home ? sw_path_absolute(".local/state/slipway", home) : NULL;
}

struct sw_session *sw_open(const struct sw_open_options *options, struct sw_error *err)
{
    static const struct sw_open_options defaults = { .size = sizeof defaults };
    struct sw_session *session = sw_new(struct sw_session);

    if (!options)
        options = &defaults;
    session->state_dir = options->state_dir ? sw_path_absolute(options->state_dir, NULL)
                                            : api_state_dir();
    if (options->project_dir)
        session->project_dir = sw_path_absolute(options->project_dir, NULL);
    session->profile = sw_strdup(options->profile);
    session->warn = options->warn;
    session->warn_context = options->warn_context;
    if (options->size >= sizeof *options) {      /* a caller of an older version has none */
        session->progress = options->progress;
        session->progress_context = options->progress_context;
    }
    session->references = 1;
    session->read_only = options->read_only;
    session->pool = sw_refresh_pool_new();
    pthread_mutex_init(&session->lock, NULL);
    pthread_mutex_init(&session->warn_lock, NULL);
    if (session->state_dir) {
        session->store = sw_store_open(session->state_dir, options->read_only, err);
    } else {
        sw_fail(err, SW_E_USAGE, "there is no home folder to keep the jobs in: HOME is not set, and the "
                "password file names none");
        sw_hint(err, "set HOME, or SLIPWAY_STATE_DIR to a folder of yours");
    }
    if (!session->store) {
        sw_close(session);
        return NULL;
    }
    return session;
}

void api_hold(void *context)
{
    struct sw_session *session = context;

    atomic_fetch_add(&session->references, 1);
}

void api_release(void *context)
{
    struct sw_session *session = context;

    if (atomic_fetch_sub(&session->references, 1) > 1)
        return;
    api_connections_close(session);
    api_folders_free(session);
    sw_environment_free(session->values);
    sw_profiles_free(session->profiles);
    json_decref(session->rules);
    sw_store_close(session->store);
    sw_refresh_pool_free(session->pool);
    pthread_mutex_destroy(&session->lock);
    pthread_mutex_destroy(&session->warn_lock);
    free(session->state_dir);
    free(session->project_dir);
    free(session->profile);
    free(session);
}

void sw_close(struct sw_session *session)
{
    if (!session)
        return;
    pthread_mutex_lock(&session->warn_lock);
    session->warn = NULL;
    session->progress = NULL;
    pthread_mutex_unlock(&session->warn_lock);
    api_release(session);
    sw_thread_settle();
}

void api_warn(void *context, const char *text)
{
    struct sw_session *session = context;
    sw_autofree char *shown = sw_uri_shown(text);

    pthread_mutex_lock(&session->warn_lock);
    if (session->warn)
        session->warn(session->warn_context, shown);
    pthread_mutex_unlock(&session->warn_lock);
}

int api_progress(void *context, const char *what, const struct sw_copy_progress *progress)
{
    struct sw_session *session = context;
    sw_autofree char *shown = sw_uri_shown(what);
    int stop = 0;

    pthread_mutex_lock(&session->warn_lock);
    if (session->progress)
        stop = session->progress(session->progress_context, shown, progress);
    pthread_mutex_unlock(&session->warn_lock);
    return stop;
}

const struct sw_spec_platform *api_spec_platforms(size_t *count)
{
    static struct sw_spec_platform table[16];
    static size_t known;
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&once);
    for (const struct sw_platform *p; known < SW_COUNT(table) && (p = sw_platform_at(known));)
        table[known++] = (struct sw_spec_platform){ p->name, p->options };
    *count = known;
    pthread_mutex_unlock(&once);
    return table;
}

bool api_is_idle(struct sw_session *session, const struct sw_platform *platform,
                 const struct sw_error *why)
{
    const struct sw_job_filter filter = { .platform = platform->name };
    int64_t count = 0;

    return (why->code == SW_E_UNREACHABLE || why->code == SW_E_SPEC) &&
           sw_store_count(session->store, &filter, &count, NULL) == 0 && count == 0;
}

/* The user's own files; those of a folder are read by plans alone (folder.c). */
int api_load_once(struct sw_session *session, struct sw_error *err)
{
    const char *home = getenv("HOME");
    sw_autofree char *tao = sw_dotenv_home();
    sw_auto(sw_profiles) struct sw_profiles *profiles = NULL;
    sw_auto(json) json_t *rules = NULL;

    if (session->profiles)
        return 0;
    if (!session->values) {
        session->values = sw_environment_new();
        sw_dotenv_load(tao, session->values, api_warn, session);
    }
    profiles = sw_profiles_load(NULL, home ? home : "/", err);
    if (!profiles)
        return -1;
    rules = sw_profiles_rules(profiles);
    if (sw_rules_check(rules, err) < 0)
        return sw_wrap(err, "[[rules]] in profiles.toml");
    session->rules = sw_take(rules);
    session->profiles = sw_take(profiles);
    return 0;
}

const struct sw_profiles *api_profiles(struct sw_session *session, struct sw_error *err)
{
    int result;

    pthread_mutex_lock(&session->lock);
    result = api_load_once(session, err);
    pthread_mutex_unlock(&session->lock);
    return result == 0 ? session->profiles : NULL;
}

const char *api_env(void *context, const char *name)
{
    const struct sw_session *session = context;

    return sw_environment_get(session->values, name);
}

const json_t *api_rules(void *context)
{
    struct sw_session *session = context;
    const json_t *rules;

    pthread_mutex_lock(&session->lock);
    rules = session->rules;
    pthread_mutex_unlock(&session->lock);
    return rules;
}

void api_run_hooks(struct sw_session *session)
{
    struct sw_error why = { 0 };

    static atomic_flag told = ATOMIC_FLAG_INIT;            /* it will be missing at every look */

    if (!session->read_only && sw_hooks_run(session->store, &why) < 0 &&        /* they stay due */
        !atomic_flag_test_and_set(&told))
        api_warn(session, why.message);
}

int api_refresh_within(struct sw_session *session, const char *const *ids, size_t count,
                       const struct sw_refresh_options *options, json_t *unreachable,
                       struct sw_error *err)
{
    struct sw_monitor monitor = {
        .connect = api_connect_place, .verify = api_verify_place,
        .context = session, .hold = api_hold, .release = api_release,
        .rules = api_rules, .warn = api_warn,
    };

    if (api_need(session, err) < 0)
        return -1;
    monitor.store = session->store;
    monitor.pool = session->pool;
    if (sw_refresh(&monitor, ids, count, options, unreachable, err) < 0 &&
        (!sw_store_make_room(session->store) ||
         sw_refresh(&monitor, ids, count, options, unreachable, err) < 0))
        return -1;
    api_run_hooks(session);
    return 0;
}

int api_refresh(struct sw_session *session, const char *const *ids, size_t count,
                json_t *unreachable, struct sw_error *err)
{
    const struct sw_refresh_options patient = { .deadline_ms = SW_REFRESH_PATIENT };

    return api_refresh_within(session, ids, count, &patient, unreachable, err);
}

int api_replicas(const struct sw_job *row)
{
    return (int)sw_json_int(row->details, "replicas", sw_json_int(row->plan, "nodes", 1));
}

char *api_text(json_t *document)
{
    char *text;

    if (!document)
        return NULL;
    text = sw_json_dump(document);
    json_decref(document);
    return text;
}

void sw_text_free(char *text)
{
    free(text);
}

const char *sw_version(void)
{
    return SW_VERSION;
}
