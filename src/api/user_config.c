/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_config.c - the user's own files: profiles, rules and ~/.config/tao/.env, read when first needed.
 */
#include "api/api_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/thread.h"
#include "diagnose/diagnose.h"

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
