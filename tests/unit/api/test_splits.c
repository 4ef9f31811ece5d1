/* SPDX-License-Identifier: Apache-2.0 */
/* test_splits.c - a group of splits is submitted once, however often that is asked for. */
#include "watch_test.h"

enum { MOST = 12 };

struct told {
    char ids[MOST][SW_ID_SIZE];
    size_t indexes[MOST], count, already;
};

static void take(void *context, const struct sw_outcome *outcome)
{
    struct told *told = context;

    assert_true(told->count < MOST);
    assert_null(outcome->err);
    told->indexes[told->count] = outcome->index;
    snprintf(told->ids[told->count++], SW_ID_SIZE, "%s", outcome->id);
    told->already += outcome->already;
}

static int submit_group(struct post *here, const char *yaml, const char *id, char group[SW_ID_SIZE],
                        struct told *told)
{
    struct sw_request *request = sw_request_new();
    int result;

    *told = (struct told){ 0 };
    here->err = (struct sw_error){ 0 };
    must(sw_request_text(request, yaml, strlen(yaml), "yaml", "job.yaml", &here->err));
    if (id)
        must(sw_request_id(request, id, &here->err));
    result = sw_submit_many(here->session, request, group, take, told, &here->err);
    sw_request_free(request);
    return result;
}

#define JOB(splits) "name: prep\ncommand: x\nplatform: rehearsal\nsplits: " splits "\nretry: {max: 0}\n" \
                    "rehearsal: {script: 'exit 3'}\n"

static json_t *chosen(struct post *here, const char *word)
{
    return ask(here, sw_select(here->session, &word, 1, NULL, 0, &here->err));
}

static void every_split_is_a_job_and_the_group_names_them_all(void **state)
{
    struct post *here = *state;
    const char *const words[] = { NULL, "prep", "last" };
    char group[SW_ID_SIZE];
    struct told told;

    must(submit_group(here, JOB("11"), NULL, group, &told));
    assert_int_equal(told.count, 11);
    for (size_t i = 0; i < 11; i++) {
        sw_autofree char *id = sw_format("%s-%zu", group, i);
        sw_auto(json) json_t *job = status_of(here, told.ids[i]), *split = NULL;

        assert_string_equal(told.ids[i], id);
        assert_int_equal(told.indexes[i], i);
        split = json_incref(json_object_get(job, "split"));
        assert_string_equal(sw_json_str(split, "group"), group);
        assert_int_equal(sw_json_int(split, "id", -1), i);
        assert_int_equal(sw_json_int(split, "count", -1), 11);
    }
    for (size_t w = 0; w < SW_COUNT(words); w++) {
        sw_auto(json) json_t *ids = chosen(here, words[w] ? words[w] : group);

        assert_int_equal(json_array_size(ids), 11);
        for (size_t i = 0; i < 11; i++)              /* 10 comes after 9, not after 1 */
            assert_string_equal(json_string_value(json_array_get(ids, i)), told.ids[i]);
    }
}

static void a_repeated_submit_sends_only_what_is_missing(void **state)
{
    struct post *here = *state;
    const char *lost[] = { "g-1", "g-3" };
    char group[SW_ID_SIZE];
    struct told told;

    must(submit_group(here, JOB("4"), "g", group, &told));
    assert_string_equal(group, "g");
    assert_int_equal(told.already, 0);
    for (size_t i = 0; i < SW_COUNT(lost); i++) {
        await_status(here, lost[i], "Error");
        must(sw_remove(here->session, lost[i], false, &here->err));
    }
    must(submit_group(here, JOB("4"), "g", group, &told));
    assert_int_equal(told.count, 4);
    assert_int_equal(told.already, 2);
    assert_int_equal(events_of(here, "g-0", "submitted"), 1);
    assert_int_equal(events_of(here, "g-1", "submitted"), 1);
    assert_int_equal(submit_group(here, JOB("5"), "g", group, &told), -1);
    assert_int_equal(here->err.code, SW_E_CONFLICT);
    assert_non_null(strstr(here->err.message, "splits differs"));
}

static void a_failed_one_is_tried_again_with_its_number_and_the_others_are_not(void **state)
{
    struct post *here = *state;
    sw_auto(json) json_t *job = NULL, *other = NULL;
    char group[SW_ID_SIZE];
    struct told told;
    int attempt = 0;

    must(submit_group(here, JOB("2"), "g", group, &told));
    await_status(here, "g-1", "Error");
    must(sw_retry(here->session, "g-1", false, &attempt, &here->err));
    assert_int_equal(attempt, 2);
    job = status_of(here, "g-1");
    other = status_of(here, "g-0");
    assert_int_equal(sw_json_int(json_object_get(job, "split"), "id", -1), 1);
    assert_int_equal(sw_json_int(other, "attempt", -1), 1);
}

static void one_job_is_submitted_the_same_way_and_has_no_group(void **state)
{
    struct post *here = *state;
    char group[SW_ID_SIZE];
    struct told told;

    must(submit_group(here, "name: one\ncommand: x\nplatform: rehearsal\n", NULL, group, &told));
    assert_string_equal(group, "");
    assert_int_equal(told.count, 1);
}

static void what_is_no_count_is_refused_where_it_stands(void **state)
{
    static const struct {
        const char *value, *says;
    } rows[] = {
        { "0", "job.yaml:4:1: splits" }, { "10001", "job.yaml:4:1: splits" },
        { "many", "job.yaml:4:1: splits" },
        { "2\nenv: {SPLIT_ID: 7}", "env.SPLIT_ID: Slipway sets it" },
        { "2\nlabels: {slipway.group: x}", "'splits' sets it" },
    };
    struct post *here = *state;
    char group[SW_ID_SIZE];
    struct told told;

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *job = sw_format("name: n\ncommand: x\nplatform: rehearsal\nsplits: %s\n",
                                          rows[i].value);

        assert_int_equal(submit_group(here, job, NULL, group, &told), -1);
        assert_int_equal(here->err.code, SW_E_SPEC);
        if (!strstr(here->err.message, rows[i].says))
            fail_msg("%s", here->err.message);
        assert_int_equal(told.count, 0);
    }
}

static void one_job_cannot_be_many(void **state)
{
    struct post *here = *state;
    struct sw_request *request = sw_request_new();
    char id[SW_ID_SIZE];

    must(sw_request_text(request, JOB("2"), strlen(JOB("2")), "yaml", "job.yaml", &here->err));
    assert_int_equal(sw_submit(here->session, request, id, &here->err), -1);
    assert_int_equal(here->err.code, SW_E_USAGE);
    sw_request_free(request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        POST_TEST(every_split_is_a_job_and_the_group_names_them_all),
        POST_TEST(a_repeated_submit_sends_only_what_is_missing),
        POST_TEST(a_failed_one_is_tried_again_with_its_number_and_the_others_are_not),
        POST_TEST(one_job_is_submitted_the_same_way_and_has_no_group),
        POST_TEST(what_is_no_count_is_refused_where_it_stands),
        POST_TEST(one_job_cannot_be_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
