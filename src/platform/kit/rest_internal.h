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
    struct rest_request *requests;
    struct rest_worker *next;        /* in sw_rest.idle */
};

struct sw_rest {
    struct sw_rest_options options;
    char *base;                      /* base URL without '/' at its end */
    struct rest_worker own;          /* of sw_rest_send(), and without options.threads of all calls */
    pthread_mutex_t lock;            /* guards what follows */
    struct rest_worker *idle;        /* with options.threads */
    struct sw_secret *token;         /* NULL: not fetched yet, or refused */
    bool token_refused;              /* the server answered 401 to the last one */
};

/* rest_answer.c: what a reply means, as rest.h says: 0, *json owned (NULL: none). `wants_json`: a body that
 * is no JSON is no answer. */
int rest_judge(const struct sw_rest *rest, const struct sw_http_reply *reply, bool wants_json,
               json_t **json, struct sw_error *err);

#endif
