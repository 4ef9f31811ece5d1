/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunks.h - bytes that reach a job in environment variables, where a platform offers nothing better.
 *
 * A platform sends the script of plan/entrypoint.h (runner, payload and code in one file) as variables of
 * limited length; the job's command is the shell text that puts them together and runs the script. Pure.
 */
#ifndef SW_PLATFORM_KIT_CHUNKS_H
#define SW_PLATFORM_KIT_CHUNKS_H

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "plan/plan.h"

struct sw_chunk_limits {
    const char *platform;        /* for the message */
    size_t chunk;                /* most characters of one variable; Linux takes 128 KiB */
    size_t total;                /* most characters of all; 0: no limit */
};

/* Adds PREFIX_COUNT and PREFIX_0, PREFIX_1 ... (base64 of gzip) to the object `env`. -1 SW_E_SPEC, and `env`
 * is as before: they do not fit. */
int sw_chunks_put(json_t *env, const char *prefix, const void *bytes, size_t length,
                  const struct sw_chunk_limits *limits, struct sw_error *err);

/* A job as it is there; the platform sets its environment. All borrowed. */
struct sw_chunks_job {
    const struct sw_plan *plan;
    const char *arch;            /* of the machine: "x86_64" */
    const char *results;         /* the results folder; NULL: by the environment there */
    const char *scratch;         /* a folder for inputs, code and config; NULL: by the environment there */
    int attempt;
    const char *kept;            /* folder of this machine: later attempts send the code of the first */
    const char *shared;          /* folder there that all ranks see; NULL: none */
    const char *cache;           /* folder of inputs that jobs share, unless the plan names one; NULL: none */
    bool *without_ca;            /* filled in: this machine's certificates did not fit beside the rest and
                                    stay here; the runner believes the image's and its own. NULL: it fails */
};
/* The same with all that the job needs there: runner, payload, certificates and code, as the script of
 * plan/entrypoint.h. */
int sw_chunks_put_job(json_t *env, const char *prefix, const struct sw_chunks_job *job,
                      const struct sw_chunk_limits *limits, struct sw_error *err);

/* POSIX shell: the variables of `prefix` put together into `file`, and unset. Needs sh, base64, gzip. */
void sw_chunks_shell(struct sw_buf *out, const char *prefix, const char *file);

/* POSIX shell, a job's whole command: a folder that takes files is found, `lines` (shell that sets
 * variables, such as those of sw_chunks_rendezvous(); "": none) run, and the script of sw_chunks_put_job()
 * takes over. */
void sw_chunks_command(struct sw_buf *out, const char *prefix, const char *lines);
/* The same with shell of the caller's own that runs the script $sw_job. */
void sw_chunks_command_by(struct sw_buf *out, const char *prefix, const char *lines, const char *runs);

/* A platform that tells a rank only through variables of its own: the names of those, and where rank N is. */
struct sw_chunks_ranks {
    const char *index, *total;   /* "LEPTON_JOB_WORKER_INDEX": without it the job has one rank */
    const char *host;            /* shell text in which $sw_rank is N: "${PREFIX}-$sw_rank.${DOMAIN}" */
    int port;                    /* MASTER_PORT, unless it is set */
};
/* A line of shell for sw_chunks_command(): NODE_RANK, NNODES, MASTER_ADDR, MASTER_PORT and WORKER_ADDRS out
 * of them. */
void sw_chunks_rendezvous(struct sw_buf *out, const struct sw_chunks_ranks *ranks);

#endif
