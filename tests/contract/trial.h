/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.h - one case at a platform: its own folder, session, canary; and the sentences the
 * cases are written in.
 *
 * Every trial ends with three checks that no case has to think of: the canary was seen nowhere,
 * no process of a job is left, no file is left.
 */
#ifndef SW_TESTS_CONTRACT_STAY_H
#define SW_TESTS_CONTRACT_STAY_H

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <cmocka.h>

#include "fixture.h"
#include "canary.h"
#include "processes.h"
#include "slipway.h"
#include "reaper.h"

enum { PATIENCE_MS = 180000, LOG_LINE = 64, WATCH_TURNS = 25 };

struct trial {
    const struct fixture *fixture;
    char dir[64];               /* all of the case; below it: state/ home/ project/ */
    char state_dir[80];
    struct reaper reaper;
    struct sw_session *session;
    struct canary *canary;
    char id[SW_ID_SIZE];        /* the job launched last */
};

extern const struct fixture *the_fixture;          /* which platform this run is about */

int trial_begin(void **state);
int trial_end(void **state);

struct sw_session *open_session(const struct trial *here);
/* A new session, whose rehearsal API fails like that (NULL: as each job says). */
void connect_with(struct trial *here, const char *api);

/* A request that names platform, a secret and the wanted; not sent yet. */
struct sw_request *request(struct trial *here, enum behaviour wanted, int64_t number);
/* The same with shell text; only where commands really run. */
struct sw_request *request_shell(struct trial *here, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A job that notes in the file `mark` each TERM it hears, saves for 0.8 of its grace, and notes that; only
 * where commands really run. */
struct sw_request *request_that_saves(struct trial *here, const char *mark);
void expect_saved_once(const char *mark);
void set(struct sw_request *request, const char *key, const char *value);
/* The platform, and what each of its requests needs besides. */
void set_common(const struct trial *here, struct sw_request *request);
void set_id(struct sw_request *request, const char *id);
/* Plan it (the plan is searched for the canary), send it, release it. Returns here->id. */
const char *send_request(struct trial *here, struct sw_request *request);
const char *launch(struct trial *here, enum behaviour wanted, int64_t number);
const char *launch_shell(struct trial *here, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

json_t *status(struct trial *here, const char *id);           /* owned, refreshed */
enum sw_state state_of(struct trial *here, const char *id);
const char *text_of(const json_t *object, const char *key);  /* never NULL */
int64_t number_of(const json_t *object, const char *key);    /* -1: null or absent */

void wait_until(struct trial *here, const char *id, enum sw_state state);
/* The state it is in then; another one than `wanted`: it is over, or patience is. */
enum sw_state wait_until_or_over(struct trial *here, const char *id, enum sw_state wanted);
int wait_until_over(struct trial *here, const char *id);      /* the exit status */
void expect_state(struct trial *here, const char *id, enum sw_state state);
void expect_exit_code(struct trial *here, const char *id, int code);
void expect_reason(struct trial *here, const char *id, const char *reason);

/* The log of the first rank as one text; tail_lines -1: all of it. */
struct log {
    char *bytes;
    size_t length;
};
struct log read_log(struct trial *here, const char *id, int64_t tail_lines, bool follow);
void log_done(struct log *log);
/* What line `index` (from 1) of PRINTS looks like: 64 bytes with its newline. */
void log_line(int64_t index, char line[LOG_LINE + 1]);
void expect_lines(const struct log *log, int64_t first, int64_t last);

/* Run fn in `count` processes that begin at the same moment; all must return 0. Each has the trial
 * without its session: a new process opens its own. */
int crowd(void);                        /* how many: 16, or SLIPWAY_CONTRACT_CROWD */
void in_processes(struct trial *here, int count, int (*fn)(struct trial *here, int number));

char *path_in(const struct trial *here, const char *name);    /* owned, below here->dir */
void write_text(const char *path, const char *text);
char *read_text(const char *path);                           /* owned; NULL: no such file */
int lines_in(const char *path);                              /* 0: no such file */
bool wait_for_lines(const char *path, int count);            /* with patience */
/* The same, and a watcher does what is due: some jobs get their secrets only then. */
bool watch_for_lines(struct trial *here, const char *path, int count);
/* Of the job: fails with the command line of the first that is there. */
void expect_none_left(const struct trial *here, const char *id);
long peak_memory_kib(void);                                  /* of this process, so far */

void expect_ok(int result, const struct sw_error *err, const char *what);

#endif
