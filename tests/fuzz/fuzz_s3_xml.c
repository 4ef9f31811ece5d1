/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_s3_xml.c - any bytes as a listing and as an error: every object has a name, a listing that goes
 * on has a token, and failing says why.
 */
#include <string.h>

#include "fuzz.h"
#include "storage/s3_xml.h"

static int each(void *context, struct sw_object *object)
{
    (void)context;
    CLAIM(object->name && *object->name && object->size >= -1 && object->mtime_ms >= 0);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_error err = { 0 };
    sw_autofree char *token = NULL;
    sw_autofree char *code = s3_xml_find((const char *)data, size, "Code");
    sw_autofree char *plain = s3_xml_decode((const char *)data, size);
    int result = s3_xml_list((const char *)data, size, each, NULL, &token, &err);

    CLAIM((result == 0) == (err.code == SW_OK));
    CLAIM(strlen(plain) <= size);
    CLAIM(!code || strlen(code) <= size);
    return 0;
}
