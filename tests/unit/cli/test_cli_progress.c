/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_progress.c - progress and GPU use are shown as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "cli/cli_progress.h"

#define NOW_MS 1000000

static int64_t pretended(void)
{
    return NOW_MS;
}

static json_t *job_with(const char *json)
{
    json_t *job = json_loads(json, 0, NULL);

    assert_non_null(job);
    return job;
}

static void words_and_pace_tell_what_is_known_and_nothing_else(void **state)
{
    static const struct { const char *job, *words, *pace; } cases[] = {
        { "{}", "", "" },
        { "{\"progress\":null}", "", "" },
        { "{\"progress\":{\"epoch\":3,\"epochs\":10,\"fraction\":0.25},\"duration_ms\":60000}",
          "epoch 3/10", "3m left" },
        { "{\"progress\":{\"epoch\":3,\"step\":5}}", "epoch 3 step 5", "" },
        { "{\"progress\":{\"step\":120,\"steps\":1000,\"fraction\":0.12,\"rate\":1.25,"
          "\"fraction_of_epoch\":true}}", "step 120/1000", "1.2 steps/s, 11m left in this epoch" },
        { "{\"progress\":{\"step\":1,\"steps\":3,\"rate\":0.02,\"fraction\":0.3}}", "step 1/3",
          "50.0 s/step" },
        { "{\"progress\":{\"fraction\":0.42}}", "42%", "" },
        { "{\"progress\":{\"fraction\":0.5,\"seen_at\":\"1970-01-01T00:15:40Z\"},\"duration_ms\":120000}",
          "50%", "0s left" },
        { "{\"progress\":{\"fraction\":0.5,\"seen_at\":\"1970-01-01T00:16:30Z\"},\"duration_ms\":70000}",
          "50%", "50s left" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(json) json_t *job = job_with(cases[i].job);
        sw_auto(sw_buf) struct sw_buf words = SW_BUF_INIT, pace = SW_BUF_INIT;
        struct cli_progress progress;

        assert_int_equal(cli_progress_read(job, &progress), *cases[i].words != '\0');
        cli_progress_words(&words, &progress);
        cli_progress_pace(&pace, &progress);
        assert_string_equal(sw_buf_text(&words), cases[i].words);
        assert_string_equal(sw_buf_text(&pace), cases[i].pace);
    }
}

static void a_bar_is_never_longer_than_itself(void **state)
{
    static const struct { double share; size_t full; } cases[] = {
        { -1, 0 }, { 0, 0 }, { 0.3, 3 }, { 0.99, 9 }, { 1, 10 }, { 7, 10 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_buf) struct sw_buf bar = SW_BUF_INIT;
        size_t full = 0;

        cli_progress_bar(&bar, cases[i].share, 10);
        for (const char *c = sw_buf_text(&bar); (c = strstr(c, "\xe2\x96\x88")); c++)
            full++;
        assert_int_equal(bar.length, 30);
        assert_int_equal(full, cases[i].full);
    }
}

static void gpu_use_is_the_mean_of_all_and_their_memory_together(void **state)
{
    sw_auto(json) json_t *job = job_with(
        "{\"live\":{\"gpus\":["
        "{\"used_percent\":90,\"memory_used\":1073741824,\"memory_total\":85899345920},"
        "{\"used_percent\":70,\"memory_used\":3221225472,\"memory_total\":85899345920}]}}");
    sw_auto(json) json_t *none = job_with("{}");
    sw_autofree char *cell = cli_gpu_cell(job), *empty = cli_gpu_cell(none);

    (void)state;
    assert_string_equal(cell, "80% 4/160G");
    assert_string_equal(empty, "");
}

static void a_metric_is_read_from_a_line_that_surely_has_one(void **state)
{
    static const struct { const char *line, *words; } cases[] = {
        { "Epoch 3/10 loss 0.25", " loss 0.25" },
        { "step=3 lr=1e-4 train_loss=2.5e-3, acc=0.9", " train_loss 2.5e-3" },
        { "{'loss': 1.75, 'epoch': 2}", " loss 1.75" },
        { "val accuracy: 0.91", " accuracy 0.91" },
        { "Loss = nan", " Loss nan" },
        { "45/100 [====>..] - loss: 0.3", " loss 0.3" },
        { "loss of node 3", "" },
        { "glossary 3", "" },
        { "loss 3/10", "" },
        { "loss", "" },
        { "loss at 0x3", "" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

        cli_metric_words(&out, cases[i].line);
        assert_string_equal(sw_buf_text(&out), cases[i].words);
    }
    cli_metric_words(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_pace_tell_what_is_known_and_nothing_else),
        cmocka_unit_test(a_bar_is_never_longer_than_itself),
        cmocka_unit_test(gpu_use_is_the_mean_of_all_and_their_memory_together),
        cmocka_unit_test(a_metric_is_read_from_a_line_that_surely_has_one),
    };

    sw_clock_pretend(pretended);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
