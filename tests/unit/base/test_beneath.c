/* SPDX-License-Identifier: Apache-2.0 */
/* test_beneath.c - what lies below a folder can be opened, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/file.h"

static char folder[64];
static int root = -1;

static void put(const char *name)
{
    sw_autofree char *path = sw_path_join(folder, name);

    assert_int_equal(sw_file_write(path, name, strlen(name), 0600, NULL), 0);
}

static void put_link(const char *target, const char *name)
{
    sw_autofree char *path = sw_path_join(folder, name);

    assert_int_equal(symlink(target, path), 0);
}

static int make(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/slipway-beneath-XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (const char *const *name = (const char *const[]){ "in", "in/a", "in/a/b", "in-", NULL }; *name;
         name++) {
        sw_autofree char *path = sw_path_join(folder, *name);

        assert_int_equal(mkdir(path, 0700), 0);
    }
    put("secret");
    put("in-/secret");
    put("in/file");
    put("in/a/b/deep");
    put_link("/etc/hostname", "in/absolute");
    put_link("../secret", "in/climbs");
    put_link("../in-/secret", "in/beside");
    put_link("..", "in/up");
    put_link("a/b/deep", "in/inside");
    put_link("a", "in/folder");
    put_link("../../../secret", "in/a/b/far");
    put_link("../../file", "in/a/b/near");
    put_link("b/../../file", "in/a/around");
    put_link("loop", "in/loop");
    put_link("nothing", "in/dangling");
    sw_autofree char *in = sw_path_join(folder, "in");
    root = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root < 0;
}

static int unmake(void **state)
{
    (void)state;
    close(root);
    return sw_remove_tree(folder, NULL);
}

/* path, then what opening it gives without and with links: 0 or an errno. */
static const struct { const char *path; int plain, following; } rows[] = {
    { "file",            0,      0 },
    { "a/b/deep",        0,      0 },
    { "a//b/./deep",     0,      0 },
    { "missing",         ENOENT, ENOENT },
    { "absolute",        ELOOP,  EXDEV },
    { "climbs",          ELOOP,  EXDEV },
    { "beside",          ELOOP,  EXDEV },
    { "up/secret",       ELOOP,  EXDEV },
    { "inside",          ELOOP,  0 },
    { "folder/b/deep",   ELOOP,  0 },
    { "folder/b/near",   ELOOP,  0 },
    { "a/b/far",         ELOOP,  EXDEV },
    { "a/b/near",        ELOOP,  0 },
    { "a/around",        ELOOP,  0 },
    { "loop",            ELOOP,  ELOOP },
    { "dangling",        ELOOP,  ENOENT },
    { "../secret",       EXDEV,  EXDEV },
    { "a/../../secret",  EXDEV,  EXDEV },
    { "/etc/hostname",   EXDEV,  EXDEV },
};

static void try_all(int (*opened)(int, const char *, int, bool))
{
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        for (int follow = 0; follow < 2; follow++) {
            sw_autofd int fd = opened(root, rows[i].path, O_RDONLY, follow);
            int said = fd < 0 ? errno : 0, wanted = follow ? rows[i].following : rows[i].plain;

            if (said != wanted)
                fail_msg("'%s', follow %d: %s", rows[i].path, follow, strerror(said));
        }
}

static void nothing_outside_can_be_opened(void **state)
{
    (void)state;
    try_all(sw_open_beneath);
}

static void nor_on_a_kernel_without_openat2(void **state)
{
    (void)state;
    try_all(sw_open_by_steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_outside_can_be_opened),
        cmocka_unit_test(nor_on_a_kernel_without_openat2),
    };

    return cmocka_run_group_tests(tests, make, unmake);
}
