/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_load.c - opens libcurl once per process (see curl_load.h for why it is not just linked).
 */
#include "net/curl_load.h"

#include <pthread.h>

#ifdef SW_CURL_LINKED
#include "net/curl_memory.h"
#else
#include <dlfcn.h>
#endif

static struct curl_functions functions;
static const char *missing;        /* what could not be found; NULL: all is well */

#ifdef SW_CURL_LINKED

static void load(void)
{
#define X(name, symbol) functions.name = symbol;
    SW_CURL_FUNCTIONS(X)
#undef X
}

static CURLcode begin(void)
{
    return curl_global_init_mem(CURL_GLOBAL_DEFAULT, curl_memory_malloc, curl_memory_free,
                                curl_memory_realloc, curl_memory_strdup, curl_memory_calloc);
}

#else

/* The sonames under which distributions ship the same interface. */
static const char *const sonames[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

static void load(void)
{
    void *library = NULL;

    for (size_t i = 0; i < SW_COUNT(sonames) && !library; i++)
        library = dlopen(sonames[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        missing = sonames[0];
        return;
    }
#define X(name, symbol)                                                  \
    if (!(*(void **)&functions.name = dlsym(library, #symbol)))               \
        missing = #symbol;
    SW_CURL_FUNCTIONS(X)
#undef X
}

/* Other code in this process may use the same libcurl: its allocator stays as it is. */
static CURLcode begin(void)
{
    return functions.global_init(CURL_GLOBAL_DEFAULT);
}

#endif

static void open_once(void)
{
    load();
    if (!missing && begin() != CURLE_OK)
        missing = "curl_global_init";
}

const struct curl_functions *curl_load(struct sw_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_once);
    if (!missing)
        return &functions;
    sw_fail(err, SW_E_UNSUPPORTED, "no usable libcurl (%s is missing)", missing);
    return sw_null(sw_hint(err, "install it (Debian: libcurl4), or use the static slipway"));
}
