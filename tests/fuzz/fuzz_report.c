/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_report.c - any bytes as a log with a report in it: what is found is clean, and cleaning it again
 * changes nothing.
 */
#include <string.h>

#include "core/report.h"
#include "fuzz.h"

static void check(json_t *report)
{
    sw_auto(json) json_t *mine = report, *again = sw_report_clean(report);

    CLAIM(!mine || json_equal(mine, again));
    CLAIM(!mine || strlen(sw_json_str(mine, "message") ? sw_json_str(mine, "message") : "") < 256);
    CLAIM(sw_json_int(mine, "exit_code", 0) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;

    check(sw_report_parse(text, size));
    check(sw_report_in_log(text, size, "job-1", -1));
    CLAIM(sw_report_begin(text, size) <= size);
    return 0;
}
