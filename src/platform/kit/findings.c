/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings.c - see findings.h.
 */
#include "platform/kit/findings.h"

#include "base/text.h"

void sw_finding(json_t *rows, const char *check, bool ok, const char *message, const char *fix)
{
    json_array_append_new(rows, sw_json_object(
        SW_STR("check", check), SW_BOOL("ok", ok), SW_STR("message", message),
        SW_STR_OPT("fix", ok || sw_text_empty(fix) ? NULL : fix)));
}

bool sw_finding_error(json_t *rows, const char *check, const struct sw_error *why)
{
    sw_finding(rows, check, false, why->message, why->hint);
    return false;
}
