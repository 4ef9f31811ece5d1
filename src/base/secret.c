/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.c - secret values: kept apart, passed by pipe, wiped, and filtered out of streams.
 *
 * On the pipe a set is NAME=VALUE records, each ended by a NUL. What a secret may look like in a stream, and
 * how short it may be, secret_forms.h says.
 */
#include "base/secret.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/secret_forms.h"

enum { LARGEST_SET = 1024 * 1024 };

struct sw_secret {
    char *value;
};

struct named_secret {
    char *name, *value;
};

struct sw_secrets {
    struct named_secret *items;
    size_t count;
};

/* ---- one value ------------------------------------------------------------------------------------- */

struct sw_secret *sw_secret_new(const char *value)
{
    struct sw_secret *secret = sw_new(struct sw_secret);

    assert(value);
    secret->value = sw_strdup(value);
    return secret;
}

void sw_secret_free(struct sw_secret *secret)
{
    if (secret)
        sw_text_wipe(secret->value);
    free(secret);
}

const char *sw_secret_reveal(const struct sw_secret *secret)
{
    return secret->value;
}

void sw_text_wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void sw_buf_wipe(struct sw_buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->room);
    sw_buf_done(buf);
}

void sw_buf_reserve_wiping(struct sw_buf *buf, size_t more)
{
    struct sw_buf larger = SW_BUF_INIT;

    if (buf->room > buf->length + more)
        return;
    sw_buf_reserve(&larger, 2 * buf->length + more);
    if (buf->length)
        sw_buf_add_bytes(&larger, buf->data, buf->length);
    sw_buf_wipe(buf);
    *buf = larger;
}

/* ---- values by name -------------------------------------------------------------------------------- */

struct sw_secrets *sw_secrets_new(void)
{
    return sw_new(struct sw_secrets);
}

static void named_done(struct named_secret *item)
{
    sw_text_wipe(item->value);
    free(item->name);
}

void sw_secrets_free(struct sw_secrets *secrets)
{
    if (!secrets)
        return;
    for (size_t i = 0; i < secrets->count; i++)
        named_done(&secrets->items[i]);
    free(secrets->items);
    free(secrets);
}

static bool guarded;

static void add(struct sw_secrets *secrets, const char *name, size_t name_length,
                const char *value)
{
    secrets->items = sw_realloc_array(secrets->items, secrets->count + 1, sizeof *secrets->items);
    secrets->items[secrets->count].name = sw_strndup(name, name_length);
    secrets->items[secrets->count].value = sw_strdup(value);
    if (guarded)                     /* the system allows some memory to be locked, or none: then it is not */
        (void)!mlock(secrets->items[secrets->count].value, strlen(value) + 1);
    secrets->count++;
}

int sw_secrets_add(struct sw_secrets *secrets, const char *name, const char *value,
                   struct sw_error *err)
{
    if (!value || !*value) {
        sw_fail(err, SW_E_CREDENTIAL, "the job needs the secret %s, which is not set", name);
        return sw_hint(err, "export %s, or put it into ~/.config/tao/.env (mode 0600)", name);
    }
    add(secrets, name, strlen(name), value);
    return 0;
}

int sw_secrets_add_env(struct sw_secrets *secrets, const char *name, struct sw_error *err)
{
    return sw_secrets_add(secrets, name, getenv(name), err);
}

void sw_secrets_add_value(struct sw_secrets *secrets, const char *name, const char *value)
{
    add(secrets, name, strlen(name), value);
}

size_t sw_secrets_count(const struct sw_secrets *secrets)
{
    return secrets ? secrets->count : 0;
}

int sw_secrets_send(const struct sw_secrets *secrets, int fd)
{
    for (size_t i = 0; secrets && i < secrets->count; i++) {
        const struct named_secret *s = &secrets->items[i];

        if (sw_write_all(fd, s->name, strlen(s->name)) < 0 || sw_write_all(fd, "=", 1) < 0 ||
            sw_write_all(fd, s->value, strlen(s->value) + 1) < 0)
            return -1;
    }
    return 0;
}

struct sw_secrets *sw_secrets_receive(int fd, struct sw_error *err)
{
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    struct sw_buf in = SW_BUF_INIT;
    bool good = true;

    sw_buf_reserve(&in, 4096);
    for (;;) {
        ssize_t n;

        if (in.length > LARGEST_SET) {
            sw_fail(err, SW_E_INTERNAL, "the secrets are larger than %d bytes", LARGEST_SET);
            good = false;
            break;
        }
        sw_buf_reserve_wiping(&in, 4096);
        n = read(fd, in.data + in.length, 4096);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            sw_fail_errno(err, SW_E_IO, "cannot read the secrets");
            good = false;
        }
        if (n <= 0)
            break;
        in.length += (size_t)n;
        in.data[in.length] = '\0';
    }
    for (const char *at = in.data; good && at < in.data + in.length; at += strlen(at) + 1) {
        const char *equals = strchr(at, '=');

        if (equals)
            add(secrets, at, (size_t)(equals - at), equals + 1);
    }
    sw_buf_wipe(&in);
    return good ? sw_take(secrets) : NULL;
}

void sw_secrets_export(const struct sw_secrets *secrets)
{
    for (size_t i = 0; secrets && i < secrets->count; i++)
        setenv(secrets->items[i].name, secrets->items[i].value, 1);
}

const char *sw_secrets_name(const struct sw_secrets *secrets, size_t index)
{
    return secrets && index < secrets->count ? secrets->items[index].name : NULL;
}

void sw_secrets_add_owned(struct sw_secrets *to, const char *owner, const struct sw_secrets *from)
{
    assert(!strchr(owner, '/'));
    for (size_t i = 0; from && i < from->count; i++) {
        sw_autofree char *name = sw_format("%s/%s", owner, from->items[i].name);

        add(to, name, strlen(name), from->items[i].value);
    }
}

/* The name that it has for its owner; NULL: it is another's. */
static const char *name_for(const char *owner, const struct named_secret *item)
{
    size_t length = strlen(owner);

    return strncmp(item->name, owner, length) == 0 && item->name[length] == '/' ? item->name + length + 1
                                                                                : NULL;
}

struct sw_secrets *sw_secrets_owned(const struct sw_secrets *all, const char *owner)
{
    struct sw_secrets *own = sw_secrets_new();

    for (size_t i = 0; all && i < all->count; i++) {
        const char *name = name_for(owner, &all->items[i]);

        if (name)
            add(own, name, strlen(name), all->items[i].value);
    }
    return own;
}

void sw_secrets_drop_owned(struct sw_secrets *all, const char *owner)
{
    size_t kept = 0;

    for (size_t i = 0; i < all->count; i++)
        if (name_for(owner, &all->items[i]))
            named_done(&all->items[i]);
        else
            all->items[kept++] = all->items[i];
    all->count = kept;
}

struct sw_secrets *sw_secrets_copy(const struct sw_secrets *secrets)
{
    struct sw_secrets *copy = sw_secrets_new();

    for (size_t i = 0; secrets && i < secrets->count; i++)
        add(copy, secrets->items[i].name, strlen(secrets->items[i].name), secrets->items[i].value);
    return copy;
}

const char *sw_secrets_reveal(const struct sw_secrets *secrets, const char *name)
{
    for (size_t i = secrets ? secrets->count : 0; i-- > 0;)
        if (strcmp(secrets->items[i].name, name) == 0)
            return secrets->items[i].value;
    return NULL;
}

void sw_secrets_guard(void)
{
    guarded = true;
    prctl(PR_SET_DUMPABLE, 0);
}

/* ---- the redactor ---------------------------------------------------------------------------------- */

struct secret_pattern {
    char *bytes;
    size_t length;
};

struct sw_redactor {
    struct secret_pattern *patterns;
    size_t count;
    bool begins[256];                  /* a pattern begins with this byte */
    struct sw_buf held;
    size_t covered;                    /* the first bytes of `held` belong to a mask that is out already */
};

static void add_pattern(void *context, const char *form, size_t length)
{
    struct sw_redactor *redactor = context;

    for (size_t i = 0; i < redactor->count; i++)
        if (redactor->patterns[i].length == length &&
            memcmp(redactor->patterns[i].bytes, form, length) == 0)
            return;
    redactor->patterns = sw_realloc_array(redactor->patterns, redactor->count + 1,
                                          sizeof *redactor->patterns);
    redactor->patterns[redactor->count++] = (struct secret_pattern){ sw_strndup(form, length), length };
    redactor->begins[(unsigned char)*form] = true;
}

struct sw_redactor *sw_redactor_new(const struct sw_secrets *secrets)
{
    struct sw_redactor *redactor = sw_new(struct sw_redactor);

    for (size_t i = 0; secrets && i < secrets->count; i++)
        sw_secret_forms(secrets->items[i].value, add_pattern, redactor);
    return redactor;
}

void sw_redactor_free(struct sw_redactor *redactor)
{
    if (!redactor)
        return;
    sw_buf_wipe(&redactor->held);
    for (size_t i = 0; i < redactor->count; i++) {
        explicit_bzero(redactor->patterns[i].bytes, redactor->patterns[i].length);
        free(redactor->patterns[i].bytes);
    }
    free(redactor->patterns);
    free(redactor);
}

/* At `at`: does a whole pattern stand here (the length of the longest), or could one begin here and go
 * on in the next piece (`*maybe`)? */
static size_t pattern_here(const struct sw_redactor *redactor, const char *at, size_t left, bool *maybe)
{
    size_t longest = 0;

    *maybe = false;
    if (!redactor->begins[(unsigned char)*at])
        return 0;
    for (size_t i = 0; i < redactor->count; i++) {
        const struct secret_pattern *p = &redactor->patterns[i];

        if (*p->bytes != *at)
            continue;
        if (left >= p->length && memcmp(at, p->bytes, p->length) == 0) {
            if (p->length > longest)
                longest = p->length;
        } else if (left < p->length && memcmp(at, p->bytes, left) == 0) {
            *maybe = true;
        }
    }
    return longest;
}

/* Every byte of every pattern is masked; patterns that overlap share one mask. */
static void filter(struct sw_redactor *redactor, bool last, struct sw_buf *out)
{
    struct sw_buf *held = &redactor->held;
    size_t i, covered = redactor->covered;       /* all before it is out, or masked */

    for (i = 0; i < held->length; i++) {
        bool maybe;
        size_t found = pattern_here(redactor, held->data + i, held->length - i, &maybe);

        if (maybe && !last)
            break;
        if (found && i >= covered) {
            sw_buf_add_bytes(out, held->data + covered, i - covered);
            sw_buf_add(out, "[redacted]");
        }
        if (found && i + found > covered)
            covered = i + found;
    }
    if (i > covered) {
        sw_buf_add_bytes(out, held->data + covered, i - covered);
        covered = i;
    }
    redactor->covered = covered - i;
    if (held->length)
        memmove(held->data, held->data + i, held->length - i);
    held->length -= i;
}

void sw_redactor_feed(struct sw_redactor *redactor, const char *bytes, size_t length,
                      struct sw_buf *out)
{
    if (redactor->count == 0) {
        sw_buf_add_bytes(out, bytes, length);
        return;
    }
    sw_buf_add_bytes(&redactor->held, bytes, length);
    filter(redactor, false, out);
}

void sw_redactor_flush(struct sw_redactor *redactor, struct sw_buf *out)
{
    if (redactor->held.length)
        filter(redactor, true, out);
    redactor->covered = 0;
}
