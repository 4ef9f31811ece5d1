/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uri.h - where data is: s3://bucket/key, hf_model://org/name, /a/path.
 *
 * A URI is cut, never decoded: what follows "://" belongs to the storage of that scheme. For s3
 * it is the raw key ("s3://b/a%2Fb c" is the object called "a%2Fb c"), for http(s) it is what goes
 * over the wire. A text without "://" is a path on this machine. No URI may hold a NUL, and a
 * user:password part is refused: credentials have their own places.
 */
#ifndef SW_STORAGE_URI_H
#define SW_STORAGE_URI_H

#include "base/error.h"

#define SW_URI_MAX 8192

struct sw_uri {
    char *scheme;     /* lower case; "file" for plain paths */
    char *host;       /* up to the first '/': bucket, host:port, organisation; "" for paths */
    char *path;       /* what follows, without that '/'; for local schemes the absolute or relative
                         path itself */
};

int sw_uri_parse(const char *text, struct sw_uri *out, struct sw_error *err);
void sw_uri_done(struct sw_uri *uri);
static inline void sw_uri_auto(struct sw_uri *uri) { sw_uri_done(uri); }

char *sw_uri_text(const struct sw_uri *uri);                         /* owned; parses back */
char *sw_uri_join(const char *uri, const char *relative);            /* owned; one '/' between */
bool sw_uri_is_remote(const char *text);                             /* has "://" */
char *sw_uri_name(const char *text);      /* what its file is called: of a URL without query and percent
                                             signs; owned */
const char *sw_uri_last(const char *text);                           /* last part; borrowed */

/* May this name, from a listing or an archive, become a path below a folder? Refused: empty,
 * absolute, "." or ".." as a part, NUL, a part above 255 bytes, "//". */
int sw_name_check(const char *name, struct sw_error *err);

/* Shell patterns over relative names: `*` crosses '/', `?`, `[a-z]`, `[!a-z]`; "dir/" matches
 * everything below a folder of that name, at any depth; a pattern without '/' also matches the
 * last part of a name. */
bool sw_name_matches(const char *pattern, const char *name);

#endif
