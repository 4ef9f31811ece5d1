/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_internal.h - what the files of the REST client share.
 */
#ifndef SW_PLATFORM_KIT_REST_INTERNAL_H
#define SW_PLATFORM_KIT_REST_INTERNAL_H

#include "platform/kit/rest.h"

struct sw_rest {
    struct sw_rest_options options;
    struct sw_http *http;
    char *base;                      /* base URL without '/' at its end */
    struct sw_secret *token;         /* NULL: not fetched yet, or refused */
    bool token_refused;              /* the server answered 401 to the last one */
    struct rest_request *requests;   /* under way */
};

/* rest_answer.c: sw_rest_judge(); `wants_json`: a body that is no JSON is no answer. */
int rest_judge(const struct sw_rest *rest, const struct sw_http_reply *reply, bool wants_json,
               json_t **json, struct sw_error *err);

#endif
