/* SPDX-License-Identifier: Apache-2.0 */
/* test_mounts.c - a repository on this machine: cloned once, at the commit that its ref means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "plan/mounts.h"

static char folder[] = "/tmp/slipway-mounts-test-XXXXXX";

static int make_repository(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("HERE", folder, 1);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    return system("cd $HERE && git init -q -b main made && cd made && git config user.email a@b && "
                  "git config user.name a && echo one > file && git add file && git commit -qm one && "
                  "git tag v1 && echo two > file && git commit -qam two && git clone -q --bare . ../r.git");
}

static int remove_all(void **state)
{
    (void)state;
    return sw_remove_tree(folder, NULL);
}

/* A job of its own, or NULL: of no job. */
static char *clone_for(const char *job, const char *ref, struct sw_error *err)
{
    sw_autofree char *text = sw_format("git+file://%s/r.git@%s:/opt/code", folder, ref);
    sw_autofree char *cache = sw_format("%s/it's a cache", folder);
    sw_autofree char *own = job ? sw_format("%s/%s/mounts", folder, job) : NULL;
    sw_auto(sw_mount) struct sw_mount mount = { 0 };

    assert_int_equal(sw_mount_parse(text, &mount, NULL), 0);
    return sw_mount_clone(&mount, cache, own, err);
}

static char *clone_of(const char *ref, struct sw_error *err)
{
    return clone_for(NULL, ref, err);
}

static void a_ref_has_one_clone_with_its_files(void **state)
{
    struct sw_error err = { 0 };
    sw_autofree char *first = clone_of("v1", &err), *again = clone_of("v1", &err);
    sw_autofree char *other = clone_of("main", &err), *file = NULL, *content = NULL;

    (void)state;
    if (!first || !again || !other)
        fail_msg("%s", err.message);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    file = sw_format("%s/file", first);
    content = sw_file_read(file, 100, NULL, NULL);
    assert_string_equal(content, "one\n");
}

/* The entry ends in :rw, behind the target. */
static char *writable_for(const char *job)
{
    sw_autofree char *text = sw_format("git+file://%s/r.git@v1:/opt/code:rw", folder);
    sw_autofree char *cache = sw_format("%s/it's a cache", folder), *own = sw_format("%s/%s", folder, job);
    sw_auto(sw_mount) struct sw_mount mount = { 0 };
    struct sw_error err = { 0 };
    char *path;

    assert_int_equal(sw_mount_parse(text, &mount, NULL), 0);
    path = sw_mount_clone(&mount, cache, own, &err);
    if (!path)
        fail_msg("%s", err.message);
    return path;
}

static void a_job_that_writes_has_its_own_copy(void **state)
{
    sw_autofree char *first = writable_for("job-1"), *again = writable_for("job-1");
    sw_autofree char *second = writable_for("job-2"), *shared = clone_of("v1", NULL);
    sw_autofree char *read_only = clone_for("job-3", "v1", NULL);
    sw_autofree char *new = sw_format("%s/new", first), *seen = NULL;

    (void)state;
    assert_string_equal(first, again);
    assert_string_not_equal(first, second);
    assert_string_not_equal(first, shared);
    assert_string_equal(read_only, shared);
    assert_int_equal(sw_file_write(new, "x", 1, 0600, NULL), 0);
    seen = sw_format("%s/new", shared);
    assert_false(sw_file_exists(seen));
}

static void a_ref_that_is_not_there_is_reported(void **state)
{
    struct sw_error err = { 0 };

    (void)state;
    assert_null(clone_of("nosuch", &err));
    assert_non_null(strstr(err.message, "there is no branch or tag 'nosuch'"));
    assert_non_null(strstr(err.hint, "git ls-remote"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ref_has_one_clone_with_its_files),
        cmocka_unit_test(a_job_that_writes_has_its_own_copy),
        cmocka_unit_test(a_ref_that_is_not_there_is_reported),
    };

    return cmocka_run_group_tests(tests, make_repository, remove_all);
}
