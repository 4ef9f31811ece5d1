/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hf.c - a Hugging Face Hub that says anything never gets the token sent elsewhere.
 */
#include "fuzz_hub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const settings[] = { "HF_TOKEN", "sesame", NULL };
    static const char *const homes[] = { "https://huggingface.co/", NULL };
    static const struct fuzz_hub hub = { "hf_model://org/name", settings, homes };

    return fuzz_hub_one(&hub, data, size);
}
