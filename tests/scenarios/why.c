/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why.c - `why SLIPWAY`: real failures of real programs on local, and what `why` says of each.
 *
 * The rules have their samples in tests/unit/diagnose; here the words come from the programs
 * themselves, through supervisor, log, evidence and rules, to the command line.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stage.h"

static int begin(void **state)
{
    return stage_begin(&fixture_local, state);
}

struct expected {
    const char *cause, *err_class;
    const char *suggests;        /* words of the suggestion */
    const char *shows;           /* words of an evidence line; NULL: none are needed */
};

static bool evidence_shows(const json_t *said, const char *words)
{
    const json_t *lines = json_object_get(said, "evidence");
    json_t *line;
    size_t i;

    json_array_foreach(lines, i, line)
        if (strstr(json_string_value(line) ? json_string_value(line) : "", words))
            return true;
    return false;
}

static void expect_told(struct trial *here, const char *job, const struct expected *expected)
{
    sw_auto(json) json_t *said = NULL;
    char *out = NULL;

    wait_until_over(here, job);
    said = why(here, job);
    assert_string_equal(text_of(said, "cause"), expected->cause);
    assert_string_equal(text_of(said, "err_class"), expected->err_class);
    expect_has(text_of(said, "suggestion"), expected->suggests);
    assert_string_not_equal(text_of(said, "headline"), "");
    assert_null(strchr(text_of(said, "headline"), '\n'));
    if (expected->shows && !evidence_shows(said, expected->shows)) {
        sw_autofree char *all = json_dumps(said, JSON_INDENT(1));

        fail_msg("no evidence line has '%s': %s", expected->shows, all);
    }
    assert_int_equal(slipway(here, &out, "why", job, NULL), 0);
    expect_has(out, expected->suggests);
    free(out);
}

static void a_module_that_is_missing_is_named(void **state)
{
    struct trial *here = *state;

    if (system("command -v python3 >/dev/null") != 0)
        skip();
    expect_told(here, launch_shell(here, "python3 -c 'import no_such_module_of_ours'"),
                &(struct expected){ "user", "ERR_PROGRAM", "module",
                                    "No module named 'no_such_module_of_ours'" });
}

static void a_file_that_is_missing_is_named(void **state)
{
    struct trial *here = *state;

    if (system("command -v python3 >/dev/null") != 0)
        skip();
    expect_told(here, launch_shell(here, "python3 -c 'open(\"/no/such/config.yaml\")'"),
                &(struct expected){ "user", "ERR_PROGRAM", "file", "/no/such/config.yaml" });
}

static void permission_denied_is_reported(void **state)
{
    struct trial *here = *state;
    sw_autofree char *script = path_in(here, "train.sh");

    write_text(script, "#!/bin/sh\nexit 0\n");       /* not executable, for root neither */
    expect_told(here, launch_shell(here, "'%s'", script),
                &(struct expected){ "user", "ERR_PROGRAM", "owner and mode", "ermission denied" });
}

static void a_command_that_does_not_exist_is_reported(void **state)
{
    struct trial *here = *state;

    expect_told(here, launch_shell(here, "no-such-command-of-ours --lr 3"),
                &(struct expected){ "user", "ERR_PROGRAM", "not found",
                                    "no-such-command-of-ours" });
}

static void a_full_disk_is_reported(void **state)
{
    struct trial *here = *state;
    sw_autofree char *disk = path_in(here, "disk");

    /* A namespace of our own: no other process sees the disk, and it goes when we go. */
    if (mkdir(disk, 0700) < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", disk, "tmpfs", 0, "size=1m") < 0) {
        print_message("needs the right to mount a small tmpfs: %s\n", strerror(errno));
        skip();
    }
    expect_told(here, launch_shell(here, "head -c 4M /dev/zero >'%s/checkpoint'", disk),
                &(struct expected){ "storage", "ERR_INFRA", "disk", "No space left" });
}

static int end_without_the_disk(void **state)
{
    sw_autofree char *disk = path_in(*state, "disk");

    umount2(disk, MNT_DETACH);
    return stage_end(state);
}

static void a_program_that_crashes_is_reported(void **state)
{
    struct trial *here = *state;

    expect_told(here, launch_shell(here, "kill -SEGV $$"),
                &(struct expected){ "user", "ERR_PROGRAM", "segmentation", NULL });
}

static void a_job_that_needs_too_much_memory_is_reported(void **state)
{
    struct trial *here = *state;

    expect_told(here, launch(here, EATS_MEMORY, 0),
                &(struct expected){ "memory", "ERR_PROGRAM", "memory:", NULL });
}

/* tests/sim's NVML: the first GPU has 1 MiB in use, always. */
static void the_most_gpu_memory_is_reported_by_why_and_status(void **state)
{
    struct trial *here = *state;
    sw_autofree char *seen = path_in(here, "seen");
    struct sw_request *made = request_shell(
        here, "until [ -e '%s' ]; do sleep 0.1; done\n"
        "echo 'RuntimeError: CUDA out of memory'; exit 1", seen);
    int64_t until = sw_monotonic_ms() + 60000;
    const char *job;
    char *out = NULL;

    if (the_fixture->missing(QUEUE)) {
        print_message("%s\n", the_fixture->missing(QUEUE));
        sw_request_free(made);
        skip();
    }
    set(made, "gpus", "1");
    job = send_request(here, made);
    for (bool looked = false; !looked && sw_monotonic_ms() < until; sw_sleep_ms(100)) {
        sw_auto(json) json_t *now = status(here, job);

        looked = json_array_size(json_object_get(json_object_get(now, "live"), "gpus")) == 1;
    }
    write_text(seen, "");
    expect_told(here, job, &(struct expected){ "memory", "ERR_PROGRAM", "batch",
                                               "its fullest GPU reached 1 MiB" });
    assert_int_equal(slipway(here, &out, "status", job, "-o", "json", NULL), 0);
    {
        sw_auto(json) json_t *card = answer(out);
        const json_t *runner = json_object_get(card, "runner"), *gpu = json_object_get(runner, "gpu");

        assert_int_equal(number_of(gpu, "count"), 1);
        assert_int_equal(number_of(gpu, "memory_peak_bytes"), 1 << 20);
        assert_int_equal(number_of(runner, "exit_code"), 1);
    }
}

static void a_job_past_its_time_is_reported(void **state)
{
    struct trial *here = *state;
    struct sw_request *made = request(here, SLEEPS, 60000);

    set(made, "time", "1s");
    expect_told(here, send_request(here, made),
                &(struct expected){ "time", "ERR_PROGRAM", "time:", NULL });
}

static void what_no_rule_explains_is_unknown_and_says_so(void **state)
{
    struct trial *here = *state;

    expect_told(here, launch_shell(here, "echo all is well; exit 17"),
                &(struct expected){ "unknown", "ERR_PROGRAM", "unrecognised failure", NULL });
}

static void a_user_of_the_words_of_nccl_is_not_taken_for_a_network_failure(void **state)
{
    struct trial *here = *state;

    expect_told(here, launch_shell(here, "echo TORCH_NCCL_ASYNC_ERROR_HANDLING=1; exit 1"),
                &(struct expected){ "unknown", "ERR_PROGRAM", "unrecognised failure", NULL });
}

static void a_job_that_succeeded_has_nothing_to_explain(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "exit 0");
    sw_auto(json) json_t *said = NULL;

    wait_until_over(here, job);
    said = why(here, job);
    assert_string_equal(text_of(said, "status"), "Complete");
    assert_true(json_is_null(json_object_get(said, "cause")) || !*text_of(said, "cause"));
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, begin, stage_end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_module_that_is_missing_is_named),
        CLAIM(a_file_that_is_missing_is_named),
        CLAIM(permission_denied_is_reported),
        CLAIM(a_command_that_does_not_exist_is_reported),
        cmocka_unit_test_setup_teardown(a_full_disk_is_reported, begin, end_without_the_disk),
        CLAIM(a_program_that_crashes_is_reported),
        CLAIM(a_job_that_needs_too_much_memory_is_reported),
        CLAIM(the_most_gpu_memory_is_reported_by_why_and_status),
        CLAIM(a_job_past_its_time_is_reported),
        CLAIM(what_no_rule_explains_is_unknown_and_says_so),
        CLAIM(a_user_of_the_words_of_nccl_is_not_taken_for_a_network_failure),
        CLAIM(a_job_that_succeeded_has_nothing_to_explain),
    };

    if (argc < 2)
        return 64;
    slipway_program = realpath(argv[1], NULL);      /* scenes change the folder */
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests_name("real failures, explained", tests, NULL, NULL);
}
