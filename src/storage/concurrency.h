/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concurrency.h - how many requests at once, and how fast things go: measured, not configured. Pure.
 */
#ifndef SW_STORAGE_CONCURRENCY_H
#define SW_STORAGE_CONCURRENCY_H

#include <stdint.h>

struct concurrency {
    int size, most;
    int64_t looked_ms;             /* when the rate was last measured */
    int64_t calm_until_ms;         /* after a complaint nothing grows for a while */
    double score, best;            /* units of work per second: lately, and the best so far */
    int64_t units;                 /* since looked_ms */
};

void concurrency_init(struct concurrency *concurrency, int most, int64_t now_ms);
/* Work that was done: every request counts like 64 KiB, since small ones are all overhead. */
void concurrency_count(struct concurrency *concurrency, int64_t requests, int64_t bytes);
/* Grow while that helps. */
void concurrency_adjust(struct concurrency *concurrency, int64_t now_ms);
/* A server complained: halve. */
void concurrency_slow_down(struct concurrency *concurrency, int64_t now_ms);

#define RATE_SAMPLES 16
struct rate {
    struct { int64_t at_ms, bytes; } samples[RATE_SAMPLES];
    int count, next;
};
void rate_add(struct rate *rate, int64_t now_ms, int64_t bytes_so_far);   /* at most 5 a second */
int64_t rate_per_second(const struct rate *rate, int64_t now_ms, int64_t bytes_so_far);

#endif
