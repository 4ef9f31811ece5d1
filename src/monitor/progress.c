/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - how far a job's training is, read from its log a piece at a time.
 *
 * The store keeps where the last reading ended, so that any watcher goes on from there. A log that
 * grows faster than it is read is caught up with by a jump to its end: progress wants the newest
 * line, not every line. Nothing here may fail a refresh; progress is a courtesy.
 *
 * The document in the store is core/progress.h's, and beside it "offset", "last_line",
 * "last_output_ms", "live" and "runner", the report of the runner: the platform's, or the last line of
 * the log.
 */
#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/progress.h"
#include "core/report.h"
#include "monitor/monitor_internal.h"
#include "platform/kit/log.h"

enum {
    PIECE = 32 * 1024,
    ROUND = 256 * 1024,            /* bytes per job and refresh */
    LINE_SHOWN = 200,
    MILESTONES_MOST = 100,         /* events for one reading */
    GPU_SAMPLE_MS = 60 * 1000,
    INTERVAL = 10,                 /* epochs, when the job file does not say */
};

/* The last line with anything in it, harmless on a terminal; NULL: there is none. */
static char *last_line(const char *bytes, size_t length)
{
    size_t end = length, begin;
    char *text;

    while (end > 0 && isspace((unsigned char)bytes[end - 1]))
        end--;
    if (end == 0)
        return NULL;
    begin = end;
    while (begin > 0 && bytes[begin - 1] != '\n' && bytes[begin - 1] != '\r' &&
           end - begin < LINE_SHOWN)
        begin--;
    while (begin < end && ((unsigned char)bytes[begin] & 0xc0) == 0x80)
        begin++;                   /* not in the middle of a character */
    text = sw_text_printable(bytes + begin, end - begin);
    if (strlen(text) > LINE_SHOWN) {
        size_t cut = LINE_SHOWN;

        while (cut > 0 && ((unsigned char)text[cut] & 0xc0) == 0x80)
            cut--;
        text[cut] = '\0';
    }
    return text;
}

struct progress_reading {
    struct sw_log log;
    struct sw_jobref ref;
    int64_t offset;                /* of the next byte to read */
    struct sw_progress_reader reader;
    char *line;                    /* the last one; owned */
    json_t *report;                /* of the runner; owned; NULL: none in what was read */
};

/* Where to go on: where the last reading ended, or near the end of a log that ran away. */
static void find_place(struct progress_reading *r)
{
    int64_t size = 0;

    if (sw_log_size(&r->log, &size, NULL) == 0 &&
        (size < r->offset || size - r->offset > ROUND))
        r->offset = size > ROUND ? size - ROUND : 0;
}

/* The report is for programs: what people are shown is the line before it. */
static void take_piece(struct progress_reading *r, const char *bytes, size_t length)
{
    json_t *report = sw_report_in_log(bytes, length, r->ref.id, r->log.replica);
    char *line = last_line(bytes, sw_report_begin(bytes, length));

    sw_progress_feed(&r->reader, bytes, length, sw_now_ms());
    if (line) {
        free(r->line);
        r->line = line;
    }
    if (report) {
        json_decref(r->report);
        r->report = report;
    }
}

static void read_on(struct progress_reading *r)
{
    sw_autofree char *bytes = sw_alloc(PIECE);

    find_place(r);
    for (int64_t left = ROUND; left > 0;) {
        ssize_t n = sw_log_read(&r->log, r->offset, bytes, PIECE, NULL);

        if (n <= 0)
            break;
        take_piece(r, bytes, (size_t)n);
        r->offset += n;
        left -= n;
    }
}

static json_t *milestones(int64_t before, int64_t now, const json_t *hooks)
{
    int64_t every = sw_json_int(hooks, "epoch_milestone_interval", INTERVAL);
    json_t *list = json_array();

    while (json_array_size(list) < MILESTONES_MOST &&
           (before = sw_progress_milestone(before, now, every)) >= 0)
        json_array_append_new(list, json_integer(before));
    return list;
}

/* The mean of what was seen of its GPUs, a sample a minute: {"mean","samples","at_ms"}. Owned; NULL:
 * nothing yet. */
json_t *monitor_gpu_use(const json_t *known, const json_t *live, int64_t now_ms)
{
    const json_t *gpus = json_object_get(live, "gpus"), *gpu;
    int64_t samples = sw_json_int(known, "samples", 0);
    double mean = json_number_value(json_object_get(known, "mean")), used = 0;
    size_t i;

    json_array_foreach(gpus, i, gpu) {
        if (!json_is_number(json_object_get(gpu, "used_percent")))
            return json_incref((json_t *)known);
        used += json_number_value(json_object_get(gpu, "used_percent"));
    }
    if (json_array_size(gpus) == 0 || (samples && now_ms - sw_json_int(known, "at_ms", 0) < GPU_SAMPLE_MS))
        return json_incref((json_t *)known);
    used /= (double)json_array_size(gpus);
    return sw_json_object(SW_SUB("mean", json_real((mean * (double)samples + used) / (double)(samples + 1))),
                          SW_INT("samples", samples + 1), SW_INT("at_ms", now_ms));
}

static json_t *document_of(const struct progress_reading *r, const json_t *known,
                           const struct sw_observation *seen)
{
    json_t *document = sw_progress_json(&r->reader);
    json_t *line = r->line ? sw_json_text(r->line)
                           : json_incref(json_object_get(known, "last_line"));
    json_t *runner = seen->runner ? seen->runner
                     : r->report ? r->report : json_object_get(known, "runner");
    json_t *gpu_use = monitor_gpu_use(json_object_get(known, "gpu_use"), seen->live, sw_now_ms());

    if (!document)
        document = json_object();
    /* The unfinished line is fed again next time. */
    json_object_set_new(document, "offset", json_integer(r->offset - r->reader.pending_bytes));
    if (line)
        json_object_set_new(document, "last_line", line);
    if (seen->last_output_ms > 0)
        json_object_set_new(document, "last_output_ms", json_integer(seen->last_output_ms));
    if (seen->live)
        json_object_set(document, "live", seen->live);
    if (gpu_use)
        json_object_set_new(document, "gpu_use", gpu_use);
    if (runner)
        json_object_set(document, "runner", runner);
    if (sw_json_int(known, "idle_since_ms", 0) > 0)              /* guard.c's note */
        json_object_set(document, "idle_since_ms", json_object_get(known, "idle_since_ms"));
    return document;
}

/* A line tells that an epoch begins; the end of the job, that the last one is done. */
static void run_through(struct sw_progress_reader *reader)
{
    int64_t last = reader->now.epochs - (reader->from_zero ? 1 : 0);

    if (reader->now.epochs > 0 && reader->now.epoch >= last)
        reader->now.fraction = 1;
}

void monitor_read_progress(const struct sw_platform *platform, struct sw_connection *conn,
                           const struct sw_observation *seen, struct monitor_words *out)
{
    const struct sw_job *job = out->job;
    struct progress_reading r = {
        .log = { platform, conn, &r.ref, seen->failed_replica > 0 ? seen->failed_replica : 0 },
        .ref = sw_job_ref(job),
        .offset = sw_json_int(job->progress, "offset", 0),
        .reader = SW_PROGRESS_READER_INIT,
    };
    int64_t before;

    r.ref.finished = sw_state_is_final(seen->state);
    r.ref.best_effort = !r.ref.finished;
    sw_progress_restore(&r.reader, job->progress);
    before = r.reader.highest_epoch;
    if (out->log_end)
        take_piece(&r, out->log_end, strlen(out->log_end));
    else
        read_on(&r);
    if (sw_state_is_final(seen->state))
        sw_progress_end(&r.reader, sw_now_ms());
    if (seen->state == SW_COMPLETE)
        run_through(&r.reader);
    out->milestones = milestones(before, r.reader.highest_epoch, json_object_get(job->plan, "hooks"));
    out->document = document_of(&r, job->progress, seen);
    sw_progress_reader_done(&r.reader);
    json_decref(r.report);
    free(r.line);
}

void monitor_take_report(const struct sw_observation *seen, struct monitor_words *out)
{
    out->document = out->job->progress ? json_copy(out->job->progress) : json_object();
    json_object_set(out->document, "runner", seen->runner);
}

struct keeping {
    struct sw_store *store;
    const struct monitor_words *words;
    size_t count;
};

static int keep_all(void *context, struct sw_error *err)
{
    const struct keeping *keeping = context;

    (void)err;
    for (size_t i = 0; i < keeping->count; i++) {
        const struct monitor_words *each = &keeping->words[i];

        if (each->document)
            sw_store_progress(keeping->store, each->job->id, each->job->attempt, each->document,
                              each->milestones, NULL);
    }
    return 0;
}

void monitor_keep(struct sw_store *store, struct monitor_words *words, size_t count)
{
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        if (words[i].document && json_equal(words[i].document, words[i].job->progress))
            json_decref(sw_take(words[i].document));
        any = any || words[i].document;
    }
    if (any)
        sw_store_together(store, keep_all, &(struct keeping){ store, words, count }, NULL);
    for (size_t i = 0; i < count; i++) {
        free(words[i].log_end);
        json_decref(words[i].document);
        json_decref(words[i].milestones);
    }
}
