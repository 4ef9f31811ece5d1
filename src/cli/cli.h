/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - what the verbs of `slipway` share: the command table and the running program.
 *
 * To add a verb: copy its nearest neighbour, fill in a struct command, add one line to the
 * array in main.c. Help, man page and completion follow from the tables. A verb reaches jobs
 * through slipway.h only; it returns -1 with `err` filled in, and main.c does the talking.
 */
#ifndef SW_CLI_CLI_H
#define SW_CLI_CLI_H

#include "base/error.h"
#include "base/json.h"
#include "cli/cli_flags.h"
#include "cli/cli_out.h"
#include "cli/cli_screen.h"

enum cli_format { CLI_TABLE, CLI_JSON, CLI_YAML, CLI_NAME };    /* the order of -o's words */

/* The running program: what the flags accepted everywhere said, and the session. */
struct cli {
    const char *state_dir;
    const char *profile;
    bool quiet, no_color, help, version;
    int color;                       /* enum cli_color, of the user's defaults */
    char *columns;                   /* of ps, by name, of the user's defaults; NULL: as the jobs need */
    int format;                      /* enum cli_format, from -o */
    struct cli_screen screen;
    struct cli_status_lines *live;           /* lines drawn in place: messages go above them; or NULL */
    bool sending;                    /* a job is on its way: show what travels before it */
    bool left;                       /* by a signal, and said so: cli_leave() */
    bool read_only;                  /* the store is neither made nor changed */
    struct sw_session *session;      /* NULL until cli_session() */
    int exit_status;                 /* what a verb that succeeded ends with; the job's own code */
};

#define CLI_MANY (-1)

struct command {
    const char *name;
    const char *alias;               /* another word for it, or NULL */
    const char *args;                /* how its arguments are written in the synopsis */
    const char *summary;             /* one line, lower case, imperative */
    const char *description;         /* paragraphs, without line breaks inside */
    const char *example;             /* real commands, one per line */
    const struct cli_flag *flags;    /* of this verb, into its options; NULL: none */
    const struct cli_flag *shared[2];  /* tables used by several verbs, into struct cli */
    size_t options_size;             /* zeroed memory for `flags` */
    int min_args, max_args;          /* CLI_MANY: no upper bound */
    bool without_defaults;           /* works also when config.toml has a fault */
    bool last_job;                   /* without an argument or a label it means the newest job */
    bool raw_words;                  /* all that follows are arguments, flags included */
    bool takes_command;              /* what follows `--` is a command, not more arguments */
    int (*run)(struct cli *cli, const struct cli_args *args, struct sw_error *err);
};

extern const struct command *const cli_commands[];      /* NULL-ended; in main.c */
struct cli_group {                   /* a title, or one of the commands below it */
    const char *title;
    const struct command *command;
};
extern const struct cli_group cli_groups[];             /* all of them; ends with zeros; in main.c */
extern const struct cli_flag cli_global_flags[];        /* accepted by every verb; in main.c */
const struct command *cli_command_find(const char *name);

/* -o, for verbs about jobs and for verbs about other documents (cli_document.c). */
extern const struct cli_flag cli_output_jobs[];         /* table|json|yaml|name */
extern const struct cli_flag cli_output_document[];     /* table|json|yaml */

/* Open the store on first use. */
struct sw_session *cli_session(struct cli *cli, struct sw_error *err);

/* The user's defaults into `cli` and the time zone (cli_defaults.c). */
int cli_defaults_read(struct cli *cli, struct sw_error *err);

/* ---- help (cli_help.c) ------------------------------------------------------------------ */

void cli_help_overview(struct sw_buf *out);
int cli_help_job(const char *key, struct sw_buf *out, struct sw_error *err);   /* NULL: all keys */
void cli_help_agents(struct sw_buf *out);
void cli_help_command(const struct command *command, struct sw_buf *out);
int cli_help_topic(const char *name, struct sw_buf *out, struct sw_error *err);
json_t *cli_help_json(void);

/* ---- documents (cli_document.c) --------------------------------------------------------- */

/* An answer of the API, parsed; takes the text. NULL text gives NULL: the call failed. */
json_t *cli_document(char *text, struct sw_error *err);
/* A document on stdout as -o asked: JSON or YAML. */
int cli_document_print(const struct cli *cli, const json_t *document, struct sw_error *err);
/* A part of an answer as an answer of its own: the same with its version in front. */
json_t *cli_versioned(const json_t *part);
/* As one line of JSON Lines; each line has its version. */
void cli_document_line(const json_t *part);

/* A time of a document, in milliseconds since 1970; NULL gives 0. (cli_time.c) */
int64_t cli_time_ms(const char *text);

/* ---- jobs (cli_jobs.c) ------------------------------------------------------------------ */

/* -l of the verbs that choose jobs; cli_select() reads it. */
#define CLI_LABEL_FLAG                                                                     \
    { "label", 'l', "KEY[=VALUE]", "jobs with this label; repeated: with all of them",     \
      .many = true }
/* Selectors and labels to ids, an array of texts. Of words for many jobs (`failed`, a label) it may
 * be empty: that was said, and there is nothing to do. */
json_t *cli_select(struct cli *cli, const struct cli_args *args, struct sw_error *err);
/* "no job matches 'failed' -l team=x; 40 in all" */
void cli_say_no_match(const struct cli *cli, const struct cli_args *args, int64_t all);
/* The same for verbs about one job: owned id. */
char *cli_select_one(struct cli *cli, const char *selector, struct sw_error *err);
/* Do these arguments, which chose `ids`, name one job, rather than a group or all in a state? */
bool cli_names_one(const struct cli_args *args, const json_t *ids);
/* Is each of the jobs named for itself? Then no more are meant than the user wrote down. */
bool cli_names_each(const struct cli_args *args, const json_t *ids);
/* The ids of the jobs that the store has in this state ("active", "Complete", ...), as a map. */
json_t *cli_ids_in_state(struct cli *cli, const char *state, struct sw_error *err);

/* The document of sw_status_many for these ids. */
json_t *cli_status(struct cli *cli, const json_t *ids, enum sw_look look, struct sw_error *err);
/* Say which platforms did not answer. */
void cli_say_unreachable(const struct cli *cli, const json_t *document);

/* Answers about each of `ids` as one document: of one named job the answer itself, else
 * {"version","jobs"}. */
json_t *cli_one_or_many(const struct cli_args *args, const json_t *ids, const json_t *answers);

enum sw_state cli_state_called(const char *name);
enum sw_state cli_job_state(const json_t *job);
const char *cli_state_style(enum sw_state state);           /* an SGR parameter, or NULL */
/* "ID  State", where a card begins. */
void cli_job_head(struct sw_buf *out, bool color, const char *id, enum sw_state state);
/* why.c: the answer of sw_why() as a card, folded to `width` columns (0: not folded). */
void cli_why_card(struct sw_buf *out, const json_t *why, size_t width, bool color);
/* status.c: the attempts of a job as a table. */
void cli_attempts_table(struct sw_buf *out, const json_t *job, size_t width, bool color);
void cli_job_age(const json_t *job, const char *key, char out[24]);   /* "3m", or "-" */
void cli_duration(int64_t ms, char out[32]);                /* "2.1s", "1h30m"; below 0: "" */
/* Its message, and how long it is until it starts where that is known: for what is drawn, not for
 * news, as it changes every second. Owned. */
char *cli_job_message(const json_t *job);
/* "your program": the cause of its failure as people say it; JSON keeps the word. NULL: none is known. */
const char *cli_cause(const json_t *job);
/* "Complete, exit code 0, 5s": how it went, in one line. */
char *cli_job_outcome(const json_t *job);
/* cli_outcomes.c: the same for one job of several. */
char *cli_outcome_text(const struct sw_outcome *outcome);
/* The ids as the library wants them; the texts stay the document's. free() the list. */
const char **cli_list(const json_t *ids);
/* A sw_outcome_fn over this: prints a line for each that went well, an error for each that did not. */
struct cli_outcomes {
    struct cli *cli;
    const char *verb;                  /* "cannot VERB 'ID'" */
    void (*tell)(struct cli *cli, const struct sw_outcome *outcome);     /* NULL: without a line */
    json_t *rows;                      /* each as -o json prints it; NULL: none yet */
    bool failed;
    struct sw_error first;
};
void cli_outcome(void *outcomes, const struct sw_outcome *outcome);
/* The same for one job after another: `act` on each. */
typedef int cli_act_fn(struct sw_session *session, const char *id, struct sw_error *err);
void cli_outcome_each(struct cli_outcomes *all, const json_t *ids, cli_act_fn *act);
/* Prints the document, where -o asks for one, and what cli_outcomes_done() does. */
int cli_outcomes_end(struct cli_outcomes *all, struct sw_error *err);
/* 0, or -1 and the first failure; nothing of `all` is left. */
int cli_outcomes_done(struct cli_outcomes *all, struct sw_error *err);
/* {"version", "ok", "jobs"}; takes the rows. */
int cli_rows_print(const struct cli *cli, bool ok, json_t *rows, struct sw_error *err);

/* A signal ends the verb: say that the job continues (unless it is over; NULL: the jobs do), and
 * return -1 with SW_E_INTERRUPTED. */
int cli_leave(struct cli *cli, const char *id, struct sw_error *err);

/* Ask before something that cannot be undone; without a terminal the answer is yes. */
bool cli_confirm(const struct cli *cli, const char *question);
/* The same where silence is no consent: without a terminal the answer is no. */
bool cli_agree(const struct cli *cli, const char *question);
bool cli_can_ask(const struct cli *cli);

/* Do something to each job, go on after a failure, report the first one at the end. */
typedef int cli_each_fn(struct cli *cli, const char *id, const void *context,
                        struct sw_error *err);
int cli_each(struct cli *cli, const json_t *ids, cli_each_fn *fn, const void *context,
             struct sw_error *err);

/* ---- the job described by flags (cli_request.c) ------------------------------------------ */

extern const struct cli_flag cli_job_flags[];
/* File, flags and command to a request. `find`: the file is job.yaml of the current folder when nothing
 * else is said. */
/* by its flags */
int cli_request_change(struct sw_request *request, const struct cli_args *args, struct sw_error *err);
struct sw_request *cli_request(const struct cli_args *args, bool find, struct sw_error *err);
/* The same where neither file nor command need be there. */
struct sw_request *cli_request_any(const struct cli_args *args, struct sw_error *err);
SW_DEFINE_AUTO(sw_request, struct sw_request *, sw_request_free)

/* trust.c: the call failed with `why`. True: the user was asked and trusts the files that stood in its
 * way now, so call again. */
bool cli_trust_ask(struct cli *cli, const struct sw_request *request, const struct sw_error *why);

int cli_plan_show(struct cli *cli, const struct sw_request *request, struct sw_error *err);

/* The program `slipway`; main() is in src/program. */
int cli_main(int argc, char **argv);

#endif
