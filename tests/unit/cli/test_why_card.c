/* SPDX-License-Identifier: Apache-2.0 */
/* test_why_card.c - the line that decides is folded at every width, and nothing of it is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "cli/cli.h"

#define HEADLINE "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. " \
                 "GPU 0 has a total capacity of 79 GiB"
#define EVIDENCE "\xe8\xa8\x93\xe7\xb7\xb4\xe8\xa8\x93\xe7\xb7\xb4\xe8\xa8\x93\xe7\xb7\xb4" \
                 "/a/path/without/any/space/that/is/wider/than/most/terminals/model.safetensors is missing"

static json_t *why(void)
{
    return json_pack("{s:s,s:s,s:s,s:[s,s]}", "id", "train-aaaaaaaa", "status", "Error", "headline", HEADLINE,
                     "evidence", EVIDENCE, "  File \"train.py\", line 3");
}

/* Without what folding adds. */
static char *squeezed(const char *text)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    for (; *text; text++)
        if (*text != ' ' && *text != '\n')
            sw_buf_add_char(&out, *text);
    return sw_strdup(sw_buf_text(&out));
}

static void assert_fits(const char *text, size_t width)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        sw_autofree char *line = sw_strndup(text, length);

        assert_true(sw_text_columns(line) <= width);
        text += length + (text[length] == '\n');
    }
}

static void a_card_fits_every_width_and_loses_nothing(void **state)
{
    sw_auto(json) json_t *document = why();
    sw_autofree char *headline = squeezed(HEADLINE), *evidence = squeezed(EVIDENCE);

    (void)state;
    for (size_t width = 24; width < 200; width++) {
        sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
        sw_autofree char *all = NULL;

        cli_why_card(&out, document, width, false);
        assert_fits(sw_buf_text(&out), width);
        all = squeezed(sw_buf_text(&out));
        assert_non_null(strstr(all, headline));
        assert_non_null(strstr(all, evidence));
    }
}

static void the_card_at_80_columns(void **state)
{
    sw_auto(json) json_t *document = why();
    sw_auto(sw_buf) struct sw_buf folded = SW_BUF_INIT, piped = SW_BUF_INIT;

    (void)state;
    cli_why_card(&folded, document, 80, false);
    assert_string_equal(sw_buf_text(&folded),
        "train-aaaaaaaa  Error: RuntimeError: CUDA out of memory. Tried to allocate\n"
        "  2.00 GiB. GPU 0 has a total capacity of 79 GiB\n"
        "  evidence  \xe8\xa8\x93\xe7\xb7\xb4\xe8\xa8\x93\xe7\xb7\xb4\xe8\xa8\x93\xe7\xb7\xb4"
        "/a/path/without/any/space/that/is/wider/than/most/termi\n"
        "            nals/model.safetensors is missing\n"
        "            File \"train.py\", line 3\n");
    cli_why_card(&piped, document, 0, false);
    assert_true(sw_text_starts(sw_buf_text(&piped),
                               "train-aaaaaaaa  Error: " HEADLINE "\n  evidence  " EVIDENCE "\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_card_fits_every_width_and_loses_nothing),
        cmocka_unit_test(the_card_at_80_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
