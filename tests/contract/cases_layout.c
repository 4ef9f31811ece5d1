/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases_layout.c - one layout of results everywhere (docs/use/results.md): what `get` brings of the same job
 * is the same list of files, and nothing but what the job wrote as its results is in it. And what a log says
 * of its lines.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cases.h"

enum { MOST_FILES = 64 };

struct listing {
    char *names[MOST_FILES];
    size_t count;
};

static void add_files(struct listing *list, const char *top, const char *below)
{
    sw_autofree char *folder = sw_format("%s/%s", top, below);
    DIR *entries = opendir(folder);
    struct dirent *entry;

    while (entries && (entry = readdir(entries)) != NULL) {
        sw_autofree char *name = sw_format("%s%s%s", below, *below ? "/" : "", entry->d_name);
        sw_autofree char *path = sw_format("%s/%s", top, name);
        struct stat info;

        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (lstat(path, &info) == 0 && S_ISDIR(info.st_mode))
            add_files(list, top, name);
        else if (list->count < MOST_FILES)
            list->names[list->count++] = sw_take(name);
    }
    if (entries)
        closedir(entries);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files that `get` brings, one after another with a space behind each; owned. */
static char *brought(struct trial *here, const char *job)
{
    sw_autofree char *home = path_in(here, "brought");
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct listing list = { 0 };
    struct sw_error err = { 0 };
    char *text = sw_get_results(here->session, job, home, &err);

    if (!text)
        fail_msg("get: %s", err.message);
    sw_text_free(text);
    add_files(&list, home, "");
    qsort(list.names, list.count, sizeof *list.names, by_name);
    for (size_t i = 0; i < list.count; i++) {
        sw_buf_addf(&out, "%s ", list.names[i]);
        free(list.names[i]);
    }
    return sw_strdup(sw_buf_text(&out));
}

static const char *send_yaml(struct trial *here, const char *text)
{
    struct sw_request *made = sw_request_new();
    struct sw_error err = { 0 };

    expect_ok(sw_request_text(made, text, strlen(text), "yaml", "layout.yaml", &err), &err,
              "job file");
    set_common(here, made);
    set(made, "secrets", CANARY_NAME);
    return send_request(here, made);
}

static void expect_success(struct trial *here, const char *job)
{
    if (wait_until_over(here, job) != 0) {
        struct log log = read_log(here, job, -1, false);

        fail_msg("the job failed: %s", log.bytes ? log.bytes : "");
    }
}

/* A job with everything: code, config, results by both names, an output of another name; the input
 * where the platform takes one from here. */
static void expect_layout(struct trial *here, const char *inputs, const char *reads)
{
    sw_autofree char *code = path_in(here, "code"), *file = sw_format("%s/code.txt", code);
    sw_autofree char *text = sw_format(
        "name: layout\n"
        "command: |\n"
        "  cat code.txt >/results/from-code && test -s {config_path} && %s\n"
        "  echo m >{results_dir}/model.bin && mkdir -p /out/model && echo w >/out/model/weights\n"
        "code: {root: '%s'}\n"
        "config: {epochs: 3}\n"
        "outputs: [/results, /out/model]\n%s", reads, code, inputs);
    sw_autofree char *found = NULL;
    const char *job;

    assert_int_equal(sw_mkdirs(code, 0755, NULL), 0);
    write_text(file, "code\n");
    job = send_yaml(here, text);
    expect_success(here, job);
    found = brought(here, job);
    assert_string_equal(found, "from-code model.bin model/weights ");
}

static void results_are_what_the_job_wrote_and_nothing_else(void **state)
{
    expect_layout(*state, "", "true &&");
}

static void a_fetched_input_is_no_result(void **state)
{
    struct trial *here = *state;
    sw_autofree char *input = path_in(here, "input.txt");
    sw_autofree char *inputs = sw_format("inputs: {/data/in.txt: '%s'}\n", input);

    write_text(input, "in\n");
    expect_layout(here, inputs, "test -s /data/in.txt &&");
}

static void results_of_a_container_need_no_declaration(void **state)
{
    struct trial *here = *state;
    const char *job = launch_shell(here, "echo a >/results/a && echo b >{results_dir}/b && "
                                   "test -s /results/b && test -s \"$SLIPWAY_RESULTS_DIR/a\"");
    sw_autofree char *found = NULL;

    expect_success(here, job);
    found = brought(here, job);
    assert_string_equal(found, "a b ");
}

/* Without a container it needs to be named in the file: here by the checkpoint alone. */
static void results_are_at_their_place_wherever_the_job_file_names_it(void **state)
{
    struct trial *here = *state;
    sw_autofree char *found = NULL;
    const char *job = send_yaml(here,
        "name: layout\n"
        "command: mkdir -p /results/ckpt && echo s >/results/ckpt/step && echo $HERE >/results/here && "
        "test \"$HERE\" = {results_dir}/sub\n"
        "env: {HERE: /results/sub}\n"
        "checkpoint: {dir: /results/ckpt}\n");

    expect_success(here, job);
    found = brought(here, job);
    assert_string_equal(found, "ckpt/step here ");
}

struct span {
    int64_t from_ms, to_ms;
    int pieces, timeless;
};

static int check_time(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    struct span *span = context;

    (void)replica, (void)bytes, (void)length;
    span->pieces++;
    span->timeless += at_ms < span->from_ms || at_ms > span->to_ms;
    return 0;
}

/* True to five seconds where that is all that is known, so as much is allowed around it. */
static void lines_of_a_log_have_the_time_they_were_written_at(void **state)
{
    struct trial *here = *state;
    struct span span = { .from_ms = sw_now_ms() - 5000 };
    const struct sw_log_options options = { .size = sizeof options, .replica = -1, .tail_lines = -1,
                                            .times = true };
    const char *job = launch_shell(here, "echo one; sleep 1; echo two");
    struct sw_error err = { 0 };

    expect_success(here, job);
    span.to_ms = sw_now_ms() + 5000;
    expect_ok(sw_logs(here->session, job, &options, check_time, &span, &err), &err, "logs");
    assert_true(span.pieces > 0);
    assert_int_equal(span.timeless, 0);
}

const struct contract_case cases_layout[] = {
    CLAIM(lines_of_a_log_have_the_time_they_were_written_at, COMMANDS | TIMES),
    CLAIM(results_are_what_the_job_wrote_and_nothing_else, COMMANDS | RESULTS),
    CLAIM(a_fetched_input_is_no_result, COMMANDS | OWN_FILES),
    CLAIM(results_of_a_container_need_no_declaration, COMMANDS | OWN_ROOT | RESULTS),
    CLAIM(results_are_at_their_place_wherever_the_job_file_names_it, COMMANDS | RESULTS),
    { 0 }
};
