/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operation_internal.h - what running operations needs inside storage/.
 */
#ifndef SW_STORAGE_OPERATION_INTERNAL_H
#define SW_STORAGE_OPERATION_INTERNAL_H

#include "storage/storage.h"

/* Forget answers and notes: from the beginning again. */
void sw_operation_restart(struct sw_operation *op);
uint32_t sw_operation_chance(void);      /* for jitter only: not secret, not repeatable */

#endif
