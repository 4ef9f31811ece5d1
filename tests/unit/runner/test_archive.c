/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_archive.c - archives are unpacked whole or not at all, and never outside of their folder.
 *
 * Ordinary archives are made by the ordinary programs; hostile ones are written here by hand,
 * because no ordinary program makes them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "runner/archive.h"

struct place {
    char folder[64];
    char warned[4096];
};

static int place_open(void **state)
{
    struct place *here = sw_new(struct place);

    snprintf(here->folder, sizeof here->folder, "/tmp/slipway-archive-XXXXXX");
    *state = here;
    return mkdtemp(here->folder) ? 0 : -1;
}

static int place_close(void **state)
{
    struct place *here = *state;

    sw_remove_tree(here->folder, NULL);
    free(here);
    return 0;
}

static char *in(const struct place *here, const char *name)
{
    return sw_path_join(here->folder, name);
}

static void remember(void *context, const char *text)
{
    struct place *here = context;
    size_t length = strlen(here->warned);

    snprintf(here->warned + length, sizeof here->warned - length, "%s\n", text);
}

/* A shell line in the folder; 127: a program is missing. */
static int shell(const struct place *here, const char *line)
{
    sw_autofree char *whole = sw_format("cd '%s' && %s", here->folder, line);
    int status = system(whole);

    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_text(const struct place *here, const char *name, const char *text)
{
    sw_autofree char *path = in(here, name), *found = sw_file_read(path, 1000000, NULL, NULL);

    if (!found)
        fail_msg("'%s' is not there", name);
    assert_string_equal(found, text);
}

static bool exists(const struct place *here, const char *name)
{
    sw_autofree char *path = in(here, name);
    struct stat info;

    return lstat(path, &info) == 0;
}

static int unpack(struct place *here, const char *name, struct sw_error *err)
{
    sw_autofree char *path = in(here, name);

    return archive_unpack(path, false, NULL, remember, here, err);
}

static void make_tree(const struct place *here)
{
    assert_int_equal(shell(here, "mkdir -p t/data/deep && echo one > t/data/a && "
                                 "echo two > 't/data/deep/b c' && ln -s deep/'b c' t/data/link && "
                                 "chmod 755 t/data/a && touch -d @1000000000 t/data/a && "
                                 ": > t/data/empty"), 0);
}

static void expect_tree(const struct place *here, const char *top)
{
    sw_autofree char *a = sw_format("%s/a", top), *b = sw_format("%s/deep/b c", top);
    sw_autofree char *link = sw_format("%s/link", top), *empty = sw_format("%s/empty", top);
    sw_autofree char *a_path = in(here, a);
    struct stat info;

    expect_text(here, a, "one\n");
    expect_text(here, b, "two\n");
    expect_text(here, link, "two\n");
    expect_text(here, empty, "");
    assert_int_equal(stat(a_path, &info), 0);
    assert_int_equal(info.st_mode & 0100, 0100);
    assert_int_equal(info.st_mtim.tv_sec, 1000000000);
}

static void every_kind_of_archive_is_unpacked(void **state)
{
    static const struct {
        const char *make, *name, *top;
    } rows[] = {
        { "tar cf data.tar -C t data", "data.tar", "data" },
        { "tar czf data.tgz -C t data", "data.tgz", "data" },
        { "tar czf x.tar.gz -C t data", "x.tar.gz", "x/data" },     /* another name: level kept */
        { "tar cjf bz.tar.bz2 -C t data", "bz.tar.bz2", "bz/data" },
        { "tar cJf xz.tar.xz -C t data", "xz.tar.xz", "xz/data" },
        { "tar --zstd -cf zst.tar.zst -C t data", "zst.tar.zst", "zst/data" },
        { "tar --format=pax -cf pax.tar -C t/data .", "pax.tar", "pax" },
        { "tar --format=v7 -cf v7.tar -C t/data .", "v7.tar", "v7" },
        { "tar --format=ustar -cf u.TAR -C t/data .", "u.TAR", "u" },
    };
    struct place *here = *state;

    make_tree(here);
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_error err = { 0 };

        assert_int_equal(shell(here, rows[i].make), 0);
        if (unpack(here, rows[i].name, &err) < 0)
            fail_msg("%s: %s", rows[i].name, err.message);
        expect_tree(here, rows[i].top);
    }
}

static void zip_files_are_unpacked_stored_and_deflated(void **state)
{
    struct place *here = *state;
    struct sw_error err = { 0 };

    make_tree(here);
    if (shell(here, "python3 -c \"import zipfile\"") != 0)
        skip();
    assert_int_equal(shell(here, "python3 - <<'X'\n"
        "import zipfile\n"
        "with zipfile.ZipFile('z.zip', 'w', zipfile.ZIP_DEFLATED) as z:\n"
        "    z.writestr('z/a', 'one\\n' * 100000)\n"
        "    z.writestr(zipfile.ZipInfo('z/stored'), 'two')\n"
        "    z.writestr('z/dir/', '')\n"
        "    link = zipfile.ZipInfo('z/link'); link.create_system = 3\n"
        "    link.external_attr = 0o120777 << 16\n"
        "    z.writestr(link, 'stored')\n"
        "    with z.open('z/big', 'w', force_zip64=True) as f: f.write(b'x' * 70000)\n"
        "with zipfile.ZipFile('evil.zip', 'w') as z: z.writestr('../evil', 'x')\n"
        "X"), 0);
    if (unpack(here, "z.zip", &err) < 0)
        fail_msg("%s", err.message);
    expect_text(here, "z/link", "two");
    assert_true(exists(here, "z/dir"));
    assert_int_equal(unpack(here, "evil.zip", &err), -1);
    assert_false(exists(here, "evil"));
}

static void an_archive_is_unpacked_once_and_again_when_it_is_another(void **state)
{
    struct place *here = *state;

    make_tree(here);
    assert_int_equal(shell(here, "tar cf data.tar -C t data"), 0);
    assert_int_equal(unpack(here, "data.tar", NULL), 0);
    assert_false(exists(here, "data.tar.extracted"));            /* nothing of ours among the user's data */
    assert_int_equal(shell(here, "echo mine > data/a"), 0);
    assert_int_equal(unpack(here, "data.tar", NULL), 0);
    expect_text(here, "data/a", "mine\n");                       /* it was left alone */
    assert_int_equal(shell(here, "sleep 0.02; echo new > t/data/a && echo more > t/data/more && "
                                 "tar cf data.tar -C t data && touch -d @2000 data.tar"), 0);
    assert_int_equal(unpack(here, "data.tar", NULL), 0);
    expect_text(here, "data/more", "more\n");
    assert_int_equal(shell(here, "rm -r data && mkdir data"), 0);
    assert_int_equal(unpack(here, "data.tar", NULL), 0);         /* it is empty */
    expect_text(here, "data/a", "new\n");
}

static void what_a_dead_one_was_unpacking_is_cleared_away(void **state)
{
    struct place *here = *state;

    make_tree(here);
    assert_int_equal(shell(here, "tar czf set.tar.gz -C t data"), 0);
    assert_int_equal(shell(here, "mkdir -p set.unpacking-123/deep set.unpacking-mine settle.unpacking-1;"
                                 " echo half > set.unpacking-123/deep/f"), 0);
    assert_int_equal(unpack(here, "set.tar.gz", NULL), 0);
    assert_true(exists(here, "set"));
    assert_false(exists(here, "set.unpacking-123"));
    assert_true(exists(here, "set.unpacking-mine"));      /* that is the user's own */
    assert_true(exists(here, "settle.unpacking-1"));
}

static void one_that_is_cut_off_leaves_nothing(void **state)
{
    static const char *const names[] = { "c.tar", "c.tar.gz", "c.tar.xz", "c.tar.bz2",
                                         "c.tar.zst" };
    struct place *here = *state;

    make_tree(here);
    assert_int_equal(shell(here, "head -c 300000 /dev/urandom > t/data/noise && "
                                 "tar cf w.tar -C t data && tar czf w.tar.gz -C t data && "
                                 "tar cJf w.tar.xz -C t data && tar cjf w.tar.bz2 -C t data && "
                                 "tar --zstd -cf w.tar.zst -C t data && "
                                 "for e in tar tar.gz tar.xz tar.bz2 tar.zst; do "
                                 "head -c 200000 w.$e > c.$e; done"), 0);
    for (size_t i = 0; i < SW_COUNT(names); i++) {
        struct sw_error err = { 0 };

        assert_int_equal(unpack(here, names[i], &err), -1);
        assert_int_not_equal(err.code, SW_OK);
        assert_false(exists(here, "c"));
        assert_int_equal(shell(here, "test -z \"$(ls | grep unpacking)\""), 0);
    }
}

/* ---- hostile ones -------------------------------------------------------------------------- */

static void add_member(FILE *out, const char *name, char type, const char *target,
                       const char *content)
{
    unsigned char header[512] = { 0 };
    unsigned sum = 0;
    size_t length = content ? strlen(content) : 0;
    char block[512] = { 0 };

    snprintf((char *)header, 100, "%s", name);
    memcpy(header + 100, "0000644\0", 8);
    snprintf((char *)header + 124, 12, "%011o", (unsigned)length);
    memcpy(header + 136, "00000001750\0", 12);
    header[156] = (unsigned char)type;
    snprintf((char *)header + 157, 100, "%s", target ? target : "");
    memcpy(header + 257, "ustar\00000", 8);
    memset(header + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += header[i];
    snprintf((char *)header + 148, 8, "%06o", sum);
    fwrite(header, 512, 1, out);
    if (length) {
        memcpy(block, content, length);
        fwrite(block, 512, 1, out);
    }
}

struct entry {
    const char *name;
    char type;
    const char *target, *content;
};

static int unpack_made(struct place *here, const struct entry *entries, size_t count,
                       struct sw_error *err)
{
    static const char end[1024];
    sw_autofree char *path = in(here, "evil.tar");
    FILE *out = fopen(path, "we");

    for (size_t i = 0; i < count; i++)
        add_member(out, entries[i].name, entries[i].type, entries[i].target, entries[i].content);
    fwrite(end, sizeof end, 1, out);
    fclose(out);
    return unpack(here, "evil.tar", err);
}

static void names_that_lead_out_are_refused(void **state)
{
    static const char *const names[] = { "../outside", "a/../../outside", "/tmp/outside", "..",
                                         "a/.." };
    struct place *here = *state;

    for (size_t i = 0; i < SW_COUNT(names); i++) {
        struct sw_error err = { 0 };
        const struct entry entries[] = { { names[i], '0', NULL, "x" } };

        assert_int_equal(unpack_made(here, entries, 1, &err), -1);
        assert_int_equal(err.code, SW_E_REFUSED);
        assert_false(exists(here, "outside"));
        assert_false(exists(here, "evil"));
    }
}

static void links_lead_inside_or_are_left_out(void **state)
{
    const struct entry entries[] = {
        { "f", '0', NULL, "good" },
        { "d1/d2/up", '2', "../..", NULL },                 /* the root itself: inside */
        { "out", '2', "..", NULL },
        { "absolute", '2', "/etc/passwd", NULL },
        { "tricky", '2', "d1/d2/up/../..", NULL },          /* inside by its text, outside in fact */
        { "hard", '1', "f", NULL },
        { "hard-out", '1', "../../etc/passwd", NULL },
        { "device", '3', NULL, NULL },
        { "fifo", '6', NULL, NULL },
    };
    struct place *here = *state;
    struct sw_error err = { 0 };

    if (unpack_made(here, entries, SW_COUNT(entries), &err) < 0)
        fail_msg("%s", err.message);
    expect_text(here, "evil/hard", "good");
    assert_true(exists(here, "evil/d1/d2/up"));
    assert_false(exists(here, "evil/out"));
    assert_false(exists(here, "evil/absolute"));
    assert_false(exists(here, "evil/tricky"));
    assert_false(exists(here, "evil/hard-out"));
    assert_false(exists(here, "evil/device"));
    assert_false(exists(here, "evil/fifo"));
    assert_non_null(strstr(here->warned, "'tricky'"));
    assert_non_null(strstr(here->warned, "'device'"));
}

/* The level "evil/" goes away; what led to it from below would then lead out. */
static void links_are_judged_as_deep_as_they_end_up(void **state)
{
    const struct entry entries[] = {
        { "evil/f", '0', NULL, "good" },
        { "evil/up", '2', "..", NULL },
        { "evil/d/up", '2', "../..", NULL },
        { "evil/d/round", '2', "../../evil/f", NULL },
        { "evil/d/fine", '2', "../f", NULL },
    };
    struct place *here = *state;
    struct sw_error err = { 0 };

    if (unpack_made(here, entries, SW_COUNT(entries), &err) < 0)
        fail_msg("%s", err.message);
    expect_text(here, "evil/d/fine", "good");
    assert_int_equal(shell(here, "test ! -L evil/up && test ! -L evil/d/up && test ! -L evil/d/round"),
                     0);
    assert_non_null(strstr(here->warned, "'d/up'"));
}

/* With something beside it the level stays, and the same links lead inside. */
static void links_to_a_level_that_stays_are_kept(void **state)
{
    const struct entry entries[] = {
        { "evil/up", '2', "../beside", NULL },
        { "beside", '0', NULL, "good" },
    };
    struct place *here = *state;
    struct sw_error err = { 0 };

    if (unpack_made(here, entries, SW_COUNT(entries), &err) < 0)
        fail_msg("%s", err.message);
    expect_text(here, "evil/evil/up", "good");
}

static void nothing_is_written_through_a_link(void **state)
{
    const struct entry entries[] = {
        { "real/", '5', NULL, NULL },
        { "link", '2', "real", NULL },
        { "link/file", '0', NULL, "x" },
    };
    struct place *here = *state;
    struct sw_error err = { 0 };

    assert_int_equal(unpack_made(here, entries, SW_COUNT(entries), &err), -1);
    assert_int_equal(err.code, SW_E_REFUSED);
}

static void damage_is_reported(void **state)
{
    struct place *here = *state;
    struct sw_error err = { 0 };

    assert_int_equal(shell(here, "printf 'this is no archive, only some text of no use' > x.tar"),
                     0);
    assert_int_equal(unpack(here, "x.tar", &err), -1);
    assert_int_equal(shell(here, ": > e.tar"), 0);
    assert_int_equal(unpack(here, "e.tar", &err), -1);
    assert_int_equal(shell(here, "printf 'PK\\003\\004aaaa' > z.zip"), 0);
    assert_int_equal(unpack(here, "z.zip", &err), -1);
}

static void endings_tell_what_is_an_archive(void **state)
{
    (void)state;
    assert_true(archive_is("/a/b.tar.gz"));
    assert_true(archive_is("b.ZIP"));
    assert_false(archive_is("b.pth.tar.txt"));
    assert_false(archive_is("/a/.tar"));
    {
        sw_autofree char *stem = archive_stem("/a/b.tar.gz");

        assert_string_equal(stem, "/a/b");
    }
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(every_kind_of_archive_is_unpacked),
        CLAIM(zip_files_are_unpacked_stored_and_deflated),
        CLAIM(an_archive_is_unpacked_once_and_again_when_it_is_another),
        CLAIM(what_a_dead_one_was_unpacking_is_cleared_away),
        CLAIM(one_that_is_cut_off_leaves_nothing),
        CLAIM(names_that_lead_out_are_refused),
        CLAIM(links_lead_inside_or_are_left_out),
        CLAIM(links_are_judged_as_deep_as_they_end_up),
        CLAIM(links_to_a_level_that_stays_are_kept),
        CLAIM(nothing_is_written_through_a_link),
        CLAIM(damage_is_reported),
        cmocka_unit_test(endings_tell_what_is_an_archive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
