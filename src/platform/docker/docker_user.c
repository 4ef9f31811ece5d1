/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_user.c - the user that a container runs as, in numbers. Pure.
 */
#include "platform/docker/docker_job.h"

#include <string.h>

static bool read_number(const char *text, size_t length, int64_t *out)
{
    int64_t value = 0;

    if (length == 0 || length > 10)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *out = value;
    return true;
}

bool docker_user_numbers(const char *user, struct docker_owner *owner)
{
    const char *colon = strchr(user, ':');
    size_t length = colon ? (size_t)(colon - user) : strlen(user);

    *owner = (struct docker_owner){ 0, 0 };
    if (!read_number(user, length, &owner->uid))
        return false;
    if (colon && !read_number(colon + 1, strlen(colon + 1), &owner->gid))
        owner->gid = 0;                    /* a group's name: the owner alone must do */
    return true;
}

/* Lines "name:x:uid:gid:...". */
bool docker_user_lookup(const char *passwd, const char *user, struct docker_owner *owner)
{
    size_t length = strcspn(user, ":");

    for (const char *line = passwd; line && *line; line = strchr(line, '\n')) {
        const char *uid, *gid;

        line += *line == '\n';
        if (strncmp(line, user, length) != 0 || line[length] != ':')
            continue;
        uid = strchr(line + length + 1, ':');
        gid = uid ? strchr(uid + 1, ':') : NULL;
        if (!gid || !read_number(uid + 1, (size_t)(gid - uid - 1), &owner->uid) ||
            !read_number(gid + 1, strcspn(gid + 1, ":\n"), &owner->gid))
            return false;
        return true;
    }
    return false;
}
