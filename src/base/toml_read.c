/* SPDX-License-Identifier: Apache-2.0 */
#include "base/toml.h"
json_t *sw_toml_read(const char *text, size_t length, const char *name, bool tagged,
                     struct sw_places *places, struct sw_error *err)
{
    (void)text; (void)length; (void)tagged; (void)places;
    sw_fail(err, SW_E_UNSUPPORTED, "%s: TOML is not read yet", name);
    return NULL;
}
int sw_toml_write(struct sw_buf *out, const json_t *value, bool tagged, struct sw_error *err)
{
    (void)out; (void)value; (void)tagged;
    return sw_fail(err, SW_E_UNSUPPORTED, "TOML is not written yet");
}
