/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_archive_write.c - archives of ours: what goes in comes out, byte for byte the same each time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/secret.h"
#include "core/archive.h"

static size_t wiped;

/* Instead of libc's: counts what is overwritten. */
void explicit_bzero(void *bytes, size_t length)
{
    wiped += length;
    memset(bytes, 0, length);
}

static void add(struct sw_buf *tar, const char *name, int64_t uid, int64_t gid, const char *text)
{
    sw_tar_add(tar, &(struct sw_archive_member){ .name = name, .mode = text ? 0600 : 0755,
                   .kind = text ? SW_ARCHIVE_FILE : SW_ARCHIVE_FOLDER, .uid = uid, .gid = gid,
                   .size = text ? (int64_t)strlen(text) : 0 }, text);
}

static void a_file_that_goes_in_comes_out(void **state)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;
    sw_autofree char *text = NULL;
    size_t size = 0;

    (void)state;
    add(&tar, "folder/", 1000, 100, NULL);
    add(&tar, "folder/file", 1000, 100, "content");
    sw_tar_end(&tar);
    assert_int_equal(tar.length % 512, 0);
    assert_memory_equal(tar.data + 512 + 108, "0001750\0" "0000144", 15);
    text = sw_tar_first_file(tar.data, tar.length, &size);
    assert_string_equal(text, "content");
    assert_int_equal(size, 7);
    assert_null(sw_tar_first_file(tar.data, 1024, NULL));
    assert_null(sw_tar_first_file("", 0, NULL));
}

/* As GNU tar writes them: the engine gave the secrets to another user when they were cut to 21 bits. */
static void a_user_with_a_large_number_keeps_it(void **state)
{
    sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;

    (void)state;
    add(&tar, "a", 1234567890, 2097152, "x");
    add(&tar, "b", 2097151, 4294967294, "x");
    assert_memory_equal(tar.data + 108, "\x80\0\0\0\x49\x96\x02\xd2", 8);
    assert_memory_equal(tar.data + 116, "\x80\0\0\0\0\x20\0\0", 8);
    assert_memory_equal(tar.data + 1024 + 108, "7777777", 8);
    assert_memory_equal(tar.data + 1024 + 116, "\x80\0\0\0\xff\xff\xff\xfe", 8);
}

static void a_tar_grows_and_leaves_no_copy(void **state)
{
    struct sw_buf tar = SW_BUF_INIT;
    const char *before;
    size_t room;

    (void)state;
    add(&tar, "secrets", 0, 0, "canary");
    room = tar.room;
    wiped = 0;
    sw_buf_reserve_wiping(&tar, 1 << 20);
    assert_int_equal(wiped, room);
    before = tar.data;
    for (int i = 0; i < 100; i++)
        add(&tar, "more", 0, 0, "x");
    assert_ptr_equal(tar.data, before);              /* what was sized before is not moved */
    assert_memory_equal(tar.data + 512, "canary", 6);
    room = tar.room;
    wiped = 0;
    sw_buf_wipe(&tar);
    assert_int_equal(wiped, room);
    assert_null(tar.data);
}

struct seen {
    char name[300], target[300];
    enum sw_archive_kind kind;
};

static int see(void *context, const struct sw_archive_member *member, struct sw_error *err)
{
    struct seen *seen = context;

    (void)err;
    strcpy(seen->name, member->name);
    strcpy(seen->target, member->target ? member->target : "");
    seen->kind = member->kind;
    return 0;
}

static int pass(void *context, const void *bytes, size_t length, struct sw_error *err)
{
    (void)context, (void)bytes, (void)length, (void)err;
    return 0;
}

static int over(void *context, struct sw_error *err)
{
    (void)context, (void)err;
    return 0;
}

struct memory {
    struct sw_archive_stream stream;
    const char *at;
    size_t left;
};

static ssize_t read_memory(struct sw_archive_stream *stream, void *bytes, size_t length,
                           struct sw_error *err)
{
    struct memory *memory = (struct memory *)stream;
    size_t part = length < memory->left ? length : memory->left;

    (void)err;
    memcpy(bytes, memory->at, part);
    memory->at += part;
    memory->left -= part;
    return (ssize_t)part;
}

static void names_of_any_length_and_links_are_read_back(void **state)
{
    static const enum sw_archive_kind kinds[] = { SW_ARCHIVE_LINK, SW_ARCHIVE_HARD_LINK };
    char name[200] = "", target[250] = "";

    (void)state;
    memset(name, 'n', 199);
    memset(target, 't', 249);
    for (size_t length = 98; length < 103; length++)
        for (size_t k = 0; k < SW_COUNT(kinds); k++) {
            sw_auto(sw_buf) struct sw_buf tar = SW_BUF_INIT;
            struct seen seen = { 0 };
            const struct sw_archive_visitor visitor = { see, pass, over, &seen };
            struct memory memory = { { read_memory, NULL }, NULL, 0 };

            name[length] = '\0';
            sw_tar_add(&tar, &(struct sw_archive_member){ .name = name, .kind = kinds[k],
                                                          .target = target }, NULL);
            sw_tar_end(&tar);
            memory.at = tar.data;
            memory.left = tar.length;
            assert_int_equal(sw_archive_read_tar(&memory.stream, &visitor, NULL), 0);
            assert_string_equal(seen.name, name);
            assert_string_equal(seen.target, target);
            assert_int_equal(seen.kind, kinds[k]);
            name[length] = 'n';
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_goes_in_comes_out),
        cmocka_unit_test(a_user_with_a_large_number_keeps_it),
        cmocka_unit_test(a_tar_grows_and_leaves_no_copy),
        cmocka_unit_test(names_of_any_length_and_links_are_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
