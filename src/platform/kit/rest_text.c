/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_text.c - paths, queries and streams of JSON lines. Pure: nothing here waits.
 */
#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "platform/kit/rest.h"

#define LINE_MAX_BYTES (1024u * 1024)

char *sw_rest_path(const char *fmt, ...)
{
    sw_auto(sw_buf) struct sw_buf path = SW_BUF_INIT;
    va_list values;

    va_start(values, fmt);
    for (; *fmt; fmt++)
        if (*fmt != '%') {
            sw_buf_add_char(&path, *fmt);
        } else if (*++fmt == 'd') {
            sw_buf_add_number(&path, va_arg(values, int));
        } else {
            const char *text = va_arg(values, const char *);

            assert(*fmt == 's');
            sw_http_encode(&path, text, strlen(text), "");
        }
    va_end(values);
    return sw_buf_steal(&path);
}

void sw_rest_query(struct sw_buf *path, const char *key, const char *value)
{
    sw_buf_add_char(path, strchr(sw_buf_text(path), '?') ? '&' : '?');
    sw_buf_add(path, key);
    sw_buf_add_char(path, '=');
    sw_http_encode(path, value, strlen(value), "");
}

static int line_ends(struct sw_rest_lines *lines)
{
    sw_auto(json) json_t *document = NULL;
    size_t length = lines->line.length;

    while (length && strchr(" \t\r", lines->line.data[length - 1]))
        length--;
    if (!length)
        return 0;
    document = sw_json_parse(lines->line.data, length, "stream", NULL);
    return document ? lines->take(lines->context, document) : 0;
}

int sw_rest_lines_sink(void *context, const struct sw_http_reply *so_far, const char *bytes,
                       size_t length)
{
    struct sw_rest_lines *lines = context;

    (void)so_far;
    while (length) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) : length;

        if (lines->line.length + part > (lines->limit ? lines->limit : LINE_MAX_BYTES))
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

void sw_rest_lines_done(struct sw_rest_lines *lines)
{
    sw_buf_done(&lines->line);
}
