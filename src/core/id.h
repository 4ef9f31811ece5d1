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

/* Splits: jobs of one group, "GROUP-0" to "GROUP-7". The group has an id of its own, short enough for that,
 * and each of its jobs has it as this label. */
enum { SW_SPLITS_MAX = 10000, SW_GROUP_MAX = SW_ID_MAX - 5 };
#define SW_LABEL_GROUP "slipway.group"
void sw_id_make_group(const char *name, char id[SW_ID_SIZE]);
void sw_id_split(const char *group, int split, char id[SW_ID_SIZE]);

#endif
