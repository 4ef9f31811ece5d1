/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_events.c - events come in order, once each, and tell what changed.
 */
#include "store_test.h"

static const char ID[] = "job-aaaaaaaa";

struct heard {
    char *story;               /* "kind kind kind" */
    int64_t last;
    size_t count, stop_after;
};

static int hear(void *context, int64_t seq, int64_t at_ms, const char *job_id, const char *kind,
                const json_t *data)
{
    struct heard *heard = context;
    sw_autofree char *before = heard->story;
    const char *detail = sw_json_str(data, "state");

    assert_true(seq > heard->last && at_ms > 0 && job_id);
    heard->last = seq;
    heard->count++;
    heard->story = sw_format("%s%s%s%s%s", before ? before : "", before ? " " : "", kind,
                             detail ? "=" : "", detail ? detail : "");
    return heard->stop_after == heard->count;
}

static void a_job_tells_its_story_in_order(void **state)
{
    struct store_fixture *here = *state;
    struct heard heard = { 0 };
    struct sw_observation seen = observation(ID, SW_RUNNING);

    assert_ok(add_job(here->store, ID, &here->err));
    assert_ok(add_job(here->store, "other-aaaaaaaa", &here->err));
    assert_ok(sw_store_submitted(here->store, ID, "r", NULL, NULL, &here->err));
    saw(here, ID, SW_RUNNING);
    saw(here, ID, SW_RUNNING);                                    /* nothing new, no event */
    snprintf(seen.message, sizeof seen.message, "epoch 2");
    assert_ok(sw_store_saw(here->store, &seen, NULL, sw_now_ms(), NULL, &here->err));
    assert_ok(sw_store_event(here->store, ID, "hook", NULL, &here->err));
    assert_ok(sw_store_cancel_intent(here->store, ID, &here->err));
    saw(here, ID, SW_CANCELED);
    saw(here, ID, SW_ERROR);                                      /* refused, no event */
    assert_ok(sw_store_events(here->store, ID, 0, hear, &heard, &here->err));
    assert_string_equal(heard.story, "submitting submitted state=Running state=Running hook "
                                     "canceling state=Canceled");
    free(heard.story);
}

static void events_after_a_number_are_the_rest(void **state)
{
    struct store_fixture *here = *state;
    struct heard first = { .stop_after = 300 }, rest = { 0 };

    assert_ok(add_job(here->store, ID, &here->err));
    for (int i = 0; i < 600; i++)
        assert_ok(sw_store_event(here->store, ID, "tick", NULL, &here->err));
    assert_ok(sw_store_events(here->store, NULL, 0, hear, &first, &here->err));
    assert_int_equal(first.count, 300);
    rest.last = first.last;
    assert_ok(sw_store_events(here->store, NULL, first.last, hear, &rest, &here->err));
    assert_int_equal(rest.count, 301);
    free(first.story);
    free(rest.story);
}

static void a_number_is_never_used_again(void **state)
{
    struct store_fixture *here = *state;
    struct heard heard = { 0 };

    assert_ok(add_job(here->store, ID, &here->err));
    saw(here, ID, SW_COMPLETE);
    assert_ok(sw_store_remove(here->store, ID, &here->err));
    assert_ok(add_job(here->store, ID, &here->err));
    heard.last = 2;
    assert_ok(sw_store_events(here->store, ID, 2, hear, &heard, &here->err));
    assert_int_equal(heard.count, 1);
    free(heard.story);
}

static void an_event_of_no_job_is_refused(void **state)
{
    struct store_fixture *here = *state;

    assert_refused(sw_store_event(here->store, "missing", "hook", NULL, &here->err),
                   SW_E_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_job_tells_its_story_in_order),
        STORE_TEST(events_after_a_number_are_the_rest),
        STORE_TEST(a_number_is_never_used_again),
        STORE_TEST(an_event_of_no_job_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
