/* SPDX-License-Identifier: Apache-2.0 */
/*
 * id.h - a job's name everywhere: "<name>-<8 base32 chars>", lower case, starts with a letter,
 * at most 35 characters; valid as DNS label, file name and Slurm job name.
 */
#ifndef SW_CORE_ID_H
#define SW_CORE_ID_H

#include "base/error.h"

void sw_id_make(const char *name, char id[SW_ID_SIZE]);   /* odd characters become '-' */
bool sw_id_valid(const char *id);
int sw_id_check(const char *id, struct sw_error *err);      /* the same with a reason */

#endif
