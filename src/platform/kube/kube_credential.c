/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_credential.c - who makes the next call: what the kubeconfig says, kept fresh.
 *
 * Called before each call, so the usual case costs a stat() at most: files are read again when they
 * were replaced, once a minute, and after a 401; an exec plugin is run again shortly before its answer
 * expires, and after a 401. What cannot be renewed is used as long as it may be good.
 */
#include "platform/kube/kube_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"

enum { READ_AGAIN_MS = 60000, MARGIN_MS = 60000, EXEC_PATIENCE_MS = 60000 };

/* ---- files that are replaced --------------------------------------------------------------------- */

/* Read without a copy that stays behind. */
struct sw_secret *kube_secret_read(const char *path, struct sw_error *err)
{
    sw_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat info = { 0 };
    bool plain = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    char *text = plain ? sw_alloc(KUBE_FILE_MAX + 1) : NULL;
    struct sw_secret *secret = NULL;
    size_t length = 0;
    ssize_t got = 0;

    while (text && length < KUBE_FILE_MAX &&
           ((got = read(fd, text + length, KUBE_FILE_MAX - length)) > 0 || (got < 0 && errno == EINTR)))
        length += got > 0 ? (size_t)got : 0;
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    if (fd < 0 || got < 0)
        sw_fail_errno(err, SW_E_IO, "cannot read '%s'", path);
    else if (!text)
        sw_fail(err, SW_E_IO, "'%s' is not a plain file", path);
    else if (length == 0 || length == KUBE_FILE_MAX || strlen(text) != length)
        sw_fail(err, SW_E_IO, "'%s' is empty, too large or not text", path);
    else
        secret = sw_secret_new(text);
    if (text)
        explicit_bzero(text, KUBE_FILE_MAX);
    free(text);
    return secret;
}

static bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino && one->st_size == other->st_size &&
           one->st_mtim.tv_sec == other->st_mtim.tv_sec && one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

/* Is it time to read it? Then it is remembered as read. */
static bool is_due(struct kube_file *file, const char *path, bool refused)
{
    struct stat now = { 0 };
    int64_t now_ms = sw_monotonic_ms();

    (void)!stat(path, &now);
    if (!refused && file->read_ms && now_ms - file->read_ms < READ_AGAIN_MS &&
        is_same_file(&now, &file->seen))
        return false;
    file->seen = now;
    file->read_ms = now_ms;
    return true;
}

static int renew_token(struct kube *kube, bool refused, struct sw_error *err)
{
    struct kube_credentials *has = &kube->credentials;
    const struct kube_user *user = &kube->config.user;
    struct sw_error why = { 0 };
    struct sw_secret *fresh;

    if (!is_due(&has->token, user->token_file, refused))
        return 0;
    fresh = kube_secret_read(user->token_file, &why);
    if (fresh && strpbrk(sw_secret_reveal(fresh), "\r\n")) {
        sw_secret_free(sw_take(fresh));
        sw_fail(&why, SW_E_CREDENTIAL, "'%s' has more than one line", user->token_file);
    }
    if (!fresh) {
        has->token.read_ms = 0;
        if (has->file_token || user->token)
            return 0;
        return sw_fail(err, SW_E_CREDENTIAL, "no token: %s", why.message);
    }
    sw_secret_free(has->file_token);
    has->file_token = fresh;
    return 0;
}

static void use_certificate(struct kube_credentials *has, const struct sw_secret *pem,
                            const struct sw_secret *key)
{
    sw_rest_certificate_free(has->shared);
    has->shared = sw_rest_certificate_new(sw_secret_reveal(pem), sw_secret_reveal(key));
}

/* A part that is a file is read again; the other one stays. */
static bool read_again(const char *path, struct sw_secret **part)
{
    struct sw_secret *fresh = path ? kube_secret_read(path, NULL) : NULL;
    bool changed = fresh && !sw_text_same(sw_secret_reveal(fresh), sw_secret_reveal(*part));

    if (fresh) {
        sw_secret_free(*part);
        *part = fresh;
    }
    return changed;
}

static void renew_certificate(struct kube *kube, bool refused)
{
    struct kube_credentials *has = &kube->credentials;
    struct kube_user *user = &kube->config.user;
    const char *path = user->certificate_file ? user->certificate_file : user->key_file;
    bool changed = !has->shared;

    if (!user->certificate)
        return;
    if (path && is_due(&has->certificate, path, refused)) {
        changed |= read_again(user->certificate_file, &user->certificate);
        changed |= read_again(user->key_file, &user->key);
    }
    if (changed)
        use_certificate(has, user->certificate, user->key);
}

/* ---- a program ----------------------------------------------------------------------------------- */

static int renew_exec(struct kube *kube, bool refused, struct sw_error *err)
{
    struct kube_credentials *has = &kube->credentials;
    struct kube_exec_credential fresh = { 0 };
    struct sw_error why = { 0 };
    int64_t now_ms = sw_now_ms(), life_ms;

    if (!refused && now_ms < has->exec_until_ms)
        return 0;
    if (kube_exec_run(kube->config.user.exec, &kube->config.cluster, EXEC_PATIENCE_MS, &fresh, &why) < 0)
        return !refused && now_ms < has->exec.expires_ms ? 0 : sw_pass(err, &why);
    kube_exec_credential_done(&has->exec);
    has->exec = fresh;
    life_ms = fresh.expires_ms - now_ms;
    has->exec_until_ms = !fresh.expires_ms ? INT64_MAX
                         : fresh.expires_ms - (life_ms / 4 < MARGIN_MS ? life_ms / 4 : MARGIN_MS);
    if (fresh.certificate)
        use_certificate(has, fresh.certificate, fresh.key);
    else if (!kube->config.user.certificate)
        sw_rest_certificate_free(sw_take(has->shared));
    return 0;
}

/* ---- all together -------------------------------------------------------------------------------- */

static void add_secret(struct sw_buf *out, const char *scheme, const char *value)
{
    sw_buf_reserve_wiping(out, strlen(scheme) + strlen(value) + 1);
    sw_buf_add(out, scheme);
    sw_buf_add(out, value);
}

static void add_password(const struct kube_user *user, struct sw_buf *out)
{
    const char *password = user->password ? sw_secret_reveal(user->password) : "";
    size_t length = strlen(user->username) + 1 + strlen(password);
    sw_auto(sw_text_wipe) char *both = sw_format("%s:%s", user->username, password);
    sw_auto(sw_text_wipe) char *encoded = sw_base64(both, length);

    add_secret(out, "Basic ", encoded);
}

int kube_authorize(void *context, bool refused, struct sw_rest_credential *out, struct sw_error *err)
{
    struct kube *kube = context;
    const struct kube_user *user = &kube->config.user;
    const struct sw_secret *token;
    bool asks = user->exec && !user->token && !user->token_file && !user->username;

    renew_certificate(kube, refused);
    if (user->token_file && renew_token(kube, refused, err) < 0)
        return -1;
    if (asks && renew_exec(kube, refused, err) < 0)
        return -1;
    token = kube->credentials.file_token ? kube->credentials.file_token
            : user->token                ? user->token : kube->credentials.exec.token;
    if (token)
        add_secret(&out->authorization, "Bearer ", sw_secret_reveal(token));
    else if (user->username)
        add_password(user, &out->authorization);
    out->certificate = sw_rest_certificate_share(kube->credentials.shared);
    return 0;
}

void kube_credentials_done(struct kube_credentials *credentials)
{
    sw_secret_free(credentials->file_token);
    kube_exec_credential_done(&credentials->exec);
    sw_rest_certificate_free(credentials->shared);
}
