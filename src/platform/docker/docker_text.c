/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_text.c - paths, queries and streams of JSON lines. Pure: nothing here waits.
 */
#include <string.h>

#include "platform/docker/docker_api.h"
#include "platform/docker/docker_internal.h"

#define LINE_MAX_BYTES (1024u * 1024)

char *docker_path(const char *before, const char *name, const char *after)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;

    sw_buf_add(&path, before);
    sw_http_encode(&path, name, strlen(name), "");
    sw_buf_add(&path, after);
    return sw_buf_steal(&path);
}

void docker_query(struct sw_buf *path, const char *key, const char *value)
{
    sw_buf_add_char(path, strchr(sw_buf_text(path), '?') ? '&' : '?');
    sw_buf_add(path, key);
    sw_buf_add_char(path, '=');
    sw_http_encode(path, value, strlen(value), "");
}

void docker_query_json(struct sw_buf *path, const char *key, json_t *value)
{
    sw_auto(json) json_t *owned = value;
    sw_autofree char *text = sw_json_dump(owned);

    docker_query(path, key, text);
}

static int line_ends(struct docker_lines *lines)
{
    sw_auto(json) json_t *document = NULL;
    size_t length = lines->line.length;

    while (length && strchr(" \t\r", lines->line.data[length - 1]))
        length--;
    if (!length)
        return 0;
    document = sw_json_parse(lines->line.data, length, "the engine's stream", NULL);
    return document ? lines->take(lines->context, document) : 0;
}

int docker_lines_sink(void *context, const struct sw_http_reply *so_far, const char *bytes,
                      size_t length)
{
    struct docker_lines *lines = context;

    (void)so_far;
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) : length;

        if (lines->line.length + part > LINE_MAX_BYTES)
            return -1;
        sw_buf_add_bytes(&lines->line, bytes, part);
        if (end) {
            int over = line_ends(lines);

            sw_buf_clear(&lines->line);
            if (over)
                return over;
            part++;
        }
        bytes += part;
        length -= part;
    }
    return 0;
}

void docker_lines_done(struct docker_lines *lines)
{
    sw_buf_done(&lines->line);
}
