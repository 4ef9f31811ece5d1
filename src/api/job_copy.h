/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_copy.h - what the two halves of copying to and from a running job share.
 */
#ifndef SW_API_JOB_COPY_H
#define SW_API_JOB_COPY_H

#include "base/buf.h"
#include "base/error.h"
#include "slipway.h"

struct job_copy_count {              /* how far it is, told about ten times a second */
    sw_copy_progress_fn *progress;   /* NULL: none */
    void *context;
    int64_t files, bytes;
    int64_t begun_ms, told_ms;
    bool cut;                        /* the job's side ended: what fails here then follows from that */
};
/* -1: the caller wants it stopped. */
int job_copy_tell(struct job_copy_count *count, struct sw_error *err);

/* job_copy_here.c: an archive on `fd` becomes `to`, or `name` in the folder `to`, whole or not at all. Only
 * what is below `name` is taken. *made: where it is, owned. */
int job_copy_unpack(int fd, const char *name, const char *to, struct job_copy_count *count, char **made,
                    void (*warn)(void *context, const char *text), void *warn_context, struct sw_error *err);
/* The file or folder `from` as an archive with the only root `x`, written to `fd`. */
int job_copy_pack(int fd, const char *from, struct job_copy_count *count, struct sw_error *err);

#endif
