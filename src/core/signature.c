/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.c - HMAC-SHA256 of a plan with a key of this user.
 *
 * The key is made once, under a name of its own, and then linked into place: two programs that start
 * at the same moment end up with the same one, and no reader sees half of it.
 */
#include "core/signature.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

enum { KEY_BYTES = 32, KEY_HEX = 2 * KEY_BYTES };

char *sw_signature_key_path(void)
{
    return sw_path_home(".config/slipway/plan.key");
}

/* A key that others can read or replace proves nothing. */
static int read_key(const char *path, char key[KEY_HEX + 1], struct sw_error *err)
{
    sw_autofree char *text = NULL;
    struct stat info;
    size_t length = 0;

    if (lstat(path, &info) < 0)
        return sw_fail_errno(err, SW_E_NOT_FOUND, "cannot read '%s'", path);
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077))
        return sw_fail(err, SW_E_CREDENTIAL, "'%s' is not your file with mode 0600", path);
    text = sw_file_read(path, 4096, &length, err);
    if (!text)
        return -1;
    if (length < KEY_HEX)
        return sw_fail(err, SW_E_CREDENTIAL, "'%s' has no key", path);
    memcpy(key, text, KEY_HEX);
    key[KEY_HEX] = '\0';
    explicit_bzero(text, length);
    return 0;
}

static int make_key(const char *path, struct sw_error *err)
{
    sw_autofree char *folder = sw_path_home(".config/slipway");
    sw_autofree char *beside = sw_format("%s.%ld", path, (long)getpid());
    unsigned char bytes[KEY_BYTES];
    char hex[KEY_HEX + 2];
    int linked;

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return sw_fail_errno(err, SW_E_IO, "no random numbers");
    sw_hex(bytes, sizeof bytes, hex);
    strcat(hex, "\n");
    if (sw_mkdirs(folder, 0700, err) < 0 ||
        sw_file_write(beside, hex, KEY_HEX + 1, 0600, err) < 0)
        return -1;
    linked = link(beside, path);
    unlink(beside);
    explicit_bzero(hex, sizeof hex);
    return linked == 0 || errno == EEXIST
               ? 0 : sw_fail_errno(err, SW_E_IO, "cannot make '%s'", path);
}

static void sign(const json_t *plan, const char *key, char out[SW_DIGEST_HEX])
{
    char *text = json_dumps(plan, JSON_SORT_KEYS | JSON_COMPACT);
    unsigned char mac[32];

    sw_hmac_sha256(key, KEY_HEX, text ? text : "", text ? strlen(text) : 0, mac);
    sw_hex(mac, sizeof mac, out);
    free(text);
}

int sw_signature_make(const json_t *plan, char out[SW_DIGEST_HEX], struct sw_error *err)
{
    sw_autofree char *path = sw_signature_key_path();
    struct sw_error why = { 0 };
    char key[KEY_HEX + 1];

    if (read_key(path, key, &why) < 0) {
        if (why.code != SW_E_NOT_FOUND) {
            return sw_pass(err, &why);
        }
        if (make_key(path, err) < 0 || read_key(path, key, err) < 0)
            return -1;
    }
    sign(plan, key, out);
    explicit_bzero(key, sizeof key);
    return 0;
}

/* The time it takes does not tell how much of it was right. */
static bool is_same(const char *a, const char *b)
{
    unsigned char differs = strlen(a) != strlen(b);

    for (size_t i = 0; a[i] && b[i]; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return !differs;
}

bool sw_signature_fits(const json_t *plan, const char *signature)
{
    sw_autofree char *path = sw_signature_key_path();
    char key[KEY_HEX + 1], mine[SW_DIGEST_HEX];

    if (!signature || !*signature || !plan || read_key(path, key, NULL) < 0)
        return false;
    sign(plan, key, mine);
    explicit_bzero(key, sizeof key);
    return is_same(mine, signature);
}
