/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.h - options are tables: one row gives validation, help, schema, man page and flags.
 *
 * The job file's own keys (spec/spec_keys.c) and every platform's block are arrays of this
 * struct, ended by a row without a name.
 */
#ifndef SW_CORE_OPTION_H
#define SW_CORE_OPTION_H

#include <stdint.h>

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
};

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
    bool unites;                         /* SW_TEXTS: flag, file and profile add up (secrets) */
    enum sw_trust trust;                 /* who may say it before `slipway trust` (core/trust.h) */
};

const struct sw_option *sw_option_find(const struct sw_option *options, const char *name);
const char *sw_type_name(enum sw_type type);       /* "duration such as 30m", for messages */

/* A credential a platform may need: name of the variable, never the value. */
struct sw_credential {
    const char *name;
    bool required;
    const char *help;
};

#endif
