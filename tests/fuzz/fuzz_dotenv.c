/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dotenv.c - any bytes as a .env file: either every variable is handed over, with a name
 * that setenv takes, or there is a reason and none is.
 */
#include "fuzz.h"
#include "spec/spec_internal.h"

static void count(void *context, const char *key, const char *value)
{
    CLAIM(spec_is_variable_name(key));
    CLAIM(value != NULL);
    ++*(size_t *)context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_error err = { 0 };
    size_t variables = 0;
    int result = sw_dotenv_parse((const char *)data, size, ".env", count, &variables, &err);

    CLAIM((result == 0) == (err.code == SW_OK));
    CLAIM(result == 0 || variables == 0);
    return 0;
}
