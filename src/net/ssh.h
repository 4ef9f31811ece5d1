/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh.h - commands on another machine through the OpenSSH client. No other folder starts ssh.
 *
 * One shared master connection per login host (also shared by other processes of ours) and one
 * remote /bin/sh held open: a call sends a script and its standard input down that shell and
 * gets output, error output and exit code back, in one round trip. Nothing but constants of
 * ours is ever in an argument list, on either side. docs/internals/ssh.md tells the rest.
 *
 *     struct sw_ssh_call call = { .script = "cat > job.sbatch && sbatch --parsable job.sbatch",
 *                                 .input = pieces, .input_count = 1 };
 *     if (sw_ssh_run(ssh, &call, &reply, err) < 0)
 *         return reply.fate == SW_SSH_MAYBE ? ... : ...;
 *
 * With several hosts the next one is tried only when the script certainly did not start on the
 * one before. One thread at a time uses a struct sw_ssh.
 */
#ifndef SW_NET_SSH_H
#define SW_NET_SSH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/proc.h"

struct sw_ssh_options {          /* all texts are borrowed for the call of sw_ssh_open() */
    const char *state_dir;       /* control sockets live in STATE_DIR/ssh (0700); NULL: in /tmp */
    const char *hosts;           /* "a,b": tried in this order; needed unless `local` */
    const char *user;            /* NULL: as ssh decides */
    int port;                    /* 0: as ssh decides */
    const char *identity;        /* private key file; NULL: agent and ssh's own choice */
    const char *config_file;     /* NULL: the user's and the system's ssh configuration */
    const char *known_hosts;     /* NULL: as ssh decides */
    bool accept_new;             /* learn the key of a host never seen; a changed one never passes */
    bool local;                  /* no ssh at all: a /bin/sh on this machine */
    int64_t connect_ms;          /* until logged in, per host; 0: 30 s */
    int64_t persist_ms;          /* how long an idle master stays; 0: 600 s */
    sw_borrow_fn *borrow;        /* asked for a shell first; NULL: every shell is our own */
    void *borrow_context;
};

struct sw_ssh;

/* Makes no connection yet. SW_E_SPEC (no host, strange name), SW_E_CREDENTIAL (a key that is
 * missing or that others may read). */
struct sw_ssh *sw_ssh_open(const struct sw_ssh_options *options, struct sw_error *err);
void sw_ssh_close(struct sw_ssh *ssh);         /* the master stays for the next process */
SW_DEFINE_AUTO(sw_ssh, struct sw_ssh *, sw_ssh_close)

/* Connect now to this very host, which is then the one in use; calls connect by themselves.
 * SW_E_UNREACHABLE: it does not answer; SW_E_CREDENTIAL: it wants another key, a password, a second
 * factor; SW_E_REFUSED: its host key is unknown or changed. */
int sw_ssh_connect_to(struct sw_ssh *ssh, size_t index, struct sw_error *err);
/* End the shared master connections, also under the feet of other processes. */
void sw_ssh_disconnect(struct sw_ssh *ssh);

size_t sw_ssh_host_count(const struct sw_ssh *ssh);          /* 1 when local */
const char *sw_ssh_host(const struct sw_ssh *ssh);           /* in use, or next to be tried */
const char *sw_ssh_host_at(const struct sw_ssh *ssh, size_t index);   /* NULL: past the end */
/* Prefer this host from now on (a job's own submit host); false: not one of ours. */
bool sw_ssh_prefer(struct sw_ssh *ssh, const char *host);

/* ---- calls ---------------------------------------------------------------------------------- */

/* A stretch of the script's standard input: memory, or a range of a file (when bytes is NULL). */
struct sw_ssh_piece {
    const void *bytes;           /* borrowed for the call */
    size_t length;
    int fd;                      /* read with pread; borrowed */
    int64_t offset;
};

/* Gets the output piece by piece. Non-zero ends the call (SW_E_INTERRUPTED). */
typedef int sw_ssh_sink(void *context, const char *bytes, size_t length);

struct sw_ssh_call {
    const char *script;          /* for /bin/sh, run in a subshell of its own; no NUL */
    const struct sw_ssh_piece *input;    /* its standard input; none: /dev/null */
    size_t input_count;
    sw_ssh_sink *sink;           /* NULL: the output goes to reply.output */
    void *sink_context;
    size_t output_limit;         /* for reply.output; 0: 4 MiB; more is SW_E_REFUSED */
    int64_t timeout_ms;          /* connecting included; 0: 60 s */
    bool repeatable;             /* harmless when it runs twice: tried again, also elsewhere */
};

enum sw_ssh_fate {
    SW_SSH_NOT_STARTED,          /* certainly: no line of the script ran */
    SW_SSH_MAYBE,                /* it was sent, and no end was seen */
    SW_SSH_DONE,                 /* it ran to its end: the reply is whole */
};

struct sw_ssh_reply {
    enum sw_ssh_fate fate;
    int exit_code;               /* of the script, when SW_SSH_DONE; 128 + signal as sh says it */
    struct sw_buf output;        /* may hold any bytes */
    struct sw_buf errors;        /* its standard error: the first 32 KiB */
};
void sw_ssh_reply_done(struct sw_ssh_reply *reply);
static inline void sw_ssh_reply_auto(struct sw_ssh_reply *reply) { sw_ssh_reply_done(reply); }

/* Run one script. 0: it ran to its end, whatever exit_code says. -1 with SW_E_UNREACHABLE (see
 * reply->fate), _CREDENTIAL, _REFUSED, _INTERRUPTED, _USAGE, _IO (a piece cannot be read).
 * `reply` is filled in either way, and starts as { 0 }.
 *
 * The script is sent whole or does not run. Its input may be cut short when the connection
 * breaks: a script that acts on it must count what it got before it acts. */
int sw_ssh_run(struct sw_ssh *ssh, const struct sw_ssh_call *call, struct sw_ssh_reply *reply,
               struct sw_error *err);

/* ---- a stream ------------------------------------------------------------------------------- */

/* Start a remote command with its input and output on this socket, which is closed here in any
 * case. The command is in argument lists: constants only, nothing secret. */
struct sw_ssh_stream;
struct sw_ssh_stream *sw_ssh_stream_join(struct sw_ssh *ssh, const char *command, int fd,
                                         struct sw_error *err);
/* This socket is connected with a port of the loopback address of the host; no program there takes part. */
struct sw_ssh_stream *sw_ssh_stream_port(struct sw_ssh *ssh, int port, int fd, struct sw_error *err);
/* A command with a new socket, whose other end is *fd; the caller closes it. */
struct sw_ssh_stream *sw_ssh_stream_open(struct sw_ssh *ssh, const char *command, int *fd,
                                         struct sw_error *err);
bool sw_ssh_stream_over(const struct sw_ssh_stream *stream);   /* the command ended; never waits */
/* Why it ended, in our words, with what the command said on standard error: SW_E_UNREACHABLE, or
 * SW_E_REFUSED when there is no such program. Always -1. */
int sw_ssh_stream_why(struct sw_ssh_stream *stream, struct sw_error *err);
void sw_ssh_stream_close(struct sw_ssh_stream *stream);        /* ends the command */
SW_DEFINE_AUTO(sw_ssh_stream, struct sw_ssh_stream *, sw_ssh_stream_close)

/* ---- a terminal ------------------------------------------------------------------------------ */

/* Start a remote command on the caller's terminal, which `fds` are: ssh makes it raw, passes the size of its
 * window on and restores it. It is in the caller's process group and ends with us. The command is in argument
 * lists: nothing secret. Its pid, to be waited for, whose exit code is the command's. */
pid_t sw_ssh_terminal(struct sw_ssh *ssh, const char *command, const int fds[3], struct sw_error *err);

/* ---- lending: of a process that stays to those that begin ------------------------------------ */

struct sw_ssh *sw_ssh_twin(const struct sw_ssh *ssh);        /* another one that leads there; owned */
/* Equal where the hosts that come next are the same and reached in the same way; owned; NULL: not lent. */
char *sw_ssh_key(const struct sw_ssh *ssh);
int sw_ssh_ready(struct sw_ssh *ssh, struct sw_error *err);  /* have a shell now */
bool sw_ssh_lend(struct sw_ssh *ssh, int fds[SW_CHANNELS]);      /* that one; false: there is none */
/* Ask for one, unless there is a shell or it was asked for: what came with it, borrowed; NULL: none did. */
const char *sw_ssh_borrow(struct sw_ssh *ssh);

/* ---- counting ------------------------------------------------------------------------------- */

struct sw_ssh_counters {
    int64_t processes;           /* ssh (or sh) programs started */
    int64_t connections;         /* masters made: logins */
    int64_t round_trips;         /* questions that waited for an answer, hello included */
    int64_t sent_bytes, received_bytes;
};
/* With $SLIPWAY_SSH_COUNTERS=FILE closing adds them to that file as one line of JSON. */
const struct sw_ssh_counters *sw_ssh_counters(const struct sw_ssh *ssh);

/* ---- pure ----------------------------------------------------------------------------------- */

struct sw_ssh_target {           /* whom a message is about */
    const char *host, *user;     /* user may be NULL */
    int port;                    /* 0: the usual */
    const char *control_path;    /* NULL: none */
    const char *known_hosts;     /* NULL: the user's own */
};
/* What ssh's own words mean: code, message and hint into err. Always -1. */
int sw_ssh_explain(const struct sw_ssh_target *target, const char *said, struct sw_error *err);

#endif
