/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_load.h - libcurl as a table of functions, loaded when the first request is made.
 *
 * Debian's shared libcurl brings 30 libraries and 9 ms of dynamic linking. A verb that needs no
 * network must not pay for that, so the dynamic build opens it on first use; the static build
 * (-Dcurl=link) fills the same table with the linked functions.
 */
#ifndef SW_NET_CURL_LOAD_H
#define SW_NET_CURL_LOAD_H

#include <curl/curl.h>

#include "base/error.h"

/* name in the table, name in libcurl */
#define SW_CURL_FUNCTIONS(X)                          \
    X(global_init, curl_global_init)                  \
    X(easy_init, curl_easy_init)                      \
    X(easy_cleanup, curl_easy_cleanup)                \
    X(easy_reset, curl_easy_reset)                    \
    X(easy_setopt, curl_easy_setopt)                  \
    X(easy_getinfo, curl_easy_getinfo)                \
    X(easy_strerror, curl_easy_strerror)              \
    X(easy_perform, curl_easy_perform)                \
    X(easy_send, curl_easy_send)                      \
    X(easy_recv, curl_easy_recv)                      \
    X(slist_append, curl_slist_append)                \
    X(slist_free_all, curl_slist_free_all)            \
    X(multi_init, curl_multi_init)                    \
    X(multi_cleanup, curl_multi_cleanup)              \
    X(multi_setopt, curl_multi_setopt)                \
    X(multi_add_handle, curl_multi_add_handle)        \
    X(multi_remove_handle, curl_multi_remove_handle)  \
    X(multi_socket_action, curl_multi_socket_action)  \
    X(multi_info_read, curl_multi_info_read)          \
    X(multi_strerror, curl_multi_strerror)

/* The header guards the variadic functions with macros of the same name. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct curl_functions {
#define X(name, symbol) __typeof__(symbol) *name;
    SW_CURL_FUNCTIONS(X)
#undef X
};

/* The table, loaded and initialised; NULL: SW_E_UNSUPPORTED, libcurl is not installed. */
const struct curl_functions *curl_load(struct sw_error *err);

#endif
