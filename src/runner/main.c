/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - `slipway-runner MODE [--report FILE] PAYLOAD`: the program inside the job's place.
 *
 *     prepare   inputs, output folders, config file
 *     run       the user's command; exits with its code (128+n for signal n)
 *     collect   outputs to their destinations
 *
 * The report is a small JSON file for whoever started us: an exit code cannot say whether 137
 * was the command's own or a signal's, and has no words.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "runner/runner.h"

enum { PAYLOAD_MAX = 8 * 1024 * 1024 };

static int mode_prepare(const struct sw_payload *payload, struct runner_result *result,
                        struct sw_error *err)
{
    result->exit_code = runner_prepare(payload, err) < 0 ? RUNNER_IO : 0;
    return result->exit_code ? -1 : 0;
}

static int mode_collect(const struct sw_payload *payload, struct runner_result *result,
                        struct sw_error *err)
{
    result->exit_code = runner_collect(payload, err) < 0 ? RUNNER_IO : 0;
    return result->exit_code ? -1 : 0;
}

static const struct mode {
    const char *name;
    int (*go)(const struct sw_payload *payload, struct runner_result *result,
              struct sw_error *err);
} modes[] = {
    { "prepare", mode_prepare },
    { "run", runner_run },
    { "collect", mode_collect },
};

static struct sw_payload *read_payload(const char *path, struct sw_error *err)
{
    size_t length = 0;
    sw_autofree char *text = sw_file_read(path, PAYLOAD_MAX, &length, err);
    sw_auto(json) json_t *json = text ? sw_json_parse(text, length, path, err) : NULL;

    return json ? sw_payload_from_json(json, err) : NULL;
}

static void write_report(const char *path, const struct runner_result *result,
                         const struct sw_error *err)
{
    sw_auto(json) json_t *report = sw_json_object(
        SW_INT("exit_code", result->exit_code), SW_INT("signal", result->signal),
        SW_STR_OPT("message", err->code ? err->message : NULL));
    sw_autofree char *text = sw_json_dump_pretty(report);
    FILE *out = path ? fopen(path, "we") : NULL;

    /* Without the report our exit code still tells the most important half. */
    if (out) {
        fputs(text, out);
        fclose(out);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: slipway-runner prepare|run|collect [--report FILE] PAYLOAD\n");
    return RUNNER_USAGE;
}

int runner_main(int argc, char **argv)
{
    const struct mode *mode = NULL;
    const char *report = NULL, *path;
    struct runner_result result = { .exit_code = RUNNER_IO };
    struct sw_error err = { 0 };

    for (size_t i = 0; argc > 1 && i < SW_COUNT(modes); i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            mode = &modes[i];
    if (argc == 5 && strcmp(argv[2], "--report") == 0)
        report = argv[3];
    if (!mode || (argc != 3 && !report))
        return usage();
    path = argv[argc - 1];
    {
        sw_auto(sw_payload) struct sw_payload *payload = read_payload(path, &err);

        if (!payload || mode->go(payload, &result, &err) < 0)
            fprintf(stderr, "slipway: %s\n", err.message);
        /* Success is told by the exit code alone; the report costs nothing then. */
        if (result.exit_code != 0)
            write_report(report, &result, &err);
    }
    return result.exit_code;
}
