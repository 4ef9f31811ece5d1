/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.h - the letter from plan/ to the runner: what to do inside the job's place.
 *
 * Written by plan/ and read by runner/ through this one file, so the two cannot drift apart.
 * It never holds a secret's value; `secrets` are names.
 */
#ifndef SW_CORE_PAYLOAD_H
#define SW_CORE_PAYLOAD_H

#include "base/document.h"
#include "base/json.h"

#define SW_PAYLOAD_VERSION 1

struct sw_payload {
    char job_id[SW_ID_SIZE];
    char *command;            /* shell text for /bin/sh -c, or NULL when argv is given */
    json_t *argv;             /* array of texts, or NULL */
    char *workdir;            /* where the command runs; NULL: the place's default */
    char *results_dir;        /* local folder of the results */
    json_t *env;              /* object name -> text */
    json_t *secrets;          /* array of names the command may see */
    json_t *inputs;           /* array of {"path": local target, "from": source} */
    json_t *outputs;          /* array of {"path": local folder, "to": destination or null} */
    json_t *config;           /* document to write at config_path, or NULL */
    enum sw_format config_format;
    char *config_path;        /* where the config is written; NULL without config */
    int64_t grace_ms;         /* between TERM and KILL */
};

struct sw_payload *sw_payload_new(void);
void sw_payload_free(struct sw_payload *payload);
SW_DEFINE_AUTO(sw_payload, struct sw_payload *, sw_payload_free)

json_t *sw_payload_to_json(const struct sw_payload *payload);
struct sw_payload *sw_payload_from_json(const json_t *json, struct sw_error *err);

#endif
