/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_progress.h - how far a job is, in words and as a bar. Pure.
 */
#ifndef SW_CLI_PROGRESS_H
#define SW_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"

/* What the job document tells about its training; -1: not known. */
struct cli_progress {
    int64_t epoch, epochs;
    int64_t step, steps;
    double share;               /* 0 to 1 of the run, or of this epoch only */
    bool of_epoch;              /* how many epochs there are is not known */
    double rate;                /* steps per second */
    int64_t eta_ms;             /* until the end of the run, or of the epoch */
};

/* False when nothing is known. */
bool cli_progress_read(const json_t *job, struct cli_progress *out);
/* "epoch 3/10 step 120/1000", or the share alone: "42%". */
void cli_progress_words(struct sw_buf *out, const struct cli_progress *progress);
/* " loss 0.25": the first metric that a line of a log shows, or nothing. `line` may be NULL. */
void cli_metric_words(struct sw_buf *out, const char *line);
/* "1.2 steps/s, 5m left": what is known of it, or nothing. */
void cli_progress_pace(struct sw_buf *out, const struct cli_progress *progress);
/* `width` columns, filled by the share. */
void cli_progress_bar(struct sw_buf *out, double share, size_t width);
/* Bars of tables, the longest first: where a table does not fit, a shorter one is tried. */
#define CLI_BARS 3
extern const size_t cli_bar_widths[CLI_BARS];
/* Bar and words for a table cell; owned, "" when nothing is known. */
char *cli_progress_cell(const json_t *job, size_t bar_width);
/* "87% 31/80 GiB": use of the job's GPUs as last seen; owned, "" when nothing is known. */
char *cli_gpu_cell(const json_t *job);

/* cli_use.c: "3.2 CPUs on average, 1.2 GiB of memory", owned; and all of it, a line for each GPU. */
char *cli_use_text(const json_t *use);
void cli_use_card(struct sw_buf *out, const json_t *use);

#endif
