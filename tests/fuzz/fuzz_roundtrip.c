/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_roundtrip.c - what we can read we can write, and what we write we read back equal.
 *
 * The first byte chooses the format of the rest. Only TOML may refuse: it has no null, and
 * wants a table at the top.
 */
#include "base/document.h"
#include "fuzz.h"

static void claim_roundtrip(const json_t *value, enum sw_format format)
{
    struct sw_error err = { 0 };
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_auto(sw_document) struct sw_document *again = NULL;

    if (sw_document_write(&text, value, format, &err) < 0) {
        CLAIM(format == SW_TOML && err.code == SW_E_SPEC);
        return;
    }
    if (text.length > SW_DOCUMENT_MAX)
        return;                                    /* written with indentation it may outgrow us */
    again = sw_document_parse(sw_buf_text(&text), text.length, format, "again", &err);
    if (!again || !json_equal(sw_document_value(again), value))
        fprintf(stderr, "%s\n--- written as\n%s\n", err.message, sw_buf_text(&text));
    CLAIM(again && json_equal(sw_document_value(again), value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(sw_document) struct sw_document *document = NULL;

    if (size == 0)
        return 0;
    document = sw_document_parse((const char *)data + 1, size - 1, (enum sw_format)(data[0] % 3),
                                 "fuzz", NULL);
    if (!document)
        return 0;
    claim_roundtrip(sw_document_value(document), SW_YAML);
    claim_roundtrip(sw_document_value(document), SW_JSON);
    claim_roundtrip(sw_document_value(document), SW_TOML);
    return 0;
}
