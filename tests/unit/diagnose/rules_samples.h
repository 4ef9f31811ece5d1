/* SPDX-License-Identifier: Apache-2.0 */
/* rules_samples.h - for each row of log_rules.c: lines that fit and lines that do not. */
#ifndef TEST_RULES_SAMPLES_H
#define TEST_RULES_SAMPLES_H

#include <stddef.h>

struct rule_sample {
    const char *rule;
    const char *fits[6];      /* each must be explained by this very rule */
    const char *not[6];       /* none may fit this rule */
};

extern const struct rule_sample rule_samples[];
extern const size_t rule_sample_count;

#endif
