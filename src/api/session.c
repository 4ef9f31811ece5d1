/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - opening and closing a session.
 *
 * Opening touches only the store. Profiles, .env files and connections are made when a call first needs them,
 * so that a verb pays for nothing it does not use.
 *
 * A platform that never answers must not keep sw_close() waiting: each thread that still asks one holds a
 * reference, and the last one releases everything.
 */
#include "api/api_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/shown.h"
#include "base/text.h"
#include "base/thread.h"

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
    session->progress = options->progress;
    session->progress_context = options->progress_context;
    session->references = 1;
    session->read_only = options->read_only;
    session->pool = sw_refresh_pool_new();
    pthread_mutex_init(&session->lock, NULL);
    pthread_mutex_init(&session->warn_lock, NULL);
    if (session->state_dir) {
        session->store = sw_store_open(session->state_dir, options->read_only, err);
    } else {
        sw_fail(err, SW_E_USAGE, "no home folder for the job store: HOME is not set, and the password "
                                 "file names none");
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
    api_kept_free(session->kept);
    sw_profiles_free(session->profiles);
    json_decref(session->rules);
    api_seen_git_free(session->seen_git);
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
