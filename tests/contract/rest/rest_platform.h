/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_platform.h - the REST platform of the contract suite, for the jobs of ./server: what its files share.
 */
#ifndef SW_TESTS_CONTRACT_REST_PLATFORM_H
#define SW_TESTS_CONTRACT_REST_PLATFORM_H

#include "platform/kit/jobs.h"

/* rest_render.c, pure */
struct sw_jobs_name rest_name(const char *id, int attempt);
json_t *rest_render_body(const struct sw_plan *plan, int attempt);
/* Adds runner, payload and code to the environment in the body. */
int rest_render_files(json_t *body, const struct sw_plan *plan, const char *arch, struct sw_error *err);
void rest_read(const json_t *job, struct sw_observation *seen);
json_t *rest_read_replicas(const json_t *job);

#endif
