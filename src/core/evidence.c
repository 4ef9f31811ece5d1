/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.c - making and releasing what evidence.h describes.
 */
#include "core/evidence.h"

#include <string.h>

#include "base/text.h"

struct sw_evidence sw_evidence_of(const struct sw_observation *seen)
{
    struct sw_evidence evidence = {
        .state = seen->state, .exit_code = seen->exit_code, .signal = seen->signal,
        .failed_replica = seen->failed_replica,
    };

    memcpy(evidence.reason, seen->reason, sizeof evidence.reason);
    memcpy(evidence.message, seen->message, sizeof evidence.message);
    return evidence;
}

char *sw_evidence_tail(const char *bytes, size_t length, bool inside)
{
    const char *newline = inside ? memchr(bytes, '\n', length) : NULL;
    const char *from = newline ? newline + 1 : bytes;        /* half a line would mislead */

    return sw_text_utf8(from, length - (size_t)(from - bytes));
}

void sw_evidence_done(struct sw_evidence *evidence)
{
    json_decref(evidence->facts);
    free(evidence->log_tail);
    evidence->facts = NULL;
    evidence->log_tail = NULL;
}
