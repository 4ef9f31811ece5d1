/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dotenv.c - any bytes as a .env file: every name that is taken is one of a variable, and a
 * warning names a place, never what stands there.
 */
#include <ctype.h>
#include <string.h>

#include "base/environment.h"
#include "fuzz.h"

static void hear(void *context, const char *text)
{
    CLAIM(strncmp(text, ".env:", 5) == 0);
    ++*(size_t *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_auto(sw_environment) struct sw_environment *values = sw_environment_new();
    const char *name, *value;
    size_t warnings = 0;

    sw_dotenv_parse((const char *)data, size, ".env", values, hear, &warnings);
    CLAIM(warnings <= 5);
    for (size_t i = 0; sw_environment_at(values, i, &name, &value); i++) {
        CLAIM(isalpha((unsigned char)*name) || *name == '_');
        CLAIM(sw_environment_find(values, name) == value);
    }
    return 0;
}
