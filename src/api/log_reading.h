/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_reading.h - the log of one job while it is read: from where, how far, and to whom.
 */
#ifndef SW_API_LOG_READING_H
#define SW_API_LOG_READING_H

#include "api/api_internal.h"

enum { API_LOG_PIECE = 64 * 1024 };

struct log_stream {
    int replica;
    int64_t offset;
    struct sw_buf held;       /* the beginning of a line, when lines are mixed */
    int64_t held_ms;          /* when that line began */
};

struct log_phase {            /* what the store knows of the job */
    bool over, sent;
    int attempt;
};

struct log_reading {
    struct sw_session *session;
    const char *id;
    struct api_job job;
    const struct sw_log_options *options;
    sw_log_fn *fn;
    void *context;
    struct log_stream *streams;
    size_t count;
    bool lines;               /* pieces end at line ends: several ranks or jobs are mixed */
    char *piece;              /* API_LOG_PIECE bytes, borrowed */
    bool cut;                 /* the platform was out of reach at the last read */
    bool moved;               /* to an attempt that may never have been sent */
    bool read;                /* this attempt is over and read to its end */
    bool gone;                /* its end is not there any more, and a warning was given */
    int reported;             /* the last attempt that the caller knows of */
    bool silent;              /* the platform did not answer in time, and a warning was given */
    struct log_phase now;
    bool done;                /* all of it was read, or err says why not */
    struct sw_error err;
};

/* The job, and where to begin; `piece` and the like are there already. */
int api_log_open(struct log_reading *r, struct sw_error *err);
int api_log_begin(struct log_reading *r, struct sw_error *err);
void api_log_close(struct log_reading *r);

/* Hand on what there is: 1: something was there, 0: nothing. While lines are mixed, one piece of each
 * rank. */
int api_log_drain(struct log_reading *r, struct sw_error *err);
/* Read on to the end of what is there now. A cut ends it as well, for a follow. */
int api_log_drain_to_the_end(struct log_reading *r, struct sw_error *err);
/* Lines without an end, too. */
int api_log_flush(struct log_reading *r, struct sw_error *err);

#endif
