/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_checkpoint.c - which checkpoint is the newest complete one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/file.h"
#include "core/checkpoint.h"

struct place {
    char folder[64];
};

static int place_open(void **state)
{
    struct place *here = sw_new(struct place);

    snprintf(here->folder, sizeof here->folder, "/tmp/slipway-ckpt-XXXXXX");
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

static void make(const struct place *here, const char *name, const void *bytes, size_t length,
                 int64_t age_s)
{
    sw_autofree char *path = sw_path_join(here->folder, name);
    sw_autofree char *folder = sw_strndup(path, (size_t)(strrchr(path, '/') - path));
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { sw_now_ms() / 1000 - age_s, 0 } };

    assert_int_equal(sw_mkdirs(folder, 0755, NULL), 0);
    assert_int_equal(sw_file_write(path, bytes, length, 0644, NULL), 0);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void make_text(const struct place *here, const char *name, const char *text, int64_t age_s)
{
    make(here, name, text, strlen(text), age_s);
}

static void expect_newest(const struct place *here, const char *name)
{
    const char *folders[] = { here->folder, "/no/such/folder" };
    sw_autofree char *path = sw_checkpoint_newest_complete(folders, 2, 20);

    if (!name) {
        assert_null(path);
        return;
    }
    assert_non_null(path);
    assert_string_equal(path + strlen(here->folder) + 1, name);
}

/* The smallest zip there is, as torch.save begins and ends one. */
static const char zip[] = "PK\3\4" "0123456789"
                          "PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
static const char tensors[] = "\x35\0\0\0\0\0\0\0"
                              "{\"w\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}abcd";

static void the_newest_complete_one_is_found(void **state)
{
    const struct place *here = *state;

    expect_newest(here, NULL);
    make_text(here, "a/model_1.pth", "one", 50);
    make_text(here, "a/model_2.pth", "two", 40);
    make_text(here, "a/model_3.pth", "", 30);                    /* empty */
    make_text(here, "a/model_4.pth.tmp", "x", 20);
    make_text(here, "inputs/model_5.pth", "x", 10);
    make_text(here, "a/.model_6.pth", "x", 10);
    expect_newest(here, "a/model_2.pth");
}

static void one_that_was_cut_off_never_wins(void **state)
{
    const struct place *here = *state;

    make(here, "c/whole.pth", zip, sizeof zip - 1, 50);
    make(here, "c/cut.pth", zip, sizeof zip - 1 - 5, 40);
    expect_newest(here, "c/whole.pth");
    make(here, "c/cut.safetensors", tensors, sizeof tensors - 1 - 2, 30);
    expect_newest(here, "c/whole.pth");
    make(here, "c/whole.safetensors", tensors, sizeof tensors - 1, 20);
    expect_newest(here, "c/whole.safetensors");
}

static void markers_and_manifests_are_believed(void **state)
{
    const struct place *here = *state;

    make_text(here, "m/1.ckpt", "one", 50);
    make_text(here, "m/2.ckpt", "two", 40);
    make_text(here, "m/manifest.json", "{\"files\":[{\"path\":\"2.ckpt\",\"size\":30}]}", 0);
    expect_newest(here, "m/1.ckpt");
    make_text(here, "n/3.ckpt", "three", 30);
    make_text(here, "m/1.ckpt.done", "", 0);
    expect_newest(here, "m/1.ckpt");                             /* the only one with a marker */
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, place_open, place_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(the_newest_complete_one_is_found),
        CLAIM(one_that_was_cut_off_never_wins),
        CLAIM(markers_and_manifests_are_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
