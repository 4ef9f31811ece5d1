/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_user_defaults.c - any TOML as config.toml: there are defaults, or a reason. */
#include "fuzz.h"
#include "fuzz_spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_error err = { 0 };
    sw_auto(sw_document) struct sw_document *file =
        sw_document_parse((const char *)data, size, SW_TOML, "fuzz.toml", NULL);
    const struct sw_user_input input = { .file = file, .platforms = fuzz_platforms,
                                         .platform_count = SW_COUNT(fuzz_platforms) };
    sw_auto(json) json_t *defaults = sw_user_defaults_resolve(&input, &err);

    CLAIM((defaults == NULL) == (err.code != SW_OK));
    return 0;
}
