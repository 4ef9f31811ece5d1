/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_copy.c - see log_copy.h.
 *
 * The first time everything that the platform has is fetched. A reader that goes on while the job
 * runs gets a stream that stays open where the platform has such, so that following costs what is
 * written and nothing more. The spool is complete when a fetch that began after the end of the
 * replica is through; then the platform is not asked again, and may have forgotten the replica.
 *
 * An answer that is cut keeps its worth: the next one begins at the time of the last messages that
 * it brought, to the nanosecond, whether they were new or not. So a connection that cuts every
 * answer still gets through a second that holds more than one answer; where nothing new comes at
 * all, the pauses grow, and in the end the read fails.
 */
#include "platform/kit/log_copy.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/proc.h"

enum {
    PENDING_MOST = 256 * 1024,
    BEST_EFFORT_MS = 2000,           /* how long a read for many jobs may take for one log */
    ASK_EVERY_MS = 500,              /* such a read comes in pieces and asks the platform once; so does a
                                        follow where no stream stays open */
    TAIL_MESSAGES = 200,
    PAUSE_MS = 50, PAUSE_MOST_MS = 2000,
    FRUITLESS_MOST = 16,
};

static const int64_t SECOND_NS = 1000000000;

/* ---- from the platform to the spool ------------------------------------------------------------
 * */

static const char gap[] =
    "slipway: a part of the log may be missing here: the platform no longer has it\n";
enum { OUR_OWN = -1 };               /* the time of that line, among messages */

struct pending_head {
    int64_t number, at_ns;
    size_t length;
};

static void add_pending(struct sw_log_copy *copy)
{
    const struct sw_buf *pending = &copy->pending;

    for (size_t at = 0; at < pending->length;) {
        struct pending_head head;

        memcpy(&head, pending->data + at, sizeof head);
        at += sizeof head;
        if (head.at_ns != OUR_OWN)
            sw_spool_add(&copy->spool, head.number, &(struct sw_log_message){
                .at_ns = head.at_ns, .bytes = pending->data + at, .length = head.length });
        else if (head.number == copy->spool.note.messages)
            sw_spool_say(&copy->spool, gap);
        at += head.length;
    }
}

/* Platforms send line by line; the spool is locked and written for many messages. */
static int flush(struct sw_log_copy *copy)
{
    if (copy->pending.length == 0)
        return 0;
    if (sw_spool_lock(&copy->spool, &copy->failure) < 0)
        return -1;
    /* Without numbers nothing tells what of it another process has written meanwhile. */
    if (!copy->cut || copy->spool.note.messages == copy->behind)
        add_pending(copy);
    else
        sw_fail(&copy->failure, SW_E_UNREACHABLE,
                "the copy of the log grew meanwhile; asking again");
    sw_buf_clear(&copy->pending);
    copy->behind = copy->spool.note.messages;
    return sw_spool_unlock(&copy->spool, &copy->failure) < 0 || copy->failure.code ? -1 : 0;
}

/* Each best-effort read must get further than the one before, or it would never reach the end. */
static bool has_enough(const struct sw_log_copy *copy)
{
    return copy->until_ms && sw_monotonic_ms() > copy->until_ms && copy->spool.note.messages > copy->known;
}

/* The first message of a tail tells whether it reaches back to what is known; otherwise nothing of it is
 * used, and it is read to its end, so that the connection can be used again. */
static bool is_wanted(struct sw_log_copy *copy, int64_t at_s)
{
    if (copy->first_s < 0)
        copy->first_s = at_s;
    copy->too_short = copy->first_s >= copy->since_s - SW_SPOOL_OVERLAP_S;
    return !copy->too_short && at_s >= copy->since_s;
}

static void put_pending(struct sw_log_copy *copy, int64_t at_ns, const char *bytes, size_t length)
{
    struct pending_head head = { copy->next, at_ns, length };

    sw_buf_add_bytes(&copy->pending, (const char *)&head, sizeof head);
    sw_buf_add_bytes(&copy->pending, bytes, length);
}

/* The first message of an answer. Where the platform has thrown away what should come first, numbers tell
 * nothing: what is newer than all that is known comes behind it, after a line that says so if something may
 * be missing. */
static void look_at_first(struct sw_log_copy *copy, int64_t at_ns)
{
    bool whole = copy->known > 0 || copy->since_ns > 0 || !copy->cursor->misses;

    copy->came = true;
    copy->cut = copy->expect_ns > 0 && at_ns > copy->expect_ns;
    if (copy->cut)
        copy->next = copy->behind = copy->known;
    if (!whole || (copy->cut && at_ns > copy->newest_ns))
        put_pending(copy, OUR_OWN, NULL, 0);
}

static int take_message(void *context, const struct sw_log_message *message)
{
    struct sw_log_copy *copy = context;

    copy->answered = true;
    if (copy->tail && !is_wanted(copy, message->at_ns / SECOND_NS))
        return 0;
    if (!copy->came)
        look_at_first(copy, message->at_ns);
    if (copy->cut && message->at_ns <= copy->newest_ns)
        return 0;
    copy->recent.at_ns[copy->recent.count++ % (int64_t)SW_COUNT(copy->recent.at_ns)] = message->at_ns;
    put_pending(copy, message->at_ns, message->bytes, message->length);
    copy->next++;
    if (copy->pending.length < PENDING_MOST)
        return 0;
    return flush(copy) < 0 || has_enough(copy);
}

/* A clock of this machine that is never set, and which start of the machine it counts from. */
static int64_t machine_clock(uint64_t *boot)
{
    struct sw_proc self;
    struct timespec now;

    *boot = sw_proc_self(&self) == 0 ? sw_spool_hash(self.boot_id, strlen(self.boot_id)) : 1;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* -1: the platform's clock was set back, and this fetch is of no use. */
static int take_clock(void *context, int64_t server_ms)
{
    struct sw_log_copy *copy = context;
    uint64_t boot;
    int64_t machine_ms = machine_clock(&boot);

    copy->answered = true;
    if (server_ms <= 0 || sw_spool_lock(&copy->spool, &copy->failure) < 0)
        return 0;
    copy->set_back = sw_spool_clock(&copy->spool, server_ms, machine_ms, boot);
    return sw_spool_unlock(&copy->spool, &copy->failure) < 0 || copy->set_back ? -1 : 0;
}

/* ---- after a cut -------------------------------------------------------------------------------
 * */

static int64_t time_back(const struct sw_log_copy *copy, int64_t back)      /* 1: the last message */
{
    return copy->recent.at_ns[(copy->recent.count - back) % (int64_t)SW_COUNT(copy->recent.at_ns)];
}

/* Two streams may appear in another order than their times: the last quarter of what came is asked
 * for again, or the last message alone when that would be no step ahead. */
static int64_t hop_time(const struct sw_log_copy *copy, int64_t came)
{
    int64_t from = INT64_MAX;

    for (int64_t back = 1; back <= (came + 3) / 4; back++)
        from = time_back(copy, back) < from ? time_back(copy, back) : from;
    return from > copy->since_ns ? from : time_back(copy, 1);
}

static bool hop(struct sw_log_copy *copy, bool whole_seconds)
{
    int64_t most = SW_COUNT(copy->recent.at_ns), again = 0, from;
    int64_t came = copy->recent.count < most ? copy->recent.count : most;

    if (came < 2 || copy->spool.note.unsorted || whole_seconds)
        return false;
    from = hop_time(copy, came);
    if (from <= copy->since_ns)
        return false;
    for (int64_t back = 1; back <= came; back++)
        again += time_back(copy, back) >= from;
    copy->hop_ns = from;
    copy->hop_next = copy->next - again;
    return true;
}

/* A fetch was cut. What it brought is kept; the less that was, the longer the next one waits. */
static void note_cut(struct sw_log_copy *copy, bool whole_seconds, struct sw_error *why)
{
    bool ahead = hop(copy, whole_seconds) || copy->spool.note.messages > copy->known;

    if (!ahead)
        copy->hop_ns = 0;
    copy->pause_ms = ahead ? 0 : copy->pause_ms ? 2 * copy->pause_ms : PAUSE_MS;
    if (copy->pause_ms > PAUSE_MOST_MS)
        copy->pause_ms = PAUSE_MOST_MS;
    copy->again_ms = sw_monotonic_ms() + copy->pause_ms;
    copy->fruitless = ahead ? 0 : copy->fruitless + copy->answered;
    if (copy->fruitless >= FRUITLESS_MOST)
        sw_fail(why, SW_E_IO, "the log of '%s' cannot be read: every answer ends before anything new "
                              "arrives",
                copy->source->job->id);
}

/* ---- fetching ----------------------------------------------------------------------------------
 * */

/* Where to go on: number and time of the message that comes first. */
static int resume(struct sw_log_copy *copy, bool tail, struct sw_error *err)
{
    sw_buf_clear(&copy->pending);
    copy->failure = (struct sw_error){ 0 };
    copy->recent.count = 0;
    copy->answered = copy->set_back = copy->came = copy->cut = false;
    copy->tail = tail;
    copy->too_short = false;
    copy->first_s = -1;
    if (sw_spool_lock(&copy->spool, err) < 0)
        return -1;
    copy->known = copy->spool.note.messages;
    copy->next = sw_spool_resume(&copy->spool, &copy->since_s);
    copy->since_ns = copy->since_s * SECOND_NS;
    copy->expect_ns = sw_spool_expects(&copy->spool, copy->since_s);
    copy->newest_ns = copy->spool.note.marks.newest_ns;
    if (!tail && copy->hop_ns > copy->since_ns) {
        copy->since_ns = copy->hop_ns;
        copy->next = copy->hop_next;
        copy->expect_ns = 0;
    }
    return sw_spool_unlock(&copy->spool, err);
}

static int call_platform(struct sw_log_copy *copy, struct sw_log_cursor *cursor, struct sw_error *err)
{
    const struct sw_log *log = copy->source;
    int result;

    copy->sink = (struct sw_log_sink){ .take = take_message, .clock = cursor->follow ? NULL : take_clock,
                                       .context = copy };
    copy->cursor = cursor;
    result = log->platform->log_fetch(log->conn, log->job, copy->replica, cursor, &copy->sink, err);
    if (!copy->set_back && flush(copy) < 0)            /* of an answer that was cut, what came */
        return sw_pass(err, &copy->failure);
    return result;
}

static int fetch(struct sw_log_copy *copy, struct sw_log_cursor *cursor, struct sw_error *err)
{
    struct sw_error why = { 0 };

    if (resume(copy, cursor->last > 0, err) < 0)
        return -1;
    cursor->since_ns = copy->since_ns;
    cursor->silence_ms = copy->until_ms ? BEST_EFFORT_MS : 0;
    if (call_platform(copy, cursor, &why) == 0) {
        copy->hop_ns = copy->pause_ms = 0;
        copy->fruitless = 0;
        return 0;
    }
    if (why.code == SW_E_UNREACHABLE && cursor->life != SW_LOG_LIFE_UNKNOWN)
        note_cut(copy, cursor->whole_seconds, &why);
    if (err)
        *err = copy->failure.code ? copy->failure : why;
    return -1;
}

/* Again after a cut that brought us further, and when the platform's clock was set back: from the
 * beginning then, which cannot happen twice. */
static int fetch_all(struct sw_log_copy *copy, struct sw_log_cursor *cursor, struct sw_error *err)
{
    struct sw_error why = { 0 };

    while (fetch(copy, cursor, &why) < 0) {
        bool ahead = why.code == SW_E_UNREACHABLE && cursor->life != SW_LOG_LIFE_UNKNOWN &&
                     copy->pause_ms == 0 && !copy->until_ms;

        if (!copy->set_back && !ahead)
            return sw_pass(err, &why);
        why = (struct sw_error){ 0 };
    }
    return 0;
}

/* To give what came since a time, a platform may read the whole log. Its last messages are cheap,
 * and enough for a reader that was here not long ago. false: they are not, or did not come. */
static bool fetch_tail(struct sw_log_copy *copy)
{
    struct sw_log_cursor cursor = { .last = TAIL_MESSAGES, .life = SW_LOG_GROWS };

    return copy->spool.note.last_s > SW_SPOOL_OVERLAP_S && !copy->spool.note.unsorted &&
           fetch(copy, &cursor, NULL) == 0 && !copy->too_short;
}

/* That there is more, or that the platform takes its time, is no failure here. */
static int catch_up_best_effort(struct sw_log_copy *copy, struct sw_error *err)
{
    struct sw_log_cursor cursor = { .life = SW_LOG_GROWS };
    struct sw_error why = { 0 };

    copy->until_ms = sw_monotonic_ms() + BEST_EFFORT_MS;
    copy->caught_up = fetch_tail(copy) || fetch_all(copy, &cursor, &why) == 0;
    copy->until_ms = 0;
    copy->asked_ms = sw_monotonic_ms();
    if (copy->caught_up || why.code == SW_E_INTERRUPTED || why.code == SW_E_TIMEOUT ||
        why.code == SW_E_NOT_FOUND)
        return 0;
    return sw_pass(err, &why);
}

/* The platform has the replica no more. "Gone" is an answer only to a reader that knows the job is
 * over. */
static int join_end(struct sw_log_copy *copy, struct sw_error *err)
{
    int joined = sw_spool_join_end(&copy->spool, copy->folder, copy->replica, err);

    if (joined != 0 || !copy->source->job->finished)
        return joined < 0 ? -1 : 0;
    sw_fail(err, SW_E_NOT_FOUND, "%s of '%s' (rank %d) is gone: %s no longer has it",
            copy->spool.note.bytes > 0 ? "the end of the log" : "the log", copy->source->job->id,
            copy->replica, copy->source->platform->name);
    return sw_hint(err, "a job that is watched until it finishes keeps its log: `slipway wait`, or the "
                        "watcher");
}

static void mark_done(struct sw_log_copy *copy)
{
    if (sw_spool_lock(&copy->spool, NULL) < 0)
        return;
    copy->spool.note.done = 1;
    sw_spool_unlock(&copy->spool, NULL);
}

/* Everything that is there now. A replica that has not begun has nothing. */
static int catch_up(struct sw_log_copy *copy, struct sw_error *err)
{
    struct sw_log_cursor cursor = { 0 };
    struct sw_error why = { 0 };
    int result = fetch_all(copy, &cursor, &why);

    copy->asked_ms = sw_monotonic_ms();
    if (result < 0) {
        if (why.code == SW_E_NOT_FOUND)
            return join_end(copy, err);
        return sw_pass(err, &why);
    }
    copy->caught_up = cursor.life != SW_LOG_NOT_BEGUN;
    copy->ended = cursor.life == SW_LOG_ENDED;
    if (copy->ended)
        mark_done(copy);
    return 0;
}

static void stop_following(struct sw_log_copy *copy)
{
    if (copy->open.stream)
        copy->open.close(copy->open.stream);
    copy->open = (struct sw_log_cursor){ 0 };
}

/* Silence may mean that there is nothing, or that it is on its way. While the replica runs that is
 * the same to the reader; at its end the platform ends the stream, and the rest is fetched. */
static int follow(struct sw_log_copy *copy, struct sw_error *err)
{
    int64_t before;
    int result;

    if (!copy->open.stream) {
        if (resume(copy, false, err) < 0)
            return -1;
        copy->open = (struct sw_log_cursor){ .follow = true, .since_ns = copy->since_ns };
    }
    before = copy->next;
    result = call_platform(copy, &copy->open, err);
    if (result == SW_LOG_STAYS_OPEN)
        return 0;
    copy->polls = result == 0 && !copy->open.stream;
    copy->asked_ms = sw_monotonic_ms();
    copy->caught_up = false;
    stop_following(copy);
    if (result < 0 || copy->next > before || copy->source->job->best_effort)
        return result;
    return catch_up(copy, err);
}

/* ---- the copy ----------------------------------------------------------------------------------
 * */

struct sw_log_copy *sw_log_copy_new(char *folder, int replica, struct sw_error *err)
{
    struct sw_log_copy *copy = sw_new(struct sw_log_copy);

    copy->folder = folder;
    copy->replica = replica;
    if (sw_spool_open(&copy->spool, folder, replica, err) == 0)
        return copy;
    sw_log_copy_free(copy);
    return NULL;
}

void sw_log_copy_free(struct sw_log_copy *copy)
{
    if (!copy)
        return;
    stop_following(copy);
    sw_spool_close(&copy->spool);
    sw_buf_done(&copy->pending);
    free(copy->folder);
    free(copy);
}

static int ask_platform(struct sw_log_copy *copy, struct sw_error *err)
{
    if (copy->caught_up && !copy->polls)
        return follow(copy, err);
    return copy->source->job->best_effort ? catch_up_best_effort(copy, err) : catch_up(copy, err);
}

int sw_log_copy_extend(struct sw_log_copy *copy, const struct sw_log *log, int64_t offset,
                       struct sw_error *err)
{
    const struct sw_jobref *job = log->job;
    bool waits = job->best_effort || (copy->polls && copy->caught_up && !job->finished);

    assert(log->platform->log_fetch);
    copy->source = log;
    if (sw_spool_read_note(&copy->spool, err) < 0)
        return -1;
    if (copy->spool.note.bytes > offset || copy->spool.note.done || (copy->caught_up && copy->ended))
        return 0;
    if (waits && sw_monotonic_ms() - copy->asked_ms < ASK_EVERY_MS)
        return 0;
    if (sw_monotonic_ms() < copy->again_ms)
        return sw_fail(err, SW_E_UNREACHABLE, "the log of '%s' was cut off; asking again soon",
                       job->id);
    return ask_platform(copy, err);
}
