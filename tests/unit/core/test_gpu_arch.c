/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_arch.c - GPU architectures in every spelling, and which image runs on which GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/finding.h"
#include "core/gpu_arch.h"

static const struct { const char *said, *read; } spellings[] = {
    { "8.0\n12.1", "sm_80, sm_121" },
    { "compute_cap\n9.0\n9.0\n", "sm_90" },
    { "sm_80 sm-86,sm89;SM_90", "sm_80, sm_86, sm_89, sm_90" },
    { "7.5 8.0 9.0+PTX", "sm_75, sm_80, sm_90+PTX" },
    { "80-real;90-virtual;90a", "sm_80, sm_90+PTX" },
    { "10.0f 100", "sm_100" },
    { "native all-major 8.x [N/A] 8. .8 sm_ 1 99999 -8.0", "" },
    { "", "" },
};

static void architectures_are_read_in_every_spelling(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(spellings); i++) {
        sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
        struct sw_gpu_archs archs = { 0 };

        sw_gpu_archs_add(&archs, spellings[i].said);
        sw_gpu_archs_text(&archs, &text);
        assert_string_equal(sw_buf_text(&text), spellings[i].read);
    }
}

static const struct { const char *machine, *image, *lacks; } pairs[] = {
    { "9.0", "8.0 9.0", "" },
    { "9.0", "8.0", "sm_90" },
    { "8.6", "8.0", "" },                      /* a later one of the same generation */
    { "8.0", "8.6", "sm_80" },
    { "12.0", "8.0 9.0+PTX", "" },             /* PTX is compiled there */
    { "8.0", "9.0+PTX", "sm_80" },
    { "9.0 8.0 7.0", "8.0 9.0", "sm_70" },
    { "9.0", "90-virtual", "" },
    { "9.0", "", "" },                         /* nothing is known against it */
    { "", "9.0", "" },
};

static void an_image_runs_on_what_it_was_built_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < SW_COUNT(pairs); i++) {
        sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
        struct sw_gpu_archs machine = { 0 }, image = { 0 }, lacks = { 0 };

        sw_gpu_archs_add(&machine, pairs[i].machine);
        sw_gpu_archs_add(&image, pairs[i].image);
        assert_int_equal(sw_gpu_archs_fit(&machine, &image, &lacks), !*pairs[i].lacks);
        sw_gpu_archs_text(&lacks, &text);
        assert_string_equal(sw_buf_text(&text), pairs[i].lacks);
    }
}

static void the_environment_of_an_image_says_what_it_was_built_for(void **state)
{
    sw_auto(json) json_t *environment = json_pack("[s, s, s, i]", "PATH=/bin",
                                                  "TORCH_CUDA_ARCH_LIST=8.0 9.0+PTX",
                                                  "XTORCH_CUDA_ARCH_LIST=7.0", 3);
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    struct sw_gpu_archs archs = { 0 };

    (void)state;
    sw_gpu_archs_of_image(&archs, environment);
    sw_gpu_archs_text(&archs, &text);
    assert_string_equal(sw_buf_text(&text), "sm_80, sm_90+PTX");
}

/* Every GPU of one machine must run the image; of a cluster's nodes one is enough. */
static void a_row_says_what_does_not_fit(void **state)
{
    enum { ALL = SW_GPU_ARCH_ALL, ANY = SW_GPU_ARCH_ANY };
    static const struct { const char *machine, *image; int which; const char *state, *says; } cases[] = {
        { "9.0", "8.0 9.0", ALL, "ok", "sm_90: the image is built for sm_80, sm_90" },
        { "7.0 9.0", "9.0", ALL, "failed", "the image is built for sm_90, and the GPUs are sm_70" },
        { "7.0 9.0", "9.0", ANY, "ok", "the image is built for sm_90, and some nodes have sm_70" },
        { "7.0 8.0", "9.0", ANY, "failed", "the image is built for sm_90, and the GPUs are sm_70, sm_80" },
        { "", "9.0", ANY, "not checked", "no label" },
        { "9.0", "", ANY, "not checked",
          "the image has no TORCH_CUDA_ARCH_LIST, so what it is built for is unknown" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        sw_auto(json) json_t *rows = json_array();
        struct sw_gpu_archs machine = { 0 }, image = { 0 };

        sw_gpu_archs_add(&machine, cases[i].machine);
        sw_gpu_archs_add(&image, cases[i].image);
        sw_gpu_arch_row(rows, &machine, &image, (enum sw_gpu_arch_which)cases[i].which, "no label");
        assert_string_equal(sw_finding_state(json_array_get(rows, 0)), cases[i].state);
        assert_string_equal(sw_json_str(json_array_get(rows, 0), "message"), cases[i].says);
    }
}

static void more_than_there_is_room_for_is_left_out(void **state)
{
    sw_auto(sw_buf) struct sw_buf many = SW_BUF_INIT;
    struct sw_gpu_archs archs = { 0 };

    (void)state;
    for (int i = 0; i < 500; i++)
        sw_buf_addf(&many, "sm_%d ", 100 + i);
    sw_gpu_archs_add(&archs, sw_buf_text(&many));
    assert_int_equal(archs.count, SW_GPU_ARCHS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(architectures_are_read_in_every_spelling),
        cmocka_unit_test(an_image_runs_on_what_it_was_built_for),
        cmocka_unit_test(the_environment_of_an_image_says_what_it_was_built_for),
        cmocka_unit_test(a_row_says_what_does_not_fit),
        cmocka_unit_test(more_than_there_is_room_for_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
