/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_sacct.c - one line of sacct: a job, one earlier run of it, or one of its steps.
 *
 * Pure: lines are split in place.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <string.h>

enum { FIELDS = 9 };

/* "3:0": exit code and signal. */
static bool code_and_signal(const char *text, int *code, int *signal)
{
    int used = 0;

    *code = *signal = 0;
    return sscanf(text, "%9d:%9d%n", code, signal, &used) == 2 && text[used] == '\0' &&
           *code >= 0 && *signal >= 0;
}

bool slurm_sacct_line(char *line, struct slurm_past *out)
{
    char *fields[FIELDS], *rest = line;
    int derived_signal;

    for (size_t i = 0; i < FIELDS; i++) {
        fields[i] = i + 1 < FIELDS ? strsep(&rest, "|") : rest;
        if (!fields[i])
            return false;
    }
    *out = (struct slurm_past){
        .state = fields[1], .start_ms = slurm_when(fields[4]), .end_ms = slurm_when(fields[5]),
        .nodes = fields[6], .name = fields[7], .comment = fields[8],
    };
    if (!slurm_id_parse(fields[0], &out->id))
        return false;
    if (!code_and_signal(fields[2], &out->code, &out->signal))
        out->code = -1;
    if (!code_and_signal(fields[3], &out->derived_code, &derived_signal))
        out->derived_code = 0;
    return true;
}
