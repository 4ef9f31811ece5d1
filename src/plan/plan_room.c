/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_room.c - is one machine large enough for a node of this job? For platforms whose machine is known
 * and whose own refusal would come late, or never.
 *
 * Pure.
 */
#include "base/error.h"
#include "base/units.h"
#include "plan/plan.h"

int sw_plan_fits(const struct sw_plan *plan, const char *machine, double cpus, int64_t memory_bytes,
                 struct sw_error *err)
{
    char asked[32], there[32];

    if (cpus > 0 && plan->cpus > cpus) {
        sw_fail(err, SW_E_REFUSED, "the job asks for %g CPUs; %s has %g", plan->cpus, machine, cpus);
        return sw_hint(err, "ask for less with `cpus:` or --cpus");
    }
    if (memory_bytes > 0 && plan->memory_bytes > memory_bytes) {
        sw_size_format(plan->memory_bytes, asked);
        sw_size_format(memory_bytes, there);
        sw_fail(err, SW_E_REFUSED, "the job asks for %s of memory; %s has %s", asked, machine, there);
        return sw_hint(err, "ask for less with `memory:` or --mem");
    }
    return 0;
}
