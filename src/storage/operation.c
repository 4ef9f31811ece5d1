/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation.c - operations: their releases, what an ordinary reply means, and running one of them.
 */
#include "storage/storage.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "net/retry.h"
#include "storage/operation_internal.h"

void sw_object_done(struct sw_object *object)
{
    free(object->name);
    free(object->etag);
    free(object->location);
    *object = (struct sw_object){ .size = -1 };
}

void sw_operation_done(struct sw_operation *op)
{
    sw_object_done(&op->object);
    free(sw_take(op->upload_made));
    free(sw_take(op->note));
}

void sw_operation_restart(struct sw_operation *op)
{
    /* A listing goes on with the page it was at: what was found is not told again. */
    char *page = op->kind == SW_OP_LIST || op->kind == SW_OP_PARTS ? sw_take(op->note) : NULL;

    sw_operation_done(op);
    op->note = page;
    op->asking = false;
    op->step = 0;
    op->retry_after_ms = -1;
}

static const struct {
    int status;
    enum sw_step step;
    enum sw_code code;
    const char *words;
} meanings[] = {
    { 401, SW_STEP_FAILED,  SW_E_CREDENTIAL,  "the credential was refused" },
    { 403, SW_STEP_FAILED,  SW_E_CREDENTIAL,  "access is denied" },
    { 404, SW_STEP_FAILED,  SW_E_NOT_FOUND,   "not found" },
    { 410, SW_STEP_FAILED,  SW_E_NOT_FOUND,   "it is gone" },
    { 412, SW_STEP_CHANGED, SW_E_CONFLICT,    "it has changed" },
    { 429, SW_STEP_SLOWER,  SW_E_UNREACHABLE, "the server asks to slow down" },
    { 503, SW_STEP_SLOWER,  SW_E_UNREACHABLE, "the server asks to slow down" },
};

bool sw_operation_range(const struct sw_operation *op, char out[64])
{
    if (op->offset == 0 && op->length < 0)
        return false;
    if (op->length < 0)
        snprintf(out, 64, "bytes=%lld-", (long long)op->offset);
    else
        snprintf(out, 64, "bytes=%lld-%lld", (long long)op->offset,
                 (long long)(op->offset + op->length - 1));
    return true;
}

enum sw_step sw_operation_judge(const struct sw_http_reply *reply, const char *what, int64_t now_ms,
                                struct sw_operation *op, struct sw_error *err)
{
    sw_autofree char *after = NULL;

    if (reply->status == 0) {
        sw_fail(err, reply->failure, "%s: %s", what, reply->why);
        if (reply->hint)
            sw_hint(err, "%s", reply->hint);
        return reply->retriable ? SW_STEP_LATER : SW_STEP_FAILED;
    }
    if (reply->status >= 200 && reply->status < 300)
        return SW_STEP_DONE;
    after = sw_http_header(reply, "retry-after");
    op->retry_after_ms = sw_retry_after(after, now_ms);
    for (size_t i = 0; i < SW_COUNT(meanings); i++)
        if (meanings[i].status == reply->status) {
            sw_fail(err, meanings[i].code, "%s: %s (HTTP %d)", what, meanings[i].words,
                    reply->status);
            return meanings[i].step;
        }
    sw_fail(err, sw_retry_status(reply->status) ? SW_E_UNREACHABLE : SW_E_REFUSED,
            "%s: the server answered HTTP %d", what, reply->status);
    return sw_retry_status(reply->status) ? SW_STEP_LATER : SW_STEP_FAILED;
}

enum { PAGES_MOST = 10 * 1000 * 1000 };

/* After Brent: each page is compared with the last one whose number is a power of two, so any circle
 * is noticed before it was gone round three times. */
enum sw_step sw_operation_turn_page(struct sw_operation *op, const char *token, const char *what,
                                    struct sw_error *err)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (const char *at = token; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    if ((op->pages && hash == op->page_seen) || op->pages >= PAGES_MOST)
        return sw_fail(err, SW_E_REFUSED,
                       "%s: the server's listing does not end: a page comes again", what);
    op->pages++;
    if ((op->pages & (op->pages - 1)) == 0)
        op->page_seen = hash;
    return SW_STEP_SEND;
}

uint32_t sw_operation_chance(void)
{
    static uint64_t state;
    uint64_t x = __atomic_add_fetch(&state, 0x9E3779B97F4A7C15u + (uint64_t)sw_monotonic_ms(),
                                    __ATOMIC_RELAXED);

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)(x >> 32);
}

/* Send requests until the operation says how it ended. */
static enum sw_step run_once(struct sw_http *http, struct sw_operation *op, sw_http_sink *sink,
                             void *sink_context, const void *body, struct sw_error *err)
{
    const struct sw_storage *storage = sw_root_storage(op->root);
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    enum sw_step step;
    bool first = true;

    for (;;) {
        sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
        struct sw_error unused;

        step = storage->next(op, first ? NULL : &reply, sw_now_ms(), &request, err);
        if (step != SW_STEP_SEND)
            return step;
        if (op->kind == SW_OP_GET && !op->asking) {
            request.sink = sink;
            request.sink_context = sink_context;
        } else if (body) {
            request.body = body;
            request.body_length = op->size;
        }
        sw_http_reply_done(&reply);
        first = false;
        if (sw_http_ask(http, &request, &reply, &unused) < 0 && unused.code == SW_E_INTERNAL) {
            *err = unused;
            return SW_STEP_FAILED;
        }
    }
}

int sw_operation_run(struct sw_http *http, struct sw_operation *op, sw_http_sink *sink, void *sink_context,
                     const void *body, struct sw_error *err)
{
    struct sw_error why = { 0 };

    for (int tried = 1;; tried++) {
        enum sw_step step = run_once(http, op, sink, sink_context, body, &why);
        int64_t pause;

        if (step == SW_STEP_DONE)
            return 0;
        pause = step == SW_STEP_LATER || step == SW_STEP_SLOWER
                    ? sw_retry_pause(&sw_retry_usual, tried, sw_operation_chance(), op->retry_after_ms)
                    : -1;
        if (pause < 0) {
            return sw_pass(err, &why);
        }
        sw_sleep_ms(pause);
        sw_operation_restart(op);
    }
}
