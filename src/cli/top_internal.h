/* SPDX-License-Identifier: Apache-2.0 */
/*
 * top_internal.h - `slipway top` in four files: top.c decides, top_feed.c reads jobs and logs, top_act.c does
 * what a key asks for, top_draw.c makes a frame of it.
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

/* What the lower part of the screen shows about the selected job. */
enum top_pane { TOP_LOG, TOP_WHY, TOP_ATTEMPTS, TOP_USE };

/* What the threads bring; everything below `lock` is theirs and ours. */
struct top_feed {
    struct cli *cli;
    int wake[2];                /* a byte: there is something new to draw */
    pthread_t watcher, reader;
    size_t threads;             /* how many of them were started */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;                  /* asked to end */
    size_t acting;              /* requests of top_act.c on their way */
    json_t *document;           /* the newest answer about the jobs; replaced, never changed */
    char id[SW_ID_SIZE];        /* whose log is wanted */
    unsigned wanted;            /* counts requests: another number, another log */
    struct top_log log;
    json_t *detail;             /* the document of the pane, about the job `id`; NULL: not there yet */
    char note[256];             /* something to tell in the last line; empty: nothing */
};

int top_feed_start(struct top_feed *feed, struct cli *cli, struct sw_error *err);
/* Ask the threads to end. False when one is stuck: then nothing it uses may be released. */
bool top_feed_end(struct top_feed *feed);
/* From now on the log of this job; NULL: of none. */
void top_feed_select(struct top_feed *feed, const char *id);
/* There is something new to draw. */
void top_feed_ring(struct top_feed *feed);
json_t *top_feed_document(struct top_feed *feed);       /* a reference of our own, or NULL */

/* top_act.c: in the background; how it went becomes a note. */
typedef void top_act_fn(struct top_feed *feed, const char *id);
top_act_fn top_cancel, top_retry;
/* The same for what a pane shows: it becomes feed->detail. */
void top_fetch(struct top_feed *feed, const char *id, enum top_pane pane);

void top_log_add(struct top_log *log, const char *bytes, size_t length);
void top_log_clear(struct top_log *log);
const char *top_log_line(const struct top_log *log, size_t index);      /* 0: the oldest */

/* What the user has chosen to see. */
struct top_view {
    size_t selected;
    size_t first_job;           /* the first row of the list that is shown */
    size_t scrolled;            /* log lines between the bottom of the pane and the newest */
    bool large_log, follow, help;
    enum top_pane pane;
    char question[128];         /* waits for y; empty: none */
    bool typing;                /* the filter is being typed */
    char filter[64];            /* only jobs that have this in them; empty: all */
};

/* One frame for a screen of that size. `log`, `detail` and `note` must not change meanwhile. */
struct top_frame {
    const json_t *document;     /* the jobs; NULL: not there yet */
    const struct top_log *log;
    const json_t *detail;       /* for panes other than the log; NULL: not there yet */
    const char *note;
    size_t columns, rows;
    bool color;
};
void top_draw(struct sw_buf *out, const struct top_frame *frame, struct top_view *view);

/* The document with the jobs alone whose id, name, state, platform or message holds the text, in any case: a
 * new reference. */
json_t *top_filtered(json_t *document, const char *filter);

#endif
