/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_ca.c - where a machine keeps the certificates it trusts.
 *
 * A static program cannot know at build time; every distribution has its own place. What the user
 * names always wins, also when the file is missing: silently trusting something else is worse.
 */
#include "net/http_internal.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"

static const char *const variables[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE", "AWS_CA_BUNDLE" };

static const char *const places[] = {
    "/etc/ssl/certs/ca-certificates.crt",                  /* Debian, Ubuntu, Arch */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",   /* Fedora, RHEL */
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",                              /* SUSE */
    "/etc/ssl/cert.pem",                                   /* Alpine, BSD */
    "/etc/ssl/certs/ca-bundle.crt",
};

char *http_ca_find(const char *wanted)
{
    if (!sw_text_empty(wanted))
        return sw_strdup(wanted);
    for (size_t i = 0; i < SW_COUNT(variables); i++)
        if (!sw_text_empty(getenv(variables[i])))
            return sw_strdup(getenv(variables[i]));
    for (size_t i = 0; i < SW_COUNT(places); i++)
        if (access(places[i], R_OK) == 0)
            return sw_strdup(places[i]);
    return NULL;
}
