/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_job_file.c - any YAML as a job file: a spec or a reason, never both, never neither; and
 * a spec written down as a job file is the same spec (the normal form is a fixed point).
 */
#include "fuzz.h"
#include "fuzz_spec.h"

static struct sw_spec *resolve(const struct sw_document *job, struct sw_error *err)
{
    const struct sw_spec_input input = {
        .job = job, .platforms = fuzz_platforms, .platform_count = SW_COUNT(fuzz_platforms),
        .default_platform = "slurm",
    };

    return sw_spec_resolve(&input, err);
}

static void claim_fixed_point(const struct sw_spec *spec)
{
    struct sw_error err = { 0 };
    json_t *written = json_deep_copy(spec->job);
    sw_auto(sw_document) struct sw_document *job = NULL;
    sw_auto(sw_spec) struct sw_spec *again = NULL;

    json_object_set(written, spec->platform, spec->options);
    job = sw_document_from_json(written, "again");
    again = resolve(job, &err);
    if (!again)
        fprintf(stderr, "%s\n", err.message);
    CLAIM(again && json_equal(again->job, spec->job));
    CLAIM(json_equal(again->options, spec->options));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_error err = { 0 };
    sw_auto(sw_document) struct sw_document *job =
        sw_document_parse((const char *)data, size, SW_YAML, "fuzz.yaml", NULL);
    sw_auto(sw_spec) struct sw_spec *spec = job ? resolve(job, &err) : NULL;

    if (job)
        CLAIM((spec == NULL) == (err.code != SW_OK));
    if (spec)
        claim_fixed_point(spec);
    return 0;
}
