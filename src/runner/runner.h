/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner.h - the program inside the job's container: prepare, run, collect, report.
 *
 *     scratch.c       the folder we work in and where results go, from the environment   (pure)
 *     counted_copy.c  one copy, counted
 *     fetch.c         one input to its path; cache.c: through the shared cache
 *     config_paths.c  inputs and outputs named by paths of the config or the arguments
 *     resume.c        the checkpoint a new attempt goes on from
 *     prepare.c       all of that in order, once for all ranks that share the folder
 *     probe.c         can the destinations of the outputs be written to?
 *     run.c           the command: its signals, its end
 *     listener.c      did a signal come to us alone?
 *     terminal.c      the terminal, handed to the command
 *     under_ray.c     a driver of a Ray job: no container, a log of text, sealed secrets
 *     plain_text.c    any bytes as UTF-8 text with plain line ends             (pure)
 *     gpu.c           the GPU memory it took
 *     sync.c          outputs to their destinations, while it runs and at the end
 *     phases.c        all phases, each a process of its own
 *     verdict.c       what a failure was, for a platform's own script
 *     ray.h           the ranks as a Ray cluster, where the job asks for it
 *     relay.c         a runner elsewhere, seen in this container
 *
 * A phase returns 0, or -1 with a sentence in `err` that main.c prints (it is in the job's log) and
 * puts into the report.
 */
#ifndef SW_RUNNER_RUNNER_H
#define SW_RUNNER_RUNNER_H

#include <sys/types.h>

#include "base/error.h"
#include "base/secret.h"
#include "core/gpu.h"
#include "core/payload.h"
#include "storage/transfer.h"

enum {
    RUNNER_USAGE = 64,            /* our own exit codes, as sysexits names them */
    RUNNER_IO = 74,
    RUNNER_TIME_UP = 124,         /* as timeout(1) says */
    RUNNER_NOT_EXECUTABLE = 126,  /* as shells say it */
    RUNNER_NOT_FOUND = 127,
};

/* ---- scratch.c ---------------------------------------------------------------------------------- */

enum runner_kind { RUNNER_MOUNT, RUNNER_S3, RUNNER_EPHEMERAL };

struct runner_scratch {           /* all owned */
    char *work_dir;               /* spec file, staged inputs, pretrained models */
    char *results_root;           /* a path, or s3://bucket/results/<id> */
    enum runner_kind kind;
    int rank;                     /* of this node */
    char attempt[64];             /* differs between two starts of the job */
};

void runner_scratch_init(struct runner_scratch *scratch, const struct sw_payload *payload,
                         const char *(*get)(const char *name));
void runner_scratch_done(struct runner_scratch *scratch);
/* Where `uri` is in the shared cache: s3://b/k -> <mount>/b/k. Owned. */
char *runner_mount_path(const char *mount, const char *uri);
/* Where an output that names no destination goes; NULL: nowhere, it stays. Owned. */
char *runner_default_destination(const struct runner_scratch *scratch, const char *path);

/* Is this path among the results that stay where they are? */
bool runner_is_result(const struct runner_scratch *scratch, const char *path);

/* ---- the job here ----------------------------------------------------------------------------- */

/* Seen by all phases at once (shared memory), for heartbeat and report. */
struct runner_tally {
    int64_t files_in, bytes_in, files_out, bytes_out;
    int64_t files_found;          /* in the outputs, brought now or before */
    int64_t empty_outputs;        /* declared, and nothing was there to bring */
    int64_t prepare_ms, command_ms, collect_ms, synced_at_ms;
    int64_t gpus, gpu_memory_bytes, gpu_peak_bytes;     /* of the GPU that was filled most */
    int64_t gpu_busy_percents, gpu_samples;             /* their load, added up, and of how many samples */
    int64_t oom_kills;            /* processes of the command that the kernel ended for memory */
    bool probing;                 /* in prepare: it was about where the outputs go */
    struct sw_error err;          /* why a phase failed */
};

struct runner {
    struct sw_payload *payload;
    struct runner_scratch scratch;
    char *payload_folder;          /* where the payload lies; relative names in it start there */
    struct runner_tally *tally;
    bool report_in_log;           /* the last report is also the last line of the log */
    const char *report_file;      /* where the last report will be, and until then the heartbeat; or NULL */
    bool alone;                   /* this phase is the whole process and writes the heartbeat */
    bool only_command;            /* no transfer of ours follows the command */
    bool only_collect;            /* an earlier attempt ran it; its exit code: $SLIPWAY_COLLECT_ONLY */
    struct sw_transfer_client *client;       /* opened when first needed */
    char *transfer_state;            /* where it remembers uploads, for the next start here */

    /* What prepare finds out; kept in <work_dir>/.slipway/prepared.json for the other phases. */
    json_t *config, *args;        /* with local paths in them */
    json_t *outputs;              /* array of {"path","to","every_ms","exclude","each_rank","own"} */
    char *config_path;
    char *command;                /* filled in; NULL: argv */
    json_t *argv;
    char *resume_from;            /* checkpoint; NULL: none */
    const struct runner_ray *ray; /* while the command runs as its driver; NULL: no cluster (ray.h) */
    json_t *staged;               /* object: place in the config -> local path of a file */
};

struct runner *runner_new(struct sw_payload *payload);      /* takes the payload */
void runner_free(struct runner *runner);
SW_DEFINE_AUTO(runner, struct runner *, runner_free)
/* memory.c: since the container began; 0 also where the kernel does not count. Pure: of the kernel's text. */
int64_t runner_oom_kills(void);
int64_t runner_oom_count(const char *text);
struct sw_transfer_client *runner_transfers(struct runner *runner, struct sw_error *err);
/* sw_transfer_copy() with the open client, counted in the tally; `rules` without progress. */
enum runner_way { RUNNER_IN, RUNNER_OUT };
int runner_copy_counted(struct runner *runner, enum runner_way way, const char *from, const char *to,
                 const struct sw_copy_rules *rules, struct sw_copy_report *report,
                 struct sw_error *err);
char *runner_state_path(const struct runner *runner, const char *name);   /* owned */
char *runner_folder_of(const char *path);                                 /* owned */
char *runner_code_folder(const struct runner *runner);      /* owned */
char *runner_command_folder(const struct runner *runner);   /* owned; NULL: as it is */

/* log.c: one line into the job's log, secrets replaced. Nothing else here prints. */
/* One line of a mode that has no log, as it is. */
void runner_complain(const char *text);
void runner_log(const char *fmt, ...) SW_PRINTF(1, 2);
void runner_keep_secrets(struct sw_secrets *secrets);      /* taken; kept from all that is said */
struct sw_redactor *runner_redactor_new(void);            /* owned; NULL: there are no secrets */

/* secrets.c: values from a 0600 file or a descriptor into our own environment; what the command may
 * not see is taken out again by runner_hide_secrets(). */
int runner_take_secrets(const struct sw_payload *payload, const char *file, int fd,
                        struct sw_error *err);
/* A file in the form of base/secret.h that is there for us alone: opened, and gone. -1 + err. */
int runner_open_secrets(const char *file, struct sw_error *err);
void runner_hide_secrets(const struct sw_payload *payload);
/* For a helper that we start: none of them. */
void runner_hide_all_secrets(const struct sw_payload *payload);
/* What only our own transfers needed is wiped: there will be none in this process any more. */
void runner_drop_credentials(const struct sw_payload *payload);

/* redact.c: what the command prints passes through a process that takes secrets out. */
struct runner_redaction {
    int out, err;                 /* what the command gets as descriptors 1 and 2; -1: its own */
    pid_t pump;                   /* 0: none is needed */
};
#define RUNNER_REDACTION_INIT { -1, -1, 0 }
/* Before the command starts. Without secrets nothing happens. */
int runner_redact_begin(struct runner_redaction *redaction, struct sw_error *err);
void runner_redact_started(struct runner_redaction *redaction);  /* the command has its ends */
void runner_redact_end(struct runner_redaction *redaction);      /* the command is over */

/* plain_text.c: any bytes as UTF-8 text with plain line ends; the same text however the bytes are cut. */
struct runner_plain_text {
    unsigned char held[4];        /* the beginning of a character */
    size_t length, needs;
    bool after_cr;
};
void runner_plain_text(struct runner_plain_text *text, const char *bytes, size_t length, struct sw_buf *out);
void runner_plain_text_end(struct runner_plain_text *text, struct sw_buf *out);

/* under_ray.c */
/* SW_E_CONFLICT: that time has passed, and another attempt has taken this one's place. */
int runner_check_start(const char *start_by, struct sw_error *err);
/* The secrets that a client seals for a key of ours, as a descriptor that holds them; waits for them. */
int runner_unseal_secrets(const char *job_id, struct sw_error *err);
void runner_begin_under_ray(const char *start_by);
bool runner_is_under_ray(void);
void runner_end_runaways(void);   /* what the command left running */

/* rank_failure.c: ranks that share a folder end when one of them fails. */
void runner_note_failure(const struct runner *runner);           /* this rank failed */
int runner_failed_rank(const struct runner *runner);             /* another rank; -1: none failed */
int runner_rank_count(void);
/* Do the reports of the other ranks lie beside ours? */
bool runner_sees_ranks(const struct runner *runner);
/* Waits until the command of every other rank is over or the rank is dead. Does this rank bring the outputs
 * that all of them share? */
bool runner_brings_shared(const struct runner *runner, int64_t deadline_ms);
/* Waits until every other rank has brought its outputs or is dead. */
void runner_wait_for_ranks(const struct runner *runner, int64_t deadline_ms);

/* ---- fetching ---------------------------------------------------------------------------------- */

struct runner_fetch_request {
    const char *uri;
    const char *to;               /* file or folder there; with into: a folder for the file */
    bool into;
    const char *const *only;      /* exactly these files of a folder */
    size_t only_count;
    bool extract, extract_to_parent;
    bool no_cache;
};

/* Its local path, owned: the file, the folder, or what was unpacked. */
char *runner_fetch(struct runner *runner, const struct runner_fetch_request *request, struct sw_error *err);
/* try_data.c: of a payload with `only_data`: one row in the log each. `why`: what went wrong, if its code is
 * set. */
void runner_try_input(struct runner *runner, const char *uri);
void runner_tried_output(const char *to, struct sw_error *why);
/* The same through the shared cache; NULL with SW_E_UNSUPPORTED: the cache cannot be written. */
char *runner_cache_fetch(struct runner *runner, const struct runner_fetch_request *request,
                         const struct sw_object *object, struct sw_error *err);
/* A path on this machine for file://, lustre://, slurm:// and plain paths; NULL: it is remote. */
char *runner_local_path(const char *uri);

/* ---- phases ------------------------------------------------------------------------------------ */

/* The files of a folder that the annotation of `entry` names; NULL without err: all of them. */
json_t *runner_selection(const struct runner *runner, const json_t *entry, struct sw_error *err);
const char **runner_texts(const json_t *names);       /* owned vector of borrowed texts */
json_t *runner_excludes(const struct runner *runner, const json_t *entry);     /* owned */
int runner_declared_inputs(struct runner *runner, struct sw_error *err);     /* config_paths.c */
int runner_declared_outputs(struct runner *runner, struct sw_error *err);
int runner_config_uris(struct runner *runner, struct sw_error *err);         /* config_uris.c */
json_t *runner_selected(const char *annotation, const char *format, const json_t *keys,
                        struct sw_error *err);                               /* selective.c */
int runner_resume(struct runner *runner, struct sw_error *err);              /* resume.c */

/* Inputs to their places, output folders made, config written, command filled in. */
int runner_prepare(struct runner *runner, struct sw_error *err);
/* What an earlier prepare found out; without one, what the payload alone says. */
int runner_load_prepared(struct runner *runner, struct sw_error *err);

struct runner_result {
    int exit_code;
    int signal;                   /* that ended the command; 0: none */
    bool stopped;                 /* by TERM or INT from outside, or for a reason below */
    int64_t stopped_ms;              /* monotonic: when the first stop from outside came; 0: never */
    int64_t deadline_ms;          /* monotonic: when its time is up; 0: never */
    bool canceled;                /* by QUIT from outside */
    bool timed_out;               /* its time was up: exit code 124 */
    int64_t grace_ms;             /* of the stop that came, where it is not the usual one; 0: it is */
    bool stop_wanted;             /* set by a tick: end it now */
    int failed_peer;              /* rank that failed first, and we end because of it; -1: none */
    const char *failed;           /* the phase that failed; NULL: none */
};
#define RUNNER_RESULT_INIT { .failed_peer = -1 }

/* The command, until it and its signal handling are over. -1 + err: it could not be started;
 * result->exit_code is set either way. */
int runner_run(struct runner *runner, struct runner_result *result, struct sw_error *err);
int runner_run_command(struct runner *runner, struct runner_result *result, struct sw_error *err);
/* In a child: what a process of the job sees, and no other secrets. */
void runner_apply_environment(const struct runner *runner);

/* Outputs of this rank to their destinations. With `result` it is the last time: everything, and
 * then the manifest. deadline_ms: monotonic; 0: none. */
int runner_sync(struct runner *runner, const struct runner_result *result, int64_t deadline_ms,
                struct sw_error *err);
/* A small text to a path or a URI; the client must be open for the latter. */
int runner_put_text(struct runner *runner, const char *uri, const char *text,
                    struct sw_error *err);
/* probe.c: can the destinations of all outputs be written to? Leaves nothing there. */
int runner_probe(struct runner *runner, struct sw_error *err);
/* In a process of its own: sync whenever an output's `every` has passed, until TERM. */
pid_t runner_start_syncer(struct runner *runner);
void runner_stop_syncer(pid_t syncer, int64_t deadline_ms);

/* prepare, run and collect in one, as a container's first process. */
int runner_all_phases(struct runner *runner, struct runner_result *result, struct sw_error *err);

/* terminal.c: the terminal is the command's while it runs, if there is one. */
void runner_terminal_find(void);
void runner_terminal_hand_to(pid_t group);
void runner_terminal_stopped(pid_t group, int by);

/* gpu.c: in a process of its own, the most GPU memory that was seen in use; <= 0: no GPUs. */
pid_t runner_start_gpu_watch(struct runner *runner);
void runner_stop_gpu_watch(pid_t pid);
bool runner_gpu_is_ours(const struct sw_gpu *gpu, const char *visible);

/* report.c */
void runner_leave_report(const char *path, const json_t *report);
void runner_beat(const struct runner *runner, const char *phase);
json_t *runner_report(const struct runner *runner, const char *phase,
                      const struct runner_result *result, const struct sw_error *err);

/* signals.c: TERM, INT, USR1, ... as events instead of interruptions. */
void runner_block_signals(void);
enum runner_child_kind {
    RUNNER_COMMAND,               /* a process group: signals are passed on, one TERM, the grace, KILL */
    RUNNER_PHASE,                 /* a process: TERM when a stop comes */
    RUNNER_LAST_PHASE,            /* deaf to signals; KILL when its time is over */
};
struct runner_child {
    enum runner_child_kind kind;
    pid_t pid;
    int64_t grace_ms, time_grace_ms;   /* the second when XCPU comes; 0: the first */
    int64_t kill_at_ms;           /* monotonic; 0: not yet known */
    void (*tick)(void *context);  /* about once a second; may be NULL */
    void *context;
    bool term_sent, killed;
};
/* fork(), the child without blocked signals, and ended when we end. */
pid_t runner_fork(enum runner_child_kind kind);
int runner_next_signal(int64_t wait_ms);      /* 0: none came */
int64_t runner_grace_ms(const struct runner *runner, const struct runner_result *result);
/* Wait for a child of ours, with the signals that come. Returns its wait status. */
int runner_watch(struct runner_child *child, struct runner_result *result);

/* listener.c: while the command runs. */
void runner_listener_start(void);             /* signals must be blocked */
bool runner_heard_by_all(int signal);         /* the signal that we got: did the command get it, too? */
void runner_listener_end(void);

/* relay.c: the whole mode; its exit code. */
int runner_relay(const char *report_file, const char *job_id, char *const argv[]);
/* beside.c: becomes the command, or returns 126 or 127. */
int runner_beside(const char *mark, char *const argv[]);

/* Whole modes; their exit codes. */
int runner_list(const char *folder, const char *file);               /* list.c */
int runner_pack(const char *folder, const char *name);               /* pack.c; NULL: all of the folder */
int runner_wait(void);
int runner_place(const char *path, const char *name);                /* place.c */
int runner_port(const char *number);                                 /* port.c */

/* verdict.c: the whole mode, from the command line to the line that it prints. */
int runner_verdict(int argc, char **argv);
/* The node whose task ended first, by what srun wrote into the log; owned; NULL: not known. */
char *runner_failed_node(const char *log);

/* The program `slipway-runner`; main() is in src/program. */
int runner_main(int argc, char **argv);

#endif
