/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.c - releasing what evidence.h describes.
 */
#include "core/evidence.h"

#include <string.h>

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

void sw_evidence_done(struct sw_evidence *evidence)
{
    json_decref(evidence->facts);
    free(evidence->log_tail);
    evidence->facts = NULL;
    evidence->log_tail = NULL;
}
