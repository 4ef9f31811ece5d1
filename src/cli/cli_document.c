/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_document.c - the API's JSON answers: taken in, and printed as -o asks.
 */
#include <string.h>

#include "base/document.h"
#include "cli/cli.h"

/* The long spelling is not --output: that is where a job's results go. */
const struct cli_flag cli_output_jobs[] = {
    { "format", 'o', "table|json|yaml|name", "how to print it; name: bare ids, for pipes",
      cli_apply_choice, offsetof(struct cli, format), .also = "output" },
    { 0 }
};

const struct cli_flag cli_output_document[] = {
    { "format", 'o', "table|json|yaml", "how to print it", cli_apply_choice,
      offsetof(struct cli, format) },
    { 0 }
};

json_t *cli_document(char *text, struct sw_error *err)
{
    json_t *document;

    if (!text)
        return NULL;
    document = sw_json_parse(text, strlen(text), "answer", err);
    sw_text_free(text);
    return document;
}

json_t *cli_versioned(const json_t *part)
{
    json_t *document = sw_json_object(SW_INT("version", 1));

    json_object_update(document, (json_t *)part);
    return document;
}

void cli_document_line(const json_t *part)
{
    sw_auto(json) json_t *document = cli_versioned(part);
    sw_autofree char *text = sw_json_dump(document);

    cli_printf("%s\n", text);
}

int cli_document_print(const struct cli *cli, const json_t *document, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf yaml = SW_BUF_INIT;
    sw_autofree char *json = NULL;

    if (cli->format == CLI_YAML) {
        if (sw_document_write(&yaml, document, SW_YAML, err) < 0)
            return -1;
        cli_print(sw_buf_text(&yaml));
        return 0;
    }
    json = sw_json_dump_pretty(document);
    cli_print(json);
    return 0;
}
