/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_fixture.h - the plan that tests of what platforms send begin with: one node, no GPU, one command.
 */
#ifndef SW_TESTS_PLAN_FIXTURE_H
#define SW_TESTS_PLAN_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"

/* `image` and `options` (taken over) may be NULL. */
static inline struct sw_plan *plan_fixture(const char *platform, const char *image, json_t *options)
{
    struct sw_plan *plan = calloc(1, sizeof *plan);

    strcpy(plan->job_id, "train-abcdefgh");
    plan->name = sw_strdup("train");
    plan->platform = sw_strdup(platform);
    plan->image = sw_strdup(image);
    plan->command = sw_strdup("python train.py --out {results_dir}");
    plan->base_dir = sw_strdup("/home/me/project");
    plan->nodes = 1;
    plan->grace_ms = 30000;
    plan->env = json_object();
    plan->secrets = json_array();
    plan->inputs = json_array();
    plan->outputs = json_array();
    plan->labels = json_object();
    plan->credentials = json_array();
    plan->options = options ? options : json_object();
    return plan;
}

#endif
