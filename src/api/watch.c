/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - refresh jobs round after round until they are over.
 *
 * Everything that must happen once (retries, hooks, milestones) is decided in the store, so any
 * number of watchers may run, and any of them may be killed. A round never takes longer than the
 * time between two rounds: a platform that is slower is shown as "no answer after ...".
 *
 * The document is written job by job: as a tree, ten thousand jobs would take a hundred megabytes.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/buf.h"
#include "base/clock.h"

enum { EVERY_MS = 1000, QUICKEST_MS = 50 };

struct api_watch {
    struct sw_session *session;
    const char *const *ids;          /* the caller's; none: all that are not over */
    size_t count;
    json_t *seen;                    /* ids shown last time as not over; only without `ids` */
    struct sw_buf document;
    size_t jobs, active;             /* in this round's document */
};

static void add_document(struct api_watch *watch, const struct sw_job *row)
{
    sw_buf_add(&watch->document, watch->jobs++ ? "," : "");
    api_job_put(&watch->document, row);
}

static int add_active(void *context, const struct sw_job *row)
{
    struct api_watch *watch = context;

    watch->active++;
    json_object_set_new(watch->seen, row->id, json_true());
    add_document(watch, row);
    return 0;
}

static int add_named(struct api_watch *watch, const char *id, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };
    struct sw_error why = { 0 };

    if (sw_store_get(watch->session->store, id, SW_COLUMNS_LIST, &row, &why) < 0) {
        if (why.code == SW_E_NOT_FOUND && watch->count == 0)      /* it was removed */
            return 0;
        return sw_pass(err, &why);
    }
    watch->active += row.phase != SW_PHASE_OVER;
    add_document(watch, &row);
    return 0;
}

/* All that are not over, and those that were not last time. */
static int add_all(struct api_watch *watch, struct sw_error *err)
{
    const struct sw_job_filter active = { .active_only = true };
    sw_auto(json) json_t *before = watch->seen;
    const char *id;
    json_t *unused;

    watch->seen = json_object();
    if (sw_store_list(watch->session->store, &active, add_active, watch, err) < 0)
        return -1;
    json_object_foreach(before, id, unused)
        if (!json_object_get(watch->seen, id) && add_named(watch, id, err) < 0)
            return -1;
    return 0;
}

static int write_document(struct api_watch *watch, const json_t *unreachable, struct sw_error *err)
{
    sw_autofree char *silent = sw_json_dump(unreachable);

    sw_buf_clear(&watch->document);
    watch->jobs = watch->active = 0;
    sw_buf_add(&watch->document, "{\"version\":1,\"jobs\":[");
    if (watch->count == 0 && add_all(watch, err) < 0)
        return -1;
    for (size_t i = 0; i < watch->count; i++)
        if (add_named(watch, watch->ids[i], err) < 0)
            return -1;
    sw_buf_addf(&watch->document, "],\"total\":%zu,\"unreachable\":%s}", watch->jobs, silent);
    return 0;
}

static int one_round(struct api_watch *watch, int64_t every_ms, struct sw_error *err)
{
    const struct sw_refresh_options options = { .deadline_ms = every_ms, .progress = true, .act = true };
    sw_auto(json) json_t *unreachable = json_array();

    if (api_refresh_within(watch->session, watch->ids, watch->count, &options, unreachable,
                           err) < 0)
        return -1;
    return write_document(watch, unreachable, err);
}

static int remember(void *context, const struct sw_job *row)
{
    json_object_set_new(context, row->id, json_true());
    return 0;
}

/* What is not over now is shown at least once, even if the first refresh ends it. */
static int begin(struct api_watch *watch, struct sw_error *err)
{
    const struct sw_job_filter active = { .active_only = true };

    return watch->count > 0
               ? 0 : sw_store_list(watch->session->store, &active, remember, watch->seen, err);
}

static int go_round(struct api_watch *watch, int64_t every_ms, int64_t rounds, sw_watch_fn *fn,
                    void *context, struct sw_error *err)
{
    if (begin(watch, err) < 0)
        return -1;
    for (int64_t round = 1;; round++) {
        int64_t begun = sw_monotonic_ms();

        if (one_round(watch, every_ms, err) < 0)
            return -1;
        if (fn(context, sw_buf_text(&watch->document)))
            return sw_fail(err, SW_E_INTERRUPTED, "stopped by the caller");
        if (watch->active == 0 || (rounds > 0 && round >= rounds))
            return 0;
        if (api_wait_for_wake(watch->session, every_ms - (sw_monotonic_ms() - begun)) == API_WOKEN)
            sw_sleep_ms(QUICKEST_MS - (sw_monotonic_ms() - begun));       /* of many at once, all */
    }
}

int sw_watch(struct sw_session *session, const char *const *ids, size_t count,
             const struct sw_watch_options *options, sw_watch_fn *fn, void *context,
             struct sw_error *err)
{
    struct api_watch watch = { .session = session, .ids = ids, .count = count,
                           .seen = json_object() };
    int64_t every_ms = options && options->every_ms > 0 ? options->every_ms : EVERY_MS;
    int result = go_round(&watch, every_ms < QUICKEST_MS ? QUICKEST_MS : every_ms,
                          options ? options->rounds : 0, fn, context, err);

    json_decref(watch.seen);
    sw_buf_done(&watch.document);
    return result;
}
