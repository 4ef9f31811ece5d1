/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h - options are tables: one row gives validation, help, schema, man page and flags.
 *
 * The job file's own keys (spec/spec_keys.c) and every platform's block are arrays of this
 * struct, ended by a row without a name.
 */
#ifndef SW_CORE_OPTION_H
#define SW_CORE_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "core/trust.h"

enum sw_type {
    SW_TEXT,
    SW_WHOLE,        /* an integer */
    SW_NUMBER,       /* integer or real */
    SW_FLAG,         /* true / false */
    SW_DURATION,     /* "90s", "12h" or seconds */
    SW_DURATIONS,    /* a duration, or a range of two: "30s..10m" */
    SW_SIZE,         /* "512GiB" or bytes */
    SW_GPUS,         /* COUNT or TYPE:COUNT */
    SW_CHOICE,       /* one of .choices */
    SW_TEXTS,        /* list of texts; one text is a list of one */
    SW_TEXT_MAP,     /* object of texts (numbers and booleans are written as text) */
    SW_GROUP,        /* object described by .fields */
    SW_MAP_OF,       /* object whose every value is text or a group of .fields (inputs, outputs) */
    SW_FREE,         /* any document (config) */
};

enum sw_scope {
    SW_JOB = 0,      /* what this job wants there */
    SW_CONNECTION,   /* which engine or cluster, and how to reach it: kept with the job's row */
    SW_ACCOUNT,      /* who asks there: read from the profile for each connection, kept with no job */
};

/* The member of a typed struct that a row fills. Texts and documents are borrowed from what was filled from,
 * or from the row itself. What is neither given nor has a default is NULL, 0 or false. */
enum sw_member {
    SW_MEMBER_NONE = 0,    /* the row fills none */
    SW_MEMBER_TEXT,        /* const char *: SW_TEXT, SW_CHOICE, SW_GPUS, SW_DURATIONS */
    SW_MEMBER_INT,         /* int, or an enum in the order of .choices: SW_WHOLE, SW_CHOICE */
    SW_MEMBER_INT64,       /* int64_t: SW_WHOLE, SW_DURATION in milliseconds, SW_SIZE in bytes */
    SW_MEMBER_DOUBLE,      /* SW_NUMBER */
    SW_MEMBER_BOOL,        /* SW_FLAG */
    SW_MEMBER_JSON,        /* const json_t *: lists, maps and documents; no default is filled in */
};

/* In a row: SW_FILLS(struct slurm_job_options, partition). A member of another type does not compile. */
#define SW_FILLS(type, field)                                                                       \
    .offset = offsetof(type, field),                                                                \
    .member = _Generic(((type *)0)->field, const char *: SW_MEMBER_TEXT, int: SW_MEMBER_INT,         \
                       unsigned: SW_MEMBER_INT, int64_t: SW_MEMBER_INT64, double: SW_MEMBER_DOUBLE,  \
                       bool: SW_MEMBER_BOOL, const json_t *: SW_MEMBER_JSON)

struct sw_option {
    const char *name;
    enum sw_type type;
    enum sw_scope scope;
    const char *initial;                 /* default, as a user would write it; NULL: none */
    const char *env;                     /* environment variable that gives it; NULL: none */
    const char *flag;                    /* of the command line, without dashes; "": what
                                            follows "--"; NULL: --set alone */
    const char *help;                    /* one line, lower case, no full stop */
    const char *const *choices;          /* SW_CHOICE, SW_TEXTS (each): NULL-ended */
    const struct sw_option *fields;      /* SW_GROUP, SW_MAP_OF */
    int64_t least, most;                 /* SW_WHOLE, SW_DURATION (ms), SW_SIZE; both 0: no bounds;
                                            only most 0: nothing above */
    bool required;
    bool list_shorthand;                 /* SW_MAP_OF: a plain list of keys is fine too */
    bool variables;                      /* ${NAME} in its texts is filled in, in a job file */
    bool as_written;                     /* SW_FREE: its numbers keep the text they were written with */
    bool unites;                         /* SW_TEXTS: flag, file and profile add up (secrets) */
    enum sw_trust trust;                 /* who may say it before `slipway trust` (core/trust.h) */
    size_t offset;                       /* SW_FILLS() */
    enum sw_member member;
};

const struct sw_option *sw_option_find(const struct sw_option *options, const char *name);
const char *sw_type_name(enum sw_type type);       /* "duration such as 30m", for messages */

/* Can the row's type be kept in its member? */
bool sw_option_fits(const struct sw_option *row);
/* Fills the members that rows of this scope name, from an object of values or from the rows' defaults:
 *
 *     struct docker_job_options job;
 *     if (sw_options_fill(docker_options, plan->options, SW_JOB, &job, err) < 0) ...
 *
 * -1 SW_E_SPEC: a value is of another type, as in a damaged record; its member has the default, all others
 * are filled. `options` may be NULL. */
int sw_options_fill(const struct sw_option *table, const json_t *options, enum sw_scope scope, void *into,
                    struct sw_error *err);
/* The same for options that were checked before; a text that is empty is not given: NULL. */
void sw_options_read(const struct sw_option *table, const json_t *options, enum sw_scope scope, void *into);

/* A credential a platform may need: name of the variable, never the value. */
struct sw_credential {
    const char *name;
    bool required;
    const char *help;
};

#endif
