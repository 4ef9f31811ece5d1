/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_internal.h - what the files of spec/ share: problems, levels, and the check of one level.
 *
 * A level is one origin of values (flags, job file, a profile section, the environment, the
 * defaults). Each is checked on its own into a struct spec_level, in the shape of a job file
 * with every value in its normal form (spec.h); merging then only compares like with like.
 */
#ifndef SW_SPEC_INTERNAL_H
#define SW_SPEC_INTERNAL_H

#include "base/buf.h"
#include "spec/spec.h"

/* ---- problems.c: everything that is wrong, reported together -------------------------- */

struct spec_problems {
    struct sw_buf lines;      /* the first SPEC_PROBLEMS_SHOWN, one per line */
    size_t count;
    char key[64];             /* the first whose value is wrong, as `slipway help job` knows it; "": none */
};
#define SPEC_PROBLEMS_INIT { .lines = SW_BUF_INIT }
#define SPEC_PROBLEMS_SHOWN 12

void spec_problems_done(struct spec_problems *problems);
static inline void spec_problems_auto(struct spec_problems *p) { spec_problems_done(p); }
void spec_problem(struct spec_problems *problems, const char *where, const char *fmt, ...)
    SW_PRINTF(3, 4);
/* 0 when there was none; otherwise -1 and one SW_E_SPEC that lists them. */
int spec_problems_report(const struct spec_problems *problems, struct sw_error *err);
/* Where a person finds what the key means, and all others (""); -1. */
int spec_hint_help(const char *key, struct sw_error *err);

/* A word of the user's inside a message: short, and without control characters. Owned. */
char *spec_shown(const char *text);
/* " (did you mean 'gpus'?)" or "". Owned. */
/* " (use 'gpus': ...)" for a key that is known from other tools; owned; NULL: it is not. */
char *spec_familiar(const char *word);
char *spec_did_you_mean(const char *word, const char *const *candidates, size_t count);

/* ---- the check of one level ----------------------------------------------------------- */

enum spec_origin { SPEC_FILE, SPEC_FLAGS, SPEC_PROFILE, SPEC_ELSEWHERE };

struct spec_level {
    json_t *values;           /* shape of a job file: portable keys, platform blocks */
    json_t *sources;          /* path -> where it came from */
};

struct spec_check {
    const struct sw_spec_platform *platforms;
    size_t platform_count;
    struct spec_problems *problems;
    json_t *warnings;
    json_t *untrusted;        /* array of {"key","where"}: see struct sw_spec */

    enum spec_origin origin;
    const struct sw_document *document;  /* SPEC_FILE, SPEC_PROFILE: knows the places */
    const char *label;                   /* SPEC_PROFILE: section; SPEC_ELSEWHERE: the source */
    json_t *sources;                     /* filled in while values are checked; may be NULL */
    sw_env_fn *env, *env_source;         /* of ${NAME}; may be NULL (struct sw_spec_input) */
    void *env_context;
    json_t *variables;                   /* array of {"name","where","subject"}: those that were filled in */
    struct sw_buf filled;                /* those of this value, for its source: "USER from .env" */
    struct sw_buf path;                  /* of the value in the spec: "slurm.partition" */
    struct sw_buf place;                 /* of the value in the document: "slurm_big.partition" */
};
void spec_check_done(struct spec_check *check);
static inline void spec_check_auto(struct spec_check *check) { spec_check_done(check); }

struct spec_mark { size_t path, place; };
struct spec_mark spec_enter(struct spec_check *check, const char *key);
struct spec_mark spec_enter_index(struct spec_check *check, size_t index);
/* The value entered since `mark` will stand under another key in the spec. */
void spec_rename(struct spec_check *check, struct spec_mark mark, const char *key);
void spec_leave(struct spec_check *check, struct spec_mark mark);

char *spec_where(const struct spec_check *check);      /* "job.yaml:3:7", "--gpus"; owned */
/* "retry.max: " to begin a complaint with; empty when the flag in front of it says it already. */
char *spec_subject(const struct spec_check *check, const char *path);
char *spec_source(const struct spec_check *check);     /* "flag --gpus", "default"; owned */
#define spec_complain(check, ...)                                   \
    do {                                                            \
        sw_autofree char *where_ = spec_where(check);               \
        spec_problem((check)->problems, where_, __VA_ARGS__);       \
    } while (0)
void spec_remember_source(struct spec_check *check);

/* One value against its row: the normal form (a new reference), or NULL after complaining. A
 * null counts as "not given": NULL without complaint. */
json_t *spec_check_value(struct spec_check *check, const struct sw_option *row,
                         const json_t *value);
/* An object against a table; unknown keys are complained about. Never NULL. */
json_t *spec_check_fields(struct spec_check *check, const struct sw_option *rows,
                          const json_t *object);
#define SPEC_ANCHORS "x-"      /* top-level keys that begin so are the user's own: a home for YAML anchors */
/* A whole document in the shape of a job file: portable keys and platform blocks. */
json_t *spec_check_document(struct spec_check *check, const json_t *document);
/* Warn about values that look like credentials in "env" (and in profile options). */
void spec_warn_credentials(struct spec_check *check, const json_t *values);

const struct sw_spec_platform *spec_platform(const struct sw_spec_platform *platforms,
                                             size_t count, const char *name);
/* All words a user may have meant: keys, platform names, more. Owned array of borrowed texts. */
const char **spec_words(const struct sw_option *rows, const struct sw_option *more,
                        const struct sw_spec_platform *platforms, size_t platform_count,
                        size_t *count);

/* ---- spec_path.c ----------------------------------------------------------------------- */

/* The next key of a path, owned; *path moves on, and is NULL after the last. */
char *spec_path_step(const char **path);

/* ---- spec_text.c: a text from the command line, the environment or a table ------------- */

/* The value that a text stands for, before it is checked: "8" -> 8 for a whole number. Texts
 * that do not fit are returned as text, so that the check complains. Never NULL. */
json_t *spec_value_of_text(const struct sw_option *row, const char *text);
char *spec_text_of_number(const json_t *number);       /* shortest that reads back; owned */

/* A number as a value whose text is the one it was written with: itself, where it gives that again. */
json_t *spec_number_as_written(const json_t *number, const char *written);

/* ---- spec_variables.c: ${NAME} in texts of a job file ------------------------------------ */

struct spec_variables {
    sw_env_fn *env;                        /* may be NULL: none is set */
    void *env_context;
    void (*used)(void *context, const char *name, bool found);      /* may be NULL */
    void *used_context;
};
/* The text with its variables filled in, owned; NULL: `*why` (owned) says what is wrong with it. */
char *spec_expand(const struct spec_variables *from, const char *text, char **why);
/* The first $NAME without braces, owned; NULL: there is none. */
char *spec_bare_variable(const char *text);
/* A text of the job file, which is taken over: with its variables filled in, where its row says so. NULL
 * after complaining, or where `text` is. */
json_t *spec_fill_variables(struct spec_check *check, const struct sw_option *row, json_t *text);

/* ---- spec_rules.c: what a type alone cannot say ---------------------------------------- */

enum spec_rule_on { SPEC_ON_VALUE, SPEC_ON_EACH, SPEC_ON_KEYS };

struct spec_rule {
    const char *path;                      /* "retry.wait" */
    enum spec_rule_on on;
    bool (*holds)(const json_t *value);    /* for SPEC_ON_KEYS the key, as a text */
    const char *wanted;                    /* ends "... is not" */
    const char *schema;                    /* the same as JSON Schema */
};
/* The next rule for that path after `last` (NULL: the first); NULL when there is none. */
const struct spec_rule *spec_rule_next(const struct spec_rule *last, const char *path,
                                       enum spec_rule_on on);
bool spec_is_variable_name(const char *text);

/* ---- spec_config_paths.c: inputs and outputs that config or args name ----------------------- */

/* What holds between config, args and those that name places of them. */
void spec_check_config_paths(const struct spec_level *level, struct spec_problems *problems);

/* ---- spec_merge.c ---------------------------------------------------------------------- */

/* Add what `lower` has and `into` has not; objects are merged key by key. */
void spec_merge(struct spec_level *into, const struct spec_level *lower,
                const struct sw_spec_platform *platforms, size_t platform_count);

/* ---- spec_defaults.c: the two lowest levels, and what is still missing then ------------ */

void spec_add_environment(struct spec_level *into, struct spec_check *check,
                          const struct sw_spec_platform *platform, sw_env_fn *env,
                          void *env_context);
void spec_add_defaults(struct spec_level *into, struct spec_check *check,
                       const struct sw_spec_platform *platform);
/* The same for a table that belongs to no platform. */
void spec_add_row_environment(struct spec_level *into, struct spec_check *check, const struct sw_option *rows,
                              sw_env_fn *env, void *env_context);
void spec_add_row_defaults(struct spec_level *into, struct spec_check *check, const struct sw_option *rows);
/* Where the first value at or below `path` came from, so that a complaint can point at it. */
const char *spec_source_below(const json_t *sources, const char *path);
void spec_require(const struct spec_level *level, struct spec_check *check,
                  const struct sw_spec_platform *platform);

/* ---- spec_trust.c ----------------------------------------------------------------------- */

/* Note in check->untrusted what of a level, said by a file that is not trusted, would count: keys whose
 * row wants at least this much trust, unless `higher` has them. */
void spec_note_untrusted(struct spec_check *check, const struct spec_level *said,
                         enum sw_trust least, const struct sw_spec_platform *platform,
                         const json_t *higher);

/* ---- profiles.c -------------------------------------------------------------------------- */

/* One file's text as the project's profiles: for tests and fuzzing. */
struct sw_profiles *spec_profiles_parse(const char *text, size_t length, const char *name,
                                        struct sw_error *err);
/* The platform a section belongs to: its `platform` key, or the beginning of its name. NULL
 * when there is no such section or it names none; complaints go to check->problems. */
const struct sw_spec_platform *spec_profile_platform(const struct sw_profiles *profiles,
                                                     const char *section,
                                                     struct spec_check *check);
bool spec_profile_exists(const struct sw_profiles *profiles, const char *section);
/* Merge the section with all it inherits, and the shared sections, into the level. */
void spec_add_profile(struct spec_level *into, const struct sw_profiles *profiles,
                      const char *section, const struct sw_spec_platform *platform,
                      struct spec_check *check);

#endif
