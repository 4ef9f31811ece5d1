/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reconcile.c - the jobs of a place are observed in one call; those that need reconcile() once more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "monitor/monitor_internal.h"
#include "store/store_internal.h"

enum { JOBS = 1500, UNCLEAR = 7 };

static struct stub {                 /* the platform, and what it was asked */
    size_t observed[4];              /* jobs of each call of observe() */
    int observes, reconciles;
    bool acted, refuses;
} stub;

static int stub_observe(struct sw_connection *conn, struct sw_observation *jobs, size_t count,
                        struct sw_error *err)
{
    (void)conn;
    assert_in_range(stub.observes, 0, 3);
    stub.observed[stub.observes++] = count;
    if (stub.refuses)
        return sw_fail(err, SW_E_UNREACHABLE, "no answer");
    for (size_t i = 0; i < count; i++) {
        bool unclear = atoi(jobs[i].job.remote_id) == UNCLEAR && !stub.acted;

        jobs[i].needs_reconcile = unclear;
        jobs[i].presence = unclear ? SW_UNSEEN : SW_PRESENT;
        jobs[i].state = SW_RUNNING;
    }
    return 0;
}

static void stub_reconcile(struct sw_connection *conn, const struct sw_observation *jobs, size_t count)
{
    (void)conn;
    stub.reconciles++;
    for (size_t i = 0; i < count; i++)
        stub.acted |= jobs[i].needs_reconcile;
}

static const struct sw_platform stub_platform = {
    .name = "stub", .observe = stub_observe, .reconcile = stub_reconcile,
};

static struct sw_connection *connect(void *context, const struct sw_platform *platform,
                                     const char *profile, int64_t place, struct sw_error *err)
{
    (void)platform;
    (void)profile;
    (void)place;
    (void)err;
    return context;
}

struct scene {
    char dir[64];
    struct sw_store *store;
    struct poll_group group;
};

static void add_jobs(struct scene *scene)
{
    sw_auto(store_work) struct store_work work = STORE_WORK_INIT;

    assert_int_equal(store_begin(&work, scene->store, STORE_DURABLE, NULL), 0);
    scene->group = (struct poll_group){ .platform = &stub_platform, .count = JOBS };
    scene->group.ids = sw_alloc(JOBS * sizeof *scene->group.ids);
    for (int i = 0; i < JOBS; i++) {
        struct sw_job job = { .name = (char *)"train", .platform = (char *)"stub" };

        snprintf(job.id, sizeof job.id, "train-%07d-aaaaaaaa", i);
        memcpy(scene->group.ids[i], job.id, SW_ID_SIZE);
        assert_int_equal(store_job_insert(scene->store, &job, 1, NULL), 0);
    }
    assert_int_equal(store_exec(scene->store, "UPDATE jobs SET phase = 'active', remote_id = seq,"
                                " owner = NULL", NULL), 0);
    assert_int_equal(store_commit(&work, NULL), 0);
}

static int begin(void **state)
{
    struct scene *scene = sw_new(struct scene);

    stub = (struct stub){ 0 };
    snprintf(scene->dir, sizeof scene->dir, "/tmp/slipway-reconcile-XXXXXX");
    if (!mkdtemp(scene->dir) || !(scene->store = sw_store_open(scene->dir, false, NULL)))
        return -1;
    add_jobs(scene);
    *state = scene;
    return 0;
}

static int end(void **state)
{
    struct scene *scene = *state;

    free(scene->group.ids);
    sw_store_close(scene->store);
    sw_remove_tree(scene->dir, NULL);
    free(scene);
    return 0;
}

static void reconcile(struct scene *scene, json_t *unreachable, bool act)
{
    const struct sw_monitor monitor = { .store = scene->store, .connect = connect, .context = scene };
    struct sw_error err = { 0 };

    scene->group.act = act;
    if (monitor_reconcile(&monitor, &scene->group, unreachable, &err) < 0)
        fail_msg("%s", err.message);
}

static void all_jobs_of_a_place_are_observed_in_one_call(void **state)
{
    stub.acted = true;
    reconcile(*state, NULL, true);
    assert_int_equal(stub.observes, 1);
    assert_int_equal(stub.observed[0], JOBS);
    assert_int_equal(stub.reconciles, 1);
}

static void one_who_only_looks_changes_nothing(void **state)
{
    reconcile(*state, NULL, false);
    assert_int_equal(stub.observes, 1);
    assert_int_equal(stub.reconciles, 0);
}

static void what_only_reconcile_can_settle_is_observed_once_more(void **state)
{
    reconcile(*state, NULL, true);
    assert_int_equal(stub.observes, 2);
    assert_int_equal(stub.observed[0], JOBS);
    assert_int_equal(stub.observed[1], 1);
    assert_int_equal(stub.reconciles, 1);
}

static void a_place_that_does_not_answer_is_not_acted_on(void **state)
{
    sw_auto(json) json_t *unreachable = json_array();

    stub.refuses = true;
    reconcile(*state, unreachable, true);
    assert_int_equal(stub.observes, 1);
    assert_int_equal(stub.reconciles, 0);
    assert_int_equal(json_array_size(unreachable), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_jobs_of_a_place_are_observed_in_one_call, begin, end),
        cmocka_unit_test_setup_teardown(one_who_only_looks_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(what_only_reconcile_can_settle_is_observed_once_more, begin, end),
        cmocka_unit_test_setup_teardown(a_place_that_does_not_answer_is_not_acted_on, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
