/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_internal.h - what the files of net/ share: the pool and one request under way.
 */
#ifndef SW_NET_HTTP_INTERNAL_H
#define SW_NET_HTTP_INTERNAL_H

#include "net/curl_door.h"
#include "net/http.h"

#define HTTP_HEADERS_MAX (64 * 1024)
#define HTTP_REPLY_MAX   (1024 * 1024)
#define HTTP_IDLE_MAX    64            /* easy handles kept for the next request */

struct flight {
    struct sw_http *http;
    struct flight *next, **link;       /* in http->flights */
    CURL *easy;
    struct curl_slist *headers;
    struct sw_http_request request;
    struct sw_http_reply reply;
    int64_t sent;                      /* bytes of the body handed to libcurl */
    sw_http_finished *finished;
    void *context;
    bool refused_by_sink, too_large, read_failed;
    char error[CURL_ERROR_SIZE];
};

struct sw_http {
    const struct curl_door *curl;
    CURLM *multi;
    struct flight *flights;
    size_t busy;
    CURL *idle[HTTP_IDLE_MAX];
    size_t idle_count;
    struct sw_http_options options;
    char *ca_file;                     /* NULL: libcurl's own, or ca_bytes */
    int listener, listener_file;       /* with options.serve; -1: none */
    char listener_name[32];            /* how we ourselves connect to it */
};

/* http_flight.c */
void flight_prepare(struct flight *flight);
void flight_judge(struct flight *flight, CURLcode result);

/* http_serve.c: connections to ourselves. */
int http_serve_open(struct sw_http *http, struct sw_error *err);
void http_serve_new(struct sw_http *http);       /* hand over what libcurl connected */

/* http_ca.c: an owned path to a certificate bundle, or NULL. */
char *http_ca_find(const char *wanted);

#endif
