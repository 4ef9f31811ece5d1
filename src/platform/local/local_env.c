/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_env.c - what of the client's environment a job may see.
 *
 * A job on this machine inherits the environment, as any command would: PATH, conda, proxies.
 * What looks like a credential stays behind unless the job names it under `secrets`; then it
 * travels by pipe. The environment is handed from process to process and never written down.
 *
 * Pure: no I/O.
 */
#include "platform/local/local_internal.h"

#include <stdlib.h>
#include <string.h>

#include "storage/settings.h"

/* Besides those of the data (storage/settings.h) and what its ending gives away. */
static const char *const credential_names[] = { "CLOUD_METADATA" };

static const char *const credential_endings[] = {
    "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_API_KEY", "_SECRET_KEY", "_ACCESS_KEY",
    "_PRIVATE_KEY",
};

/* With `inherit_env: false` only what a program cannot sensibly be without. */
static const char *const bare_minimum[] = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM",
};

static bool is_one_of(const char *const *names, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

bool local_env_is_credential(const char *name, size_t length)
{
    const struct sw_setting_row *setting = sw_setting_find(name, length);

    if ((setting && setting->way == SW_SETTING_SECRET) ||
        is_one_of(credential_names, SW_COUNT(credential_names), name, length))
        return true;
    for (size_t i = 0; i < SW_COUNT(credential_endings); i++) {
        size_t ending = strlen(credential_endings[i]);

        if (length > ending && memcmp(name + length - ending, credential_endings[i], ending) == 0)
            return true;
    }
    return false;
}

static bool is_secret_of(const json_t *secrets, const char *name, size_t length)
{
    size_t i;
    json_t *secret;

    json_array_foreach(secrets, i, secret)
        if (json_string_length(secret) == length &&
            memcmp(json_string_value(secret), name, length) == 0)
            return true;
    return false;
}

static bool passes(const struct local_job *job, const char *name, size_t length)
{
    /* SLIPWAY_*: a job started from within a job is a job of its own. */
    if (length >= 8 && memcmp(name, "SLIPWAY_", 8) == 0)
        return false;
    if (local_env_is_credential(name, length) || is_secret_of(job->plan.secrets, name, length))
        return false;
    if (job->plan.python && is_one_of((const char *const[]){ "PYTHONHOME" }, 1, name, length))
        return false;
    return job->options.inherit_env ||
           is_one_of(bare_minimum, SW_COUNT(bare_minimum), name, length);
}

char **local_env_for(const struct local_job *job, char *const *environment)
{
    size_t count = 0, kept = 0;
    char **out;

    while (environment[count])
        count++;
    out = sw_realloc_array(NULL, count + 1, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(environment[i], '=');

        if (equals && passes(job, environment[i], (size_t)(equals - environment[i])))
            out[kept++] = environment[i];
    }
    out[kept] = NULL;
    return out;
}
