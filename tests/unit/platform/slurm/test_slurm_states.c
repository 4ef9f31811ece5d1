/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_slurm_states.c - Slurm's words, numbers and times in ours; what squeue and sacct say becomes one
 * truth about a job.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "platform/slurm/slurm_internal.h"

static void every_spelling_of_a_state_is_known(void **state)
{
    static const struct {
        const char *said;
        enum sw_state state;
    } rows[] = {
        { "PENDING", SW_PENDING },           { "CONFIGURING", SW_PENDING },
        { "REQUEUED", SW_PENDING },          { "REQUEUE_HOLD", SW_PENDING },
        { "SPECIAL_EXIT", SW_PENDING },      { "RUNNING", SW_RUNNING },
        { "COMPLETING", SW_RUNNING },        { "STAGE_OUT", SW_RUNNING },
        { "SUSPENDED", SW_PAUSED },          { "STOPPED", SW_PAUSED },
        { "COMPLETED", SW_COMPLETE },        { "CANCELLED", SW_CANCELED },
        { "CANCELLED by 1000", SW_CANCELED }, { "CANCELLED+", SW_CANCELED },
        { "FAILED", SW_ERROR },              { "TIMEOUT", SW_ERROR },
        { "DEADLINE", SW_ERROR },            { "OUT_OF_MEMORY", SW_ERROR },
        { "OUT_OF_MEMORY+", SW_ERROR },      { "NODE_FAIL", SW_ERROR },
        { "BOOT_FAIL", SW_ERROR },           { "PREEMPTED", SW_ERROR },
        { "REVOKED", SW_UNKNOWN },           { "SOMETHING_NEW", SW_UNKNOWN }, { "", SW_UNKNOWN },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        if (slurm_state(rows[i].said, NULL) != rows[i].state)
            fail_msg("'%s' is %s", rows[i].said, sw_state_name(slurm_state(rows[i].said, NULL)));
}

static void every_reason_to_wait_has_a_word_and_a_sentence(void **state)
{
    static const struct {
        const char *said, *reason;
    } rows[] = {
        { "Priority", "priority" }, { "Resources", "resources" }, { "Dependency", "dependency" },
        { "DependencyNeverSatisfied", "dependency-failed" }, { "QOSMaxJobsPerUserLimit", "limit" },
        { "AssocGrpGRES", "quota" }, { "PartitionTimeLimit", "unschedulable" },
        { "ReqNodeNotAvail, UnavailableNodes:n1", "resources" }, { "BeginTime", "begin-time" },
        { "JobHeldUser", "held" }, { "launch_failed_requeued_held", "held" },
        { "AssocMaxNodePerJobLimit", "unschedulable" }, { "QOSMaxWallDurationPerJobLimit", "unschedulable" },
        { "QOSMaxCpuPerNode", "unschedulable" }, { "QOSMinGRES", "unschedulable" },
        { "AssocMaxJobsLimit", "limit" }, { "PartitionDown", "resources" },
        { "None", "queue" }, { "NeverHeardOf", "queue" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        const char *reason = NULL, *sentence = NULL;

        slurm_waiting(rows[i].said, &reason, &sentence);
        assert_string_equal(reason, rows[i].reason);
    }
}

static void times_are_read_in_every_form_that_slurm_writes(void **state)
{
    static const struct {
        const char *said;
        int64_t minutes;           /* -2: no time */
    } rows[] = {
        { "4:00:00", 240 }, { "04:00:00", 240 }, { "30:00", 30 }, { "2-00:00:00", 2880 },
        { "1-12", 2160 }, { "infinite", -1 }, { "UNLIMITED", -1 }, { "90", 90 }, { "n/a", -2 },
        { "", -2 }, { "-1:00", -2 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        int64_t minutes = -2;

        if (!slurm_time_parse(rows[i].said, &minutes))
            minutes = -2;
        if (minutes != rows[i].minutes)
            fail_msg("'%s' is %lld minutes", rows[i].said, (long long)minutes);
    }
}

static void ids_tell_arrays_parts_and_steps(void **state)
{
    struct slurm_id id;

    (void)state;
    assert_true(slurm_id_parse("123", &id) && id.job == 123 && id.task == -1 && !id.step[0]);
    assert_true(slurm_id_parse("123_4", &id) && id.job == 123 && id.task == 4);
    assert_true(slurm_id_parse("123_[0-9%2]", &id) && id.many && id.task == -1);
    assert_true(slurm_id_parse("123+1", &id) && id.part == 1);
    assert_true(slurm_id_parse("123.batch", &id) && !strcmp(id.step, "batch"));
    assert_true(slurm_id_parse("123_4.0", &id) && id.task == 4 && !strcmp(id.step, "0"));
    for (const char *const *bad = (const char *const[]){ "", "x", "0", "12x", "12.", "12_[", "12_",
                                                         "99999999999999999999", NULL }; *bad; bad++)
        assert_false(slurm_id_parse(*bad, &id));
}

static void the_first_node_of_a_list_is_found(void **state)
{
    static const struct {
        const char *list, *first;
    } rows[] = {
        { "n1", "n1" }, { "n[1-3,7],x", "n1" }, { "gpu-[001-004]", "gpu-001" }, { "a,b", "a" },
        { "", "" }, { "(null)", "" }, { "None assigned", "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        char out[128];

        slurm_first_node(rows[i].list, out);
        assert_string_equal(out, rows[i].first);
    }
}

/* ---- one truth about a job ---------------------------------------------------------------------- */

enum { ROWS = 8 };

struct told {                      /* what the two programs print, and our own record */
    const char *squeue[ROWS], *sacct[ROWS];
    const char *record, *report;
    bool canceled;
    int64_t number;
    const char *dependency;
};

static bool look(const struct told *told, struct sw_observation *seen)
{
    struct slurm_row live[ROWS], past[ROWS];
    sw_auto(json) json_t *exit = told->record ? json_loads(told->record, 0, NULL) : NULL;
    sw_auto(json) json_t *report = told->report ? json_loads(told->report, 0, NULL) : NULL;
    struct slurm_answers answers = { .live.items = live, .past.items = past };
    struct slurm_known known = { .number = told->number ? told->number : 7,
                                 .mark = { "tao-job-a", "slipway:a:1" }, .search = true,
                                 .exit = { exit, report }, .canceled = told->canceled, .now_ms = 1000000,
                                 .dependency = told->dependency };
    char *lines[2 * ROWS];
    size_t count = 0;
    bool any;

    for (size_t i = 0; i < ROWS && told->squeue[i]; i++) {
        lines[count] = sw_strdup(told->squeue[i]);
        assert_true(slurm_squeue_line(lines[count++], &live[answers.live.count++]));
    }
    slurm_rows_sort(&answers.live);
    for (size_t i = 0; i < ROWS && told->sacct[i]; i++) {
        lines[count] = sw_strdup(told->sacct[i]);
        assert_true(slurm_sacct_line(lines[count++], &past[answers.past.count++]));
    }
    *seen = (struct sw_observation){ .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1 };
    any = slurm_observation(&answers, &known, seen);
    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    return any;
}

static void a_truth_follows_from_what_is_reported(void **state)
{
    static const struct {
        struct told told;
        enum sw_state state;
        int code, signal;
        const char *reason;
    } rows[] = {
        { { .squeue = { "PENDING|7|800|Resources|1100|N/A||tao-job-a|slipway:a:1" } },
          SW_PENDING, -1, 0, "resources" },
        { { .squeue = { "RUNNING|7|800|None|900|N/A|n1|tao-job-a|slipway:a:1" } },
          SW_RUNNING, -1, 0, "" },
        /* our record is there, but Slurm still cleans up */
        { { .squeue = { "COMPLETING|7|800|None|900|1000|n1|tao-job-a|slipway:a:1" },
            .record = "{\"exit_code\":0}" }, SW_RUNNING, -1, 0, "" },
        { { .squeue = { "COMPLETED|7|800|None|900|1000|n1|tao-job-a|slipway:a:1" },
            .record = "{\"exit_code\":0}" }, SW_COMPLETE, 0, 0, "exit" },
        { { .squeue = { "FAILED|7|800|NonZeroExitCode|900|1000|n1|tao-job-a|slipway:a:1" },
            .record = "{\"exit_code\":137}" }, SW_ERROR, 137, 9, "signal" },
        /* the command itself ended with 137, and its runner says so */
        { { .squeue = { "FAILED|7|800|NonZeroExitCode|900|1000|n1|tao-job-a|slipway:a:1" },
            .record = "{\"exit_code\":137}", .report = "{\"exit_code\":137}" },
          SW_ERROR, 137, 0, "exit" },
        { { .record = "{\"exit_code\":74}", .report = "{\"exit_code\":74,\"failed\":\"collect\","
                                                    "\"message\":\"no space\"}" },
          SW_ERROR, 74, 0, "outputs" },
        { { .record = "{\"exit_code\":1}", .report = "{\"exit_code\":1,\"oom_kills\":1}" },
          SW_ERROR, 1, 0, "memory" },
        /* marks of our script */
        { { .record = "{\"exit_code\":124,\"mark\":\"time\"}" }, SW_ERROR, 124, 0, "time" },
        { { .record = "{\"exit_code\":1,\"mark\":\"status\"}" }, SW_ERROR, 1, 0, "status" },
        { { .record = "{\"exit_code\":78,\"mark\":\"image-error\"}" }, SW_ERROR, 78, 0, "image-error" },
        { { .record = "{\"exit_code\":143,\"mark\":\"preempted\"}",
            .report = "{\"exit_code\":143,\"signal\":15,\"stopped\":true}" },
          SW_ERROR, 143, 15, "preempted" },
        { { .record = "{\"exit_code\":143,\"mark\":\"canceled\"}" }, SW_CANCELED, 143, 0, "canceled" },
        { { .record = "{\"exit_code\":0,\"mark\":\"canceled\"}" }, SW_COMPLETE, 0, 0, "exit" },
        /* Slurm ended it since what it depends on failed; a person would be named */
        { { .squeue = { "CANCELLED|7|800|DependencyNeverSatisfied|900|900||tao-job-a|slipway:a:1" },
            .dependency = "afterok:train-k3" }, SW_ERROR, -1, 0, "dependency-failed" },
        { { .squeue = { "CANCELLED|7|800|Dependency|900|900||tao-job-a|slipway:a:1" },
            .dependency = "afterok:train-k3" }, SW_CANCELED, -1, 0, "canceled" },
        { { .sacct = { "7|CANCELLED|0:0|0:0|Unknown|1000|None assigned|tao-job-a|" },
            .dependency = "afterok:train-k3" }, SW_ERROR, -1, 0, "dependency-failed" },
        { { .sacct = { "7|CANCELLED by 1000|0:0|0:0|Unknown|1000|None assigned|tao-job-a|" },
            .dependency = "afterok:train-k3" }, SW_CANCELED, -1, 0, "canceled" },
        /* the batch script ended with 0, a step did not */
        { { .sacct = { "7|COMPLETED|0:0|3:0|900|1000|n1|tao-job-a|",
                       "7.batch|COMPLETED|0:0||900|1000|n1|batch|", "7.0|FAILED|3:0||900|1000|n1|sh|" } },
          SW_ERROR, 3, 0, "exit" },
        { { .sacct = { "7|COMPLETED|0:0|0:0|900|1000|n1|tao-job-a|",
                       "7.batch|COMPLETED|0:0||900|1000|n1|batch|", "7.0|COMPLETED|0:0||900|1000|n1|sh|" } },
          SW_COMPLETE, 0, 0, "exit" },
        { { .sacct = { "7|CANCELLED by 1000|0:0|0:0|Unknown|1000|None assigned|tao-job-a|" } },
          SW_CANCELED, -1, 0, "canceled" },
        { { .sacct = { "7|TIMEOUT|0:0|0:0|900|1000|n1|tao-job-a|",
                       "7.0|CANCELLED|0:15||900|1000|n1|sh|" } }, SW_ERROR, 124, 0, "time" },
        { { .sacct = { "7|OUT_OF_MEMORY|0:125|0:0|900|1000|n1|tao-job-a|" } },
          SW_ERROR, 137, 0, "memory" },
        { { .sacct = { "7|NODE_FAIL|1:0|0:0|900|1000|n1|tao-job-a|" } }, SW_ERROR, 1, 0, "node-lost" },
        /* between two runs */
        { { .squeue = { "PENDING|7|800|BeginTime|1100|N/A||tao-job-a|slipway:a:1" },
            .sacct = { "7|REQUEUED|1:0|0:0|900|1000|n1|tao-job-a|" } }, SW_PENDING, -1, 0, "begin-time" },
        /* a successor of the first job */
        { { .squeue = { "RUNNING|9|800|None|900|N/A|n2|tao-job-a|slipway:a:1 text",
                        "RUNNING|8|800|None|900|N/A|n2|tao-job-a|slipway:a:10" },
            .sacct = { "7|FAILED|1:0|0:0|900|1000|n1|tao-job-a|" } }, SW_RUNNING, -1, 0, "" },
        /* an array is over when all its tasks are, and failed when one did */
        { { .squeue = { "PENDING|7_[2-3]|800|Resources|N/A|N/A||tao-job-a|slipway:a:1",
                        "RUNNING|7_1|800|None|900|N/A|n1|tao-job-a|slipway:a:1" } }, SW_RUNNING, -1, 0, "" },
        { { .sacct = { "7_0|COMPLETED|0:0|0:0|900|1000|n1|tao-job-a|",
                       "7_1|FAILED|3:0|0:0|900|1000|n1|tao-job-a|" } }, SW_ERROR, 3, 0, "exit" },
        { { .sacct = { "7+0|COMPLETED|0:0|0:0|900|1000|n1|tao-job-a|",
                       "7+1|RUNNING|0:0|0:0|900|Unknown|n2|tao-job-a|" } }, SW_RUNNING, -1, 0, "" },
        /* accounting is switched off, the controller forgot it: our record is all there is */
        { { .record = "{\"exit_code\":3}" }, SW_ERROR, 3, 0, "exit" },
        { { .record = "{\"exit_code\":143}", .canceled = true },
          SW_CANCELED, -1, 0, "canceled" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen;

        assert_true(look(&rows[i].told, &seen));
        if (seen.state != rows[i].state || seen.exit_code != rows[i].code ||
            seen.signal != rows[i].signal || strcmp(seen.reason, rows[i].reason) != 0)
            fail_msg("row %zu: %s, code %d, signal %d, '%s'", i, sw_state_name(seen.state),
                     seen.exit_code, seen.signal, seen.reason);
    }
}

static void a_job_that_no_client_speaks_of_is_not_seen(void **state)
{
    struct sw_observation seen;

    (void)state;
    assert_false(look(&(struct told){ .squeue = { "RUNNING|8|800|None|9|9|n1|x|" } }, &seen));
}

static void a_waiting_job_says_when_it_is_expected_to_start(void **state)
{
    struct sw_observation seen;

    (void)state;
    assert_true(look(&(struct told){
        .squeue = { "PENDING|7|800|Resources|1300|N/A||tao-job-a|slipway:a:1" } }, &seen));
    assert_string_equal(seen.message, "the nodes it needs are busy (Resources)");
    assert_int_equal(seen.until_ms, 1300 * 1000);
}

static void a_broken_line_is_no_row(void **state)
{
    static const char *const lines[] = { "", "|", "RUNNING|7", "RUNNING|x|800|||||",
                                         "RUNNING|7.0|800|N|1|2|n|x|c" };
    struct slurm_row live, past;

    (void)state;
    for (size_t i = 0; i < SW_COUNT(lines); i++) {
        sw_autofree char *one = sw_strdup(lines[i]), *two = sw_strdup(lines[i]);

        assert_false(slurm_squeue_line(one, &live));
        assert_false(slurm_sacct_line(two, &past));
    }
}

static void the_job_that_is_waited_for_is_named(void **state)
{
    static const struct {
        const char *dependency, *jobs;
    } rows[] = {
        { "afterok:train-k3", "train-k3" },
        { "afterok:train-k3:17,afterany:x-1", "train-k3, Slurm job 17, x-1" },
        { "after:5+10?afterok:b-2", "Slurm job 5, b-2" },
    };
    struct sw_observation seen;

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *jobs = slurm_waits_for(rows[i].dependency);

        assert_string_equal(jobs, rows[i].jobs);
    }
    assert_null(slurm_waits_for("singleton"));
    look(&(struct told){ .squeue = { "PENDING|7|800|Dependency|N/A|N/A||tao-job-a|slipway:a:1" },
                         .dependency = "afterok:train-k3" }, &seen);
    assert_string_equal(seen.message, "it is waiting for train-k3 (Dependency)");
    look(&(struct told){ .squeue = { "CANCELLED|7|800|DependencyNeverSatisfied|9|9||tao-job-a|slipway:a:1" },
                         .dependency = "afterok:train-k3" }, &seen);
    assert_non_null(strstr(seen.message, "train-k3 did not finish as required"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_of_a_state_is_known),
        cmocka_unit_test(every_reason_to_wait_has_a_word_and_a_sentence),
        cmocka_unit_test(times_are_read_in_every_form_that_slurm_writes),
        cmocka_unit_test(ids_tell_arrays_parts_and_steps),
        cmocka_unit_test(the_first_node_of_a_list_is_found),
        cmocka_unit_test(a_truth_follows_from_what_is_reported),
        cmocka_unit_test(the_job_that_is_waited_for_is_named),
        cmocka_unit_test(a_job_that_no_client_speaks_of_is_not_seen),
        cmocka_unit_test(a_waiting_job_says_when_it_is_expected_to_start),
        cmocka_unit_test(a_broken_line_is_no_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
