/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_progress.c - lines as real programs print them, and lines that only look like progress.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/auto.h"
#include "core/progress.h"

enum { NOW_MS = 1000 };

static const struct {
    const char *log;
    int64_t epoch, epochs, step, steps;
    double fraction;
} readings[] = {
    /* plain prints */
    { "Epoch 3/10\n", 3, 10, -1, 0, 0.2 },
    { "Epoch: 5\n", 5, 0, -1, 0, -1 },
    { "Epoch [5/10], Loss: 0.1234\n", 5, 10, -1, 0, 0.4 },
    { "epoch=3\n", 3, 0, -1, 0, -1 },
    { "epoch = 3, loss = 0.5\n", 3, 0, -1, 0, -1 },
    { "EPOCH 4 of 8\n", 4, 8, -1, 0, 0.375 },
    { "Epoch #2/4\n", 2, 4, -1, 0, 0.25 },
    { "Epoch 0/24\n----------\ntrain Loss: 0.5 Acc: 0.7\nEpoch 12/24\n", 12, 24, -1, 0, 0.5 },
    { "step 120/1000\n", -1, 0, 120, 1000, 0.12 },
    { "Step: 120\n", -1, 0, 120, 0, -1 },
    { "step=120 loss=2.3\n", -1, 0, 120, 0, -1 },
    { "iter 40/200\n", -1, 0, 40, 200, 0.2 },
    { "Step 30 of 60, lr 1e-4\n", -1, 0, 30, 60, 0.5 },
    { "Epoch 2/4 | step 50/100 | loss 0.3\n", 2, 4, 50, 100, 0.375 },
    { "[2026-05-21 22:50:54] Epoch 3/10 Batch 25/100 loss 0.7\n", 3, 10, 25, 100, 0.225 },
    { "INFO:root:Epoch 7/20 started\n", 7, 20, -1, 0, 0.3 },
    { "\033[32mEpoch 3/10\033[0m\n", 3, 10, -1, 0, 0.2 },
    { "{\"epoch\": 4, \"loss\": 0.2}\n", 4, 0, -1, 0, -1 },
    { "Epoch 00003: val_loss improved from 0.52 to 0.49, saving model\n", 3, 0, -1, 0, -1 },
    /* nanoGPT, Megatron, detectron2, torchvision, mmengine, the MNIST example */
    { "iter 100: loss 2.3456, time 12.30ms, mfu 1.20%\n", -1, 0, 100, 0, -1 },
    { "step 250: train loss 2.5012, val loss 2.6001\n", -1, 0, 250, 0, -1 },
    { " iteration      100/  500 | consumed samples:  25600 | lm loss: 8.1E+00 |\n",
      -1, 0, 100, 500, 0.2 },
    { "[05/21 22:50:54 d2.utils.events]:  eta: 0:12:00  iter: 19  total_loss: 2.1  lr: 0.00025\n",
      -1, 0, 19, 0, -1 },
    { "Epoch: [1]  [  40/200]  eta: 0:05:00  lr: 0.010000  loss: 0.5 (0.6)\n",
      1, 0, 40, 200, 0.2 },
    { "05/21 22:50:54 - mmengine - INFO - Epoch(train)  [2][ 50/100]  lr: 1.0e-02  loss: 0.4\n",
      2, 0, 50, 100, 0.5 },
    { "Train Epoch: 3 [6400/64000 (10%)]\tLoss: 0.304162\n", 3, 0, 6400, 64000, 0.1 },
    /* tqdm: redrawn with carriage returns */
    { "  0%|          | 0/1000 [00:00<?, ?it/s]\r 45%|████▌     | 450/1000 [00:12<00:15, "
      "35.20it/s]\r", -1, 0, 450, 1000, 0.45 },
    { "100%|██████████| 1000/1000 [00:28<00:00, 35.2it/s]\n", -1, 0, 1000, 1000, 1 },
    { "Training:  20%|██        | 20/100 [00:12<00:48,  1.65it/s, loss=0.4]\n",
      -1, 0, 20, 100, 0.2 },
    { "450it [00:12, 35.20it/s]\n", -1, 0, 450, 0, -1 },
    /* Lightning */
    { "Epoch 3:  45%|████▌     | 45/100 [00:12<00:15,  3.52it/s, v_num=0, train_loss=0.512]\r",
      3, 0, 45, 100, 0.45 },
    { "Epoch 1/5:  50%|█████     | 50/100 [00:25<00:25,  2.00it/s]\n", 1, 5, 50, 100, 0.1 },
    /* the Hugging Face Trainer: one bar over the whole run, epochs with a part */
    { "{'loss': 0.5, 'grad_norm': 1.2, 'learning_rate': 4e-05, 'epoch': 1.23}\n",
      1, 0, -1, 0, -1 },
    { "{'loss': 0.5, 'epoch': 2.0}\r 66%|██████▋   | 660/1000 [01:00<00:31, 11.00it/s]\r",
      2, 0, 660, 1000, 0.66 },
    /* Keras and TAO */
    { "Epoch 3/10\n 45/100 [============>.................] - ETA: 5s - loss: 0.5\b\b\b",
      3, 10, 45, 100, 0.245 },
    { "Epoch 1/2\n\033[1m50/100\033[0m \033[32m━━━━━━\033[0m\033[37m━━━━\033[0m \033[1m2s\033[0m "
      "40ms/step - loss: 0.6\r", 1, 2, 50, 100, 0.25 },
    { "100/100 [==============================] - 12s 120ms/step - loss: 0.4\n",
      -1, 0, 100, 100, 1 },
    /* a new epoch forgets the steps of the old one */
    { "Epoch 1/2\n100/100 [=====] - 1s\nEpoch 2/2\n", 2, 2, -1, 0, 0.5 },
};

static const char *const not_progress[] = {
    "Christmas is 12/25\n",
    "add 3/4 cups of flour\n",
    "2026-05-21 22:50:54 starting\n",
    "/data/epoch/3/10/model.pt\n",
    "saved /ckpt/epoch=3-step=120.ckpt\n",
    "--epochs 10 --steps=1000\n",
    "num_epochs: 10\n",
    "max_epoch=10\n",
    "lr_step=30\n",
    "training for 10 epochs\n",
    "epochs: 10\n",
    "warmup steps 500\n",
    "batch size 32\n",
    "batch: 32\n",
    "Epoch 3/10/2026\n",
    "Epoch 30/10\n",
    "epoch 1716300000\n",
    "Epoch: 2026-05-21\n",
    "best epoch: 7\n",
    "Best val acc 0.91 at epoch 7\n",
    "resuming from epoch 5\n",
    "evaluate every epoch 5\n",
    "Step 2/7 : RUN pip install torch\n",
    "Step 1: install the packages\n",
    "Step 1. Prepare the data\n",
    "Step 3 install torch 2.1\n",
    "+ python train.py epoch=10\n",
    "$ run step 3/4\n",
    "epoch\n",
    "step\n",
    "Epoch NaN/10\n",
    "Epoch 3.5.1\n",
    "Epoch 3abc\n",
    "Epoch 99999999999999999999999/10\n",
    "Loading checkpoint shards:  50%|█████     | 1/2 [00:05<00:05,  5.01s/it]\n",
    "Downloading model.safetensors:  45%|████▌     | 450M/1.00G [00:12<00:15, 35.2MB/s]\n",
    "Map:  10%|█         | 1000/10000 [00:01<00:09, 950.00 examples/s]\n",
    "Validation DataLoader 0:  50%|█████     | 5/10 [00:01<00:01,  4.00it/s]\n",
    "Sanity Checking DataLoader 0: 100%|██████████| 2/2 [00:00<00:00,  9.00it/s]\n",
    "Epoch(val)  [2][ 50/100]  loss: 0.4\n",
    "100%| done |\n",
    "%|%|%|\n",
    "12/25 [a note]\n",
    "1/2 [] \n",
    "GPU 0 at 45% | 30/80 GiB\n",
    "",
    "\n\n\r\r\b\b",
};

static void feed_all(struct sw_progress_reader *reader, const char *log, size_t piece)
{
    size_t length = strlen(log);

    for (size_t at = 0; at < length; at += piece)
        sw_progress_feed(reader, log + at, length - at < piece ? length - at : piece, NOW_MS);
}

static void expect_reading(size_t i, size_t piece)
{
    struct sw_progress_reader reader = SW_PROGRESS_READER_INIT;

    feed_all(&reader, readings[i].log, piece);
    sw_progress_end(&reader, NOW_MS);
    if (reader.now.epoch != readings[i].epoch || reader.now.step != readings[i].step ||
        fabs(reader.now.fraction - readings[i].fraction) > 1e-9)
        print_message("in pieces of %zu: %s\n", piece, readings[i].log);
    assert_int_equal(reader.now.epoch, readings[i].epoch);
    assert_int_equal(reader.now.epochs, readings[i].epochs);
    assert_int_equal(reader.now.step, readings[i].step);
    assert_int_equal(reader.now.steps, readings[i].steps);
    assert_true(fabs(reader.now.fraction - readings[i].fraction) < 1e-9);
    assert_int_equal(reader.now.seen_ms, NOW_MS);
    assert_null(reader.partial);
    sw_progress_reader_done(&reader);
}

static void what_real_programs_print_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(readings); i++)
        expect_reading(i, 1 << 20);
}

static void it_does_not_matter_where_the_bytes_are_cut(void **state)
{
    static const size_t pieces[] = { 1, 2, 3, 7, 64 };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(readings); i++) {
        for (size_t k = 0; k < SW_COUNT(pieces); k++)
            expect_reading(i, pieces[k]);
    }
}

static void what_only_looks_like_progress_is_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(not_progress); i++) {
        struct sw_progress_reader reader = SW_PROGRESS_READER_INIT;
        bool found = sw_progress_feed(&reader, not_progress[i], strlen(not_progress[i]), NOW_MS);

        if (found)
            print_message("read as progress: %s", not_progress[i]);
        assert_false(found);
        assert_false(sw_progress_end(&reader, NOW_MS));
        assert_int_equal(reader.now.seen_ms, 0);
        sw_progress_reader_done(&reader);
    }
}

static void half_a_number_is_never_read(void **state)
{
    struct sw_progress_reader reader = SW_PROGRESS_READER_INIT;

    (void)state;
    assert_false(sw_progress_feed(&reader, "step 12", 7, NOW_MS));
    assert_int_equal(reader.now.step, -1);
    assert_true(sw_progress_feed(&reader, "0/1000\nst", 9, NOW_MS));
    assert_int_equal(reader.now.step, 120);
    sw_progress_reader_done(&reader);
}

static void a_bar_tells_its_rate(void **state)
{
    static const struct { const char *log; double rate; } rates[] = {
        { " 45%|####      | 45/100 [00:12<00:15, 3.50it/s]\n", 3.5 },
        { " 45%|####      | 45/100 [00:12<00:15, 2.00s/it]\n", 0.5 },
        { " 45%|####      | 45/100 [00:12<00:15, 12it/s, loss=1]\n", 12 },
        { "  0%|          | 0/100 [00:00<?, ?it/s]\n", 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rates); i++) {
        struct sw_progress_reader reader = SW_PROGRESS_READER_INIT;

        assert_true(sw_progress_feed(&reader, rates[i].log, strlen(rates[i].log), NOW_MS));
        assert_true(fabs(reader.now.rate - rates[i].rate) < 1e-9);
    }
}

static void a_fraction_of_one_epoch_says_so(void **state)
{
    struct sw_progress_reader reader = SW_PROGRESS_READER_INIT;
    static const char log[] = "Epoch 3:  45%|####      | 45/100 [00:12<00:15,  3.52it/s]\n";

    (void)state;
    sw_progress_feed(&reader, log, sizeof log - 1, NOW_MS);
    assert_true(reader.now.fraction_of_epoch);
    sw_progress_feed(&reader, "Epoch 4/8\n", 10, NOW_MS);
    assert_false(reader.now.fraction_of_epoch);
}

static void an_endless_line_keeps_four_kilobytes(void **state)
{
    struct sw_progress_reader reader = SW_PROGRESS_READER_INIT;
    char block[1000];

    (void)state;
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 1000; i++)
        sw_progress_feed(&reader, block, sizeof block, NOW_MS);
    assert_true(reader.partial_room <= 4096);
    assert_true(sw_progress_feed(&reader, "Epoch 1/2\nEpoch 2/2\n", 20, NOW_MS));
    assert_int_equal(reader.now.epoch, 2);
    assert_null(reader.partial);
    sw_progress_reader_done(&reader);
}

static void no_milestone_between_two_readings_is_missed(void **state)
{
    static const int64_t expected[] = { 10, 20, 30 };
    int64_t at = 3;
    size_t n = 0;

    (void)state;
    while ((at = sw_progress_milestone(at, 34, 10)) >= 0)
        assert_int_equal(at, expected[n++]);
    assert_int_equal(n, 3);
    assert_int_equal(sw_progress_milestone(10, 10, 10), -1);    /* each is reported once */
    assert_int_equal(sw_progress_milestone(9, 10, 10), 10);
    assert_int_equal(sw_progress_milestone(-1, 0, 10), -1);     /* epoch 0 is none */
    assert_int_equal(sw_progress_milestone(-1, 1, 1), 1);
    assert_int_equal(sw_progress_milestone(5, 3, 1), -1);
    assert_int_equal(sw_progress_milestone(0, 100, 0), -1);
    assert_int_equal(sw_progress_milestone(INT64_MAX - 5, INT64_MAX, 10), -1);
}

static void a_restart_in_the_same_log_lowers_the_epoch_but_not_the_highest(void **state)
{
    struct sw_progress_reader reader = SW_PROGRESS_READER_INIT;
    static const char log[] = "Epoch 12/20\nEpoch 3/20\n";

    (void)state;
    sw_progress_feed(&reader, log, sizeof log - 1, NOW_MS);
    assert_int_equal(reader.now.epoch, 3);
    assert_int_equal(reader.highest_epoch, 12);
}

/* Cut at every line's end, saved, restored, fed on: the end is the same. */
static void a_new_watcher_goes_on_where_the_old_one_was_killed(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(readings); i++) {
        for (size_t cut = 0; cut <= strlen(readings[i].log); cut++) {
            struct sw_progress_reader reader = SW_PROGRESS_READER_INIT;
            struct sw_progress_reader heir = SW_PROGRESS_READER_INIT;
            sw_auto(json) json_t *saved = NULL;

            sw_progress_feed(&reader, readings[i].log, cut, NOW_MS);
            saved = sw_progress_json(&reader);
            sw_progress_restore(&heir, saved);
            feed_all(&heir, readings[i].log + cut - reader.pending_bytes, 5);
            sw_progress_end(&heir, NOW_MS);
            assert_int_equal(heir.now.epoch, readings[i].epoch);
            assert_int_equal(heir.now.step, readings[i].step);
            assert_int_equal(heir.now.steps, readings[i].steps);
            assert_true(fabs(heir.now.fraction - readings[i].fraction) < 1e-9);
            sw_progress_reader_done(&reader);
            sw_progress_reader_done(&heir);
        }
    }
}

static void a_damaged_record_is_no_progress(void **state)
{
    static const char *const records[] = {
        "{}", "[]", "{\"epoch\": -5, \"step\": \"x\", \"fraction\": 7, \"rate\": -1}",
        "{\"epoch\": 9223372036854775807, \"counts\": 3, \"highest_epoch\": {}}",
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(records); i++) {
        sw_auto(json) json_t *record = json_loads(records[i], 0, NULL);
        struct sw_progress_reader reader;

        sw_progress_restore(&reader, record);
        assert_int_equal(reader.now.epoch, -1);
        assert_int_equal(reader.now.step, -1);
        assert_int_equal(reader.highest_epoch, -1);
        assert_true(reader.now.fraction < 0);
        assert_true(reader.now.rate >= 0);
    }
    sw_progress_restore(&(struct sw_progress_reader){ 0 }, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_real_programs_print_is_read),
        cmocka_unit_test(it_does_not_matter_where_the_bytes_are_cut),
        cmocka_unit_test(what_only_looks_like_progress_is_left_alone),
        cmocka_unit_test(half_a_number_is_never_read),
        cmocka_unit_test(a_bar_tells_its_rate),
        cmocka_unit_test(a_fraction_of_one_epoch_says_so),
        cmocka_unit_test(an_endless_line_keeps_four_kilobytes),
        cmocka_unit_test(no_milestone_between_two_readings_is_missed),
        cmocka_unit_test(a_restart_in_the_same_log_lowers_the_epoch_but_not_the_highest),
        cmocka_unit_test(a_new_watcher_goes_on_where_the_old_one_was_killed),
        cmocka_unit_test(a_damaged_record_is_no_progress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
