/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_progress.c - progress and GPU use as people read them.
 *
 * The share is taken from the document when it is there; else it is computed from epoch and step,
 * where an epoch that runs counts by its steps: "epoch 3/10 step 500/1000" is 25%, since a log
 * numbers the epoch it is in. Numbers from a log are somebody else's: a step beyond the last
 * is a full bar, never a longer one.
 */
#include "cli/cli_progress.h"

#include <math.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : -1;
}

static double share_of(const struct cli_progress *p)
{
    double within = p->steps > 0 && p->step >= 0 ? (double)p->step / (double)p->steps : -1;

    if (p->epochs <= 0 || p->epoch < 0)
        return within;
    if (within < 0)
        return (double)p->epoch / (double)p->epochs;
    return ((double)(p->epoch > 0 ? p->epoch - 1 : 0) + within) / (double)p->epochs;
}

bool cli_progress_read(const json_t *job, struct cli_progress *out)
{
    const json_t *progress = json_object_get(job, "progress");
    double percent = number(progress, "percent");

    *out = (struct cli_progress){
        .epoch = sw_json_int(progress, "epoch", -1),
        .epochs = sw_json_int(progress, "epochs", -1),
        .step = sw_json_int(progress, "step", -1),
        .steps = sw_json_int(progress, "steps", -1),
        .share = percent / 100,
        .rate = number(progress, "rate"),
        .unit = sw_json_str(progress, "unit"),
        .eta_ms = sw_json_int(progress, "eta_ms", -1),
    };
    if (percent < 0)
        out->share = share_of(out);
    if (out->share > 1)
        out->share = 1;
    if (!out->unit)
        out->unit = out->step >= 0 ? "step" : "epoch";
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

void cli_progress_pace(struct sw_buf *out, const struct cli_progress *progress)
{
    char left[24];

    if (progress->rate > 0 && progress->rate < 0.1)
        sw_buf_addf(out, "%.1f s/%s", 1 / progress->rate, progress->unit);
    else if (progress->rate > 0)
        sw_buf_addf(out, "%.*f %ss/s", progress->rate < 10 ? 1 : 0, progress->rate,
                    progress->unit);
    if (progress->eta_ms < 0)
        return;
    sw_age_format(progress->eta_ms, left);
    sw_buf_addf(out, "%s%s left", progress->rate > 0 ? ", " : "", left);
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
    if (progress.share >= 0) {
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
