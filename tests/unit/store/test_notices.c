/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_notices.c - each event becomes a notice once, and each notice has one that runs it.
 */
#include "store_test.h"

#include <signal.h>
#include <sys/wait.h>

static const char ID[] = "job-aaaaaaaa";
enum { PROCESSES = 16 };

static void add_hooked(struct store_fixture *here)
{
    sw_auto(json) json_t *plan = json_pack("{s{ss}}", "hooks", "on_complete", "true");
    struct sw_job job = { .name = (char *)"n", .platform = (char *)"local", .plan = plan };

    snprintf(job.id, sizeof job.id, "%s", ID);
    assert_ok(sw_store_add(here->store, &job, &here->err));
}

/* Every change of state shall be heard by two hooks. */
static void hooks_of(void *context, const struct sw_job *job, int64_t event_seq, const char *kind,
                     const json_t *data, json_t *hooks)
{
    (void)context, (void)job, (void)event_seq, (void)data;
    if (strcmp(kind, "state") == 0) {
        json_array_append_new(hooks, json_string("on_status"));
        json_array_append_new(hooks, json_string("notify.command"));
    }
}

static void hear(struct sw_store *store)
{
    bool found = true;

    while (found)
        assert_int_equal(sw_store_due(store, 3, hooks_of, NULL, &found, NULL), 0);
}

static int remember(void *context, int64_t event_seq, const char *hook)
{
    (void)hook;
    *(int64_t *)context = event_seq;
    return 0;
}

static int64_t last_open(struct store_fixture *here)
{
    int64_t event = 0;

    assert_ok(sw_store_notices(here->store, 100, remember, &event, &here->err));
    return event;
}

static void an_event_becomes_a_notice_for_each_hook_once(void **state)
{
    struct store_fixture *here = *state;

    add_hooked(here);
    saw(here, ID, SW_RUNNING);
    saw(here, ID, SW_COMPLETE);
    hear(here->store);
    hear(here->store);
    assert_int_equal(number(here, "SELECT count(*) FROM notices"), 4);
    assert_int_equal(number(here, "SELECT value FROM marks"),
                     number(here, "SELECT max(seq) FROM events"));
}

static void a_job_without_hooks_is_passed_over(void **state)
{
    struct store_fixture *here = *state;

    assert_ok(add_job(here->store, ID, &here->err));
    saw(here, ID, SW_RUNNING);
    hear(here->store);
    assert_int_equal(number(here, "SELECT count(*) FROM notices"), 0);
    assert_true(number(here, "SELECT value FROM marks") > 0);
}

static int hear_and_claim(const char *dir, int64_t event)
{
    struct sw_store *store = sw_store_open(dir, false, NULL);
    struct sw_notice notice = { 0 };
    bool won = false;

    if (!store)
        return 100;
    hear(store);
    if (sw_store_notice_claim(store, event, "on_status", &won, &notice, NULL) < 0)
        return 100;
    if (won && sw_store_notice_started(store, event, "on_status", NULL) < 0)
        return 100;
    return won;
}

static void of_sixteen_processes_one_wins_the_claim(void **state)
{
    struct store_fixture *here = *state;
    pid_t children[PROCESSES];
    int64_t event;
    int winners = 0;

    add_hooked(here);
    saw(here, ID, SW_RUNNING);
    event = number(here, "SELECT max(seq) FROM events");
    sw_store_close(sw_take(here->store));
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(hear_and_claim(here->dir, event));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;

        waitpid(children[i], &status, 0);
        winners += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    }
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_int_equal(winners, 1);
    assert_int_equal(number(here, "SELECT count(*) FROM notices"), 2);
}

/* A claimer that is killed, before or after it said that it began. */
static void claim_and_die(struct store_fixture *here, int64_t event, bool begun)
{
    pid_t child;
    int status;

    sw_store_close(sw_take(here->store));
    child = fork();
    if (child == 0) {
        struct sw_store *store = sw_store_open(here->dir, false, NULL);
        struct sw_notice notice = { 0 };
        bool won = false;

        if (store && sw_store_notice_claim(store, event, "on_status", &won, &notice, NULL) == 0 &&
            won && (!begun || sw_store_notice_started(store, event, "on_status", NULL) == 0))
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_non_null(here->store);
}

static void a_claimer_that_dies_before_it_begins_is_followed_by_another(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_notice) struct sw_notice notice = { 0 };
    int64_t event;
    bool won = false;

    add_hooked(here);
    saw(here, ID, SW_RUNNING);
    hear(here->store);
    event = last_open(here);
    claim_and_die(here, event, false);
    assert_int_equal(last_open(here), event);
    assert_ok(sw_store_notice_claim(here->store, event, "on_status", &won, &notice, &here->err));
    assert_true(won);
    assert_string_equal(notice.kind, "state");
    assert_string_equal(notice.job.id, ID);
}

static void a_claimer_that_dies_after_it_began_is_not_followed(void **state)
{
    struct store_fixture *here = *state;
    struct sw_notice notice = { 0 };
    int64_t event;
    bool won = true;

    add_hooked(here);
    saw(here, ID, SW_RUNNING);
    hear(here->store);
    event = last_open(here);
    claim_and_die(here, event, true);
    assert_ok(sw_store_notice_claim(here->store, event, "on_status", &won, &notice, &here->err));
    assert_false(won);
}

static void what_came_of_a_notice_is_an_event(void **state)
{
    struct store_fixture *here = *state;
    sw_auto(sw_notice) struct sw_notice notice = { 0 };
    sw_auto(json) json_t *result = sw_json_object(SW_STR("hook", "on_status"));
    int64_t event;
    bool won = false;

    add_hooked(here);
    saw(here, ID, SW_RUNNING);
    hear(here->store);
    event = last_open(here);
    assert_ok(sw_store_notice_claim(here->store, event, "on_status", &won, &notice, &here->err));
    assert_ok(sw_store_notice_started(here->store, event, "on_status", &here->err));
    assert_ok(sw_store_notice_done(here->store, event, "on_status", 3, result, &here->err));
    assert_int_equal(number(here, "SELECT exit_status FROM notices WHERE stage = 'done'"), 3);
    assert_int_equal(number(here, "SELECT count(*) FROM events WHERE kind = 'hook'"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(an_event_becomes_a_notice_for_each_hook_once),
        STORE_TEST(a_job_without_hooks_is_passed_over),
        STORE_TEST(of_sixteen_processes_one_wins_the_claim),
        STORE_TEST(a_claimer_that_dies_before_it_begins_is_followed_by_another),
        STORE_TEST(a_claimer_that_dies_after_it_began_is_not_followed),
        STORE_TEST(what_came_of_a_notice_is_an_event),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
