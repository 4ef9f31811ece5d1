/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_request.c - one operation on its way. Knows pauses and retries, and nothing of what is copied.
 */
#include "storage/transfer_internal.h"

#include <string.h>

#include "base/clock.h"
#include "net/retry.h"

struct transfer_request *request_new(struct copy *copy, enum sw_operation_kind kind, struct sw_root *root,
                          const char *key, struct item *item)
{
    struct transfer_request *request = sw_new(struct transfer_request);

    request->op = (struct sw_operation)SW_OP_INIT(kind);
    request->op.root = root;
    request->op.key = key;
    request->copy = copy;
    request->item = item;
    request->body_fd = -1;
    request->after = copy->requests;
    request->link = &copy->requests;
    if (request->after)
        request->after->link = &request->after;
    copy->requests = request;
    return request;
}

void request_free(struct transfer_request *request)
{
    if (!request)
        return;
    *request->link = request->after;
    if (request->after)
        request->after->link = request->link;
    sw_operation_done(&request->op);
    free(request);
}

static void request_over(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    request->copy->load--;
    request->copy->large_load -= request->large;
    request->over(request, step, err);
}

/* Sorted by time; there are never many. */
static void request_pause(struct transfer_request *request, int64_t pause_ms)
{
    struct transfer_request **at = &request->copy->waiting;

    request->due_ms = sw_monotonic_ms() + pause_ms;
    while (*at && (*at)->due_ms <= request->due_ms)
        at = &(*at)->next;
    request->next = *at;
    *at = request;
}

static void request_reply(void *context, struct sw_http_reply *reply);

static void request_send(struct transfer_request *request, struct sw_http_request *http)
{
    struct copy *copy = request->copy;

    http->large = request->large;
    if (request->op.kind == SW_OP_GET && !request->op.asking) {
        http->sink = request->sink;
        http->sink_context = request;
    } else if (request->op.kind == SW_OP_PUT || request->op.kind == SW_OP_PART) {
        http->body = request->body;
        http->body_fd = request->body_fd;
        http->body_offset = request->body_offset;
        http->body_length = request->op.size;
    }
    sw_http_send(copy->client->http, http, request_reply, request);
}

/* A sink or again() that said no has its own reason; the storage cannot know it. */
static enum sw_step after_sink(const struct transfer_request *request, struct sw_error *err)
{
    *err = request->refusal;
    return request->refusal.code == SW_E_UNREACHABLE ? SW_STEP_LATER : SW_STEP_FAILED;
}

static void request_step(struct transfer_request *request, const struct sw_http_reply *reply)
{
    struct copy *copy = request->copy;
    const struct sw_storage *storage = sw_root_storage(request->op.root);
    sw_auto(sw_http_request) struct sw_http_request http = SW_HTTP_REQUEST_INIT;
    struct sw_error err = { 0 };
    enum sw_step step;
    int64_t pause = -1;

    if (request->refusal.code)
        step = after_sink(request, &err);
    else
        step = storage->next(&request->op, reply, sw_now_ms(), &http, &err);
    if (step == SW_STEP_SEND && request == copy->list && copy->queued >= QUEUE_MOST) {
        copy->held_list = request;              /* its HTTP request is made again when there is room */
        return;
    }
    if (step == SW_STEP_SEND) {
        request_send(request, &http);
        return;
    }
    if (step == SW_STEP_SLOWER)
        concurrency_slow_down(&copy->concurrency, sw_monotonic_ms());
    if ((step == SW_STEP_LATER || step == SW_STEP_SLOWER) && !copy->stop)
        pause = sw_retry_pause(&sw_retry_usual, request->tried, sw_operation_chance(),
                               request->op.retry_after_ms);
    if (pause >= 0)
        request_pause(request, pause);
    else
        request_over(request, step == SW_STEP_DONE || step == SW_STEP_CHANGED ? step : SW_STEP_FAILED,
                    &err);
}

static void request_reply(void *context, struct sw_http_reply *reply)
{
    struct transfer_request *request = context;

    concurrency_count(&request->copy->concurrency, 1, request->op.kind == SW_OP_GET ? 0 : request->op.size);
    request_step(request, reply);
}

void request_start(struct transfer_request *request)
{
    request->copy->load++;
    request->copy->large_load += request->large;
    request->tried = 1;
    request_step(request, NULL);
}

void request_wake(struct copy *copy, int64_t now_ms)
{
    struct transfer_request *request;

    if (copy->held_list && copy->queued < QUEUE_MOST / 2) {
        sw_auto(sw_http_request) struct sw_http_request http = SW_HTTP_REQUEST_INIT;
        struct sw_error unused;

        /* A step without a reply only prepares the HTTP request, for the page noted in the op. */
        request = sw_take(copy->held_list);
        if (sw_root_storage(request->op.root)->next(&request->op, NULL, sw_now_ms(), &http,
                                                   &unused) == SW_STEP_SEND)
            request_send(request, &http);
    }
    while ((request = copy->waiting) && request->due_ms <= now_ms) {
        copy->waiting = request->next;
        request->tried++;
        request->refusal.code = SW_OK;
        sw_operation_restart(&request->op);
        if (request->again)
            request->again(request);
        request_step(request, NULL);
    }
}

int64_t request_next_ms(const struct copy *copy)
{
    return copy->waiting ? copy->waiting->due_ms : -1;
}
