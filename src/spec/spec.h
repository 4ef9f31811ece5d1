/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec.h - what the user wants: job file + profile + flags + environment, as one checked document.
 *
 * Precedence: flag > job file > profile > environment > default. Every final value remembers
 * where it came from. Unknown keys, wrong types and values out of range are all collected and
 * reported together, each with file:line:column, the key, and a "did you mean".
 */
#ifndef SW_SPEC_SPEC_H
#define SW_SPEC_SPEC_H

#include "base/document.h"
#include "base/environment.h"
#include "core/option.h"

/* The platforms' names and option tables, handed in so that spec/ needs to know no platform. */
struct sw_spec_platform {
    const char *name;
    const struct sw_option *options;
    const char *alias;                      /* another word for it; NULL: none */
};

/* A profile section after inheritance: values with the place each came from. */
struct sw_profiles;
/* The project's env.toml, as it was found and read. */
struct sw_profile_file {
    const char *name;               /* in messages */
    const char *text;
    size_t length;
    bool trusted;                   /* the user trusted exactly this content (core/trust.h) */
};
/* The project's (NULL: none), then ~/.config/slipway/profiles.toml (the project's wins). A missing
 * file is fine. */
struct sw_profiles *sw_profiles_load(const struct sw_profile_file *project, const char *home_dir,
                                     struct sw_error *err);
/* Every text of the files, with the key it stands under. */
void sw_profiles_texts(const struct sw_profiles *profiles,
                       void (*fn)(void *context, const char *key, const char *value),
                       void *context);
void sw_profiles_free(struct sw_profiles *profiles);
/* The user's own rules for explaining failures, [[rules]] of both files, the project's first: an
 * owned array, empty when there are none. What a rule may say is diagnose/'s business. */
json_t *sw_profiles_rules(const struct sw_profiles *profiles);
/* What an hour of one GPU costs, [prices] of both files, the project's first: an owned map from types to
 * numbers,
 * empty when there are none. NULL SW_E_SPEC with its place: a price that is none. */
json_t *sw_profiles_prices(const struct sw_profiles *profiles, struct sw_error *err);
SW_DEFINE_AUTO(sw_profiles, struct sw_profiles *, sw_profiles_free)

/* NeMo-Run's words: what `word` of this section is called here (its own word, or another), and its value, a
 * new reference in *out. NULL: it is one that has no effect here. */
const char *sw_profile_word(const struct sw_spec_platform *platform, const json_t *section, const char *word,
                            const json_t *value, json_t **out);

struct sw_spec_input {
    const struct sw_document *job;          /* the job file; NULL: flags only */
    bool job_untrusted;                     /* it was found, not named, and is not trusted */
    const struct sw_document *flags;        /* as sw_spec_set_text() builds it; may be NULL */
    const struct sw_profiles *profiles;     /* may be NULL */
    const char *profile;                    /* section asked for; NULL: the platform's name */
    const struct sw_spec_platform *platforms;
    size_t platform_count;
    sw_env_fn *env;                         /* values of variables; NULL: there are none */
    sw_env_fn *env_source;                  /* where such a value is from, in words; may be NULL */
    void *env_context;
    const json_t *user_defaults;            /* as sw_user_defaults_resolve() makes it; NULL: none */
    const char *default_platform;           /* when nothing says otherwise */
    size_t choice;                          /* which of a list of platforms, from 0 */
    bool here;                              /* a versions.yaml of the current folder counts */
};

/* Every value is in its normal form, whichever way it was written:
 *   duration, size, GPUs   text that sw_duration_parse / sw_size_parse / sw_gpus_parse takes
 *   list of texts          array of texts, even when one text was written
 *   map of texts           object of texts; numbers and true/false became text
 *   inputs, outputs        object: path -> group ({"from": ...}, {"to": ...}); the short form of
 *                          text became the group's first field, a listed path an empty group
 * A platform's option with a portable key's name is the same value in `job` and `options`.
 * Of command, argv and python at most one is there. */
struct sw_spec {
    json_t *job;          /* the portable part: every key of spec_keys.c that has a value */
    char *file;           /* the job file as it was named; NULL: flags only */
    char *platform;       /* the chosen one of the list */
    json_t *platforms;    /* the ordered list, array of texts */
    json_t *options;      /* the chosen platform's block, defaults filled in */
    json_t *sources;      /* object: path ("gpus", "env.A", "slurm.partition") -> "job.yaml:3:7",
                             "flag --gpus", "profile [lepton] env.toml:4", "environment SLURM_X",
                             "default" */
    json_t *warnings;     /* array of texts */
    json_t *untrusted;    /* array of {"from": "job" or "profile", "key", "where"}: values that files of
                             the folder decide and that need `slipway trust`. Unless it is empty, nothing
                             may be opened or sent */
};

struct sw_spec *sw_spec_resolve(const struct sw_spec_input *input, struct sw_error *err);
void sw_spec_free(struct sw_spec *spec);
SW_DEFINE_AUTO(sw_spec, struct sw_spec *, sw_spec_free)

/* The value that a path of `sources` speaks of, borrowed: "env.A", "slurm.partition". */
json_t *sw_spec_value(const struct sw_spec *spec, const char *path);

/* One platform's options outside of any job (profile > environment > default), for opening a
 * connection. The asked-for profile counts only where it belongs to that platform, and nothing
 * is required: a job that runs already must be reachable. NULL + err; job and flags are unused. */
json_t *sw_spec_place_options(const struct sw_spec_input *input, const char *platform,
                              struct sw_error *err);

extern const struct sw_option sw_spec_keys[];     /* the job file's keys (spec_keys.c) */

/* ---- user_defaults.c: ~/.config/slipway/config.toml ---------------------------------------- */

extern const struct sw_option sw_user_keys[];     /* its keys */
struct sw_user_input {
    const struct sw_document *file;               /* NULL: there is none */
    const struct sw_spec_platform *platforms;
    size_t platform_count;
    sw_env_fn *env;                               /* NULL: what the file says, whatever is set */
    void *env_context;
};
/* environment > file > default: {"values", "sources"}, as in struct sw_spec. NULL + err. */
json_t *sw_user_defaults_resolve(const struct sw_user_input *input, struct sw_error *err);

/* Turn a flag's text into the value its key's type asks for, and put it into a flags object at
 * that key: "gpus", "env.A", "inputs[\"/x.json\"]", "slurm.partition", "config.train.lr". Lists
 * append. Refused like a job file would be, and then nothing is changed. */
int sw_spec_set_text(json_t *flags, const struct sw_spec_platform *platforms, size_t count,
                     const char *key, const char *text, struct sw_error *err);

/* The job file's value for keeping: texts of `env`, `labels` and `args` as they were written. Owned. */
json_t *sw_spec_written(const struct sw_document *job);

/* Does this variable need trust when a folder's .env gives it? */
bool sw_spec_variable_needs_trust(const struct sw_spec_platform *platforms, size_t count,
                                  const char *name);
/* Every key of a folder's env.toml (profiles) or job file that needs it: an owned array of texts. */
json_t *sw_spec_sensitive_keys(const json_t *document, bool profiles,
                               const struct sw_spec_platform *platforms, size_t count);

/* JSON Schema (draft 2020-12) of the job file with all platform blocks. */
json_t *sw_spec_schema(const struct sw_spec_platform *platforms, size_t count);

/* "H100:8" / "8" / 8 -> type (owned, NULL: any) and count. */
int sw_gpus_parse(const char *text, char **type, int *count, struct sw_error *err);

/* Does a variable or an option of this name usually hold a credential? */
bool sw_spec_looks_like_credential(const char *name);

#endif
