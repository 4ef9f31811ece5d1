/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watcher.h - where the watcher of a state folder is, and the five words that every version understands.
 *
 * A client connects to the socket, sends one line and reads the answer. The words never change:
 *
 *     hello       one line of JSON: version, pid, why it runs, what it watches
 *     wake        look now; "ok"
 *     secret ID   the values of a job's secrets follow until the end of the stream; "ok"
 *     yield       end after the current look and hand over the secrets: "ok", then all of them
 *     stop        end after the current look; "ok" when it is over
 *
 * Whatever else is said on the socket is a stream between equal versions and begins with another word.
 */
#ifndef SW_WATCHER_WATCHER_H
#define SW_WATCHER_WATCHER_H

#include "base/json.h"
#include "base/proc.h"
#include "base/secret.h"

/* ---- place.c: one watcher for each state folder and host --------------------------------------- */

struct sw_watcher_place {
    char *socket, *lock;     /* in the user's runtime folder: short, and of this host alone */
    char *state_dir;
    uint64_t device, inode;  /* of the state folder: another folder of that name is another store */
};

int sw_watcher_place(const char *state_dir, struct sw_watcher_place *out, struct sw_error *err);
void sw_watcher_place_done(struct sw_watcher_place *place);
static inline void sw_watcher_place_auto(struct sw_watcher_place *place) { sw_watcher_place_done(place); }
/* Is the state folder still the one that it was? */
bool sw_watcher_place_holds(const struct sw_watcher_place *place);
/* The lock of the one watcher: a descriptor; -1 with SW_E_CONFLICT when another process has it. */
int sw_watcher_lock(const struct sw_watcher_place *place, struct sw_error *err);
bool sw_watcher_is_locked(const struct sw_watcher_place *place);

/* ---- launch.c ------------------------------------------------------------------------------------- */

enum sw_watcher_kind { SW_WATCHER_DETACHED, SW_WATCHER_UNIT };
/* Start the process; that it listens, its first answer tells. `environment` is all that it gets. */
int sw_watcher_launch(const struct sw_watcher_place *place, char *const environment[],
                      enum sw_watcher_kind *kind, struct sw_error *err);
/* Does the user's service manager stay when the last session is over? */
bool sw_watcher_lingers(void);

/* ---- crashes.c: three within ten minutes, and it stays down --------------------------------------- */

/* With the lock: this process watches from now on. SW_E_REFUSED: it shall stay down. */
int sw_watcher_begin(const struct sw_watcher_place *place, struct sw_error *err);
void sw_watcher_finish(const struct sw_watcher_place *place);        /* it ends as it should */
void sw_watcher_note_crashes(const struct sw_watcher_place *place);  /* what kills us is remembered */
int sw_watcher_may_start(const struct sw_watcher_place *place, struct sw_error *err);
void sw_watcher_failed(const struct sw_watcher_place *place);        /* one was started and never came up */
void sw_watcher_forgive(const struct sw_watcher_place *place);

/* ---- replace.c: the program was updated ------------------------------------------------------------ */

struct sw_program {
    char *path;                      /* NULL: not known */
    uint64_t device, inode;
};
void sw_program_note(struct sw_program *program);                    /* the file of this process */
void sw_program_done(struct sw_program *program);
bool sw_program_replaced(const struct sw_program *program);          /* another one has its name */
/* Become that one, with the lock and the secrets; returns only when that fails. */
int sw_program_become(const struct sw_program *program, const struct sw_watcher_place *place, int lock,
                      const struct sw_secrets *secrets, struct sw_error *err);
/* What the program before left in this process: its lock, and *secrets (owned); -1: there was none. */
int sw_watcher_inherit(struct sw_secrets **secrets);

/* ---- log.c ---------------------------------------------------------------------------------------- */

char *sw_watcher_log_path(const struct sw_watcher_place *place);     /* owned */
/* One line, without these secrets; what cannot be written is lost. */
void sw_watcher_log(const struct sw_watcher_place *place, const struct sw_secrets *secrets, const char *line);

/* ---- talk.c: the client's side ------------------------------------------------------------------- */

int watcher_dial(const struct sw_watcher_place *place, struct sw_error *err);    /* -1, no error: none runs */
bool sw_socket_is_ours(int fd);      /* the process at its other end is the same user's */
/* {"version","pid",...}; NULL without an error: no watcher runs. */
json_t *sw_watcher_hello(const struct sw_watcher_place *place, struct sw_error *err);
/* 1: done; 0: no watcher runs; -1. */
/* A stream between equal versions: a first line that begins with none of the five words, and a document; the
 * answer. NULL: no watcher runs, or it does not serve this. */
json_t *sw_watcher_ask(const struct sw_watcher_place *place, const char *line, const json_t *request,
                       int64_t patience_ms, struct sw_error *err);
int sw_watcher_wake(const struct sw_watcher_place *place, struct sw_error *err);
int sw_watcher_stop(const struct sw_watcher_place *place, struct sw_error *err);
int sw_watcher_give(const struct sw_watcher_place *place, const char *id, const struct sw_secrets *secrets,
                    struct sw_error *err);

/* ---- lend.c: channels of a process, through the socket ------------------------------------------- */

void sw_watcher_lend(int fd, const int channels[SW_CHANNELS], const struct sw_buf *facts);
/* What came for this line; false: nothing did. */
bool sw_watcher_borrow(const struct sw_watcher_place *place, const char *line, int64_t patience_ms,
                       int channels[SW_CHANNELS], struct sw_buf *facts);

/* ---- listen.c: the watcher's side ---------------------------------------------------------------- */

struct sw_watcher_service {          /* called from a thread of its own, one call at a time */
    json_t *(*hello)(void *context);
    void (*wake)(void *context);
    void (*secret)(void *context, const char *id, struct sw_secrets *secrets);      /* takes them over */
    void (*stop)(void *context);     /* end soon; sw_watcher_close() answers */
    void (*stream)(void *context, const char *line, int fd);         /* any other word; takes it over */
    void *context;
};

struct sw_watcher_door;
/* The caller holds the lock, so a socket that is there is a dead watcher's. */
struct sw_watcher_door *sw_watcher_listen(const struct sw_watcher_place *place,
                                          const struct sw_watcher_service *service, struct sw_error *err);
/* No more words are taken. Those that asked for the end are answered; `secrets` go to one that said yield. */
void sw_watcher_close(struct sw_watcher_door *door, const struct sw_secrets *secrets);

#endif
