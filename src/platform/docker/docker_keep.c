/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_keep.c - the end of a job's log, copied when the job is over: its containers may be pruned a
 * moment later.
 *
 * All jobs that ended are asked for at once, one request for each rank, and only for the last lines: a
 * large log would take seconds and most are never read. A log that is no longer than that is whole in its
 * spool then, and the engine is not asked for it again. Of a longer one the end lies beside the spool and
 * joins it when a reader finds the container gone; a line says what is missing before it.
 *
 *     R.tail    messages, each "TIME-IN-NS LENGTH\n" and its bytes
 */
#include "platform/docker/docker_keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "platform/docker/docker_events.h"
#include "platform/docker/docker_observe.h"

enum {
    KEEP_LINES = 1000,
    KEEP_BYTES = 256 * 1024,
    AT_ONCE = 16,                    /* requests under way */
    PATIENCE_MS = 10000,             /* for all of those together */
    A_MOMENT_MS = 100,
    TAIL_BYTES = 65536,              /* that evidence shows */
};

struct keeping {
    const struct sw_jobref *job;
    int rank;
    struct docker_frames frames;
    struct sw_buf messages;          /* as in the file */
    int64_t count;
    bool cut;                        /* older ones were dropped */
    bool answered;
};

static char *spool_folder(const struct sw_connection *conn, const struct sw_jobref *job)
{
    sw_autofree char *attempt = docker_attempt_folder(conn, job->id, job->attempt);

    return sw_path_join(attempt, "logs");
}

/* ---- messages as text --------------------------------------------------------------------------- */

/* The next message of the text at *at; false: there is none. Its bytes are in the text. */
static bool next_message(const char *text, size_t length, size_t *at, struct docker_message *out)
{
    const char *line = text ? text + *at : NULL;
    const char *end = *at < length ? memchr(line, '\n', length - *at) : NULL;
    int64_t at_ns;
    size_t size;

    if (!end || sscanf(line, "%" SCNd64 " %zu", &at_ns, &size) != 2 ||
        size > length - (size_t)(end + 1 - text))
        return false;
    *out = (struct docker_message){ .at_ns = at_ns, .stream = 1, .bytes = end + 1, .length = size };
    *at = (size_t)(end + 1 - text) + size;
    return true;
}

static void drop_oldest(struct keeping *keeping)
{
    struct docker_message message;
    size_t at = 0;

    while (keeping->messages.length - at > KEEP_BYTES &&
           next_message(keeping->messages.data, keeping->messages.length, &at, &message))
        keeping->cut = true;
    memmove(keeping->messages.data, keeping->messages.data + at, keeping->messages.length - at);
    keeping->messages.length -= at;
}

static int keep_message(void *context, const struct docker_message *message)
{
    struct keeping *keeping = context;
    size_t length = docker_is_report(message, keeping->job->id) ? 0 : message->length;

    sw_buf_addf(&keeping->messages, "%" PRId64 " %zu\n", message->at_ns, length);
    sw_buf_add_bytes(&keeping->messages, message->bytes, length);
    keeping->count++;
    if (keeping->messages.length > 2 * KEEP_BYTES)
        drop_oldest(keeping);
    return 0;
}

static int take_bytes(void *context, const struct sw_http_reply *so_far, const char *bytes,
                      size_t length)
{
    struct keeping *keeping = context;

    (void)so_far;
    return docker_frames_feed(&keeping->frames, bytes, length);
}

/* ---- into the spool ------------------------------------------------------------------------------ */

/* Locked. A whole log begins with message 0, whatever is known of it already. */
static void add_whole(struct docker_spool *spool, const char *text, size_t length)
{
    struct docker_message message;
    int64_t number = 0;

    for (size_t at = 0; next_message(text, length, &at, &message);)
        docker_spool_add(spool, number++, &message);
    spool->note.done = 1;
}

/* Locked. Where the end reaches back to what the spool has, numbers tell what is known; else a line says
 * that something is missing. */
static void add_end(struct docker_spool *spool, const char *text, size_t length)
{
    static const char gap[] = "slipway: the log before this line is gone with its container\n";
    int64_t since_s = 0, next = docker_spool_resume(spool, &since_s);
    struct docker_message message;
    size_t at = 0;

    if (!next_message(text, length, &at, &message))
        return;
    if (message.at_ns / 1000000000 >= since_s) {
        next = spool->note.messages;
        since_s = 0;
        docker_spool_add(spool, next++, &(struct docker_message){
            .at_ns = message.at_ns, .stream = 2, .bytes = gap, .length = sizeof gap - 1 });
    }
    do
        if (message.at_ns / 1000000000 >= since_s)
            docker_spool_add(spool, next++, &message);
    while (next_message(text, length, &at, &message));
    spool->note.done = 1;
}

static char *tail_path(const char *folder, int rank)
{
    return sw_format("%s/%d.tail", folder, rank);
}

static void store(const struct sw_connection *conn, struct keeping *keeping)
{
    sw_autofree char *folder = spool_folder(conn, keeping->job);
    sw_autofree char *path = tail_path(folder, keeping->rank);
    struct docker_spool spool = DOCKER_SPOOL_INIT;
    bool whole = keeping->count < KEEP_LINES && !keeping->cut;

    if (!whole) {
        drop_oldest(keeping);
        sw_file_write(path, sw_buf_text(&keeping->messages), keeping->messages.length, 0600, NULL);
        return;
    }
    if (docker_spool_open(&spool, folder, keeping->rank, NULL) == 0 &&
        docker_spool_lock(&spool, NULL) == 0) {
        if (!spool.note.done)
            add_whole(&spool, keeping->messages.data, keeping->messages.length);
        docker_spool_unlock(&spool, NULL);
    }
    docker_spool_close(&spool);
}

int docker_keep_take(struct docker_spool *spool, const char *folder, int rank, struct sw_error *err)
{
    sw_autofree char *path = tail_path(folder, rank), *text = NULL;
    size_t length = 0;

    if (!sw_file_exists(path))
        return 0;
    text = sw_file_read(path, 4 * KEEP_BYTES, &length, err);
    if (!text || docker_spool_lock(spool, err) < 0)
        return -1;
    if (!spool->note.done)
        add_end(spool, text, length);
    return docker_spool_unlock(spool, err) < 0 ? -1 : 1;
}

/* ---- for evidence --------------------------------------------------------------------------------- */

/* What is left of it here, when the engine has forgotten the container. */
char *docker_spool_tail(struct sw_connection *conn, const struct sw_jobref *job, int replica, bool *gone)
{
    sw_autofree char *bytes = sw_alloc(TAIL_BYTES);
    struct sw_jobref ended = *job;
    struct sw_error why = { 0 };
    int64_t size = 0, at;
    ssize_t n;

    ended.finished = true;
    *gone = false;
    if (docker_log_size(conn, &ended, replica, &size, NULL) < 0)
        return NULL;
    at = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
    n = docker_read_log(conn, &ended, replica, at, bytes, TAIL_BYTES, &why);
    *gone = n < 0 && why.code == SW_E_NOT_FOUND;
    return n > 0 ? sw_text_utf8(bytes, (size_t)n) : NULL;
}

/* ---- from the engine ----------------------------------------------------------------------------- */

static bool is_here(const struct sw_connection *conn, const struct sw_jobref *job, int rank)
{
    sw_autofree char *folder = spool_folder(conn, job), *path = tail_path(folder, rank);
    struct docker_spool spool = DOCKER_SPOOL_INIT;
    bool here = sw_file_exists(path);

    if (!here && docker_spool_open(&spool, folder, rank, NULL) == 0 &&
        docker_spool_lock(&spool, NULL) == 0) {
        here = spool.note.done;
        docker_spool_unlock(&spool, NULL);
    }
    docker_spool_close(&spool);
    return here;
}

static void finished(void *context, const struct docker_answer *answer)
{
    struct keeping *keeping = context;

    keeping->answered = !answer->error.code;
}

static int send(struct docker_api *api, struct keeping *keeping, int nodes, struct sw_error *err)
{
    char name[DOCKER_NAME_SIZE];
    sw_autofree char *what = sw_format("/logs?stdout=1&stderr=1&timestamps=1&tail=%d", KEEP_LINES);
    sw_autofree char *path = NULL;

    docker_name(name, keeping->job->id, keeping->job->attempt, nodes, keeping->rank);
    path = docker_path("/containers/", name, what);
    keeping->frames = (struct docker_frames){ .take = keep_message, .context = keeping,
                                              .stamped = true };
    return docker_send(api, &(struct docker_call){ .path = path, .sink = take_bytes,
                                                   .sink_context = keeping }, finished, keeping, err);
}

/* Wait for those under way, and put away what came. A log that did not come is asked for by its reader. */
static void collect(struct sw_connection *conn, struct docker_api *api, struct keeping *all, size_t count)
{
    int64_t until = sw_monotonic_ms() + PATIENCE_MS;

    while (docker_busy(api) > 0 && sw_monotonic_ms() < until)
        if (docker_work(api, A_MOMENT_MS, NULL) < 0)
            break;
    for (size_t i = 0; i < count; i++) {
        docker_drop(api, &all[i]);
        if (all[i].answered)
            store(conn, &all[i]);
        docker_frames_done(&all[i].frames);
        sw_buf_done(&all[i].messages);
        all[i] = (struct keeping){ .messages = SW_BUF_INIT };
    }
}

/* Of several ranks one may still be in its grace when the job is over. */
static bool all_over(struct sw_connection *conn, struct docker_api *api, const struct sw_jobref *job)
{
    sw_auto(json) json_t *list = docker_list_now(conn, api, job->id, NULL);
    json_t *container;
    size_t i;

    json_array_foreach(list, i, container)
        if (!docker_is_over(sw_json_str(container, "State")))
            return false;
    return list != NULL;
}

void docker_keep_logs(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count)
{
    sw_auto(docker_lent) struct docker_lent lent = { 0 };
    struct keeping under_way[AT_ONCE] = { 0 };
    size_t sent = 0;

    if (docker_borrow(conn, &lent, NULL) < 0)
        return;
    for (size_t i = 0; i < count; i++) {
        int nodes = (int)sw_json_int(jobs[i]->plan, "nodes", 1);

        if (nodes > 1 && !all_over(conn, lent.api, jobs[i]))
            continue;
        for (int rank = 0; rank < nodes; rank++) {
            if (is_here(conn, jobs[i], rank))
                continue;
            under_way[sent] = (struct keeping){ .job = jobs[i], .rank = rank,
                                                .messages = SW_BUF_INIT };
            sent += send(lent.api, &under_way[sent], nodes, NULL) == 0;
            if (sent == AT_ONCE) {
                collect(conn, lent.api, under_way, sent);
                sent = 0;
            }
        }
    }
    collect(conn, lent.api, under_way, sent);
}
