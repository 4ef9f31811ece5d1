/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_many.c - what is done to many jobs writes the store as often as what is done to one.
 */
#include "watch_test.h"

#include <sqlite3.h>
#include <stdatomic.h>

enum { MANY = 30 };

static atomic_int commits;

static int count_commit(void *context)
{
    (void)context;
    commits++;
    return 0;
}

/* Every store that is opened from now on. */
static int count_in(sqlite3 *store, const char **message, const struct sqlite3_api_routines *unused)
{
    (void)message;
    (void)unused;
    sqlite3_commit_hook(store, count_commit, NULL);
    return 0;
}

static void submit_many(struct post *here, const char *script, char (*ids)[SW_ID_SIZE], int count)
{
    sw_autofree char *job = sw_format("name: m\ncommand: x\nplatform: rehearsal\nretry: {max: 0}\n"
                                      "rehearsal: {script: '%s'}\n", script);

    for (int i = 0; i < count; i++)
        snprintf(ids[i], SW_ID_SIZE, "%s", submit(here, job));
}

static int commits_of(struct post *here, int (*verb)(struct post *here, const char *const *ids, size_t count),
                      char (*ids)[SW_ID_SIZE], size_t count)
{
    const char *list[MANY];

    for (size_t i = 0; i < count; i++)
        list[i] = ids[i];
    commits = 0;
    must(verb(here, list, count));
    return commits;
}

static int cancel(struct post *here, const char *const *ids, size_t count)
{
    return sw_cancel_many(here->session, ids, count, NULL, NULL, &here->err);
}

static int wait_for_all(struct post *here, const char *const *ids, size_t count)
{
    return sw_wait_many(here->session, ids, count, 20000, NULL, NULL, NULL, &here->err);
}

static int remove_all(struct post *here, const char *const *ids, size_t count)
{
    return sw_remove_many(here->session, ids, count, false, NULL, NULL, &here->err);
}

static void thirty_cancels_and_removals_are_as_many_transactions_as_one(void **state)
{
    struct post *here = *state;
    char ids[MANY + 1][SW_ID_SIZE];
    int one, many;

    submit_many(here, "running 1h", ids, MANY + 1);
    one = commits_of(here, cancel, ids, 1);
    many = commits_of(here, cancel, ids + 1, MANY);
    assert_true(one > 0);
    assert_true(many <= one + 1);                     /* "seen at" may be written once more */
    one = commits_of(here, remove_all, ids, 1);
    many = commits_of(here, remove_all, ids + 1, MANY);
    assert_int_equal(many, one);
}

static void waiting_for_what_is_over_writes_nothing(void **state)
{
    struct post *here = *state;
    char ids[MANY][SW_ID_SIZE];

    submit_many(here, "exit 0", ids, MANY);
    commits_of(here, wait_for_all, ids, MANY);
    assert_int_equal(commits_of(here, wait_for_all, ids, MANY), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        POST_TEST(thirty_cancels_and_removals_are_as_many_transactions_as_one),
        POST_TEST(waiting_for_what_is_over_writes_nothing),
    };

    sqlite3_auto_extension((void (*)(void))count_in);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
