/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_endpoint.c - an engine's address, read and checked. Pure: no file, no environment.
 *
 * Host and user of an ssh address become words of a command line, so what could be taken for an
 * option of ssh is refused here.
 */
#include "platform/docker/docker_endpoint.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

static const struct scheme {
    const char *prefix;
    enum docker_way way;
} schemes[] = {
    { "unix://", DOCKER_UNIX }, { "tcp://", DOCKER_TCP },  { "http://", DOCKER_TCP },
    { "https://", DOCKER_TLS }, { "ssh://", DOCKER_SSH },
};

static int bad(const char *text, const char *why, struct sw_error *err)
{
    sw_fail(err, SW_E_SPEC, "'%.200s' is no address of a Docker engine: %s", text, why);
    return sw_hint(err, "write unix:///path, tcp://host:port or ssh://user@host");
}

static bool is_word(const char *text, size_t length, const char *others)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && (!text[i] || !strchr(others, text[i])))
            return false;
    return length > 0 && length <= 255 && *text != '-';
}

/* Digits only, 1..65535, all of `text` up to `end`. */
static int port_of(const char *text, const char *end)
{
    int port = 0;

    if (text == end || end - text > 5)
        return -1;
    for (; text < end; text++) {
        if (!isdigit((unsigned char)*text))
            return -1;
        port = port * 10 + (*text - '0');
    }
    return port >= 1 && port <= 65535 ? port : -1;
}

/* "host", "host:1", "[::1]:1" between `at` and `end`. */
static int take_host(const char *whole, const char *at, const char *end, struct docker_endpoint *out,
                     struct sw_error *err)
{
    const char *colon;

    if (*at == '[') {
        const char *close = memchr(at, ']', (size_t)(end - at));

        if (!close || !is_word(at + 1, (size_t)(close - at - 1), ":.%"))
            return bad(whole, "the brackets hold no IPv6 address", err);
        out->host = sw_strndup(at + 1, (size_t)(close - at - 1));
        colon = close + 1 < end ? close + 1 : NULL;
        if (colon && *colon != ':')
            return bad(whole, "after the brackets comes :PORT", err);
    } else {
        colon = memchr(at, ':', (size_t)(end - at));
        if (!is_word(at, (size_t)((colon ? colon : end) - at), "-._"))
            return bad(whole, "there is no proper host name", err);
        out->host = sw_strndup(at, (size_t)((colon ? colon : end) - at));
    }
    if (colon && (out->port = port_of(colon + 1, end)) < 0)
        return bad(whole, "the port is no number from 1 to 65535", err);
    return 0;
}

static int take_user(const char *whole, const char **at, const char *end, struct docker_endpoint *out,
                     struct sw_error *err)
{
    const char *sign = memrchr(*at, '@', (size_t)(end - *at));

    if (!sign)
        return 0;
    if (memchr(*at, ':', (size_t)(sign - *at)))
        return bad("ssh://...", "a password has no place in an address (use a key)", err);
    if (out->way != DOCKER_SSH)
        return bad(whole, "a user belongs to ssh:// only", err);
    if (!is_word(*at, (size_t)(sign - *at), "-._\\@+"))
        return bad(whole, "the user's name is none", err);
    out->user = sw_strndup(*at, (size_t)(sign - *at));
    *at = sign + 1;
    return 0;
}

static int take_path(const char *whole, const char *path, struct docker_endpoint *out,
                     struct sw_error *err)
{
    if (strcmp(path, "") == 0 || strcmp(path, "/") == 0)
        return 0;
    if (out->way != DOCKER_SSH)
        return bad(whole, "there is a path after the host", err);
    if (!is_word(path, strlen(path), "/-._@+"))
        return bad(whole, "the socket's path holds odd characters", err);
    out->remote_socket = sw_strdup(path);
    return 0;
}

static int take_socket(const char *whole, const char *path, struct docker_endpoint *out,
                       struct sw_error *err)
{
    if (*path != '/')
        return bad(whole, "a socket's path begins with /", err);
    out->way = DOCKER_UNIX;
    out->socket = sw_strdup(path);
    out->text = sw_format("unix://%s", path);
    return 0;
}

int docker_endpoint_parse(const char *text, struct docker_endpoint *out, struct sw_error *err)
{
    const struct scheme *found = NULL;
    const char *at, *end;

    if (*text == '/')
        return take_socket(text, text, out, err);
    for (size_t i = 0; i < SW_COUNT(schemes); i++)
        if (strncasecmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) == 0)
            found = &schemes[i];
    if (!found)
        return bad(text, strstr(text, "://") ? "its kind is not known" : "it names no kind", err);
    at = text + strlen(found->prefix);
    out->way = found->way;
    if (found->way == DOCKER_UNIX)
        return take_socket(text, at, out, err);
    end = at + strcspn(at, "/?#");
    if (take_user(text, &at, end, out, err) < 0 || take_host(text, at, end, out, err) < 0 ||
        take_path(text, end, out, err) < 0)
        return -1;
    out->text = sw_strdup(text);
    return 0;
}

/* The texts that an endpoint owns. */
#define TEXTS(e) { &(e)->text, &(e)->socket, &(e)->host, &(e)->user, &(e)->remote_socket, &(e)->state_dir, \
                   &(e)->ca, &(e)->cert, &(e)->key }

void docker_endpoint_copy(struct docker_endpoint *to, const struct docker_endpoint *from)
{
    char **texts[] = TEXTS(to);

    *to = *from;
    for (size_t i = 0; i < SW_COUNT(texts); i++)
        *texts[i] = sw_strdup(*texts[i]);
    json_incref(to->options);
}

void docker_endpoint_done(struct docker_endpoint *endpoint)
{
    char **texts[] = TEXTS(endpoint);

    for (size_t i = 0; i < SW_COUNT(texts); i++)
        free(*texts[i]);
    json_decref(endpoint->options);
    memset(endpoint, 0, sizeof *endpoint);
}
