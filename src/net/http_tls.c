/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_tls.c - certificates refused, in words that say what to do; and credentials that would
 * travel in the open.
 *
 * OpenSSL and mbedTLS say the same things differently, so both are turned into our own sentences.
 * Pure.
 */
#include "net/http_internal.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* ---- refused certificates ---------------------------------------------------------------------- */

static const char clock_hint[] = "check this machine's clock (`date`); if it is right, the "
                                 "server needs a new certificate";
static const char name_hint[] = "use the name that the certificate was made for, in the endpoint "
                                "or URL";
static const char authority_hint[] = "set SSL_CERT_FILE to a file (PEM) with the certificate of "
                                     "the authority that signed it";

/* The first row with a word of the library's message counts; the last one is for all others. */
static const struct {
    const char *openssl, *mbedtls, *why, *hint;
} refusals[] = {
    { "has expired", "BADCERT_EXPIRED", "its certificate has expired", clock_hint },
    { "not yet valid", "BADCERT_FUTURE", "its certificate is not valid yet", clock_hint },
    { "subject name", "CN_MISMATCH", "its certificate is for another host name", name_hint },
    { "does not match target host", "CN_MISMATCH", "its certificate is for another host name",
      name_hint },
    { "revoked", "BADCERT_REVOKED", "its certificate was revoked", NULL },
    { "", "", "no trusted authority signed its certificate", authority_hint },
};

const char *http_tls_refusal(const char *said, const char **hint)
{
    size_t i = 0;

    while (!strcasestr(said, refusals[i].openssl) && !strstr(said, refusals[i].mbedtls))
        i++;
    *hint = refusals[i].hint;
    return refusals[i].why;
}

const char *http_tls_no_bundle_hint(void)
{
    return "SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE or AWS_CA_BUNDLE must name a "
           "readable file with certificates (PEM)";
}

/* ---- credentials in the open -------------------------------------------------------------------- */

static const char *const credential_headers[] = { "Authorization:", "X-Amz-Security-Token:",
                                                  "Cookie:", "Proxy-Authorization:" };

static bool is_credential(const char *header)
{
    for (size_t i = 0; i < SW_COUNT(credential_headers); i++)
        if (strncasecmp(header, credential_headers[i], strlen(credential_headers[i])) == 0)
            return true;
    return false;
}

/* "http://127.0.0.1:9000/..." never leaves this machine. */
static bool is_loopback(const char *host, size_t length)
{
    sw_autofree char *name = sw_strndup(host, length);
    struct in_addr address;

    if (strchr(name, '@'))
        return false;
    if (sw_text_starts(name, "[::1]"))
        return name[5] == '\0' || name[5] == ':';
    name[strcspn(name, ":")] = '\0';
    if (strcasecmp(name, "localhost") == 0)
        return true;
    return inet_pton(AF_INET, name, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

bool sw_http_is_loopback(const char *url)
{
    const char *scheme = strstr(url, "://"), *host = scheme ? scheme + 3 : url;

    return is_loopback(host, strcspn(host, "/?#"));
}

bool http_tls_required(const struct sw_http_request *request)
{
    if (request->plain_said || strncasecmp(request->url, "http://", strlen("http://")) != 0 ||
        sw_http_is_loopback(request->url))
        return false;
    for (size_t i = 0; i < request->header_count; i++)
        if (is_credential(request->headers[i]))
            return true;
    return false;
}

/* ---- a certificate for another name ------------------------------------------------------------------ */

char *http_tls_named(const char *url, const char *name, char **connect_to, char **host)
{
    const char *begin = url + strlen("https://");
    size_t length = strcspn(begin, "/?#");
    const char *after = begin + length;
    const char *bracket = memchr(begin, ']', length), *from = bracket ? bracket : begin;
    const char *colon = memchr(from, ':', (size_t)(after - from));
    int port = colon ? (int)(after - colon) : 0;                    /* with its colon */
    bool six = strchr(name, ':') != NULL;

    *connect_to = sw_format("::%.*s%s", (int)length, begin, colon ? "" : ":");
    *host = sw_format("Host: %.*s", (int)length, begin);
    return sw_format("https://%s%s%s%.*s%s", six ? "[" : "", name, six ? "]" : "", port, colon ? colon : "",
                     after);
}
