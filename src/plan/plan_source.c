/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_source.c - where a value of the plan was written.
 *
 * What a platform finds wrong (a folder that is not there) was written by a person somewhere: a
 * message begins with that place, as those of the job file's own checks do. Pure.
 */
#include "plan/plan.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"

char *sw_plan_where(const struct sw_plan *plan, const char *path)
{
    const char *source = sw_json_str(plan->sources, path);

    if (!source)
        return sw_strdup("");
    return sw_format("%s: ", sw_text_starts(source, "flag ") ? source + strlen("flag ") : source);
}

char *sw_plan_where_input(const struct sw_plan *plan, const char *path)
{
    sw_autofree char *plain = sw_format("inputs.%s.from", path);
    sw_autofree char *quoted = sw_format("inputs[\"%s\"].from", path);

    if (sw_json_str(plan->sources, plain))
        return sw_plan_where(plan, plain);
    return sw_plan_where(plan, sw_json_str(plan->sources, quoted) ? quoted : "mounts");
}
