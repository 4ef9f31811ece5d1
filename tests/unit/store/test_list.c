/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_list.c - lists are right and stay quick: 100,000 jobs, every way of asking.
 *
 * "Quick" is not measured but read from SQLite's query plans: no scan of the table, no sorting.
 */
#include "store_test.h"

#include "fill.h"

enum { MANY = 100000 };

static struct store_fixture *full;                  /* filled once for all tests of this file */

static int fill_once(void **state)
{
    if (store_fixture_open(state) < 0)
        return -1;
    full = *state;
    return fill_store(full->store, MANY, &full->err);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static const enum sw_state only_failed[] = { SW_ERROR };
static const enum sw_state all_ended[] = { SW_COMPLETE, SW_ERROR, SW_CANCELED };

static const char *const team[] = { "team" }, *const vision[] = { "team=vision" },
    *const speech[] = { "team=speech" }, *const both[] = { "tier", "team=vision" },
    *const one_fails[] = { "team=vision", "tier=silver" },
    *const two_values[] = { "team=vision", "team=speech" },
    *const repeated[] = { "team", "team=vision", "team", "team=vision" },
    *const in_one[] = { "team=vision\x1ftier=gold", "tier=gold" };

static const struct {
    const char *claim;
    struct sw_job_filter filter;
    const char *uses;
} plans[] = {
    { "newest first", { .limit = 100 }, "USING INTEGER PRIMARY KEY (rowid<?)" },
    { "by state", { .states = only_failed, .state_count = 1 }, "USING INDEX jobs_by_state" },
    { "active", { .active_only = true }, "USING INDEX jobs_not_over" },
    { "by name", { .name = "train" }, "USING INDEX jobs_by_name" },
    { "by name prefix", { .name_prefix = "tr" },
      "USING COVERING INDEX jobs_by_name (name>? AND name<?)" },
    { "by id prefix", { .id_prefix = "train-00" }, "(id>? AND id<?)" },
    { "by label", { .labels = vision, .label_count = 1 },
      "USING COVERING INDEX labels_by_value (key=? AND value=? AND job<?)" },
    { "by label key", { .labels = team, .label_count = 1 },
      "USING COVERING INDEX labels_by_key (key=? AND job<?)" },
    { "by several labels", { .labels = both, .label_count = 2 },
      "USING COVERING INDEX labels_by_value (key=? AND value=? AND job<?)" },
    { "by platform", { .platform = "slurm" }, "USING INDEX jobs_by_platform" },
    { "name and state", { .name = "train", .states = only_failed, .state_count = 1 },
      "USING INDEX jobs_by_name" },
    { "several states", { .states = all_ended, .state_count = 3 },
      "USING INTEGER PRIMARY KEY (rowid<?)" },
};

static char *plan_of(sqlite3 *db, const char *sql)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_autofree char *question = sw_format("EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *rows = NULL;

    assert_int_equal(sqlite3_prepare_v2(db, question, -1, &rows, NULL), SQLITE_OK);
    while (sqlite3_step(rows) == SQLITE_ROW)
        sw_buf_addf(&out, "%s\n", (const char *)sqlite3_column_text(rows, 3));
    sqlite3_finalize(rows);
    return sw_buf_steal(&out);
}

static void every_list_walks_an_index_in_its_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(plans); i++) {
        sw_autofree char *plan = plan_of(full->store->db, store_list_sql(&plans[i].filter));

        if (!strstr(plan, plans[i].uses) || strstr(plan, "TEMP B-TREE") || strstr(plan, "SCAN"))
            fail_msg("%s: %s", plans[i].claim, plan);
    }
}

/* ---- answers -------------------------------------------------------------------------------- */

struct heard {
    size_t count;
    size_t stop_after;
    int64_t last_created_ms;
    char first[SW_ID_SIZE], last[SW_ID_SIZE];
    bool ordered;
};

static int hear(void *context, const struct sw_job *job)
{
    struct heard *heard = context;

    if (heard->count++ == 0)
        memcpy(heard->first, job->id, SW_ID_SIZE);
    else
        heard->ordered = heard->ordered && job->created_ms < heard->last_created_ms;
    heard->last_created_ms = job->created_ms;
    memcpy(heard->last, job->id, SW_ID_SIZE);
    return heard->stop_after && heard->count == heard->stop_after;
}

static struct heard list(const struct sw_job_filter *filter)
{
    struct store_fixture *here = full;
    struct heard heard = { .ordered = true };

    assert_ok(sw_store_list(here->store, filter, hear, &heard, &here->err));
    assert_true(heard.ordered);
    return heard;
}

static const struct {
    const char *claim;
    struct sw_job_filter filter;
    size_t expected;
} answers[] = {
    { "all", { 0 }, MANY },
    { "a limit", { .limit = 7 }, 7 },
    { "past the end", { .offset = MANY }, 0 },
    { "the last three", { .offset = MANY - 3, .limit = 10 }, 3 },
    { "failed", { .states = only_failed, .state_count = 1 }, MANY / 20 },
    { "ended", { .states = all_ended, .state_count = 3 }, MANY / 20 * 19 },
    { "active", { .active_only = true }, MANY / 20 },
    { "active and failed", { .active_only = true, .states = only_failed, .state_count = 1 }, 0 },
    { "a name", { .name = "train" }, MANY / 4 },
    { "no such name", { .name = "nothing" }, 0 },
    { "a name prefix", { .name_prefix = "ex" }, MANY / 4 },
    { "an id prefix", { .id_prefix = "train-00000" }, 25 },
    { "one id", { .id_prefix = "train-0000004-aaaaaaaa" }, 1 },
    { "a label", { .labels = vision, .label_count = 1 }, MANY / 5 },
    { "a label key", { .labels = team, .label_count = 1 }, MANY / 5 },
    { "another label", { .labels = speech, .label_count = 1 }, 0 },
    { "a label and a name", { .labels = team, .label_count = 1, .name = "train" }, MANY / 20 },
    { "two labels", { .labels = both, .label_count = 2 }, MANY / 5 },
    { "two labels, one of them not there", { .labels = one_fails, .label_count = 2 }, 0 },
    { "two values of one label", { .labels = two_values, .label_count = 2 }, 0 },
    { "a label said again and again", { .labels = repeated, .label_count = 4 }, MANY / 5 },
    { "a value that looks like two labels", { .labels = in_one, .label_count = 2 }, 0 },
    { "a platform", { .platform = "local" }, (MANY + 2) / 3 - (MANY + 20) / 60 },
    { "a platform and a name", { .platform = "local", .name = "train" }, (MANY + 11) / 12 },
    { "ended long ago", { .ended_before_ms = 1 }, 0 },
    { "created since ever", { .created_since_ms = 1 }, MANY },
    { "created in the far future", { .created_since_ms = INT64_MAX, .name = "train" }, 0 },
};

static void every_filter_finds_exactly_its_jobs_newest_first(void **state)
{
    struct store_fixture *here = full;

    (void)state;
    for (size_t i = 0; i < SW_COUNT(answers); i++) {
        struct sw_job_filter filter = answers[i].filter;
        struct heard heard = list(&filter);
        int64_t count = -1;

        if (heard.count != answers[i].expected)
            fail_msg("%s: %zu jobs", answers[i].claim, heard.count);
        if (filter.limit || filter.offset)
            continue;
        assert_ok(sw_store_count(here->store, &filter, &count, &here->err));
        if (count != (int64_t)answers[i].expected)
            fail_msg("%s: counted %lld", answers[i].claim, (long long)count);
    }
}

static void jobs_created_since_the_tenth_are_ten(void **state)
{
    const struct sw_job_filter newest = { .limit = 10 };
    const struct heard ten = list(&newest);
    const struct sw_job_filter since = { .created_since_ms = ten.last_created_ms };

    (void)state;
    assert_int_equal(list(&since).count, 10);
}

static void pages_join_without_gap_or_overlap(void **state)
{
    struct sw_job_filter filter = { .name = "train", .limit = 999 };
    size_t seen = 0;
    int64_t oldest = INT64_MAX;

    (void)state;
    for (;; filter.offset += filter.limit) {
        struct heard heard = list(&filter);

        if (heard.count == 0)
            break;
        assert_true(heard.last_created_ms < oldest);
        oldest = heard.last_created_ms;
        seen += heard.count;
    }
    assert_int_equal(seen, MANY / 4);
}

static void a_listener_may_stop(void **state)
{
    struct store_fixture *here = full;
    struct heard heard = { .stop_after = 2000, .ordered = true };
    const struct sw_job_filter filter = { 0 };

    (void)state;
    assert_ok(sw_store_list(here->store, &filter, hear, &heard, &here->err));
    assert_int_equal(heard.count, 2000);
}

/* ---- smaller stores ------------------------------------------------------------------------- */

static int cancel_it(void *context, const struct sw_job *job)
{
    struct store_fixture *here = context;

    assert_ok(sw_store_cancel_intent(here->store, job->id, &here->err));
    return 0;
}

static void a_listener_may_use_the_store(void **state)
{
    struct store_fixture *here = *state;
    const struct sw_job_filter filter = { .columns = SW_COLUMNS_ALL };

    assert_ok(fill_store(here->store, 200, &here->err));
    assert_ok(sw_store_list(here->store, &filter, cancel_it, here, &here->err));
    assert_int_equal(number(here, "SELECT sum(canceling) FROM jobs"), 10);
}

struct expired {
    char ids[8][SW_ID_SIZE];
    size_t count;
};

static int note_expired(void *context, const struct sw_job *job)
{
    struct expired *found = context;

    memcpy(found->ids[found->count++], job->id, SW_ID_SIZE);
    return 0;
}

static void end_at(struct store_fixture *here, const char *id, int64_t keep_ms, int64_t ended_ms)
{
    struct sw_job job = { .name = (char *)"n", .platform = (char *)"local", .keep_ms = keep_ms };
    struct sw_observation seen = observation(id, SW_COMPLETE);

    snprintf(job.id, sizeof job.id, "%s", id);
    seen.ended_ms = ended_ms;
    assert_ok(sw_store_add(here->store, &job, &here->err));
    assert_ok(sw_store_saw(here->store, &seen, NULL, ended_ms, NULL, &here->err));
}

static void only_finished_jobs_past_their_keep_time_are_expired(void **state)
{
    struct store_fixture *here = *state;
    struct expired found = { 0 };

    end_at(here, "late-aaaaaaaa", 1000, 9500);
    end_at(here, "first-aaaaaaaa", 1000, 5000);
    end_at(here, "second-aaaaaaaa", 2000, 5000);
    end_at(here, "forever-aaaaaaaa", 0, 5000);
    assert_ok(add_job(here->store, "running-aaaaaaaa", &here->err));
    assert_ok(sw_store_expired(here->store, 10000, 5, note_expired, &found, &here->err));
    assert_int_equal(found.count, 2);
    assert_string_equal(found.ids[0], "first-aaaaaaaa");
    assert_string_equal(found.ids[1], "second-aaaaaaaa");
    found.count = 0;
    assert_ok(sw_store_expired(here->store, 10000, 1, note_expired, &found, &here->err));
    assert_int_equal(found.count, 1);
}

static int note_row(void *context, const struct sw_job *job)
{
    json_array_append_new(context, sw_json_object(SW_SUB_COPY("brief", job->brief), SW_SUB_COPY("labels",
        job->labels)));
    return 0;
}

static void a_row_has_its_labels_and_what_is_shown_of_its_plan(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(json) json_t *labels = sw_json_object(SW_STR("team", "a \"b\", c"), SW_STR("empty", ""));
    sw_auto(json) json_t *brief = sw_json_object(SW_STR("command", "train"), SW_INT("gpus", 8));
    sw_auto(json) json_t *rows = json_array();
    struct sw_job job = { .name = (char *)"train", .platform = (char *)"local", .labels = labels,
        .brief = brief };

    assert_ok(add_job(here->store, "bare-aaaaaaaa", &here->err));
    snprintf(job.id, sizeof job.id, "full-aaaaaaaa");
    assert_ok(sw_store_add(here->store, &job, &here->err));
    assert_ok(sw_store_list(here->store, &(struct sw_job_filter){ 0 }, note_row, rows, &here->err));
    assert_int_equal(json_array_size(rows), 2);
    assert_true(json_equal(json_object_get(json_array_get(rows, 0), "labels"), labels));
    assert_true(json_equal(json_object_get(json_array_get(rows, 0), "brief"), brief));
    assert_int_equal(json_object_size(json_object_get(json_array_get(rows, 1), "labels")), 0);
    assert_null(json_object_get(json_array_get(rows, 1), "brief"));
}

int main(void)
{
    const struct CMUnitTest many[] = {
        cmocka_unit_test(every_list_walks_an_index_in_its_order),
        cmocka_unit_test(every_filter_finds_exactly_its_jobs_newest_first),
        cmocka_unit_test(jobs_created_since_the_tenth_are_ten),
        cmocka_unit_test(pages_join_without_gap_or_overlap),
        cmocka_unit_test(a_listener_may_stop),
    };
    const struct CMUnitTest few[] = {
        STORE_TEST(a_listener_may_use_the_store),
        STORE_TEST(a_row_has_its_labels_and_what_is_shown_of_its_plan),
        STORE_TEST(only_finished_jobs_past_their_keep_time_are_expired),
    };

    return cmocka_run_group_tests(many, fill_once, store_fixture_close) +
           cmocka_run_group_tests(few, NULL, NULL);
}
