/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_progress.c - progress and GPU use as people read them.
 *
 * The time left is computed from the time so far: what a log calls its rate is
 * often that of the last step alone. Only within an epoch of a run of unknown length do
 * the steps and their rate have to do. Numbers from a log are untrusted: a step beyond the
 * last is a full bar, never a longer one.
 */
#include "cli/cli_progress.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"

const size_t cli_bar_widths[CLI_BARS] = { 10, 5, 0 };

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : -1;
}

/* The reading is as old as its last line; what passed since then is not left any more. */
static int64_t time_left_ms(const json_t *job, const struct cli_progress *p, int64_t seen_ms)
{
    int64_t since_ms = seen_ms > 0 ? sw_now_ms() - seen_ms : 0;
    int64_t took_ms = sw_json_int(job, "duration_ms", -1) - since_ms;
    double left_ms = -1;

    if (since_ms < 0)
        since_ms = 0;
    if (p->of_epoch && p->rate > 0 && p->steps > p->step && p->step >= 0)
        left_ms = (double)(p->steps - p->step) / p->rate * 1000;
    else if (!p->of_epoch && p->share > 0 && took_ms > 0)
        left_ms = (double)took_ms * (1 - p->share) / p->share;
    if (left_ms < 0 || left_ms > 1e12)
        return -1;
    return left_ms > (double)since_ms ? (int64_t)left_ms - since_ms : 0;
}

bool cli_progress_read(const json_t *job, struct cli_progress *out)
{
    const json_t *progress = json_object_get(job, "progress");

    *out = (struct cli_progress){
        .epoch = sw_json_int(progress, "epoch", -1),
        .epochs = sw_json_int(progress, "epochs", -1),
        .step = sw_json_int(progress, "step", -1),
        .steps = sw_json_int(progress, "steps", -1),
        .share = number(progress, "fraction"),
        .of_epoch = sw_json_bool(progress, "fraction_of_epoch", false),
        .rate = number(progress, "rate"),
    };
    if (out->share > 1)
        out->share = 1;
    out->eta_ms = time_left_ms(job, out, cli_time_ms(sw_json_str(progress, "seen_at")));
    return out->share >= 0 || out->epoch >= 0 || out->step >= 0;
}

static void add_count(struct sw_buf *out, const char *what, int64_t at, int64_t of)
{
    if (at < 0)
        return;
    sw_buf_addf(out, "%s%s %lld", out->length ? " " : "", what, (long long)at);
    if (of > 0)
        sw_buf_addf(out, "/%lld", (long long)of);
}

void cli_progress_words(struct sw_buf *out, const struct cli_progress *progress)
{
    sw_auto(sw_buf) struct sw_buf words = SW_BUF_INIT;

    add_count(&words, "epoch", progress->epoch, progress->epochs);
    add_count(&words, "step", progress->step, progress->steps);
    if (words.length == 0 && progress->share >= 0)
        sw_buf_addf(&words, "%d%%", (int)(progress->share * 100));
    sw_buf_add(out, sw_buf_text(&words));
}

/* ---- metrics ------------------------------------------------------------------------------- */

/* ":", " = ", "': ": what may be between a name and its number; 0: neither. */
static size_t separators(const char *text)
{
    size_t length = strspn(text, " :='\"");

    return length <= 4 ? length : 0;
}

/* How long the number is; 0: there is none, or more follows than a number. */
static size_t number_length(const char *text)
{
    char *end = NULL;
    size_t length;

    if (!isdigit((unsigned char)text[text[0] == '-']) && strncasecmp(text, "nan", 3) != 0)
        return 0;
    strtod(text, &end);
    length = (size_t)(end - text);
    return length <= 24 && !isalnum((unsigned char)*end) && *end != '/' && *end != '%' ? length : 0;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The words of training, the most wanted first; "val_loss" and "train_loss" are losses as well. */
void cli_metric_words(struct sw_buf *out, const char *line)
{
    static const char *const metrics[] = { "loss", "accuracy", "acc", "mAP", "perplexity", "reward" };

    for (size_t i = 0; line && i < SW_COUNT(metrics); i++)
        for (const char *at = line; (at = strcasestr(at, metrics[i])); at++) {
            const char *end = at + strlen(metrics[i]), *begin = at;
            size_t between = separators(end), length = between ? number_length(end + between) : 0;

            while (begin > line && is_name(begin[-1]))
                begin--;
            if (!length || at - begin > 16 || (begin < at && at[-1] != '_'))
                continue;
            sw_buf_addf(out, " %.*s %.*s", (int)(end - begin), begin, (int)length, end + between);
            return;
        }
}

void cli_progress_pace(struct sw_buf *out, const struct cli_progress *progress)
{
    char left[24];

    if (progress->rate > 0 && progress->rate < 0.1)
        sw_buf_addf(out, "%.1f s/step", 1 / progress->rate);
    else if (progress->rate > 0)
        sw_buf_addf(out, "%.*f steps/s", progress->rate < 10 ? 1 : 0, progress->rate);
    if (progress->eta_ms < 0)
        return;
    sw_age_format(progress->eta_ms, left);
    sw_buf_addf(out, "%s%s left%s", progress->rate > 0 ? ", " : "", left,
                progress->of_epoch ? " in this epoch" : "");
}

void cli_progress_bar(struct sw_buf *out, double share, size_t width)
{
    size_t full = share > 0 ? (size_t)floor(share * (double)width + 1e-9) : 0;

    for (size_t i = 0; i < width; i++)
        sw_buf_add(out, i < full ? "\xe2\x96\x88" : "\xe2\x96\x91");
}

char *cli_progress_cell(const json_t *job, size_t bar_width)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct cli_progress progress;

    if (!cli_progress_read(job, &progress))
        return sw_strdup("");
    if (progress.share >= 0 && bar_width > 0) {
        cli_progress_bar(&out, progress.share, bar_width);
        sw_buf_add_char(&out, ' ');
    }
    cli_progress_words(&out, &progress);
    return sw_buf_steal(&out);
}

char *cli_gpu_cell(const json_t *job)
{
    const json_t *gpus = json_object_get(json_object_get(job, "live"), "gpus"), *gpu;
    double used = 0, memory = 0, total = 0;
    size_t count = json_array_size(gpus), i;
    const double gib = 1024.0 * 1024 * 1024;

    if (count == 0)
        return sw_strdup("");
    json_array_foreach(gpus, i, gpu) {
        used += fmax(number(gpu, "used_percent"), 0);
        memory += fmax(number(gpu, "memory_used"), 0);
        total += fmax(number(gpu, "memory_total"), 0);
    }
    if (total <= 0)
        return sw_format("%.0f%%", used / (double)count);
    return sw_format("%.0f%% %.0f/%.0fG", used / (double)count, memory / gib, total / gib);
}
