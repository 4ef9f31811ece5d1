/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_log.c - the log of one rank, by offset, from the shared file system (slurm_log.sh), and when its
 * lines were written.
 *
 * Rank 0 writes into the file that Slurm opened for the batch script, so that what happens before the command
 * (an image being converted, a requeue) is in the same stream, in order. The others have files of their own.
 * Everything is appended, over all attempts that the job makes by itself.
 *
 * The command writes its log file itself, so nothing stamps its lines. The batch script notes every few
 * seconds how long each file is and when it was last written (slurm_batch_run.sh, "times"): a byte was
 * written by then, and not before the note that came before. That is what `logs -t` shows: true to 5 seconds,
 * at no cost to the job. The file's own time covers what came after the last note. The notes are fetched once
 * and then only what is new of them, since a reader asks for piece after piece.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { GONE = 66, NOTES_AT_ONCE = 1 << 20 };         /* log_read: no folder of logs; bytes of notes */

int slurm_replicas_of(const struct sw_jobref *job)
{
    int64_t count = sw_json_int(job->details, "replicas", 0);

    return (int)(count > 0 ? count : sw_json_int(job->plan, "nodes", 1));
}

char *slurm_log_name(const struct sw_jobref *job, int replica)
{
    if (slurm_is_array(job))
        return sw_format("main.%d.out", replica);
    return replica == 0 ? sw_strdup("main.out") : sw_format("%d.out", replica);
}

/* One call of slurm_log.sh about one rank's log. */
static int ask(struct sw_connection *conn, const struct sw_jobref *job, int replica, const char *call,
               struct sw_ssh_reply *reply, struct sw_error *err)
{
    sw_auto(slurm_names) struct slurm_names names = { 0 };
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    sw_autofree char *name = slurm_log_name(job, replica);
    bool is_array = slurm_is_array(job);

    if (slurm_names_of(conn, job, &names, err) < 0)
        return -1;
    if (replica < 0 || replica >= slurm_replicas_of(job))
        return sw_fail(err, SW_E_NOT_FOUND, "job '%s' has no rank %d", job->id, replica);
    slurm_set(&script, "state", names.state);
    slurm_set(&script, "logs", names.logs);
    slurm_set(&script, "name", name);
    slurm_set_number(&script, "part", is_array ? 0 : job->log_attempt);
    if (is_array)
        slurm_set_number(&script, "task", replica);
    else
        slurm_set(&script, "task", NULL);
    slurm_text_add(&script, SLURM_TEXT_LOG);
    sw_buf_addf(&script, "%s\n", call);
    return slurm_read(conn, script.data, reply, err);
}

ssize_t slurm_log_read(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                       int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    sw_autofree char *call = sw_format("log_read %lld %zu", (long long)offset, size);
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    size_t got;

    if (ask(conn, job, replica, call, &reply, err) < 0)
        return -1;
    if (reply.exit_code == GONE && job->finished)
        return sw_fail(err, SW_E_NOT_FOUND, "the log of '%s' is gone: its folder on the cluster was removed",
                       job->id);
    got = reply.output.length < size ? reply.output.length : size;
    if (got)
        memcpy(bytes, reply.output.data, got);
    return (ssize_t)got;
}

/* The number of the only record. */
static int ask_number(struct sw_connection *conn, const struct sw_jobref *job, int replica, const char *call,
                      int64_t *number, struct sw_error *err)
{
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct slurm_records records;
    struct slurm_record record;

    if (ask(conn, job, replica, call, &reply, err) < 0)
        return -1;
    records = slurm_records_of(&reply.output);
    *number = slurm_record_next(&records, &record) ? strtoll(record.rest, NULL, 10) : 0;
    return 0;
}

int slurm_log_size(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t *size,
                   struct sw_error *err)
{
    return ask_number(conn, job, replica, "log_size", size, err);
}

int slurm_log_since(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t at_ms,
                    int64_t *offset, struct sw_error *err)
{
    sw_autofree char *call = sw_format("log_since %lld", (long long)(at_ms / 1000));

    return ask_number(conn, job, replica, call, offset, err);
}

/* ---- times ---------------------------------------------------------------------------------------- */

struct slurm_times {                 /* of one rank's log */
    struct slurm_times *next;
    char id[SW_ID_SIZE];
    int attempt, part, replica;
    int64_t read;                    /* bytes of the notes that are known */
    int64_t *ends, *at_s;            /* up to this byte it was written by then */
    size_t count;
    int64_t now_end, now_s;          /* the same of the file as it is */
};

void slurm_times_free(struct slurm_times *times)
{
    while (times) {
        struct slurm_times *next = times->next;

        free(times->ends);
        free(times->at_s);
        free(times);
        times = next;
    }
}

static struct slurm_times *times_for(struct slurm_connection *slurm, const struct sw_jobref *job, int replica)
{
    struct slurm_times *times;

    for (times = slurm->times; times; times = times->next)
        if (strcmp(times->id, job->id) == 0 && times->attempt == job->attempt &&
            times->part == job->log_attempt && times->replica == replica)
            return times;
    times = sw_new(struct slurm_times);
    snprintf(times->id, sizeof times->id, "%s", job->id);
    times->attempt = job->attempt;
    times->part = job->log_attempt;
    times->replica = replica;
    times->next = slurm->times;
    slurm->times = times;
    return times;
}

static void add_note(struct slurm_times *times, int64_t end, int64_t at_s)
{
    if (end <= 0 || (times->count && end <= times->ends[times->count - 1]))
        return;
    times->ends = sw_realloc_array(times->ends, times->count + 1, sizeof *times->ends);
    times->at_s = sw_realloc_array(times->at_s, times->count + 1, sizeof *times->at_s);
    times->ends[times->count] = end;
    times->at_s[times->count++] = at_s;
}

static void read_notes(struct slurm_times *times, struct sw_buf *answer)
{
    struct slurm_records records = slurm_records_of(answer);
    struct slurm_record record;
    int64_t from = 0;

    while (slurm_record_next(&records, &record)) {
        int64_t first = strtoll(slurm_field(&record), NULL, 10), at_s = strtoll(record.rest, NULL, 10);

        if (sw_text_same(record.kind, "from"))
            from = first;
        else if (sw_text_same(record.kind, "note"))
            add_note(times, first - from, at_s);
        else if (sw_text_same(record.kind, "now"))
            times->now_end = first - from, times->now_s = at_s;
        else if (sw_text_same(record.kind, "read"))
            times->read = first;
    }
}

static int read_times(struct sw_connection *conn, const struct sw_jobref *job, struct slurm_times *times,
                      struct sw_error *err)
{
    int64_t before;

    do {
        sw_autofree char *call = sw_format("log_times %lld %d", (long long)times->read, NOTES_AT_ONCE);
        sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

        before = times->read;
        if (ask(conn, job, times->replica, call, &reply, err) < 0)
            return -1;
        read_notes(times, &reply.output);
    } while (times->read - before >= NOTES_AT_ONCE);
    return 0;
}

/* The first note behind the byte; -1: none is. */
static int64_t note_behind(const struct slurm_times *times, int64_t offset)
{
    size_t low = 0, high = times->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (times->ends[middle] > offset)
            high = middle;
        else
            low = middle + 1;
    }
    return low < times->count ? (int64_t)low : -1;
}

int slurm_log_time(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t offset,
                   int64_t *at_ms, int64_t *until, struct sw_error *err)
{
    struct slurm_times *times = times_for(slurm_of(conn), job, replica);
    int64_t note = note_behind(times, offset);

    if (note < 0 && times->now_end <= offset) {
        if (read_times(conn, job, times, err) < 0)
            return -1;
        note = note_behind(times, offset);
    }
    if (note >= 0) {
        *at_ms = times->at_s[note] * 1000;
        *until = times->ends[note];
    } else {
        *at_ms = times->now_end > offset ? times->now_s * 1000 : 0;
        *until = times->now_end > offset ? times->now_end : offset;
    }
    return 0;
}
