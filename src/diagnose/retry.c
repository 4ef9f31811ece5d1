/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retry.c - which causes are worth another attempt.
 *
 * "unknown" and "user" are never in the default: a tool that retries what it does not understand
 * burns GPU hours on the same bug. A user's own list is obeyed to the letter.
 */
#include "diagnose/diagnose_internal.h"

#include <string.h>

#include "base/text.h"

static const struct {
    const char *cause, *err_class;
    bool retried;
} causes[] = {
    { "memory",    SW_CLASS_PROGRAM, false },
    { "user",      SW_CLASS_PROGRAM, false },
    { "node",      SW_CLASS_INFRA,   true },
    { "gpu",       SW_CLASS_INFRA,   true },
    { "network",   SW_CLASS_INFRA,   true },
    { "image",     SW_CLASS_INFRA,   true },
    { "preempted", SW_CLASS_INFRA,   true },
    { "time",      SW_CLASS_PROGRAM, false },
    { "storage",   SW_CLASS_INFRA,   false },
    { "unknown",   SW_CLASS_PROGRAM, false },
};

void diag_list_causes(struct sw_buf *out)
{
    for (size_t i = 0; i < SW_COUNT(causes); i++)
        sw_buf_addf(out, "%s%s", i > 0 ? ", " : "", causes[i].cause);
}

const char *diag_class_of_cause(const char *cause)
{
    for (size_t i = 0; i < SW_COUNT(causes); i++) {
        if (strcmp(causes[i].cause, cause) == 0)
            return causes[i].err_class;
    }
    return NULL;
}

bool sw_cause_is_retriable(const char *cause, const json_t *retry_on)
{
    size_t i;
    json_t *listed;

    if (!cause)
        return false;
    if (json_is_array(retry_on)) {
        json_array_foreach(retry_on, i, listed) {
            if (sw_text_same(json_string_value(listed), cause))
                return true;
        }
        return false;
    }
    for (i = 0; i < SW_COUNT(causes); i++) {
        if (strcmp(causes[i].cause, cause) == 0)
            return causes[i].retried;
    }
    return false;
}

bool sw_verdict_is_retriable(const json_t *verdict, const json_t *retry_on)
{
    if (!json_is_array(retry_on) && !sw_text_same(sw_json_str(verdict, "err_class"), SW_CLASS_INFRA))
        return false;
    return sw_cause_is_retriable(sw_json_str(verdict, "cause"), retry_on);
}
