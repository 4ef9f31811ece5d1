/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_transfer.c - one request on its way: our request to libcurl's options, its end to our reply.
 *
 * Everything a server sends is bounded here: header bytes, and body bytes unless a sink takes them.
 * `Expect: 100-continue` is switched off: it costs a round trip per upload, and servers that want
 * to refuse do so with a status we read anyway.
 */
#include "net/http_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "net/retry.h"

#define LARGE_BUFFER (256L * 1024)
#define USUAL_BUFFER (68L * 1024)      /* a small object and its headers in one read */

/* ---- the reply comes ------------------------------------------------------------------------ */

static void begin_reply(struct sw_http_reply *reply, const char *line, size_t length)
{
    const char *space = memchr(line, ' ', length);

    sw_buf_clear(&reply->headers);
    sw_buf_clear(&reply->body);
    reply->received = 0;
    reply->length = -1;
    reply->status = space ? atoi(space + 1) : 0;
}

static size_t take_header(char *line, size_t one, size_t length, void *context)
{
    struct http_transfer *transfer = context;
    struct sw_http_reply *reply = &transfer->reply;
    size_t text = length * one;

    if (text >= 5 && strncasecmp(line, "HTTP/", 5) == 0) {
        begin_reply(reply, line, text);
        transfer->headers_ended = false;
        return text;
    }
    while (text && (line[text - 1] == '\n' || line[text - 1] == '\r'))
        text--;
    transfer->headers_ended |= text == 0;
    if (!text || memchr(line, '\0', text))
        return length;
    if (reply->headers.length + text > HTTP_HEADERS_MAX) {
        transfer->too_large = true;
        return 0;
    }
    sw_buf_add_bytes(&reply->headers, line, text);
    sw_buf_add_char(&reply->headers, '\n');
    if (text > 15 && strncasecmp(line, "content-length:", 15) == 0)
        reply->length = strtoll(line + 15, NULL, 10);
    else if (text > 5 && strncasecmp(line, "date:", 5) == 0) {
        sw_autofree char *value = sw_strndup(line + 5, text - 5);

        reply->date_ms = sw_http_date(value);
        reply->date_ms = reply->date_ms < 0 ? 0 : reply->date_ms;
    }
    return length;
}

static size_t take_body(char *bytes, size_t one, size_t length, void *context)
{
    struct http_transfer *transfer = context;
    struct sw_http_reply *reply = &transfer->reply;
    size_t limit = transfer->request.reply_limit ? transfer->request.reply_limit : HTTP_REPLY_MAX;

    (void)one;
    reply->received += (int64_t)length;
    if (transfer->request.sink && reply->status >= 200 && reply->status < 300) {
        if (transfer->request.sink(transfer->request.sink_context, reply, bytes, length) == 0)
            return length;
        transfer->refused_by_sink = true;
        return 0;
    }
    if (reply->body.length + length > limit) {
        transfer->too_large = true;
        return 0;
    }
    sw_buf_add_bytes(&reply->body, bytes, length);
    return length;
}

/* ---- our body goes --------------------------------------------------------------------------- */

static size_t give_body(char *out, size_t one, size_t room, void *context)
{
    struct http_transfer *transfer = context;
    const struct sw_http_request *request = &transfer->request;
    int64_t left = request->body_length - transfer->sent;
    size_t part = (int64_t)(room * one) < left ? room * one : (size_t)left;
    ssize_t got;

    if (!part)
        return 0;
    while ((got = pread(request->body_fd, out, part, request->body_offset + transfer->sent)) < 0 &&
           errno == EINTR) {
    }
    if (got <= 0) {
        transfer->read_failed = true;
        return CURL_READFUNC_ABORT;
    }
    transfer->sent += got;
    return (size_t)got;
}

/* libcurl begins a body again when a kept connection turns out to be dead. */
static int rewind_body(void *context, curl_off_t offset, int origin)
{
    struct http_transfer *transfer = context;

    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    transfer->sent = offset;
    return CURL_SEEKFUNC_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

static void set_method(struct http_transfer *transfer)
{
    const struct curl_functions *curl = transfer->http->curl;
    const struct sw_http_request *request = &transfer->request;
    bool upload = request->body_length > 0 || strcmp(request->method, "PUT") == 0 ||
                  strcmp(request->method, "POST") == 0;

    if (strcmp(request->method, "HEAD") == 0)
        curl->easy_setopt(transfer->easy, CURLOPT_NOBODY, 1L);
    else if (strcmp(request->method, "GET") != 0)
        curl->easy_setopt(transfer->easy, CURLOPT_CUSTOMREQUEST, request->method);
    if (!upload)
        return;
    if (request->body_fd < 0 && request->body_length > 0) {
        /* As a form, a small body leaves in one piece with its headers: one packet, one read. */
        curl->easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE,
                          (curl_off_t)request->body_length);
        curl->easy_setopt(transfer->easy, CURLOPT_POSTFIELDS, request->body);
        return;
    }
    curl->easy_setopt(transfer->easy, CURLOPT_UPLOAD, 1L);
    curl->easy_setopt(transfer->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->body_length);
    curl->easy_setopt(transfer->easy, CURLOPT_READFUNCTION, give_body);
    curl->easy_setopt(transfer->easy, CURLOPT_READDATA, transfer);
    curl->easy_setopt(transfer->easy, CURLOPT_SEEKFUNCTION, rewind_body);
    curl->easy_setopt(transfer->easy, CURLOPT_SEEKDATA, transfer);
    if (request->large)
        curl->easy_setopt(transfer->easy, CURLOPT_UPLOAD_BUFFERSIZE, LARGE_BUFFER);
}

/* What libcurl would add by itself; an empty one takes it away. */
static const char *const unwanted[] = { "Expect:", "Content-Type:" };

static bool is_given(const struct sw_http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strncasecmp(request->headers[i], name, strlen(name)) == 0)
            return true;
    return false;
}

/* ---- servers that are not just a host and a port ------------------------------------------------ */

/* The client's certificate and key, which are on no disk. */
static void present_certificate(struct http_transfer *transfer)
{
    const struct sw_http_options *options = &transfer->http->options;
    struct curl_blob certificate = {
        .data = (void *)options->client_cert_pem, .len = strlen(options->client_cert_pem),
        .flags = CURL_BLOB_NOCOPY,
    };
    struct curl_blob key = {
        .data = (void *)options->client_key_pem, .len = trust_key_length(options->client_key_pem),
        .flags = CURL_BLOB_NOCOPY,
    };

    transfer->http->curl->easy_setopt(transfer->easy, CURLOPT_SSLCERT_BLOB, &certificate);
    transfer->http->curl->easy_setopt(transfer->easy, CURLOPT_SSLKEY_BLOB, &key);
}

static void set_way(struct http_transfer *transfer)
{
    const struct curl_functions *curl = transfer->http->curl;
    const struct sw_http_options *options = &transfer->http->options;
    CURL *easy = transfer->easy;

    if (options->unix_socket)
        curl->easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, options->unix_socket);
    if (options->serve)
        curl->easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, transfer->http->listener_name);
    if (transfer->http->direct)
        curl->easy_setopt(easy, CURLOPT_NOPROXY, "*");
    if (options->client_cert)
        curl->easy_setopt(easy, CURLOPT_SSLCERT, options->client_cert);
    if (options->client_key)
        curl->easy_setopt(easy, CURLOPT_SSLKEY, options->client_key);
    if (options->client_cert_pem)
        present_certificate(transfer);
    if (options->proxy) {
        curl->easy_setopt(easy, CURLOPT_PROXY, options->proxy);
        curl->easy_setopt(easy, CURLOPT_NOPROXY, "");
    }
    if (options->trust_any) {
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

/* libcurl checks a certificate against the URL's host: that becomes the name, and the connection
 * goes where the URL leads. The server still hears the host that the URL has. */
static void set_tls_name(struct http_transfer *transfer)
{
    const struct curl_functions *curl = transfer->http->curl;
    sw_autofree char *connect_to = NULL, *host = NULL, *url = NULL;

    if (!transfer->http->options.tls_name || !sw_text_starts(transfer->request.url, "https://"))
        return;
    url = http_tls_named(transfer->request.url, transfer->http->options.tls_name, &connect_to, &host);
    transfer->connect_to = curl->slist_append(NULL, connect_to);
    curl->easy_setopt(transfer->easy, CURLOPT_URL, url);
    curl->easy_setopt(transfer->easy, CURLOPT_CONNECT_TO, transfer->connect_to);
    if (!is_given(&transfer->request, "Host:"))
        transfer->headers = curl->slist_append(transfer->headers, host);
}

static void set_headers(struct http_transfer *transfer)
{
    const struct curl_functions *curl = transfer->http->curl;

    for (size_t i = 0; i < transfer->request.header_count; i++)
        transfer->headers = curl->slist_append(transfer->headers, transfer->request.headers[i]);
    for (size_t i = 0; i < SW_COUNT(unwanted); i++)
        if (!is_given(&transfer->request, unwanted[i]))
            transfer->headers = curl->slist_append(transfer->headers, unwanted[i]);
    curl->easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
}

void transfer_prepare(struct http_transfer *transfer)
{
    const struct curl_functions *curl = transfer->http->curl;
    const struct sw_http_options *options = &transfer->http->options;
    int64_t stall_ms = transfer->request.stall_ms ? transfer->request.stall_ms : options->stall_ms;
    CURL *easy = transfer->easy;

    curl->easy_setopt(easy, CURLOPT_URL, transfer->request.url);
    curl->easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR,
                      http_tls_required(&transfer->request) ? "https" : "http,https");
    curl->easy_setopt(easy, CURLOPT_HTTP_VERSION,
                      (long)(options->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    curl->easy_setopt(easy, CURLOPT_PIPEWAIT, (long)options->http2);
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl->easy_setopt(easy, CURLOPT_USERAGENT, "slipway/" SW_VERSION);
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)options->connect_ms);
    if (stall_ms > 0) {
        curl->easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl->easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)((stall_ms + 999) / 1000));
    }
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl->easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl->easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl->easy_setopt(easy, CURLOPT_BUFFERSIZE, transfer->request.large ? LARGE_BUFFER : USUAL_BUFFER);
    set_method(transfer);
    trust_apply(transfer);
    set_way(transfer);
    set_tls_name(transfer);
    set_headers(transfer);
}

/* ---- the end --------------------------------------------------------------------------------- */

static const struct {
    CURLcode result;
    enum sw_code code;
    bool retriable;
} ends[] = {
    { CURLE_COULDNT_RESOLVE_HOST,    SW_E_UNREACHABLE, true },
    { CURLE_COULDNT_RESOLVE_PROXY,   SW_E_UNREACHABLE, true },
    { CURLE_COULDNT_CONNECT,         SW_E_UNREACHABLE, true },
    { CURLE_PARTIAL_FILE,            SW_E_UNREACHABLE, true },
    { CURLE_GOT_NOTHING,             SW_E_UNREACHABLE, true },
    { CURLE_SEND_ERROR,              SW_E_UNREACHABLE, true },
    { CURLE_RECV_ERROR,              SW_E_UNREACHABLE, true },
    { CURLE_SSL_CONNECT_ERROR,       SW_E_UNREACHABLE, true },
    { CURLE_SEND_FAIL_REWIND,        SW_E_UNREACHABLE, true },
    { CURLE_HTTP2,                   SW_E_UNREACHABLE, true },
    { CURLE_HTTP2_STREAM,            SW_E_UNREACHABLE, true },
    { CURLE_WEIRD_SERVER_REPLY,      SW_E_REFUSED,     true },
    { CURLE_OPERATION_TIMEDOUT,      SW_E_TIMEOUT,     true },
    { CURLE_PEER_FAILED_VERIFICATION, SW_E_REFUSED,    false },
    { CURLE_SSL_CACERT_BADFILE,      SW_E_IO,          false },
    { CURLE_SSL_CERTPROBLEM,         SW_E_CREDENTIAL,  false },
    { CURLE_URL_MALFORMAT,           SW_E_USAGE,       false },
    { CURLE_UNSUPPORTED_PROTOCOL,    SW_E_UNSUPPORTED, false },
};

/* "https://me:pw@host:1/..." -> "host:1", so that no password and no signature gets into a message. */
static void host_of(const char *url, char *out, size_t room)
{
    const char *begin = strstr(url, "://");
    size_t length;

    begin = begin ? begin + 3 : url;
    length = strcspn(begin, "/?#");
    for (const char *at; (at = memchr(begin, '@', length)); begin = at + 1)
        length -= (size_t)(at + 1 - begin);
    snprintf(out, room, "%.*s", (int)(length < room ? length : room - 1), begin);
}

/* Our own words where we have better ones than libcurl; NULL: its words will do. */
static const char *own_words(const struct http_transfer *transfer, CURLcode result, const char **hint)
{
    if (transfer->too_large)
        return "the reply is too large";
    if (transfer->read_failed)
        return "the file to send became shorter";
    if (result == CURLE_PEER_FAILED_VERIFICATION)
        return http_tls_refusal(transfer->error, hint);
    if (result == CURLE_SSL_CACERT_BADFILE) {
        *hint = http_tls_no_bundle_hint();
        return transfer->http->ca_file ? "cannot read the trusted certificates"
                                     : "no trusted certificates here to check its own";
    }
    if (result == CURLE_PARTIAL_FILE && !transfer->error[0])
        return "the answer was cut off";
    if (result == CURLE_GOT_NOTHING && !sw_text_starts(transfer->request.url, "https:"))
        *hint = "a server that hangs up at once may want https:// in its address";
    if (result == CURLE_SSL_CONNECT_ERROR)
        *hint = "the server may not use TLS (then write http://), or only unsupported versions of it";
    if (result == CURLE_UNSUPPORTED_PROTOCOL && http_tls_required(&transfer->request)) {
        *hint = "write the endpoint with https:// or http://";
        return "a credential is not sent there without TLS";
    }
    return NULL;
}

static void say_why(struct http_transfer *transfer, CURLcode result)
{
    struct sw_http_reply *reply = &transfer->reply;
    const char *own = own_words(transfer, result, &reply->hint);
    const char *said = transfer->error[0] ? transfer->error : transfer->http->curl->easy_strerror(result);
    const char *trusted = transfer->http->ca_file                ? transfer->http->ca_file
                          : transfer->http->options.ca_length ? "one given authority" : "the bundle inside";
    bool about_trust = result == CURLE_PEER_FAILED_VERIFICATION ||
                       result == CURLE_SSL_CACERT_BADFILE;
    char host[128];

    host_of(transfer->request.url, host, sizeof host);
    if (own && about_trust)
        snprintf(reply->why, sizeof reply->why, "%s: %s (%s; trusted: %s)", host, own, said, trusted);
    else
        snprintf(reply->why, sizeof reply->why, "%s: %s", host, own ? own : said);
}

/* libcurl takes a connection that ends inside the headers for a whole answer without a body, and does
 * not count where the server announced a length and it was not asked to. */
static bool is_cut(const struct http_transfer *transfer)
{
    const struct sw_http_reply *reply = &transfer->reply;
    bool has_body = strcmp(transfer->request.method, "HEAD") != 0 && reply->status != 204 &&
                    reply->status != 304;

    return reply->status != 0 &&
           (!transfer->headers_ended || (has_body && reply->received < reply->length));
}

void transfer_judge(struct http_transfer *transfer, CURLcode result)
{
    struct sw_http_reply *reply = &transfer->reply;

    if (result == CURLE_OK && is_cut(transfer))
        result = CURLE_PARTIAL_FILE;
    if (result == CURLE_OK)
        return;
    reply->failure = SW_E_UNREACHABLE;
    for (size_t i = 0; i < SW_COUNT(ends); i++)
        if (ends[i].result == result) {
            reply->failure = ends[i].code;
            reply->retriable = ends[i].retriable;
        }
    if (transfer->refused_by_sink)
        reply->failure = SW_E_INTERRUPTED;
    else if (transfer->too_large)
        reply->failure = SW_E_REFUSED;
    else if (transfer->read_failed)
        reply->failure = SW_E_IO;
    reply->retriable = reply->retriable && !transfer->refused_by_sink && !transfer->read_failed;
    say_why(transfer, result);
    if (!transfer->refused_by_sink)
        reply->status = 0;
}
