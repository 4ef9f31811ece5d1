/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_headline.c - the sentence that a person needs, out of logs as programs leave them.
 *
 * The files in logs/ were written by PyTorch 2.11 on one H200 (short scripts that fail), with and
 * without torchrun, and by Pyxis 0.24 on Slurm 22.05.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "core/observation.h"
#include "diagnose/diagnose.h"

static void expect(const char *name, struct sw_evidence *evidence, const char *cause, const char *rule,
                   const char *headline)
{
    sw_auto(json) json_t *verdict = sw_diagnose(evidence);
    bool from_log;
    sw_autofree char *said = sw_diagnose_headline(evidence, verdict, &from_log);

    if (!sw_text_same(said, headline))
        fail_msg("%s: '%s' instead of '%s'", name, said, headline);
    if (!sw_text_same(sw_json_str(verdict, "cause"), cause) || !sw_text_same(sw_json_str(verdict, "rule"),
        rule))
        fail_msg("%s: cause %s by rule '%s'", name, sw_json_str(verdict, "cause"), sw_json_str(verdict,
            "rule"));
    assert_true(strlen(said) < sizeof evidence->message);
}

static const struct {
    const char *file;
    int exit_code, failed_replica;
    const char *cause, *rule, *headline;
} logs[] = {
    { "torch-shape", 1, 0, "user", "tensor-shape",
      "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3); rank 0, exit code 1" },
    { "torch-assert", 1, 0, "user", "device-assert",
      "torch.AcceleratorError: CUDA error: device-side assert triggered; rank 0, exit code 1" },
    { "torch-module", 1, 0, "user", "module-missing",
      "ModuleNotFoundError: No module named 'nosuchmodule'; rank 0, exit code 1" },
    { "torch-oom", 1, 0, "memory", "cuda-memory",
      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 180.00 GiB. GPU 0 has a total capacity "
      "of "
      "139.80 GiB of which 109.29 GiB is free.; rank 0, exit code 1" },
    { "torch-segv-fault", 139, 0, "user", "segfault",
      "Fatal Python error: Segmentation fault; rank 0, exit code 139" },
    { "torch-segv-sh", 139, -1, "user", "segfault",
      "bash: line 1:   663 Segmentation fault      python3 segv.py; exit code 139" },
    { "torch-loader", 1, 0, "user", "file-missing",
      "FileNotFoundError: [Errno 2] No such file or directory: '/data/img0.jpg'; rank 0, exit code 1" },
    { "torch-killed", 1, 0, "memory", "worker-killed",
      "RuntimeError: DataLoader worker (pid(s) 657) exited unexpectedly (from RuntimeError: DataLoader "
      "worker "
      "(pid 657) is killed by signal: Killed.); rank 0, exit code 1" },
    { "torch-chained", 1, 0, "user", "file-missing",
      "RuntimeError: cannot resume (from FileNotFoundError: [Errno 2] No such file or directory: "
      "'/nosuch/model.pt'); rank 0, exit code 1" },
    { "torch-group", 1, -1, "user", "python", "ValueError: bad shard 2; exit code 1" },
    { "torch-statedict", 1, 0, "user", "tensor-shape",
      "RuntimeError: Error(s) in loading state_dict for Linear: Missing key(s) in state_dict: \"bias\". "
      "Unexpected "
      "key(s) in state_dict: \"other\".; rank 0, exit code 1" },
    { "torch-two", 1, 0, "user", "tensor-shape",
      "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3); rank 1, exit code 1" },
    { "torch-twosegv", 1, 0, "user", "segfault", "Signal 11 (SIGSEGV) received by PID 757; rank 1, exit "
                                                 "code 1" },
    { "torch-twoassert", 1, 0, "user", "device-assert",
      "torch.AcceleratorError: CUDA error: device-side assert triggered; rank 1, exit code 1" },
    { "torch-nccl", 1, 0, "user", "nccl-usage",
      "torch.distributed.DistBackendError: Duplicate GPU detected : rank 0 and rank 1 both on CUDA device "
      "60; rank "
      "0, exit code 1" },
    { "torch-gloo", 1, 0, "network", "nccl-timeout",
      "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting "
      "5000ms for "
      "recv operation to complete; rank 0, exit code 1" },
    { "torch-nostart", 1, 0, "network", "rendezvous",
      "torch.distributed.DistNetworkError: The client socket has timed out after 5000ms while trying to "
      "connect to "
      "(127.0.0.1, 29544).; rank 0, exit code 1" },
    { "pyxis-missing", 1, 0, "image", "container-start",
      "pyxis: failed to create container filesystem for image: /lustre/nosuch.sqsh; rank 0, exit code 1" },
    { "pyxis-import", 1, 0, "image", "image-pull",
      "pyxis: failed to import docker image: ubuntu:22.04; rank 0, exit code 1" },
    { "torch-compile", 1, -1, "unknown", "",
      "torch._dynamo.exc.TorchRuntimeError: RuntimeError when making fake tensor call Explanation: Dynamo "
      "failed to "
      "run FX node with fake tensors: call_function <built-in function matmul>(*(Fake...; exit code 1" },
};

static void what_pytorch_wrote_is_said_in_one_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(logs); i++) {
        sw_autofree char *path = sw_format("%s/%s.log", LOGS, logs[i].file);
        struct sw_evidence evidence = { .state = SW_ERROR, .reason = "exit", .exit_code = logs[i].exit_code,
                                        .failed_replica = logs[i].failed_replica };

        evidence.log_tail = sw_file_read(path, 1 << 20, NULL, NULL);
        assert_non_null(evidence.log_tail);
        expect(logs[i].file, &evidence, logs[i].cause, logs[i].rule, logs[i].headline);
        sw_evidence_done(&evidence);
    }
}

static const struct {
    const char *log, *reason, *message;
    int exit_code, signal;
    const char *cause, *rule, *headline;
} ends[] = {
    { "terminate called after throwing an instance of 'std::out_of_range'\n  what():  "
      "vector::_M_range_check\n",
      "signal", "", 134, SIGABRT, "user", "signal-abrt",
      "std::out_of_range: vector::_M_range_check; signal 6" },
    { "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 "
      "[running]:\nmain.main()\n", "exit",
      "", 2, 0, "unknown", "exit-2", "panic: runtime error: index out of range [5] with length 3; exit code "
                                     "2" },
    { "thread 'main' panicked at src/main.rs:2:5:\nno such shard\nnote: run with `RUST_BACKTRACE=1`\n",
        "exit", "",
      101, 0, "unknown", "", "thread 'main' panicked at src/main.rs:2:5: no such shard; exit code 101" },
    { "sh: 1: nosuchcmd: not found\n", "exit", "exited with code 127", 127, 0, "user", "command-missing",
      "sh: 1: nosuchcmd: not found; exit code 127" },
    { "slipway: cannot start 'nosuchcmd': No such file or directory\n", "exit",
      "cannot start 'nosuchcmd': No such file or directory", 127, 0, "user", "command-missing",
      "cannot start 'nosuchcmd': No such file or directory; exit code 127" },
    { "Traceback (most recent call last):\n  File \"t.py\", line 2, in <module>\n    assert x == y\n"
      "           ^^^^^^\nAssertionError\n", "exit", "", 1, 0, "user", "python",
      "AssertionError at `assert x == y`; exit code 1" },
    { "Traceback (most recent call last):\n  File \"t.py\", line 2, in <module>\nmy.pkg.Oops: the vase "
      "fell\n", "exit",
      "", 1, 0, "unknown", "", "my.pkg.Oops: the vase fell; exit code 1" },
    { "Traceback (most recent call last):\n  File \"d.py\", line 1\nKeyError: 'cache'\nno "
      "cache\n1\n2\n3\n4\n5\n6\n7\n8\n"
      "9\n10\n11\n12\n", "signal", "ended by signal 9 (Killed)", 137, SIGKILL, "user", "python",
      "ended by signal 9 (Killed)" },
    { "", "exit", "exited with code 3", 3, 0, "unknown", "",
      "exited with code 3; the job wrote nothing to its log" },
    { NULL, "exit", "exited with code 3", 3, 0, "unknown", "", "exited with code 3" },
    { "KeyError: 'x'\n", "time", "it reached its time limit", 124, 0, "time", "reason-time",
      "it reached its time limit" },
    { "12%|#  | 12/100 [00:01<00:07, 11.9it/s]\nloss is nan, stopping\n47%|##  | 47/100 [00:04<00:05, "
      "9.9it/s]\n",
      "exit", "", 1, 0, "user", "loss-nan", "loss is nan, stopping; exit code 1" },
    { "Epoch 1\nsrun: error: n1: task 0: Exited with exit code 4\n", "exit", "exit code 4", 4, 0,
        "unknown", "",
      "exit code 4" },
};

static void other_ends_are_said_as_well(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(ends); i++) {
        struct sw_evidence evidence = { .state = SW_ERROR, .exit_code = ends[i].exit_code,
                                        .signal = ends[i].signal, .failed_replica = -1 };

        strcpy(evidence.reason, ends[i].reason);
        strcpy(evidence.message, ends[i].message);
        evidence.log_tail = sw_strdup(ends[i].log);
        expect(ends[i].headline, &evidence, ends[i].cause, ends[i].rule, ends[i].headline);
        sw_evidence_done(&evidence);
    }
}

/* The store keeps the headline as the message; the next verdict is made from it. */
static void a_headline_is_not_repeated_by_the_evidence(void **state)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "exit", .exit_code = 1, .failed_replica = 0,
                                    .message = "ValueError: no; rank 0, exit code 1" };
    sw_auto(json) json_t *verdict = NULL;
    sw_autofree char *said = NULL;
    const json_t *lines;
    bool from_log;

    (void)state;
    evidence.log_tail = sw_strdup("Epoch 1\nTraceback (most recent call last):\n  File \"t.py\", line "
                                  "2\nValueError: no\n"
                                  "srun: error: n1: task 0: Exited with exit code 1\n");
    verdict = sw_diagnose(&evidence);
    said = sw_diagnose_headline(&evidence, verdict, &from_log);
    assert_string_equal(said, "ValueError: no; rank 0, exit code 1");
    evidence.log_tail[0] = '\0';
    free(sw_take(said));
    said = sw_diagnose_headline(&evidence, verdict, &from_log);
    assert_true(sw_text_starts(said, "ValueError: no; rank 0, exit code 1"));
    sw_evidence_done(&evidence);
    lines = json_object_get(verdict, "evidence");
    assert_int_equal(json_array_size(lines), 3);
    assert_string_equal(json_string_value(json_array_get(lines, 0)), "exit code 1");
    assert_string_equal(json_string_value(json_array_get(lines, 2)), "ValueError: no");
}

static void srun_and_bars_are_no_last_words(void **state)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "exit", .exit_code = 4, .failed_replica =
        -1 };
    sw_auto(json) json_t *verdict = NULL;
    sw_autofree char *lines = NULL;

    (void)state;
    evidence.log_tail = sw_strdup("the disk of the moon is full\n"
                                  " 47%|####7     | 47/100 [00:04<00:05,  9.98it/s]\n"
                                  "srun: error: n1: task 0: Exited with exit code 4\n"
                                  "srun: Terminating StepId=12.0\n");
    verdict = sw_diagnose(&evidence);
    lines = json_dumps(json_object_get(verdict, "evidence"), 0);
    assert_non_null(strstr(lines, "the moon"));
    assert_null(strstr(lines, "srun"));
    assert_null(strstr(lines, "47%"));
    sw_evidence_done(&evidence);
}

static void a_task_of_an_array_is_no_rank(void **state)
{
    struct sw_evidence evidence = { .state = SW_ERROR, .reason = "exit", .exit_code = 1,
                                    .failed_replica = 7 };

    (void)state;
    evidence.facts = json_pack("{s:b, s:i}", "array", 1, "nodes", 1);
    evidence.log_tail = sw_strdup("ValueError: no\n");
    expect("array", &evidence, "user", "python", "ValueError: no; task 7, exit code 1");
    sw_evidence_done(&evidence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_pytorch_wrote_is_said_in_one_sentence),
        cmocka_unit_test(other_ends_are_said_as_well),
        cmocka_unit_test(a_headline_is_not_repeated_by_the_evidence),
        cmocka_unit_test(a_task_of_an_array_is_no_rank),
        cmocka_unit_test(srun_and_bars_are_no_last_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
