/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_config.c - the user's own files: profiles, rules and ~/.config/tao/.env, read when first needed, and
 * the defaults of config.toml.
 */
#include "api/api_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"
#include "diagnose/diagnose.h"

#define CONFIG "slipway/config.toml"

/* The user's own files; those of a folder are read by plans alone (folder.c). */
int api_load_once(struct sw_session *session, struct sw_error *err)
{
    const char *home = getenv("HOME");
    sw_autofree char *tao = sw_dotenv_home();
    sw_auto(sw_profiles) struct sw_profiles *profiles = NULL;
    sw_auto(json) json_t *rules = NULL;

    SW_ASSERT_HELD(&session->lock);
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

/* As people write it where it is in its usual place. Owned. */
static char *config_path(char **shown)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    bool moved = !sw_text_empty(xdg) && *xdg == '/';
    char *path = moved ? sw_path_join(xdg, CONFIG) : sw_path_home(".config/" CONFIG);

    *shown = sw_strdup(moved ? path : "~/.config/" CONFIG);
    return path;
}

json_t *api_user_defaults(sw_env_fn *env, void *env_context, struct sw_error *err)
{
    struct sw_user_input input = { .env = env, .env_context = env_context };
    sw_auto(sw_document) struct sw_document *file = NULL;
    sw_autofree char *shown = NULL, *path = config_path(&shown), *text = NULL;
    size_t length = 0;
    json_t *defaults;

    if (sw_file_exists(path)) {
        text = sw_file_read_plain(path, SW_DOCUMENT_MAX, &length, err);
        file = text ? sw_document_parse(text, length, SW_TOML, shown, err) : NULL;
        if (!file)
            return NULL;
    }
    input.file = file;
    input.platforms = api_spec_platforms(&input.platform_count);
    defaults = sw_user_defaults_resolve(&input, err);
    if (defaults)
        json_object_set_new(defaults, "file", sw_json_text(shown));
    return defaults;
}

static const char *from_environment(void *context, const char *name)
{
    (void)context;
    return getenv(name);
}

char *sw_user_defaults(struct sw_error *err)
{
    json_t *defaults = api_user_defaults(from_environment, NULL, err);

    if (!defaults)
        return NULL;
    json_object_set_new(defaults, "version", json_integer(1));
    return api_text(defaults);
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
    const char *value = sw_environment_get(session->values, name);

    return value || !session->kept ? value : api_kept_credential(session->kept, name);
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
