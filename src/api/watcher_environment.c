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

/* A name that ends with '_' or '*' stands for all that begin so. */
static const char *const usual[] = {
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*", "SSH_AUTH_SOCK",
    "SSL_CERT_*", "CURL_CA_BUNDLE", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY",
    "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "KUBECONFIG", "DBUS_SESSION_BUS_ADDRESS", "SLIPWAY_*", "TAO_*",
    "SLURM_CONF", "LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS",
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

static bool is_needed(const char *name, size_t length)
{
    const struct sw_setting_row *setting = sw_setting_find(name, length);
    sw_autofree char *whole = sw_strndup(name, length);
    const struct sw_platform *platform;

    if (setting)
        return setting->way != SW_SETTING_SECRET;
    if (sw_spec_looks_like_credential(whole))
        return false;
    for (size_t i = 0; i < SW_COUNT(usual); i++)
        if (fits(usual[i], name, length))
            return true;
    for (size_t i = 0; (platform = sw_platform_at(i)); i++)
        if (is_asked_by(platform, name, length))
            return true;
    return false;
}

char **api_watcher_environment(void)
{
    size_t count = 0, all = 0;
    char **out;

    while (environ[all])
        all++;
    out = sw_alloc((all + 1) * sizeof *out);
    for (size_t i = 0; i < all; i++)
        if (is_needed(environ[i], strcspn(environ[i], "=")))
            out[count++] = environ[i];
    out[count] = NULL;
    return out;
}
