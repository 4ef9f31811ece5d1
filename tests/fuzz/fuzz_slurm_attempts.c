/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_slurm_attempts.c - any bytes as the record that a job's runs left: attempts in the order of
 * their numbers, every text ended, never more than the limit.
 */
#include <string.h>

#include "fuzz.h"
#include "platform/slurm/slurm_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_observation seen = { 0 };
    int64_t before = 0;
    size_t i;
    json_t *one;

    slurm_attempts_describe((const char *)data, size, &seen);
    CLAIM(json_array_size(seen.before) <= 1001);
    CLAIM(strnlen(seen.message, sizeof seen.message) < sizeof seen.message);
    json_array_foreach(seen.before, i, one) {
        int64_t number = sw_json_int(one, "number", 0);

        CLAIM(number > before && number < seen.attempt);
        before = number;
    }
    json_decref(seen.before);
    return 0;
}
