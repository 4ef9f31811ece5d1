/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hub.h - what the model hubs (hf.c, ngc.c) share: settings, signed links, answers in JSON.
 *
 * Both hubs answer a question about a file with a signed link to another host. A link is kept
 * beside the open repository, so that all ranges of a large file go through one, and is dropped
 * when that host says no: it has expired, and the hub is asked again.
 */
#ifndef SW_STORAGE_HUB_H
#define SW_STORAGE_HUB_H

#include "base/json.h"
#include "base/secret.h"
#include "storage/storage.h"

#define HUB_REPLY_MAX  (16 * 1024 * 1024)   /* one page of a listing */
#define HUB_SECRET_MAX 4096                 /* longest token or key */
#define HUB_LINK_COUNT 128                  /* files under way at once, with room to spare */
#define HUB_TURNS      4                    /* redirects, or links asked again, in one operation */

/* ---- settings ------------------------------------------------------------------------------ */

bool hub_env_true(const struct sw_storage_options *options, const char *name);
/* Base URL without a '/' at its end, owned: the variable's value ("https://" is added when it has
 * no scheme), else `usual`. NULL: it is no http(s) URL. */
char *hub_endpoint(const struct sw_storage_options *options, const char *name, const char *usual,
                   struct sw_error *err);
/* An owned copy without space around it; NULL: SW_E_CREDENTIAL naming `where`, never the value. */
char *hub_secret(const char *value, const char *where, struct sw_error *err);
bool hub_hex(const char *text, size_t length);      /* exactly so many lower-case hex digits */

/* ---- requests and replies -------------------------------------------------------------------- */

/* GET (or POST) of an address, taken over; the reply is bounded and never compressed. */
void hub_request(struct sw_http_request *request, const char *method, char *url);
void hub_add_range(struct sw_http_request *request, const struct sw_operation *op);
void hub_add_bearer(struct sw_http_request *request, const char *token, const char *endpoint);
/* The answer as JSON; NULL: SW_E_REFUSED "`what`: ... is no JSON". */
json_t *hub_json(const struct sw_http_reply *reply, const char *what, struct sw_error *err);
bool hub_is_redirect(int status);
bool hub_link_is_over(int status);          /* what a file host says to an expired link */
/* A redirect or link may not lead from https to http: -1 + err. */
int hub_stays_secure(const char *from, const char *to, struct sw_error *err);
/* The address a redirect means, owned. NULL: there is none, or it leads from https to http. */
char *hub_redirect(const struct sw_http_reply *reply, const char *asked, struct sw_error *err);
void hub_set_digest(struct sw_object *object, const char *hex);   /* sha256 or git sha1, by length */

/* ---- signed links ------------------------------------------------------------------------------ */

struct hub_link {
    char *key;       /* the file; NULL: an empty place */
    char *url;
    char *etag;
    int64_t size;    /* -1: not told */
};

struct hub_links {
    struct hub_link at[HUB_LINK_COUNT];
    size_t oldest;
};

/* Borrowed until the next change; NULL: none. */
const struct hub_link *hub_link_find(const struct hub_links *links, const char *key);
void hub_link_keep(struct hub_links *links, const char *key, const char *url, const char *etag,
                   int64_t size);
/* Only if it is still this one: another range may have brought a fresh link already. */
void hub_link_drop(struct hub_links *links, const char *key, const char *url);
void hub_links_done(struct hub_links *links);

#endif
