/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_translate.c - any text as a file of any tool: a job or a reason, never both, never neither; and the
 * job file that is written is read without an error.
 */
#include <string.h>

#include "fuzz.h"
#include "translate/translate.h"

static const struct sw_option slurm_options[] = {
    { "partition", SW_TEXTS }, { "account", SW_TEXT }, { "array", SW_TEXT }, { "gres", SW_TEXT },
    { "mem", SW_TEXT }, { "exclusive", SW_FLAG }, { "requeue", SW_FLAG }, { "signal_ahead", SW_DURATION },
    { "nice", SW_WHOLE },
    { "sbatch_args", SW_TEXTS }, { "srun_args", SW_TEXTS }, { "mpi", SW_TEXT }, { "mail_type", SW_TEXTS },
    { "hostname", SW_TEXTS, SW_CONNECTION }, { "container_mounts", SW_TEXTS }, { "setup", SW_TEXTS }, { 0 }
};
static const struct sw_option other_options[] = {
    { "volumes", SW_MAP_OF, .fields = (const struct sw_option[]){ { "source", SW_TEXT }, { 0 } } },
    { "ipc", SW_TEXT }, { "image_pull_secret", SW_TEXT }, { 0 }
};
static const struct sw_spec_platform platforms[] = {
    { "slurm", slurm_options }, { "brev", other_options }, { "kubernetes", other_options },
    { "docker", other_options },
};

static void claim_job_file(const struct sw_translation *made)
{
    struct sw_error err = { 0 };
    const struct sw_job_text what = { .job = made->job, .left_out = made->left_out, .schema = "s.json" };
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    struct sw_spec_input input = {
        .platforms = platforms, .platform_count = SW_COUNT(platforms), .default_platform = "slurm",
    };
    sw_auto(sw_document) struct sw_document *document = NULL;
    sw_auto(sw_spec) struct sw_spec *spec = NULL;

    CLAIM(sw_job_text_write(&text, &what, &err) == 0);
    input.job = document = sw_document_parse(sw_buf_text(&text), text.length, SW_YAML, "job.yaml", &err);
    spec = document ? sw_spec_resolve(&input, &err) : NULL;
    if (!spec)
        fprintf(stderr, "%s\n%s\n", sw_buf_text(&text), err.message);
    CLAIM(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const tools[] = { NULL, "sbatch", "skypilot", "dstack", "nemo-run" };
    sw_autofree char *text = sw_strndup((const char *)data, size);

    for (size_t i = 0; i < SW_COUNT(tools); i++) {
        struct sw_error err = { 0 };
        const struct sw_translate_input input = {
            .text = text, .length = strlen(text), .name = "file", .tool = tools[i], .platforms = platforms,
            .platform_count = SW_COUNT(platforms),
        };
        sw_auto(sw_translation) struct sw_translation *made = sw_translate(&input, &err);

        CLAIM((made == NULL) == (err.code != SW_OK));
        if (made)
            claim_job_file(made);
    }
    return 0;
}
