/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill.h - a store full of plausible jobs, made quickly: for query plans, paging and the bench.
 */
#ifndef SW_TEST_STORE_FILL_H
#define SW_TEST_STORE_FILL_H

#include "store/store.h"

/* Adds `count` jobs in one transaction, one minute apart, the newest now: job-0000000-aaaaaaaa and
 * so on; nineteen of twenty are over, every fifth is labelled team=vision. */
int fill_store(struct sw_store *store, size_t count, struct sw_error *err);

#endif
