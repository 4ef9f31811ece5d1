/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_internal.h - what the files of net/ share: the pool and one request under way.
 */
#ifndef SW_NET_HTTP_INTERNAL_H
#define SW_NET_HTTP_INTERNAL_H

#include "net/curl_load.h"
#include "net/http.h"

#define HTTP_HEADERS_MAX (64 * 1024)
#define HTTP_REPLY_MAX   (1024 * 1024)
#define HTTP_IDLE_MAX    64            /* easy handles kept for the next request */

struct http_transfer {
    struct sw_http *http;
    struct http_transfer *next, **link;       /* in http->transfers */
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *connect_to;     /* where a server is whose certificate has another name */
    struct sw_http_request request;
    struct sw_http_reply reply;
    int64_t sent;                      /* bytes of the body handed to libcurl */
    sw_http_finished *finished;
    void *context;
    bool headers_ended;                /* the empty line behind them came */
    bool refused_by_sink, too_large, read_failed;
    char error[CURL_ERROR_SIZE];
};

struct sw_http {
    const struct curl_functions *curl;
    CURLM *multi;
    struct http_transfer *transfers;
    size_t busy;
    CURL *idle[HTTP_IDLE_MAX];
    size_t idle_count;
    struct sw_http_options options;
    bool direct;                       /* no proxy can be meant: libcurl need not look for one */
    char *ca_file;                     /* NULL: ca_bytes, or the bundle inside */
    struct trust *trust;               /* trust_mbedtls.c's own */

    int listener, listener_file;       /* with options.serve; -1: none */
    char listener_name[32];            /* how we ourselves connect to it */

    int epoll_fd, wake_fd;
    int64_t timer_ms;                  /* when libcurl wants to be called; -1: not at all */
    unsigned char *wanted;             /* CURL_POLL_... by socket; 0: none */
    size_t wanted_room;
    int sleep;                         /* touched by sw_http_wake() in other threads */
};

/* http_transfer.c */
void transfer_prepare(struct http_transfer *transfer);
void transfer_judge(struct http_transfer *transfer, CURLcode result);

/* http_wait.c: let libcurl handle what is ready within that time; or only what is due. */
int http_wait_open(struct sw_http *http);
void http_wait_close(struct sw_http *http);
CURLMcode http_wait(struct sw_http *http, int64_t wait_ms);
CURLMcode http_wait_timer(struct sw_http *http);

/* http_socketpair.c: connections to ourselves. */
int http_socketpair_open(struct sw_http *http, struct sw_error *err);
void http_socketpair_new(struct sw_http *http);       /* hand over what libcurl connected */

/* trust.c: an owned path to a certificate bundle, or NULL. */
char *trust_file(const char *wanted);

/* trust_curl.c or trust_mbedtls.c: whom this request believes; and the pool is closed. */
void trust_apply(struct http_transfer *transfer);
size_t trust_key_length(const char *pem);      /* of a client's key, as the TLS library counts it */
void trust_release(struct sw_http *http);

/* http_tls.c: what a TLS library's complaint about a certificate means, and what to do (NULL: we
 * do not know). May this request travel over https only? */
const char *http_tls_refusal(const char *said, const char **hint);
const char *http_tls_no_bundle_hint(void);
bool http_tls_required(const struct sw_http_request *request);
/* "https://10.0.0.1:6443/x" and a name: the owned "https://NAME:6443/x", and where libcurl shall
 * connect for it. */
char *http_tls_named(const char *url, const char *name, char **connect_to, char **host);

#endif
