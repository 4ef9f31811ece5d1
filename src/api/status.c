/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - what is known of jobs: status, lists, events, replicas.
 */
#include <string.h>

#include "api/api_internal.h"
#include "base/text.h"
#include "core/state.h"

/* A list shows what is known in time; a question about one job waits for its platform. */
static const struct sw_refresh_options in_time = { .deadline_ms = API_LIST_DEADLINE_MS };
/* The cards of named jobs show their progress; a list does not read logs. */
static const struct sw_refresh_options cards = { .deadline_ms = API_LIST_DEADLINE_MS,
                                                 .progress = true };
static const struct sw_refresh_options with_progress = { .deadline_ms = SW_REFRESH_PATIENT,
                                                         .progress = true };

int api_refresh_list(struct sw_session *session, json_t *unreachable, struct sw_error *err)
{
    return api_refresh_within(session, NULL, 0, &in_time, unreachable, err);
}

static json_t *whole_job(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };
    sw_auto(json) json_t *attempts = NULL;

    if (sw_store_get(session->store, id, SW_COLUMNS_ALL, &row, err) < 0)
        return NULL;
    attempts = sw_store_attempts(session->store, id, err);
    return attempts ? api_job_whole(&row, attempts) : NULL;
}

static int add_job(struct sw_buf *out, struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(json) json_t *job = whole_job(session, id, err);

    if (!job)
        return -1;
    sw_json_put(out, job);
    return 0;
}

char *sw_status(struct sw_session *session, const char *id, enum sw_look look,
                struct sw_error *err)
{
    sw_auto(json) json_t *unreachable = json_array(), *job = NULL;

    if (api_need(session, err) < 0)
        return NULL;
    if (look == SW_LOOK_REFRESH &&
        api_refresh_within(session, &id, 1, &with_progress, unreachable, err) < 0)
        return NULL;
    job = whole_job(session, id, err);
    if (job)
        json_object_set(job, "unreachable", unreachable);
    return api_document("status", sw_take(job));
}

/* Lists are written job by job: a tree of all of them would take its memory twice. */
static void list_begin(struct sw_buf *out)
{
    sw_buf_add(out, "{\"version\":1,\"jobs\":[");
}

struct totals {
    int64_t matching, all;
};

static char *list_end(struct sw_buf *out, const struct totals *totals, const json_t *unreachable)
{
    sw_autofree char *silent = sw_json_dump(unreachable);

    sw_buf_add_char(out, ']');
    if (totals)
        sw_buf_addf(out, ",\"total\":%lld,\"all\":%lld", (long long)totals->matching,
                    (long long)totals->all);
    sw_buf_add(out, ",\"unreachable\":");
    sw_buf_add(out, silent);
    sw_buf_add_char(out, '}');
    return sw_buf_steal(out);
}

char *sw_status_many(struct sw_session *session, const char *const *ids, size_t count,
                     enum sw_look look, struct sw_error *err)
{
    sw_auto(json) json_t *unreachable = json_array();
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (api_need(session, err) < 0)
        return NULL;
    if (look == SW_LOOK_REFRESH && count > 0 &&
        api_refresh_within(session, ids, count, &cards, unreachable, err) < 0)
        return NULL;
    list_begin(&out);
    for (size_t i = 0; i < count; i++) {
        sw_buf_add(&out, i ? "," : "");
        if (add_job(&out, session, ids[i], err) < 0)
            return NULL;
    }
    return list_end(&out, NULL, unreachable);
}

static int add_row(void *context, const struct sw_job *row)
{
    struct sw_buf *out = context;

    if (out->data[out->length - 1] != '[')
        sw_buf_add_char(out, ',');
    api_job_put(out, row);
    return 0;
}

static int list_state(const char *word, struct sw_job_filter *filter, enum sw_state *state,
                      struct sw_error *err)
{
    if (strcmp(word, "active") == 0) {
        filter->active_only = true;
        return 0;
    }
    if (sw_state_parse(word, state) < 0) {
        sw_fail(err, SW_E_USAGE, "'%s' is not a state", word);
        return sw_hint(err, "use Pending, Running, Paused, Complete, Error, Canceled, Unknown "
                            "or active");
    }
    filter->states = state;
    filter->state_count = 1;
    return 0;
}

static int list_filter(const struct sw_list_options *options, struct sw_job_filter *filter,
                       enum sw_state *state, struct sw_error *err)
{
    if (options->platform && !sw_platform_need(options->platform, err))
        return -1;
    if (api_labels_check(options->labels, options->label_count, err) < 0)
        return -1;
    filter->platform = options->platform;
    filter->name = options->name;
    filter->labels = options->labels;
    filter->label_count = options->label_count;
    filter->created_since_ms = options->since_ms;
    filter->limit = options->limit ? options->limit : 100;
    filter->offset = options->offset;
    return options->state ? list_state(options->state, filter, state, err) : 0;
}

/* A list of named jobs: those of the filter's that are among them. */
struct among {
    struct sw_buf *out;
    json_t *ids;                     /* a set; NULL: all */
    size_t offset, limit;
    int64_t total;
};

static int add_if_among(void *context, const struct sw_job *row)
{
    struct among *among = context;

    if (!json_object_get(among->ids, row->id))
        return 0;
    among->total++;
    if ((size_t)among->total <= among->offset || (size_t)among->total > among->offset + among->limit)
        return 0;
    return add_row(among->out, row);
}

static int list_selected(struct sw_session *session, const struct sw_list_options *options,
                         struct sw_job_filter filter, struct sw_buf *out, int64_t *total,
                         struct sw_error *err)
{
    const struct api_selection what = { .selectors = options->selectors,
                                        .count = options->selector_count, .every = true };
    sw_auto(json) json_t *ids = api_select(session, &what, err);
    sw_auto(json) json_t *set = ids ? api_id_set(ids) : NULL;
    struct among among = { .out = out, .ids = set, .offset = filter.offset,
                           .limit = filter.limit };

    filter.offset = filter.limit = 0;
    if (!ids || sw_store_list(session->store, &filter, add_if_among, &among, err) < 0)
        return -1;
    *total = among.total;
    return 0;
}

static int list_rows(struct sw_session *session, const struct sw_list_options *options,
                     const struct sw_job_filter *filter, struct sw_buf *out, int64_t *total,
                     struct sw_error *err)
{
    if (options->selector_count)
        return list_selected(session, options, *filter, out, total, err);
    if (sw_store_list(session->store, filter, add_row, out, err) < 0)
        return -1;
    return sw_store_count(session->store, filter, total, err);
}

char *sw_list(struct sw_session *session, const struct sw_list_options *options,
              struct sw_error *err)
{
    static const struct sw_list_options defaults = { .size = sizeof defaults };
    struct sw_job_filter filter = { .columns = SW_COLUMNS_LIST };
    enum sw_state state;
    sw_auto(json) json_t *unreachable = json_array();
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct totals totals = { 0 };

    if (!options)
        options = &defaults;
    if (api_need(session, err) < 0 || list_filter(options, &filter, &state, err) < 0)
        return NULL;
    if (options->look == SW_LOOK_REFRESH &&
        api_refresh_list(session, unreachable, err) < 0)
        return NULL;
    list_begin(&out);
    if (list_rows(session, options, &filter, &out, &totals.matching, err) < 0 ||
        sw_store_count(session->store, &(struct sw_job_filter){ 0 }, &totals.all, err) < 0)
        return NULL;
    return list_end(&out, &totals, unreachable);
}

static int append_event(void *context, int64_t seq, int64_t at_ms, const char *job_id,
                        const char *kind, const json_t *data)
{
    json_array_append_new(context, sw_json_object(
        SW_INT("seq", seq), SW_INT("at_ms", at_ms), SW_STR("job", job_id), SW_STR("kind", kind),
        SW_SUB("data", data ? json_deep_copy(data) : json_null())));
    return 0;
}

char *sw_events(struct sw_session *session, const char *id, int64_t after_seq,
                struct sw_error *err)
{
    sw_auto(json) json_t *events = json_array();

    if (api_need(session, err) < 0 ||
        sw_store_events(session->store, id, after_seq, append_event, events, err) < 0)
        return NULL;
    return api_document_other("events", sw_json_object(SW_SUB("events", sw_take(events))));
}

char *sw_replicas(struct sw_session *session, const char *id, struct sw_error *err)
{
    sw_auto(api_job) struct api_job job = { 0 };
    json_t *replicas;

    if (api_job_open(session, id, &job, err) < 0)
        return NULL;
    if (!job.platform->replicas) {
        sw_fail(err, SW_E_UNSUPPORTED, "replicas are not available on %s", job.platform->name);
        return NULL;
    }
    replicas = job.platform->replicas(job.conn, &job.ref, err);
    return replicas ? api_document("replicas", sw_json_object(SW_STR("id", job.row.id),
                                                              SW_SUB("replicas", replicas))) : NULL;
}
