/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_units.c - any text as a duration and as a size: never negative, and a duration survives
 * being written and read again.
 */
#include "base/units.h"
#include "fuzz.h"

static void try_duration(const char *text)
{
    struct sw_error err = { 0 };
    char written[32];
    int64_t ms = -1, again = -1;

    if (sw_duration_parse(text, &ms, &err) < 0) {
        CLAIM(err.code == SW_E_SPEC && ms == -1);
        return;
    }
    CLAIM(ms >= 0);
    sw_duration_format(ms, written);
    CLAIM(sw_duration_parse(written, &again, &err) == 0 && again == ms);
}

static void try_size(const char *text)
{
    struct sw_error err = { 0 };
    char written[32];
    int64_t bytes = -1, again = -1;

    if (sw_size_parse(text, &bytes, &err) < 0) {
        CLAIM(err.code == SW_E_SPEC && bytes == -1);
        return;
    }
    CLAIM(bytes >= 0);
    sw_size_format(bytes, written);
    /* For people, so rounded down; the largest have a unit that is not read. */
    CLAIM(sw_size_parse(written, &again, &err) < 0 || again <= bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);

    try_duration(text);
    try_size(text);
    return 0;
}
