/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_checks.h - sentences about documents that several tests use.
 */
#ifndef SW_TESTS_DOCUMENT_CHECKS_H
#define SW_TESTS_DOCUMENT_CHECKS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/document.h"

/* The text means this JSON. */
static inline void expect_reads_as(enum sw_format format, const char *text, const char *json)
{
    struct sw_error err = { 0 };
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse(text, strlen(text), format, "test", &err);
    sw_auto(json) json_t *wanted = sw_json_parse(json, strlen(json), "wanted", &err);

    assert_string_equal(err.message, "");
    assert_non_null(document);
    assert_non_null(wanted);
    if (!json_equal(sw_document_value(document), wanted)) {
        sw_autofree char *got = sw_json_dump(sw_document_value(document));

        fail_msg("%s\nwas read as %s, not as %s", text, got, json);
    }
}

/* The text is refused with a message that holds `part`, usually "line:column: ...". */
static inline void expect_refused(enum sw_format format, const char *text, const char *part)
{
    struct sw_error err = { 0 };
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse(text, strlen(text), format, "test", &err);

    assert_null(document);
    assert_int_equal(err.code, SW_E_SPEC);
    if (!strstr(err.message, part))
        fail_msg("%s\nwas refused with '%s', which does not say '%s'", text, err.message, part);
}

static inline void expect_written(enum sw_format format, const char *json, const char *text)
{
    struct sw_error err = { 0 };
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    sw_auto(json) json_t *value = sw_json_parse(json, strlen(json), "value", &err);

    assert_non_null(value);
    assert_int_equal(sw_document_write(&out, value, format, &err), 0);
    assert_string_equal(sw_buf_text(&out), text);
}

#endif
