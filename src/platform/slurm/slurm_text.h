/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_text.h - scripts for the cluster, and their answers.
 *
 * A text is a file NAME.sh that can be read, checked and run on its own; the build puts its lines into the
 * program. Values never become part of a text: they are assigned before it, quoted. What a script answers is
 * lines "KIND<TAB>FIELD<TAB>FIELD...", which slurm_record_next() reads.
 *
 * Pure.
 */
#ifndef SW_PLATFORM_SLURM_TEXT_H
#define SW_PLATFORM_SLURM_TEXT_H

#include <stdbool.h>

#include "base/buf.h"

enum slurm_text {
    SLURM_TEXT_BATCH_BEGIN, SLURM_TEXT_BATCH_RUN, SLURM_TEXT_BESIDE, SLURM_TEXT_CANCEL,
    SLURM_TEXT_CHECKS, SLURM_TEXT_CLEANUP, SLURM_TEXT_COMMON, SLURM_TEXT_CREDENTIALS,
    SLURM_TEXT_EVIDENCE, SLURM_TEXT_EXEC, SLURM_TEXT_IMAGE, SLURM_TEXT_INSPECT, SLURM_TEXT_KEEP,
    SLURM_TEXT_LOG, SLURM_TEXT_NEEDS, SLURM_TEXT_OBSERVE, SLURM_TEXT_REFUSALS, SLURM_TEXT_RETRY,
    SLURM_TEXT_ROLES, SLURM_TEXT_SUBMIT, SLURM_TEXT_TASK,
};

void slurm_text_add(struct sw_buf *out, enum slurm_text which);
/* NAME='value' and a newline; NULL counts as empty. */
void slurm_set(struct sw_buf *out, const char *name, const char *value);
void slurm_set_number(struct sw_buf *out, const char *name, long long value);
void slurm_set_flag(struct sw_buf *out, const char *name, bool value);       /* 1, or empty */
/* FUNCTION 'word' 'word'... and a newline. */
void slurm_call_add(struct sw_buf *out, const char *function, const char *const *words, size_t count);

/* How long one waits for another who makes the same thing; 0 in a field: as the table says. */
struct slurm_patience {
    int lease_s;              /* an owner silent for so long is gone: 60 */
    int beat_s;               /* how often an owner shows that it lives: 10 */
    int wait_s;               /* the longest wait: 3600 */
};
void slurm_set_patience(struct sw_buf *out, const struct slurm_patience *patience);

/* ---- answers ----------------------------------------------------------------------------------- */

struct slurm_records {        /* of an answer, which is cut into pieces; any bytes */
    char *at, *end;
};
struct slurm_record {         /* into the answer */
    const char *kind;
    char *rest;               /* the fields that are not taken yet, tabs between */
};
struct slurm_records slurm_records_of(struct sw_buf *answer);
/* The next line; false: none is left. */
bool slurm_record_next(struct slurm_records *records, struct slurm_record *record);
/* Takes the next field; "" when there is none. */
char *slurm_field(struct slurm_record *record);
/* Takes a field that is a number below `count`; false: it is none. */
bool slurm_field_index(struct slurm_record *record, size_t count, size_t *index);

#endif
