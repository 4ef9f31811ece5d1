/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_times.c - when the lines of a log were written.
 *
 * The command writes its log file itself, so nothing stamps its lines. The batch script notes
 * every few seconds how long each file is and when it was last written (slurm_batch_run.sh, "times"): a byte was
 * written by then, and not before the note that came before. That is what `logs -t` shows: true to 5 seconds, at
 * no cost to the job. The file's own time covers what came after the last note.
 *
 * The notes are fetched once and then only what is new of them, since a reader asks for piece after piece.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 1 << 20 };          /* bytes of notes that one question brings */

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

static struct slurm_times *times_for(struct sw_connection *conn, const struct sw_jobref *job, int replica)
{
    struct slurm_times *times;

    for (times = slurm_of(conn)->times; times; times = times->next)
        if (strcmp(times->id, job->id) == 0 && times->attempt == job->attempt &&
            times->part == job->log_attempt && times->replica == replica)
            return times;
    times = sw_new(struct slurm_times);
    snprintf(times->id, sizeof times->id, "%s", job->id);
    times->attempt = job->attempt;
    times->part = job->log_attempt;
    times->replica = replica;
    times->next = slurm_of(conn)->times;
    slurm_of(conn)->times = times;
    return times;
}

static void add(struct slurm_times *times, int64_t end, int64_t at_s)
{
    if (end <= 0 || (times->count && end <= times->ends[times->count - 1]))
        return;
    times->ends = sw_realloc_array(times->ends, times->count + 1, sizeof *times->ends);
    times->at_s = sw_realloc_array(times->at_s, times->count + 1, sizeof *times->at_s);
    times->ends[times->count] = end;
    times->at_s[times->count++] = at_s;
}

/* Lines "SIZE TIME", "from OFFSET" before them, "now SIZE TIME" and "read BYTES" behind them. True: there
 * is more. */
static bool take(struct slurm_times *times, const char *text)
{
    int64_t before = times->read;
    long long from = 0, a, b;

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (sscanf(line, "from %lld", &a) == 1)
            from = a;
        else if (sscanf(line, "now %lld %lld", &a, &b) == 2)
            times->now_end = a - from, times->now_s = b;
        else if (sscanf(line, "read %lld", &a) == 1)
            times->read = a;
        else if (sscanf(line, "%lld %lld", &a, &b) == 2)
            add(times, a - from, b);
    }
    return times->read - before >= AT_ONCE;
}

static int refresh(struct sw_connection *conn, const struct sw_jobref *job, struct slurm_times *times,
                   struct sw_error *err)
{
    bool more = true;

    while (more) {
        sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
        sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };

        if (slurm_log_script(&script, conn, job, times->replica, err) < 0)
            return -1;
        sw_buf_addf(&script, "skip=%lld\n"
                    "echo \"from $from\"\n"
                    "[ ! -f \"$state/times\" ] || {\n"
                    "    size=$(($(wc -c <\"$state/times\") - skip))\n"
                    "    [ \"$size\" -le %d ] || size=%d\n"
                    "    part=$(tail -c +$((skip + 1)) \"$state/times\" | head -c \"$size\")\n"
                    "    printf '%%s\\n' \"$part\" | sed -n \"s/^$name //p\"\n"
                    "    echo \"read $((skip + size))\"\n"
                    "}\n"
                    "stat -c 'now %%s %%Y' \"$file\" 2>/dev/null\n"
                    "exit 0\n", (long long)times->read, AT_ONCE, AT_ONCE);
        if (slurm_read(conn, script.data, &reply, err) < 0)
            return -1;
        more = take(times, sw_buf_text(&reply.output));
    }
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
    struct slurm_times *times = times_for(conn, job, replica);
    int64_t note = note_behind(times, offset);

    if (note < 0 && times->now_end <= offset) {
        if (refresh(conn, job, times, err) < 0)
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
