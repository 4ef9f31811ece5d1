/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ngc.c - an NGC that says anything never gets key or token sent elsewhere.
 */
#include "fuzz_hub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const settings[] = { "NGC_KEY", "sesame", NULL };
    static const char *const homes[] = { "https://api.ngc.nvidia.com/", "https://authn.nvidia.com/",
                                         NULL };
    static const struct fuzz_hub hub = { "ngc://nv/team/net", settings, homes };

    return fuzz_hub_one(&hub, data, size);
}
