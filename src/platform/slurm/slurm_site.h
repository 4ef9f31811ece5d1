/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_site.h - what a cluster says about itself: its fitness for a job, its partitions and nodes.
 *
 * Pure: texts in, documents out. slurm_preflight_report.c and slurm_inventory.c ask.
 */
#ifndef SW_PLATFORM_SLURM_SITE_H
#define SW_PLATFORM_SLURM_SITE_H

#include "base/error.h"
#include "base/json.h"
#include "platform/slurm/slurm_text.h"

struct slurm_checked {             /* the job that is checked */
    int64_t minutes;               /* how long it wants to run; 0: not known */
    bool secret_named;             /* it brings its registry's password: no public one */
    bool login_brought;            /* by the submit: registry_login */
};
/* What slurm_checks.sh answered, as findings {"check","ok","message","fix"} added to `rows`. */
void slurm_check_text(json_t *rows, const struct slurm_checked *job, const char *answers);
void slurm_finding(json_t *rows, const char *check, bool ok, const char *message, const char *fix);
/* The record "refused WORD TEXT" of a submit as an error; always -1. */
int slurm_refused(struct slurm_record *record, struct sw_error *err);

/* How many GPUs "gpu:a100:8(S:0-1),nic:1" names; `types` (may be NULL) counts them by type. */
int64_t slurm_gres_gpus(const char *gres, json_t *types);

/* `scontrol -o show partition` and `scontrol -d -o show node` as {"partitions": [...],
 * "gpus_total", "gpus_free", ...}. */
json_t *slurm_site(const char *partitions, const char *nodes);

#endif
