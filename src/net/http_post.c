/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_post.c - one JSON document to one web address, through libcurl.
 *
 * Only slipway-hook is linked with this: loading libcurl costs ten times what `slipway ps` takes
 * (docs/decisions/0008). The answer's body is read and dropped.
 */
#include "net/http_post.h"

#include <string.h>

#include <curl/curl.h>

static size_t drop(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes, (void)context;
    return size * count;
}

static enum sw_code code_of(CURLcode code)
{
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return SW_E_TIMEOUT;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return SW_E_SPEC;
    default:
        return SW_E_UNREACHABLE;
    }
}

static CURLcode perform(CURL *curl, const char *url, const char *body, int64_t timeout_ms,
                        struct curl_slist *headers, long *status)
{
    CURLcode code;

    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "slipway");
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
    code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
    return code;
}

int sw_http_post_json(const char *url, const char *body, int64_t timeout_ms, long *status,
                      struct sw_error *err)
{
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    CURLcode code = CURLE_FAILED_INIT;

    if (curl && headers)
        code = perform(curl, url, body, timeout_ms, headers, status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code != CURLE_OK)
        return sw_fail(err, code_of(code), "%s", curl_easy_strerror(code));
    return 0;
}
