/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_file.c - files and folders; everything happens below a folder of its own in /tmp.
 */
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/folder.h"

static int make_folder(void **state)
{
    char pattern[] = "/tmp/slipway-file-XXXXXX";

    *state = sw_strdup(mkdtemp(pattern));
    return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
    int result = sw_remove_tree(*state, NULL);

    free(*state);
    return result;
}

static void put(const char *folder, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(folder, name);

    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
}

static void expect_content(const char *folder, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(folder, name);
    sw_autofree char *got = sw_file_read(path, 1000, NULL, NULL);

    assert_non_null(got);
    assert_string_equal(got, text);
}

static int note_name(void *context, const char *relative, const struct stat *info)
{
    sw_buf_addf(context, "%s%s ", relative, S_ISDIR(info->st_mode) ? "/" : "");
    return 0;
}

static void a_written_file_replaces_the_old_one_and_leaves_nothing_beside_it(void **state)
{
    sw_autofree char *path = sw_path_join(*state, "a");
    sw_auto(sw_buf) struct sw_buf seen = SW_BUF_INIT;
    struct stat info;

    put(*state, "a", "old");
    put(*state, "a", "new");
    expect_content(*state, "a", "new");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(sw_walk(*state, note_name, &seen, NULL), 0);
    assert_string_equal(sw_buf_text(&seen), "a ");
}

static void reading_is_bounded_and_says_what_is_missing(void **state)
{
    sw_autofree char *path = sw_path_join(*state, "big");
    sw_autofree char *missing = sw_path_join(*state, "missing");
    struct sw_error err = { 0 };

    put(*state, "big", "0123456789");
    assert_null(sw_file_read(path, 9, NULL, &err));
    assert_non_null(strstr(err.message, "larger than 9 bytes"));
    assert_null(sw_file_read(missing, 9, NULL, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
}

static void folders_are_made_with_their_parents_and_removed_with_their_content(void **state)
{
    sw_autofree char *deep = sw_path_join(*state, "a/b/c");
    sw_autofree char *top = sw_path_join(*state, "a");
    sw_autofree char *kept = sw_path_join(*state, "kept");
    sw_autofree char *link = sw_path_join(*state, "a/link");

    assert_int_equal(sw_mkdirs(deep, 0700, NULL), 0);
    assert_int_equal(sw_mkdirs(deep, 0700, NULL), 0);
    put(deep, "x", "1");
    put(*state, "kept", "yes");
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(chmod(deep, 0500), 0);
    assert_int_equal(sw_remove_tree(top, NULL), 0);
    assert_false(sw_file_exists(top));
    expect_content(*state, "kept", "yes");
    assert_int_equal(sw_remove_tree(top, NULL), 0);
}

static int stop_at_once(void *context, const char *relative, const struct stat *info)
{
    (void)context, (void)relative, (void)info;
    return 7;
}

static void a_walk_meets_folders_before_what_is_in_them(void **state)
{
    sw_autofree char *below = sw_path_join(*state, "d");
    sw_auto(sw_buf) struct sw_buf seen = SW_BUF_INIT;

    assert_int_equal(sw_mkdirs(below, 0700, NULL), 0);
    put(below, "f", "");
    assert_int_equal(sw_walk(*state, note_name, &seen, NULL), 0);
    assert_string_equal(sw_buf_text(&seen), "d/ d/f ");
    assert_int_equal(sw_walk(*state, stop_at_once, NULL, NULL), 7);
}

/* A job may nest folders deeper than any path is long. */
static void a_tree_of_any_depth_is_removed_with_few_descriptors(void **state)
{
    enum { DEEP = 1200, FEW = 32 };
    sw_autofree char *root = sw_path_join(*state, "deep");
    struct rlimit before, few = { FEW, FEW };
    int at;

    assert_int_equal(mkdir(root, 0700), 0);
    at = open(root, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < DEEP; i++) {
        int below;

        assert_int_equal(mkdirat(at, "d", 0700), 0);
        assert_int_equal(mkdirat(at, "beside", 0), 0);       /* not even its owner may look */
        below = openat(at, "d", O_RDONLY | O_DIRECTORY);
        assert_true(below >= 0);
        close(openat(below, "file", O_WRONLY | O_CREAT, 0600));
        close(at);
        at = below;
    }
    close(at);
    getrlimit(RLIMIT_NOFILE, &before);
    few.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_NOFILE, &few);
    assert_int_equal(sw_remove_tree(root, NULL), 0);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_false(sw_file_exists(root));
}

static void a_tree_is_copied_with_its_links_and_counted(void **state)
{
    sw_autofree char *from = sw_path_join(*state, "from");
    sw_autofree char *below = sw_path_join(from, "sub");
    sw_autofree char *link = sw_path_join(from, "link");
    sw_autofree char *to = sw_path_join(*state, "to");
    sw_autofree char *copied_link = sw_path_join(to, "link");
    int64_t files = 0, bytes = 0;
    char target[16] = "";

    assert_int_equal(sw_mkdirs(below, 0700, NULL), 0);
    put(from, "a", "12345");
    put(below, "b", "678");
    assert_int_equal(symlink("a", link), 0);
    assert_int_equal(sw_copy_tree(from, to, &files, &bytes, NULL), 0);
    expect_content(to, "a", "12345");
    expect_content(to, "sub/b", "678");
    assert_int_equal(readlink(copied_link, target, sizeof target - 1), 1);
    assert_string_equal(target, "a");
    assert_int_equal(files, 3);
    assert_int_equal(bytes, 8);
}

static void the_home_of_who_has_no_variable_is_the_password_entrys(void **state)
{
    sw_autofree char *was = sw_strdup(getenv("HOME")), *home = NULL, *below = NULL, *root = NULL;
    const struct passwd *entry = getpwuid(getuid());

    (void)state;
    unsetenv("HOME");
    home = sw_home();
    below = sw_path_home(".local/state");
    if (entry && entry->pw_dir && *entry->pw_dir)
        assert_string_equal(home, entry->pw_dir);
    else
        assert_null(home);
    assert_int_not_equal(strncmp(below, "//", 2), 0);
    setenv("HOME", "/", 1);
    root = sw_path_home(".local/state");
    assert_string_equal(root, "/.local/state");
    setenv("HOME", was ? was : "/", 1);
}

static void paths_are_joined_and_made_absolute_as_text(void **state)
{
    static const struct { const char *path, *folder, *absolute; } cases[] = {
        { "a", "/x", "/x/a" }, { "./a/../b", "/x", "/x/b" }, { "/a", "/x", "/a" },
        { "../../..", "/x", "/" }, { "a//b/", "/x/", "/x/a/b" }, { "/", NULL, "/" },
    };
    sw_autofree char *joined = sw_path_join("/x/", "a");

    (void)state;
    assert_string_equal(joined, "/x/a");
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_autofree char *absolute = sw_path_absolute(cases[i].path, cases[i].folder);

        assert_string_equal(absolute, cases[i].absolute);
    }
}

static void the_names_in_a_folder_are_sorted_and_its_own(void **state)
{
    sw_autofree char *file = sw_path_join(*state, "b"), *nothing = sw_path_join(*state, "c");
    sw_auto(json) json_t *names = NULL;
    sw_autofree char *text = NULL;
    struct sw_error err = { 0 };

    put(*state, "b", "");
    put(*state, "a b", "");
    put(*state, ".hidden", "");
    names = sw_folder_names(*state, &err);
    text = sw_json_dump(names);
    assert_string_equal(text, "[\".hidden\",\"a b\",\"b\"]");
    assert_null(sw_folder_names(nothing, &err));
    assert_int_equal(err.code, SW_E_NOT_FOUND);
    assert_null(sw_folder_names(file, &err));
    assert_int_equal(err.code, SW_E_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_names_in_a_folder_are_sorted_and_its_own, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(
            a_written_file_replaces_the_old_one_and_leaves_nothing_beside_it, make_folder,
            remove_folder),
        cmocka_unit_test_setup_teardown(reading_is_bounded_and_says_what_is_missing, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(
            folders_are_made_with_their_parents_and_removed_with_their_content, make_folder,
            remove_folder),
        cmocka_unit_test_setup_teardown(a_walk_meets_folders_before_what_is_in_them, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_tree_of_any_depth_is_removed_with_few_descriptors,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_tree_is_copied_with_its_links_and_counted, make_folder,
                                        remove_folder),
        cmocka_unit_test(the_home_of_who_has_no_variable_is_the_password_entrys),
        cmocka_unit_test(paths_are_joined_and_made_absolute_as_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
