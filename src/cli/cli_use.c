/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_use.c - what a running job uses, in words.
 */
#include "cli/cli_progress.h"

#include "base/units.h"

char *cli_use_text(const json_t *use)
{
    const json_t *cpus = json_object_get(use, "cpus");
    int64_t memory = sw_json_int(use, "memory_bytes", -1);
    struct sw_buf out = SW_BUF_INIT;
    char size[32];

    if (json_is_number(cpus))
        sw_buf_addf(&out, "%.1f CPUs on average", json_number_value(cpus));
    sw_size_format(memory, size);
    if (memory >= 0)
        sw_buf_addf(&out, "%s%s of memory", out.length ? ", " : "", size);
    return sw_buf_steal(&out);
}

void cli_use_card(struct sw_buf *out, const json_t *use)
{
    sw_autofree char *text = cli_use_text(use);
    const json_t *gpu;
    size_t i;

    sw_buf_addf(out, "%s\n", *text ? text : "CPU and memory: not known here");
    json_array_foreach(json_object_get(use, "gpus"), i, gpu) {
        char used[32], total[32];

        sw_size_format(sw_json_int(gpu, "memory_used", 0), used);
        sw_size_format(sw_json_int(gpu, "memory_total", 0), total);
        sw_buf_addf(out, "GPU %zu  %s", i, sw_json_str(gpu, "name"));
        if (json_is_integer(json_object_get(gpu, "used_percent")))
            sw_buf_addf(out, ", %lld%% busy", (long long)sw_json_int(gpu, "used_percent", 0));
        sw_buf_addf(out, ", %s of %s in use\n", used, total);
    }
}
