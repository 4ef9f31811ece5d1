/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_internal.h - what the files of the REST client share.
 */
#ifndef SW_PLATFORM_KIT_REST_INTERNAL_H
#define SW_PLATFORM_KIT_REST_INTERNAL_H

#include <pthread.h>

#include "platform/kit/rest.h"

struct rest_worker {                 /* one thread's connections, and its requests under way */
    struct sw_http *http;
    struct sw_rest_certificate *certificate;     /* that they are made with; NULL: none */
    struct rest_request *requests;
    struct rest_worker *next;        /* in sw_rest.idle */
};

struct sw_rest {
    struct sw_rest_options options;
    char *base;                      /* base URL without '/' at its end */
    struct sw_rest *beside;          /* has the credentials of this one; NULL: it has its own */
    struct rest_worker own;          /* of sw_rest_send(), and without options.threads of all calls */
    pthread_mutex_t lock;            /* guards what follows */
    struct rest_worker *idle;        /* with options.threads */
    struct sw_secret *token;         /* NULL: not fetched yet, or refused */
    bool token_refused;              /* the server answered 401 to the last one */
    unsigned generation;             /* of the token or credential: which one a 401 is about */
    int64_t told_ms, heard_ms;       /* the server's clock in its last answer, and ours then; 0: not told */
};

/* rest_workers.c: connections that are made with this certificate, for one call at a time; NULL + err. */
struct rest_worker *rest_borrow(struct sw_rest *rest, struct sw_rest_certificate *certificate,
                                struct sw_error *err);
void rest_give_back(struct sw_rest *rest, struct rest_worker *worker);
/* `rest->own`, with this certificate unless requests are under way; NULL + err. */
struct rest_worker *rest_own(struct sw_rest *rest, struct sw_rest_certificate *certificate,
                             struct sw_error *err);
int rest_worker_open(const struct sw_rest *rest, struct rest_worker *worker,
                     struct sw_rest_certificate *certificate, struct sw_error *err);
void rest_worker_close(struct rest_worker *worker);

/* rest_credential.c: who makes the next call, and which one it is; the answer to one was 401. */
struct rest_credential {
    struct sw_rest_credential is;
    unsigned generation;
};
int rest_credential(struct sw_rest *rest, struct rest_credential *out, struct sw_error *err);
void rest_credential_refused(struct sw_rest *rest, unsigned generation);
void rest_credential_done(struct rest_credential *credential);
static inline void rest_credential_auto(struct rest_credential *c) { rest_credential_done(c); }

/* rest_causes.c: appends "FIELD: MESSAGE (job file: KEY); ..." of all causes that name a field, and
 * their keys, once each. Returns how many causes that were. */
const char *rest_key_of(const struct sw_rest *rest, const char *field);        /* NULL: none */
size_t rest_causes_text(const struct sw_rest *rest, const json_t *status, struct sw_buf *out,
                        struct sw_buf *keys);

/* rest_answer.c: what a reply means, as rest.h says: 0, *json owned (NULL: none). `wants_json`: a body that
 * is no JSON is no answer. */
int rest_judge(const struct sw_rest *rest, const struct sw_http_reply *reply, bool wants_json,
               json_t **json, struct sw_error *err);

#endif
