/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_slurm_retry.c - a job that tries again by itself: which failures, how often, where, and only
 * once. Slurm's commands are stand-ins here; tests/slurm has the real ones.
 */
#include "shell.h"

#include <stdlib.h>

#include "base/text.h"
#include "plan/mounts.h"
#include "platform/slurm/slurm_internal.h"

static const char sbatch_works[] = "echo \"$*\" >> $HERE/sbatch.calls\n"
                                   "env | grep -c '^SLURM_JOB\\|^ADDED' >> $HERE/sbatch.env\n"
                                   "echo $((100 + $(wc -l < $HERE/sbatch.calls)))\n";

/* A script that fails as told: CODE, REASON, what it logs. */
static char *script(const char *retry, const char *checkpoint, const char *middle)
{
    sw_auto(json) json_t *said = retry ? json_loads(retry, 0, NULL) : NULL;
    sw_auto(json) json_t *from = checkpoint ? json_loads(checkpoint, 0, NULL) : NULL;
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const struct sw_plan plan = { .retry = said, .checkpoint = from };
    const struct slurm_job values = { .plan = &plan, .attempt = 1, .shape.gpus = 8,
        .names = { .sbatch = (char *)"/lustre/job's.sbatch", .job_name = (char *)"tao-job-a",
                   .comment = (char *)"slipway:a:1" } };

    sw_text_once(&out);
    assert_int_equal(slurm_retry_text(&out, &values, NULL), 0);
    slurm_set(&out, "SW_RUNNER", getenv("SLIPWAY_RUNNER"));
    sw_buf_add(&out, "SW_RECORD=$HERE/attempts SW_OUT=$HERE/main.out SW_ERR=$HERE/main.err\n"
                     "SW_CANCELED=$HERE/canceled\n");
    sw_buf_addf(&out, "sw_handed() { echo $1 >> $HERE/handed; }\n"
                      "sw_begin\n! sw_used_up || exit 75\n"
                      "export ADDED=secret\n%s\n"
                      "sw_retry \"$code\" \"${reason:-exit}\" \"${node:-}\" && echo again || echo end\n"
                      "exit $code\n", middle);
    return sw_buf_steal(&out);
}

static int prepare(void **state)
{
    struct stage *stage;

    stage_set(state);
    stage = *state;
    setenv("SLURM_JOB_ID", "100", 1);
    setenv("SLURM_JOB_NODELIST", "n1", 1);
    setenv("SLURM_JOB_NUM_NODES", "1", 1);
    unsetenv("SLURM_RESTART_COUNT");
    unsetenv("SLURM_ARRAY_TASK_ID");
    stage_program(stage, "sbatch", sbatch_works);
    stage_program(stage, "squeue", "cat $HERE/queue 2>/dev/null\n");
    stage_program(stage, "scontrol", "echo \"$*\" >> $HERE/scontrol.calls\n"
                                     "[ \"$1\" != requeue ] || exit 1\ncat $HERE/job 2>/dev/null\n");
    return 0;
}

static void expect_word(const struct stage *stage, const char *word)
{
    sw_autofree char *out = stage_read(stage, "job.out");

    if (!strstr(out, word)) {
        sw_autofree char *err = stage_read(stage, "job.err");

        fail_msg("not '%s' but: %s%s", word, out, err);
    }
}

/* The last line of the record is the end of an attempt, and says this. */
static void expect_end(const struct stage *stage, int attempt, const char *says)
{
    sw_autofree char *text = stage_read(stage, "attempts");
    sw_autofree char *begin = sw_format("{\"attempt\":%d,", attempt);
    const char *last = text;

    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        last = line;
    if (!sw_text_starts(last, begin) || !strstr(last, "\"event\":\"end\"") || !strstr(last, says))
        fail_msg("not '%s' but %s", says, last);
}

/* ---- which failures ------------------------------------------------------------------------- */

static void only_infrastructure_is_tried_again(void **state)
{
    static const struct { const char *name, *middle; bool again; const char *retry; } rows[] = {
        { "a program's exit code", "code=3", false, NULL },
        { "a traceback", "code=1; printf 'Traceback (most recent call last):\\n  File x\\n"
                         "KeyError: 1\\n' > $HERE/main.out", false, NULL },
        { "a GPU's memory", "code=1; echo 'torch.OutOfMemoryError: x' > $HERE/main.out", false, NULL },
        { "a full memory", "code=137; echo 'slurmstepd: error: Detected 1 oom_kill event' "
                           "> $HERE/main.err", false, NULL },
        { "a GPU that fell off the bus", "code=1; echo 'GPU has fallen off the bus' > $HERE/main.out",
          true, NULL },
        { "NCCL's network", "code=1; echo 'ncclSystemError: System call failed' > $HERE/main.out", true,
          NULL },
        { "a lost node", "code=1; echo 'srun: error: Node failure on n2' > $HERE/main.err", true, NULL },
        { "an image", "code=78 reason=image-error", true, NULL },
        { "an image that does not exist", "code=78 reason=image-missing", false, NULL },
        { "the time limit", "code=124 reason=time", false, NULL },
        { "the time limit, when listed", "code=124 reason=time", true, "{\"on\":[\"time\"]}" },
        { "a GPU, when only the network is listed",
          "code=1; echo 'GPU has fallen off the bus' > $HERE/main.out", false, "{\"on\":[\"network\"]}" },
        { "a program's exit code, when listed", "code=3", true, "{\"on\":[\"unknown\"]}" },
        { "retries switched off", "code=78 reason=image-error", false, "{\"max\":0}" },
        { "success", "code=0", false, NULL },
        { "what an earlier run logged", "code=3", false, NULL },
    };

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct stage *stage = *state;
        sw_autofree char *text = script(rows[i].retry, NULL, rows[i].middle);
        sw_autofree char *out = NULL;

        if (i + 1 == SW_COUNT(rows))
            stage_write(stage, "main.out", "GPU has fallen off the bus\n");
        stage_run(stage, stage_shells[i % 2], "job", text);
        out = stage_read(stage, "job.out");
        if ((strstr(out, "again") != NULL) != rows[i].again) {
            sw_autofree char *err = stage_read(stage, "job.err"), *note = stage_read(stage, "attempts");

            fail_msg("%s: %s%s%s", rows[i].name, out, err, note);
        }
        stage_clear(state);
        prepare(state);
    }
}

static void a_checkpoint_asks_for_more_time(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *asks = script(NULL, "{\"dir\":\"/c\",\"resume\":\"auto\"}", "code=124 reason=time");
    sw_autofree char *not = script(NULL, "{\"dir\":\"/c\",\"resume\":\"never\"}", "code=124 reason=time");

    stage_run(stage, "bash", "job", asks);
    expect_word(stage, "again");
    setenv("SLURM_JOB_ID", "101", 1);
    stage_run(stage, "bash", "no", not);
    assert_int_equal(stage_lines(stage, "sbatch.calls"), 1);
}

/* ---- how -------------------------------------------------------------------------------------- */

#define GPU_LOST "code=1; echo 'GPU has fallen off the bus' >> $HERE/main.out"

static void a_successor_avoids_the_node_and_carries_nothing_of_ours(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = script("{\"wait\":\"30s\"}", NULL, GPU_LOST), *calls = NULL, *env = NULL;

    stage_run(stage, "dash", "job", text);
    expect_word(stage, "again");
    calls = stage_read(stage, "sbatch.calls");
    assert_string_equal(calls, "--parsable --dependency= --begin now+30 --exclude=n1 "
                               "/lustre/job's.sbatch\n");
    env = stage_read(stage, "sbatch.env");
    assert_string_equal(env, "0\n");
    expect_end(stage, 1, "\"cause\":\"gpu\"");
    expect_end(stage, 1, "\"node\":\"n1\",\"action\":\"successor\",\"next\":\"101\"");
}

static void of_several_nodes_the_one_that_failed_is_avoided(void **state)
{
    static const struct { const char *middle, *says; } rows[] = {
        { GPU_LOST "; node=n7", "--exclude=n7" },
        { GPU_LOST "; echo 'srun: error: n3: task 1: Exited with exit code 1' >> $HERE/main.err",
          "--exclude=n3" },
        { "code=143 node=n1; printf 'srun: error: n1: task 0: Killed\\nsrun: error: Node failure on n5\\n' "
          ">> $HERE/main.err", "--exclude=n3,n5,n7" },
    };
    struct stage *stage = *state;

    setenv("SLURM_JOB_NODELIST", "n[1-8]", 1);
    setenv("SLURM_JOB_NUM_NODES", "8", 1);
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *text = script(NULL, NULL, rows[i].middle), *calls = NULL;
        sw_autofree char *id = sw_format("%zu", 200 + i);

        setenv("SLURM_JOB_ID", id, 1);
        stage_run(stage, stage_shells[i % 2], "job", text);
        calls = stage_read(stage, "sbatch.calls");
        if (!strstr(calls, rows[i].says))
            fail_msg("not '%s' but %s", rows[i].says, calls);
    }
}

static void no_client_knows_which_node_so_it_is_requeued(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = script(NULL, NULL, GPU_LOST), *calls = NULL, *asked = NULL;

    setenv("SLURM_JOB_NODELIST", "n[1-8]", 1);
    setenv("SLURM_JOB_NUM_NODES", "8", 1);
    stage_run(stage, "dash", "job", text);              /* the stand-in refuses: a successor then */
    asked = stage_read(stage, "scontrol.calls");
    calls = stage_read(stage, "sbatch.calls");
    assert_non_null(strstr(asked, "requeue 100"));
    assert_null(strstr(calls, "--exclude"));
    expect_word(stage, "again");
}

static void too_few_nodes_are_left_so_the_bad_one_is_taken(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = script(NULL, NULL, GPU_LOST), *calls = NULL;

    stage_program(stage, "sbatch", "echo \"$*\" >> $HERE/sbatch.calls\ncase $* in *exclude*)\n"
        "echo 'sbatch: error: Requested node configuration is not available' >&2; exit 1;; esac\n"
        "echo 7\n");
    stage_run(stage, "bash", "job", text);
    expect_word(stage, "again");
    calls = stage_read(stage, "sbatch.calls");
    assert_int_equal(stage_lines(stage, "sbatch.calls"), 2);
}

static void there_is_one_successor_even_when_sbatch_dies_after_it_was_heard(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = script(NULL, NULL, GPU_LOST), *handed = NULL;

    stage_program(stage, "sbatch", "echo x >> $HERE/sbatch.calls\n"
        "printf '100 slipway:a:1\\n555 slipway:a:1 more\\n' > $HERE/queue\n"
        "echo 'sbatch: error: Socket timed out on send/recv operation' >&2\nexit 1\n");
    stage_run(stage, "dash", "job", text);
    expect_word(stage, "again");
    handed = stage_read(stage, "handed");
    assert_string_equal(handed, "555\n");
    assert_int_equal(stage_lines(stage, "sbatch.calls"), 1);
    stage_run(stage, "bash", "slurm-starts-it-again", text);
    assert_int_equal(stage_lines(stage, "sbatch.calls"), 1);
    assert_int_equal(stage_lines(stage, "attempts"), 2);
}

static void the_tenth_retry_is_the_last_and_waits_grow(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = script("{\"wait\":\"40s..10m\"}", NULL, GPU_LOST), *calls = NULL;

    for (int i = 0; i < 11; i++) {
        sw_autofree char *id = sw_format("%d", 1000 + 100 * i);       /* no jitter for these */

        setenv("SLURM_JOB_ID", id, 1);
        stage_run(stage, stage_shells[i % 2], "job", text);
    }
    calls = stage_read(stage, "sbatch.calls");
    assert_int_equal(stage_lines(stage, "sbatch.calls"), 10);
    assert_non_null(strstr(calls, "now+40 "));
    assert_non_null(strstr(calls, "now+320 "));
    assert_non_null(strstr(calls, "now+600 "));
    assert_int_equal(stage_lines(stage, "attempts"), 22);
    expect_end(stage, 11, "\"cause\":\"gpu\"");
    expect_end(stage, 11, "\"action\":\"none\"");
}

static void slurm_s_own_restarts_are_counted(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = script("{\"max\":2}", NULL, "exit 0");
    sw_autofree char *err = NULL;

    setenv("SLURM_RESTART_COUNT", "1", 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(stage_run(stage, "bash", "job", text), 0);
    assert_int_equal(stage_run(stage, "dash", "job", text), 75);
    err = stage_read(stage, "job.err");
    assert_non_null(strstr(err, "no retries left (2 of 2 used)"));
}

#define DUE_TO(why) "code=143 reason=term; echo 'slurmstepd: error: *** JOB 100 ON n1 CANCELLED AT x DUE " \
                    "TO " why " ***' >> $HERE/main.err"

static void one_that_was_ended_comes_back_only_if_slurm_says_why(void **state)
{
    static const struct { const char *middle, *job, *retry; bool again; size_t submits; } rows[] = {
        { "code=143 reason=term", "Restarts=0", NULL, false, 0 },
        { "code=143 reason=term; echo 'GPU has fallen off the bus' >> $HERE/main.out", "Restarts=0", NULL,
          false, 0 },
        { DUE_TO("PREEMPTION"), "Restarts=0", NULL, true, 1 },
        { DUE_TO("PREEMPTION"), "Restarts=1", NULL, true, 0 },          /* Slurm does it by itself */
        { DUE_TO("NODE FAILURE"), "Restarts=1", NULL, true, 0 },
        { DUE_TO("NODE FAILURE"), "Restarts=0", NULL, true, 1 },
        { DUE_TO("TIME LIMIT"), "Restarts=0", NULL, false, 0 },
        { DUE_TO("TIME LIMIT"), "Restarts=0", "{\"on\":[\"time\"]}", true, 1 },
        { "code=0 reason=term", "Restarts=0", NULL, false, 0 },
    };

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct stage *stage = *state;
        sw_autofree char *text = script(rows[i].retry, NULL, rows[i].middle);
        sw_autofree char *job = sw_format("JobId=100 JobState=COMPLETING Requeue=1 %s BatchFlag=1\n",
                                          rows[i].job);

        stage_write(stage, "job", job);
        stage_run(stage, stage_shells[i % 2], "job", text);
        expect_word(stage, rows[i].again ? "again" : "end");
        if (stage_lines(stage, "sbatch.calls") != rows[i].submits)
            fail_msg("row %zu submitted %zu", i, stage_lines(stage, "sbatch.calls"));
        stage_clear(state);
        prepare(state);
    }
}

static void a_mark_of_the_client_ends_it(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = script(NULL, NULL, GPU_LOST);

    stage_write(stage, "canceled", "");
    stage_run(stage, "bash", "job", text);
    expect_word(stage, "end");
    assert_int_equal(stage_lines(stage, "sbatch.calls"), 0);
}

static void without_a_judge_nothing_is_tried_again(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = script(NULL, NULL, "SW_RUNNER=/nosuch; " GPU_LOST), *err = NULL;

    stage_run(stage, "dash", "job", text);
    expect_word(stage, "end");
    err = stage_read(stage, "job.err");
    assert_non_null(strstr(err, "could not judge"));
}

/* ---- the record ------------------------------------------------------------------------------- */

static void a_torn_record_is_read_as_far_as_it_goes(void **state)
{
    static const char text[] =
        "{\"attempt\":1,\"at\":10,\"event\":\"begin\",\"slurm_job_id\":\"5\",\"restart\":0,"
        "\"nodes\":\"n[1-2]\",\"out_from\":0,\"err_from\":0}\n"
        "{\"attempt\":1,\"at\":20,\"event\":\"end\",\"exit_code\":1,\"class\":\"ERR_INFRA\","
        "\"cause\":\"gpu\",\"rule\":\"gpu-lost\",\"node\":\"n2\",\"action\":\"requeue\",\"next\":\"5\"}\n"
        "not json\n[1]\n{\"attempt\":-4,\"event\":\"end\"}\n{\"attempt\":\"x\"}\n"
        "{\"attempt\":2,\"at\":30,\"event\":\"begin\",\"slurm_job_id\":\"5\",\"restart\":1,"
        "\"nodes\":\"n[1-2]\",\"out_from\":99,\"err_from\":7}\n"
        "{\"attempt\":2,\"at\":40,\"event\":\"en";
    struct sw_observation seen = { 0 };
    sw_autofree char *before = NULL;

    (void)state;
    slurm_attempts_describe(text, strlen(text), &seen);
    assert_int_equal(seen.attempt, 2);
    before = sw_json_dump(seen.before);
    assert_non_null(strstr(before, "\"number\":1,"));
    assert_non_null(strstr(before, "\"exit_code\":1,"));
    assert_non_null(strstr(before, "\"remote_id\":\"5\""));
    assert_int_equal(json_array_size(seen.before), 1);
    assert_string_equal(seen.message, "attempt 2; attempt 1 ended: gpu, on n2");
    json_decref(seen.before);
}

#define BEGIN(number, at) "{\"attempt\":" #number ",\"at\":" #at ",\"event\":\"begin\"," \
    "\"slurm_job_id\":\"5\",\"nodes\":\"n[1-2]\"}\n"
#define END(number, action, next) "{\"attempt\":" #number ",\"at\":20,\"event\":\"end\",\"exit_code\":1," \
    "\"class\":\"ERR_INFRA\",\"cause\":\"gpu\",\"rule\":\"gpu-lost\",\"node\":\"n2\"," \
    "\"action\":\"" action "\",\"next\":\"" next "\"}\n"

static void the_client_says_which_attempt_it_is(void **state)
{
    static const struct {
        const char *record, *message;
        int attempt;
        size_t before;
    } rows[] = {
        { "", "", 0, 0 },
        { BEGIN(1, 10), "", 0, 0 },
        { BEGIN(1, 10) END(1, "none", ""), "", 0, 0 },
        { BEGIN(1, 10) END(1, "lost", ""), "", 0, 0 },
        { BEGIN(1, 10) END(1, "successor", "6"), "attempt 2; attempt 1 ended: gpu, on n2", 2, 1 },
        { BEGIN(1, 10) BEGIN(2, 30), "attempt 2; attempt 1 did not report its end", 2, 1 },
        { BEGIN(4, 10) END(4, "requeue", "5") BEGIN(5, 30) END(5, "requeue", "5") BEGIN(6, 40),
          "attempt 6; attempt 5 ended: gpu, on n2", 6, 2 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_observation seen = { 0 };

        slurm_attempts_describe(rows[i].record, strlen(rows[i].record), &seen);
        assert_string_equal(seen.message, rows[i].message);
        assert_int_equal(seen.attempt, rows[i].attempt);
        assert_int_equal(json_array_size(seen.before), rows[i].before);
        json_decref(seen.before);
    }
}

static void what_is_said_of_an_attempt_is_what_the_store_keeps(void **state)
{
    static const char record[] = BEGIN(1, 10) END(1, "successor", "6") BEGIN(2, 30) BEGIN(3, 50);
    struct sw_observation seen = { .message = "it is in the queue" };
    sw_autofree char *text = NULL;

    (void)state;
    slurm_attempts_describe(record, strlen(record), &seen);
    text = sw_json_dump(seen.before);
    assert_string_equal(text,
        "[{\"number\":1,\"state\":\"Error\",\"reason\":\"exit\","
        "\"message\":\"exit code 1; retried as Slurm job 6\",\"exit_code\":1,\"signal\":0,"
        "\"node\":\"n2\",\"remote_id\":\"5\",\"started_ms\":10000,\"ended_ms\":20000,\"cause\":\"gpu\"},"
        "{\"number\":2,\"state\":\"Error\",\"reason\":\"restarted\","
        "\"message\":\"its end is unknown\",\"exit_code\":null,\"signal\":0,"
        "\"node\":\"n[1-2]\",\"remote_id\":\"5\",\"started_ms\":30000,\"ended_ms\":50000,\"cause\":\"\"}]");
    assert_true(sw_text_starts(seen.message, "it is in the queue; attempt 3; attempt 2 did"));
    json_decref(seen.before);
}

static void the_text_is_as_reviewed(void **state)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *exclude = json_string("n9");
    const struct sw_plan plan = { 0 };
    const struct slurm_job values = { .plan = &plan, .attempt = 1, .shape.gpus = 8,
        .options.exclude = exclude,
        .names = { .sbatch = (char *)"/lustre/me/sbatch/job_a.sbatch", .job_name = (char *)"tao-job-a",
                   .comment = (char *)"slipway:a:1" } };

    (void)state;
    assert_int_equal(slurm_retry_text(&out, &values, NULL), 0);
    expect_golden("retry.sh", sw_buf_text(&out));
}

int main(void)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, prepare, stage_clear)
    const struct CMUnitTest tests[] = {
        STAGED(only_infrastructure_is_tried_again),
        STAGED(a_checkpoint_asks_for_more_time),
        STAGED(a_successor_avoids_the_node_and_carries_nothing_of_ours),
        STAGED(of_several_nodes_the_one_that_failed_is_avoided),
        STAGED(no_client_knows_which_node_so_it_is_requeued),
        STAGED(too_few_nodes_are_left_so_the_bad_one_is_taken),
        STAGED(there_is_one_successor_even_when_sbatch_dies_after_it_was_heard),
        STAGED(the_tenth_retry_is_the_last_and_waits_grow),
        STAGED(slurm_s_own_restarts_are_counted),
        STAGED(one_that_was_ended_comes_back_only_if_slurm_says_why),
        STAGED(a_mark_of_the_client_ends_it),
        STAGED(without_a_judge_nothing_is_tried_again),
        cmocka_unit_test(a_torn_record_is_read_as_far_as_it_goes),
        cmocka_unit_test(the_client_says_which_attempt_it_is),
        cmocka_unit_test(what_is_said_of_an_attempt_is_what_the_store_keeps),
        cmocka_unit_test(the_text_is_as_reviewed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
