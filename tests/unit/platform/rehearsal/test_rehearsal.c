/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rehearsal.c - the life of a pretended job, on a clock of our own.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "platform/platform.h"

extern const struct sw_platform sw_platform_rehearsal;
static const struct sw_platform *const platform = &sw_platform_rehearsal;

static int64_t now;

static int64_t pretended_now(void)
{
    return now;
}

struct place {
    char dir[32];
    struct sw_connection *conn;
};

static struct sw_connection *connect_with(const struct place *place, const char *api)
{
    sw_auto(json) json_t *options = sw_json_object(SW_STR_OPT("api", api));
    struct sw_connect_options config = { .state_dir = place->dir, .options = options };
    struct sw_connection *conn = platform->open(&config, NULL);

    assert_non_null(conn);
    return conn;
}

static int set_up(void **state)
{
    struct place *place = sw_new(struct place);

    snprintf(place->dir, sizeof place->dir, "/tmp/rehearsal-XXXXXX");
    if (!mkdtemp(place->dir))
        return -1;
    now = 1000000;
    sw_clock_pretend(pretended_now);
    place->conn = connect_with(place, NULL);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    platform->close(place->conn);
    sw_remove_tree(place->dir, NULL);
    free(place);
    sw_clock_pretend(NULL);
    return 0;
}

static struct sw_plan *plan_for(const char *id, const char *script, const char *api)
{
    struct sw_plan *plan = sw_new(struct sw_plan);

    snprintf(plan->job_id, sizeof plan->job_id, "%s", id);
    plan->nodes = 1;
    plan->options = sw_json_object(SW_STR("script", script), SW_STR_OPT("api", api));
    return plan;
}

static int try_submit(struct sw_connection *conn, struct sw_plan *plan, struct sw_error *err)
{
    struct sw_submission receipt = { 0 };
    int result = platform->submit(conn, plan, 1, NULL, &receipt, err);

    json_decref(receipt.details);
    free(receipt.results_dir);
    json_decref(plan->options);
    free(plan);
    return result;
}

static void submit(struct place *place, const char *id, const char *script)
{
    assert_int_equal(try_submit(place->conn, plan_for(id, script, NULL), NULL), 0);
}

static struct sw_observation look(struct place *place, const char *id)
{
    struct sw_observation seen = { .job = { .id = id, .remote_id = "rehearsal://", .attempt = 1 } };

    assert_int_equal(platform->observe(place->conn, &seen, 1, NULL), 0);
    return seen;
}

static void a_job_lives_by_its_script(void **state)
{
    struct place *place = *state;

    submit(place, "a-1", "pending 1s, running 2s, exit 3");
    assert_int_equal(look(place, "a-1").state, SW_PENDING);
    now += 1000;
    assert_int_equal(look(place, "a-1").state, SW_RUNNING);
    now += 2000;
    assert_int_equal(look(place, "a-1").state, SW_ERROR);
    assert_int_equal(look(place, "a-1").exit_code, 3);
}

static void submitting_an_id_again_finds_the_first_job(void **state)
{
    struct place *place = *state;

    submit(place, "a-1", "running 1s, exit 0");
    now += 1000;
    submit(place, "a-1", "running 1s, exit 0");
    assert_int_equal(look(place, "a-1").state, SW_COMPLETE);
    assert_int_equal(look(place, "a-1").ended_ms, 1001000);
}

static void another_connection_sees_the_same_job(void **state)
{
    struct place *place = *state, other = *place;

    submit(place, "a-1", "running");
    other.conn = connect_with(place, NULL);
    assert_int_equal(look(&other, "a-1").state, SW_RUNNING);
    platform->close(other.conn);
}

static void a_job_that_was_never_submitted_is_absent(void **state)
{
    assert_int_equal(look(*state, "absent-1").presence, SW_ABSENT);
}

static void an_id_that_is_a_path_reaches_no_other_folder(void **state)
{
    struct place *place = *state;

    assert_int_not_equal(look(place, "../../etc").presence, SW_PRESENT);
    assert_int_equal(try_submit(place->conn, plan_for("../x", "exit 0", NULL), NULL), -1);
}

static void a_canceled_job_stays_canceled_at_its_first_cancel(void **state)
{
    struct place *place = *state;
    const struct sw_jobref ref = { .id = "a-1", .attempt = 1 };

    submit(place, "a-1", "running");
    now += 10;
    assert_int_equal(sw_platform_cancel(platform, place->conn, &ref, NULL), 0);
    now += 10;
    assert_int_equal(sw_platform_cancel(platform, place->conn, &ref, NULL), 0);
    assert_int_equal(look(place, "a-1").state, SW_CANCELED);
    assert_int_equal(look(place, "a-1").ended_ms, 1000010);
}

static void a_job_canceled_on_its_way_arrives_canceled(void **state)
{
    struct place *place = *state;
    const struct sw_jobref ref = { .id = "a-1", .attempt = 1 };

    assert_int_equal(sw_platform_cancel(platform, place->conn, &ref, NULL), 0);
    now += 10;
    submit(place, "a-1", "running");
    assert_int_equal(look(place, "a-1").state, SW_CANCELED);
}

static void an_api_that_is_down_changes_nothing(void **state)
{
    struct place *place = *state;
    struct sw_connection *cut = connect_with(place, "down 2 calls");
    struct sw_observation seen = { .job = { .id = "a-1", .attempt = 1 } };
    struct sw_error err = { 0 };

    submit(place, "a-1", "running");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(platform->observe(cut, &seen, 1, &err), -1);
        assert_int_equal(err.code, SW_E_UNREACHABLE);
    }
    assert_int_equal(platform->observe(cut, &seen, 1, &err), 0);
    assert_int_equal(seen.state, SW_RUNNING);
    platform->close(cut);
}

static void a_lost_answer_leaves_one_job_that_the_next_submit_finds(void **state)
{
    struct place *place = *state;
    struct sw_error err = { 0 };

    assert_int_equal(try_submit(place->conn, plan_for("a-1", "running", "lose-answer"), &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_int_equal(look(place, "a-1").state, SW_RUNNING);
    now += 500;
    assert_int_equal(try_submit(place->conn, plan_for("a-1", "running", "lose-answer"), NULL), 0);
    assert_int_equal(look(place, "a-1").started_ms, 1000000);
}

static void a_job_not_found_at_first_is_found_later(void **state)
{
    struct place *place = *state;

    try_submit(place->conn, plan_for("a-1", "running", "not-found-then-found"), NULL);
    assert_int_equal(look(place, "a-1").presence, SW_ABSENT);
    assert_int_equal(look(place, "a-1").presence, SW_PRESENT);
}

static void a_job_never_confirmed_is_not_called_absent_by_a_list_without_it(void **state)
{
    struct place *place = *state;
    struct sw_observation seen = { .job = { .id = "a-1", .attempt = 1 } };

    try_submit(place->conn, plan_for("a-1", "running", "lose-answer, empty-list"), NULL);
    assert_int_equal(platform->observe(place->conn, &seen, 1, NULL), 0);
    assert_int_equal(seen.presence, SW_UNSEEN);
}

static void the_fault_of_one_job_is_not_its_neighbours(void **state)
{
    struct place *place = *state;
    struct sw_observation seen[2] = {
        { .job = { .id = "a-1", .remote_id = "rehearsal://a-1", .attempt = 1 } },
        { .job = { .id = "a-2", .remote_id = "rehearsal://a-2", .attempt = 1 } },
    };

    submit(place, "a-1", "running");
    assert_int_equal(try_submit(place->conn, plan_for("a-2", "running", "empty-list"), NULL), 0);
    assert_int_equal(platform->observe(place->conn, seen, 2, NULL), 0);
    assert_int_equal(seen[0].presence, SW_PRESENT);
    assert_int_equal(seen[1].presence, SW_ABSENT);
}

static void the_calls_an_api_is_down_for_are_counted_over_all_connections(void **state)
{
    struct place *place = *state;

    for (int i = 0; i < 4; i++) {
        struct sw_connection *conn = connect_with(place, NULL);

        assert_int_equal(try_submit(conn, plan_for("a-1", "running", "down 3 calls"), NULL),
                         i < 3 ? -1 : 0);
        platform->close(conn);
    }
}

static void the_connection_can_repair_what_a_job_asked_for(void **state)
{
    struct place *place = *state, repaired = *place;

    assert_int_equal(try_submit(place->conn, plan_for("a-1", "running", "empty-list"), NULL), 0);
    repaired.conn = connect_with(place, "up");
    assert_int_equal(look(&repaired, "a-1").presence, SW_PRESENT);
    platform->close(repaired.conn);
}

static void cleaning_up_leaves_nothing_and_may_be_repeated(void **state)
{
    struct place *place = *state;
    const struct sw_jobref ref = { .id = "a-1", .attempt = 1 };
    sw_autofree char *folder = sw_format("%s/rehearsal/a-1", place->dir);
    sw_autofree char *results = sw_format("%s/results/rehearsal.txt", folder);

    submit(place, "a-1", "exit 0");
    assert_int_equal(sw_platform_cleanup(platform, place->conn, &ref, true, NULL), 0);
    assert_true(sw_file_exists(results));
    assert_int_equal(sw_platform_cleanup(platform, place->conn, &ref, false, NULL), 0);
    assert_int_equal(sw_platform_cleanup(platform, place->conn, &ref, false, NULL), 0);
    assert_false(sw_file_exists(folder));
    assert_int_equal(look(place, "a-1").presence, SW_ABSENT);
}

static void a_job_is_adopted_by_its_id_alone(void **state)
{
    struct place *place = *state;
    struct sw_submission receipt = { 0 };
    struct sw_error err = { 0 };
    json_t *plan = NULL;

    assert_int_equal(platform->adopt(place->conn, "a-1", &plan, &receipt, &err), -1);
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    submit(place, "a-1", "running");
    assert_int_equal(platform->adopt(place->conn, "a-1", &plan, &receipt, NULL), 0);
    assert_string_equal(receipt.remote_id, "rehearsal://a-1");
    json_decref(receipt.details);
    free(receipt.results_dir);
}

static void replicas_name_the_rank_that_failed(void **state)
{
    struct place *place = *state;
    const struct sw_jobref ref = { .id = "a-1", .attempt = 1 };
    struct sw_plan *plan = plan_for("a-1", "exit 3 on 1", NULL);
    sw_auto(json) json_t *replicas = NULL;

    plan->nodes = 3;
    assert_int_equal(try_submit(place->conn, plan, NULL), 0);
    replicas = platform->replicas(place->conn, &ref, NULL);
    assert_int_equal(json_array_size(replicas), 3);
    assert_string_equal(sw_json_str(json_array_get(replicas, 1), "status"), "Error");
    assert_string_equal(sw_json_str(json_array_get(replicas, 2), "status"), "Canceled");
}

static void of_sixteen_processes_that_submit_one_id_one_makes_the_job(void **state)
{
    struct place *place = *state;

    for (int i = 0; i < 16; i++) {
        if (fork() == 0) {
            struct sw_plan *plan = plan_for("a-1", "running", NULL);

            now += i;
            _exit(try_submit(place->conn, plan, NULL) == 0 ? 0 : 1);
        }
    }
    for (int status; wait(&status) > 0 || errno == EINTR;)
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    now += 100;
    assert_int_equal(look(place, "a-1").state, SW_RUNNING);
}

static void hundreds_of_jobs_are_looked_at_in_one_call(void **state)
{
    enum { MANY = 300 };
    struct place *place = *state;
    struct sw_observation *seen = sw_alloc(MANY * sizeof *seen);
    char (*ids)[16] = sw_alloc(MANY * sizeof *ids);

    for (int i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof ids[i], "many-%d", i);
        submit(place, ids[i], "pending 1s, running 2s, exit 0");
        seen[i] = (struct sw_observation){ .job = { .id = ids[i], .attempt = 1 } };
    }
    now += 1500;
    assert_int_equal(platform->observe(place->conn, seen, MANY, NULL), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(seen[i].state, SW_RUNNING);
    free(seen);
    free(ids);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_job_lives_by_its_script),
        CASE(submitting_an_id_again_finds_the_first_job),
        CASE(another_connection_sees_the_same_job),
        CASE(a_job_that_was_never_submitted_is_absent),
        CASE(an_id_that_is_a_path_reaches_no_other_folder),
        CASE(a_canceled_job_stays_canceled_at_its_first_cancel),
        CASE(a_job_canceled_on_its_way_arrives_canceled),
        CASE(an_api_that_is_down_changes_nothing),
        CASE(a_lost_answer_leaves_one_job_that_the_next_submit_finds),
        CASE(a_job_not_found_at_first_is_found_later),
        CASE(a_job_never_confirmed_is_not_called_absent_by_a_list_without_it),
        CASE(the_fault_of_one_job_is_not_its_neighbours),
        CASE(the_calls_an_api_is_down_for_are_counted_over_all_connections),
        CASE(the_connection_can_repair_what_a_job_asked_for),
        CASE(cleaning_up_leaves_nothing_and_may_be_repeated),
        CASE(a_job_is_adopted_by_its_id_alone),
        CASE(replicas_name_the_rank_that_failed),
        CASE(of_sixteen_processes_that_submit_one_id_one_makes_the_job),
        CASE(hundreds_of_jobs_are_looked_at_in_one_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
