/* SPDX-License-Identifier: Apache-2.0 */
/* test_mount.c - entries of `mounts:`: what they mean, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "core/mount.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static void entries_are_taken_apart(void **state)
{
    static const struct {
        const char *text;
        enum sw_mount_kind kind;
        const char *source, *ref, *target, *flags;
    } rows[] = {
        { "/lustre", SW_MOUNT_PATH, "/lustre", NULL, "/lustre", NULL },
        { "/lustre/data:/data", SW_MOUNT_PATH, "/lustre/data", NULL, "/data", NULL },
        { "/d:/data:ro+rprivate", SW_MOUNT_PATH, "/d", NULL, "/data", "ro+rprivate" },
        { "./here:/data", SW_MOUNT_PATH, "./here", NULL, "/data", NULL },
        { "lustre:///fsw/x:/data", SW_MOUNT_PATH, "/fsw/x", NULL, "/data", NULL },
        { "slurm://lustre/x:/data", SW_MOUNT_PATH, "/lustre/x", NULL, "/data", NULL },
        { "git+https://h.example/o/r.git@main:/opt/r", SW_MOUNT_GIT, "https://h.example/o/r.git",
          "main", "/opt/r", NULL },
        { "git+https://h.example:8443/o/r@feature/x:/opt/r:rw", SW_MOUNT_GIT,
          "https://h.example:8443/o/r", "feature/x", "/opt/r", "rw" },
        { "git+ssh://git@h.example/o/r@" COMMIT ":/opt/r", SW_MOUNT_GIT,
          "ssh://git@h.example/o/r", COMMIT, "/opt/r", NULL },
        { "git+ssh://git@h.example:22/o/r:/opt/r", SW_MOUNT_GIT, "ssh://git@h.example:22/o/r",
          "HEAD", "/opt/r", NULL },
        { "git+file:///srv/r.git@v1.2:/opt/r", SW_MOUNT_GIT, "file:///srv/r.git", "v1.2", "/opt/r",
          NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_mount) struct sw_mount mount = { 0 };
        struct sw_error err = { 0 };

        if (sw_mount_parse(rows[i].text, &mount, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(mount.kind, rows[i].kind);
        assert_string_equal(mount.source, rows[i].source);
        assert_string_equal(mount.target, rows[i].target);
        assert_true(sw_text_same(mount.ref, rows[i].ref));
        assert_true(sw_text_same(mount.flags, rows[i].flags));
    }
}

static void what_cannot_be_meant_is_refused_with_the_reason(void **state)
{
    static const struct { const char *text, *says; } rows[] = {
        { "", "empty" },
        { ":/data", "no source" },
        { "/data:", "absolute" },
        { "/data:relative", "absolute" },
        { "/data:/", "root" },
        { "/data:/a/../../etc", "may not contain '..'" },
        { "/data:/d:RO,rw", "commas" },
        { "/data:/d:-x", "flags" },
        { "/a b:/d", "blanks" },
        { "/a$(id):/d", "signs" },
        { "s3://bucket/key:/data", "inputs:" },
        { "https://h.example/x:/data", "inputs:" },
        { "git+https://h.example/o/r@main", "it has no target" },
        { "git+https://h.example/o/r@main:opt", "it has no target" },
        { "git+ext::sh:/x", "begins with" },
        { "git+/srv/r@main:/x", "begins with" },
        { "git+https://:/x", "no path" },
        { "git+https:///o/r@main:/x", "no host" },
        { "git+https://user:secret@h.example/o/r@main:/x", "credential" },
        { "git+https://token@h.example/o/r@main:/x", "credential" },
        { "git+ssh://git:secret@h.example/o/r@main:/x", "credential" },
        { "git+ssh://-oProxyCommand=x/o/r@main:/x", "no path" },
        { "git+https://h.example/o/r@-x:/x", "branch" },
        { "git+https://h.example/o/r@a..b:/x", "branch" },
        { "git+https://h.example/o/r@:/x", "branch" },
        { "git+https://h.example/o/r@main:/../x", "may not contain '..'" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_mount) struct sw_mount mount = { 0 };
        struct sw_error err = { 0 };

        if (sw_mount_parse(rows[i].text, &mount, &err) == 0)
            fail_msg("'%s' was taken", rows[i].text);
        assert_int_equal(err.code, SW_E_SPEC);
        if (!strstr(err.message, rows[i].says))
            fail_msg("'%s': %s", rows[i].text, err.message);
        assert_null(mount.source);
    }
}

static void only_a_whole_commit_needs_no_question(void **state)
{
    static const struct { const char *ref; bool is; } rows[] = {
        { COMMIT, true }, { "main", false }, { "0123456", false }, { "HEAD", false },
        { COMMIT "0", false }, { "0123456789ABCDEF0123456789abcdef01234567", false },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_mount mount = { .kind = SW_MOUNT_GIT, .ref = (char *)rows[i].ref };

        assert_int_equal(sw_mount_is_commit(&mount), rows[i].is);
    }
}

static void a_repository_is_written_to_only_when_asked(void **state)
{
    static const struct { const char *text; bool writable; } rows[] = {
        { "/d:/d", true }, { "/d:/d:ro", false }, { "/d:/d:rprivate+ro", false },
        { "/d:/d:rslave", true }, { "git+https://h/r@m:/d", false },
        { "git+https://h/r@m:/d:rw", true }, { "git+https://h/r@m:/d:ro", false },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_mount) struct sw_mount mount = { 0 };

        assert_int_equal(sw_mount_parse(rows[i].text, &mount, NULL), 0);
        assert_int_equal(sw_mount_is_writable(&mount), rows[i].writable);
    }
}

static void one_target_has_one_source(void **state)
{
    sw_auto(json) json_t *twice = json_pack("[s, s]", "/a:/d", "/b:/d");
    sw_auto(json) json_t *fine = json_pack("[s, s]", "/a:/d", "/a:/e");
    sw_auto(json) json_t *number = json_pack("[i]", 3);
    sw_auto(sw_mounts) struct sw_mounts mounts = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_mounts_parse(twice, &mounts, &err), -1);
    assert_non_null(strstr(err.message, "two mounts go to '/d'"));
    assert_int_equal(sw_mounts_parse(number, &mounts, NULL), -1);
    assert_int_equal(sw_mounts_parse(NULL, &mounts, NULL), 0);
    assert_int_equal(mounts.count, 0);
    sw_mounts_done(&mounts);
    assert_int_equal(sw_mounts_parse(fine, &mounts, NULL), 0);
    assert_int_equal(mounts.count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_taken_apart),
        cmocka_unit_test(what_cannot_be_meant_is_refused_with_the_reason),
        cmocka_unit_test(only_a_whole_commit_needs_no_question),
        cmocka_unit_test(a_repository_is_written_to_only_when_asked),
        cmocka_unit_test(one_target_has_one_source),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
