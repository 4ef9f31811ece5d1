/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_log_rules.c - every row has samples, every sample is judged right, and whole logs too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/text.h"
#include "core/observation.h"
#include "diagnose/diagnose_internal.h"
#include "rules_samples.h"

static json_t *diagnose_log(const char *log, const char *facts)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "exit", .exit_code = 1,
                                    .failed_replica = -1 };
    json_t *verdict;

    evidence.facts = facts ? json_loads(facts, 0, NULL) : NULL;
    evidence.log_tail = sw_strdup(log);
    verdict = sw_diagnose(&evidence);
    sw_evidence_done(&evidence);
    return verdict;
}

static const struct diag_log_rule *rule_named(const char *name)
{
    for (size_t i = 0; i < diag_log_rule_count; i++) {
        if (strcmp(diag_log_rules[i].ruling.name, name) == 0)
            return &diag_log_rules[i];
    }
    return NULL;
}

static const struct rule_sample *samples_of(const char *name)
{
    for (size_t i = 0; i < rule_sample_count; i++) {
        if (strcmp(rule_samples[i].rule, name) == 0)
            return &rule_samples[i];
    }
    return NULL;
}

static void every_rule_has_samples_for_and_against(void **state)
{
    (void)state;
    for (size_t i = 0; i < diag_log_rule_count; i++) {
        const struct sw_ruling *ruling = &diag_log_rules[i].ruling;
        const struct rule_sample *samples = samples_of(ruling->name);

        if (!samples || !samples->fits[0] || !samples->not[0])
            fail_msg("rule %s has no samples", ruling->name);
        assert_non_null(diag_class_of_cause(ruling->cause));
        assert_true(strlen(ruling->suggestion) > 10);
        assert_non_null(diag_log_rules[i].patterns[0]);
        assert_ptr_equal(rule_named(ruling->name), &diag_log_rules[i]);    /* names are unique */
    }
    for (size_t i = 0; i < rule_sample_count; i++)
        assert_non_null(rule_named(rule_samples[i].rule));
}

static void a_line_that_fits_is_explained_by_its_rule(void **state)
{
    (void)state;
    for (size_t i = 0; i < rule_sample_count; i++) {
        const struct diag_log_rule *rule = rule_named(rule_samples[i].rule);

        for (size_t k = 0; k < SW_COUNT(rule_samples[i].fits) && rule_samples[i].fits[k]; k++) {
            sw_auto(json) json_t *verdict =
                diagnose_log(rule_samples[i].fits[k],
                             rule->gpus == DIAG_GPUS_NONE ? "{\"gpus_requested\": 0}" : NULL);

            if (!sw_text_same(sw_json_str(verdict, "rule"), rule_samples[i].rule))
                fail_msg("'%s' is judged by rule '%s' instead of '%s'", rule_samples[i].fits[k],
                         sw_json_str(verdict, "rule"), rule_samples[i].rule);
            assert_true(json_array_size(json_object_get(verdict, "evidence")) >= 2);
        }
    }
}

static void a_line_that_only_looks_alike_does_not_fit(void **state)
{
    (void)state;
    for (size_t i = 0; i < rule_sample_count; i++) {
        const struct diag_log_rule *rule = rule_named(rule_samples[i].rule);

        for (size_t k = 0; k < SW_COUNT(rule_samples[i].not) && rule_samples[i].not[k]; k++) {
            sw_auto(diag_log) struct diag_log log = { 0 };

            diag_log_read(&log, rule_samples[i].not[k]);
            assert_int_equal(log.count, 1);
            if (diag_log_rule_fits(rule, &log.lines[0]))
                fail_msg("'%s' fits rule '%s'", rule_samples[i].not[k], rule_samples[i].rule);
        }
    }
}

static void every_label_of_a_launcher_is_taken_off(void **state)
{
    static const char *const labels[] = {
        "[rank3]: ", "3: ", "[default3]:", "[1,3]<stderr>:", "2026-05-21T22:50:54.123456789Z ",
        "2026-05-21 22:50:54,123 ", "[2026-05-21 22:50:54] ", "\033[31m",
        "2026-05-21T22:50:54Z [rank0]: ", "0: [rank0]: ", "\033[1;31m[rank0]: ",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(labels); i++) {
        sw_autofree char *line = sw_format("%sKeyError: 'labels'", labels[i]);
        sw_auto(json) json_t *verdict = diagnose_log(line, NULL);

        if (!sw_text_same(sw_json_str(verdict, "rule"), "python"))
            fail_msg("'%s' is not explained", line);
    }
}

#define TEN_LINES "step\nstep\nstep\nstep\nstep\nstep\nstep\nstep\nstep\nstep\n"
#define MANY_LINES TEN_LINES TEN_LINES TEN_LINES TEN_LINES TEN_LINES TEN_LINES TEN_LINES

/* Whole logs, as people paste them into bug reports. */
static const struct {
    const char *name, *log, *facts;
    const char *err_class, *cause, *rule;
} logs[] = {
    { "a traceback that ends in CUDA out of memory is the program's, whatever NCCL says",
      "[rank0]: Traceback (most recent call last):\n"
      "[rank0]:   File \"/w/train.py\", line 88, in <module>\n"
      "[rank0]:     loss.backward()\n"
      "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
      "[rank0]:[E521 22:50:54 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE)\n"
      "ncclRemoteError: A call failed possibly due to a network error\n",
      NULL, "ERR_PROGRAM", "memory", "cuda-memory" },
    { "neither does an Xid make it infrastructure",
      "NVRM: Xid (PCI:0000:3b:00): 48, pid=1, DBE\n"
      "Traceback (most recent call last):\n  File \"t.py\", line 1\n"
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
      NULL, "ERR_PROGRAM", "memory", "cuda-memory" },
    { "an exception that was logged and survived is not the reason for what came after",
      "Traceback (most recent call last):\n  File \"d.py\", line 1\nKeyError: 'x'\n" MANY_LINES
      "ncclRemoteError: A call failed possibly due to a network error\n",
      NULL, "ERR_INFRA", "network", "nccl-transport" },
    { "a device assert is the program's",
      "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1290: indexSelectLargeIndex: block: [1,0,0], "
      "thread: [64,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
      "Traceback (most recent call last):\n  File \"t.py\", line 3, in <module>\n    y = m(x)\n"
      "RuntimeError: CUDA error: device-side assert triggered\n"
      "CUDA kernel errors might be asynchronously reported at some other API call.\n"
      "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
      "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
      NULL, "ERR_PROGRAM", "user", "device-assert" },
    { "an NCCL timeout alone is the network's",
      "[rank1]:[E521 22:50:54 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=1234, OpType=ALLREDUCE, Timeout(ms)=600000)\n"
      "[rank1]:[E521 22:50:55 ProcessGroupNCCL.cpp:1785] [PG ID 0 Rank 1] Exception (either an "
      "error or timeout) detected by watchdog at work: 1234\n"
      "terminate called after throwing an instance of 'c10::DistBackendError'\n"
      "Fatal Python error: Aborted\n",
      NULL, "ERR_INFRA", "network", "nccl-timeout" },
    { "settings of NCCL and its chatter say nothing",
      "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n"
      "[W ProcessGroupNCCL.cpp:1] Warning: Environment variable NCCL_ASYNC_ERROR_HANDLING is "
      "deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead\n"
      "n1:99:99 [0] NCCL INFO NET/IB : error handling on, Connection reset by peer is retried\n"
      "n1:99:99 [0] NCCL INFO ncclSystemError: test of the message table\n"
      "done, leaving with 1\n",
      NULL, "ERR_PROGRAM", "unknown", "" },
    { "the root cause's rank is heard, the others are echoes",
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]:   File \"t.py\", line 9\n"
      "[rank1]: KeyError: 'labels'\n"
      "[rank0]: Traceback (most recent call last):\n"
      "[rank0]: torch.distributed.DistBackendError: NCCL error in: x.hpp:1, remote process exited "
      "or there was a network error, NCCL version 2.21.5\n"
      "[rank0]: ncclRemoteError: A call failed possibly due to a network error\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "============================================================\n"
      "train.py FAILED\n"
      "------------------------------------------------------------\n"
      "Root Cause (first observed failure):\n"
      "[0]:\n"
      "  time      : 2026-05-21_22:50:54\n"
      "  host      : n1\n"
      "  rank      : 1 (local_rank: 1)\n"
      "  exitcode  : 1 (pid: 4242)\n"
      "  error_file: <N/A>\n",
      NULL, "ERR_PROGRAM", "user", "python" },
    { "an exception that was handled long ago is not the reason",
      "Traceback (most recent call last):\n  File \"d.py\", line 1\n"
      "FileNotFoundError: [Errno 2] No such file or directory: 'cache.pt'\n"
      "no cache, building it\nEpoch 1/3\n"
      "Traceback (most recent call last):\n  File \"t.py\", line 5, in <module>\n"
      "ValueError: too many values to unpack (expected 2)\n",
      NULL, "ERR_PROGRAM", "user", "python" },
    { "the cause behind a wrapping exception is found",
      "Traceback (most recent call last):\n  File \"a.py\", line 1\n"
      "FileNotFoundError: [Errno 2] No such file or directory: '/data/x'\n\n"
      "The above exception was the direct cause of the following exception:\n\n"
      "Traceback (most recent call last):\n  File \"b.py\", line 1\n"
      "datasets.exceptions.DatasetGenerationError: An error occurred while generating\n",
      NULL, "ERR_PROGRAM", "user", "file-missing" },
    { "the original traceback of a data loader worker counts",
      "Traceback (most recent call last):\n  File \"t.py\", line 1\n"
      "RuntimeError: Caught PermissionError in DataLoader worker process 0.\n"
      "Original Traceback (most recent call last):\n  File \"w.py\", line 7\n"
      "PermissionError: [Errno 13] Permission denied: '/data/a.jpg'\n",
      NULL, "ERR_PROGRAM", "user", "permission" },
    { "what Python ignores while it ends is ignored here too",
      "[E ProcessGroupNCCL.cpp:475] [Rank 0] Some NCCL operations have failed or timed out. Due\n"
      "Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f>\n"
      "Traceback (most recent call last):\n  File \"d.py\", line 1\n"
      "AttributeError: 'NoneType' object has no attribute 'close'\n",
      NULL, "ERR_INFRA", "network", "nccl-timeout" },
    { "a broken GPU beats the error the program makes of it",
      "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=python, GPU has fallen off the bus.\n"
      "Traceback (most recent call last):\n  File \"t.py\", line 1\n"
      "RuntimeError: CUDA error: unspecified launch failure\n",
      NULL, "ERR_INFRA", "gpu", "xid-hardware" },
    { "a job that asked for no GPU and finds none is the user's",
      "Traceback (most recent call last):\n  File \"t.py\", line 1\n"
      "RuntimeError: No CUDA GPUs are available\n",
      "{\"gpus_requested\": 0}", "ERR_PROGRAM", "user", "gpu-not-asked" },
    { "a job that asked for one and finds none is not",
      "Traceback (most recent call last):\n  File \"t.py\", line 1\n"
      "RuntimeError: No CUDA GPUs are available\n",
      "{\"gpus_requested\": 1}", "ERR_INFRA", "gpu", "gpu-none" },
    { "a full disk while saving",
      "Traceback (most recent call last):\n  File \"s.py\", line 1\n"
      "OSError: [Errno 28] No space left on device\n\n"
      "During handling of the above exception, another exception occurred:\n\n"
      "Traceback (most recent call last):\n  File \"t.py\", line 1\n"
      "RuntimeError: [enforce fail at inline_container.cc:424] . unexpected pos 64 vs 0\n",
      NULL, "ERR_INFRA", "storage", "disk-full" },
    { "Slurm's out-of-memory note",
      "Epoch 3/10\n/var/spool/slurmd/job4711/slurm_script: line 12: 4242 Killed   python train.py\n"
      "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some of the step tasks "
      "have been OOM Killed.\n",
      NULL, "ERR_PROGRAM", "memory", "oom-kill" },
    { "'Killed' alone is not enough to say memory",
      "Epoch 3/10\n/bin/sh: line 1:  4242 Killed                  python train.py\n",
      NULL, "ERR_PROGRAM", "unknown", "" },
    { "an old driver behind an assertion",
      "/opt/conda/torch/cuda/__init__.py:118: UserWarning: CUDA initialization: The NVIDIA driver "
      "on your system is too old (found version 11040). Please update your GPU driver\n"
      "  return torch._C._cuda_getDeviceCount() > 0\n"
      "Traceback (most recent call last):\n  File \"t.py\", line 1\nAssertionError\n",
      NULL, "ERR_INFRA", "gpu", "driver-old" },
    { "a wrong option with its usage",
      "usage: train.py [-h] [--lr LR]\ntrain.py: error: unrecognized arguments: --lrr 0.1\n",
      NULL, "ERR_PROGRAM", "user", "arguments" },
    { "two ranks that never met",
      "[W socket.cpp:663] [c10d] The client socket has failed to connect to [n0]:29500 (errno: 111 "
      "- Connection refused).\n"
      "Traceback (most recent call last):\n  File \"t.py\", line 1\n"
      "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while "
      "trying to connect to (n0, 29500).\n",
      NULL, "ERR_INFRA", "network", "rendezvous" },
    { "the store's answer 403 is about rights, not about the network",
      "Traceback (most recent call last):\n  File \"t.py\", line 1\n"
      "botocore.exceptions.ClientError: An error occurred (403) when calling the HeadObject "
      "operation: Forbidden\n",
      NULL, "ERR_PROGRAM", "user", "store-denied" },
    { "an unknown exception is unknown, and its last line is shown",
      "Traceback (most recent call last):\n  File \"t.py\", line 1\n"
      "RuntimeError: the flux capacitor is empty\n",
      NULL, "ERR_PROGRAM", "unknown", "" },
    { "a line of NCCL means nothing in a job without GPUs",
      "n1:9:9 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2 with status=12\n"
      "[rank0]: ncclRemoteError: A call failed possibly due to a network error\nleaving with 1\n",
      "{\"gpus_requested\": 0}", "ERR_PROGRAM", "unknown", "" },
    { "an empty log is unknown, not infrastructure", "", NULL, "ERR_PROGRAM", "unknown", "" },
    { "an out-of-memory that was survived is not the reason",
      "CUDA out of memory, retrying with batch size 8\nEpoch 2/3\n"
      "[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=9)\n",
      NULL, "ERR_INFRA", "network", "nccl-timeout" },
};

static void whole_logs_are_judged_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(logs); i++) {
        sw_auto(json) json_t *verdict = diagnose_log(logs[i].log, logs[i].facts);

        if (!sw_text_same(sw_json_str(verdict, "cause"), logs[i].cause) ||
            !sw_text_same(sw_json_str(verdict, "rule"), logs[i].rule))
            fail_msg("%s: cause %s by rule '%s'", logs[i].name, sw_json_str(verdict, "cause"),
                     sw_json_str(verdict, "rule"));
        assert_string_equal(sw_json_str(verdict, "err_class"), logs[i].err_class);
    }
}

static void there_are_at_least_sixty_rows_of_samples(void **state)
{
    size_t rows = SW_COUNT(logs);

    (void)state;
    for (size_t i = 0; i < rule_sample_count; i++) {
        for (size_t k = 0; k < SW_COUNT(rule_samples[i].fits); k++)
            rows += (rule_samples[i].fits[k] != NULL) + (rule_samples[i].not[k] != NULL);
    }
    assert_true(rows >= 60);
}

static void no_program_error_is_retried_by_default(void **state)
{
    (void)state;
    for (size_t i = 0; i < rule_sample_count; i++) {
        sw_auto(json) json_t *verdict = diagnose_log(rule_samples[i].fits[0], NULL);

        if (!sw_text_same(sw_json_str(verdict, "err_class"), "ERR_INFRA"))
            assert_false(sw_verdict_is_retriable(verdict, NULL));
    }
}

static bool shows(const json_t *verdict, const char *part)
{
    const json_t *lines = json_object_get(verdict, "evidence");

    for (size_t i = 0; i < json_array_size(lines); i++) {
        if (strstr(json_string_value(json_array_get(lines, i)), part))
            return true;
    }
    return false;
}

static void evidence_is_harmless_short_and_in_the_order_of_the_log(void **state)
{
    sw_auto(sw_buf) struct sw_buf log = SW_BUF_INIT;
    sw_auto(json) json_t *verdict = NULL;
    const json_t *lines;

    (void)state;
    sw_buf_add(&log, "ncclSystemError: first\nncclRemoteError: \033[2Jsecond \xff\xfe ");
    for (int i = 0; i < 400; i++)
        sw_buf_add(&log, "ü");
    verdict = diagnose_log(sw_buf_text(&log), NULL);
    lines = json_object_get(verdict, "evidence");
    assert_int_equal(json_array_size(lines), 3);      /* "exit code 1" and the two */
    assert_string_equal(json_string_value(json_array_get(lines, 1)), "ncclSystemError: first");
    assert_true(json_string_length(json_array_get(lines, 2)) <= 300);
    assert_null(strchr(json_string_value(json_array_get(lines, 2)), '\033'));
    assert_true(sw_text_ends(json_string_value(json_array_get(lines, 2)), "..."));
}

static void an_unknown_failure_shows_its_last_words(void **state)
{
    sw_auto(json) json_t *verdict =
        diagnose_log("one\nTraceback (most recent call last):\nRuntimeError: the flux capacitor is "
                     "empty\nbye\nslipway: report {\"job_id\":\"job-1\",\"message\":\"CUDA out of "
                     "memory\"}\n",
                     NULL);

    (void)state;
    assert_false(shows(verdict, "slipway: report"));
    assert_true(shows(verdict, "flux capacitor"));
    assert_true(shows(verdict, "bye"));
    assert_non_null(strstr(sw_json_str(verdict, "suggestion"), "unrecognised failure"));
}

static void what_the_runner_moved_is_shown(void **state)
{
    sw_auto(json) json_t *facts = json_pack("{s:{s:{s:i,s:i},s:{s:i,s:i}}}", "runner", "in", "files", 1,
                                            "bytes", 2048, "out", "files", 0, "bytes", 0);
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "exit", .exit_code = 9,
                                    .failed_replica = -1, .facts = facts };
    sw_auto(json) json_t *verdict = sw_diagnose(&evidence);

    (void)state;
    assert_true(shows(verdict, "the runner fetched 1 file, 2 KiB"));
    assert_false(shows(verdict, "brought"));
}

static void the_platforms_message_is_read_like_a_line(void **state)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "image-error", .exit_code = -1,
                                    .failed_replica = -1,
                                    .message = "Failed to pull image \"nvcr.io/x\": unauthorized: "
                                               "authentication required" };
    sw_auto(json) json_t *verdict = sw_diagnose(&evidence);

    (void)state;
    assert_string_equal(sw_json_str(verdict, "rule"), "image-denied");
    assert_false(sw_verdict_is_retriable(verdict, NULL));
}

static void a_message_is_shown_on_one_line_and_harmless(void **state)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "exit", .exit_code = 1,
                                    .failed_replica = 2, .message = "one\n\033[2Jtwo\xff" };
    sw_auto(json) json_t *verdict = sw_diagnose(&evidence);
    const json_t *lines = json_object_get(verdict, "evidence");

    (void)state;
    assert_string_equal(json_string_value(json_array_get(lines, 0)), "one ^[[2Jtwo\xef\xbf\xbd");
    assert_string_equal(json_string_value(json_array_get(lines, 2)),
                        "the first rank to fail was 2");
}

static void patterns_mean_what_they_say(void **state)
{
    static const struct { const char *pattern, *text; bool fits; } cases[] = {
        { "abc", "xxabcxx", true },     { "abc", "ab", false },        { "^abc", "abcd", true },
        { "^abc", "xabc", false },      { "abc$", "xabc", true },      { "abc$", "abcx", false },
        { "^abc$", "abc", true },       { "^abc$", "abcabc", false },  { "a*c", "a-----c", true },
        { "a*c", "c-----a", false },    { "a#c", "a123c", true },      { "a#c", "ac", false },
        { "^#: ", "12: x", true },      { "a*b*c$", "a b b c", true }, { "a*c$", "a b c b", false },
        { "b$", "abab", true },         { "", "anything", true },      { "a", "", false },
        { "^", "", true },              { "a*", "a", true },           { "#$", "x12", true },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        if (diag_pattern_match(cases[i].pattern, cases[i].text, strlen(cases[i].text)) !=
            cases[i].fits)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
    }
}

/* A log that makes every pattern begin and none end. */
static void a_hostile_log_takes_no_time(void **state)
{
    sw_auto(sw_buf) struct sw_buf log = SW_BUF_INIT;
    struct timespec begin, end;

    (void)state;
    while (log.length < 1 << 20)
        sw_buf_add(&log, "NVRM: Xid (PCI:NCCL WARN .cu:1: block: [An error occurred (CUDA error: ");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (int i = 0; i < 10; i++)
        json_decref(diagnose_log(sw_buf_text(&log), NULL));
    for (size_t i = 60; i < log.length; i += 61)
        log.data[i] = '\n';
    for (int i = 0; i < 10; i++)
        json_decref(diagnose_log(sw_buf_text(&log), NULL));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    assert_true(end.tv_sec - begin.tv_sec < 5);       /* about 0.1 s; sanitizers are slow */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_has_samples_for_and_against),
        cmocka_unit_test(a_line_that_fits_is_explained_by_its_rule),
        cmocka_unit_test(a_line_that_only_looks_alike_does_not_fit),
        cmocka_unit_test(every_label_of_a_launcher_is_taken_off),
        cmocka_unit_test(whole_logs_are_judged_right),
        cmocka_unit_test(there_are_at_least_sixty_rows_of_samples),
        cmocka_unit_test(no_program_error_is_retried_by_default),
        cmocka_unit_test(evidence_is_harmless_short_and_in_the_order_of_the_log),
        cmocka_unit_test(an_unknown_failure_shows_its_last_words),
        cmocka_unit_test(what_the_runner_moved_is_shown),
        cmocka_unit_test(the_platforms_message_is_read_like_a_line),
        cmocka_unit_test(a_message_is_shown_on_one_line_and_harmless),
        cmocka_unit_test(patterns_mean_what_they_say),
        cmocka_unit_test(a_hostile_log_takes_no_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
