/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate.h - files of other tools become job files.
 *
 * Text in, job document and a list of what was left out. Every value is checked as a job file's would be
 * before it is taken (sw_spec_set_text), so that what comes out is a job file that is read without an
 * error; a value that is refused is left out with the reason. Nothing is dropped without a word.
 *
 * Pure: no file is opened here.
 */
#ifndef SW_TRANSLATE_TRANSLATE_H
#define SW_TRANSLATE_TRANSLATE_H

#include "spec/spec.h"

#define SW_TRANSLATE_MAX (256 * 1024)

struct sw_translate_input {
    const char *text;
    size_t length;
    const char *name;                  /* of the file, in messages; its ending tells TOML and JSON apart */
    const char *tool;                  /* "sbatch", "skypilot", "dstack", "nemo-run"; NULL: by content */
    const char *section;               /* of an env.toml; NULL: the only one, or the first */
    const struct sw_spec_platform *platforms;
    size_t platform_count;
};

struct sw_translation {
    const char *tool;
    json_t *job;                       /* a job document */
    json_t *left_out;                  /* array of {"line", "what", "why"}, in the order of the lines */
};

/* NULL: SW_E_SPEC, SW_E_USAGE (no such tool, or the content fits none). */
struct sw_translation *sw_translate(const struct sw_translate_input *input, struct sw_error *err);
void sw_translation_free(struct sw_translation *translation);
SW_DEFINE_AUTO(sw_translation, struct sw_translation *, sw_translation_free)

/* Whose file this is, by its content; NULL: none of the tools'. */
const char *sw_translate_tool(const struct sw_translate_input *input);

/* ---- the text of a job file (job_text.c) --------------------------------------------------------- */

struct sw_job_text {
    const json_t *job;                 /* a job document */
    const json_t *left_out;            /* as in a translation; or NULL */
    const json_t *ideas;               /* object: key -> value, written as comments; or NULL */
    const json_t *remarks;             /* array of lines for the head; or NULL */
    const char *schema;                /* for the editor: a path or URL */
};

/* A commented job file in YAML. */
int sw_job_text_write(struct sw_buf *out, const struct sw_job_text *what, struct sw_error *err);

/* ---- a first job file for a folder (draft.c) ------------------------------------------------------ */

/* What was found in a folder: its names, and the beginning of each file that was read. */
struct sw_draft_input {
    const char *folder;                /* what it is called */
    const json_t *files;               /* object: name -> text of the file's beginning */
    const struct sw_spec_platform *platforms;
    size_t platform_count;
};

struct sw_draft {
    char *translated;                  /* the one file of another tool, to be translated; else NULL */
    json_t *job, *ideas, *remarks;     /* otherwise: for struct sw_job_text */
};

void sw_draft_make(const struct sw_draft_input *input, struct sw_draft *out);
void sw_draft_done(struct sw_draft *draft);
static inline void sw_draft_auto(struct sw_draft *draft) { sw_draft_done(draft); }

/* Is the content of a file of this name looked at? */
bool sw_draft_reads(const char *name);

#endif
