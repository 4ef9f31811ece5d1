/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - questions about URIs, for the functions that take a platform's path or a URI.
 */
#ifndef SW_API_COPY_H
#define SW_API_COPY_H

#include "slipway.h"

int api_check_uri(struct sw_session *session, const char *uri, bool *exists, struct sw_error *err);
/* JSON array of names. */
char *api_list_uri(struct sw_session *session, const char *uri, struct sw_error *err);

#endif
