/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_selective.c - whatever an annotation holds: names of files, each once, or a reason.
 *
 * The first byte chooses the format, the rest is the file.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "runner/runner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = { "json", "jsonl", "csv", "parquet" };
    sw_auto(json) json_t *keys = json_pack("[s, s]", "f", "video"), *names = NULL;
    struct sw_error err = { 0 };
    char path[64];
    int fd;

    if (size == 0 || (fd = memfd_create("annotation", MFD_CLOEXEC)) < 0)
        return 0;
    if (write(fd, data + 1, size - 1) != (ssize_t)(size - 1)) {
        close(fd);
        return 0;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    names = runner_selected(path, formats[data[0] % 4], keys, &err);
    close(fd);
    CLAIM((names == NULL) == (err.code != SW_OK));
    for (size_t i = 0; i < json_array_size(names); i++)
        CLAIM(json_is_string(json_array_get(names, i)) &&
              json_string_length(json_array_get(names, i)) > 0);
    return 0;
}
