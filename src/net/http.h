/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - many HTTP requests at once over kept connections. No other folder uses libcurl.
 *
 *     sw_http_send(http, &request, finished, context);     // takes what the request owns
 *     while (sw_http_busy(http))
 *         sw_http_work(http, 100);                         // calls finished() as replies come
 *
 * One thread drives it; only sw_http_wake() may be called from others. Redirects are never
 * followed here: the caller sees the 3xx and decides what may go to another host.
 * Header values may be secrets, so they are wiped after use and never appear in a message.
 */
#ifndef SW_NET_HTTP_H
#define SW_NET_HTTP_H

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

struct sw_http_options {
    const char *ca_file;         /* whom to believe; NULL: as net/trust.h says */
    const void *ca_bytes;        /* or the certificates themselves (PEM), borrowed as long as the
                                    connection pool lives */
    size_t ca_length;
    int connections;             /* kept open at most; 0: 128 */
    int64_t connect_ms;          /* 0: 10 s */
    bool http2;                  /* many small questions to one https host share one connection;
                                    data moves faster over several of HTTP/1.1 */
    int64_t stall_ms;            /* a transfer that moves nothing this long has failed; 0: 30 s */

    /* Servers that are not just a host and a port. All borrowed as long as the pool lives. */
    const char *unix_socket;     /* every request goes to this socket, whatever its URL's host */
    const char *client_cert;     /* PEM files that tell an https server who we are */
    const char *client_key;
    const char *client_cert_pem; /* or the same as texts, which then are on no disk */
    const char *client_key_pem;
    bool trust_any;              /* the user asked not to check the server's certificate */
    const char *tls_name;        /* whom an https server's certificate must name; NULL: the URL's host */
    const char *proxy;           /* "http://...", "socks5h://...": every request goes through it; NULL: what
                                    the environment says. A password in it is in no message */
    /* Each connection is a stream of ours: this gets its far end, to close in any case, and has
     * a server that speaks HTTP on it. Called from sw_http_work(). */
    void (*serve)(void *context, int fd);
    void *serve_context;
};

struct sw_http;

struct sw_http *sw_http_open(const struct sw_http_options *options, struct sw_error *err);
void sw_http_close(struct sw_http *http);      /* requests under way are dropped, unreported */
SW_DEFINE_AUTO(sw_http, struct sw_http *, sw_http_close)

/* ---- a request ---------------------------------------------------------------------------- */

/* What came back. Texts live until finished() returns. */
struct sw_http_reply {
    int status;                  /* 0: no reply; see `failure` */
    struct sw_buf headers;       /* "Name: value\n" lines of the last reply, bounded */
    struct sw_buf body;          /* what no sink took: at most request.reply_limit bytes */
    int64_t received;            /* bytes of body, sink included */
    int64_t length;              /* Content-Length; -1: not told */
    int64_t date_ms;             /* the server's clock; 0: not told */
    enum sw_code failure;        /* SW_OK, or SW_E_UNREACHABLE, _TIMEOUT, _INTERRUPTED (sink said
                                    no), _REFUSED (certificate, reply too large), _IO ... */
    char why[512];               /* words for `failure`: host and reason, never a header value */
    const char *hint;            /* what to do about it; NULL: we do not know */
    bool retriable;              /* `failure` is of a kind that may pass: cut, refused, stalled */
};

/* Value of a header, any case, owned; NULL: absent. */
char *sw_http_header(const struct sw_http_reply *reply, const char *name);

/* Gets the body of a 2xx reply piece by piece. Non-zero ends the request (SW_E_INTERRUPTED). */
typedef int sw_http_sink(void *context, const struct sw_http_reply *so_far, const char *bytes,
                         size_t length);

struct sw_http_request {
    char method[8];              /* "GET", "HEAD", "PUT", "POST", "DELETE" */
    char *url;                   /* owned; exactly what is sent: already encoded */
    char **headers;              /* owned "Name: value" lines; add with sw_http_request_header */
    size_t header_count;

    /* The body we send: from memory, or from a range of a file (read with pread as it is sent). */
    const void *body;            /* borrowed until finished(); NULL with length 0: none */
    char *body_owned;            /* or owned; `body_length` counts it */
    int64_t body_length;
    int body_fd;                 /* -1 (also in SW_HTTP_REQUEST_INIT): no file; borrowed */
    int64_t body_offset;

    sw_http_sink *sink;          /* NULL: the body goes to reply.body */
    void *sink_context;
    size_t reply_limit;          /* 0: 1 MiB */
    bool large;                  /* much data: worth a big buffer */
    bool plain_said;             /* the user named this server with http://: a credential may go
                                    there in the open. Else it goes over https or to loopback only */
    int64_t stall_ms;            /* 0: the pool's; -1: silence is no failure (a followed log) */
};
#define SW_HTTP_REQUEST_INIT { .body_fd = -1 }

void sw_http_request_header(struct sw_http_request *request, const char *name, const char *value);
void sw_http_request_done(struct sw_http_request *request);    /* wipes the headers */
static inline void sw_http_request_auto(struct sw_http_request *r) { sw_http_request_done(r); }
void sw_http_reply_done(struct sw_http_reply *reply);
static inline void sw_http_reply_auto(struct sw_http_reply *r) { sw_http_reply_done(r); }

typedef void sw_http_finished(void *context, struct sw_http_reply *reply);

/* Start a request; takes what it owns and leaves it empty. finished() is called exactly once,
 * from sw_http_work(), and may send further requests. */
void sw_http_send(struct sw_http *http, struct sw_http_request *request,
                  sw_http_finished *finished, void *context);
/* Drop the request of this context: finished() will not be called. */
void sw_http_drop(struct sw_http *http, const void *context);

size_t sw_http_busy(const struct sw_http *http);       /* requests under way */
/* Wait at most this long for something to happen, and handle it. */
int sw_http_work(struct sw_http *http, int64_t wait_ms, struct sw_error *err);
void sw_http_wake(struct sw_http *http);               /* from any thread: work() returns soon */

/* One request, waited for. `reply` is filled in also when there was none (status 0). */
int sw_http_ask(struct sw_http *http, struct sw_http_request *request,
                struct sw_http_reply *reply, struct sw_error *err);

/* ---- small helpers, pure --------------------------------------------------------------------- */

/* RFC 1123 date ("Sun, 06 Nov 1994 08:49:37 GMT") or ISO 8601 ("2026-05-21T22:50:54.123Z") to
 * milliseconds; -1: neither. */
int64_t sw_http_date(const char *text);
/* Resolve a Location against the URL that answered; owned, NULL when it is not http(s). */
char *sw_http_location(const char *url, const char *location);
bool sw_http_same_host(const char *url, const char *other);    /* scheme, host and port */
bool sw_http_is_loopback(const char *url);                     /* its server is on this machine */
/* Append percent-encoded: all but A-Z a-z 0-9 - _ . ~ and the bytes of `keep`. */
void sw_http_encode(struct sw_buf *out, const char *text, size_t length, const char *keep);
/* "bytes 0-9/100" of a Content-Range: first, last and the whole's size (-1: "*"). false: it is none. */
bool sw_http_content_range(const char *text, int64_t *first, int64_t *last, int64_t *whole);
char *sw_http_decode(const char *text, size_t length);         /* %XX; owned; others stay */

#endif
