/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.c - releasing what evidence.h describes.
 */
#include "core/evidence.h"

void sw_evidence_done(struct sw_evidence *evidence)
{
    json_decref(evidence->facts);
    free(evidence->log_tail);
    evidence->facts = NULL;
    evidence->log_tail = NULL;
}
