/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_docker_words.c - any bytes as a small archive, a list of users, a time or a list of devices: the
 * answer stays within the bytes.
 */
#include <string.h>

#include "fuzz.h"
#include "platform/docker/docker_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = sw_strndup((const char *)data, size);
    struct docker_owner owner;
    size_t length = 0;
    char *file = sw_tar_first_file((const char *)data, size, &length);
    sw_auto(json) json_t *ids = docker_gpu_split(text);

    CLAIM(!file || length <= size);
    if (docker_user_numbers(text, &owner) || docker_user_lookup(text, "user", &owner))
        CLAIM(owner.uid >= 0 && owner.gid >= 0);
    CLAIM(docker_exit_code(text) >= SW_NO_EXIT_CODE && docker_exit_code(text) <= 255);
    CLAIM(docker_time_ms(text) >= 0);
    CLAIM(json_array_size(ids) <= size);
    free(file);
    free(text);
    return 0;
}
