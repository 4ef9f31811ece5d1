/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_checkpoint.c - what names say, which checkpoint is meant, and which one is complete.
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

static void a_name_tells_its_epoch(void **state)
{
    static const struct {
        const char *path;
        int64_t epoch;
    } rows[] = {
        { "/results/train/model-best-012.ckpt", 12 },        /* golden vector 20 */
        { "model_epoch_012.pth", 12 },
        { "checkpoint-epoch7.pth", 7 },
        { "checkpointepoch_7.pth", 7 },
        { "MODEL_EPOCH_003.PTH", 3 },
        { "a\\epoch_4\\x.pth", 4 },
        { "run/ep_9/step_100.pth", 9 },
        { "epoch_2/epoch_5.pth", 5 },                        /* the largest counts */
        { "preepoch_4.pth", SW_NO_POSITION },                /* not at the start of a word */
        { "my.epoch4", 4 },
        { "deep_9.pth", SW_NO_POSITION },                    /* "ep" inside of a word */
        { "model_best_000.pth", 0 },
        { "/c/000120", 120 },
        { "/c/120.pth", 120 },
        { "/c/120.txt", SW_NO_POSITION },
        { "model_latest.pth", SW_NO_POSITION },
        { "epoch_99999999999999999999.pth", SW_NO_POSITION },
        { "", SW_NO_POSITION },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++)
        if (sw_checkpoint_epoch(rows[i].path) != rows[i].epoch)
            fail_msg("epoch of '%s' is %lld", rows[i].path,
                     (long long)sw_checkpoint_epoch(rows[i].path));
    assert_int_equal(sw_checkpoint_step("epoch_3-step_0042.ckpt"), 42);
    assert_int_equal(sw_checkpoint_step("iter-7/iteration_12.pth"), 12);
    assert_int_equal(sw_checkpoint_step("epoch_3.pth"), SW_NO_POSITION);
}

#define FILE_AT(p, m) { .path = (char *)(p), .mtime_ms = (m) }
#define FOLDER_AT(p, m) { .path = (char *)(p), .mtime_ms = (m), .is_directory = true }
#define ANY .epoch = SW_NO_POSITION, .step = SW_NO_POSITION

static const char *selected(const struct sw_checkpoint *items, size_t count,
                            struct sw_checkpoint_choice choice)
{
    const struct sw_checkpoint *one = sw_checkpoint_select(items, count, &choice);

    return one ? one->path : "none";
}

static void the_epoch_asked_for_wins_or_the_one_before(void **state)
{
    static const struct sw_checkpoint best_and_latest[] = {
        FILE_AT("model_best_000.pth", 1), FILE_AT("model_latest.pth", 2),
    };
    static const struct sw_checkpoint many[] = {
        FILE_AT("/r/model_epoch_003.pth", 9), FILE_AT("/r/model_epoch_004.pth", 1),
        FILE_AT("/r/model_epoch_005.pth", 2),
    };

    (void)state;
    assert_string_equal(selected(best_and_latest, 2,
                                 (struct sw_checkpoint_choice){ .action = "resume", .epoch = 1,
                                                              .step = SW_NO_POSITION }),
                        "model_best_000.pth");               /* golden vector 19 */
    assert_string_equal(selected(many, 3, (struct sw_checkpoint_choice){
                                              .epoch = 4, .step = SW_NO_POSITION }),
                        "/r/model_epoch_004.pth");
    assert_string_equal(selected(many, 3, (struct sw_checkpoint_choice){
                                              .epoch = 6, .step = SW_NO_POSITION }),
                        "/r/model_epoch_005.pth");
    assert_string_equal(selected(many, 3, (struct sw_checkpoint_choice){
                                              .epoch = 9, .step = SW_NO_POSITION }),
                        "none");
    assert_string_equal(selected(many, 3, (struct sw_checkpoint_choice){ ANY }),
                        "/r/model_epoch_005.pth");
}

static void latest_is_the_last_resort(void **state)
{
    static const struct sw_checkpoint latest[] = {
        FILE_AT("/r/model_latest.pth", 5), FILE_AT("/r/old_latest.pth", 3),
    };

    (void)state;
    assert_string_equal(selected(latest, 2, (struct sw_checkpoint_choice){ ANY }),
                        "/r/model_latest.pth");
    assert_string_equal(selected(latest, 2, (struct sw_checkpoint_choice){ ANY, .no_latest = true }),
                        "none");
    assert_string_equal(selected(NULL, 0, (struct sw_checkpoint_choice){ ANY }), "none");
}

static void the_action_says_what_is_best(void **state)
{
    static const struct sw_checkpoint files[] = {
        FILE_AT("/r/model_epoch_010.pth", 1), FILE_AT("/r/model_best_003.pth", 1),
        FILE_AT("/r/student_epoch_011.pth", 1), FILE_AT("/r/epoch_2/", 1),
    };

    (void)state;
    assert_string_equal(selected(files, 3, (struct sw_checkpoint_choice){ ANY,
                                                                        .action = "evaluate" }),
                        "/r/model_best_003.pth");
    assert_string_equal(selected(files, 3, (struct sw_checkpoint_choice){
                                               ANY, .action = "train", .model = "nvdinov2" }),
                        "/r/model_epoch_010.pth");
    assert_string_equal(selected(files, 3, (struct sw_checkpoint_choice){ ANY, .action = "train" }),
                        "/r/student_epoch_011.pth");
}

static void directories_count_where_they_are_wanted(void **state)
{
    static const struct sw_checkpoint both[] = {
        FOLDER_AT("/r/epoch_9", 1), FILE_AT("/r/checkpoints/epoch_8.pth", 1),
    };

    (void)state;
    assert_string_equal(selected(both, 2, (struct sw_checkpoint_choice){ ANY }),
                        "/r/checkpoints/epoch_8.pth");
    assert_string_equal(selected(both, 2, (struct sw_checkpoint_choice){ ANY, .action = "resume" }),
                        "/r/checkpoints/epoch_8.pth");       /* a file is preferred, still */
    assert_string_equal(selected(both, 2, (struct sw_checkpoint_choice){ ANY,
                                                                       .prefer_directory = true }),
                        "/r/epoch_9");
}

/* ---- files --------------------------------------------------------------------------------- */

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

static void a_scan_finds_checkpoints_and_passes_over_inputs(void **state)
{
    const struct place *here = *state;
    sw_auto(sw_checkpoints) struct sw_checkpoints all = { 0 };

    make_text(here, "train/model_epoch_1.PTH", "x", 0);
    make_text(here, "train/notes.txt", "x", 0);
    make_text(here, "inputs/old.pth", "x", 0);
    make_text(here, "a/ptm/old.pth", "x", 0);
    make_text(here, "epoch_3/shard", "x", 0);
    assert_int_equal(sw_checkpoints_scan(here->folder, false, &all, NULL), 0);
    assert_int_equal(all.count, 1);
    sw_checkpoints_done(&all);
    assert_int_equal(sw_checkpoints_scan(here->folder, true, &all, NULL), 0);
    assert_int_equal(all.count, 2);
}

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
        cmocka_unit_test(a_name_tells_its_epoch),
        cmocka_unit_test(the_epoch_asked_for_wins_or_the_one_before),
        cmocka_unit_test(latest_is_the_last_resort),
        cmocka_unit_test(the_action_says_what_is_best),
        cmocka_unit_test(directories_count_where_they_are_wanted),
        CLAIM(a_scan_finds_checkpoints_and_passes_over_inputs),
        CLAIM(the_newest_complete_one_is_found),
        CLAIM(one_that_was_cut_off_never_wins),
        CLAIM(markers_and_manifests_are_believed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
