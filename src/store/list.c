/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - many jobs at a time: lists, counts, and those whose keep time has passed.
 *
 * A filter names several conditions; one of them, the most selective, walks its index newest first and
 * the others are checked on the rows it meets. `ways` is the list of such walks, most selective
 * first. Each names its index (INDEXED BY), so a page of 100,000 jobs costs what a page costs; a
 * test reads the query plans.
 *
 * Rows are read in pages by their number. While the caller's function runs nothing is held:
 * it may take its time, and may use or change the store itself.
 */
#include "store/store_internal.h"

#include <string.h>

#include "base/buf.h"
#include "core/state.h"

enum { PAGE_ROWS = 1024, PAGE_ROWS_WITH_DOCUMENTS = 64 };

enum condition {
    BY_NOTHING     = 0,
    BY_ID_PREFIX   = 1 << 0,
    BY_NAME        = 1 << 1,
    BY_LABEL       = 1 << 2,
    BY_LABEL_KEY   = 1 << 3,
    BY_NAME_PREFIX = 1 << 4,
    BY_ACTIVE      = 1 << 5,
    BY_STATE       = 1 << 6,        /* one state */
    BY_PLATFORM    = 1 << 7,
    BY_STATES      = 1 << 8,        /* several states: checked on the rows of another walk */
    BY_ENDED       = 1 << 9,
    BY_LABELS      = 1 << 10,       /* several labels: one gives the walk, the rows have all */
    BY_CREATED     = 1 << 11,
};

#define BEGINS_WITH(column, prefix) column " BETWEEN " prefix " AND " prefix " || char(1114111)"

#define FROM_ALL       " FROM jobs NOT INDEXED WHERE true"
#define FROM_ACTIVE    " FROM jobs INDEXED BY jobs_not_over WHERE phase <> 'over'"
#define FROM_STATE     " FROM jobs INDEXED BY jobs_by_state WHERE state = :state"
#define FROM_PLATFORM  " FROM jobs INDEXED BY jobs_by_platform WHERE platform = :platform"
#define FROM_NAME      " FROM jobs INDEXED BY jobs_by_name WHERE name = :name"
/* A range of names is not in the order of age: gather the numbers, then walk those. */
#define FROM_NAME_PREFIX                                                        \
    " FROM jobs NOT INDEXED WHERE seq IN (SELECT seq FROM jobs"                 \
    " WHERE " BEGINS_WITH("name", ":name_prefix") ")"
#define FROM_ID_PREFIX                                                          \
    " FROM jobs NOT INDEXED WHERE seq IN (SELECT seq FROM jobs"                 \
    " WHERE " BEGINS_WITH("id", ":id_prefix") ")"
#define FROM_LABEL                                                              \
    " FROM labels INDEXED BY labels_by_value CROSS JOIN jobs ON jobs.seq = labels.job" \
    " WHERE labels.key = :label_key AND labels.value = :label_value"
#define FROM_LABEL_KEY                                                          \
    " FROM labels INDEXED BY labels_by_key CROSS JOIN jobs ON jobs.seq = labels.job"   \
    " WHERE labels.key = :label_key"

#define ALSO                                                                    \
    " AND (:platform IS NULL OR platform = :platform)"                          \
    " AND (:name IS NULL OR name = :name)"                                      \
    " AND (:name_prefix IS NULL OR " BEGINS_WITH("name", ":name_prefix") ")"    \
    " AND (:id_prefix IS NULL OR " BEGINS_WITH("id", ":id_prefix") ")"          \
    " AND (:active IS NULL OR phase <> 'over')"                                 \
    " AND (:state IS NULL OR state = :state)"                                   \
    " AND (:states IS NULL OR instr(:states, state || ' ') > 0)"                \
    " AND (:ended_before IS NULL OR (ended_ms > 0 AND ended_ms < :ended_before))" \
    " AND (:created_since IS NULL OR created_ms >= :created_since)"             \
    " AND (:label_key IS NULL OR EXISTS (SELECT 1 FROM labels AS other"         \
    "      WHERE other.job = jobs.seq AND other.key = :label_key"               \
    "      AND (:label_value IS NULL OR other.value = :label_value)))"          \
    " AND (:labels IS NULL OR :label_count = (SELECT count(*) FROM labels AS more" \
    "      WHERE more.job = jobs.seq AND (instr(:labels, char(31) || more.key || char(31)) > 0" \
    "      OR instr(:labels, char(31) || more.key || '=' || more.value || char(31)) > 0)))"

#define NEWEST_FIRST(number) \
    " AND " number " < :before ORDER BY " number " DESC LIMIT :limit OFFSET :offset"

#define WAY_COUNTED(condition, from, number, count)                                  \
    { condition, "SELECT " STORE_LIST_COLUMNS from ALSO NEWEST_FIRST(number),        \
      "SELECT " STORE_JOB_COLUMNS from ALSO NEWEST_FIRST(number),               \
      "SELECT " STORE_NAME_COLUMNS from ALSO NEWEST_FIRST(number),              \
      "SELECT count(*)" count, "SELECT count(*)" from ALSO }
#define WAY(condition, from, number) WAY_COUNTED(condition, from, number, from)

static const struct way {
    unsigned condition;                  /* the condition this walk fulfils by itself */
    const char *list;
    const char *rows;               /* the same walk for SW_COLUMNS_ALL, whose documents hold the rest */
    const char *names;              /* the same walk for SW_COLUMNS_NAMES */
    const char *count;              /* when there is no other condition: from the index alone */
    const char *count_filtered;
} ways[] = {
    WAY(BY_ID_PREFIX,   FROM_ID_PREFIX,   "jobs.seq"),
    WAY(BY_NAME,        FROM_NAME,        "jobs.seq"),
    WAY(BY_LABEL,       FROM_LABEL,       "labels.job"),
    WAY(BY_ACTIVE,      FROM_ACTIVE,      "jobs.seq"),
    WAY(BY_STATE,       FROM_STATE,       "jobs.seq"),
    WAY(BY_NAME_PREFIX, FROM_NAME_PREFIX, "jobs.seq"),
    WAY(BY_LABEL_KEY,   FROM_LABEL_KEY,   "labels.job"),
    WAY(BY_PLATFORM,    FROM_PLATFORM,    "jobs.seq"),
    WAY_COUNTED(BY_NOTHING, FROM_ALL,     "jobs.seq", " FROM jobs"),
};

static const char SQL_EXPIRED[] =
    "SELECT " STORE_JOB_COLUMNS " FROM jobs INDEXED BY jobs_by_expiry"
    " WHERE phase = 'over' AND keep_ms > 0 AND ended_ms + keep_ms <= :now"
    " ORDER BY ended_ms + keep_ms LIMIT :limit";

/* ---- which way, and what to bind ------------------------------------------------------------ */

/* The label that finds the fewest: one with a value. NULL: none is asked for. */
static const char *selective_label(const struct sw_job_filter *filter)
{
    for (size_t i = 0; i < filter->label_count; i++)
        if (strchr(filter->labels[i], '='))
            return filter->labels[i];
    return filter->label_count ? filter->labels[0] : NULL;
}

static unsigned label_conditions(const struct sw_job_filter *filter)
{
    const char *label = selective_label(filter);

    if (!label)
        return BY_NOTHING;
    return (strchr(label, '=') ? BY_LABEL : BY_LABEL_KEY) |
           (filter->label_count > 1 ? BY_LABELS : BY_NOTHING);
}

static unsigned conditions_of(const struct sw_job_filter *filter)
{
    return (filter->id_prefix ? BY_ID_PREFIX : 0u) | (filter->name ? BY_NAME : 0u) |
           (filter->name_prefix ? BY_NAME_PREFIX : 0u) |
           label_conditions(filter) |
           (filter->active_only ? BY_ACTIVE : 0u) |
           (filter->state_count == 1 ? BY_STATE : 0u) |
           (filter->state_count > 1 ? BY_STATES : 0u) |
           (filter->platform ? BY_PLATFORM : 0u) | (filter->ended_before_ms ? BY_ENDED : 0u) |
           (filter->created_since_ms ? BY_CREATED : 0u);
}

static const struct way *way_for(unsigned conditions)
{
    size_t i = 0;

    while (ways[i].condition != BY_NOTHING && !(ways[i].condition & conditions))
        i++;
    return &ways[i];
}

const char *store_list_sql(const struct sw_job_filter *filter)
{
    const struct way *way = way_for(conditions_of(filter));

    return filter->columns == SW_COLUMNS_NAMES ? way->names
           : filter->columns == SW_COLUMNS_ALL ? way->rows : way->list;
}

/* Bind a condition where the statement has a place for it. An empty text is a text here. */
static void bind_text(sqlite3_stmt *statement, const char *name, const char *text)
{
    int index = sqlite3_bind_parameter_index(statement, name);

    if (text && index > 0)
        sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

static void bind_number(sqlite3_stmt *statement, const char *name, int64_t value)
{
    int index = sqlite3_bind_parameter_index(statement, name);

    if (value && index > 0)
        sqlite3_bind_int64(statement, index, value);
}

static void bind_states(sqlite3_stmt *statement, const struct sw_job_filter *filter)
{
    sw_auto(sw_buf) struct sw_buf names = SW_BUF_INIT;

    if (filter->state_count == 1)
        bind_text(statement, ":state", sw_state_name(filter->states[0]));
    for (size_t i = 0; filter->state_count > 1 && i < filter->state_count; i++)
        sw_buf_addf(&names, "%s ", sw_state_name(filter->states[i]));
    bind_text(statement, ":states", names.data);
}

static bool same_key(const char *one, const char *other)
{
    size_t length = strcspn(one, "=");

    return strcspn(other, "=") == length && memcmp(one, other, length) == 0;
}

/* A label said twice, or a key that another label names with its value, asks for nothing more. */
static bool says_nothing_new(const struct sw_job_filter *filter, size_t at)
{
    const char *label = filter->labels[at];

    for (size_t i = 0; i < filter->label_count; i++)
        if ((i < at && strcmp(filter->labels[i], label) == 0) ||
            (!strchr(label, '=') && strchr(filter->labels[i], '=') &&
             same_key(filter->labels[i], label)))
            return true;
    return false;
}

static void bind_labels(sqlite3_stmt *statement, const struct sw_job_filter *filter)
{
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    const char *label = selective_label(filter), *equals = label ? strchr(label, '=') : NULL;
    sw_autofree char *key = label ? sw_strndup(label, strcspn(label, "=")) : NULL;
    int64_t count = 0;

    bind_text(statement, ":label_key", key);
    bind_text(statement, ":label_value", equals ? equals + 1 : NULL);
    if (filter->label_count < 2)
        return;
    sw_buf_add_char(&all, '\x1f');
    for (size_t i = 0; i < filter->label_count; i++)
        if (!says_nothing_new(filter, i)) {
            sw_buf_addf(&all, "%s\x1f", filter->labels[i]);
            count++;
        }
    bind_text(statement, ":labels", sw_buf_text(&all));
    bind_number(statement, ":label_count", count);
}

static void bind_conditions(sqlite3_stmt *statement, const struct sw_job_filter *filter)
{
    bind_text(statement, ":platform", filter->platform);
    bind_text(statement, ":name", filter->name);
    bind_text(statement, ":name_prefix", filter->name_prefix);
    bind_text(statement, ":id_prefix", filter->id_prefix);
    bind_labels(statement, filter);
    bind_number(statement, ":active", filter->active_only);
    bind_number(statement, ":ended_before", filter->ended_before_ms);
    bind_number(statement, ":created_since", filter->created_since_ms);
    bind_states(statement, filter);
}

/* ---- pages ---------------------------------------------------------------------------------- */

struct job_page {
    struct sw_job *jobs;
    int64_t *seqs;
    size_t count, room;
};

static void page_auto(struct job_page *page)
{
    for (size_t i = 0; i < page->count; i++)
        sw_job_done(&page->jobs[i]);
    free(page->jobs);
    free(page->seqs);
}

static void page_grow(struct job_page *page)
{
    page->room = page->room ? page->room * 2 : 32;
    page->jobs = sw_realloc_array(page->jobs, page->room, sizeof *page->jobs);
    page->seqs = sw_realloc_array(page->seqs, page->room, sizeof *page->seqs);
}

typedef int read_row_fn(sqlite3_stmt *row, int64_t *seq, struct sw_job *out);

static read_row_fn *const read_row[] = {
    [SW_COLUMNS_LIST]  = store_row_read_list,
    [SW_COLUMNS_ALL]   = store_row_read,
    [SW_COLUMNS_NAMES] = store_row_read_names,
};

static int page_take(struct sw_store *store, sqlite3_stmt *rows, read_row_fn *read,
                     struct job_page *page, struct sw_error *err)
{
    int row;

    while ((row = store_next(store, rows, err)) > 0) {
        if (page->count == page->room)
            page_grow(page);
        read(rows, &page->seqs[page->count], &page->jobs[page->count]);
        page->count++;
    }
    return row;
}

static int page_documents(struct sw_store *store, struct job_page *page, struct sw_error *err)
{
    for (size_t i = 0; i < page->count; i++)
        if (store_row_documents(store, page->seqs[i], &page->jobs[i], err) < 0)
            return -1;
    return 0;
}

static int page_read(struct sw_store *store, const struct sw_job_filter *filter, int64_t before,
                     size_t limit, size_t offset, struct job_page *page, struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *rows;

    if (store_begin(&work, store, STORE_READS, err) < 0 ||
        !(rows = store_statement(store, store_list_sql(filter), err)))
        return -1;
    bind_conditions(rows, filter);
    store_bind_int(rows, ":before", before);
    store_bind_int(rows, ":limit", (int64_t)limit);
    store_bind_int(rows, ":offset", offset > INT64_MAX ? INT64_MAX : (int64_t)offset);
    if (page_take(store, rows, read_row[filter->columns], page, err) < 0)
        return -1;
    return filter->columns == SW_COLUMNS_ALL ? page_documents(store, page, err) : 0;
}

/* 1: the caller has seen enough. */
static int page_tell(const struct job_page *page, sw_job_fn *fn, void *context)
{
    for (size_t i = 0; i < page->count; i++)
        if (fn(context, &page->jobs[i]))
            return 1;
    return 0;
}

/* ---- the public part ------------------------------------------------------------------------ */

int sw_store_list(struct sw_store *store, const struct sw_job_filter *filter, sw_job_fn *fn,
                  void *context, struct sw_error *err)
{
    size_t most = filter->columns == SW_COLUMNS_ALL ? PAGE_ROWS_WITH_DOCUMENTS : PAGE_ROWS;
    size_t left = filter->limit ? filter->limit : SIZE_MAX;
    size_t offset = filter->offset;
    int64_t before = INT64_MAX;

    while (left > 0) {
        sw_auto(page) struct job_page page = { 0 };
        size_t limit = left < most ? left : most;

        if (page_read(store, filter, before, limit, offset, &page, err) < 0)
            return -1;
        if (page_tell(&page, fn, context) || page.count < limit)
            return 0;
        before = page.seqs[page.count - 1];
        left -= page.count;
        offset = 0;
    }
    return 0;
}

int sw_store_count(struct sw_store *store, const struct sw_job_filter *filter, int64_t *count,
                   struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    unsigned conditions = conditions_of(filter);
    const struct way *way = way_for(conditions);
    sqlite3_stmt *row;

    if (store_begin(&work, store, STORE_READS, err) < 0 ||
        !(row = store_statement(store, conditions == way->condition ? way->count : way->count_filtered,
                                err)))
        return -1;
    bind_conditions(row, filter);
    if (store_next(store, row, err) < 0)
        return -1;
    *count = sqlite3_column_int64(row, 0);
    return 0;
}

static int read_expired(struct sw_store *store, int64_t now_ms, size_t limit, struct job_page *page,
                        struct sw_error *err)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;
    sqlite3_stmt *rows;

    if (store_begin(&work, store, STORE_READS, err) < 0 ||
        !(rows = store_statement(store, SQL_EXPIRED, err)))
        return -1;
    store_bind_int(rows, ":now", now_ms);
    store_bind_int(rows, ":limit", (int64_t)limit);
    return page_take(store, rows, store_row_read, page, err);
}

int sw_store_expired(struct sw_store *store, int64_t now_ms, size_t limit, sw_job_fn *fn,
                     void *context, struct sw_error *err)
{
    sw_auto(page) struct job_page page = { 0 };

    if (limit == 0 || limit > PAGE_ROWS)
        limit = PAGE_ROWS;
    if (read_expired(store, now_ms, limit, &page, err) < 0)
        return -1;
    page_tell(&page, fn, context);
    return 0;
}
