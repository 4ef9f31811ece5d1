/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redactor.c - what no text that is kept or handed on may hold.
 *
 * The values of the job's secrets, of the platforms' credentials, of every variable that sounds like one,
 * of the
 * .env files, and of what sounds like one in the profiles: everything that this program loads from anywhere,
 * whether or not it was needed so far.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/secret.h"
#include "base/shown.h"
#include "base/text.h"
#include "core/job_values.h"

extern char **environ;

enum { LONG_VALUE = 8 };

static bool sounds_secret(const char *name)
{
    static const char *const words[] = { "TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY",
                                         "CREDENTIAL", "WEBHOOK", "AUTH" };

    for (size_t i = 0; i < SW_COUNT(words); i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

/* In a .env file nearly everything is a credential; of other names only what is long enough not to take
 * half of the text with it. */
static void add_values(struct sw_secrets *secrets, const struct sw_environment *values)
{
    const char *name, *value;

    for (size_t i = 0; sw_environment_at(values, i, &name, &value); i++)
        if (sounds_secret(name) || strlen(value) >= LONG_VALUE)
            sw_secrets_add_value(secrets, name, value);
}

static void add_profile_text(void *secrets, const char *key, const char *value)
{
    if (sounds_secret(key))
        sw_secrets_add_value(secrets, key, value);
}

/* A text may hold a key of several lines with something in front of each, as `git diff` has it. */
static void add_with_lines(struct sw_secrets *secrets, const char *name, const char *value)
{
    sw_secrets_add_value(secrets, name, value);
    for (const char *line = value; *line && strchr(value, '\n');) {
        size_t length = strcspn(line, "\r\n");
        sw_auto(sw_text_wipe) char *one = sw_strndup(line, length);

        if (length >= LONG_VALUE)
            sw_secrets_add_value(secrets, name, one);
        line += length + strspn(line + length, "\r\n");
    }
}

static void add_plan(struct sw_secrets *secrets, const json_t *plan)
{
    sw_auto(sw_environment) struct sw_environment *values = sw_job_values(json_object_get(plan, "dotenv"));
    const char *variable;
    json_t *name;
    size_t i;

    add_values(secrets, values);
    json_array_foreach(json_object_get(plan, "secrets"), i, name)
        sw_secrets_add_env(secrets, json_string_value(name), NULL);
    json_object_foreach(json_object_get(plan, "env"), variable, name)
        if (sounds_secret(variable) && json_string_length(name) >= LONG_VALUE)
            sw_secrets_add_value(secrets, variable, json_string_value(name));
}

struct sw_redactor *api_redactor(struct sw_session *session, const json_t *plan, const struct sw_secrets *job)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    const struct sw_profiles *profiles = api_profiles(session, NULL);
    const struct sw_platform *platform;
    size_t i;

    add_plan(secrets, plan);
    for (i = 0; job && i < sw_secrets_count(job); i++)
        add_with_lines(secrets, sw_secrets_name(job, i), sw_secrets_reveal(job, sw_secrets_name(job, i)));
    pthread_mutex_lock(&session->lock);
    for (i = 0; i < session->folder_count; i++)
        add_values(secrets, session->folders[i]->values);
    pthread_mutex_unlock(&session->lock);
    if (profiles)
        sw_profiles_texts(profiles, add_profile_text, secrets);
    for (i = 0; (platform = sw_platform_at(i)); i++)
        for (const struct sw_credential *each = platform->credentials; each && each->name; each++)
            sw_secrets_add_env(secrets, each->name, NULL);
    for (char **entry = environ; entry && *entry; entry++) {
        sw_autofree char *variable = sw_strndup(*entry, strcspn(*entry, "="));

        if (sounds_secret(variable))
            sw_secrets_add_env(secrets, variable, NULL);
    }
    return sw_redactor_new(secrets);
}

char *api_clean(struct sw_redactor *redactor, const char *bytes, size_t length)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    char *text;

    sw_redactor_feed(redactor, bytes, length, &out);
    sw_redactor_flush(redactor, &out);
    text = sw_text_utf8(sw_buf_text(&out), out.length);
    sw_uris_hide(text);
    return text;
}
