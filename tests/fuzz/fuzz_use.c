/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_use.c - whatever a job answers to the question what it uses: three facts, each of its type or null.
 */
#include "core/use.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size), *dumped = NULL;
    sw_auto(json) json_t *use = sw_use_read(text);
    const json_t *spent = json_object_get(use, "cpu_seconds"), *memory = json_object_get(use, "memory_bytes");

    CLAIM(json_object_size(use) == 3 && json_is_array(json_object_get(use, "gpus")));
    CLAIM(json_is_null(spent) || json_number_value(spent) >= 0);
    CLAIM(json_is_null(memory) || json_integer_value(memory) >= 0);
    dumped = sw_json_dump(use);
    CLAIM(dumped != NULL);
    return 0;
}
