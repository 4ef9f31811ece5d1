/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.c - where secret values come from, and who may see them.
 *
 * They reach us in our environment, through a descriptor (base/secret.h), or in a file that only we
 * may read: lines NAME=VALUE, or (--take-secrets) records as on a descriptor, and then the file is
 * gone once it was opened. The command sees those that the job names under `secrets`; those that
 * were brought for our own transfers (payload: credentials, and whatever else the file or the
 * descriptor held) are taken out of its environment. Our own environment as others can read it (the
 * one we were started with, /proc/PID/environ) never held what came by file or descriptor.
 */
#include "runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SECRETS_MAX = 1024 * 1024 };

static json_t *brought;                    /* names that came by file or descriptor */

static int set_lines(char *text, struct sw_error *err)
{
    int number = 0;

    for (char *line = text, *next; line && *line; line = next) {
        char *equals = strchr(line, '=');

        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        number++;
        if (!*line || *line == '#')
            continue;
        equals = strchr(line, '=');
        if (!equals || equals == line)
            return sw_fail(err, SW_E_CREDENTIAL, "line %d of the secrets is not NAME=VALUE",
                           number);
        *equals = '\0';
        setenv(line, equals + 1, 1);
        json_array_append_new(brought, json_string(line));
    }
    return 0;
}

static int read_file(const char *file, struct sw_error *err)
{
    sw_autofd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    sw_autofree char *text = sw_alloc(SECRETS_MAX + 1);
    struct stat info;
    ssize_t n;
    int result;

    if (fd < 0 || fstat(fd, &info) < 0)
        return sw_fail_errno(err, SW_E_CREDENTIAL, "cannot read the secrets in '%s'", file);
    if (info.st_mode & 077) {
        sw_fail(err, SW_E_CREDENTIAL, "others can read the secrets in '%s'", file);
        return sw_hint(err, "chmod 600 %s", file);
    }
    n = read(fd, text, SECRETS_MAX);
    if (n < 0)
        return sw_fail_errno(err, SW_E_CREDENTIAL, "cannot read the secrets in '%s'", file);
    result = set_lines(text, err);
    explicit_bzero(text, (size_t)n);
    return result;
}

int runner_open_secrets(const char *file, struct sw_error *err)
{
    sw_autofd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat info;

    if (fd < 0 || fstat(fd, &info) < 0)
        return sw_fail_errno(err, SW_E_CREDENTIAL, "cannot read the secrets in '%s'", file);
    if (info.st_mode & 077)
        return sw_fail(err, SW_E_CREDENTIAL, "others can read the secrets in '%s'", file);
    if (unlink(file) < 0)
        return sw_fail_errno(err, SW_E_CREDENTIAL, "cannot remove the secrets in '%s'", file);
    return sw_take_fd(fd);
}

static void add_present(struct sw_secrets *all, const json_t *list)
{
    size_t i;
    json_t *name;

    json_array_foreach(list, i, name)
        if (json_is_string(name) && getenv(json_string_value(name)) &&
            *getenv(json_string_value(name)))
            sw_secrets_add_env(all, json_string_value(name), NULL);
}

int runner_take_secrets(const struct sw_payload *payload, const char *file, int fd,
                        struct sw_error *err)
{
    sw_auto(sw_secrets) struct sw_secrets *all = sw_secrets_new(), *sent = NULL;

    json_decref(brought);
    brought = json_array();
    if (file && read_file(file, err) < 0)
        return -1;
    if (fd >= 0) {
        sent = sw_secrets_receive(fd, err);
        if (!sent)
            return -1;
        sw_secrets_export(sent);
        for (size_t i = 0; i < sw_secrets_count(sent); i++)
            json_array_append_new(brought, json_string(sw_secrets_name(sent, i)));
    }
    add_present(all, payload->secrets);
    add_present(all, payload->credentials);
    add_present(all, brought);
    runner_keep_secrets(sw_take(all));
    return 0;
}

/* Out of the environment, and what stood there is wiped. */
static void hide(const json_t *list, const json_t *except)
{
    size_t i;
    json_t *name;

    json_array_foreach(list, i, name) {
        const char *text = json_string_value(name);
        char *value = text && !sw_json_lists(except, text) ? getenv(text) : NULL;

        if (value) {
            explicit_bzero(value, strlen(value));
            unsetenv(text);
        }
    }
}

void runner_hide_secrets(const struct sw_payload *payload)
{
    hide(payload->credentials, payload->secrets);
    hide(brought, payload->secrets);
}

void runner_hide_all_secrets(const struct sw_payload *payload)
{
    runner_hide_secrets(payload);
    hide(payload->secrets, NULL);
}

void runner_drop_credentials(const struct sw_payload *payload)
{
    struct sw_secrets *left = sw_secrets_new();

    runner_hide_secrets(payload);
    add_present(left, payload->secrets);
    runner_keep_secrets(left);
}
