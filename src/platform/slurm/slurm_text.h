/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_text.h - the shell texts beside the C files, and how values get into them.
 *
 * A text is a file NAME.sh that can be read, checked and run on its own; the build puts its lines
 * into the program. Values never become part of a text: they are assigned before it, quoted.
 */
#ifndef SW_PLATFORM_SLURM_TEXT_H
#define SW_PLATFORM_SLURM_TEXT_H

#include "base/buf.h"

enum slurm_text {
    SLURM_TEXT_IMAGE,
    SLURM_TEXT_CREDENTIALS,
    SLURM_TEXT_RETRY,
    SLURM_TEXT_CHECKS,
    SLURM_TEXT_CACHES,
};

void slurm_text_add(struct sw_buf *out, enum slurm_text which);
/* NAME='value' and a newline; NULL counts as empty. */
void slurm_set(struct sw_buf *out, const char *name, const char *value);
void slurm_set_number(struct sw_buf *out, const char *name, long long value);

/* How long one waits for another who makes the same thing; 0 in a field: as the table says. */
struct slurm_patience {
    int lease_s;              /* an owner silent for so long is gone: 60 */
    int beat_s;               /* how often an owner shows that it lives: 10 */
    int wait_s;               /* how long anybody waits at all: 3600 */
};
void slurm_set_patience(struct sw_buf *out, const struct slurm_patience *patience);

#endif
