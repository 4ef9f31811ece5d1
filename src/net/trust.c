/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.c - where the certificates are that we believe; see trust.h for the order.
 *
 * A static program cannot know at build time where a machine keeps them, and an image may have
 * none: then the bundle that it carries is unpacked, at the first https request. What the user
 * names always wins, also when the file is missing: silently trusting something else is worse.
 */
#include "net/trust.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/text.h"
#include "base/trusted.h"
#include "net/http_internal.h"

static const char *const places[] = {
    "/etc/ssl/certs/ca-certificates.crt",                  /* Debian, Ubuntu, Arch */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",   /* Fedora, RHEL */
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",                              /* SUSE */
    "/etc/ssl/cert.pem",                                   /* Alpine, BSD */
    "/etc/ssl/certs/ca-bundle.crt",
};

/* From trust_packed.S; nothing between them in a development build. */
extern const char sw_trust_packed[], sw_trust_packed_end[];

static char job_file[PATH_MAX];

int sw_trust_job(const char *file, struct sw_error *err)
{
    job_file[0] = '\0';
    if (!file)
        return 0;
    if (!realpath(file, job_file) || access(job_file, R_OK) < 0) {
        job_file[0] = '\0';
        return sw_fail_errno(err, SW_E_IO, "cannot read the job's certificates in '%s'", file);
    }
    return 0;
}

char *trust_file(const char *wanted)
{
    struct stat info;

    wanted = !sw_text_empty(wanted) ? wanted : *job_file ? job_file : sw_trusted_named(NULL);
    if (wanted)
        return sw_strdup(wanted);
    for (size_t i = 0; i < SW_COUNT(places); i++)
        if (access(places[i], R_OK) == 0 && stat(places[i], &info) == 0 && info.st_size > 0)
            return sw_strdup(places[i]);
    return NULL;
}

/* ---- the bundle inside ------------------------------------------------------------------------ */

/* gzip to plain bytes, at most SW_TRUSTED_MAX; owned, NULL: not gzip, cut off or too large. */
static unsigned char *unzip(const void *packed, size_t size, size_t *length)
{
    sw_autofree unsigned char *plain = sw_alloc(SW_TRUSTED_MAX);
    z_stream stream = { .next_in = (void *)packed, .avail_in = (uInt)size,
                        .next_out = plain, .avail_out = SW_TRUSTED_MAX };
    int how;

    if (size > SW_TRUSTED_MAX || inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return NULL;
    how = inflate(&stream, Z_FINISH);
    *length = stream.total_out;
    inflateEnd(&stream);
    return how == Z_STREAM_END ? sw_take(plain) : NULL;
}

char *sw_trust_unpack(const void *packed, size_t size, size_t *length)
{
    sw_auto(sw_buf) struct sw_buf pem = SW_BUF_INIT;
    size_t plain_length = 0;
    sw_autofree unsigned char *plain = unzip(packed, size, &plain_length);

    if (!plain || sw_trusted_to_pem(plain, plain_length, &pem) == 0)
        return NULL;
    *length = pem.length;
    return sw_buf_steal(&pem);
}

static struct { char *pem; size_t length; } inside;

static void unpack_inside(void)
{
    size_t size = (size_t)(sw_trust_packed_end - sw_trust_packed);

    if (size > 0)
        inside.pem = sw_trust_unpack(sw_trust_packed, size, &inside.length);
}

const char *sw_trust_inside(size_t *length)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, unpack_inside);
    *length = inside.length;
    return inside.pem;
}
