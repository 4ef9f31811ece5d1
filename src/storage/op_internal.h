/* SPDX-License-Identifier: Apache-2.0 */
/*
 * op_internal.h - what running operations needs inside storage/.
 */
#ifndef SW_STORAGE_OP_INTERNAL_H
#define SW_STORAGE_OP_INTERNAL_H

#include "storage/storage.h"

void sw_op_restart(struct sw_op *op);      /* forget answers and notes: from the beginning again */
uint32_t sw_op_chance(void);               /* for jitter only: not secret, not repeatable */

#endif
