/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose.c - `platform: [a, b]`: the first that is set up, can be reached and has room gets the job.
 *
 * Nothing is sent while choosing. A platform that refuses the job itself (submit.c) made nothing either, and
 * the next is tried; after a submit that may have arrived, none is: there is never a second job.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/text.h"

/* Another platform may have what this one lacks; a mistake in the job file stays one everywhere. */
static bool may_be_elsewhere(enum sw_code code)
{
    static const enum sw_code codes[] = { SW_E_UNREACHABLE, SW_E_TIMEOUT, SW_E_REFUSED, SW_E_CREDENTIAL,
                                          SW_E_UNSUPPORTED };

    for (size_t i = 0; i < SW_COUNT(codes); i++)
        if (code == codes[i])
            return true;
    return false;
}

static bool has_next(const struct api_plan *made)
{
    return made->spec && made->choice + 1 < json_array_size(made->spec->platforms);
}

bool api_skip(struct sw_session *session, struct api_plan *made, const struct sw_error *why)
{
    sw_autofree char *text = NULL;

    if (!has_next(made) || !may_be_elsewhere(why->code))
        return false;
    text = sw_format("%s is skipped: %s; %s is next", made->spec->platform, why->message,
                     json_string_value(json_array_get(made->spec->platforms, made->choice + 1)));
    api_warn(session, text);
    if (!made->skipped)
        made->skipped = json_array();
    json_array_append_new(made->skipped, sw_json_object(SW_STR("platform", made->spec->platform),
                                                        SW_STR("why", why->message)));
    return true;
}

/* The same request for the next of the list; what was skipped is kept. */
static void begin_next(struct api_plan *made, bool next)
{
    struct api_plan again = { .choice = made->choice + next, .skipped = sw_take(made->skipped) };

    api_plan_auto(made);
    *made = again;
}

int api_check(struct api_plan *made, struct sw_error *err)
{
    if (!made->checked && made->platform->preflight &&
        made->platform->preflight(made->conn, made->plan, err) < 0)
        return -1;
    made->checked = true;
    return 0;
}

int api_choose(struct sw_session *session, const struct sw_request *request, bool again,
               struct api_plan *made, struct sw_error *err)
{
    for (begin_next(made, again);; begin_next(made, true)) {
        struct sw_error why = { 0 };

        if (api_plan_prepare(session, request, made, err) < 0)
            return -1;
        if (api_plan_open(session, made, &why) < 0) {        /* not set up: another one may be */
            if (why.code == SW_E_SPEC)
                why.code = has_next(made) ? SW_E_REFUSED : SW_E_SPEC;
        } else if (!has_next(made) || api_check(made, &why) == 0) {
            return 0;                                        /* of the last the caller asks itself */
        }
        if (api_skip(session, made, &why))
            continue;
        return sw_pass(err, &why);
    }
}
