/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_profile.c - any TOML as profiles: for each way to choose a section there is a spec or a
 * reason, and inheritance always ends.
 */
#include "fuzz.h"
#include "fuzz_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const sections[] = { NULL, "slurm", "slurm_a", "other" };
    sw_auto(sw_profiles) struct sw_profiles *profiles =
        spec_profiles_parse((const char *)data, size, "fuzz.toml", NULL);

    for (size_t i = 0; profiles && i < SW_COUNT(sections); i++) {
        struct sw_error err = { 0 };
        const struct sw_spec_input input = {
            .profiles = profiles, .profile = sections[i], .platforms = fuzz_platforms,
            .platform_count = SW_COUNT(fuzz_platforms), .default_platform = "slurm",
        };
        sw_auto(sw_spec) struct sw_spec *spec = sw_spec_resolve(&input, &err);

        CLAIM((spec == NULL) == (err.code != SW_OK));
    }
    return 0;
}
