/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_toml.c - any bytes as TOML: a document or a reason, never both, never neither; and asking
 * for a place is harmless whatever the path looks like.
 */
#include "base/document.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_error err = { 0 };
    sw_autofree char *path = sw_strndup((const char *)data, size);
    sw_auto(sw_document) struct sw_document *document =
        sw_document_parse((const char *)data, size, SW_TOML, "fuzz.toml", &err);

    CLAIM((document == NULL) == (err.code != SW_OK));
    if (document)
        CLAIM(sw_document_place(document, path).line > 0);
    return 0;
}
