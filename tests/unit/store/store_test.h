/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_test.h - what every test of the store needs: a folder of its own, a job, an observation.
 *
 * Each test opens its own store in a fresh folder under /tmp, so tests may run side by side.
 */
#ifndef SW_TEST_STORE_TEST_H
#define SW_TEST_STORE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "store/store_internal.h"

struct store_fixture {                     /* the state of each test */
    char dir[64];
    struct sw_store *store;
    struct sw_error err;
};

static inline int store_fixture_open(void **state)
{
    struct store_fixture *here = sw_new(struct store_fixture);

    snprintf(here->dir, sizeof here->dir, "/tmp/slipway-store-XXXXXX");
    if (!mkdtemp(here->dir))
        return -1;
    here->store = sw_store_open(here->dir, false, &here->err);
    if (!here->store)
        print_error("%s\n", here->err.message);
    *state = here;
    return here->store ? 0 : -1;
}

static inline int store_fixture_close(void **state)
{
    struct store_fixture *here = *state;

    sw_store_close(here->store);
    sw_remove_tree(here->dir, NULL);
    free(here);
    return 0;
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, store_fixture_open, store_fixture_close)

/* Close and open again, as the next process would. */
static inline void reopen(struct store_fixture *here)
{
    sw_store_close(here->store);
    here->store = sw_store_open(here->dir, false, &here->err);
    assert_non_null(here->store);
}

#define assert_ok(call)                                          \
    do {                                                         \
        if ((call) != 0)                                         \
            fail_msg("%s: %s", #call, here->err.message);        \
    } while (0)

#define assert_refused(call, expected)                           \
    do {                                                         \
        memset(&here->err, 0, sizeof here->err);                 \
        assert_int_equal((call), -1);                            \
        assert_int_equal(here->err.code, (expected));            \
    } while (0)

#define assert_says(part)                                        \
    do {                                                         \
        if (!strstr(here->err.message, (part)))                  \
            fail_msg("'%s' is not in: %s", (part), here->err.message); \
    } while (0)

static inline int add_job(struct sw_store *store, const char *id, struct sw_error *err)
{
    struct sw_job job = { .name = (char *)"train", .platform = (char *)"local" };

    snprintf(job.id, sizeof job.id, "%.*s", SW_ID_MAX, id);
    return sw_store_add(store, &job, err);
}

static inline struct sw_observation observation(const char *id, enum sw_state state)
{
    return (struct sw_observation){ .job = { .id = id, .attempt = 1 }, .presence = SW_PRESENT,
                                 .state = state, .exit_code = SW_NO_EXIT_CODE,
                                 .failed_replica = -1 };
}

static inline bool saw(struct store_fixture *here, const char *id, enum sw_state state)
{
    struct sw_observation seen = observation(id, state);
    bool changed = false;

    assert_ok(sw_store_saw(here->store, &seen, NULL, sw_now_ms(), &changed, &here->err));
    return changed;
}

static inline enum sw_state state_of(struct store_fixture *here, const char *id)
{
    struct sw_job job = { 0 };
    enum sw_state state;

    assert_ok(sw_store_get(here->store, id, SW_COLUMNS_LIST, &job, &here->err));
    state = job.state;
    sw_job_done(&job);
    return state;
}

static inline int64_t number(struct store_fixture *here, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value;

    assert_int_equal(sqlite3_prepare_v2(here->store->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

#endif
