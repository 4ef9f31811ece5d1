/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_internal.h - what the translators share: setting a value, leaving one out, tables of words.
 */
#ifndef SW_TRANSLATE_TRANSLATE_INTERNAL_H
#define SW_TRANSLATE_TRANSLATE_INTERNAL_H

#include "translate/translate.h"

struct translating {
    const struct sw_translate_input *input;
    const struct sw_document *document;      /* NULL: the file is a script */
    json_t *job, *left_out;                  /* as in struct sw_translation */
};

/* One word of the other tool's document, with its value and place. */
struct translate_word {
    const char *path;                        /* "resources.accelerators" */
    const json_t *value;
    int line;
};

/* What becomes of a word: `take` decides, or the value goes to `key`, or it is left out because of `why`. */
struct translate_row {
    const char *word;
    const char *key;
    void (*take)(struct translating *at, const struct translate_word *word);
    const char *why;
};

/* Set a key of the job file, or leave it out when the job file refuses it. */
bool translate_set(struct translating *at, int line, const char *what, const char *key, const char *text);
bool translate_has(const struct translating *at, const char *key);       /* "slurm.gres" */
bool translate_lists(const struct translating *at, const char *key, const char *text);
void translate_leave_out(struct translating *at, int line, const char *what, const char *why);
/* The same with the value: "memory: 8GB..". */
void translate_refuse(struct translating *at, const struct translate_word *word, const char *why);

/* The words of an object by their rows (ended by one without a word); `path` NULL: the document's top. */
void translate_object(struct translating *at, const json_t *object, const char *path,
                      const struct translate_row *rows);
/* A value, or each of a list, at this key. */
void translate_value(struct translating *at, const struct translate_word *word, const char *key);
/* Each entry of a map at KEY.NAME. */
void translate_map(struct translating *at, const struct translate_word *word, const char *key);
int translate_line(const struct translating *at, const char *path);
/* A new path below this one: "envs" and "A" -> "envs.A". Owned. */
char *translate_below(const char *path, const char *key);

/* A number, a text, true or false as text; NULL: it is a list, a map or nothing. Owned. */
char *translate_scalar(const json_t *value);
/* "8", "8+", "8.." and "8..16" -> "8"; *exact: it was no range. Owned; NULL: it is no scalar. */
char *translate_least(const json_t *value, bool *exact);
/* "32", "32GB", "32G" -> "32GiB", of tools whose GB are 1024 each; `unit` of a bare number. NULL: neither. */
char *translate_size(const char *text, const char *unit);

/* Variables that the other tool sets, and what sets the same here; NULL: nothing does. */
struct translate_variable {
    const char *theirs, *ours;
};
/* What to run: `command`, or `argv` with bash where the text needs it. `variables` may be NULL. */
void translate_command(struct translating *at, int line, const char *what, const char *text,
                       const struct translate_variable *variables);
/* What runs before it. After translate_command(). */
void translate_setup(struct translating *at, int line, const char *what, const char *text,
                     const struct translate_variable *variables);
/* A variable with a value is `env`; one without is taken from the shell: `secrets`. */
void translate_env(struct translating *at, int line, const char *what, const char *name, const char *value);
/* Data at a path in the job. */
void translate_input(struct translating *at, int line, const char *what, const char *path, const char *from);

/* A cloud's machine: the platform that rents them, or a cluster; and an image, which both need. */
void translate_rented(struct translating *at, const char *platform);

/* ---- the tools ------------------------------------------------------------------------------------ */

void translate_sbatch(struct translating *at);
void translate_skypilot(struct translating *at);
void translate_dstack(struct translating *at);
int translate_nemo_run(struct translating *at, struct sw_error *err);

/* ---- sbatch's options, which NeMo-Run's Slurm executor has, too (sbatch_options.c) ------------------ */

/* What several options decide together. 0 and NULL: not said. */
struct sbatch_shape {
    long nodes, tasks, tasks_per_node, cpus_per_task;
    char *gpus, *gpus_per_task, *gpus_per_node;       /* [TYPE:]COUNT */
    int nodes_line, tasks_line, gpus_line;
    bool srun;                         /* the script starts its processes with srun */
    bool mpi;                          /* and says how MPI is offered */
};
void sbatch_shape_done(struct sbatch_shape *shape);

struct sbatch_option;
/* By name ("--nodes" is "nodes") or, where name is NULL, by letter. */
const struct sbatch_option *sbatch_option_find(const char *name, size_t length, char letter);
bool sbatch_option_has_value(const struct sbatch_option *option, bool attached);
/* `what` as it was written, for people. `srun`: a word of an srun line. */
void sbatch_option_take(struct translating *at, struct sbatch_shape *shape,
                        const struct sbatch_option *option, int line, const char *what, const char *value,
                        bool srun);
/* After all options: nodes, GPUs, CPUs and tasks. */
void sbatch_shape_settle(struct translating *at, const struct sbatch_shape *shape);

#endif
