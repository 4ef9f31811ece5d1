/* SPDX-License-Identifier: Apache-2.0 */
/* test_slurm_mounts.c - mounts on a cluster: staged once for each commit, or the submit stops. */
#include "shell.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "plan/mounts.h"
#include "platform/slurm/slurm_internal.h"

/* A bare repository with a branch, a tag that is an object of its own, and a commit behind both. */
static const char make_repository[] =
    "export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b\n"
    "export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"
    "cd $HERE && git init -q -b main made && cd made && echo one > file && git add file &&\n"
    "git commit -qm one && git rev-parse HEAD > ../one && git tag -a -m t v1 &&\n"
    "git checkout -q -b feature/x && echo x > file && git commit -qam x && git rev-parse HEAD > ../x &&\n"
    "git checkout -q main && echo two > file && git commit -qam two && git rev-parse HEAD > ../two &&\n"
    "git clone -q --bare . ../code.git\n";

static char *text_for(const struct stage *stage, const char *list, bool check)
{
    sw_autofree char *file = stage_path(stage, "meta/j.mounts");
    sw_auto(json) json_t *entries = json_loads(list, 0, NULL);
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const struct sw_plan plan = { .mounts = entries };
    const struct slurm_job job = { .plan = &plan, .options.check = check,
        .names = { .base = (char *)stage->folder, .mounts = file } };

    assert_int_equal(slurm_mounts_script(&out, &job, NULL), 0);
    return sw_strdup(strchr(sw_buf_text(&out), '\n') + 1);       /* the first line ends a second attempt */
}

static char *one_repository(const struct stage *stage, const char *ref)
{
    sw_autofree char *list = sw_format("[\"git+file://%s/code.git@%s:/opt/code\"]", stage->folder, ref);

    return text_for(stage, list, true);
}

static char *word(const struct stage *stage, const char *name)
{
    char *text = stage_read(stage, name);

    text[strcspn(text, "\n")] = '\0';
    return text;
}

static void a_ref_is_one_commit_and_its_files_are_there(void **state)
{
    static const struct { const char *ref, *commit, *content; } rows[] = {
        { "main", "two", "two\n" }, { "v1", "one", "one\n" }, { "feature/x", "x", "x\n" },
        { "HEAD", "two", "two\n" }, { "refs/heads/main", "two", "two\n" },
    };
    struct stage *stage = *state;

    assert_int_equal(stage_run(stage, "sh", "repository", make_repository), 0);
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *text = one_repository(stage, rows[i].ref);
        sw_autofree char *commit = word(stage, rows[i].commit), *list = NULL, *clone = NULL;
        sw_autofree char *content = NULL;

        if (stage_run(stage, stage_shells[i % 2], "stage", text) != 0)
            fail_msg("%s: see the script's words", rows[i].ref);
        list = word(stage, "meta/j.mounts");
        assert_non_null(strstr(list, commit));
        assert_non_null(strstr(list, ":/opt/code:ro"));
        list[strcspn(list, ":")] = '\0';
        clone = sw_format("%s/file", list + strlen(stage->folder) + 1);
        content = stage_read(stage, clone);
        assert_string_equal(content, rows[i].content);
    }
}

static void ten_submits_clone_once(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = one_repository(stage, "main"), *real = NULL, *program = NULL;
    pid_t jobs[10];

    assert_int_equal(stage_run(stage, "sh", "repository", make_repository), 0);
    assert_int_equal(stage_run(stage, "sh", "which", "command -v git"), 0);
    real = word(stage, "which.out");
    program = sw_format("case \" $* \" in *' fetch '*) echo x >> $HERE/fetches; sleep 1;; esac\n"
                        "exec %s \"$@\"\n", real);
    stage_program(stage, "git", program);
    for (int i = 0; i < 10; i++) {
        sw_autofree char *name = sw_format("job%d", i);

        jobs[i] = stage_start(stage, stage_shells[i % 2], name, text);
    }
    for (int i = 0; i < 10; i++)
        assert_int_equal(stage_wait(stage, jobs[i]), 0);
    assert_int_equal(stage_lines(stage, "fetches"), 1);
}

static void a_commit_that_is_there_needs_no_network(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = NULL, *commit = NULL, *list = NULL;

    assert_int_equal(stage_run(stage, "sh", "repository", make_repository), 0);
    commit = word(stage, "one");
    text = one_repository(stage, commit);
    assert_int_equal(stage_run(stage, "dash", "first", text), 0);
    assert_int_equal(stage_run(stage, "sh", "gone", "rm -rf $HERE/code.git $HERE/meta"), 0);
    assert_int_equal(stage_run(stage, "bash", "second", text), 0);
    list = word(stage, "meta/j.mounts");
    assert_non_null(strstr(list, commit));
}

static void what_cannot_be_had_stops_the_submit(void **state)
{
    static const struct { const char *entry, *says; } rows[] = {
        { "git+file://%s/code.git@nosuch:/opt", "no branch or tag 'nosuch'" },
        { "git+file://%s/code.git@0123abc:/opt", "written whole" },
        { "git+file://%s/other.git@main:/opt", "does not appear to be a git repository" },
        { "git+file://%s/code.git@0123456789012345678901234567890123456789:/opt", "could not be made" },
        { "%s/nosuch:/opt", "no such path" },
    };
    struct stage *stage = *state;

    assert_int_equal(stage_run(stage, "sh", "repository", make_repository), 0);
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *list = json_pack("[o]", json_sprintf(rows[i].entry, stage->folder));
        sw_autofree char *entries = json_dumps(list, 0), *name = sw_format("bad%zu", i);
        sw_autofree char *file = sw_format("%s.err", name), *said = NULL;
        sw_autofree char *text = text_for(stage, entries, true);

        assert_int_equal(stage_run(stage, stage_shells[i % 2], name, text), 66);
        said = stage_read(stage, file);
        if (!strstr(said, rows[i].says))
            fail_msg("%s: %s", rows[i].entry, said);
    }
    assert_int_equal(stage_run(stage, "sh", "left", "ls $HERE/git | grep part; [ ! -e $HERE/meta ]"), 0);
    assert_int_equal(stage_lines(stage, "left.out"), 0);
}

static void folders_are_listed_as_they_were_said(void **state)
{
    struct stage *stage = *state;
    sw_autofree char *text = text_for(stage, "[\"/tmp:/scratch\", \"/nosuch:/data:ro+rprivate\"]", false);
    sw_autofree char *list = NULL;

    assert_int_equal(stage_run(stage, "dash", "stage", text), 0);
    list = stage_read(stage, "meta/j.mounts");
    assert_string_equal(list, "/tmp:/scratch,/nosuch:/data:ro+rprivate\n");
}

static void a_path_of_the_client_is_refused(void **state)
{
    sw_auto(json) json_t *list = json_pack("[s]", "./data:/data");
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_mounts_parse(list, &mounts, NULL), 0);
    assert_int_equal(slurm_mounts_check(&mounts, &err), -1);
    assert_non_null(strstr(err.message, "not of the cluster"));
}

static void the_texts_are_as_reviewed(void **state)
{
    sw_auto(json) json_t *list = json_pack("[s, s, s]", "/lustre/coco:/data:ro",
        "git+https://git.example.org/team/code.git@v1.2:/opt/code",
        "git+ssh://git@git.example.org/team/lib@0123456789012345678901234567890123456789:/opt/lib:rw");
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const struct sw_plan plan = { .mounts = list };
    const struct slurm_job job = { .plan = &plan, .options.check = true,
        .names = { .base = (char *)"/lustre/me", .mounts = (char *)"/lustre/me/meta/j.mounts" } };

    (void)state;
    assert_int_equal(slurm_mounts_script(&out, &job, NULL), 0);
    expect_golden("mounts.sh", sw_buf_text(&out));
    sw_buf_clear(&out);
    assert_int_equal(slurm_mounts_shown(&out, &job, NULL), 0);
    expect_golden("mounts.txt", sw_buf_text(&out));
}

int main(void)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, stage_set, stage_clear)
    const struct CMUnitTest tests[] = {
        STAGED(a_ref_is_one_commit_and_its_files_are_there),
        STAGED(ten_submits_clone_once),
        STAGED(a_commit_that_is_there_needs_no_network),
        STAGED(what_cannot_be_had_stops_the_submit),
        STAGED(folders_are_listed_as_they_were_said),
        cmocka_unit_test(a_path_of_the_client_is_refused),
        cmocka_unit_test(the_texts_are_as_reviewed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
