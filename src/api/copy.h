/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - copies, and questions about URIs for the functions that take a platform's path or a URI.
 */
#ifndef SW_API_COPY_H
#define SW_API_COPY_H

#include "base/json.h"
#include "slipway.h"

/* sw_copy() as a document without its version. */
json_t *api_copy(struct sw_session *session, const char *from, const char *to,
                 const struct sw_copy_options *options, sw_copy_progress_fn *progress, void *context,
                 struct sw_error *err);
int api_check_uri(struct sw_session *session, const char *uri, bool *exists, struct sw_error *err);
/* JSON array of names. */
char *api_list_uri(struct sw_session *session, const char *uri, struct sw_error *err);

#endif
