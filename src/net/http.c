/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - the pool: requests go in, replies come out, connections stay open in between.
 *
 * libcurl's multi interface does the work of many requests in one thread. Easy handles are used
 * again, since making one costs more than a small request.
 */
#include "net/http_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define CONNECTIONS 128
#define CONNECT_MS  10000
#define STALL_MS    30000

/* For each request libcurl would look at all of these in the environment. */
static bool names_proxy(void)
{
    static const char *const names[] = { "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                         "ALL_PROXY" };

    for (size_t i = 0; i < SW_COUNT(names); i++)
        if (getenv(names[i]))
            return true;
    return false;
}

struct sw_http *sw_http_open(const struct sw_http_options *options, struct sw_error *err)
{
    static const struct sw_http_options none;
    const struct curl_functions *curl = curl_load(err);
    struct sw_http *http;

    if (!curl)
        return NULL;
    http = sw_new(struct sw_http);
    http->curl = curl;
    http->listener = http->listener_file = -1;
    http->options = options ? *options : none;
    http->options.connect_ms = http->options.connect_ms ? http->options.connect_ms : CONNECT_MS;
    http->options.stall_ms = http->options.stall_ms ? http->options.stall_ms : STALL_MS;
    http->direct = http->options.unix_socket || http->options.serve ||
                   (!http->options.proxy && !names_proxy());
    http->ca_file = http->options.ca_length ? NULL : trust_file(http->options.ca_file);
    http->epoll_fd = http->wake_fd = -1;
    http->multi = curl->multi_init();
    if (!http->multi || http_wait_open(http) < 0) {
        sw_fail(err, SW_E_INTERNAL, "libcurl cannot be set up");
        sw_http_close(http);
        return NULL;
    }
    if (http->options.serve && http_socketpair_open(http, err) < 0) {
        sw_http_close(http);
        return NULL;
    }
    curl->multi_setopt(http->multi, CURLMOPT_MAXCONNECTS,
                       (long)(http->options.connections ? http->options.connections : CONNECTIONS));
    return http;
}

static void keep_handle(struct sw_http *http, CURL *easy)
{
    if (!easy)
        return;
    if (http->idle_count == HTTP_IDLE_MAX) {
        http->curl->easy_cleanup(easy);
        return;
    }
    http->curl->easy_reset(easy);
    http->idle[http->idle_count++] = easy;
}

static void transfer_end(struct http_transfer *transfer)
{
    struct sw_http *http = transfer->http;

    *transfer->link = transfer->next;
    if (transfer->next)
        transfer->next->link = transfer->link;
    http->busy--;
    if (transfer->easy)
        http->curl->multi_remove_handle(http->multi, transfer->easy);
    for (struct curl_slist *line = transfer->headers; line; line = line->next)
        explicit_bzero(line->data, strlen(line->data));
    http->curl->slist_free_all(transfer->headers);
    http->curl->slist_free_all(transfer->connect_to);
    keep_handle(http, transfer->easy);
    sw_http_request_done(&transfer->request);
    sw_http_reply_done(&transfer->reply);
    free(transfer);
}

void sw_http_close(struct sw_http *http)
{
    if (!http)
        return;
    while (http->transfers)
        transfer_end(http->transfers);
    while (http->idle_count)
        http->curl->easy_cleanup(http->idle[--http->idle_count]);
    if (http->multi)
        http->curl->multi_cleanup(http->multi);
    trust_release(http);
    http_wait_close(http);
    if (http->listener >= 0)
        close(http->listener);
    if (http->listener_file >= 0)
        close(http->listener_file);
    free(http->ca_file);
    free(http);
}

void sw_http_send(struct sw_http *http, struct sw_http_request *request,
                  sw_http_finished *finished, void *context)
{
    struct http_transfer *transfer = sw_new(struct http_transfer);

    transfer->http = http;
    transfer->request = *request;
    *request = (struct sw_http_request)SW_HTTP_REQUEST_INIT;
    if (transfer->request.body_owned)
        transfer->request.body = transfer->request.body_owned;
    transfer->reply.length = -1;
    transfer->finished = finished;
    transfer->context = context;
    transfer->next = http->transfers;
    transfer->link = &http->transfers;
    if (transfer->next)
        transfer->next->link = &transfer->next;
    http->transfers = transfer;
    http->busy++;
    transfer->easy = http->idle_count ? http->idle[--http->idle_count] : http->curl->easy_init();
    transfer_prepare(transfer);
    http->curl->multi_add_handle(http->multi, transfer->easy);
}

void sw_http_drop(struct sw_http *http, const void *context)
{
    for (struct http_transfer *transfer = http->transfers, *next; transfer; transfer = next) {
        next = transfer->next;
        if (transfer->context == context)
            transfer_end(transfer);
    }
}

size_t sw_http_busy(const struct sw_http *http)
{
    return http->busy;
}

static void finish(struct sw_http *http, const CURLMsg *message)
{
    CURLcode result = message->data.result;
    struct http_transfer *transfer = NULL;
    struct sw_http_reply reply;
    sw_http_finished *finished;
    void *context;

    http->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
    transfer_judge(transfer, result);
    finished = transfer->finished;
    context = transfer->context;
    reply = transfer->reply;
    memset(&transfer->reply, 0, sizeof transfer->reply);
    transfer_end(transfer);             /* the handle is free before the callback wants one */
    finished(context, &reply);
    sw_http_reply_done(&reply);
}

static int collect(struct sw_http *http, CURLMcode result, size_t *finished, struct sw_error *err)
{
    int left;
    const CURLMsg *message;

    if (http->listener >= 0)
        http_socketpair_new(http);
    if (result != CURLM_OK)
        return sw_fail(err, SW_E_INTERNAL, "libcurl: %s", http->curl->multi_strerror(result));
    while ((message = http->curl->multi_info_read(http->multi, &left)))
        if (message->msg == CURLMSG_DONE) {
            finish(http, message);
            ++*finished;
        }
    return 0;
}

int sw_http_work(struct sw_http *http, int64_t wait_ms, struct sw_error *err)
{
    size_t finished = 0;

    if (collect(http, http_wait_timer(http), &finished, err) < 0)
        return -1;
    return finished ? 0 : collect(http, http_wait(http, wait_ms), &finished, err);
}

static void keep_reply(void *context, struct sw_http_reply *reply)
{
    struct { struct sw_http_reply *out; bool over; } *wait = context;

    *wait->out = *reply;
    memset(reply, 0, sizeof *reply);
    wait->over = true;
}

int sw_http_ask(struct sw_http *http, struct sw_http_request *request,
                struct sw_http_reply *reply, struct sw_error *err)
{
    struct { struct sw_http_reply *out; bool over; } wait = { reply, false };

    memset(reply, 0, sizeof *reply);
    sw_http_send(http, request, keep_reply, &wait);
    while (!wait.over)
        if (sw_http_work(http, 1000, err) < 0) {
            sw_http_drop(http, &wait);
            return -1;
        }
    if (reply->status == 0) {
        sw_fail(err, reply->failure, "%s", reply->why);
        return reply->hint ? sw_hint(err, "%s", reply->hint) : -1;
    }
    return 0;
}
