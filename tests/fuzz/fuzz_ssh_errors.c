/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ssh_errors.c - anything that ssh may say: always a code, a host and no control characters.
 */
#include <string.h>

#include "fuzz.h"
#include "net/ssh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *said = sw_strndup((const char *)data, size);
    const struct sw_ssh_target target = { .host = "login1", .user = "ann", .port = 22 };
    struct sw_error err = { 0 };

    CLAIM(sw_ssh_explain(&target, said, &err) == -1);
    CLAIM(err.code != SW_OK && strstr(err.message, "login1"));
    CLAIM(!strpbrk(err.message, "\033\007\b\r") && !strpbrk(err.hint, "\033\007\b\r"));
    return 0;
}
