/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_draw.c - a frame of top fits every screen and shows what is selected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "cli/top_internal.h"

static void draw(struct sw_buf *out, const json_t *document, const struct top_log *log, struct top_view *view,
                 size_t columns, size_t rows, bool color)
{
    const struct top_frame frame = { .document = document, .log = log, .note = "", .columns = columns,
                                     .rows = rows, .color = color };

    top_draw(out, &frame, view);
}

static json_t *document_of(size_t count)
{
    json_t *jobs = json_array();

    for (size_t i = 0; i < count; i++) {
        sw_autofree char *id = sw_format("train-%08zu", i);

        json_array_append_new(jobs, sw_json_object(
            SW_STR("id", id), SW_STR("status", i % 2 ? "Error" : "Running"),
            SW_STR("message", "\xe8\xa8\x93\xe7\xb7\xb4 exited with code 3"),
            SW_STR("last_line", "a line that is long enough to be cut on a narrow screen"),
            SW_INT("age_ms", 61000)));
    }
    return sw_json_object(SW_SUB("jobs", jobs));
}

static size_t lines_of(const char *text, size_t *widest)
{
    size_t lines = 0;

    *widest = 0;
    for (;;) {
        size_t length = strcspn(text, "\n");
        sw_auto(sw_buf) struct sw_buf plain = SW_BUF_INIT;

        for (size_t i = 0; i < length; i++)
            if (text[i] == '\033')
                i += strcspn(text + i, "m");
            else
                sw_buf_add_char(&plain, text[i]);
        if (sw_text_columns(sw_buf_text(&plain)) > *widest)
            *widest = sw_text_columns(sw_buf_text(&plain));
        lines++;
        if (!text[length])
            return lines;
        text += length + 1;
    }
}

static void a_frame_fills_the_screen_exactly_and_never_overflows(void **state)
{
    static const struct { size_t columns, rows; } sizes[] = {
        { 80, 24 }, { 200, 50 }, { 40, 10 }, { 20, 6 }, { 132, 7 },
    };
    static struct top_log log;
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    (void)state;
    for (int i = 0; i < 3000; i++)
        sw_buf_addf(&text, "line %d \xe8\xa8\x93\xe7\xb7\xb4 \033[2J and so on until it is wide\n", i);
    top_log_add(&log, text.data, text.length);
    assert_int_equal(log.count, TOP_LOG_LINES);
    for (size_t i = 0; i < SW_COUNT(sizes); i++)
        for (size_t jobs = 0; jobs < 60; jobs += 7)
            for (int mode = 0; mode < 4; mode++) {
                sw_auto(json) json_t *document = document_of(jobs);
                sw_auto(sw_buf) struct sw_buf frame = SW_BUF_INIT;
                struct top_view view = { .selected = jobs, .follow = mode != 2,
                                         .large_log = mode == 1, .scrolled = 5000,
                                         .help = mode == 3 };
                size_t widest;

                draw(&frame, document, &log, &view, sizes[i].columns, sizes[i].rows, mode % 2);
                assert_int_equal(lines_of(sw_buf_text(&frame), &widest), sizes[i].rows);
                assert_int_equal(widest, sizes[i].columns);
                assert_null(strstr(sw_buf_text(&frame), "\033[2J"));
            }
    top_log_clear(&log);
}

static void the_selected_job_is_always_in_sight(void **state)
{
    static struct top_log log;
    sw_auto(json) json_t *document = document_of(40);

    (void)state;
    for (size_t selected = 0; selected < 40; selected++) {
        sw_auto(sw_buf) struct sw_buf frame = SW_BUF_INIT;
        struct top_view view = { .selected = selected };
        sw_autofree char *row = sw_format("\033[7mtrain-%08zu", selected);

        draw(&frame, document, &log, &view, 80, 24, true);
        assert_non_null(strstr(sw_buf_text(&frame), row));
    }
}

static void a_bar_that_draws_itself_again_shows_its_last_state(void **state)
{
    static struct top_log log;
    static const char text[] = "  1%|#   |\r 50%|##  |\r100%|####|\r\nnext\tcolumn\r\n";

    (void)state;
    for (size_t i = 0; i + 1 < sizeof text; i++)
        top_log_add(&log, text + i, 1);
    assert_int_equal(log.count, 2);
    assert_string_equal(top_log_line(&log, 0), "100%|####|");
    assert_string_equal(top_log_line(&log, 1), "next    column");
    top_log_clear(&log);
}

static void jobs_of_several_platforms_say_which(void **state)
{
    static struct top_log log;
    sw_auto(json) json_t *document = document_of(2);
    json_t *jobs = json_object_get(document, "jobs");

    (void)state;
    for (int several = 0; several < 2; several++) {
        sw_auto(sw_buf) struct sw_buf frame = SW_BUF_INIT;
        struct top_view view = { 0 };

        json_object_set_new(json_array_get(jobs, 0), "backend_type", json_string("local"));
        json_object_set_new(json_array_get(jobs, 1), "backend_type",
                            json_string(several ? "slurm" : "local"));
        draw(&frame, document, &log, &view, 80, 24, false);
        assert_int_equal(strstr(sw_buf_text(&frame), "PLATFORM") != NULL, several);
        assert_int_equal(strstr(sw_buf_text(&frame), "slurm") != NULL, several);
    }
}

static json_t *trainings(void)
{
    return json_pack("{s:[{s:s,s:s,s:i,s:s,s:{s:i,s:i,s:i,s:i,s:f}},{s:s,s:s,s:i,s:s}]}", "jobs",
                     "id", "train-aaaaaaaa", "status", "Running", "age_ms", 61000, "last_line", "loss 0.5",
                     "progress", "epoch", 9, "epochs", 100, "step", 12345, "steps", 50000, "fraction", 0.5,
                     "id", "faulty-bbbbbbbb", "status", "Error", "age_ms", 61000,
                     "message", "RuntimeError: CUDA out of memory");
}

/* The second and third line of a frame: the head of the list and its first job. */
static void assert_list(size_t columns, const char *wanted)
{
    static struct top_log log;
    sw_auto(json) json_t *document = trainings();
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    struct top_view view = { .selected = 1, .follow = true };
    const char *from;

    draw(&out, document, &log, &view, columns, 12, false);
    from = strchr(sw_buf_text(&out), '\n') + 1;
    if (!sw_text_starts(from, wanted))
        fail_msg("%s", from);
}

static void the_bar_gives_way_before_the_numbers_and_no_gpu_column_is_empty(void **state)
{
    (void)state;
    assert_list(120,
                "ID               STATE    AGE  PROGRESS                                 MESSAGE\n"
                "train-aaaaaaaa   Running   1m  \xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
                "\xe2\x96\x91\xe2\x96\x91\xe2\x96\x91\xe2\x96\x91\xe2\x96\x91 epoch 9/100 step 12345/50000"
                "  loss 0.5\n");
    assert_list(80,
                "ID               STATE    AGE  PROGRESS                            MESSAGE\n"
                "train-aaaaaaaa   Running   1m  \xe2\x96\x88\xe2\x96\x88\xe2\x96\x91\xe2\x96\x91\xe2\x96\x91"
                " epoch 9/100 step 12345/50000  loss 0.5\n");
    assert_list(75,
                "ID               STATE    AGE  PROGRESS                      MESSAGE\n"
                "train-aaaaaaaa   Running   1m  epoch 9/100 step 12345/50000  loss 0.5\n");
    assert_list(60,
                "ID               STATE    AGE  PROGRESS\n"
                "train-aaaaaaaa   Running   1m  epoch 9/100 step 12345/50000\n");
}

static void a_finished_job_is_not_followed_and_panes_say_what_they_are(void **state)
{
    static struct top_log log;
    sw_auto(json) json_t *document = trainings();
    sw_auto(json) json_t *why = json_pack("{s:s,s:s,s:s,s:[s]}", "id", "faulty-bbbbbbbb", "status", "Error",
                                          "headline", "CUDA out of memory",
                                          "evidence", "Tried to allocate 2 GiB");
    struct top_view view = { .selected = 1, .follow = true };
    struct top_frame frame = { .document = document, .log = &log, .note = "", .columns = 80, .rows = 24 };
    sw_auto(sw_buf) struct sw_buf ended = SW_BUF_INIT, asked = SW_BUF_INIT, told = SW_BUF_INIT;

    (void)state;
    top_draw(&ended, &frame, &view);
    assert_non_null(strstr(sw_buf_text(&ended), " finished "));
    assert_null(strstr(sw_buf_text(&ended), " following "));
    view.pane = TOP_WHY;
    top_draw(&asked, &frame, &view);
    assert_non_null(strstr(sw_buf_text(&asked), "\nasking ...\n"));
    frame.detail = why;
    top_draw(&told, &frame, &view);
    assert_non_null(strstr(sw_buf_text(&told), " why "));
    assert_non_null(strstr(sw_buf_text(&told), "\n  evidence  Tried to allocate 2 GiB\n"));
}

static void a_filter_keeps_the_jobs_that_hold_its_text(void **state)
{
    static const struct { const char *filter; size_t count; } cases[] = {
        { "", 2 }, { "train", 1 }, { "ERROR", 1 }, { "cuda", 1 }, { "n-a", 1 }, { "nothing", 0 },
    };
    sw_auto(json) json_t *document = trainings();

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(json) json_t *some = top_filtered(document, cases[i].filter);

        assert_int_equal(json_array_size(json_object_get(some, "jobs")), cases[i].count);
    }
    assert_null(top_filtered(NULL, "x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_fills_the_screen_exactly_and_never_overflows),
        cmocka_unit_test(the_selected_job_is_always_in_sight),
        cmocka_unit_test(a_bar_that_draws_itself_again_shows_its_last_state),
        cmocka_unit_test(jobs_of_several_platforms_say_which),
        cmocka_unit_test(the_bar_gives_way_before_the_numbers_and_no_gpu_column_is_empty),
        cmocka_unit_test(a_finished_job_is_not_followed_and_panes_say_what_they_are),
        cmocka_unit_test(a_filter_keeps_the_jobs_that_hold_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
