/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c - grow by a quarter while the rate grows with it, halve when a server asks for it.
 */
#include "storage/window.h"

#define START      32
#define LOOK_MS    250
#define CALM_MS    3000
#define REQUEST    (64 * 1024)
#define BETTER     1.05
#define FORGET     0.995           /* the best rate fades: networks change */

void window_init(struct window *window, int most, int64_t now_ms)
{
    *window = (struct window){
        .most = most, .size = most < START ? most : START, .looked_ms = now_ms,
    };
}

void window_did(struct window *window, int64_t requests, int64_t bytes)
{
    window->units += requests * REQUEST + bytes;
}

void window_look(struct window *window, int64_t now_ms)
{
    int64_t passed = now_ms - window->looked_ms;

    if (passed < LOOK_MS)
        return;
    window->score = (double)window->units * 1000 / (double)passed;
    window->units = 0;
    window->looked_ms = now_ms;
    if (now_ms < window->calm_until_ms)
        return;
    if (window->score > window->best * BETTER) {
        window->best = window->score;
        window->size += window->size / 4 + 1;
        window->size = window->size < window->most ? window->size : window->most;
    } else {
        window->best *= FORGET;
    }
}

void window_slow_down(struct window *window, int64_t now_ms)
{
    if (now_ms < window->calm_until_ms - CALM_MS + LOOK_MS)
        return;                              /* one complaint of a volley is enough */
    window->size = window->size > 1 ? window->size / 2 : 1;
    window->best = 0;
    window->calm_until_ms = now_ms + CALM_MS;
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
