/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_slurm_site.c - any text as a cluster's answers: counts are never negative, never more is free
 * than there is, and every finding says something.
 */
#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "platform/slurm/slurm_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(json) json_t *site = slurm_site(text, text), *rows = json_array();
    const struct slurm_checked job = { .minutes = 60 };
    size_t i;
    json_t *row;

    CLAIM(sw_json_int(site, "gpus_free", -1) >= 0);
    CLAIM(sw_json_int(site, "gpus_free", 0) <= sw_json_int(site, "gpus_total", 0));
    CLAIM(sw_json_int(site, "cpus_free", 0) <= sw_json_int(site, "cpus_total", 0));
    slurm_check_text(rows, &job, text);
    json_array_foreach(rows, i, row) {
        CLAIM(!sw_text_empty(sw_json_str(row, "check")) && !sw_text_empty(sw_json_str(row, "state")));
        CLAIM(!sw_json_bool(row, "ok", false) || !sw_json_str(row, "fix"));
    }
    return 0;
}
