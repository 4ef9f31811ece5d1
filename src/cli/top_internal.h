/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_internal.h - `slipway top` in three files: top.c decides, top_feed.c reads jobs and logs, top_draw.c
 * makes a frame of it.
 */
#ifndef SW_CLI_TOP_INTERNAL_H
#define SW_CLI_TOP_INTERNAL_H

#include <pthread.h>

#include "cli/cli.h"

#define TOP_LOG_LINES 2000      /* of the selected job's log, kept in memory */
#define TOP_LINE_BYTES 4096     /* of one line; the rest is not shown */

/* The last lines of a log, already harmless on a terminal. */
struct top_log {
    char *lines[TOP_LOG_LINES]; /* a ring */
    size_t first, count;
    struct sw_buf partial;      /* a line without its end yet */
};

/* What the threads bring; everything below `lock` is theirs and ours. */
struct top_feed {
    struct cli *cli;
    int wake[2];                /* a byte: there is something new to draw */
    pthread_t watcher, reader;
    size_t threads;             /* how many of them were started */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;                  /* asked to end */
    size_t canceling;           /* cancels on their way */
    json_t *document;           /* the newest answer about the jobs; replaced, never changed */
    char id[SW_ID_SIZE];        /* whose log is wanted */
    unsigned wanted;            /* counts requests: another number, another log */
    struct top_log log;
    char note[256];             /* something to tell in the last line; empty: nothing */
};

int top_feed_start(struct top_feed *feed, struct cli *cli, struct sw_error *err);
/* Ask the threads to end. False when one is stuck: then nothing it uses may be released. */
bool top_feed_end(struct top_feed *feed);
/* From now on the log of this job; NULL: of none. */
void top_feed_select(struct top_feed *feed, const char *id);
/* Cancel in the background; how it went becomes a note. */
void top_feed_cancel(struct top_feed *feed, const char *id);
json_t *top_feed_document(struct top_feed *feed);       /* a reference of our own, or NULL */

void top_log_add(struct top_log *log, const char *bytes, size_t length);
void top_log_clear(struct top_log *log);
const char *top_log_line(const struct top_log *log, size_t index);      /* 0: the oldest */

/* What the user has chosen to see. */
struct top_view {
    size_t selected;
    size_t first_job;           /* the first row of the list that is shown */
    size_t scrolled;            /* log lines between the bottom of the pane and the newest */
    bool large_log, follow, help;
    char question[128];         /* waits for y; empty: none */
};

/* One frame for a screen of that size. `log` and `note` must not change meanwhile. */
void top_draw(struct sw_buf *frame, const json_t *document, const struct top_log *log,
              struct top_view *view, const char *note, size_t columns, size_t rows, bool color);

#endif
