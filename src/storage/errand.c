/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errand.c - one operation on its way. Knows pauses and retries, and nothing of what is copied.
 */
#include "storage/transfer_internal.h"

#include <string.h>

#include "base/clock.h"
#include "net/retry.h"

struct errand *errand_new(struct copy *copy, enum sw_op_kind kind, struct sw_root *root,
                          const char *key, struct item *item)
{
    struct errand *errand = spares_take(&copy->errand_room);

    memset(errand, 0, sizeof *errand);
    errand->op = (struct sw_op)SW_OP_INIT(kind);
    errand->op.root = root;
    errand->op.key = key;
    errand->copy = copy;
    errand->item = item;
    errand->body_fd = -1;
    errand->after = copy->errands;
    errand->link = &copy->errands;
    if (errand->after)
        errand->after->link = &errand->after;
    copy->errands = errand;
    return errand;
}

void errand_free(struct errand *errand)
{
    if (!errand)
        return;
    *errand->link = errand->after;
    if (errand->after)
        errand->after->link = errand->link;
    sw_op_done(&errand->op);
    spares_give(&errand->copy->errand_room, errand);
}

static void errand_over(struct errand *errand, enum sw_step step, const struct sw_error *err)
{
    errand->copy->load--;
    errand->copy->large_load -= errand->large;
    errand->over(errand, step, err);
}

/* Sorted by time; there are never many. */
static void errand_pause(struct errand *errand, int64_t pause_ms)
{
    struct errand **at = &errand->copy->waiting;

    errand->due_ms = sw_monotonic_ms() + pause_ms;
    while (*at && (*at)->due_ms <= errand->due_ms)
        at = &(*at)->next;
    errand->next = *at;
    *at = errand;
}

static void errand_reply(void *context, struct sw_http_reply *reply);

static void errand_send(struct errand *errand, struct sw_http_request *request)
{
    struct copy *copy = errand->copy;

    request->large = errand->large;
    if (errand->op.kind == SW_OP_GET && !errand->op.asking) {
        request->sink = errand->sink;
        request->sink_context = errand;
    } else if (errand->op.kind == SW_OP_PUT || errand->op.kind == SW_OP_PART) {
        request->body = errand->body;
        request->body_fd = errand->body_fd;
        request->body_offset = errand->body_offset;
        request->body_length = errand->op.size;
    }
    sw_http_send(copy->mover->http, request, errand_reply, errand);
}

/* A sink or again() that said no has its own reason; the storage cannot know it. */
static enum sw_step after_sink(const struct errand *errand, struct sw_error *err)
{
    *err = errand->refusal;
    return errand->refusal.code == SW_E_UNREACHABLE ? SW_STEP_LATER : SW_STEP_FAILED;
}

static void errand_step(struct errand *errand, const struct sw_http_reply *reply)
{
    struct copy *copy = errand->copy;
    const struct sw_storage *storage = sw_root_storage(errand->op.root);
    sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
    struct sw_error err = { 0 };
    enum sw_step step;
    int64_t pause = -1;

    if (errand->refusal.code)
        step = after_sink(errand, &err);
    else
        step = storage->next(&errand->op, reply, sw_now_ms(), &request, &err);
    if (step == SW_STEP_SEND && errand == copy->list && copy->queued >= QUEUE_MOST) {
        copy->held_list = errand;              /* its request is made again when there is room */
        return;
    }
    if (step == SW_STEP_SEND) {
        errand_send(errand, &request);
        return;
    }
    if (step == SW_STEP_SLOWER)
        window_slow_down(&copy->window, sw_monotonic_ms());
    if ((step == SW_STEP_LATER || step == SW_STEP_SLOWER) && !copy->stop)
        pause = sw_retry_pause(&sw_retry_usual, errand->tried, sw_op_chance(),
                               errand->op.retry_after_ms);
    if (pause >= 0)
        errand_pause(errand, pause);
    else
        errand_over(errand, step == SW_STEP_DONE || step == SW_STEP_CHANGED ? step : SW_STEP_FAILED,
                    &err);
}

static void errand_reply(void *context, struct sw_http_reply *reply)
{
    struct errand *errand = context;

    window_did(&errand->copy->window, 1, errand->op.kind == SW_OP_GET ? 0 : errand->op.size);
    errand_step(errand, reply);
}

void errand_start(struct errand *errand)
{
    errand->copy->load++;
    errand->copy->large_load += errand->large;
    errand->tried = 1;
    errand_step(errand, NULL);
}

void errand_wake(struct copy *copy, int64_t now_ms)
{
    struct errand *errand;

    if (copy->held_list && copy->queued < QUEUE_MOST / 2) {
        sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
        struct sw_error unused;

        /* A step without a reply only prepares the request, for the page noted in the op. */
        errand = sw_take(copy->held_list);
        if (sw_root_storage(errand->op.root)->next(&errand->op, NULL, sw_now_ms(), &request,
                                                   &unused) == SW_STEP_SEND)
            errand_send(errand, &request);
    }
    while ((errand = copy->waiting) && errand->due_ms <= now_ms) {
        copy->waiting = errand->next;
        errand->tried++;
        errand->refusal.code = SW_OK;
        sw_op_restart(&errand->op);
        if (errand->again)
            errand->again(errand);
        errand_step(errand, NULL);
    }
}

int64_t errand_next_ms(const struct copy *copy)
{
    return copy->waiting ? copy->waiting->due_ms : -1;
}
