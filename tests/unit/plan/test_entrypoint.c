/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_entrypoint.c - what reaches a container as shell text, kept as golden files and run by every
 * shell an image may have.
 *
 * The files are in golden/; after an intended change GOLDEN_UPDATE=1 writes them anew, and the
 * difference is reviewed like code. The runner inside is a small stand-in that says what it got.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "plan/entrypoint.h"

#define RUNNER "#!/bin/sh\n"                                                    \
               "[ $# -gt 0 ] || exit 64\n"                                      \
               "echo \"$1 $2 $(cat \"$4\")\" > got\n"                           \
               "[ ! -f \"$3/code.tar.gz\" ] || gzip -dc \"$3/code.tar.gz\" > code\n" \
               "rm -rf \"$3\"\n"                                                \
               "exit 3\n"

static const char *const shells[][2] = { { "dash", NULL }, { "busybox", "sh" }, { "bash", NULL } };

static void expect_golden(const char *name, const struct sw_buf *text)
{
    sw_autofree char *path = sw_path_join(getenv("GOLDEN_DIR"), name), *kept = NULL;
    size_t length = 0;

    if (getenv("GOLDEN_UPDATE"))
        assert_int_equal(sw_file_write(path, text->data, text->length, 0644, NULL), 0);
    kept = sw_file_read(path, 1 << 20, &length, NULL);
    if (!kept || length != text->length || memcmp(kept, text->data, length) != 0)
        fail_msg("%s has changed; GOLDEN_UPDATE=1 writes it anew. It is now:\n%s", name,
                 sw_buf_text(text));
}

static struct sw_payload *payload_of(const char *job)
{
    struct sw_spec spec = { .platform = (char *)"docker", .job = json_loads(job, 0, NULL),
                            .options = json_object(), .sources = json_object() };
    struct sw_error err = { 0 };
    sw_auto(sw_plan) struct sw_plan *plan = sw_plan_make(&spec, "golden-aaaaaaaa", "/base", &err);
    struct sw_payload *payload = plan ? sw_entrypoint_payload(plan, &err) : NULL;

    json_decref(spec.job);
    json_decref(spec.options);
    json_decref(spec.sources);
    if (!payload)
        fail_msg("%s", err.message);
    return payload;
}

/* Three modes, everything in them that a job file can say. */
static const struct {
    const char *name, *job;
} jobs[] = {
    { "config",
      "{\"command\":\"train -e {config_path}\",\"gpus\":\"2\",\"grace\":\"30s\",\"env\":{\"A\":\"it's\"},"
      "\"secrets\":[\"HF_TOKEN\"],\"config\":{\"data\":{\"ann\":\"s3://b/a.json\",\"img\":\"s3://b/i/\"}},"
      "\"config_format\":\"toml\",\"config_inputs\":{\"data.ann\":{},\"data.img\":{\"container_path\":"
      "\"/i\",\"selective\":{\"annotation\":\"data.ann\",\"keys\":[\"f\"]}}},\"config_outputs\":"
      "{\"train.results_dir\":{\"type\":\"folder\",\"every\":\"10m\",\"exclude\":[\"*.tmp\"]}},"
      "\"cache\":\"/mnt\",\"checkpoint\":{\"dir\":\"/results/ckpt\",\"resume\":\"auto\"}}" },
    { "args",
      "{\"argv\":[\"python\",\"t.py\"],\"args\":{\"data\":\"s3://b/d/\",\"lr\":0.1},\"flags\":[\"amp\"],"
      "\"config_inputs\":{\"data\":{}},\"code\":{\"root\":\".\"}}" },
    { "passthrough",
      "{\"command\":\"awk '{print}' /data/x > /results/y\",\"inputs\":{\"/data/x\":{\"from\":\"s3://b/x\","
      "\"extract\":false}},\"outputs\":{\"/results\":{\"to\":\"s3://b/runs/{id}/\",\"every\":\"5m\"}}}" },
};

static void the_payload_and_its_description_are_as_reviewed(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(jobs); i++) {
        sw_auto(sw_payload) struct sw_payload *payload = payload_of(jobs[i].job);
        sw_auto(json) json_t *letter = sw_payload_to_json(payload);
        sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
        sw_autofree char *json = sw_json_dump_pretty(letter);
        sw_autofree char *name = sw_format("letter-%s.txt", jobs[i].name);

        sw_entrypoint_describe(&text, payload);
        sw_buf_addf(&text, "\n%s\n", json);
        expect_golden(name, &text);
    }
}

static void make_script(struct sw_buf *out, const struct sw_bundle *code)
{
    const struct sw_runner_bytes runners[] = {
        { "x86_64", RUNNER, strlen(RUNNER) }, { "aarch64", RUNNER, strlen(RUNNER) },
    };
    sw_auto(sw_payload) struct sw_payload *payload = payload_of(jobs[code ? 1 : 2].job);
    sw_auto(sw_buf) struct sw_buf ca = SW_BUF_INIT;

    sw_buf_add(&ca, "a certificate\n");
    if (code)                                    /* with all that can travel in it */
        payload->ca = sw_strdup(SW_PAYLOAD_CA);
    sw_entrypoint_script(out, payload, runners, SW_COUNT(runners), code, &ca);
}

static void the_script_is_as_reviewed(void **state)
{
    sw_auto(sw_buf) struct sw_buf plain = SW_BUF_INIT, coded = SW_BUF_INIT, packed = SW_BUF_INIT;
    struct sw_bundle code = { .hash = "0" };

    (void)state;
    sw_gzip("the code", 8, &packed);
    code.bytes = packed.data;
    code.length = packed.length;
    make_script(&plain, NULL);
    make_script(&coded, &code);
    expect_golden("script.sh", &plain);
    expect_golden("script-with-code.sh", &coded);
}

/* In a folder of its own, with a file `job.sh`. Returns the exit status. */
static int run(const char *const shell[2], const char *folder)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        if (chdir(folder) < 0)
            _exit(99);
        setenv("SLIPWAY_TMP", folder, 1);
        if (shell[1])
            execlp(shell[0], shell[0], shell[1], "job.sh", (char *)NULL);
        execlp(shell[0], shell[0], "job.sh", (char *)NULL);
        _exit(99);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool has_program(const char *name)
{
    sw_autofree char *line = sw_format("command -v %s > /dev/null", name);

    return system(line) == 0;
}

static void expect_file(const char *folder, const char *name, const char *begins)
{
    sw_autofree char *path = sw_path_join(folder, name), *text = sw_file_read(path, 1 << 20, NULL, NULL);

    assert_non_null(text);
    if (strncmp(text, begins, strlen(begins)) != 0)
        fail_msg("%s: %s", name, text);
    unlink(path);
}

static void the_script_runs_in_every_shell(void **state)
{
    char folder[] = "/tmp/slipway-script-XXXXXX";
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT, packed = SW_BUF_INIT;
    struct sw_bundle code = { .hash = "0" };
    sw_autofree char *script = NULL;

    (void)state;
    assert_non_null(mkdtemp(folder));
    script = sw_path_join(folder, "job.sh");
    sw_gzip("the code", 8, &packed);
    code.bytes = packed.data;
    code.length = packed.length;
    make_script(&text, &code);
    assert_int_equal(sw_file_write(script, text.data, text.length, 0644, NULL), 0);
    for (size_t i = 0; i < SW_COUNT(shells); i++) {
        if (!has_program(shells[i][0]))
            continue;
        assert_int_equal(run(shells[i], folder), 3);
        expect_file(folder, "got", "all --cleanup {\"version\":2,\"job_id\":\"golden-aaaaaaaa\"");
        expect_file(folder, "code", "the code");
        unlink(script);
        assert_int_equal(rmdir(folder), 0);            /* nothing else was left there */
        assert_int_equal(mkdir(folder, 0700), 0);
        assert_int_equal(sw_file_write(script, text.data, text.length, 0644, NULL), 0);
    }
    sw_remove_tree(folder, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_payload_and_its_description_are_as_reviewed),
        cmocka_unit_test(the_script_is_as_reviewed),
        cmocka_unit_test(the_script_runs_in_every_shell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
