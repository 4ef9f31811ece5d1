/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_upload_record.c - any bytes as the record of an upload: it is good to go on with, of another file,
 * or nothing at all; and no part lies outside.
 */
#include <string.h>

#include "fuzz.h"
#include "storage/upload_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct upload_record record = UPLOAD_RECORD_INIT;
    bool good;

    record.part_count = 4;
    record.parts = sw_alloc(record.part_count * sizeof *record.parts);
    good = upload_record_read(&record, (const char *)data, size, "801:5:100:1.000000000:1.000000000",
                              16777216);
    CLAIM(good == (record.upload != NULL));
    CLAIM(!(record.upload && record.stale));
    for (size_t i = 0; i < record.part_count; i++)
        CLAIM(!record.parts[i].etag || (good && strlen(record.parts[i].crc) < SW_CRC_HEX));
    upload_record_close(&record);
    return 0;
}
