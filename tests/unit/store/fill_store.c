/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill_store.c - `fill_store DIR COUNT`: a store in DIR with COUNT jobs, for the bench.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fill.h"

int main(int argc, char **argv)
{
    struct sw_error err = { 0 };
    sw_auto(sw_store) struct sw_store *store = NULL;
    long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;

    if (count <= 0) {
        fprintf(stderr, "usage: fill_store DIR COUNT\n");
        return 64;
    }
    store = sw_store_open(argv[1], false, &err);
    if (!store || fill_store(store, (size_t)count, &err) < 0) {
        fprintf(stderr, "fill_store: %s\n", err.message);
        return 1;
    }
    return 0;
}
