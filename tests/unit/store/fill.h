/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill.h - a store full of plausible jobs, made quickly: for query plans, paging and the bench.
 */
#ifndef SW_TEST_STORE_FILL_H
#define SW_TEST_STORE_FILL_H

#include "store/store.h"

/* Adds `count` jobs in one transaction, one minute apart, the newest now: train-0000000-aaaaaaaa,
 * evaluate-0000001-aaaaaaaa and so on. Nineteen of twenty are over, every fifth is labelled
 * team=vision; what runs is on a platform "elsewhere" that no client can ask. */
int fill_store(struct sw_store *store, size_t count, struct sw_error *err);

#endif
