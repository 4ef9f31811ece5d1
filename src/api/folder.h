/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - the files of the folder that a plan is made in: env.toml and .env.
 *
 * Only a plan reads them (run, plan, preflight). Where they are looked for, and what they may decide
 * before the user trusted them, is in docs/use/job-file.md and decided in folder.c.
 */
#ifndef SW_API_FOLDER_H
#define SW_API_FOLDER_H

#include "base/digest.h"
#include "base/environment.h"
#include "spec/spec.h"

#define API_JOB_FILE "job.yaml"          /* what is taken when no file is named */

struct sw_session;
struct sw_request;

/* A file as it was found, and whether the user trusted exactly this content. */
struct api_found {
    char *path;                    /* NULL: there is none */
    char sha256[SW_DIGEST_HEX];
    bool trusted;
};

struct api_folder {
    struct sw_session *session;
    struct api_found env_toml, dotenv;
    struct sw_profiles *profiles;  /* env.toml and the user's own */
    json_t *rules;
    struct sw_environment *values; /* of .env */
};                                 /* never changed: links of several threads may hold it */

/* The folder's files as they are now; the session's, until it ends. `read` false: a folder without
 * files, for verbs that read none. */
struct api_folder *api_folder(struct sw_session *session, const struct sw_request *request,
                              bool read, struct sw_error *err);
void api_folders_free(struct sw_session *session);

/* A sw_env_fn over a struct api_folder: the process's environment, then the folder's .env, then the
 * user's own. A name that needs trust and does not have it is NULL. */
const char *api_folder_env(void *folder, const char *name);
/* The same while a plan is made: such names are remembered. */
struct api_asking {
    struct api_folder *folder;
    json_t *refused;               /* object of names */
    bool used;                     /* a value of the folder's .env was given */
};
const char *api_asking_env(void *asking, const char *name);
/* Where the value of that name comes from, in words; borrowed from the folder. */
const char *api_asking_source(void *asking, const char *name);

/* trust.c: did the user trust this content of that file? */
bool api_is_trusted(const char *state_dir, const char *path, const char *sha256);

#endif
