/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_slurm_doubt.c - a Slurm that lies, dies or forgets: what is not certain is not said, and what
 * carries another name is not ours.
 *
 * The platform's own functions, down a local shell, with stand-ins for Slurm's commands (stand-in).
 */
#include "shell.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "core/runner_image.h"
#include "platform/platform.h"

#define JOB "dino-abcd2345"

static const struct sw_platform *slurm;

static struct sw_plan *plan_of(const char *options)
{
    sw_auto(json) json_t *plan = json_loads(
        "{\"job_id\":\"" JOB "\",\"name\":\"dino\",\"platform\":\"slurm\",\"nodes\":1,\"gpus\":0,"
        "\"command\":\"train\",\"env\":{},\"secrets\":[],\"inputs\":[],\"outputs\":[],\"labels\":{},"
        "\"grace_ms\":10000}", 0, NULL);
    sw_auto(json) json_t *block = json_loads(options, 0, NULL);
    struct sw_error err = { 0 };
    struct sw_plan *made;

    assert_non_null(block);
    json_object_set(plan, "options", block);
    made = sw_plan_from_json(plan, &err);
    if (!made)
        fail_msg("plan: %s", err.message);
    return made;
}

static struct sw_connection *open_connection(const struct stage *stage)
{
    static const char *const programs[] = { "sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo",
                                            "sacctmgr" };
    sw_autofree char *base = stage_path(stage, "base");
    sw_autofree char *from = sw_format("%s/../stand-in", getenv("GOLDEN"));
    sw_auto(json) json_t *options = sw_json_object(SW_STR("transport", "local"), SW_STR("base_dir", base));
    struct sw_error err = { 0 };
    struct sw_connection *conn;

    slurm = sw_platform_find("slurm");
    sw_runner_image_inside("x86_64", "runner", 6);
    for (size_t i = 0; i < SW_COUNT(programs); i++) {
        sw_autofree char *to = sw_format("%s/bin/%s", stage->folder, programs[i]);

        assert_true(symlink(from, to) == 0 || sw_file_exists(to));
    }
    conn = slurm->open(&(struct sw_connect_options){ .state_dir = stage->folder, .options = options }, &err);
    if (!conn)
        fail_msg("%s", err.message);
    return conn;
}

static int submit(const struct stage *stage, struct sw_submission *receipt, struct sw_error *err)
{
    sw_auto(sw_plan) struct sw_plan *plan =
        plan_of("{\"time_hours\":4,\"container\":\"none\",\"arch\":\"x86_64\"}");
    sw_auto(sw_secrets) struct sw_secrets *secrets = sw_secrets_new();
    struct sw_connection *conn = open_connection(stage);
    int result = slurm->submit(conn, plan, 1, secrets, receipt, err);

    slurm->close(conn);
    json_decref(receipt->details);
    free(receipt->results_dir);
    return result;
}

static void write_line(const struct stage *stage, const char *name, const char *text)
{
    sw_autofree char *line = sw_format("%s\n", text);

    stage_write(stage, name, line);
}

static bool there(const struct stage *stage, const char *name)
{
    sw_autofree char *path = stage_path(stage, name);

    return sw_file_exists(path);
}

#define FAILED "sbatch: error: Batch job submission failed: "

/* Accepted or not, sbatch and everything above it may end as it likes. */
static void an_end_that_says_nothing_certain_is_no_refusal(void **state)
{
    static const struct {
        const char *does;
        bool accepted, found;          /* is the job in the queue; and is that told at once? */
    } rows[] = {
        { "accept-and-say " FAILED "Zero Bytes were transmitted or received", true, true },
        { "accept-and-say " FAILED "Message receive failure", true, true },
        { "accept-and-say " FAILED "Socket timed out on send/recv operation", true, true },
        { "accept-and-say " FAILED "Unspecified error", true, true },
        { "accept-and-say sbatch: error: something new in Slurm 31", true, true },
        { "accept-and-die", true, true },
        { "accept-and-kill-shell", true, false },
        { "say " FAILED "Zero Bytes were transmitted or received", false, false },
        { "say sbatch: error: something new in Slurm 31", false, false },
        { "die", false, false },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_submission first = { 0 }, again = { 0 };
        struct sw_error err = { 0 };
        struct stage *stage = NULL;
        int result;

        stage_set((void **)&stage);
        write_line(stage, "does", rows[i].does);
        result = submit(stage, &first, &err);
        if (result != (rows[i].found ? 0 : -1) || (result < 0 && err.code != SW_E_UNREACHABLE))
            fail_msg("%s: %d %s", rows[i].does, err.code, err.message);
        if (!there(stage, "base/meta/" JOB ".1") || !there(stage, "base/slurm-logs/tao-job-" JOB ".1"))
            fail_msg("%s: the job's folders are gone", rows[i].does);
        if (stage_lines(stage, "queue") != rows[i].accepted)
            fail_msg("%s: %zu in the queue", rows[i].does, stage_lines(stage, "queue"));
        write_line(stage, "does", "accept");
        if (submit(stage, &again, &err) < 0 || strcmp(again.remote_id, "101") != 0)
            fail_msg("%s, and again: '%s' %s", rows[i].does, again.remote_id, err.message);
        assert_int_equal(stage_lines(stage, "queue"), 1);
        stage_clear((void **)&stage);
    }
}

static void what_slurm_names_is_refused_and_leaves_nothing(void **state)
{
    static const char *const rows[] = {
        FAILED "Invalid partition name specified", FAILED "Invalid qos specification",
        FAILED "Requested node configuration is not available",
        FAILED "Requested time limit is invalid (missing or exceeds some limit)",
        FAILED "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
        FAILED "Invalid account or account/partition combination specified",
        FAILED "Unspecified error", "sbatch: unrecognized option '--wrong'",
        "sbatch: error: Invalid numeric value \"x\" for --nodes.",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *does = sw_format("say %s", rows[i]);
        struct sw_submission receipt = { 0 };
        struct sw_error err = { 0 };
        struct stage *stage = NULL;

        stage_set((void **)&stage);
        write_line(stage, "does", does);
        if (submit(stage, &receipt, &err) == 0 || err.code != SW_E_REFUSED)
            fail_msg("%s: %d %s", rows[i], err.code, err.message);
        if (there(stage, "base/meta/" JOB ".1"))
            fail_msg("%s: something is left", rows[i]);
        stage_clear((void **)&stage);
    }
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static struct sw_jobref ref_of(const struct stage *stage, json_t *details)
{
    sw_autofree char *base = stage_path(stage, "base");

    json_object_set_new(details, "base_dir", json_string(base));
    json_object_set_new(details, "attempt", json_integer(1));
    return (struct sw_jobref){ .id = JOB, .attempt = 1, .remote_id = "101", .details = details,
                               .state = SW_RUNNING };
}

static struct sw_observation look(const struct stage *stage, const char *number)
{
    sw_auto(json) json_t *details = json_object();
    struct sw_observation seen = { .job = ref_of(stage, details), .exit_code = SW_NO_EXIT_CODE,
                                .failed_replica = -1 };
    struct sw_connection *conn = open_connection(stage);
    struct sw_error err = { 0 };

    seen.job.remote_id = number;
    if (slurm->observe(conn, &seen, 1, &err) < 0)
        fail_msg("%s", err.message);
    slurm->close(conn);
    json_decref(seen.before);
    json_decref(seen.runner);
    return seen;
}

static void a_number_is_believed_with_our_name_beside_it(void **state)
{
    static const struct {
        const char *queue, *accounting;
        enum sw_presence presence;
        enum sw_state state;
    } rows[] = {
        { "101|RUNNING|tao-job-" JOB "|the site's own", NULL, SW_PRESENT, SW_RUNNING },
        { "101|RUNNING|renamed|slipway:" JOB ":1 text", NULL, SW_PRESENT, SW_RUNNING },
        { "101|RUNNING|precious|(null)", NULL, SW_ABSENT, SW_UNKNOWN },
        { "101|RUNNING|precious|slipway:" JOB ":12", NULL, SW_ABSENT, SW_UNKNOWN },
        { "101|PENDING|tao-job-" JOB "2|slipway:" JOB "2:1", NULL, SW_ABSENT, SW_UNKNOWN },
        { "7|RUNNING|x|y", "101|FAILED|3:0|0:0|900|1000|n1|precious|", SW_ABSENT, SW_UNKNOWN },
        { "7|RUNNING|x|y", "101|COMPLETED|0:0|0:0|900|1000|n1|tao-job-" JOB "|", SW_PRESENT, SW_COMPLETE },
        { "101|COMPLETED|tao-job-" JOB "|", "101|COMPLETED|0:0|1:0|900|1000|n1|allocation|\n"
          "101.0|FAILED|1:0||900|1000|n1|sh|", SW_PRESENT, SW_ERROR },     /* its name comes later */
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen;
        struct stage *stage = NULL;

        stage_set((void **)&stage);
        write_line(stage, "queue", rows[i].queue);
        if (rows[i].accounting)
            write_line(stage, "accounting", rows[i].accounting);
        seen = look(stage, "101");
        if (seen.presence != rows[i].presence ||
            (seen.presence == SW_PRESENT && seen.state != rows[i].state))
            fail_msg("%s: presence %d, state %d", rows[i].queue, seen.presence, seen.state);
        stage_clear((void **)&stage);
    }
}

/* Another job runs under the number of one of ours that is over and has left its record. */
static void a_record_is_read_whatever_has_its_number_now(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *folder = stage_path(stage, "base/meta/" JOB ".1");
    struct sw_observation seen;

    sw_mkdirs(folder, 0700, NULL);
    write_line(stage, "base/meta/" JOB ".1/job", "101");
    write_line(stage, "base/meta/" JOB ".1/exit", "{\"exit_code\":0,\"ended\":900}");
    write_line(stage, "queue", "101|RUNNING|precious|");
    seen = look(stage, "101");
    assert_int_equal(seen.presence, SW_PRESENT);
    assert_int_equal(seen.state, SW_COMPLETE);
}

static void a_cancel_touches_only_what_is_ours(void **state)
{
    static const struct {
        const char *queue;
        size_t asked;
    } rows[] = {
        { "101|RUNNING|precious|", 0 }, { "101|PENDING|precious|slipway:" JOB ":11", 0 },
        { "101|COMPLETED|tao-job-" JOB "|slipway:" JOB ":1", 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *details = json_object();
        struct sw_error err = { 0 };
        struct stage *stage = NULL;
        struct sw_jobref job;
        struct sw_connection *conn;

        stage_set((void **)&stage);
        write_line(stage, "queue", rows[i].queue);
        job = ref_of(stage, details);
        conn = open_connection(stage);
        if (sw_platform_cancel(slurm, conn, &job, &err) != 0)
            fail_msg("%s: %s", rows[i].queue, err.message);
        if (stage_lines(stage, "asked") != rows[i].asked)
            fail_msg("%s: scancel was asked %zu times", rows[i].queue, stage_lines(stage, "asked"));
        slurm->close(conn);
        stage_clear((void **)&stage);
    }
}

/* The words behind a number in our records are not evaluated by the shell that counts with them. */
static void words_in_records_are_no_commands(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *folder = stage_path(stage, "base/meta/" JOB ".1");
    sw_autofree char *trap = sw_format("x[$(touch${IFS}%s/pwned)]", stage->folder);
    sw_autofree char *owner = sw_format("elsewhere %s %s token", trap, trap);
    struct sw_submission receipt = { 0 };
    struct sw_error err = { 0 };

    sw_mkdirs(folder, 0700, NULL);
    write_line(stage, "base/meta/" JOB ".1/owner", owner);
    write_line(stage, "base/meta/" JOB ".1/job", trap);
    look(stage, NULL);
    submit(stage, &receipt, &err);
    assert_false(there(stage, "pwned"));
}

/* ---- which cluster ------------------------------------------------------------------------------ */

static char *identity_with(const char *config)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    struct sw_error err = { 0 };
    struct stage *stage = NULL;
    struct sw_connection *conn;
    int result;

    stage_set((void **)&stage);
    stage_write(stage, "config", config);
    conn = open_connection(stage);
    result = slurm->identify(conn, &text, &err);
    if (result == 0) {
        sw_auto(sw_buf) struct sw_buf again = SW_BUF_INIT;

        stage_write(stage, "config", "ClusterName = changed\n");      /* asked once */
        assert_int_equal(slurm->identify(conn, &again, &err), 0);
        assert_string_equal(sw_buf_text(&again), sw_buf_text(&text));
    } else {
        assert_int_equal(err.code, SW_E_UNREACHABLE);
    }
    slurm->close(conn);
    stage_clear((void **)&stage);
    return result == 0 ? sw_buf_steal(&text) : sw_strdup("none");
}

static void a_cluster_tells_who_it_is(void **state)
{
    static const struct { const char *config, *identity; } rows[] = {
        { "KillWait                = 30 sec\nClusterName             = bed\n"
          "SlurmctldHost[0]        = a(10.0.0.1)\nSlurmctldHost[1]        = b\n", "bed@a,b bed" },
        { "ClusterName = bed\nControlMachine = c\n", "bed@c bed" },
        { "ClusterName = bed\n", "bed@ bed" },
        { "ClusterName = (null)\nSlurmctldHost[0] = a\n", "none" },
        { "slurm_load_ctl_conf error: Unable to contact slurm controller\n", "none" },
        { "", "none" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *identity = identity_with(rows[i].config);

        if (strcmp(identity, rows[i].identity) != 0)
            fail_msg("%s: '%s'", rows[i].config, identity);
    }
}

/* ---- folders ----------------------------------------------------------------------------------- */

static unsigned mode_of(const struct stage *stage, const char *name)
{
    sw_autofree char *path = stage_path(stage, name);
    struct stat info;

    if (stat(path, &info) < 0)
        fail_msg("there is no '%s'", name);
    return info.st_mode & 07777;
}

static void no_other_may_read_what_a_job_has(void **state)
{
    static const char *const folders[] = {
        "base", "base/meta", "base/entrypoints", "base/env", "base/specs", "base/sbatch", "base/runner",
        "base/slurm-logs", "base/results", "base/meta/" JOB ".1", "base/slurm-logs/tao-job-" JOB ".1",
    };
    static const char *const files[] = {
        "base/entrypoints/job_" JOB ".json", "base/sbatch/job_" JOB ".sbatch", "base/specs/" JOB ".json",
        "base/meta/" JOB ".1/job", "base/meta/" JOB ".json",
    };
    struct stage *stage = *state;
    struct sw_submission receipt = { 0 };
    struct sw_error err = { 0 };
    mode_t mask = umask(022);

    if (submit(stage, &receipt, &err) < 0)
        fail_msg("%s", err.message);
    umask(mask);
    for (size_t i = 0; i < SW_COUNT(folders); i++)
        if (mode_of(stage, folders[i]) != 0700)
            fail_msg("%s is %o", folders[i], mode_of(stage, folders[i]));
    for (size_t i = 0; i < SW_COUNT(files); i++)
        if (mode_of(stage, files[i]) != 0600)
            fail_msg("%s is %o", files[i], mode_of(stage, files[i]));
}

static void a_folder_that_others_may_write_is_refused(void **state)
{
    static const struct {
        const char *folder;
        mode_t mode;
        bool refused;
    } rows[] = {
        { "base", 0777, true }, { "base", 01777, false }, { "base", 0757, true }, { "base", 0755, false },
        { "base/runner", 0777, true }, { "base/runner", 01777, true }, { "base/entrypoints", 0702, true },
        { "base/meta", 0755, false },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_submission first = { 0 }, second = { 0 };
        struct sw_error err = { 0 };
        struct stage *stage = NULL;
        sw_autofree char *path = NULL;
        int result;

        stage_set((void **)&stage);
        write_line(stage, "does", "say " FAILED "Invalid qos specification");
        submit(stage, &first, &err);                     /* makes the folders */
        write_line(stage, "does", "accept");
        path = stage_path(stage, rows[i].folder);
        assert_int_equal(chmod(path, rows[i].mode), 0);
        result = submit(stage, &second, &err);
        if ((result < 0) != rows[i].refused ||
            (result < 0 && (err.code != SW_E_REFUSED || !strstr(err.message, path))))
            fail_msg("%s %o: %d %s", rows[i].folder, (unsigned)rows[i].mode, result, err.message);
        stage_clear((void **)&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_says_nothing_certain_is_no_refusal),
        cmocka_unit_test(what_slurm_names_is_refused_and_leaves_nothing),
        cmocka_unit_test(a_number_is_believed_with_our_name_beside_it),
        cmocka_unit_test_setup_teardown(a_record_is_read_whatever_has_its_number_now, stage_set, stage_clear),
        cmocka_unit_test(a_cancel_touches_only_what_is_ours),
        cmocka_unit_test_setup_teardown(words_in_records_are_no_commands, stage_set, stage_clear),
        cmocka_unit_test(a_cluster_tells_who_it_is),
        cmocka_unit_test_setup_teardown(no_other_may_read_what_a_job_has, stage_set, stage_clear),
        cmocka_unit_test(a_folder_that_others_may_write_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
