/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.c - calls to a JSON API over kept connections: tokens, deadlines, repetition.
 *
 * sw_rest_send() is one try. sw_rest_call() adds what needs waiting: a token that the server refuses is
 * fetched anew once (a 401 means that nothing was done), and a server that asks for time (429, 503 with
 * Retry-After) gets it, if the call may be repeated and the deadline allows it.
 *
 * libcurl's connections belong to one thread, so each thread that calls borrows a worker
 * (rest_workers.c); the credential is shared (rest_credential.c).
 */
#include "platform/kit/rest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/finding.h"
#include "net/retry.h"
#include "platform/kit/rest_internal.h"

#define REPLY_MAX (64u * 1024 * 1024)        /* a list of many thousand jobs */
#define LARGE     (1024 * 1024)              /* a body worth a big buffer */

struct rest_request {                        /* a call under way */
    struct sw_rest *rest;
    sw_rest_finished *finished;
    void *context;
    char *body;                              /* owned JSON text */
    int secrets;                             /* owned descriptor; 0: none */
    bool changes_nothing, silence_counts, wants_json;
    unsigned generation;                     /* of the credential that it was sent with */
    struct rest_try *out;                    /* of sw_rest_call(): all of the reply */
    struct rest_request *next, **link;
};

/* ---- open and close ----------------------------------------------------------------------------- */

struct sw_rest *sw_rest_open(const struct sw_rest_options *options, struct sw_error *err)
{
    sw_auto(sw_rest) struct sw_rest *rest = sw_new(struct sw_rest);
    size_t length = strlen(options->base_url);

    assert(options->name);
    while (length && options->base_url[length - 1] == '/')
        length--;
    rest->options = *options;
    rest->base = sw_strndup(options->base_url, length);
    pthread_mutex_init(&rest->lock, NULL);
    return rest_worker_open(rest, &rest->own, NULL, err) == 0 ? sw_take(rest) : NULL;
}

struct sw_rest *sw_rest_beside(struct sw_rest *rest, struct sw_error *err)
{
    struct sw_rest_options options = rest->options;
    struct sw_rest *made;

    options.base_url = rest->base;
    options.threads = false;
    made = sw_rest_open(&options, err);
    if (made)
        made->beside = rest;
    return made;
}

static void request_free(struct rest_request *request)
{
    *request->link = request->next;
    if (request->next)
        request->next->link = request->link;
    free(request->body);
    if (request->secrets)
        close(request->secrets);
    free(request);
}

static void requests_free(struct rest_worker *worker)
{
    while (worker->requests)
        request_free(worker->requests);
}

void sw_rest_close(struct sw_rest *rest)
{
    if (!rest)
        return;
    rest_worker_close(&rest->own);
    requests_free(&rest->own);
    for (struct rest_worker *worker; (worker = rest->idle);) {
        rest->idle = worker->next;
        rest_worker_close(worker);
        free(worker);
    }
    sw_secret_free(rest->token);
    pthread_mutex_destroy(&rest->lock);
    free(rest->base);
    free(rest);
}

void sw_rest_seen_done(struct sw_rest_seen *seen)
{
    sw_buf_done(&seen->headers);
}

char *sw_rest_header(const struct sw_rest_seen *seen, const char *name)
{
    return sw_http_header(&(struct sw_http_reply){ .headers = seen->headers }, name);
}

void sw_rest_clock(struct sw_rest *rest, json_t *rows)
{
    sw_autofree char *silent = sw_format("an answer of %s has no date", rest->options.name);
    int64_t told_ms, heard_ms;

    pthread_mutex_lock(&rest->lock);
    told_ms = rest->told_ms;
    heard_ms = rest->heard_ms;
    pthread_mutex_unlock(&rest->lock);
    if (told_ms)
        sw_finding_clock(rows, rest->options.name, told_ms, heard_ms);
    else
        sw_finding_open(rows, "clock", SW_STATE_NOT_CHECKED, silent, NULL);
}

/* ---- one try ------------------------------------------------------------------------------------ */

static void add_authorization(const struct rest_credential *credential, struct sw_http_request *request)
{
    if (!credential->is.authorization.length)
        return;
    sw_http_request_header(request, "Authorization", credential->is.authorization.data);
    /* Every call goes to the base URL, so one without TLS is one that the user named. */
    request->plain_said = true;
}

static void add_headers(const struct sw_rest_pair *headers, struct sw_http_request *request)
{
    for (const struct sw_rest_pair *pair = headers; pair && pair->key; pair++)
        if (pair->value)
            sw_http_request_header(request, pair->key, pair->value);
}

static char *url_of(const struct sw_rest *rest, const struct sw_rest_call *call)
{
    sw_auto(sw_buf) struct sw_buf url = SW_BUF_INIT;

    sw_buf_add(&url, rest->base);
    sw_buf_add(&url, call->path);
    for (const struct sw_rest_pair *pair = call->query; pair && pair->key; pair++)
        if (pair->value)
            sw_rest_query(&url, pair->key, pair->value);
    return sw_buf_steal(&url);
}

static void add_body(const struct sw_rest_call *call, const char *text, struct sw_http_request *request)
{
    request->body = text ? text : call->bytes;
    request->body_length = text ? (int64_t)strlen(text) : call->length;
    request->body_fd = call->fd > 0 ? call->fd : -1;
    request->large = request->body_length > LARGE;
    if (text)
        sw_http_request_header(request, "Content-Type", "application/json");
    else if (call->length)
        sw_http_request_header(request, "Content-Type",
                               call->content_type ? call->content_type : "application/octet-stream");
}

static void fill_request(const struct sw_rest *rest, const struct sw_rest_call *call, const char *body,
                         const struct rest_credential *credential, struct sw_http_request *request)
{
    snprintf(request->method, sizeof request->method, "%s", call->method ? call->method : "GET");
    request->url = url_of(rest, call);
    request->reply_limit = REPLY_MAX;
    request->sink = call->sink;
    request->sink_context = call->sink_context;
    request->stall_ms = call->stall_ms;
    add_headers(rest->options.headers, request);
    add_headers(call->headers, request);
    add_body(call, body, request);
    add_authorization(credential, request);
}

/* What a try of sw_rest_call() leaves behind for the next one. */
struct rest_try {
    bool over;
    int status;
    int64_t retry_after_ms;                  /* -1: the server does not ask for time */
    struct sw_buf headers;
    json_t *json;
    struct sw_error error;
};

static void keep_try(struct rest_try *try, struct sw_http_reply *reply)
{
    sw_autofree char *after = sw_http_header(reply, "Retry-After");

    try->status = reply->status;
    try->retry_after_ms = sw_retry_after(after, reply->date_ms ? reply->date_ms : sw_now_ms());
    try->headers = reply->headers;
    reply->headers = (struct sw_buf)SW_BUF_INIT;
}

static void keep_clock(struct sw_rest *rest, int64_t told_ms)
{
    if (!told_ms)
        return;
    pthread_mutex_lock(&rest->lock);
    rest->told_ms = told_ms;
    rest->heard_ms = sw_now_ms();
    pthread_mutex_unlock(&rest->lock);
}

static void request_over(void *context, struct sw_http_reply *reply)
{
    struct rest_request *request = context;
    struct sw_rest_answer answer = { .status = reply->status };
    sw_rest_finished *finished = request->finished;
    void *finished_context = request->context;

    keep_clock(request->rest, reply->date_ms);
    rest_judge(request->rest, reply, request->wants_json, &answer.json, &answer.error);
    if (reply->failure == SW_E_TIMEOUT && answer.error.code == SW_E_UNREACHABLE &&
        request->silence_counts)
        answer.error.code = SW_E_TIMEOUT;
    if (reply->status >= 500 && answer.error.code == SW_E_UNREACHABLE && request->changes_nothing)
        answer.error.code = SW_E_REFUSED;
    if (request->out)
        keep_try(request->out, reply);
    if (reply->status == 401)
        rest_credential_refused(request->rest, request->generation);
    request_free(request);
    finished(finished_context, &answer);
    json_decref(answer.json);
}

/* Secrets leave their type through a descriptor only: memory that no disk sees. */
static int add_secrets(const struct sw_secrets *secrets, struct sw_http_request *http,
                       struct rest_request *request, struct sw_error *err)
{
    if (!secrets)
        return 0;
    request->secrets = memfd_create("secrets", MFD_CLOEXEC);
    if (request->secrets <= 0 || sw_secrets_send(secrets, request->secrets) < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot pass the secrets on");
    http->body_fd = request->secrets;
    http->body_length = lseek(request->secrets, 0, SEEK_END);
    return 0;
}

static int send_call(struct sw_rest *rest, struct rest_worker *worker, const struct sw_rest_call *call,
                     const struct rest_credential *credential, const struct rest_request *how,
                     struct sw_error *err)
{
    sw_auto(sw_http_request) struct sw_http_request http = SW_HTTP_REQUEST_INIT;
    sw_autofree char *body = call->json ? sw_json_dump(call->json) : NULL;
    struct rest_request *request;

    assert(call->path && call->path[0] == '/');
    fill_request(rest, call, body, credential, &http);
    request = sw_new(struct rest_request);
    *request = *how;
    request->rest = rest;
    request->generation = credential->generation;
    request->body = sw_take(body);
    request->changes_nothing = call->changes_nothing;
    request->silence_counts = call->silence_counts;
    request->next = worker->requests;
    request->link = &worker->requests;
    if (request->next)
        request->next->link = &request->next;
    worker->requests = request;
    if (add_secrets(call->secrets, &http, request, err) < 0) {
        request_free(request);
        return -1;
    }
    sw_http_send(worker->http, &http, request_over, request);
    return 0;
}

/* ---- several calls at once ---------------------------------------------------------------------- */

int sw_rest_send(struct sw_rest *rest, const struct sw_rest_call *call, sw_rest_finished *finished,
                 void *context, struct sw_error *err)
{
    sw_auto(rest_credential) struct rest_credential credential = { 0 };
    struct rest_worker *worker;

    if (rest_credential(rest, &credential, err) < 0)
        return -1;
    worker = rest_own(rest, credential.is.certificate, err);
    if (!worker)
        return -1;
    return send_call(rest, worker, call, &credential,
                     &(struct rest_request){ .finished = finished, .context = context }, err);
}

static void drop(struct rest_worker *worker, const void *context)
{
    for (struct rest_request *request = worker->requests, *next; request; request = next) {
        next = request->next;
        if (request->context == context) {
            sw_http_drop(worker->http, request);
            request_free(request);
        }
    }
}

void sw_rest_drop(struct sw_rest *rest, const void *context)
{
    drop(&rest->own, context);
}

size_t sw_rest_busy(const struct sw_rest *rest)
{
    return sw_http_busy(rest->own.http);
}

int sw_rest_work(struct sw_rest *rest, int64_t wait_ms, struct sw_error *err)
{
    return sw_http_work(rest->own.http, wait_ms, err);
}

void sw_rest_wake(struct sw_rest *rest)
{
    pthread_mutex_lock(&rest->lock);         /* its own thread may open it anew (rest_own) */
    sw_http_wake(rest->own.http);
    pthread_mutex_unlock(&rest->lock);
}

/* ---- a connection of its own --------------------------------------------------------------------- */

/* A stream, or the WebSocket on top of one. */
typedef void *rest_begin(struct sw_http *http, const struct sw_http_request *request, const char *protocol,
                         struct sw_http_reply *reply);

static void *begin_stream(struct sw_http *http, const struct sw_http_request *request,
                          const char *protocol, struct sw_http_reply *reply)
{
    return sw_http_upgrade(http, request, protocol, reply);
}

static void *begin_websocket(struct sw_http *http, const struct sw_http_request *request,
                             const char *protocols, struct sw_http_reply *reply)
{
    return sw_websocket_open(http, request, protocols, reply);
}

/* A 2xx is a refusal here: the server answered, and nothing else happened. */
static void judge_upgrade(struct sw_rest *rest, const struct sw_http_reply *reply, struct sw_error *err)
{
    sw_auto(json) json_t *said = NULL;

    if (rest_judge(rest, reply, false, &said, err) == 0)
        sw_fail(err, SW_E_REFUSED, "%s answered with status %d instead of a stream", rest->options.name,
                reply->status);
}

static void *upgrade_once(struct sw_rest *rest, const struct sw_rest_call *call, rest_begin *begin,
                          const char *protocol, int *status, struct sw_error *err)
{
    sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    sw_auto(rest_credential) struct rest_credential credential = { 0 };
    sw_autofree char *body = call->json ? sw_json_dump(call->json) : NULL;
    void *begun;

    if (rest_credential(rest, &credential, err) < 0 || !rest_own(rest, credential.is.certificate, err))
        return NULL;
    fill_request(rest, call, body, &credential, &request);
    begun = begin(rest->own.http, &request, protocol, &reply);
    *status = reply.status;
    if (reply.status == 401)
        rest_credential_refused(rest, credential.generation);
    if (!begun)
        judge_upgrade(rest, &reply, err);
    if (call->seen) {
        sw_rest_seen_done(call->seen);
        *call->seen = (struct sw_rest_seen){ reply.status, reply.headers };
        reply.headers = (struct sw_buf)SW_BUF_INIT;
    }
    return begun;
}

static void *upgrade(struct sw_rest *rest, const struct sw_rest_call *call, rest_begin *begin,
                     const char *protocol, struct sw_error *err)
{
    int status = 0;
    void *begun = upgrade_once(rest, call, begin, protocol, &status, err);

    if (!begun && status == 401 && (rest->options.token || rest->options.authorize)) {
        if (err)
            *err = (struct sw_error){ 0 };
        begun = upgrade_once(rest, call, begin, protocol, &status, err);
    }
    return begun;
}

struct sw_http_stream *sw_rest_upgrade(struct sw_rest *rest, const struct sw_rest_call *call,
                                       const char *protocol, struct sw_error *err)
{
    return upgrade(rest, call, begin_stream, protocol, err);
}

struct sw_websocket *sw_rest_websocket(struct sw_rest *rest, const struct sw_rest_call *call,
                                       const char *protocols, struct sw_error *err)
{
    return upgrade(rest, call, begin_websocket, protocols, err);
}

/* ---- a call, waited for ------------------------------------------------------------------------- */

static void try_over(void *context, const struct sw_rest_answer *answer)
{
    struct rest_try *try = context;

    try->over = true;
    try->json = json_incref(answer->json);
    try->error = answer->error;
}

static void try_done(struct rest_try *try)
{
    sw_buf_done(&try->headers);
    json_decref(try->json);
}

static int64_t left_ms(const struct sw_rest_call *call)
{
    return call->deadline_ms ? call->deadline_ms - sw_monotonic_ms() : INT64_MAX;
}

/* Until the answer is there. -1: the deadline passed, and nothing is waited for any more. */
static int wait_for(struct sw_rest *rest, struct rest_worker *worker, const struct sw_rest_call *call,
                    struct rest_try *try, struct sw_error *err)
{
    while (!try->over) {
        int64_t left = left_ms(call);

        if (left > 0 && sw_http_work(worker->http, left < 1000 ? left : 1000, err) == 0)
            continue;
        drop(worker, try);
        if (left > 0)
            return -1;
        return sw_fail(err, call->silence_counts ? SW_E_TIMEOUT : SW_E_UNREACHABLE,
                       "%s did not answer in time", rest->options.name);
    }
    return 0;
}

/* -1: the call could not even be tried. An answer of any kind is in `try`. */
static int try_once(struct sw_rest *rest, const struct sw_rest_call *call, bool wants_json,
                    struct rest_try *try, struct sw_error *err)
{
    sw_auto(rest_credential) struct rest_credential credential = { 0 };
    struct rest_worker *worker;
    struct rest_request how = { .finished = try_over, .context = try, .out = try,
                                .wants_json = wants_json && !call->sink };
    int result;

    if (rest_credential(rest, &credential, err) < 0)
        return -1;
    worker = rest_borrow(rest, credential.is.certificate, err);
    if (!worker)
        return -1;
    result = send_call(rest, worker, call, &credential, &how, err);
    if (result == 0)
        result = wait_for(rest, worker, call, try, err);
    rest_give_back(rest, worker);
    return result;
}

/* How long to wait before this call is tried again; -1: its answer counts. */
static int64_t pause_after(const struct sw_rest_call *call, const struct rest_try *try, int tried)
{
    bool asks = try->status == 429 || (try->status == 503 && try->retry_after_ms >= 0);
    uint32_t random = (uint32_t)sw_monotonic_ms() * 2654435761u;
    int64_t pause;

    if (!asks || !call->repeatable)
        return -1;
    pause = sw_retry_pause(&sw_retry_usual, tried, random, try->retry_after_ms);
    return pause < left_ms(call) ? pause : -1;
}

static int finish_call(const struct sw_rest_call *call, struct rest_try *try, json_t **json,
                       struct sw_error *err)
{
    if (call->seen) {
        sw_buf_done(&call->seen->headers);
        call->seen->status = try->status;
        call->seen->headers = try->headers;
        try->headers = (struct sw_buf)SW_BUF_INIT;
    }
    if (try->error.code != SW_OK) {
        if (err)
            *err = try->error;
        return -1;
    }
    if (json)
        *json = sw_take(try->json);
    return 0;
}

int sw_rest_call(struct sw_rest *rest, const struct sw_rest_call *given, json_t **json,
                 struct sw_error *err)
{
    struct sw_rest_call one = *given, *call = &one;
    bool renewed = false;

    if (!one.deadline_ms && rest->options.patience_ms && !one.sink)
        one.deadline_ms = sw_monotonic_ms() + rest->options.patience_ms;
    for (int tried = 1;; tried++) {
        struct rest_try try = { 0 };
        int64_t pause = 0;
        int result;

        if (try_once(rest, call, json != NULL, &try, err) < 0)
            return -1;
        if (try.status == 401 && (rest->options.token || rest->options.authorize) && !renewed)
            renewed = true;
        else
            pause = pause_after(call, &try, tried);
        if (pause < 0) {
            result = finish_call(call, &try, json, err);
            try_done(&try);
            return result;
        }
        try_done(&try);
        sw_sleep_ms(pause);
    }
}

/* ---- what every platform asks ------------------------------------------------------------------- */

struct sw_secret *sw_rest_token_given(void *secret, bool refused, struct sw_error *err)
{
    if (secret)
        return sw_secret_new(sw_secret_reveal(secret));
    sw_fail(err, SW_E_CREDENTIAL, refused ? "the token was refused" : "no token is set");
    return NULL;
}

int sw_rest_exists(struct sw_rest *rest, const char *path, bool *exists, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int result = sw_rest_call(rest, &(struct sw_rest_call){ .path = path, .repeatable = true }, NULL, &why);

    *exists = result == 0;
    return result == 0 || why.code == SW_E_NOT_FOUND ? 0 : sw_pass(err, &why);
}

int sw_rest_create(struct sw_rest *rest, const struct sw_rest_call *create, const char *path, json_t **json,
                   struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (sw_rest_call(rest, create, json, &why) == 0)
        return 0;
    if (why.code != SW_E_CONFLICT)
        return sw_pass(err, &why);
    return sw_rest_call(rest, &(struct sw_rest_call){ .path = path, .repeatable = true }, json, err);
}
