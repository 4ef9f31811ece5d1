/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c - memory for things whose size is ours to know.
 *
 * Running out of memory is not an error value here: the process ends with one line. See
 * docs/decisions/0002-out-of-memory-ends-the-process.md.
 */
#include "base/auto.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *checked(void *p)
{
    static const char last_words[] = "slipway: out of memory\n";

    if (!p) {
        if (write(STDERR_FILENO, last_words, sizeof last_words - 1) < 0)
            _exit(71);
        _exit(71);
    }
    return p;
}

void *sw_alloc(size_t size)
{
    return checked(calloc(1, size ? size : 1));
}

void *sw_realloc_array(void *p, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return checked(NULL);
    return checked(realloc(p, count && size ? count * size : 1));
}

char *sw_strdup(const char *text)
{
    return text ? checked(strdup(text)) : NULL;
}

char *sw_strndup(const char *text, size_t length)
{
    return checked(strndup(text, length));
}

/* Most are short: formatted once and copied, where vasprintf() may format everything twice. */
char *sw_format(const char *fmt, ...)
{
    char brief[256], *text = NULL;
    va_list args, again;
    int used;

    va_start(args, fmt);
    va_copy(again, args);
    used = vsnprintf(brief, sizeof brief, fmt, args);
    if (used >= 0 && (size_t)used < sizeof brief)
        text = memcpy(checked(malloc((size_t)used + 1)), brief, (size_t)used + 1);
    else if (used >= 0 && vasprintf(&text, fmt, again) < 0)
        text = NULL;
    va_end(again);
    va_end(args);
    explicit_bzero(brief, sizeof brief);       /* it may have been a secret */
    return checked(text);
}

void sw_memory_return(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
