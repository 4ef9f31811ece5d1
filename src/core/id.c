/* SPDX-License-Identifier: Apache-2.0 */
/*
 * id.c - making and checking job ids.
 *
 * Eight base32 characters are 40 random bits: a thousand jobs of the same name meet by chance
 * once in two million times, and then the store refuses the second row instead of mixing them.
 */
#include "core/id.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { RANDOM_CHARS = 8 };

static void make(const char *name, size_t longest, char id[SW_ID_SIZE])
{
    static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char noise[RANDOM_CHARS];
    size_t used = 0;

    for (; name && *name && used < longest - 1 - RANDOM_CHARS; name++) {
        unsigned char c = (unsigned char)*name;

        if (isascii(c) && isalpha(c))
            id[used++] = (char)tolower(c);
        else if (isascii(c) && isdigit(c) && used > 0)
            id[used++] = (char)c;
        else if (used > 0 && id[used - 1] != '-')
            id[used++] = '-';
    }
    while (used > 0 && id[used - 1] == '-')
        used--;
    if (used == 0) {
        memcpy(id, "job", 3);
        used = 3;
    }
    id[used++] = '-';
    if (getrandom(noise, sizeof noise, 0) != (ssize_t)sizeof noise)
        memset(noise, 0, sizeof noise);       /* the store refuses a clash */
    for (size_t i = 0; i < RANDOM_CHARS; i++)
        id[used++] = base32[noise[i] & 31];
    id[used] = '\0';
}

void sw_id_make(const char *name, char id[SW_ID_SIZE])
{
    make(name, SW_ID_MAX, id);
}

void sw_id_make_group(const char *name, char id[SW_ID_SIZE])
{
    make(name, SW_GROUP_MAX, id);
}

void sw_id_split(const char *group, int split, char id[SW_ID_SIZE])
{
    snprintf(id, SW_ID_SIZE, "%.*s-%d", SW_GROUP_MAX, group, split);
}

int sw_id_check(const char *id, struct sw_error *err)
{
    size_t length = strlen(id);
    const char *wrong = NULL;

    if (length == 0 || length > SW_ID_MAX)
        wrong = "it must have 1 to 35 characters";
    else if (!(id[0] >= 'a' && id[0] <= 'z'))
        wrong = "it must start with a lower-case letter";
    else if (id[length - 1] == '-')
        wrong = "it must not end with '-'";
    else if (id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
        wrong = "only lower-case letters, digits and '-' are allowed";
    if (!wrong)
        return 0;
    return sw_fail(err, SW_E_USAGE, "'%.60s' is not a job id: %s", id, wrong);
}

bool sw_id_valid(const char *id)
{
    return sw_id_check(id, NULL) == 0;
}
