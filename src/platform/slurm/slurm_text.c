/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_text.c - scripts for the cluster: texts as the build found them, values before them, records after.
 *
 * Pure.
 */
#include "platform/slurm/slurm_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINES (const char *const[])

static const char *const *const texts[] = {
#include "platform/slurm/slurm_texts.inc"
};

void slurm_text_add(struct sw_buf *out, enum slurm_text which)
{
    assert(which < sizeof texts / sizeof *texts && texts[which]);
    for (const char *const *line = texts[which]; *line; line++)
        sw_buf_add(out, *line);
}

void slurm_set(struct sw_buf *out, const char *name, const char *value)
{
    sw_buf_addf(out, "%s=", name);
    sw_buf_add_quoted(out, value ? value : "");
    sw_buf_add_char(out, '\n');
}

void slurm_set_number(struct sw_buf *out, const char *name, long long value)
{
    sw_buf_addf(out, "%s=%lld\n", name, value);
}

void slurm_set_flag(struct sw_buf *out, const char *name, bool value)
{
    sw_buf_addf(out, "%s=%s\n", name, value ? "1" : "");
}

void slurm_call_add(struct sw_buf *out, const char *function, const char *const *words, size_t count)
{
    sw_buf_add(out, function);
    for (size_t i = 0; i < count; i++) {
        sw_buf_add_char(out, ' ');
        sw_buf_add_quoted(out, words[i] ? words[i] : "");
    }
    sw_buf_add_char(out, '\n');
}

void slurm_set_patience(struct sw_buf *out, const struct slurm_patience *patience)
{
    slurm_set_number(out, "SW_LEASE", patience->lease_s > 0 ? patience->lease_s : 60);
    slurm_set_number(out, "SW_BEAT", patience->beat_s > 0 ? patience->beat_s : 10);
    slurm_set_number(out, "SW_PATIENCE", patience->wait_s > 0 ? patience->wait_s : 3600);
    slurm_set_number(out, "SW_STEP", 1);
}

/* ---- answers ----------------------------------------------------------------------------------- */

struct slurm_records slurm_records_of(struct sw_buf *answer)
{
    return (struct slurm_records){ answer->data, answer->data ? answer->data + answer->length : NULL };
}

bool slurm_record_next(struct slurm_records *records, struct slurm_record *record)
{
    char *begin = records->at, *newline, *tab;

    if (!begin || begin >= records->end)
        return false;
    newline = memchr(begin, '\n', (size_t)(records->end - begin));
    records->at = newline ? newline + 1 : records->end;
    if (newline)
        *newline = '\0';                         /* a buffer ends with a NUL of its own */
    tab = strchr(begin, '\t');
    record->kind = begin;
    record->rest = tab ? tab + 1 : begin + strlen(begin);
    if (tab)
        *tab = '\0';
    return true;
}

char *slurm_field(struct slurm_record *record)
{
    char *begin = record->rest, *tab = strchr(begin, '\t');

    record->rest = tab ? tab + 1 : begin + strlen(begin);
    if (tab)
        *tab = '\0';
    return begin;
}

bool slurm_field_index(struct slurm_record *record, size_t count, size_t *index)
{
    const char *text = slurm_field(record);
    char *end = NULL;
    unsigned long long number = strtoull(text, &end, 10);

    if (end == text || *end || number >= count)
        return false;
    *index = (size_t)number;
    return true;
}
