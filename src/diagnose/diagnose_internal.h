/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose_internal.h - what the files of diagnose/ share: lines, patterns, rules, rulings.
 */
#ifndef SW_DIAGNOSE_DIAGNOSE_INTERNAL_H
#define SW_DIAGNOSE_DIAGNOSE_INTERNAL_H

#include "diagnose/diagnose.h"

#include "base/buf.h"
#include "core/reason.h"

enum {
    DIAG_TAIL_BYTES = 64 * 1024,    /* how much of the log's end is looked at */
    DIAG_LINE_BYTES = 4 * 1024,     /* what is longer is cut */
    DIAG_LINES = 2000,
    DIAG_EVIDENCE_BYTES = 300,
    DIAG_EVIDENCE_LINES = 3,
};

/* The runner judges with the same rules and prints no advice: its build leaves the texts out. */
#ifdef SW_WITHOUT_ADVICE
#define DIAG_ADVICE(text) ""
#else
#define DIAG_ADVICE(text) text
#endif

/* ---- log_lines.c: the tail of a log, cut into lines ---------------------------------- */

struct diag_line {
    const char *text;       /* without the labels that launchers and clocks put in front */
    size_t length;
    int rank;               /* from a "[rank3]:" label; -1: none */
    bool noise;             /* never a sign of failure, whatever words are in it */
    bool launcher;          /* srun's or torchrun's about the program, not the program's own */
    bool exception;         /* ends the last Python traceback, or one that it was caused by */
};

struct diag_log {
    struct diag_line *lines;    /* blank ones are left out; the newest is the last */
    size_t count;
    int root_rank;              /* the one that torchrun blames; -1: none */
};

/* Borrows `tail`. */
void diag_log_read(struct diag_log *log, const char *tail);
void diag_log_add(struct diag_log *log, const char *line);    /* after the newest; borrowed */
void diag_log_done(struct diag_log *log);
static inline void diag_log_auto(struct diag_log *log) { diag_log_done(log); }

bool diag_matches_any(const char *const *patterns, size_t count, const struct diag_line *line);

/* ---- tracebacks.c: where Python's exceptions are ---------------------------------------- */

/* Mark the last traceback's end, and the ends of those that Python says it came from. */
void diag_mark_exceptions(struct diag_log *log);

/* ---- pattern.c ------------------------------------------------------------------------ */

/* `*` is any run of bytes, `#` one or more digits, `^` in front and `$` at the end mean the
 * line's ends; the rest is itself. Time is bounded by length of pattern times line. */
bool diag_pattern_match(const char *pattern, const char *text, size_t length);

/* ---- log_rules.c: the table of patterns ------------------------------------------------ */

/* How near to the end of the log a line must stand to count as the reason for the end. */
enum diag_reach {
    DIAG_ANYWHERE,       /* hardware does not recover: whole tail */
    DIAG_NEAR_END,
    DIAG_AT_END,
    DIAG_EXCEPTION,      /* only where a Python traceback ends */
};

/* Whether the job asked for GPUs; what it did ask for may be unknown. */
enum diag_gpus {
    DIAG_GPUS_ANY,
    DIAG_GPUS_NONE,      /* only when it is known that it asked for none */
    DIAG_GPUS_SOME,      /* not when it is known that it asked for none */
};

enum { DIAG_PATTERNS = 12 };

struct diag_log_rule {
    struct sw_ruling ruling;
    enum diag_reach reach;
    const char *patterns[DIAG_PATTERNS];
    bool (*also)(const struct diag_line *line);    /* a further condition; NULL: none */
    enum diag_gpus gpus;
};

extern const struct diag_log_rule diag_log_rules[];
extern const size_t diag_log_rule_count;

bool diag_log_rule_fits(const struct diag_log_rule *rule, const struct diag_line *line);

/* How many lines from the end a rule looks at. */
size_t diag_reach_lines(enum diag_reach reach);

/* ---- facts.c --------------------------------------------------------------------------- */

bool diag_fact_set(const json_t *facts, const char *name);
/* What the runner saw; appends the fact to `lines`. NULL: nothing that tells a cause. */
const struct sw_ruling *diag_judge_facts(const struct sw_evidence *evidence, json_t *lines);

/* ---- xid.c ----------------------------------------------------------------------------- */

enum diag_xid { DIAG_XID_UNKNOWN, DIAG_XID_HARDWARE, DIAG_XID_PROGRAM };
enum diag_xid diag_xid_kind(int64_t code, const char **meaning);   /* meaning: static */
bool diag_line_is_hardware_xid(const struct diag_line *line);
bool diag_line_is_program_xid(const struct diag_line *line);

/* ---- rules.c: causes and symptoms a platform states -------------------------------------- */

const struct sw_ruling *diag_judge_reason(const struct sw_evidence *evidence);
/* The runner's own failure at its data, by the code of its error. NULL: there was none, or the code does not
 * tell. */
const struct sw_ruling *diag_judge_error(const struct sw_evidence *evidence);
const struct sw_ruling *diag_judge_symptom(const struct sw_evidence *evidence);
int diag_signal_of(const struct sw_evidence *evidence);     /* 128+N counts as N; 0: none */

/* ---- user_rules.c ------------------------------------------------------------------------ */

/* The first of the user's rules that fits a line; the lines go to `lines`. */
bool diag_judge_user(const json_t *user_rules, const struct diag_log *log,
                     struct sw_ruling *ruling, json_t *lines);

/* ---- retry.c ----------------------------------------------------------------------------- */

void diag_list_causes(struct sw_buf *out);             /* "memory, user, ..." */
const char *diag_class_of_cause(const char *cause);    /* NULL: no such cause */

/* ---- diagnose.c -------------------------------------------------------------------------- */

/* Nothing in it is the program's own. */
bool diag_log_is_silent(const struct diag_log *log);

/* Where the last `n` lines begin that a program wrote and that say something. */
size_t diag_first_of_last(const struct diag_log *log, size_t n);

/* Put a text in front of those in `lines`: one line, harmless, cut. */
void diag_show_line(json_t *lines, const char *text, size_t length);

#endif
