/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - what jobs used: GPU-hours, waiting time, retries, idle GPUs, and their price.
 */
#include "api/api_internal.h"

#include "api/usage.h"
#include "base/clock.h"
#include "base/text.h"

static int check(const struct sw_usage_options *options, enum api_usage_by *by, struct sw_error *err)
{
    if (api_usage_by(options->by, by, err) < 0)
        return -1;
    if (*by == API_USAGE_LABEL && sw_text_empty(options->label)) {
        sw_fail(err, SW_E_USAGE, "the key of the label is missing");
        return sw_hint(err, "slipway usage --by label team");
    }
    if (*by != API_USAGE_LABEL && options->label) {
        sw_fail(err, SW_E_USAGE, "'%s' is the key of a label, and usage is not grouped by label",
                options->label);
        return sw_hint(err, "slipway usage --by label %s", options->label);
    }
    return 0;
}

char *sw_usage(struct sw_session *session, const struct sw_usage_options *options, struct sw_error *err)
{
    static const struct sw_usage_options defaults = { .size = sizeof defaults };
    sw_auto(json) json_t *unreachable = json_array(), *prices = NULL;
    sw_auto(api_usage) struct api_usage usage = { 0 };
    const struct sw_profiles *profiles;
    enum api_usage_by by;

    options = options ? options : &defaults;
    if (api_need(session, err) < 0 || check(options, &by, err) < 0 ||
        !(profiles = api_profiles(session, err)) ||
        !(prices = sw_profiles_prices(profiles, err)))
        return NULL;
    if (options->look == SW_LOOK_REFRESH && api_refresh_list(session, unreachable, err) < 0)
        return NULL;
    api_usage_init(&usage, by, options->since_ms, sw_now_ms(), prices);
    if (sw_store_used(session->store, options->since_ms, options->label, api_usage_add, &usage, err) < 0)
        return NULL;
    return api_document("usage", sw_json_object(
        SW_STR("by", options->by), SW_STR("label", options->label),
        SW_SUB("since_at", api_time(options->since_ms)), SW_SUB("until_at", api_time(usage.now_ms)),
        SW_SUB("rows", api_usage_rows(&usage)), SW_SUB("total", api_usage_total(&usage)),
        SW_SUB_COPY("unreachable", unreachable)));
}
