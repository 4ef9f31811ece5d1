/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_store.c - single files behind http:// and https:// URLs. The storage to copy for a new one.
 *
 * There is no listing in HTTP, so no trees. Redirects are followed here, never from https to http,
 * and the place where they ended is kept, so that the ranges of one file ask only once. No
 * credential is ever sent: a URL that needs one carries a signature already.
 */
#include "storage/storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define REDIRECTS_MAX 10
#define PROBE_MAX     4096          /* of a body that was not asked for */

struct http_root {
    struct sw_root_head head;
};

static struct sw_root *http_open(const struct sw_uri *uri, const struct sw_storage_options *options,
                                 char **key, struct sw_error *err)
{
    struct http_root *root = sw_new(struct http_root);

    (void)options;
    (void)err;
    root->head.storage = strcmp(uri->scheme, "https") ? &sw_storage_http : &sw_storage_https;
    root->head.uri = sw_format("%s://%s", uri->scheme, uri->host);
    *key = sw_strdup(uri->path);
    return (struct sw_root *)root;
}

static void http_close(struct sw_root *opened)
{
    struct http_root *root = (struct http_root *)opened;

    free(root->head.uri);
    free(root);
}

static char *url_of(const struct sw_operation *op)
{
    const struct http_root *root = (const struct http_root *)op->root;

    if (op->note)                            /* where a redirect led */
        return sw_strdup(op->note);
    if (op->kind == SW_OP_GET && op->location)
        return sw_strdup(op->location);
    return sw_format("%s/%s", root->head.uri, op->key);
}

static void prepare(const struct sw_operation *op, struct sw_http_request *request)
{
    static const char *const methods[] = {
        [SW_OP_STAT] = "HEAD", [SW_OP_GET] = "GET", [SW_OP_PUT] = "PUT", [SW_OP_DELETE] = "DELETE",
    };
    char range[64];

    snprintf(request->method, sizeof request->method, "%s", methods[op->kind]);
    request->url = url_of(op);
    if (op->kind == SW_OP_STAT && op->turns) {
        snprintf(request->method, sizeof request->method, "GET");
        sw_http_request_header(request, "Range", "bytes=0-0");
        request->reply_limit = PROBE_MAX;
    }
    if (op->kind != SW_OP_GET)
        return;
    if (op->length >= 0) {
        snprintf(range, sizeof range, "bytes=%lld-%lld", (long long)op->offset,
                 (long long)(op->offset + op->length - 1));
        sw_http_request_header(request, "Range", range);
    } else if (op->offset) {
        snprintf(range, sizeof range, "bytes=%lld-", (long long)op->offset);
        sw_http_request_header(request, "Range", range);
    }
    if (op->if_match && !sw_text_starts(op->if_match, "W/"))
        sw_http_request_header(request, "If-Match", op->if_match);
}

static enum sw_step follow(struct sw_operation *op, const struct sw_http_reply *reply,
                           struct sw_error *err)
{
    sw_autofree char *location = sw_http_header(reply, "location");
    sw_autofree char *from = url_of(op);
    char *to = location ? sw_http_location(from, location) : NULL;

    if (!to || ++op->step > REDIRECTS_MAX ||
        (sw_text_starts(from, "https:") && !sw_text_starts(to, "https:"))) {
        free(to);
        return sw_fail(err, SW_E_REFUSED, "%s/%s: unsupported redirect",
                       ((const struct http_root *)op->root)->head.uri, op->key);
    }
    free(op->note);
    op->note = to;
    return SW_STEP_SEND;
}

/* "bytes 0-0/1234": the whole is 1234 long; -1: it does not say. */
static int64_t whole_size(const struct sw_http_reply *reply)
{
    sw_autofree char *range = sw_http_header(reply, "content-range");
    int64_t first, last, size;

    return range && sw_http_content_range(range, &first, &last, &size) ? size : -1;
}

/* A signed URL is often good for GET alone: then the first byte is asked for instead. */
static bool probe_instead(struct sw_operation *op, const struct sw_http_reply *reply)
{
    bool refused = reply->status == 403 || reply->status == 405 || reply->status == 501;

    return op->kind == SW_OP_STAT && !op->turns && refused && ++op->turns;
}

static void read_object(struct sw_operation *op, const struct sw_http_reply *reply)
{
    sw_autofree char *modified = sw_http_header(reply, "last-modified");
    int64_t at_ms = modified ? sw_http_date(modified) : 0;

    sw_object_done(&op->object);
    op->object.kind = SW_OBJECT_FILE;
    op->object.size = op->kind == SW_OP_STAT && op->turns && reply->status == 206 ? whole_size(reply)
                                                                                  : reply->length;
    op->object.mtime_ms = at_ms < 0 ? 0 : at_ms;
    op->object.etag = sw_http_header(reply, "etag");
    op->object.location = op->note ? sw_strdup(op->note) : NULL;
}

static enum sw_step http_next(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                              struct sw_http_request *request, struct sw_error *err)
{
    sw_autofree char *name = NULL;
    enum sw_step step = SW_STEP_SEND;

    if (reply && reply->status >= 301 && reply->status <= 308 && reply->status != 304)
        step = follow(op, reply, err);
    else if (reply && !probe_instead(op, reply)) {
        name = sw_format("%s/%s", ((const struct http_root *)op->root)->head.uri, op->key);
        step = sw_operation_judge(reply, name, now_ms, op, err);
        if (step == SW_STEP_FAILED && op->turns && reply->failure == SW_E_REFUSED)
            step = SW_STEP_DONE;         /* it sent everything: it is there, its size comes later */
        if (op->kind == SW_OP_DELETE && reply->status == 404)
            return SW_STEP_DONE;
        if (step == SW_STEP_DONE)
            read_object(op, reply);
    }
    if (step == SW_STEP_SEND)
        prepare(op, request);
    return step;
}

#define WEB_STORAGE(name, text)                                                                \
    const struct sw_storage sw_storage_##name = {                                              \
        .scheme = #name,                                                                       \
        .summary = text,                                                                       \
        .can = SW_CAN(SW_OP_STAT) | SW_CAN(SW_OP_GET) | SW_CAN(SW_OP_PUT) | SW_CAN(SW_OP_DELETE), \
        .open = http_open,                                                                     \
        .close = http_close,                                                                   \
        .next = http_next,                                                                     \
        .put_most = INT64_MAX,                                                                 \
    }

WEB_STORAGE(http, "single files behind a URL");
WEB_STORAGE(https, "single files behind a URL");
