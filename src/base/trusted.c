/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trusted.c - certificates of authorities; see trusted.h.
 *
 * Nothing here judges a certificate: that is the TLS library's work. Only their edges are found.
 */
#include "base/trusted.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END   "-----END CERTIFICATE-----"

/* Ours is the name that OpenSSL reads; the others are those of curl, Python and the AWS tools. */
static const char *const variables[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
                                         "AWS_CA_BUNDLE" };

const char *sw_trusted_named(const char **variable)
{
    for (size_t i = 0; i < SW_COUNT(variables); i++) {
        const char *value = getenv(variables[i]);

        if (sw_text_empty(value))
            continue;
        if (variable)
            *variable = variables[i];
        return value;
    }
    return NULL;
}

static bool is_coded(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '=' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* How far there is nothing but base64 and white space: a key in between ends it. */
static const char *coded_until(const char *at, const char *end)
{
    while (at < end && is_coded(*at))
        at++;
    return at;
}

size_t sw_trusted_pick(const char *text, size_t length, struct sw_buf *out)
{
    const char *at = text, *end = text + length;
    size_t count = 0;

    while ((at = memmem(at, (size_t)(end - at), BEGIN, strlen(BEGIN)))) {
        const char *last = coded_until(at + strlen(BEGIN), end);

        if ((size_t)(end - last) >= strlen(END) && memcmp(last, END, strlen(END)) == 0) {
            sw_buf_add_bytes(out, at, (size_t)(last - at));
            sw_buf_add(out, END "\n");
            count++;
            last += strlen(END);              /* its dashes are not the next one's */
        }
        at = last;
    }
    return count;
}

/* Length of the SEQUENCE at `der`, header included; 0: there is none, or not all of it. */
static size_t sequence_length(const unsigned char *der, size_t room)
{
    size_t octets, length = 0;

    if (room < 2 || der[0] != 0x30)
        return 0;
    if (der[1] < 0x80)
        return 2u + der[1] <= room ? 2u + der[1] : 0;
    octets = der[1] & 0x7f;
    if (octets == 0 || octets > 3 || room < 2 + octets)
        return 0;
    for (size_t i = 0; i < octets; i++)
        length = length << 8 | der[2 + i];
    return length <= room - 2 - octets ? 2 + octets + length : 0;
}

static void add_pem(struct sw_buf *out, const void *der, size_t length)
{
    enum { LINE = 64 };
    sw_autofree char *text = sw_base64(der, length);

    sw_buf_add(out, BEGIN "\n");
    for (const char *at = text; *at;) {
        size_t line = strnlen(at, LINE);

        sw_buf_add_bytes(out, at, line);
        sw_buf_add_char(out, '\n');
        at += line;
    }
    sw_buf_add(out, END "\n");
}

size_t sw_trusted_to_pem(const void *der, size_t length, struct sw_buf *out)
{
    const unsigned char *at = der;
    size_t count = 0, one;

    for (; (one = sequence_length(at, length)); count++) {
        add_pem(out, at, one);
        at += one;
        length -= one;
    }
    return count;
}
