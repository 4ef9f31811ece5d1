/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_memory.h - memory for libcurl where it is linked into the static programs.
 *
 * libcurl takes some fifty blocks for each request, a buffer of 68 KiB among them, and gives all of them
 * back at its end. musl's allocator returns what is larger than two pages to the kernel at once, and has to
 * ask for it again: with the page faults that follow, a sixth of what a small download costs. Here
 * blocks that were freed wait for the next request. How many is bounded: what the transfers of a moment
 * ago held, at most 64 of each size.
 *
 * The functions are those of curl_global_init_mem() and may be called from any thread.
 */
#ifndef SW_NET_CURL_MEMORY_H
#define SW_NET_CURL_MEMORY_H

#include <stddef.h>

void *curl_memory_malloc(size_t size);
void *curl_memory_calloc(size_t count, size_t size);
void *curl_memory_realloc(void *bytes, size_t size);
char *curl_memory_strdup(const char *text);
void curl_memory_free(void *bytes);

#endif
