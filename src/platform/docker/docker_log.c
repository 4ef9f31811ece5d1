/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_log.c - a rank's log by offset and by time: served from the spool, which is extended from the
 * engine when somebody reads at its end.
 *
 * The first time everything the engine has is fetched in one go. Who reads on while the job runs gets
 * a connection that stays open, so that following costs what is written and nothing more. All of it is
 * here when a fetch that began after the container's end is through; from then on the engine is
 * not asked again, and may have forgotten the container.
 *
 * An answer that is cut is worth what came of it: the next one begins at the time of the last messages
 * that it brought, to the nanosecond, whether they were new or not. So a connection that ends every answer
 * early still gets through a second that holds more than one answer; and where nothing at all comes of
 * it, the pauses grow, and it ends.
 */
#include "platform/docker/docker_spool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/text.h"
#include "core/log_index.h"
#include "platform/docker/docker_events.h"
#include "platform/docker/docker_keep.h"
#include "platform/docker/docker_observe.h"

enum {
    STREAMS_MOST = 64,
    AT_ONCE = 4 * 1024 * 1024,       /* bytes that one read may add */
    IN_PASSING_MS = 2000,            /* how long a look at many jobs may stay with one log */
    ONE_LOOK_MS = 500,               /* it reads in pieces, and asks the engine once */
    INCOMING_MOST = 256 * 1024,
    A_MOMENT_MS = 5,
    TIMES_MOST = 256,                /* of messages that came last */
    PAUSE_MS = 50, PAUSE_MOST_MS = 2000,
    FRUITLESS_MOST = 16,             /* answers in a row that brought nothing */
};

struct stream {
    char *folder;                    /* which spool */
    int replica;
    char name[DOCKER_NAME_SIZE];     /* which container */
    char job[SW_ID_SIZE];
    struct sw_connection *conn;
    struct docker_lent lent;         /* a client, while the engine is asked or followed */
    struct docker_spool spool;
    struct docker_frames frames;
    struct sw_buf incoming;          /* not cut into messages yet */
    int64_t next;                    /* number of the message that comes next */
    bool caught_up, follows, over;
    bool job_over;                   /* as the reader knows */
    int64_t until_ms;                /* when a look in passing has enough; 0: not before the end */
    int64_t known;                   /* messages in the spool when the engine was asked */
    int64_t looked_ms;               /* when the last one was */
    int64_t since_s, first_s;        /* of a tail: older messages are known; -1: none came yet */
    int64_t since_ns;                /* what this fetch asked for */
    int64_t times[TIMES_MOST], took; /* of the messages that came of it */
    int64_t hop_ns, hop_next;        /* where the next one goes on after a cut; 0: by the note */
    bool answered;                   /* something came of this fetch */
    int fruitless;                   /* answers that brought nothing new */
    int64_t pause_ms, again_ms;      /* not asked before then */
    bool asks_clock, set_back;       /* the engine's, in this fetch */
    struct sw_error failure;         /* of the connection that followed */
    int64_t used_ms;
};

struct docker_streams {
    pthread_mutex_t lock;
    struct stream *all[STREAMS_MOST];
};

static void stream_free(struct stream *stream)
{
    if (!stream)
        return;
    if (stream->lent.api)
        docker_drop(stream->lent.api, stream);
    docker_give_back(&stream->lent);
    docker_spool_close(&stream->spool);
    docker_frames_done(&stream->frames);
    sw_buf_done(&stream->incoming);
    free(stream->folder);
    free(stream);
}

struct docker_streams *docker_streams_open(void)
{
    struct docker_streams *streams = sw_new(struct docker_streams);

    pthread_mutex_init(&streams->lock, NULL);
    return streams;
}

void docker_streams_close(struct docker_streams *streams)
{
    if (!streams)
        return;
    for (size_t i = 0; i < STREAMS_MOST; i++)
        stream_free(streams->all[i]);
    pthread_mutex_destroy(&streams->lock);
    free(streams);
}

/* ---- from the engine to the spool ------------------------------------------------------------ */

static int take_message(void *context, const struct docker_message *message)
{
    struct stream *stream = context;
    struct docker_message shown = *message;

    if (docker_is_report(message, stream->job))
        shown.length = 0;                    /* it counts, and is not shown */
    stream->times[stream->took++ % TIMES_MOST] = message->at_ns;
    docker_spool_add(&stream->spool, stream->next++, &shown);
    return 0;
}

/* The engine sends line by line; the spool is opened, locked and written for many at once. */
static int write_incoming(struct stream *stream)
{
    int cut;

    if (stream->incoming.length == 0)
        return 0;
    if (docker_spool_lock(&stream->spool, &stream->failure) < 0)
        return -1;
    cut = docker_frames_feed(&stream->frames, stream->incoming.data, stream->incoming.length);
    sw_buf_clear(&stream->incoming);
    return docker_spool_unlock(&stream->spool, &stream->failure) < 0 || cut ? -1 : 0;
}

/* Each look in passing must get further than the one before, or it would never arrive. */
static bool has_enough(const struct stream *stream)
{
    return stream->until_ms && sw_monotonic_ms() > stream->until_ms &&
           stream->spool.note.messages > stream->known;
}

/* A clock of this machine that nobody sets, and since which start of it. */
static int64_t machine_clock(uint64_t *boot)
{
    struct sw_proc self;
    struct timespec now;

    *boot = sw_proc_self(&self) == 0 ? docker_hash(self.boot_id, strlen(self.boot_id)) : 1;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Each answer tells the engine's time. -1: it was set back, this fetch is of no use. */
static int look_at_clock(struct stream *stream, int64_t engine_ms)
{
    uint64_t boot;
    int64_t machine_ms = machine_clock(&boot);

    stream->asks_clock = false;
    if (engine_ms <= 0 || docker_spool_lock(&stream->spool, &stream->failure) < 0)
        return 0;
    stream->set_back = docker_spool_clock(&stream->spool, engine_ms, machine_ms, boot);
    return docker_spool_unlock(&stream->spool, &stream->failure) < 0 || stream->set_back ? -1 : 0;
}

static int take_bytes(void *context, const struct sw_http_reply *so_far, const char *bytes,
                      size_t length)
{
    struct stream *stream = context;

    if (stream->asks_clock && look_at_clock(stream, so_far->date_ms) < 0)
        return -1;
    stream->answered = true;
    sw_buf_add_bytes(&stream->incoming, bytes, length);
    if (stream->incoming.length < INCOMING_MOST)
        return 0;
    return write_incoming(stream) < 0 || has_enough(stream);
}

/* ---- after a cut ----------------------------------------------------------------------------- */

static int64_t time_back(const struct stream *stream, int64_t back)      /* 1: the last one */
{
    return stream->times[(stream->took - back) % TIMES_MOST];
}

/* Two streams may be noted in another order than their times: the last quarter of what came is asked for
 * again, or the last message alone when that would be no step ahead. */
static int64_t hop_time(const struct stream *stream, int64_t came)
{
    int64_t from = INT64_MAX;

    for (int64_t back = 1; back <= (came + 3) / 4; back++)
        from = time_back(stream, back) < from ? time_back(stream, back) : from;
    return from > stream->since_ns ? from : time_back(stream, 1);
}

static bool hop(struct stream *stream)
{
    int64_t came = stream->took < TIMES_MOST ? stream->took : TIMES_MOST, from, again = 0;

    if (came < 2 || stream->spool.note.unsorted || docker_api_is_podman(stream->lent.api))
        return false;
    from = hop_time(stream, came);
    if (from <= stream->since_ns)
        return false;
    for (int64_t back = 1; back <= came; back++)
        again += time_back(stream, back) >= from;
    stream->hop_ns = from;
    stream->hop_next = stream->next - again;
    return true;
}

/* A fetch failed. What it brought is kept; the next one waits the longer, the less that was. */
static void note_cut(struct stream *stream, struct sw_error *why)
{
    bool ahead = hop(stream) || stream->spool.note.messages > stream->known;

    if (!ahead)
        stream->hop_ns = 0;
    stream->pause_ms = ahead ? 0 : stream->pause_ms ? 2 * stream->pause_ms : PAUSE_MS;
    if (stream->pause_ms > PAUSE_MOST_MS)
        stream->pause_ms = PAUSE_MOST_MS;
    stream->again_ms = sw_monotonic_ms() + stream->pause_ms;
    stream->fruitless = ahead ? 0 : stream->fruitless + stream->answered;
    if (stream->fruitless >= FRUITLESS_MOST)
        sw_fail(why, SW_E_IO, "the log of '%s' cannot be read: every answer of the engine ends before "
                "anything new comes", stream->name);
}

/* Where to go on: the number and the time of the message that is to come first. */
static int resume(struct stream *stream, docker_message_fn *take, bool may_hop, struct sw_error *err)
{
    docker_frames_done(&stream->frames);
    sw_buf_clear(&stream->incoming);
    stream->failure = (struct sw_error){ 0 };
    stream->frames = (struct docker_frames){ .take = take, .context = stream, .stamped = true };
    if (docker_spool_lock(&stream->spool, err) < 0)
        return -1;
    stream->known = stream->spool.note.messages;
    stream->next = docker_spool_resume(&stream->spool, &stream->since_s);
    stream->since_ns = stream->since_s * 1000000000;
    stream->took = 0;
    stream->answered = false;
    if (may_hop && stream->hop_ns > stream->since_ns) {
        stream->since_ns = stream->hop_ns;
        stream->next = stream->hop_next;
    }
    return docker_spool_unlock(&stream->spool, err);
}

static char *logs_path(struct stream *stream, bool follow, struct sw_error *err)
{
    sw_autofree char *before = docker_path("/containers/", stream->name, "/logs");

    if (resume(stream, take_message, true, err) < 0)
        return NULL;
    return sw_format("%s?stdout=1&stderr=1&timestamps=1&follow=%d&since=%lld.%09lld", before, follow,
                     (long long)(stream->since_ns / 1000000000),
                     (long long)(stream->since_ns % 1000000000));
}

static int fetch(struct stream *stream, const char *path, struct sw_error *err)
{
    struct docker_call call = { .path = path, .sink = take_bytes, .sink_context = stream,
                                .stall_ms = stream->until_ms ? IN_PASSING_MS : DOCKER_LONG_MS,
                                .silence_counts = stream->until_ms != 0 };

    struct sw_error why = { 0 };
    int result;

    stream->asks_clock = true;
    stream->set_back = false;
    result = docker_ask(stream->lent.api, &call, NULL, &why);
    if (!stream->set_back && write_incoming(stream) < 0)         /* of a cut one, what came */
        result = -1;
    if (result == 0) {
        stream->hop_ns = stream->pause_ms = 0;
        stream->fruitless = 0;
        return 0;
    }
    if (why.code == SW_E_UNREACHABLE)
        note_cut(stream, &why);
    if (err)
        *err = why;
    return -1;
}

static int fetch_once(struct stream *stream, struct sw_error *err)
{
    sw_autofree char *path = logs_path(stream, false, err);

    return path ? fetch(stream, path, err) : -1;
}

/* Again after a cut that brought us further, and when the engine's clock was set back: from the beginning
 * then, which cannot be said twice. */
static bool goes_on(const struct stream *stream, const struct sw_error *why)
{
    return stream->set_back ||
           (why->code == SW_E_UNREACHABLE && stream->pause_ms == 0 && !stream->until_ms);
}

static int fetch_all(struct stream *stream, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int result;

    while ((result = fetch_once(stream, &why)) < 0 && goes_on(stream, &why))
        why = (struct sw_error){ 0 };
    if (result == 0)
        return 0;
    if (!why.code)
        sw_fail(&why, SW_E_UNREACHABLE, "the engine's answer is no log");
    if (strstr(why.message, "does not support reading"))
        sw_hint(&why, "the log driver of the container keeps no log that can be read: use "
                "'log_driver: local'");
    if (err)
        *err = stream->failure.code ? stream->failure : why;
    return -1;
}

/* A message of a tail. The first one tells whether the tail reaches back to what is known; a stream
 * may be noted some seconds later than its time. */
static int take_of_tail(void *context, const struct docker_message *message)
{
    struct stream *stream = context;
    int64_t at_s = message->at_ns / 1000000000;

    if (stream->first_s < 0)
        stream->first_s = at_s;
    if (stream->first_s >= stream->since_s - SPOOL_OVERLAP_S)
        return -1;
    return at_s < stream->since_s ? 0 : take_message(stream, message);
}

/* To give what came since a time, an engine reads the whole log. Its end is cheap, and enough for
 * whoever looked not long ago. False: it is not, or the engine would not say. */
static bool fetch_tail(struct stream *stream)
{
    sw_autofree char *path = docker_path("/containers/", stream->name,
                                         "/logs?stdout=1&stderr=1&timestamps=1&tail=200");

    stream->first_s = -1;
    return resume(stream, take_of_tail, false, NULL) == 0 && stream->since_s > 0 &&
           fetch(stream, path, NULL) == 0;
}

/* What can be had at once. That there is more, or that the engine takes its time, is no failure. */
static int catch_up_in_passing(struct stream *stream, struct sw_error *err)
{
    struct sw_error why = { 0 };

    stream->until_ms = sw_monotonic_ms() + IN_PASSING_MS;
    stream->caught_up = fetch_tail(stream) || fetch_all(stream, &why) == 0;
    stream->until_ms = 0;
    stream->looked_ms = sw_monotonic_ms();
    if (!stream->caught_up && why.code != SW_E_INTERRUPTED && why.code != SW_E_TIMEOUT &&
        why.code != SW_E_NOT_FOUND) {
        if (err)
            *err = why;
        return -1;
    }
    return 0;
}

static void mark_done(struct stream *stream)
{
    if (docker_spool_lock(&stream->spool, NULL) < 0)
        return;
    stream->spool.note.done = 1;
    docker_spool_unlock(&stream->spool, NULL);
}

enum life { GONE, NOT_BEGUN, ALIVE, OVER };      /* of a container */

/* What the event stream told is not asked again. -1 + err. */
static int look_at_life(struct stream *stream, enum docker_told told, struct sw_error *err)
{
    struct sw_error why = { 0 };
    sw_auto(json) json_t *found = NULL;
    const char *status;

    if (told == DOCKER_TOLD_OVER)
        return OVER;
    found = docker_inspect(stream->lent.api, stream->name, &why);
    status = sw_json_str(json_object_get(found, "State"), "Status");
    if (found)
        return sw_text_same(status, "created") ? NOT_BEGUN : docker_is_over(status) ? OVER : ALIVE;
    if (why.code == SW_E_NOT_FOUND)
        return GONE;
    if (err)
        *err = why;
    return -1;
}

/* What was kept of it when it ended. To a reader who knows that the job is over, nothing is "gone". */
static int take_kept(struct stream *stream, bool over, struct sw_error *err)
{
    int taken = docker_keep_take(&stream->spool, stream->folder, stream->replica, err);

    if (taken != 0 || !over)
        return taken < 0 ? -1 : 0;
    sw_fail(err, SW_E_NOT_FOUND, "%s of container '%s' is gone, and the container with it",
            stream->spool.note.bytes > 0 ? "the end of the log" : "the log", stream->name);
    return sw_hint(err, "a job that is watched to its end keeps its log: `slipway wait`, or the watcher");
}

/* Everything that is there now. A container that was never started has nothing more. */
static int catch_up(struct stream *stream, enum docker_told told, struct sw_error *err)
{
    struct sw_error why = { 0 };
    int life = look_at_life(stream, told, err);

    if (life == GONE)
        return take_kept(stream, stream->job_over, err);
    if (life < ALIVE)
        return life < 0 ? -1 : 0;
    stream->over = life == OVER;
    if (fetch_all(stream, &why) < 0) {
        if (why.code == SW_E_NOT_FOUND)
            return take_kept(stream, stream->job_over, err);
        if (err)
            *err = why;
        return -1;
    }
    stream->caught_up = true;
    if (stream->over)
        mark_done(stream);
    return 0;
}

static int look_whether_over(struct stream *stream, enum docker_told told, struct sw_error *err)
{
    int life = told == DOCKER_TOLD_ALIVE ? ALIVE : look_at_life(stream, told, err);

    if (life < 0)
        return -1;
    if (life == ALIVE || life == NOT_BEGUN)
        return 0;
    docker_drop(stream->lent.api, stream);
    stream->follows = stream->caught_up = false;
    return catch_up(stream, life == OVER ? DOCKER_TOLD_OVER : told, err);
}

/* It ended with the container, or was cut: in both cases the next read catches up anew. */
static void on_follow_over(void *context, const struct docker_answer *answer)
{
    struct stream *stream = context;

    (void)answer;
    stream->follows = false;
    stream->caught_up = false;
}

static int begin_to_follow(struct stream *stream, struct sw_error *err)
{
    sw_autofree char *path = logs_path(stream, true, err);

    stream->asks_clock = false;              /* its first byte may come much later than its head */
    if (!path || docker_send(stream->lent.api, &(struct docker_call){
            .path = path, .sink = take_bytes, .sink_context = stream, .stall_ms = -1 },
            on_follow_over, stream, err) < 0)
        return -1;
    stream->follows = true;
    return 0;
}

static int64_t size_now(const struct stream *stream)
{
    struct stat info;

    return fstat(stream->spool.log, &info) == 0 ? info.st_size : 0;
}

/* Silence may mean that there is nothing, or that it is on its way. While the container runs that is
 * the same to the reader; when it is over, "nothing more" must be true: the rest is fetched. */
static int follow_on(struct stream *stream, enum docker_told told, bool best_effort,
                     struct sw_error *err)
{
    int64_t begun = size_now(stream), before, now = begun;

    if (!stream->follows && begin_to_follow(stream, err) < 0)
        return -1;
    do {
        before = now;
        docker_work(stream->lent.api, A_MOMENT_MS, NULL);
        write_incoming(stream);
        now = size_now(stream);
    } while (stream->follows && now > before && now - begun < AT_ONCE);
    if (now > begun || best_effort)
        return 0;
    return stream->caught_up ? look_whether_over(stream, told, err) : catch_up(stream, told, err);
}

/* ---- which stream ---------------------------------------------------------------------------- */

static char *spool_folder(const struct sw_connection *conn, const struct sw_jobref *job)
{
    sw_autofree char *attempt = docker_attempt_folder(conn, job->id, job->attempt);

    return sw_path_join(attempt, "logs");
}

static struct stream *stream_new(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                                 char *folder, struct sw_error *err)
{
    struct stream *stream = sw_new(struct stream);

    stream->conn = conn;
    stream->folder = folder;
    stream->replica = replica;
    snprintf(stream->job, sizeof stream->job, "%s", job->id);
    docker_name(stream->name, job->id, job->attempt, (int)sw_json_int(job->plan, "nodes", 1),
                replica);
    if (docker_spool_open(&stream->spool, folder, replica, err) < 0) {
        stream_free(stream);
        return NULL;
    }
    return stream;
}

/* The one for this log; the one that was used longest ago makes room. */
static struct stream *stream_for(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                                 struct sw_error *err)
{
    struct stream **all = conn->streams->all, **place = &all[0];
    sw_autofree char *folder = spool_folder(conn, job);

    for (size_t i = 0; i < STREAMS_MOST; i++) {
        if (all[i] && all[i]->replica == replica && strcmp(all[i]->folder, folder) == 0) {
            all[i]->used_ms = sw_monotonic_ms();
            return all[i];
        }
        if (*place && (!all[i] || all[i]->used_ms < (*place)->used_ms))
            place = &all[i];
    }
    stream_free(*place);
    *place = stream_new(conn, job, replica, sw_take(folder), err);
    if (*place)
        (*place)->used_ms = sw_monotonic_ms();
    return *place;
}

static int read_note(struct stream *stream, struct sw_error *err)
{
    if (docker_spool_lock(&stream->spool, err) < 0)
        return -1;
    return docker_spool_unlock(&stream->spool, err);
}

static int ask_engine(struct stream *stream, const struct sw_jobref *job, enum docker_told told,
                      struct sw_error *err)
{
    if (stream->caught_up)
        return follow_on(stream, told, job->best_effort, err);
    return job->best_effort ? catch_up_in_passing(stream, err) : catch_up(stream, told, err);
}

/* After it the spool has more than `offset` bytes, or there are no more for now. To somebody who knows
 * that the job is over, the news of it may still be on their way to us. Only who follows keeps a
 * connection to itself: a look at many logs needs one. */
static int extend(struct sw_connection *conn, const struct sw_jobref *job, struct stream *stream,
                  int64_t offset, struct sw_error *err)
{
    enum docker_told told = docker_events_say(conn->events, stream->name);
    int result;

    if (told == DOCKER_TOLD_ALIVE && job->finished)
        told = DOCKER_NOT_TOLD;
    stream->job_over = job->finished;
    if (read_note(stream, err) < 0)
        return -1;
    if (stream->spool.note.bytes > offset || stream->spool.note.done)
        return 0;
    if (job->best_effort && sw_monotonic_ms() - stream->looked_ms < ONE_LOOK_MS)
        return 0;
    if (stream->caught_up && stream->over)
        return 0;
    if (sw_monotonic_ms() < stream->again_ms)
        return sw_fail(err, SW_E_UNREACHABLE, "the log of '%s' was cut off; it is asked for again soon",
                       stream->name);
    if (!stream->lent.api && docker_borrow(stream->conn, &stream->lent, err) < 0)
        return -1;
    result = ask_engine(stream, job, told, err);
    if (!stream->follows)
        docker_give_back(&stream->lent);
    return result;
}

/* ---- the platform's functions ---------------------------------------------------------------- */

static ssize_t read_spool(struct stream *stream, int64_t offset, char *bytes, size_t size,
                          struct sw_error *err)
{
    ssize_t n;

    do
        n = pread(stream->spool.log, bytes, size, offset);
    while (n < 0 && errno == EINTR);
    return n >= 0 ? n : sw_fail_errno(err, SW_E_IO, "cannot read the log of '%s'", stream->name);
}

ssize_t docker_read_log(struct sw_connection *conn, const struct sw_jobref *job, int replica,
                        int64_t offset, char *bytes, size_t size, struct sw_error *err)
{
    struct stream *stream;
    ssize_t n = -1;

    pthread_mutex_lock(&conn->streams->lock);
    stream = stream_for(conn, job, replica < 0 ? 0 : replica, err);
    if (stream && extend(conn, job, stream, offset, err) == 0)
        n = read_spool(stream, offset, bytes, size, err);
    pthread_mutex_unlock(&conn->streams->lock);
    return n;
}

/* All there is: what a tail is counted from. That there was more is told to who reads to the end. */
int docker_log_size(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t *size,
                    struct sw_error *err)
{
    struct sw_error why = { 0 };
    struct stream *stream;
    int result = -1;

    pthread_mutex_lock(&conn->streams->lock);
    stream = stream_for(conn, job, replica < 0 ? 0 : replica, &why);
    if (stream &&
        (extend(conn, job, stream, INT64_MAX, &why) == 0 || why.code == SW_E_NOT_FOUND) &&
        read_note(stream, &why) == 0) {
        *size = stream->spool.note.bytes;
        result = 0;
    }
    pthread_mutex_unlock(&conn->streams->lock);
    if (result < 0 && err)
        *err = why;
    return result;
}

/* ---- times ----------------------------------------------------------------------------------- */

int docker_log_time(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t offset,
                    int64_t *at_ms, int64_t *until, struct sw_error *err)
{
    struct sw_log_moment moment, next;
    bool known = false, has_next = false;
    struct stream *stream;

    pthread_mutex_lock(&conn->streams->lock);
    stream = stream_for(conn, job, replica < 0 ? 0 : replica, err);
    if (stream && read_note(stream, err) == 0) {
        if (offset < INT64_MAX)
            sw_log_index_search(stream->spool.index, false, offset + 1, &moment, &known, &next,
                                &has_next);
        *at_ms = known ? moment.at_ms : 0;
        *until = has_next ? next.offset
                 : stream->spool.note.bytes > offset ? stream->spool.note.bytes : offset;
    } else {
        stream = NULL;
    }
    pthread_mutex_unlock(&conn->streams->lock);
    return stream ? 0 : -1;
}

int docker_log_since(struct sw_connection *conn, const struct sw_jobref *job, int replica, int64_t at_ms,
                     int64_t *offset, struct sw_error *err)
{
    struct sw_log_moment before, found;
    bool has_before = false, has_found = false;
    struct stream *stream;
    int result = -1;

    pthread_mutex_lock(&conn->streams->lock);
    stream = stream_for(conn, job, replica < 0 ? 0 : replica, err);
    if (stream && extend(conn, job, stream, INT64_MAX, err) == 0 && read_note(stream, err) == 0) {
        sw_log_index_search(stream->spool.index, true, at_ms - SW_LOG_INDEX_EVERY_MS + 1, &before,
                            &has_before, &found, &has_found);
        *offset = has_found ? found.offset : stream->spool.note.bytes;
        result = 0;
    }
    pthread_mutex_unlock(&conn->streams->lock);
    return result;
}
