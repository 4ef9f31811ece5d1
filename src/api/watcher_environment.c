/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher_environment.c - the variables that a watcher gets: those that connections are made from, and none
 * that holds a credential. Credentials come through its socket.
 */
#include "api/api_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "storage/settings.h"

extern char **environ;

/* "LC_*": all that begin so. These decide where a connection leads, or which settings are read: */
static const char *const connecting[] = {
    "HOME", "PATH", "USER", "LOGNAME", "SSH_AUTH_SOCK", "SSL_CERT_*", "CURL_CA_BUNDLE", "http_proxy",
    "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "KUBECONFIG", "SLURM_CONF", "SLIPWAY_*", "TAO_*", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
    "LANG", "LC_*",                  /* ssh may send them */
};
/* and these belong to a process as such. */
static const char *const usual[] = {
    "SHELL", "TZ", "TMPDIR", "XDG_*", "DBUS_SESSION_BUS_ADDRESS", "LD_LIBRARY_PATH",
    "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS",
};

static bool fits(const char *pattern, const char *name, size_t length)
{
    size_t stem = strcspn(pattern, "*");

    return pattern[stem] ? length > stem && strncmp(name, pattern, stem) == 0
                         : length == stem && strncmp(name, pattern, stem) == 0;
}

static bool is_asked_by(const struct sw_platform *platform, const char *name, size_t length)
{
    for (const char *const *each = platform->variables; each && *each; each++)
        if (fits(*each, name, length))
            return true;
    for (const struct sw_option *row = platform->options; row && row->name; row++)
        if (row->env && fits(row->env, name, length))
            return true;
    return false;
}

static bool is_among(const char *const *patterns, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (fits(patterns[i], name, length))
            return true;
    return false;
}

static bool connects(const char *name, size_t length)
{
    const struct sw_setting_row *setting = sw_setting_find(name, length);
    sw_autofree char *whole = sw_strndup(name, length);
    const struct sw_platform *platform;

    if (setting)
        return setting->way != SW_SETTING_SECRET;
    if (sw_spec_looks_like_credential(whole))
        return false;
    for (size_t i = 0; (platform = sw_platform_at(i)); i++)
        if (is_asked_by(platform, name, length))
            return true;
    return is_among(connecting, SW_COUNT(connecting), name, length);
}

static bool is_needed(const char *name, size_t length)
{
    return connects(name, length) || is_among(usual, SW_COUNT(usual), name, length);
}

static char **chosen(bool (*wanted)(const char *name, size_t length))
{
    size_t count = 0, all = 0;
    char **out;

    while (environ[all])
        all++;
    out = sw_alloc((all + 1) * sizeof *out);
    for (size_t i = 0; i < all; i++)
        if (wanted(environ[i], strcspn(environ[i], "=")))
            out[count++] = environ[i];
    out[count] = NULL;
    return out;
}

char **api_watcher_environment(void)
{
    return chosen(is_needed);
}

char **api_connection_variables(void)
{
    return chosen(connects);
}
