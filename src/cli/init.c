/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c - `slipway init`: write a job file for a folder, or from a file of another tool.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/cli.h"

#define JOB_FILE "job.yaml"

struct init_options {
    const char *from, *tool;
    bool print;
};

static const struct cli_flag init_flags[] = {
    { "from", 0, "FILE", "translate this file of another tool", cli_apply_text,
      offsetof(struct init_options, from) },
    { "as", 0, "TOOL", "whose file it is: sbatch, skypilot, dstack or nemo-run (default: by its content)",
      cli_apply_text, offsetof(struct init_options, tool) },
    { "print", 0, NULL, "print the job file and write nothing", cli_apply_bool,
      offsetof(struct init_options, print) },
    { 0 }
};

static int exists(const char *path, struct sw_error *err)
{
    sw_fail(err, SW_E_CONFLICT, "%s exists, and init never overwrites it", path);
    return sw_hint(err, "'slipway init --print' shows what would be written; or move the file away first");
}

/* A new file, or none: one that appears in between is not overwritten either. */
static int write_new(const char *path, const char *text, struct sw_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), failed;

    if (fd < 0)
        return errno == EEXIST ? exists(path, err)
                               : sw_fail(err, SW_E_IO, "cannot write '%s': %s", path, strerror(errno));
    failed = sw_write_all(fd, text, strlen(text)) < 0 ? errno : 0;
    if (close(fd) < 0 && !failed)
        failed = errno;
    if (!failed)
        return 0;
    unlink(path);
    return sw_fail(err, SW_E_IO, "cannot write '%s': %s", path, strerror(failed));
}

static void say_left_out(const struct cli *cli, const json_t *made)
{
    const json_t *each;
    size_t i;

    json_array_foreach(json_object_get(made, "left_out"), i, each) {
        long long line = sw_json_int(each, "line", 0);
        sw_autofree char *place = line > 0 ? sw_format("%s:%lld", sw_json_str(made, "from"), line)
                                           : sw_strdup(sw_json_str(made, "from"));

        cli_warn(cli, "%s: %s: %s", place, sw_json_str(each, "what"), sw_json_str(each, "why"));
    }
}

/* The editor's schema, beside the job file: made anew each time, since it is that of this version. */
static int write_schema(const char *folder, const char *name, struct sw_error *err)
{
    sw_auto(json) json_t *schema = cli_document(sw_schema(err), err);
    sw_autofree char *text = schema ? sw_json_dump_pretty(schema) : NULL;
    sw_autofree char *path = sw_path_join(folder, name);

    return text ? sw_file_write(path, text, strlen(text), 0644, err) : -1;
}

static json_t *make(const struct cli *cli, const struct init_options *options, const char *folder,
                    struct sw_error *err)
{
    if (options->tool && !options->from)
        return sw_null(sw_fail(err, SW_E_USAGE, "--as says what kind of file --from FILE is"));
    return cli_document(options->from ? sw_translate_job(options->from, options->tool, cli->profile, err)
                                      : sw_draft_job(folder, err), err);
}

static int init_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct init_options *options = args->options;
    const char *given = args->word_count > 0 ? args->words[0] : ".";
    bool print = options->print || strcmp(given, "-") == 0;
    const char *folder = strcmp(given, "-") == 0 ? "." : given;
    sw_autofree char *path = strcmp(folder, ".") == 0 ? sw_strdup(JOB_FILE) : sw_path_join(folder, JOB_FILE);
    sw_auto(json) json_t *made = NULL;

    if (!print && sw_file_exists(path))
        return exists(path, err);
    made = make(cli, options, folder, err);
    if (!made)
        return -1;
    if (print)
        cli_print(sw_json_str(made, "job_file"));
    else if (write_new(path, sw_json_str(made, "job_file"), err) < 0 ||
             write_schema(folder, sw_json_str(made, "schema_file"), err) < 0)
        return -1;
    say_left_out(cli, made);
    if (!print && sw_json_str(made, "tool"))
        cli_say(cli, "%s written from %s (%s); 'slipway plan' shows what it does", path,
                sw_json_str(made, "from"), sw_json_str(made, "tool"));
    else if (!print)
        cli_say(cli, "%s written; 'slipway plan' shows what it does", path);
    return 0;
}

const struct command command_init = {
    .name = "init",
    .args = "[FOLDER]",
    .summary = "write a job file, also from a file of another tool",
    .description =
        "Look at a folder (default: the current one) and write a commented job.yaml for it: a training "
        "script, its requirements and a Dockerfile are found, and a single sbatch script, SkyPilot task, "
        "dstack task or NeMo-Run file in it is translated. --from names such a file. What has no counterpart "
        "is named with its line, on standard error and in the job file. A job.yaml that exists is never "
        "overwritten; --print, or '-' for the folder, prints instead. .slipway-schema.json beside it lets "
        "editors complete and check the job file.",
    .example = "slipway init\nslipway init --from train.sbatch --print",
    .flags = init_flags,
    .options_size = sizeof(struct init_options),
    .max_args = 1,
    .run = init_run,
};
