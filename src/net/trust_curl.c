/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust_curl.c - the trusted authorities, given to a libcurl that uses OpenSSL or GnuTLS.
 * The static programs have trust_mbedtls.c instead.
 */
#include <string.h>

#include "base/text.h"
#include "net/http_internal.h"
#include "net/trust.h"

void trust_apply(struct http_transfer *transfer)
{
    const struct sw_http *http = transfer->http;
    struct curl_blob blob = {
        .data = (void *)http->options.ca_bytes, .len = http->options.ca_length,
        .flags = CURL_BLOB_NOCOPY,
    };

    if (!sw_text_starts(transfer->request.url, "https:"))
        return;
    if (!http->ca_file && !blob.len)
        blob.data = (void *)sw_trust_inside(&blob.len);
    if (http->ca_file)
        http->curl->easy_setopt(transfer->easy, CURLOPT_CAINFO, http->ca_file);
    else if (blob.len)
        http->curl->easy_setopt(transfer->easy, CURLOPT_CAINFO_BLOB, &blob);
    else
        return;                          /* libcurl may know a place that we do not */
    http->curl->easy_setopt(transfer->easy, CURLOPT_CAPATH, NULL);    /* those and no others */
}

size_t trust_key_length(const char *pem)
{
    return strlen(pem);
}

void trust_release(struct sw_http *http)
{
    (void)http;
}
