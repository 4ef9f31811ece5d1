/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auto.h - resources that clean up after themselves, and memory that never fails politely.
 *
 * `sw_autofree char *p = ...` is freed when it leaves scope; `sw_take(p)` hands it on.
 * `sw_auto(NAME) T *p` calls NAME_auto, made once per type with SW_DEFINE_AUTO.
 * Automatic variables must be initialised where they are declared.
 */
#ifndef SW_BASE_AUTO_H
#define SW_BASE_AUTO_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define sw_auto(name)  __attribute__((cleanup(name##_auto)))
#define sw_autofree    __attribute__((cleanup(sw_free_auto)))
#define sw_autofd      __attribute__((cleanup(sw_fd_auto)))
#define sw_take(p)     __extension__({ __typeof__(p) taken_ = (p); (p) = NULL; taken_; })
#define sw_take_fd(fd) __extension__({ int taken_ = (fd); (fd) = -1; taken_; })
#define SW_DEFINE_AUTO(name, type, release) \
    static inline void name##_auto(type *p) { release(*p); }

#define SW_COUNT(array)       (sizeof(array) / sizeof((array)[0]))
#define SW_PRINTF(fmt, first) __attribute__((format(printf, fmt, first), nonnull(fmt)))

static inline void sw_free_auto(void *p)
{
    free(*(void **)p);
}

static inline void sw_fd_auto(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Zeroed memory; when there is none the process ends with one line on standard error.
 * Sizes that come from outside are bounded by the caller before they get here. */
void *sw_alloc(size_t size);
/* Give freed memory back to the system: each thread of the C library may keep a heap of its own. */
void sw_memory_return(void);
void *sw_realloc_array(void *p, size_t count, size_t size);
char *sw_strdup(const char *text);                      /* NULL stays NULL */
char *sw_strndup(const char *text, size_t length);
char *sw_format(const char *fmt, ...) SW_PRINTF(1, 2);  /* an owned, formatted text */
#define sw_new(type) ((type *)sw_alloc(sizeof(type)))

#endif
