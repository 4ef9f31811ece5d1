/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_upload_record.c - what is remembered of an upload in parts, and when it is believed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "storage/upload_record.h"

#define UNIT (16 * 1024 * 1024)

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/slipway-record-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return sw_remove_tree(folder, NULL);
}

static void look(struct upload_record *record, const char *identity)
{
    upload_record_open(record, folder, "/data/a", "s3://b/a", identity, UNIT, 8);
}

static void leave_two_parts(void)
{
    struct upload_record record;

    look(&record, "as it was");
    assert_null(record.upload);
    upload_record_begin(&record, "upload-1", "as it was", UNIT, true);
    upload_record_part(&record, 0, "etag-1", "00000001");
    upload_record_part(&record, 6, "etag-7", "00000007");
    upload_record_close(&record);
}

static void the_next_copy_of_the_same_file_goes_on(void **state)
{
    struct upload_record record;

    (void)state;
    leave_two_parts();
    look(&record, "as it was");
    assert_string_equal(record.upload, "upload-1");
    assert_true(record.checked);
    assert_string_equal(record.parts[0].etag, "etag-1");
    assert_string_equal(record.parts[6].etag, "etag-7");
    assert_string_equal(record.parts[6].crc, "00000007");
    assert_null(record.parts[1].etag);
    upload_record_drop(&record);
}

static void another_state_of_the_file_makes_it_stale(void **state)
{
    struct upload_record record;

    (void)state;
    leave_two_parts();
    look(&record, "as it is now");
    assert_null(record.upload);
    assert_string_equal(record.stale, "upload-1");
    upload_record_drop(&record);
}

static void what_is_over_is_forgotten(void **state)
{
    struct upload_record record;

    (void)state;
    leave_two_parts();
    look(&record, "as it was");
    upload_record_drop(&record);
    look(&record, "as it was");
    assert_null(record.upload);
    assert_null(record.stale);
    upload_record_drop(&record);
}

static void a_second_copy_at_the_same_time_remembers_nothing(void **state)
{
    struct upload_record first, second;

    (void)state;
    look(&first, "as it was");
    look(&second, "as it was");
    assert_true(first.fd >= 0);
    assert_int_equal(second.fd, -1);
    upload_record_begin(&second, "upload-2", "as it was", UNIT, false);
    upload_record_part(&second, 0, "etag", NULL);
    upload_record_drop(&second);
    assert_true(sw_file_exists(first.path));
    upload_record_drop(&first);
}

static void only_its_owner_may_read_it(void **state)
{
    struct upload_record record;
    struct stat info;

    (void)state;
    look(&record, "as it was");
    assert_int_equal(stat(record.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    upload_record_drop(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_copy_of_the_same_file_goes_on),
        cmocka_unit_test(another_state_of_the_file_makes_it_stale),
        cmocka_unit_test(what_is_over_is_forgotten),
        cmocka_unit_test(a_second_copy_at_the_same_time_remembers_nothing),
        cmocka_unit_test(only_its_owner_may_read_it),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
