/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_values.h - where the values that a job names come from after it was submitted.
 *
 * A later attempt, a hook and a report run in other folders than the submit did. They take values from
 * the .env file that the job was submitted with, and from the user's own.
 */
#ifndef SW_CORE_JOB_VALUES_H
#define SW_CORE_JOB_VALUES_H

#include "base/environment.h"
#include "base/json.h"

/* Of a plan's "dotenv" (may be NULL): for sw_environment_get(). A variable that needs trust is taken only
 * where the file is still the one that was trusted. Owned, never NULL. */
struct sw_environment *sw_job_values(const json_t *dotenv);

#endif
