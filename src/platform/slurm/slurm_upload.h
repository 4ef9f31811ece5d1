/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_upload.h - the bytes that go to the cluster beside a submit's script.
 *
 * Some of them are the same for many jobs (the runners, the certificates that the user named): each of these
 * files lies there once, under a name made of its content, and is sent only when it is missing. Secrets and
 * code are each job's own and always travel.
 */
#ifndef SW_PLATFORM_SLURM_UPLOAD_H
#define SW_PLATFORM_SLURM_UPLOAD_H

#include "plan/bundle.h"
#include "platform/slurm/slurm_internal.h"

enum { SLURM_SHARED_CA = SLURM_MACHINES, SLURM_SHARED_FILES };        /* the runners by kind come first */

struct slurm_shared_file {
    const void *bytes;             /* NULL: we have none */
    size_t size;
    char *path;                    /* on the cluster; owned; NULL: the job needs none */
};

struct slurm_upload {              /* slurm_upload_done() */
    struct slurm_shared_file shared[SLURM_SHARED_FILES];
    struct sw_buf certificates;    /* what the shared file's bytes may point to */
    int secrets;                   /* memory file; -1: none */
    size_t secrets_size;
    struct sw_bundle code;
};
#define SLURM_UPLOAD_INIT { .secrets = -1 }

/* Also sets the paths of `job`. */
int slurm_upload_load(struct slurm_upload *upload, struct sw_connection *conn, struct slurm_job *job,
                      const struct sw_secrets *secrets, struct sw_error *err);
void slurm_upload_done(struct slurm_upload *upload);
static inline void slurm_upload_auto(struct slurm_upload *upload) { slurm_upload_done(upload); }

/* The values of slurm_submit.sh: of the shared files, those that are `sent` (a bit for each) come along. */
void slurm_upload_values(struct sw_buf *out, const struct slurm_job *job, const struct slurm_upload *upload,
                         unsigned sent);
/* The bits of its record "need WHAT..."; 0: it names none. */
unsigned slurm_upload_missing(const char *what);

/* The standard input in the script's order; how many pieces. */
enum { SLURM_PIECES = SLURM_SHARED_FILES + 2 };
size_t slurm_upload_pieces(const struct slurm_upload *upload, unsigned sent,
                           struct sw_ssh_piece pieces[SLURM_PIECES]);

/* The names of the runners of this version: how many. */
size_t slurm_runner_names(struct sw_connection *conn, const char *names[SLURM_MACHINES]);

#endif
