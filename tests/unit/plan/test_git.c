/* SPDX-License-Identifier: Apache-2.0 */
/* test_git.c - what a repository says about a job, with the real git; and that it starts no program of its
 * own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/text.h"
#include "plan/git.h"

static int enter(void **state)
{
    char *folder = sw_strdup("/tmp/slipway-test-git-XXXXXX");

    *state = mkdtemp(folder);
    setenv("HOME", folder, 1);
    return *state ? 0 : -1;
}

static int leave(void **state)
{
    sw_remove_tree(*state, NULL);
    free(*state);
    return 0;
}

/* Beside the repositories of a test: a folder of state, as a session has one. */
static void look(const char *home, const char *folder, struct sw_git *out)
{
    sw_autofree char *state_dir = sw_path_join(home, "state");

    sw_git_look(folder, state_dir, out);
}

static void sh(const char *folder, const char *text)
{
    sw_autofree char *whole = sw_format(
        "cd '%s' && exec >/dev/null 2>&1 && export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
        "GIT_COMMITTER_NAME=a "
        "GIT_COMMITTER_EMAIL=a@b && %s", folder, text);

    assert_int_equal(system(whole), 0);
}

static char *output_of(const char *folder, const char *command)
{
    sw_autofree char *whole = sw_format("cd '%s' && %s", folder, command);
    FILE *pipe = popen(whole, "re");
    char line[256] = "";

    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    pclose(pipe);
    line[strcspn(line, "\n")] = '\0';
    return sw_strdup(line);
}

static void a_clean_repository_has_commit_and_branch(void **state)
{
    sw_autofree char *commit = NULL, *below = sw_path_join(*state, "r/sub");
    sw_auto(sw_git) struct sw_git git = { 0 };

    sh(*state, "git init -q -b main r && cd r && mkdir sub && echo 1 > sub/a && git add . && git commit -qm "
               "x");
    commit = output_of(below, "git rev-parse HEAD");
    look(*state, below, &git);
    assert_string_equal(git.commit, commit);
    assert_string_equal(git.branch, "main");
    assert_true(git.looked);
    assert_int_equal(git.diff.length, 0);
    assert_int_equal(git.untracked, 0);
    assert_true(sw_text_starts(below, git.root));
}

static void changes_are_shown_and_files_of_credentials_are_not(void **state)
{
    sw_auto(sw_git) struct sw_git git = { 0 };
    sw_autofree char *folder = sw_path_join(*state, "r");

    sh(*state, "git init -q -b main r && cd r && echo 1 > a && echo 1 > .env && echo x > .gitignore && git "
               "add -f . && "
               "git commit -qm x && git pack-refs --all && echo 2 > a && echo canary > .env && touch new x");
    look(*state, folder, &git);
    assert_non_null(git.commit);
    assert_true(git.looked);
    assert_non_null(strstr(git.diff.data, "\n-1\n+2\n"));
    assert_null(strstr(git.diff.data, "canary"));
    assert_int_equal(git.untracked, 1);
    assert_false(git.cut);
}

/* A path stands for a folder of that name, too, and a name may look like a pattern. */
static void credentials_stay_out_whatever_files_are_called(void **state)
{
    sw_auto(sw_git) struct sw_git git = { 0 };
    sw_autofree char *folder = sw_path_join(*state, "r");

    sh(*state, "git init -q r && cd r && echo 1 > was && echo 1 > '*' && echo 1 > Server.KEY &&"
               " mkdir .AWS && echo 1 > .AWS/config && echo 1 > 'a\nb' && git add . &&"
               " git commit -qm x && rm was && mkdir was && echo canary > was/.env && git add was &&"
               " echo seen > '*' && echo canary > Server.KEY && echo canary > .AWS/config &&"
               " echo also > 'a\nb'");
    look(*state, folder, &git);
    assert_true(git.looked && !git.cut);
    assert_non_null(strstr(git.diff.data, "\n+seen\n"));
    assert_non_null(strstr(git.diff.data, "\n+also\n"));
    assert_null(strstr(git.diff.data, "canary"));
}

static void of_very_many_changed_files_the_first_are_shown(void **state)
{
    sw_auto(sw_git) struct sw_git git = { 0 };
    sw_autofree char *folder = sw_path_join(*state, "r");

    sh(*state, "git init -q r && cd r && seq 1001 2500 | xargs touch && git add . && git commit -qm x &&"
               " for i in $(seq 1001 2500); do echo $i > $i; done");
    look(*state, folder, &git);
    assert_true(git.looked && git.cut);
    assert_non_null(strstr(git.diff.data, "\n+2000\n"));
    assert_null(strstr(git.diff.data, "\n+2001\n"));
}

static void a_long_diff_is_cut_after_a_whole_line(void **state)
{
    sw_auto(sw_git) struct sw_git git = { 0 };
    sw_autofree char *folder = sw_path_join(*state, "r");

    sh(*state, "git init -q r && cd r && echo 1 > a && git add . && git commit -qm x && seq 1 1500000 > a");
    look(*state, folder, &git);
    assert_true(git.looked && git.cut);
    assert_in_range(git.diff.length, SW_GIT_DIFF_MAX - 16, SW_GIT_DIFF_MAX);
    assert_int_equal(git.diff.data[git.diff.length - 1], '\n');
}

static void a_repository_starts_no_program_of_its_own(void **state)
{
    sw_auto(sw_git) struct sw_git git = { 0 };
    sw_autofree char *folder = sw_path_join(*state, "r"), *mark = sw_path_join(*state, "ran");

    sh(*state, "git init -q r && cd r && echo 1 > a && git add . && git commit -qm x && echo '* filter=f "
               "diff=d' > .gitattributes && "
               "git config filter.f.clean 'touch ../ran; cat' && git config filter.f.smudge 'touch ../ran; "
               "cat' && "
               "git config filter.f.process 'touch ../ran' && git config diff.d.textconv 'touch ../ran; "
               "cat' && "
               "git config diff.d.command 'touch ../ran' && git config core.fsmonitor 'touch ../ran' && "
               "git config core.pager 'touch ../ran' && git config diff.external 'touch ../ran' && sleep "
               "0.01 && echo 2 > a");
    look(*state, folder, &git);
    assert_true(git.looked);
    assert_true(git.diff.length > 0);
    assert_false(sw_file_exists(mark));
}

/* git asks a submodule for its own changes with another git, which reads the submodule's configuration. */
static void a_submodule_starts_no_program_of_its_own(void **state)
{
    sw_auto(sw_git) struct sw_git git = { 0 };
    sw_autofree char *folder = sw_path_join(*state, "r"), *mark = sw_path_join(*state, "ran");

    sh(*state, "git init -q r && cd r && git init -q sub && cd sub && echo 1 > a && git add . && git commit "
               "-qm x && "
               "git config core.fsmonitor 'touch ../../ran; false' && echo 2 > a && cd .. && echo 1 > b && "
               "git -c core.fsmonitor= add b sub && git commit -qm x && rm -f ../ran && echo 2 > b");
    look(*state, folder, &git);
    assert_true(git.looked && git.diff.length > 0);
    assert_false(sw_file_exists(mark));
}

/* What the user's shell says to git is not said to ours; a file that only this clone ignores is none of
 * the job's. */
static void variables_of_git_and_excluded_files_change_nothing(void **state)
{
    sw_auto(sw_git) struct sw_git git = { 0 };
    sw_autofree char *folder = sw_path_join(*state, "r");

    sh(*state, "git init -q -b main r && cd r && echo 1 > a && echo 1 > id_rsa && git add . && git commit "
               "-qm x && "
               "echo 2 > a && echo canary > id_rsa && touch mine && echo mine > .git/info/exclude");
    setenv("GIT_LITERAL_PATHSPECS", "1", 1);
    setenv("GIT_DIR", "/nonexistent", 1);
    look(*state, folder, &git);
    unsetenv("GIT_LITERAL_PATHSPECS");
    unsetenv("GIT_DIR");
    assert_true(git.looked);
    assert_non_null(strstr(git.diff.data, "+2\n"));
    assert_null(strstr(git.diff.data, "canary"));
    assert_int_equal(git.untracked, 0);
}

static void without_a_repository_nothing_is_made_or_started(void **state)
{
    sw_auto(sw_git) struct sw_git git = { 0 };
    sw_autofree char *state_dir = sw_path_join(*state, "state");

    look(*state, *state, &git);
    assert_null(git.root);
    assert_false(sw_file_exists(state_dir));
}

static void work_trees_and_detached_heads_are_found(void **state)
{
    sw_auto(sw_git) struct sw_git git = { 0 }, other = { 0 };
    sw_autofree char *folder = sw_path_join(*state, "w"), *first = sw_path_join(*state, "r");

    sh(*state, "git init -q -b main r && cd r && echo 1 > a && git add . && git commit -qm x && "
               "git worktree add -q -b side ../w && git checkout -q --detach && echo 2 > ../w/a");
    look(*state, folder, &git);
    assert_string_equal(git.branch, "side");
    assert_true(git.looked && git.diff.length > 0);
    look(*state, first, &other);
    assert_null(other.branch);
    assert_string_equal(other.commit, git.commit);
    assert_int_equal(other.diff.length, 0);
}

static void without_a_repository_or_a_commit_there_is_nothing(void **state)
{
    sw_auto(sw_git) struct sw_git none = { 0 }, empty = { 0 }, lying = { 0 };
    sw_autofree char *folder = sw_path_join(*state, "r"), *liar = sw_path_join(*state, "l");

    look(*state, *state, &none);
    assert_null(none.root);
    sh(*state, "git init -q -b main r && mkdir -p l/.git && echo 'ref: ../../../etc/passwd' > l/.git/HEAD");
    look(*state, folder, &empty);
    assert_non_null(empty.root);
    assert_null(empty.commit);
    assert_false(empty.looked);
    look(*state, liar, &lying);
    assert_null(lying.commit);
    assert_null(lying.branch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_clean_repository_has_commit_and_branch, enter, leave),
        cmocka_unit_test_setup_teardown(changes_are_shown_and_files_of_credentials_are_not, enter, leave),
        cmocka_unit_test_setup_teardown(credentials_stay_out_whatever_files_are_called, enter, leave),
        cmocka_unit_test_setup_teardown(of_very_many_changed_files_the_first_are_shown, enter, leave),
        cmocka_unit_test_setup_teardown(a_long_diff_is_cut_after_a_whole_line, enter, leave),
        cmocka_unit_test_setup_teardown(a_repository_starts_no_program_of_its_own, enter, leave),
        cmocka_unit_test_setup_teardown(a_submodule_starts_no_program_of_its_own, enter, leave),
        cmocka_unit_test_setup_teardown(variables_of_git_and_excluded_files_change_nothing, enter, leave),
        cmocka_unit_test_setup_teardown(without_a_repository_nothing_is_made_or_started, enter, leave),
        cmocka_unit_test_setup_teardown(work_trees_and_detached_heads_are_found, enter, leave),
        cmocka_unit_test_setup_teardown(without_a_repository_or_a_commit_there_is_nothing, enter, leave),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
