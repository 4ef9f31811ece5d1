/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ngc.h - one version of a model or resource of NGC, inside: ngc_open.c finds it and the key,
 * ngc.c asks, ngc_reply.c reads the answers.
 */
#ifndef SW_STORAGE_NGC_H
#define SW_STORAGE_NGC_H

#include "storage/hub.h"

#define NGC_API  "https://api.ngc.nvidia.com"
#define NGC_AUTH "https://authn.nvidia.com"
#define NGC_PAGE_SIZE 500
#define NGC_PAGES_MAX 20000
#define NGC_VERSION_MAX 255

/* A name in the URI does not say what kind it is of, nor whether the key opens it or it is public:
 * the endpoints are tried in this order, until one opens. */
struct ngc_endpoint {
    bool guest;                 /* no key: public content, other routes */
    const char *route;          /* "models" */
    const char *artifact;       /* key of the thing in an answer about it ... */
    const char *version;        /* ... of its version ... */
    const char *files;          /* ... and of its files */
};
extern const struct ngc_endpoint ngc_endpoints[];
#define NGC_ENDPOINTS       4
#define NGC_FIRST_GUEST 2

enum ngc_key_kind {
    NGC_KEY_NONE = 0,
    NGC_KEY_BEARER,             /* nvapi-...: used as it is */
    NGC_KEY_LEGACY,             /* exchanged for a token that lasts some minutes */
};

struct ngc_root {
    struct sw_root_head head;
    char *api, *auth;
    char *org, *team, *name;    /* team NULL: none */
    char *version;              /* NULL: the latest, not asked yet */
    int endpoint;                   /* which one we stand at; NGC_ENDPOINTS: all are closed */
    bool ready;                 /* the version is there and complete */
    char *denied;               /* what was said when the key was refused; NULL: it was not */
    enum ngc_key_kind key_kind;
    char *key;                  /* NULL: none */
    char *key_from;             /* "NGC_KEY", or the file */
    char *token;                /* of a legacy key */
    int64_t token_until_ms;
    char guest_id[37];          /* tells NGC that our guest requests belong together */
    struct hub_links links;
};

struct sw_root *ngc_open(const struct sw_uri *uri, const struct sw_storage_options *options,
                         char **key, struct sw_error *err);
void ngc_close(struct sw_root *root);

/* Cut "[team/]name[:version][/path]" that follows the organisation. Owned; *team and *version may
 * be NULL. A path needs a version before it: a part without ':' could be a team or a name. */
int ngc_cut(const char *path, char **team, char **name, char **version, char **key,
            struct sw_error *err);
enum ngc_key_kind ngc_key_kind(const char *key);
/* The `apikey` in use of ~/.ngc/config; owned, NULL: none. */
char *ngc_config_key(const char *text);
/* The key of this user, owned and secret; NULL: there is none (*from is NULL, too), or it is no key
 * (*from names its place, and err says why). */
char *ngc_key(const struct sw_storage_options *options, char **from, struct sw_error *err);

/* A token and how long it lasts from now on; owned. */
char *ngc_read_token(const struct sw_http_reply *reply, const char *what, int64_t *lasts_ms,
                     struct sw_error *err);
char *ngc_read_latest(const struct sw_http_reply *reply, const struct ngc_endpoint *endpoint,
                      const char *what, struct sw_error *err);
/* 0: the version is complete. */
int ngc_read_version(const struct sw_http_reply *reply, const struct ngc_endpoint *endpoint,
                     const char *what, struct sw_error *err);
/* The signed link in an answer about one file; owned. */
char *ngc_read_link(const struct sw_http_reply *reply, const char *key, const char *what,
                    struct sw_error *err);
/* One page of files: tell op->found (LIST) or fill op->object (STAT). 1: enough, 0: *more tells
 * whether there is another page. Folders told so far are kept in *told (owned, one per line). */
int ngc_read_files(const struct sw_http_reply *reply, const struct ngc_endpoint *endpoint,
                   const char *what, struct sw_operation *op, int page, char **told, bool *more,
                   struct sw_error *err);
/* "... (NGC says: no such version)": what the answer explains, owned, "" if nothing. */
char *ngc_read_reason(const struct sw_http_reply *reply);

#endif
