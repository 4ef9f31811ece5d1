/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_post.h - send one JSON document to a web address.
 */
#ifndef SW_NET_HTTP_POST_H
#define SW_NET_HTTP_POST_H

#include <stdint.h>

#include "base/error.h"

/* POST `body` as application/json; http and https only, redirects are not followed. *status is the
 * answer's code. -1: no answer came (SW_E_UNREACHABLE, SW_E_TIMEOUT), or the address is no address
 * (SW_E_SPEC). Messages never hold the address: it may be a secret. */
int sw_http_post_json(const char *url, const char *body, int64_t timeout_ms, long *status,
                      struct sw_error *err);

#endif
