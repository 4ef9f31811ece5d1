/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_partial.c - files that are arriving: hidden, resumable, and never two under one name.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "storage/partial.h"

struct place {
    char folder[64], path[128];
};

static int make_place(void **state)
{
    struct place *place = sw_new(struct place);

    strcpy(place->folder, "/tmp/test-partial-XXXXXX");
    if (!mkdtemp(place->folder))
        return -1;
    strcpy(place->path, place->folder);
    strcat(place->path, "/deep/file.bin");
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    int result = sw_remove_tree(place->folder, NULL);

    free(place);
    return result;
}

static size_t names_beside(const struct place *place)
{
    sw_autofree char *folder = sw_format("%s/deep", place->folder);
    DIR *names = opendir(folder);
    size_t count = 0;

    assert_non_null(names);
    while (readdir(names))
        count++;
    closedir(names);
    return count - 2;
}

/* For the sanitizers: the count of units must not overflow on its way to the refusal. */
static void a_size_that_no_file_has_is_refused(void **state)
{
    struct place *place = *state;
    struct partial partial = PARTIAL_INIT;
    struct sw_error err = { 0 };

    assert_int_equal(partial_open(&partial, place->path, "v", INT64_MAX, 1 << 25, &err), -1);
    assert_int_equal(err.code, SW_E_REFUSED);
    partial_done(&partial, false);
}

static void a_file_has_its_name_only_when_it_is_whole(void **state)
{
    struct place *place = *state;
    struct partial partial;
    struct stat info;

    assert_int_equal(partial_open(&partial, place->path, "v1", 8, 4, NULL), 0);
    assert_int_equal(partial.unit_count, 2);
    assert_int_equal(pwrite(partial.fd, "12345678", 8, 0), 8);
    assert_int_equal(access(place->path, F_OK), -1);
    assert_int_equal(partial_land(&partial, 1234567890123, false, NULL), 0);
    partial_done(&partial, false);
    assert_int_equal(stat(place->path, &info), 0);
    assert_int_equal(info.st_size, 8);
    assert_int_equal(info.st_mtim.tv_sec, 1234567890);
    assert_int_equal(names_beside(place), 1);
}

static void the_same_version_goes_on_and_another_begins_again(void **state)
{
    struct place *place = *state;
    struct partial partial;

    assert_int_equal(partial_open(&partial, place->path, "v1", 10, 4, NULL), 0);
    partial_got(&partial, 1, "v1");
    partial_done(&partial, true);
    assert_int_equal(partial_open(&partial, place->path, "v1", 10, 4, NULL), 0);
    assert_false(partial_has(&partial, 0));
    assert_true(partial_has(&partial, 1));
    partial_done(&partial, true);
    assert_int_equal(partial_open(&partial, place->path, "v2", 10, 4, NULL), 0);
    assert_false(partial_has(&partial, 1));
    partial_done(&partial, false);
    assert_int_equal(names_beside(place), 0);
}

static void two_copies_of_one_file_do_not_meet(void **state)
{
    struct place *place = *state;
    struct partial first, second;

    assert_int_equal(partial_open(&first, place->path, "v1", 8, 4, NULL), 0);
    assert_int_equal(partial_open(&second, place->path, "v1", 8, 4, NULL), 0);
    assert_string_not_equal(first.part, second.part);
    assert_null(second.state);
    assert_int_equal(partial_land(&second, 0, false, NULL), 0);
    assert_int_equal(partial_land(&first, 0, false, NULL), 0);
    partial_done(&second, false);
    partial_done(&first, false);
    assert_int_equal(names_beside(place), 1);
}

static void a_small_file_is_written_at_once(void **state)
{
    struct place *place = *state;
    sw_autofree char *text = NULL;

    assert_int_equal(partial_write(place->path, "hello", 5, 1000, true, NULL), 0);
    text = sw_file_read(place->path, 100, NULL, NULL);
    assert_string_equal(text, "hello");
    assert_int_equal(names_beside(place), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_size_that_no_file_has_is_refused, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_file_has_its_name_only_when_it_is_whole, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(the_same_version_goes_on_and_another_begins_again,
                                        make_place, remove_place),
        cmocka_unit_test_setup_teardown(two_copies_of_one_file_do_not_meet, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_small_file_is_written_at_once, make_place, remove_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
