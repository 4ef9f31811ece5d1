/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.c - secret values: kept apart, passed by pipe, wiped, and filtered out of streams.
 *
 * On the pipe a set is NAME=VALUE records, each ended by a NUL. Values shorter than four
 * characters are not redacted: they would turn every log into noise and protect nothing.
 */
#include "base/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { SHORTEST_REDACTED = 4, LARGEST_SET = 1024 * 1024 };

struct secret {
    char *name, *value;
};

struct sw_secrets {
    struct secret *items;
    size_t count;
};

struct sw_secrets *sw_secrets_new(void)
{
    return sw_new(struct sw_secrets);
}

void sw_secrets_free(struct sw_secrets *secrets)
{
    if (!secrets)
        return;
    for (size_t i = 0; i < secrets->count; i++) {
        explicit_bzero(secrets->items[i].value, strlen(secrets->items[i].value));
        free(secrets->items[i].value);
        free(secrets->items[i].name);
    }
    free(secrets->items);
    free(secrets);
}

static void add(struct sw_secrets *secrets, const char *name, size_t name_length,
                const char *value)
{
    secrets->items = sw_realloc_array(secrets->items, secrets->count + 1, sizeof *secrets->items);
    secrets->items[secrets->count].name = sw_strndup(name, name_length);
    secrets->items[secrets->count].value = sw_strdup(value);
    secrets->count++;
}

int sw_secrets_add(struct sw_secrets *secrets, const char *name, const char *value,
                   struct sw_error *err)
{
    if (!value || !*value) {
        sw_fail(err, SW_E_CREDENTIAL, "the job needs the secret %s, and it is not set", name);
        return sw_hint(err, "export %s, or put it into ~/.config/tao/.env (mode 0600)", name);
    }
    add(secrets, name, strlen(name), value);
    return 0;
}

int sw_secrets_add_env(struct sw_secrets *secrets, const char *name, struct sw_error *err)
{
    return sw_secrets_add(secrets, name, getenv(name), err);
}

size_t sw_secrets_count(const struct sw_secrets *secrets)
{
    return secrets ? secrets->count : 0;
}

int sw_secrets_send(const struct sw_secrets *secrets, int fd)
{
    for (size_t i = 0; secrets && i < secrets->count; i++) {
        const struct secret *s = &secrets->items[i];

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
        n = read(fd, sw_buf_reserve(&in, 4096), 4096);
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
    explicit_bzero(in.data, in.room);
    sw_buf_done(&in);
    return good ? sw_take(secrets) : NULL;
}

void sw_secrets_export(const struct sw_secrets *secrets)
{
    for (size_t i = 0; secrets && i < secrets->count; i++)
        setenv(secrets->items[i].name, secrets->items[i].value, 1);
}

struct sw_redactor {
    struct sw_secrets *secrets;
    struct sw_buf held;
};

struct sw_redactor *sw_redactor_new(const struct sw_secrets *secrets)
{
    struct sw_redactor *redactor = sw_new(struct sw_redactor);

    redactor->secrets = sw_secrets_new();
    for (size_t i = 0; secrets && i < secrets->count; i++)
        if (strlen(secrets->items[i].value) >= SHORTEST_REDACTED)
            add(redactor->secrets, "", 0, secrets->items[i].value);
    return redactor;
}

void sw_redactor_free(struct sw_redactor *redactor)
{
    if (!redactor)
        return;
    if (redactor->held.data)
        explicit_bzero(redactor->held.data, redactor->held.room);
    sw_buf_done(&redactor->held);
    sw_secrets_free(redactor->secrets);
    free(redactor);
}

/* At `at`: does a whole secret stand here (its length), or could one begin here and go on in
 * the next piece (`*maybe`)? The longest wins, so that one secret inside another is safe. */
static size_t secret_here(const struct sw_secrets *secrets, const char *at, size_t left,
                          bool *maybe)
{
    size_t longest = 0;

    *maybe = false;
    for (size_t i = 0; i < secrets->count; i++) {
        const char *value = secrets->items[i].value;
        size_t length = strlen(value);

        if (*value != *at)
            continue;
        if (left >= length && memcmp(at, value, length) == 0) {
            if (length > longest)
                longest = length;
        } else if (left < length && memcmp(at, value, left) == 0) {
            *maybe = true;
        }
    }
    return longest;
}

static void filter(struct sw_redactor *redactor, bool last, struct sw_buf *out)
{
    size_t i = 0, clean = 0;
    struct sw_buf *held = &redactor->held;

    while (i < held->length) {
        bool maybe;
        size_t found = secret_here(redactor->secrets, held->data + i, held->length - i, &maybe);

        if (maybe && !last)
            break;
        if (!found) {
            i++;
            continue;
        }
        sw_buf_add_bytes(out, held->data + clean, i - clean);
        sw_buf_add(out, "[redacted]");
        i += found;
        clean = i;
    }
    sw_buf_add_bytes(out, held->data + clean, i - clean);
    if (held->length)
        memmove(held->data, held->data + i, held->length - i);
    held->length -= i;
}

void sw_redactor_feed(struct sw_redactor *redactor, const char *bytes, size_t length,
                      struct sw_buf *out)
{
    if (redactor->secrets->count == 0) {
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
}
