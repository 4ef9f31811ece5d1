/* SPDX-License-Identifier: Apache-2.0 */
/*
 * concurrency.c - grow by a quarter while the rate grows with it, halve when a server asks for it.
 */
#include "storage/concurrency.h"

#define START      32
#define LOOK_MS    250
#define CALM_MS    3000
#define REQUEST    (64 * 1024)
#define BETTER     1.05
#define FORGET     0.995           /* the best rate fades: networks change */

void concurrency_init(struct concurrency *concurrency, int most, int64_t now_ms)
{
    *concurrency = (struct concurrency){
        .most = most, .size = most < START ? most : START, .looked_ms = now_ms,
    };
}

void concurrency_count(struct concurrency *concurrency, int64_t requests, int64_t bytes)
{
    concurrency->units += requests * REQUEST + bytes;
}

void concurrency_adjust(struct concurrency *concurrency, int64_t now_ms)
{
    int64_t passed = now_ms - concurrency->looked_ms;

    if (passed < LOOK_MS)
        return;
    concurrency->score = (double)concurrency->units * 1000 / (double)passed;
    concurrency->units = 0;
    concurrency->looked_ms = now_ms;
    if (now_ms < concurrency->calm_until_ms)
        return;
    if (concurrency->score > concurrency->best * BETTER) {
        concurrency->best = concurrency->score;
        concurrency->size += concurrency->size / 4 + 1;
        concurrency->size = concurrency->size < concurrency->most ? concurrency->size : concurrency->most;
    } else {
        concurrency->best *= FORGET;
    }
}

void concurrency_slow_down(struct concurrency *concurrency, int64_t now_ms)
{
    if (now_ms < concurrency->calm_until_ms - CALM_MS + LOOK_MS)
        return;                              /* one complaint of a volley is enough */
    concurrency->size = concurrency->size > 1 ? concurrency->size / 2 : 1;
    concurrency->best = 0;
    concurrency->calm_until_ms = now_ms + CALM_MS;
}

void rate_add(struct rate *rate, int64_t now_ms, int64_t bytes)
{
    int last = (rate->next + RATE_SAMPLES - 1) % RATE_SAMPLES;

    if (rate->count && now_ms - rate->samples[last].at_ms < 200)
        return;
    rate->samples[rate->next].at_ms = now_ms;
    rate->samples[rate->next].bytes = bytes;
    rate->next = (rate->next + 1) % RATE_SAMPLES;
    rate->count += rate->count < RATE_SAMPLES;
}

int64_t rate_per_second(const struct rate *rate, int64_t now_ms, int64_t bytes)
{
    int oldest = rate->count < RATE_SAMPLES ? 0 : rate->next;
    int64_t passed, came;

    if (!rate->count)
        return 0;
    passed = now_ms - rate->samples[oldest].at_ms;
    came = bytes - rate->samples[oldest].bytes;
    came = came < INT64_MAX / 1000 ? came : INT64_MAX / 1000;
    return passed > 0 ? came * 1000 / passed : 0;
}
