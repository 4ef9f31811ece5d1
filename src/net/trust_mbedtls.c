/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust_mbedtls.c - the trusted authorities where libcurl uses mbedTLS: in the static programs.
 *
 * Left to itself libcurl reads all certificates again for each connection and keeps them as long as
 * that lasts: 140 authorities, a hundred connections. Here they are read once for the pool. And this
 * mbedTLS does not know certificates for addresses ("IP Address:10.0.0.5"), which storage servers in
 * machine rooms often have: the names it refuses are looked at once more.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <mbedtls/ssl.h>

#include "base/text.h"
#include "net/http_internal.h"
#include "net/trust.h"

#define SAN_ADDRESS (MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7)      /* iPAddress of RFC 5280 */

/* An address that a URL named, kept as long as the pool: a handshake may outlive its request. */
struct tls_address {
    struct tls_address *next;
    char text[INET6_ADDRSTRLEN];
    unsigned char bytes[sizeof(struct in6_addr)];
    size_t length;
};

struct trust {
    mbedtls_x509_crt chain;
    bool read;
    int result;                       /* of reading it: negative when nothing was understood */
    struct tls_address *addresses;
};

static struct trust *trust_of(struct sw_http *http)
{
    if (!http->trust) {
        http->trust = sw_new(struct trust);
        mbedtls_x509_crt_init(&http->trust->chain);
    }
    return http->trust;
}

static int parse(mbedtls_x509_crt *chain, const char *pem, size_t length)
{
    sw_autofree char *ended = sw_strndup(pem, length);       /* it wants the NUL counted */

    return mbedtls_x509_crt_parse(chain, (const unsigned char *)ended, strlen(ended) + 1);
}

static void read_chain(const struct sw_http *http, struct trust *trust)
{
    size_t length = http->options.ca_length;
    const char *pem = length ? http->options.ca_bytes : NULL;

    trust->read = true;
    if (http->ca_file) {
        trust->result = mbedtls_x509_crt_parse_file(&trust->chain, http->ca_file);
        return;
    }
    pem = pem ? pem : sw_trust_inside(&length);
    trust->result = pem ? parse(&trust->chain, pem, length) : -1;
}

/* ---- certificates for addresses ------------------------------------------------------------------ */

/* "https://10.0.0.5:9000/..." names an address; NULL: it names a host. */
static const struct tls_address *address_in(struct trust *trust, const char *url)
{
    const char *host = url + strlen("https://");
    bool six = *host == '[';
    size_t length = six ? strcspn(++host, "]/") : strcspn(host, ":/?#");
    struct tls_address *one = trust->addresses, made = { 0 };

    snprintf(made.text, sizeof made.text, "%.*s", (int)(length < sizeof made.text ? length : 0), host);
    while (one && strcmp(one->text, made.text) != 0)
        one = one->next;
    if (one)
        return one;
    if (inet_pton(six ? AF_INET6 : AF_INET, made.text, made.bytes) != 1)
        return NULL;
    made.length = six ? sizeof(struct in6_addr) : sizeof(struct in_addr);
    one = sw_new(struct tls_address);
    *one = made;
    one->next = trust->addresses;
    trust->addresses = one;
    return one;
}

/* Called by mbedTLS for each certificate of a chain, the server's own at depth 0. */
static int look_for_address(void *context, mbedtls_x509_crt *certificate, int depth, uint32_t *flags)
{
    const struct tls_address *address = context;

    if (depth != 0)
        return 0;
    for (const mbedtls_x509_sequence *name = &certificate->subject_alt_names; name;
         name = name->next)
        if (name->buf.tag == SAN_ADDRESS && name->buf.len == address->length &&
            memcmp(name->buf.p, address->bytes, address->length) == 0)
            *flags &= ~(uint32_t)MBEDTLS_X509_BADCERT_CN_MISMATCH;
    return 0;
}

/* Left to itself it offers the longest key first, and servers that follow make a handshake cost ten
 * milliseconds instead of five. All of these are far beyond reach. */
static const mbedtls_ecp_group_id curves[] = {
    MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1, MBEDTLS_ECP_DP_SECP384R1,
    MBEDTLS_ECP_DP_SECP521R1, MBEDTLS_ECP_DP_NONE,
};

/* ---- each connection ------------------------------------------------------------------------------ */

/* The URL as libcurl sees it where the certificate has another name; NULL: as it is. */
static char *named_url(const struct http_transfer *transfer)
{
    sw_autofree char *connect_to = NULL, *host = NULL;
    const char *name = transfer->http->options.tls_name;

    return name ? http_tls_named(transfer->request.url, name, &connect_to, &host) : NULL;
}

static CURLcode configure(CURL *easy, void *config, void *context)
{
    struct http_transfer *transfer = context;
    struct trust *trust = trust_of(transfer->http);
    sw_autofree char *named = named_url(transfer);
    const struct tls_address *address = address_in(trust, named ? named : transfer->request.url);

    (void)easy;
    if (!trust->read)
        read_chain(transfer->http, trust);
    if (trust->result < 0)
        return CURLE_SSL_CACERT_BADFILE;
    mbedtls_ssl_conf_ca_chain(config, &trust->chain, NULL);
    mbedtls_ssl_conf_curves(config, curves);
    if (address)
        mbedtls_ssl_conf_verify(config, look_for_address, (void *)address);
    return CURLE_OK;
}

void trust_apply(struct http_transfer *transfer)
{
    const struct curl_functions *curl = transfer->http->curl;

    if (!sw_text_starts(transfer->request.url, "https:"))
        return;
    curl->easy_setopt(transfer->easy, CURLOPT_CAINFO, NULL);
    curl->easy_setopt(transfer->easy, CURLOPT_SSL_CTX_FUNCTION, configure);
    curl->easy_setopt(transfer->easy, CURLOPT_SSL_CTX_DATA, transfer);
}

/* mbedTLS takes a text for PEM only with the NUL at its end. libcurl adds that to a certificate and
 * not to a key. */
size_t trust_key_length(const char *pem)
{
    return strlen(pem) + 1;
}

void trust_release(struct sw_http *http)
{
    if (!http->trust)
        return;
    mbedtls_x509_crt_free(&http->trust->chain);
    for (struct tls_address *one = http->trust->addresses, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    free(http->trust);
}
