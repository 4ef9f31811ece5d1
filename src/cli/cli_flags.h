/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_flags.h - flags are tables: one row gives parsing, help, man page and completion.
 *
 * Flags and arguments may be mixed; `--` ends the flags. "--name value", "--name=value",
 * "-n value", "-n5" and clusters such as "-df job.yaml" all work. What is unknown is an error
 * with a "did you mean"; so is a second value of a flag that has room for one (a switch may be said
 * twice: it says the same). No globals, unlike getopt: a table says where each value goes.
 */
#ifndef SW_CLI_FLAGS_H
#define SW_CLI_FLAGS_H

#include "base/error.h"

struct cli_flag;

/* Put a value where it belongs. `value` is NULL for a switch. */
typedef int cli_apply(void *field, const struct cli_flag *flag, const char *value,
                      struct sw_error *err);
/* Put a value into the job that `run` and `plan` are about to describe. */
typedef int cli_set(struct sw_request *request, const char *key, const char *value,
                    struct sw_error *err);

struct cli_flag {
    const char *name;       /* the long spelling without dashes; NULL ends a table */
    char letter;            /* the short one, or 0 */
    const char *arg;        /* what its value is called, "a|b" for a choice; NULL: a switch */
    const char *help;       /* lower case, no full stop; NULL: works, but is not shown */
    cli_apply *apply;       /* NULL: the verb reads it from cli_args.given */
    size_t at;              /* where in the target structure */
    const char *also;       /* another long spelling that people try */
    bool many;              /* may be repeated: each use adds to the others */
    const char *key;        /* the key of the job file that it sets */
    cli_set *set;           /* how it sets that key */
};

/* Ready-made ways to apply a flag; the type that `at` must point to is in the name. */
int cli_apply_bool(void *field, const struct cli_flag *flag, const char *value,
                   struct sw_error *err);
int cli_apply_text(void *field, const struct cli_flag *flag, const char *value,
                   struct sw_error *err);
int cli_apply_int64(void *field, const struct cli_flag *flag, const char *value,
                    struct sw_error *err);
int cli_apply_duration(void *field, const struct cli_flag *flag, const char *value,
                       struct sw_error *err);                   /* int64_t, milliseconds */
int cli_apply_since(void *field, const struct cli_flag *flag, const char *value,
                    struct sw_error *err);      /* int64_t, wall clock ms: "10m" ago, or a time */
int cli_apply_choice(void *field, const struct cli_flag *flag, const char *value,
                     struct sw_error *err);                     /* int: index into "a|b|c" */

struct cli_flag_set {
    const struct cli_flag *flags;    /* NULL: none */
    void *target;
};

/* One use of a flag. */
struct cli_given {
    const struct cli_flag *flag;
    const char *value;
};

/* A command line taken apart. All texts are borrowed from argv. */
struct cli_args {
    struct cli_given *given;
    size_t given_count;
    const char **words;              /* the arguments before `--` */
    size_t word_count;
    const char *const *rest;         /* what follows `--`; NULL: there was none */
    size_t rest_count;
    const void *options;             /* the verb's own structure, filled from its flags */
};

void cli_args_done(struct cli_args *args);
static inline void cli_args_auto(struct cli_args *args) { cli_args_done(args); }

/* Parse argv[0..argc). With `first_word_ends` parsing stops before the first argument.
 * Returns how many elements were used, or -1. */
int cli_flags_parse(const struct cli_flag_set *sets, size_t set_count, int argc,
                    const char *const *argv, bool first_word_ends, struct cli_args *args,
                    struct sw_error *err);

/* All values given to the flag of that name, in order; the array is owned, the texts are not. */
const char **cli_given_values(const struct cli_args *args, const char *name, size_t *count);
/* The last value given to the flag of that name; NULL: it was not given. */
const char *cli_given_value(const struct cli_args *args, const char *name);

#endif
