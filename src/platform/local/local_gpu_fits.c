/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_gpu_fits.c - which devices a job may have, whoever told us about them (NVML or nvidia-smi).
 */
#include "platform/local/local_gpu.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool is_among(const struct sw_gpu *gpu, const json_t *ids)
{
    size_t i;
    json_t *id;
    char number[16];

    snprintf(number, sizeof number, "%d", gpu->index);
    json_array_foreach(ids, i, id) {
        if (json_is_integer(id) && json_integer_value(id) == gpu->index)
            return true;
        if (json_is_string(id) && (sw_text_same(json_string_value(id), number) ||
                                   sw_text_same_nocase(json_string_value(id), gpu->uuid)))
            return true;
    }
    return false;
}

bool gpu_fits(const struct sw_gpu *gpu, const char *type, const json_t *ids)
{
    if (!sw_text_empty(type) && !strcasestr(gpu->name, type))
        return false;
    return json_array_size(ids) == 0 || is_among(gpu, ids);
}
