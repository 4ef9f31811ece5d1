/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transitions.c - how a job's row may change: observations, and a requested cancel.
 *
 * Which state may follow which is said once, in core/state.c; here it is asked inside the UPDATE
 * itself (may_follow), so that two clients with different news cannot undo each other's.
 *
 * An observation has one of five effects, weakest first: none, touch (only "seen at"), learn (the
 * state may not change, but where the job runs is news), fill (the job is over in that very state;
 * gaps are filled, nothing is replaced), move. A refresh first finds out, without the write lock,
 * whether there is anything to write. If nothing but "seen at" is new, that is one transaction
 * without a disk flush for all jobs together; and a "seen at" younger than a second is good
 * enough, so several clients polling the same jobs do not write for each other.
 */
#include "store/store_internal.h"

#include "base/clock.h"
#include "base/text.h"
#include "core/state.h"

enum { SEEN_IS_FRESH_MS = 1000 };

/* When a job that waits on its platform is expected to start. A retry that waits for its time keeps
 * that time. */
#define UNTIL "  not_before_ms = CASE phase WHEN 'submitting' THEN not_before_ms ELSE :until END,"
/* What a platform tells about the job's whereabouts; unknown (NULL) keeps what we know. */
#define WHEREABOUTS                                                                           \
    "  remote_id = coalesce(:remote_id, remote_id), node = coalesce(:node, node),"            \
    "  started_ms = CASE WHEN :started_ms > 0 THEN :started_ms ELSE started_ms END,"          \
    UNTIL                                                                                     \
    "  seen_ms = :now"

static const char SQL_TOUCH[] = "UPDATE jobs SET" UNTIL " seen_ms = :now WHERE seq = :seq";

static const char SQL_LEARN[] = "UPDATE jobs SET" WHEREABOUTS " WHERE seq = :seq";

static const char SQL_FILL[] =
    "UPDATE jobs SET"
    "  exit_code = coalesce(exit_code, :exit_code),"
    "  signal = CASE signal WHEN 0 THEN :signal ELSE signal END,"
    "  failed_replica = coalesce(failed_replica, :failed_replica),"
    "  remote_id = coalesce(remote_id, :remote_id), node = coalesce(node, :node),"
    "  started_ms = CASE started_ms WHEN 0 THEN :started_ms ELSE started_ms END,"
    "  cause = CASE WHEN err_class IS NULL THEN :cause ELSE cause END,"
    "  suggestion = CASE WHEN err_class IS NULL THEN :suggestion ELSE suggestion END,"
    "  err_class = coalesce(err_class, :err_class)"
    " WHERE seq = :seq AND state = :state";

static const char SQL_MOVE[] =
    "UPDATE jobs SET"
    "  state = :state, phase = coalesce(:over, phase), reason = :reason, message = :message,"
    "  exit_code = coalesce(:exit_code, exit_code),"
    "  signal = CASE WHEN :signal > 0 THEN :signal ELSE signal END,"
    "  failed_replica = coalesce(:failed_replica, failed_replica),"
    "  ended_ms = :ended_ms, updated_ms = :now,"
    "  err_class = :err_class, cause = :cause, suggestion = :suggestion,"
    "  owner = CASE WHEN :over IS NULL THEN owner END,"
    WHEREABOUTS
    " WHERE seq = :seq AND attempt = :attempt AND may_follow(state, canceling, :state)";

/* Which image it was is known when it has started: written with that news, and once. */
static const char SQL_IMAGE[] =
    "UPDATE documents SET details = json_set(coalesce(details, '{}'), '$.image_digest', :digest)"
    " WHERE job = :seq AND json_valid(coalesce(details, '{}'))"
    "  AND json_extract(coalesce(details, '{}'), '$.image_digest') IS NOT :digest";

static const char SQL_CANCEL_INTENT[] =
    "UPDATE jobs SET canceling = 1, updated_ms = :now"
    " WHERE seq = :seq AND phase <> 'over' AND canceling = 0";

static const char SQL_CANCEL_UNDO[] =
    "UPDATE jobs SET canceling = 0, updated_ms = :now"
    " WHERE seq = :seq AND phase <> 'over' AND canceling = 1";

enum effect { EFFECT_NONE, EFFECT_TOUCH, EFFECT_LEARN, EFFECT_FILL, EFFECT_MOVE };

static const char *const effect_sql[] = {
    [EFFECT_TOUCH] = SQL_TOUCH,
    [EFFECT_LEARN] = SQL_LEARN,
    [EFFECT_FILL]  = SQL_FILL,
    [EFFECT_MOVE]  = SQL_MOVE,
};

/* ---- what an observation means for a row -------------------------------------------------------- */

static bool news_text(const char *said, const char *known)
{
    return *said && !sw_text_same(said, known);
}

/* NULL and "" are both "nothing to say". */
static bool same_words(const char *said, const char *known)
{
    return sw_text_empty(known) ? !*said : sw_text_same(said, known);
}

static bool news_of_whereabouts(const struct sw_job *row, const struct sw_observation *seen)
{
    return news_text(seen->remote_id, row->remote_id) || news_text(seen->node, row->node) ||
           (seen->started_ms > 0 && seen->started_ms != row->started_ms);
}

static bool news_of_story(const struct sw_job *row, const struct sw_observation *seen)
{
    return seen->state != row->state || !same_words(seen->reason, row->reason) ||
           !same_words(seen->message, row->message);
}

static bool news_of_end(const struct sw_job *row, const struct sw_observation *seen)
{
    return (seen->exit_code != SW_NO_EXIT_CODE && seen->exit_code != row->exit_code) ||
           (seen->signal > 0 && seen->signal != row->signal) ||
           (seen->failed_replica >= 0 && seen->failed_replica != row->failed_replica);
}

static bool has_gaps(const struct sw_job *row, const struct sw_observation *seen,
                     const json_t *verdict)
{
    return (row->exit_code == SW_NO_EXIT_CODE && seen->exit_code != SW_NO_EXIT_CODE) ||
           (row->signal == 0 && seen->signal > 0) ||
           (row->failed_replica < 0 && seen->failed_replica >= 0) ||
           (!row->remote_id && *seen->remote_id) || (!row->node && *seen->node) ||
           (row->started_ms == 0 && seen->started_ms > 0) ||
           (!row->err_class && sw_json_str(verdict, "err_class"));
}

static enum effect effect_of(const struct sw_job *row, const struct sw_observation *seen,
                             const json_t *verdict, int64_t now_ms)
{
    int64_t age_ms = now_ms - row->seen_ms;

    if (seen->presence == SW_UNSEEN || seen->job.attempt != row->attempt)
        return EFFECT_NONE;
    if (sw_state_is_final(row->state))
        return seen->state == row->state && has_gaps(row, seen, verdict) ? EFFECT_FILL
                                                                         : EFFECT_NONE;
    if (sw_state_may_follow(row->state, row->canceling, seen->state) &&
        (news_of_story(row, seen) || news_of_end(row, seen)))
        return EFFECT_MOVE;
    if (news_of_whereabouts(row, seen))
        return EFFECT_LEARN;
    /* A time in the future comes from another machine's clock: ours is as good. */
    return age_ms >= 0 && age_ms < SEEN_IS_FRESH_MS ? EFFECT_NONE : EFFECT_TOUCH;
}

bool sw_store_is_news(const struct sw_job *row, const struct sw_observation *seen,
                      const json_t *verdict, int64_t now_ms)
{
    return effect_of(row, seen, verdict, now_ms) != EFFECT_NONE;
}

/* ---- writing it ----------------------------------------------------------------------------- */

static void bind_unless(sqlite3_stmt *statement, const char *name, int64_t value, int64_t unknown)
{
    if (value != unknown)
        store_bind_int(statement, name, value);
}

static void bind_whereabouts(sqlite3_stmt *change, const struct sw_observation *seen)
{
    store_bind_text(change, ":remote_id", seen->remote_id);
    store_bind_text(change, ":node", seen->node);
}

static void bind_end(sqlite3_stmt *change, const struct sw_observation *seen, const json_t *verdict)
{
    store_bind_text(change, ":state", sw_state_name(seen->state));
    bind_unless(change, ":exit_code", seen->exit_code, SW_NO_EXIT_CODE);
    store_bind_int(change, ":signal", seen->signal > 0 ? seen->signal : 0);
    bind_unless(change, ":failed_replica", seen->failed_replica, -1);
    if (sw_state_is_final(seen->state)) {
        store_bind_text(change, ":err_class", sw_json_str(verdict, "err_class"));
        store_bind_text(change, ":cause", sw_json_str(verdict, "cause"));
        store_bind_text(change, ":suggestion", sw_json_str(verdict, "suggestion"));
    }
}

static void bind_move(sqlite3_stmt *move, const struct sw_job *row, const struct sw_observation *seen,
                      int64_t now_ms)
{
    bool final = sw_state_is_final(seen->state);

    store_bind_int(move, ":attempt", row->attempt);
    store_bind_text(move, ":reason", seen->reason);
    store_bind_text(move, ":message", seen->message);
    store_bind_text(move, ":over", final ? sw_phase_name(SW_PHASE_OVER) : NULL);
    store_bind_int(move, ":ended_ms", !final ? 0 : seen->ended_ms > 0 ? seen->ended_ms : now_ms);
}

/* When the platform does not say when it began, the first time we see it running must do. */
static int64_t started_ms(const struct sw_job *row, const struct sw_observation *seen, int64_t now_ms)
{
    if (seen->started_ms > 0)
        return seen->started_ms;
    return seen->state == SW_RUNNING && row->started_ms == 0 ? now_ms : 0;
}

static int tell_move(struct sw_store *store, int64_t seq, const struct sw_job *row,
                     const struct sw_observation *seen, int64_t now_ms, struct sw_error *err)
{
    bool exited = seen->exit_code != SW_NO_EXIT_CODE;
    sw_auto(json) json_t *data = sw_json_object(
        SW_STR("state", sw_state_name(seen->state)),
        SW_STR("was", sw_state_name(row->state)),
        SW_INT("attempt", row->attempt),
        SW_STR_OPT("reason", *seen->reason ? seen->reason : NULL),
        SW_STR_OPT("message", *seen->message ? seen->message : NULL),
        SW_SUB("exit_code", exited ? json_integer(seen->exit_code) : NULL),
        SW_SUB("signal", seen->signal > 0 ? json_integer(seen->signal) : NULL));

    return store_event_add(store, seq, "state", data, now_ms, err);
}

static int write_row(struct sw_store *store, enum effect effect, int64_t seq,
                     const struct sw_job *row, const struct sw_observation *seen,
                     const json_t *verdict, int64_t now_ms, struct sw_error *err)
{
    sqlite3_stmt *change = store_statement(store, effect_sql[effect], err);

    if (!change)
        return -1;
    store_bind_int(change, ":seq", seq);
    if (effect != EFFECT_FILL) {
        store_bind_int(change, ":now", now_ms);
        store_bind_int(change, ":until", seen->until_ms);
    }
    if (effect >= EFFECT_LEARN) {
        bind_whereabouts(change, seen);
        store_bind_int(change, ":started_ms", started_ms(row, seen, now_ms));
    }
    if (effect >= EFFECT_FILL)
        bind_end(change, seen, verdict);
    if (effect == EFFECT_MOVE)
        bind_move(change, row, seen, now_ms);
    if (store_run(store, change, err) < 0)
        return -1;
    if (effect >= EFFECT_LEARN && seen->image_digest[0] &&
        store_do(store, SQL_IMAGE, err, BIND_INT(":seq", seq), BIND_TEXT(":digest", seen->image_digest)) < 0)
        return -1;
    return effect == EFFECT_TOUCH ? 0 : store_attempt_follow(store, seq, err);
}

static int write_effect(struct sw_store *store, enum effect effect, int64_t seq,
                        const struct sw_job *row, const struct sw_observation *seen,
                        const json_t *verdict, int64_t now_ms, struct sw_error *err)
{
    if (effect == EFFECT_MOVE && news_of_story(row, seen) &&
        tell_move(store, seq, row, seen, now_ms, err) < 0)
        return -1;
    return write_row(store, effect, seq, row, seen, verdict, now_ms, err);
}

int store_row_move(struct sw_store *store, int64_t seq, const struct sw_job *row,
                   const struct sw_observation *seen, const json_t *verdict, int64_t now_ms,
                   struct sw_error *err)
{
    return write_row(store, EFFECT_MOVE, seq, row, seen, verdict, now_ms, err);
}

/* One observation against its row: what would it do, and, when asked, do it. A job that was removed
 * meanwhile is no problem. */
static int handle(struct sw_store *store, const struct sw_observation *seen, const json_t *verdict,
                  int64_t now_ms, bool write, enum effect *effect, bool *changed,
                  struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };
    struct sw_error why = { 0 };
    int64_t seq = 0;

    *effect = EFFECT_NONE;
    if (seen->presence == SW_UNSEEN)
        return 0;
    if (store_row_find(store, seen->job.id, &seq, &row, &why) < 0) {
        if (why.code == SW_E_NOT_FOUND)
            return 0;
        return sw_pass(err, &why);
    }
    *effect = effect_of(&row, seen, verdict, now_ms);
    *changed = *effect == EFFECT_MOVE && seen->state != row.state;
    if (!write || *effect == EFFECT_NONE)
        return 0;
    return write_effect(store, *effect, seq, &row, seen, verdict, now_ms, err);
}

static int strongest_effect(struct sw_store *store, const struct sw_observation *seen, size_t count,
                            json_t *const *verdicts, int64_t now_ms, enum effect *strongest,
                            struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;

    *strongest = EFFECT_NONE;
    if (store_begin(&work, store, STORE_READS, err) < 0)
        return -1;
    for (size_t i = 0; i < count && *strongest < EFFECT_MOVE; i++) {
        enum effect effect;
        bool changed;

        if (handle(store, &seen[i], verdicts ? verdicts[i] : NULL, now_ms, false, &effect,
                   &changed, err) < 0)
            return -1;
        if (effect > *strongest)
            *strongest = effect;
    }
    return 0;
}

int sw_store_saw_many(struct sw_store *store, const struct sw_observation *seen, size_t count,
                      json_t *const *verdicts, int64_t now_ms, bool *changed,
                      struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_autofree bool *moved = sw_alloc((count ? count : 1) * sizeof *moved);
    enum effect strongest, effect;

    if (strongest_effect(store, seen, count, verdicts, now_ms, &strongest, err) < 0)
        return -1;
    if (strongest > EFFECT_NONE) {
        if (store_begin(&work, store, strongest == EFFECT_TOUCH ? STORE_RELAXED : STORE_DURABLE,
                        err) < 0)
            return -1;
        for (size_t i = 0; i < count; i++)
            if (handle(store, &seen[i], verdicts ? verdicts[i] : NULL, now_ms, true, &effect,
                       &moved[i], err) < 0)
                return -1;
        if (store_commit(&work, err) < 0)
            return -1;
    }
    for (size_t i = 0; changed && i < count; i++)
        changed[i] = moved[i];
    return 0;
}

int sw_store_saw(struct sw_store *store, const struct sw_observation *seen, const json_t *verdict,
                 int64_t now_ms, bool *changed, struct sw_error *err)
{
    sw_auto(json) json_t *shared = json_incref((json_t *)verdict);

    return sw_store_saw_many(store, seen, 1, &shared, now_ms, changed, err);
}

/* ---- what people ask for -------------------------------------------------------------------- */

/* One flag of the row, and an event when that changed it. */
static int set_intent(struct sw_store *store, const char *id, const char *sql, const char *kind,
                      bool *changed, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sw_auto(sw_job) struct sw_job row = { 0 };
    int64_t seq = 0, now_ms = sw_now_ms();

    *changed = false;
    if (store_begin_job(&work, store, STORE_DURABLE, id, &seq, &row, err) < 0 ||
        store_do(store, sql, err, BIND_INT(":seq", seq), BIND_INT(":now", now_ms)) < 0)
        return -1;
    if (!store_changed(store))                    /* over, or so before */
        return 0;
    if (store_event_add(store, seq, kind, NULL, now_ms, err) < 0 || store_commit(&work, err) < 0)
        return -1;
    *changed = true;
    return 0;
}

int sw_store_cancel_intent(struct sw_store *store, const char *id, struct sw_error *err)
{
    bool changed;

    return set_intent(store, id, SQL_CANCEL_INTENT, "canceling", &changed, err);
}

int sw_store_cancel_undo(struct sw_store *store, const char *id, bool *undone,
                         struct sw_error *err)
{
    return set_intent(store, id, SQL_CANCEL_UNDO, "cancel-undone", undone, err);
}
