/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_rows.c - one line of squeue or sacct, and the names that Slurm gives to parts of jobs.
 *
 * Fields are cut at '|'. The one that may hold any text, the comment, is the last. Never trusts a
 * count or a length: a line that is not as it should be is no row.
 *
 * Pure: lines are split in place.
 */
#include "platform/slurm/slurm_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { FIELDS = 9 };

/* A number of at most 18 digits; the character behind it. */
static const char *digits(const char *text, int64_t *number)
{
    size_t length = strspn(text, "0123456789");

    *number = 0;
    for (size_t i = 0; i < length && length <= 18; i++)
        *number = *number * 10 + (text[i] - '0');
    return length > 0 && length <= 18 ? text + length : NULL;
}

/* "_4" or "_[0-9%2]"; NULL: neither. */
static const char *task_of(const char *at, struct slurm_id *id)
{
    int64_t task;
    const char *end;

    if (at[1] == '[') {
        id->many = true;
        end = strchr(at, ']');
        return end ? end + 1 : NULL;
    }
    end = digits(at + 1, &task);
    if (!end || task > INT32_MAX)
        return NULL;
    id->task = (int)task;
    return end;
}

bool slurm_id_parse(const char *text, struct slurm_id *id)
{
    const char *at;
    int64_t part;

    *id = (struct slurm_id){ .task = -1, .part = -1 };
    at = digits(text, &id->job);
    if (!at || id->job == 0)
        return false;
    if (*at == '_')
        at = task_of(at, id);
    if (at && *at == '+') {
        at = digits(at + 1, &part);
        id->part = at && part <= INT32_MAX ? (int)part : -1;
    }
    if (at && *at == '.') {
        snprintf(id->step, sizeof id->step, "%.23s", at + 1);
        return at[1] != '\0';
    }
    return at && *at == '\0';
}

int64_t slurm_when(const char *text)
{
    int64_t seconds;
    const char *end = digits(text, &seconds);

    return end && *end == '\0' && seconds < INT64_C(1) << 40 ? seconds * 1000 : 0;
}

static bool split(char *line, char *fields[FIELDS])
{
    for (size_t i = 0; i < FIELDS; i++) {
        fields[i] = i + 1 < FIELDS ? strsep(&line, "|") : line;
        if (!fields[i])
            return false;
    }
    return true;
}

bool slurm_squeue_line(char *line, struct slurm_row *out)
{
    char *fields[FIELDS];

    if (!split(line, fields))
        return false;
    *out = (struct slurm_row){
        .state = fields[0], .why = fields[3],
        .start_ms = slurm_when(fields[4]), .end_ms = slurm_when(fields[5]), .nodes = fields[6],
        .name = fields[7], .comment = fields[8],
    };
    return slurm_id_parse(fields[1], &out->id) && !out->id.step[0];
}

/* "3:0": exit code and signal. */
static bool code_and_signal(const char *text, int *code, int *signal)
{
    int used = 0;

    *code = *signal = 0;
    return sscanf(text, "%9d:%9d%n", code, signal, &used) == 2 && text[used] == '\0' &&
           *code >= 0 && *signal >= 0;
}

bool slurm_sacct_line(char *line, struct slurm_row *out)
{
    char *fields[FIELDS];
    int derived_signal;

    if (!split(line, fields))
        return false;
    *out = (struct slurm_row){
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

/* "n[1-3,7],x" -> "n1", "gpu-[001-004]" -> "gpu-001". */
void slurm_first_node(const char *nodes, char out[128])
{
    size_t head = strcspn(nodes, "[,");
    size_t inside = nodes[head] == '[' ? strcspn(nodes + head + 1, "-,]") : 0;

    if (nodes[0] == '(' || sw_text_same(nodes, "None assigned"))
        head = inside = 0;
    snprintf(out, 128, "%.*s%.*s", (int)(head < 100 ? head : 100), nodes,
             (int)(inside < 20 ? inside : 20), inside ? nodes + head + 1 : "");
}
