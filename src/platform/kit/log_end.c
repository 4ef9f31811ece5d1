/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_end.c - the end of a job's log, copied when the job is over: the platform may forget its
 * replicas a moment later.
 *
 * All jobs that ended are asked for together, and only for the last messages: a large log would
 * take seconds, and most are never read. A log that is no longer than that is complete in its spool
 * then. The end of a longer one lies beside the spool and joins it when a reader finds the replica
 * gone; a line says what is missing before it.
 *
 *     R.tail    messages, each "TIME-IN-NS LENGTH\n" and its bytes
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/parallel.h"
#include "platform/kit/log_copy.h"

enum {
    KEEP_MESSAGES = 1000,
    KEEP_BYTES = 256 * 1024,
    AT_ONCE = 8,                     /* requests under way */
    SILENCE_MS = 10000,
};

struct log_end {
    struct sw_buf messages;          /* as in the file */
    int64_t count;
    bool cut;                        /* older ones were dropped */
};

/* ---- messages as text ---------------------------------------------------------------------------
 * */

/* The next message of the text at *at; false: there is none. Its bytes are in the text. */
static bool next_message(const char *text, size_t length, size_t *at, struct sw_log_message *out)
{
    const char *line = text ? text + *at : NULL;
    const char *newline = *at < length ? memchr(line, '\n', length - *at) : NULL;
    int64_t at_ns;
    size_t size;

    if (!newline || sscanf(line, "%" SCNd64 " %zu", &at_ns, &size) != 2 ||
        size > length - (size_t)(newline + 1 - text))
        return false;
    *out = (struct sw_log_message){ .at_ns = at_ns, .bytes = newline + 1, .length = size };
    *at = (size_t)(newline + 1 - text) + size;
    return true;
}

static void drop_oldest(struct log_end *end)
{
    struct sw_log_message message;
    size_t at = 0;

    while (end->messages.length - at > KEEP_BYTES &&
           next_message(end->messages.data, end->messages.length, &at, &message))
        end->cut = true;
    memmove(end->messages.data, end->messages.data + at, end->messages.length - at);
    end->messages.length -= at;
}

static int take_message(void *context, const struct sw_log_message *message)
{
    struct log_end *end = context;

    sw_buf_addf(&end->messages, "%" PRId64 " %zu\n", message->at_ns, message->length);
    sw_buf_add_bytes(&end->messages, message->bytes, message->length);
    end->count++;
    if (end->messages.length > 2 * KEEP_BYTES)
        drop_oldest(end);
    return 0;
}

/* ---- into the spool
 * ------------------------------------------------------------------------------ */

/* Locked. A whole log begins with message 0, whatever is known of it already. */
static void add_whole(struct sw_spool *spool, const char *text, size_t length)
{
    struct sw_log_message message;
    int64_t number = 0;

    for (size_t at = 0; next_message(text, length, &at, &message);)
        sw_spool_add(spool, number++, &message);
    spool->note.done = 1;
}

/* Locked. Where the end reaches back to what the spool has, numbers tell what is known; else a line
 * says that something is missing. */
static void add_end(struct sw_spool *spool, const char *text, size_t length)
{
    static const char gap[] = "slipway: the log before this line is gone with its container\n";
    int64_t since_s = 0, next = sw_spool_resume(spool, &since_s);
    struct sw_log_message message;
    size_t at = 0;

    if (!next_message(text, length, &at, &message))
        return;
    if (message.at_ns / 1000000000 >= since_s) {
        next = spool->note.messages;
        since_s = 0;
        sw_spool_add(spool, next++, &(struct sw_log_message){
            .at_ns = message.at_ns, .bytes = gap, .length = sizeof gap - 1 });
    }
    do
        if (message.at_ns / 1000000000 >= since_s)
            sw_spool_add(spool, next++, &message);
    while (next_message(text, length, &at, &message));
    spool->note.done = 1;
}

static char *tail_path(const char *folder, int rank)
{
    return sw_format("%s/%d.tail", folder, rank);
}

static void store(const char *folder, int replica, struct log_end *end, bool misses)
{
    sw_autofree char *path = tail_path(folder, replica);
    struct sw_spool spool = SW_SPOOL_INIT;

    if (end->count >= KEEP_MESSAGES || end->cut || misses) {
        drop_oldest(end);
        sw_file_write(path, sw_buf_text(&end->messages), end->messages.length, 0600, NULL);
        return;
    }
    if (sw_spool_open(&spool, folder, replica, NULL) == 0 && sw_spool_lock(&spool, NULL) == 0) {
        if (!spool.note.done)
            add_whole(&spool, end->messages.data, end->messages.length);
        sw_spool_unlock(&spool, NULL);
    }
    sw_spool_close(&spool);
}

int sw_spool_join_end(struct sw_spool *spool, const char *folder, int replica, struct sw_error *err)
{
    sw_autofree char *path = tail_path(folder, replica), *text = NULL;
    size_t length = 0;

    if (!sw_file_exists(path))
        return 0;
    text = sw_file_read(path, 4 * KEEP_BYTES, &length, err);
    if (!text || sw_spool_lock(spool, err) < 0)
        return -1;
    if (!spool->note.done)
        add_end(spool, text, length);
    return sw_spool_unlock(spool, err) < 0 ? -1 : 1;
}

/* ---- from the platform
 * --------------------------------------------------------------------------- */

static bool is_here(const char *folder, int replica)
{
    sw_autofree char *path = tail_path(folder, replica);
    struct sw_spool spool = SW_SPOOL_INIT;
    bool here = sw_file_exists(path) ||
                (sw_spool_open(&spool, folder, replica, NULL) == 0 &&
                 sw_spool_read_note(&spool, NULL) == 0 && spool.note.done);

    sw_spool_close(&spool);
    return here;
}

/* Of several replicas one may still be in its grace when the job is over: its log is not at its
 * end. */
static void keep_end(const struct sw_log *log, int replicas)
{
    sw_autofree char *folder = sw_log_spool_folder(log);
    struct log_end end = { .messages = SW_BUF_INIT };
    struct sw_log_sink sink = { .take = take_message, .context = &end };
    struct sw_log_cursor cursor = { .last = KEEP_MESSAGES, .silence_ms = SILENCE_MS,
                                    .life = replicas > 1 ? SW_LOG_LIFE_UNKNOWN : SW_LOG_ENDED };

    if (!is_here(folder, log->replica) &&
        log->platform->log_fetch(log->conn, log->job, log->replica, &cursor, &sink, NULL) == 0 &&
        cursor.life == SW_LOG_ENDED)
        store(folder, log->replica, &end, cursor.misses);
    sw_buf_done(&end.messages);
}

struct log_ends {
    const struct sw_platform *platform;
    struct sw_connection *conn;
    const struct sw_jobref *const *jobs;
};

static void keep_ends_of(void *context, size_t index)
{
    const struct log_ends *ends = context;
    const struct sw_jobref *job = ends->jobs[index];
    int replicas = (int)sw_json_int(job->plan, "nodes", 1);

    for (int replica = 0; replica < replicas; replica++)
        keep_end(&(struct sw_log){ ends->platform, ends->conn, job, replica }, replicas);
}

void sw_log_keep_ends(const struct sw_platform *platform, struct sw_connection *conn,
                      const struct sw_jobref *const *jobs, size_t count)
{
    sw_parallel(count, AT_ONCE, keep_ends_of, &(struct log_ends){ platform, conn, jobs });
}
