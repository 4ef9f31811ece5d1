/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_post.c - one JSON document to one web address, waited for no longer than asked.
 *
 * For webhooks: the answer's body is read and dropped, and redirects are not followed.
 */
#include "net/http_post.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "net/http.h"

struct outcome {
    bool known;
    int status;
    enum sw_code failure;
    char why[512];
    const char *hint;
};

static void note_outcome(void *context, struct sw_http_reply *reply)
{
    struct outcome *outcome = context;

    outcome->known = true;
    outcome->status = reply->status;
    outcome->failure = reply->failure;
    snprintf(outcome->why, sizeof outcome->why, "%s", reply->why);
    outcome->hint = reply->hint;
}

static int wait_for(struct sw_http *http, struct outcome *outcome, int64_t deadline_ms,
                    struct sw_error *err)
{
    while (!outcome->known) {
        int64_t left = deadline_ms - sw_monotonic_ms();

        if (left <= 0) {
            sw_http_drop(http, outcome);
            return sw_fail(err, SW_E_TIMEOUT, "no answer in time");
        }
        if (sw_http_work(http, left, err) < 0)
            return -1;
    }
    if (outcome->status == 0) {
        sw_fail(err, outcome->failure ? outcome->failure : SW_E_UNREACHABLE, "%s", outcome->why);
        return outcome->hint ? sw_hint(err, "%s", outcome->hint) : -1;
    }
    return 0;
}

int sw_http_post_json(const char *url, const char *body, int64_t timeout_ms, long *status,
                      struct sw_error *err)
{
    const struct sw_http_options options = { .connections = 1, .connect_ms = timeout_ms,
                                             .stall_ms = timeout_ms };
    int64_t deadline_ms = sw_monotonic_ms() + timeout_ms;
    sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
    sw_auto(sw_http) struct sw_http *http = NULL;
    struct outcome outcome = { 0 };

    if (!sw_text_starts(url, "http://") && !sw_text_starts(url, "https://"))
        return sw_fail(err, SW_E_SPEC, "not an address that begins with http:// or https://");
    http = sw_http_open(&options, err);
    if (!http)
        return -1;
    strcpy(request.method, "POST");
    request.url = sw_strdup(url);
    request.body = body;
    request.body_length = (int64_t)strlen(body);
    sw_http_request_header(&request, "Content-Type", "application/json");
    sw_http_send(http, &request, note_outcome, &outcome);
    if (wait_for(http, &outcome, deadline_ms, err) < 0)
        return -1;
    *status = outcome.status;
    return 0;
}
