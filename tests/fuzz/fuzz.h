/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - what every fuzz target includes: the entry point, and a claim that holds in any build.
 */
#ifndef SW_TESTS_FUZZ_H
#define SW_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): a build without assertions must not turn the targets into empty shells. */
#define CLAIM(what)                                                        \
    do {                                                                   \
        if (!(what)) {                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            abort();                                                       \
        }                                                                  \
    } while (0)

#endif
