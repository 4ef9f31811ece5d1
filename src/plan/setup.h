/* SPDX-License-Identifier: Apache-2.0 */
/*
 * setup.h - the commands of `setup:`, which run before a job's command.
 */
#ifndef SW_PLAN_SETUP_H
#define SW_PLAN_SETUP_H

#include "core/payload.h"
#include "plan/plan.h"

/* SW_E_SPEC: it is too long to be handed to a shell. */
int sw_setup_check(const struct sw_plan *plan, struct sw_error *err);

/* Put them before the payload's command; without any nothing changes. They are run in every container, and
 * what they make is kept below `cache:` where the job has one, until sw_setup_place() says more. */
void sw_setup_add(struct sw_payload *payload, const struct sw_plan *plan);

/* Where setup keeps what it makes there. */
struct sw_setup_place {
    const char *own;          /* folder of the job that its ranks and attempts share; NULL: none */
    const char *cache;        /* folder that jobs share; NULL: none */
    bool fresh;               /* every attempt begins with files of its own, as in a container */
};
void sw_setup_place(struct sw_payload *payload, const struct sw_setup_place *place);

/* What stands between setup and the command: an image's entry point. */
void sw_setup_then(struct sw_payload *payload, const json_t *words);

/* The commands as one shell text, borrowed from the payload; NULL: there are none. */
const char *sw_setup_text(const struct sw_payload *payload);

#endif
