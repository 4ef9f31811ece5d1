/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount.c - reading `mounts:` entries.
 *
 * They end up in commands and in mount tables on other machines, so whatever could be taken for
 * something else there (blanks, commas, control characters, options, git's "ext::" transports) is
 * refused here, once.
 *
 * Pure: no I/O.
 */
#include "core/mount.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { ENTRY_MAX = 4096, REF_MAX = 255, MOUNTS_MAX = 64 };

static const char *const git_schemes[] = { "https://", "http://", "ssh://", "git://", "file://" };
/* Other spellings of a path on the cluster's shared file system (contract 4.3). */
static const char *const path_schemes[] = { "lustre://", "slurm://" };

void sw_mount_done(struct sw_mount *mount)
{
    free(mount->source);
    free(mount->ref);
    free(mount->target);
    free(mount->flags);
    *mount = (struct sw_mount){ 0 };
}

static int refuse(const char *text, const char *why, struct sw_error *err)
{
    sw_autofree char *shown = sw_text_printable(text, strlen(text));

    sw_fail(err, SW_E_SPEC, "mount '%.200s': %s", shown, why);
    return sw_hint(err, "write SOURCE:TARGET[:FLAGS] or git+URL@REF:TARGET");
}

static size_t scheme_of(const char *text, const char *const *schemes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sw_text_starts(text, schemes[i]))
            return strlen(schemes[i]);
    return 0;
}

/* ---- what the pieces may look like -------------------------------------------------------- */

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f || strchr(",\"'\\`$;|&<>*?(){}", *text))
            return false;
    return true;
}

static bool climbs(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '\0' || at[2] == '/'))
            return true;
    return false;
}

static const char *wrong_target(const char *target)
{
    if (*target != '/')
        return "the target must be an absolute path";
    if (target[strspn(target, "/.")] == '\0')
        return "the target may not be the root";
    return climbs(target) ? "the target may not contain '..'" : NULL;
}

static const char *wrong_flags(const char *flags)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-=+";

    return *flags && isalpha((unsigned char)*flags) && flags[strspn(flags, letters)] == '\0'
        ? NULL : "flags are words such as ro, rw, joined by '+'";
}

/* git's own rules for names, and none that a command could take for an option. */
static const char *wrong_ref(const char *ref)
{
    size_t length = strlen(ref);

    if (length == 0 || length > REF_MAX || *ref == '-' || *ref == '/' || strstr(ref, "..") ||
        strstr(ref, "@{") || strstr(ref, "//") || ref[strcspn(ref, "~^:[")] != '\0' ||
        ref[length - 1] == '/' || ref[length - 1] == '.')
        return "what follows '@' is not a branch, tag or commit";
    return NULL;
}

/* A name before the host is a login with ssh, and a token with everything else. */
static const char *wrong_address(const char *url, size_t scheme)
{
    const char *host = url + scheme;
    size_t length = strcspn(host, "/");
    const char *at = memchr(host, '@', length);

    if (at && (!sw_text_starts(url, "ssh://") || memchr(host, ':', (size_t)(at - host))))
        return "no credentials in it: use git's credential helper, or ssh";
    if (host[0] == '-' || host[length] == '\0' || host[length + 1] == '\0')
        return "the repository's address has no path";
    if (length == 0 && !sw_text_starts(url, "file://"))
        return "the repository's address has no host";
    return climbs(url) ? "the repository's address may not contain '..'" : NULL;
}

/* ---- taking it apart ---------------------------------------------------------------------- */

/* "TARGET[:FLAGS]" */
static const char *take_target(const char *text, struct sw_mount *out)
{
    const char *colon = strchr(text, ':');

    out->target = colon ? sw_strndup(text, (size_t)(colon - text)) : sw_strdup(text);
    out->flags = colon ? sw_strdup(colon + 1) : NULL;
    if (out->flags && wrong_flags(out->flags))
        return wrong_flags(out->flags);
    return wrong_target(out->target);
}

static const char *last_target(const char *text)
{
    const char *found = NULL;

    for (const char *at = text; (at = strstr(at, ":/")); at += 2)
        found = at;
    return found;
}

static const char *take_git(const char *url, struct sw_mount *out)
{
    size_t scheme = scheme_of(url, git_schemes, SW_COUNT(git_schemes));
    const char *path, *target, *ref;

    if (!scheme)
        return "a repository's address begins with https://, ssh://, git:// or file://";
    target = last_target(url + scheme);
    if (!target)
        return "it has no target";
    out->kind = SW_MOUNT_GIT;
    out->source = sw_strndup(url, (size_t)(target - url));
    path = out->source + scheme + strcspn(out->source + scheme, "/");
    ref = strrchr(path, '@');
    out->ref = sw_strdup(ref ? ref + 1 : "HEAD");
    out->source[ref ? (size_t)(ref - out->source) : strlen(out->source)] = '\0';
    if (wrong_address(out->source, scheme))
        return wrong_address(out->source, scheme);
    if (wrong_ref(out->ref))
        return wrong_ref(out->ref);
    return take_target(target + 1, out);
}

static const char *take_path(const char *text, struct sw_mount *out)
{
    size_t scheme = scheme_of(text, path_schemes, SW_COUNT(path_schemes));
    const char *rest = text + scheme, *colon = strchr(rest, ':');
    size_t length = colon ? (size_t)(colon - rest) : strlen(rest);

    if (strstr(rest, "://"))
        return "only paths and git+URL can be mounted; other addresses belong under 'inputs:'";
    if (length == 0)
        return "it has no source";
    out->kind = SW_MOUNT_PATH;
    out->source = scheme && *rest != '/' ? sw_format("/%.*s", (int)length, rest)
                                         : sw_strndup(rest, length);
    if (!colon) {
        out->target = sw_strdup(out->source);
        return wrong_target(out->target);
    }
    return take_target(colon + 1, out);
}

int sw_mount_parse(const char *text, struct sw_mount *out, struct sw_error *err)
{
    sw_auto(sw_mount) struct sw_mount mount = { 0 };
    const char *wrong;

    if (!*text)
        return refuse(text, "it is empty", err);
    if (strlen(text) > ENTRY_MAX)
        return sw_fail(err, SW_E_SPEC, "a mount has more than %d characters", ENTRY_MAX);
    if (!is_plain(text))
        return refuse(text, "blanks, commas, quotes and the shell's signs cannot be mounted", err);
    wrong = sw_text_starts(text, "git+") ? take_git(text + 4, &mount) : take_path(text, &mount);
    if (wrong)
        return refuse(text, wrong, err);
    *out = mount;
    mount = (struct sw_mount){ 0 };
    return 0;
}

bool sw_mount_is_commit(const struct sw_mount *mount)
{
    size_t length = mount->ref ? strlen(mount->ref) : 0;

    return (length == 40 || length == 64) &&
           mount->ref[strspn(mount->ref, "0123456789abcdef")] == '\0';
}

bool sw_mount_says(const struct sw_mount *mount, const char *flag)
{
    size_t length = strlen(flag);

    for (const char *at = mount->flags; at && *at; at += strcspn(at, "+") + (at[strcspn(at, "+")] != 0))
        if (strcspn(at, "+") == length && strncmp(at, flag, length) == 0)
            return true;
    return false;
}

bool sw_mount_is_writable(const struct sw_mount *mount)
{
    return mount->kind == SW_MOUNT_GIT ? sw_mount_says(mount, "rw") : !sw_mount_says(mount, "ro");
}

/* ---- the list ----------------------------------------------------------------------------- */

void sw_mounts_done(struct sw_mounts *mounts)
{
    for (size_t i = 0; i < mounts->count; i++)
        sw_mount_done(&mounts->items[i]);
    free(mounts->items);
    *mounts = (struct sw_mounts){ 0 };
}

static bool taken(const struct sw_mounts *mounts, const char *target)
{
    for (size_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].target, target) == 0)
            return true;
    return false;
}

int sw_mounts_parse(const json_t *list, struct sw_mounts *out, struct sw_error *err)
{
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    size_t i;
    json_t *entry;

    if (json_array_size(list) > MOUNTS_MAX)
        return sw_fail(err, SW_E_SPEC, "more than %d mounts", MOUNTS_MAX);
    mounts.items = sw_realloc_array(NULL, MOUNTS_MAX, sizeof *mounts.items);
    json_array_foreach(list, i, entry) {
        struct sw_mount mount = { 0 };

        if (sw_mount_parse(json_is_string(entry) ? json_string_value(entry) : "", &mount, err) < 0)
            return -1;
        if (taken(&mounts, mount.target)) {
            sw_fail(err, SW_E_SPEC, "two mounts go to '%s'", mount.target);
            sw_mount_done(&mount);
            return -1;
        }
        mounts.items[mounts.count++] = mount;
    }
    *out = mounts;
    mounts = (struct sw_mounts){ 0 };
    return 0;
}
