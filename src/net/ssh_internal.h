/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_internal.h - what the files about ssh share.
 */
#ifndef SW_NET_SSH_INTERNAL_H
#define SW_NET_SSH_INTERNAL_H

#include "net/ssh.h"

/* ---- ssh_process.c: one child of ours and its three channels ---------------------------------- */

struct ssh_process {
    pid_t pid;                   /* 0: none */
    int in, out, err;            /* our ends, non-blocking; -1: closed */
};
#define SSH_PROCESS_NONE { 0, -1, -1, -1 }

enum ssh_wiring {
    SSH_SILENT,                  /* in and out are /dev/null; we read its standard error */
    SSH_PIPES,                   /* a channel for each of the three */
    SSH_GIVEN,                   /* in and out are the socket in process->in, closed here */
};

int ssh_process_start(struct ssh_process *process, char *const argv[], enum ssh_wiring wiring,
                      struct sw_error *err);
/* Close our ends and end it. */
void ssh_process_end(struct ssh_process *process);
/* Read its standard error until it ends: exit code (128 + signal), -1: the deadline passed. */
int ssh_process_wait(struct ssh_process *process, struct sw_buf *said, int64_t until_ms);
/* Add what is there to read, without waiting; at most `limit` bytes are kept. False: its end. */
bool ssh_read_some(int fd, struct sw_buf *to, size_t limit);

/* ---- ssh_master.c: the shared connection ------------------------------------------------------ */

struct ssh_host {
    char *name;
    char *control_path;
};

struct sw_ssh {
    struct ssh_host *hosts;
    size_t host_count, current;
    char *user, *identity, *config_file, *known_hosts;
    int port;
    bool accept_new, local;
    int64_t connect_ms, persist_s;

    int watch;                   /* hangs up when the current host's master ends; -1: none */
    struct ssh_process shell;    /* the held shell, of the current host */
    struct sw_buf shell_said;    /* what came on its standard error outside of calls */
    struct sw_buf shell_knows;   /* the last long script that was sent to it; empty: none */
    struct sw_ssh_counters counters;

    sw_borrow_fn *borrow;    /* NULL: none, or it was asked already */
    void *borrow_context;
    struct sw_buf facts;         /* what came with a borrowed shell */
    pid_t *lent;                 /* of shells that others use */
    size_t lent_count;
};

int ssh_control_paths(struct sw_ssh *ssh, const char *state_dir, struct sw_error *err);
/* A live master for the current host, made when there is none. One process at a time makes it. */
int ssh_master_need(struct sw_ssh *ssh, int64_t until_ms, struct sw_error *err);
void ssh_master_end(struct sw_ssh *ssh, size_t host);
int ssh_explain_current(const struct sw_ssh *ssh, const char *said, struct sw_error *err);

/* The argument list of ssh for the current host. */
enum ssh_use {
    SSH_MASTER,                  /* log in and stay; `text` NULL */
    SSH_COMMAND,                 /* run `text` */
    SSH_TERMINAL,                /* the same on a terminal */
    SSH_PORT,                    /* be connected with `text`, HOST:PORT as that host sees it */
};
#define SSH_ARGUMENTS 64
struct ssh_arguments {
    char *list[SSH_ARGUMENTS];   /* owned */
    size_t count;
};
void ssh_arguments_make(struct ssh_arguments *arguments, const struct sw_ssh *ssh,
                        const char *control_path, enum ssh_use use, const char *text);
void ssh_arguments_add(struct ssh_arguments *arguments, const char *text);
void ssh_arguments_done(struct ssh_arguments *arguments);
static inline void ssh_arguments_auto(struct ssh_arguments *a) { ssh_arguments_done(a); }

/* ---- ssh.c ---------------------------------------------------------------------------------------- */

int ssh_some_master(struct sw_ssh *ssh, struct sw_error *err);   /* at the first host that answers */

/* ---- ssh_shell.c: the held shell -------------------------------------------------------------- */

int ssh_shell_need(struct sw_ssh *ssh, int64_t until_ms, struct sw_error *err);
bool ssh_shell_lives(const struct sw_ssh *ssh);
void ssh_shell_end(struct sw_ssh *ssh);

/* ---- ssh_lend.c: a shell that a watcher lends -------------------------------------------------- */

bool ssh_shell_borrow(struct sw_ssh *ssh);       /* there was one, and it is ours now */

/* ---- ssh_call.c: one script down the held shell ----------------------------------------------- */

int ssh_call_run(struct sw_ssh *ssh, const struct sw_ssh_call *call, int64_t until_ms,
                 struct sw_ssh_reply *reply, struct sw_error *err);
void ssh_marker(char out[33]);   /* 128 random bits in hex */

#endif
