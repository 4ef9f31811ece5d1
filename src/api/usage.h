/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - sums over attempts: GPU-hours, waiting time, retries, idle GPUs, cost. Pure.
 */
#ifndef SW_API_USAGE_H
#define SW_API_USAGE_H

#include "base/json.h"
#include "store/store.h"

enum api_usage_by { API_USAGE_TOTAL, API_USAGE_PLATFORM, API_USAGE_USER, API_USAGE_DAY, API_USAGE_LABEL };

struct api_usage {
    enum api_usage_by by;
    int64_t since_ms, now_ms;        /* what was before and after is left out */
    const json_t *prices;            /* GPU type -> price of an hour; borrowed; may be NULL */
    json_t *groups;                  /* name -> sums; "" has no name; owned */
    json_t *total;                   /* likewise, of all */
};

/* By "platform", "user", "day" or "label"; NULL: in total. -1 SW_E_USAGE. */
int api_usage_by(const char *word, enum api_usage_by *by, struct sw_error *err);
void api_usage_init(struct api_usage *usage, enum api_usage_by by, int64_t since_ms, int64_t now_ms,
                    const json_t *prices);
void api_usage_done(struct api_usage *usage);
static inline void api_usage_auto(struct api_usage *usage) { api_usage_done(usage); }
/* A sw_used_fn: the attempts of a job come one after the other. */
void api_usage_add(void *usage, const struct sw_used *used);
/* [{"group", ...}]: days in their order, others by GPU-hours, most first. */
json_t *api_usage_rows(const struct api_usage *usage);
/* The sums of one row. */
json_t *api_usage_total(const struct api_usage *usage);

#endif
