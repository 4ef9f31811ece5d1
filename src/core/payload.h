/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.h - what the runner does for a job: its command, data and folders.
 *
 * plan/ writes it and runner/ reads it through this one file, so the two cannot drift apart.
 * It never holds a secret's value; `secrets` are names. The keys of its JSON never change.
 */
#ifndef SW_CORE_PAYLOAD_H
#define SW_CORE_PAYLOAD_H

#include <stdbool.h>

#include "base/document.h"
#include "base/json.h"

/* Where a payload can come in the environment: the runner's argument says so, and the runner takes both
 * variables out of the command's environment. The plan is for clients that adopt the job. */
#define SW_PAYLOAD_IN_VARIABLE "-"
#define SW_PAYLOAD_VARIABLE    "SLIPWAY_PAYLOAD"
#define SW_PLAN_VARIABLE       "SLIPWAY_PLAN"

/* The credential of a job with `launcher: ray`: made by the client for each submit, known to all ranks, and
 * what a program must know to reach the job's Ray cluster. */
#define SW_RAY_TOKEN           "SLIPWAY_RAY_TOKEN"

#define SW_PAYLOAD_VERSION 2        /* version 1 is read, too: it says less */

/* What is not said here the runner finds out where it runs: the folder it may work in and where
 * results go depend on the environment there.
 *
 * With `config` the command reads a file, with `args` it gets options, with neither it is run as it is. */
struct sw_payload {
    char job_id[SW_ID_SIZE];
    char *command;            /* shell text for /bin/sh -c, or NULL when argv is given */
    json_t *argv;             /* array of texts, or NULL */
    bool filled;              /* placeholders are filled in already */
    char *command_dir;        /* where the command runs; NULL: the image's or machine's default */
    char *scratch_dir;        /* our own folder there (inputs, config); NULL: by the environment */
    char *results_dir;        /* local folder of the results; NULL: by the environment */
    json_t *env;              /* object name -> text */
    json_t *defaults;         /* likewise, for what neither env nor the image sets; or NULL */
    json_t *secrets;          /* array of names the command may see */
    json_t *credentials;      /* array of names that only the runner may see */
    json_t *settings;         /* object name -> text: settings of its data for the runner alone; or NULL */
    char *cache_dir;          /* shared by jobs: s3://b/k is <cache_dir>/b/k; NULL: none */
    json_t *code;             /* {"archive": path, "to": folder, "pieces": how many files PATH.N it is in}:
                                 unpacked first; or NULL */
    char *ca;                 /* file beside the payload with the certificates to believe (PEM); NULL:
                                 those of the machine, or what the runner carries */

    json_t *inputs;           /* array of {"path": local target, "from": source, "extract"} */
    json_t *outputs;          /* array of {"path", "to" or null, "every_ms", "exclude"} */
    json_t *exclude;          /* patterns that hold for all outputs; or NULL */

    json_t *config;           /* document to write at config_path, or NULL */
    enum sw_format config_format;
    char *config_path;        /* where the config is written; NULL: spec.FORMAT in scratch_dir */
    bool fetch_uris;          /* every s3:// text in the config is an input, declared or not */
    json_t *args;             /* object: name -> value, becomes --name 'value'; or NULL */
    json_t *flags;            /* array of names, become --name; or NULL */
    json_t *config_inputs;    /* array of {"key", "container_path", "selective",
                                 "extract_to_parent"}: places of config or args */
    json_t *config_outputs;   /* array of {"key", "type"} */
    json_t *checkpoint;       /* {"dir", "resume"}; or NULL */
    json_t *entrypoint;       /* words that start the command, as an image's ENTRYPOINT; or NULL */
    char *peers;              /* folder that all ranks share: one that fails ends the others; NULL */
    json_t *ray;              /* the ranks are a Ray cluster, and the command its driver on rank 0:
                                 {"wait_ms", "idle_ms" (it has no command; NULL: it has), "gpus", "cpus"};
                                 or NULL */
    bool redact;              /* take secrets out of what the command prints */
    bool only_data;           /* try its inputs and outputs and say what was found; no command runs */
    int64_t grace_ms;         /* between TERM and KILL */
    int64_t time_grace_ms;    /* the same when its time is up (XCPU); 0: as above */
    int64_t time_ms;          /* from the runner's start; then TERM, and exit code 124; 0: none */
};

struct sw_payload *sw_payload_new(void);
void sw_payload_free(struct sw_payload *payload);
SW_DEFINE_AUTO(sw_payload, struct sw_payload *, sw_payload_free)

/* The certificates in this file, for the runner to believe as well; NULL: those that the user named on
 * this machine ($SSL_CERT_FILE, ..., base/trusted.h). Nothing named: `pem` stays empty. -1: the file that
 * was named cannot be read or holds none. */
int sw_payload_read_ca(const char *path, struct sw_buf *pem, struct sw_error *err);
/* The same, and names them in payload->ca: the platform writes `pem` beside the payload under that name
 * (0644). */
#define SW_PAYLOAD_CA "ca.pem"
int sw_payload_take_ca(struct sw_payload *payload, const char *path, struct sw_buf *pem,
                       struct sw_error *err);

json_t *sw_payload_to_json(const struct sw_payload *payload);
struct sw_payload *sw_payload_from_json(const json_t *json, struct sw_error *err);

#endif
