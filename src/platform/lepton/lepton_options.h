/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_options.h - the block `lepton:` as two structs: which workspace, and what a job wants there.
 */
#ifndef SW_PLATFORM_LEPTON_OPTIONS_H
#define SW_PLATFORM_LEPTON_OPTIONS_H

#include "core/option.h"

enum lepton_stuck { LEPTON_SUGGEST, LEPTON_RESUBMIT };

struct lepton_connect_options {      /* texts are borrowed from the options; NULL: not given */
    const char *workspace, *url, *origin;
};

struct lepton_job_options {          /* the same */
    const char *node_group, *resource_shape, *arch, *visibility, *image_pull_secret;
    const char *reservation, *priority;
    bool burst, preemptible, can_preempt, cache_inputs;
    const json_t *volumes, *allowed_nodes;
    int64_t ttl_ms, stuck_after_ms;
    enum lepton_stuck stuck;
};

extern const struct sw_option lepton_options[];

struct lepton_connect_options lepton_connect_options(const json_t *options);
struct lepton_job_options lepton_job_options(const json_t *options);

#endif
