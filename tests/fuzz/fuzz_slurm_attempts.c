/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_slurm_attempts.c - any bytes as the record that a job's runs left: attempts in the order of
 * their numbers, every text ended, never more than the limit.
 */
#include <string.h>

#include "fuzz.h"
#include "platform/slurm/slurm_retry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(slurm_attempts) struct slurm_attempts attempts = { 0 };

    slurm_attempts_parse((const char *)data, size, &attempts);
    CLAIM(attempts.count <= 1001);
    for (size_t i = 0; i < attempts.count; i++) {
        const struct slurm_attempt *one = &attempts.items[i];

        CLAIM(one->number >= 1 && (i == 0 || one->number > one[-1].number));
        CLAIM(strlen(one->nodes) < sizeof one->nodes && strlen(one->next) < sizeof one->next);
    }
    return 0;
}
