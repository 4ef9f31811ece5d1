/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml_decoder.c - TOML in, toml-test's tagged JSON out; exit status 1 for what is not TOML.
 */
#include <stdio.h>

#include "base/toml.h"

int main(void)
{
    struct sw_error err = { 0 };
    sw_auto(sw_buf) struct sw_buf in = SW_BUF_INIT;
    sw_auto(json) json_t *value = NULL;
    sw_autofree char *text = NULL;

    for (size_t n; (n = fread(sw_buf_reserve(&in, 65536), 1, 65536, stdin)) > 0;)
        in.length += n;
    value = sw_toml_read(sw_buf_text(&in), in.length, "<stdin>", true, NULL, &err);
    if (!value) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    text = sw_json_dump_pretty(value);
    fputs(text, stdout);
    return 0;
}
