/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curl_memory.c - see curl_memory.h. A block is a head and room for a power of two of bytes; free blocks
 * of one size wait in a list. The head of a block in use tells its room, and so its list.
 */
#include "net/curl_memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEAST 32                         /* bytes; each list has blocks of twice the size ... */
#define LISTS 13                         /* ... up to 128 KiB, the buffer of a small transfer */
#define KEEP  64                         /* of each size: as many transfers are under way */

struct block {
    size_t room;
    struct block *next;                  /* while it is free */
    char bytes[];                        /* 16 bytes after the beginning: aligned like it */
};

static struct {
    pthread_mutex_t lock;
    struct block *first[LISTS];
    size_t count[LISTS];
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* LISTS: too large for any. */
static size_t list_of(size_t size)
{
    return size <= LEAST ? 0
           : size > (size_t)LEAST << (LISTS - 1)
               ? LISTS
               : (size_t)(__builtin_clzl(LEAST - 1) - __builtin_clzl(size - 1));
}

static struct block *block_of(void *bytes)
{
    return (struct block *)((char *)bytes - offsetof(struct block, bytes));
}

static struct block *take(size_t list)
{
    struct block *block;

    pthread_mutex_lock(&kept.lock);
    block = kept.first[list];
    if (block) {
        kept.first[list] = block->next;
        kept.count[list]--;
    }
    pthread_mutex_unlock(&kept.lock);
    return block;
}

void *curl_memory_malloc(size_t size)
{
    size_t list = list_of(size);
    struct block *block = list < LISTS ? take(list) : NULL;

    if (block)
        return block->bytes;
    if (size > SIZE_MAX / 2)
        return NULL;
    size = list < LISTS ? (size_t)LEAST << list : size;
    block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->room = size;
    return block->bytes;
}

void curl_memory_free(void *bytes)
{
    struct block *block = bytes ? block_of(bytes) : NULL;
    size_t list = block ? list_of(block->room) : LISTS;

    if (list < LISTS) {
        pthread_mutex_lock(&kept.lock);
        if (kept.count[list] < KEEP) {
            block->next = kept.first[list];
            kept.first[list] = block;
            kept.count[list]++;
            block = NULL;
        }
        pthread_mutex_unlock(&kept.lock);
    }
    free(block);
}

void *curl_memory_calloc(size_t count, size_t size)
{
    void *bytes = size && count > SIZE_MAX / size ? NULL : curl_memory_malloc(count * size);

    return bytes ? memset(bytes, 0, count * size) : NULL;
}

void *curl_memory_realloc(void *bytes, size_t size)
{
    void *larger;

    if (bytes && size <= block_of(bytes)->room)
        return bytes;
    larger = curl_memory_malloc(size);
    if (larger && bytes) {
        memcpy(larger, bytes, block_of(bytes)->room);
        curl_memory_free(bytes);
    }
    return larger;
}

char *curl_memory_strdup(const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = curl_memory_malloc(length);

    return copy ? memcpy(copy, text, length) : NULL;
}
