/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use.c - see use.h. A line that is not as it should be is none.
 */
#include "core/use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/gpu_seen.h"

/* -1: not a number. */
static double amount(const char *text)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    return end == text || *end || errno || *text == '-' ? -1 : (double)value;
}

static void add_gpu(json_t *gpus, char *line)
{
    struct sw_gpu_seen seen;

    if (!sw_gpu_seen_line(line, &seen) || !sw_text_is_utf8(seen.gpu.name))
        return;
    json_array_append_new(gpus, sw_json_object(
        SW_STR("uuid", seen.gpu.uuid), SW_STR("name", seen.gpu.name),
        seen.gpu.busy_percent < 0 ? SW_NULL("used_percent") : SW_INT("used_percent", seen.gpu.busy_percent),
        SW_INT("memory_used", seen.gpu.memory_used_bytes), SW_INT("memory_total", seen.gpu.memory_bytes)));
}

json_t *sw_use_read(const char *text)
{
    static const struct {
        const char *word, *key;
        double unit;
    } facts[] = { { "memory ", "memory_bytes", 1 }, { "cpu_us ", "cpu_seconds", 1e-6 },
                  { "cpu_ns ", "cpu_seconds", 1e-9 } };
    sw_autofree char *lines = sw_strdup(text);
    json_t *use = sw_json_object(SW_NULL("cpu_seconds"), SW_NULL("memory_bytes"),
                                 SW_SUB("gpus", json_array()));
    char *rest = lines, *line;

    while ((line = strsep(&rest, "\n"))) {
        if (sw_text_starts(line, "gpu "))
            add_gpu(json_object_get(use, "gpus"), line + 4);
        for (size_t i = 0; i < SW_COUNT(facts); i++) {
            double value = sw_text_starts(line, facts[i].word) ? amount(line + strlen(facts[i].word)) : -1;

            if (value >= 0 && value < 1e18)
                json_object_set_new(use, facts[i].key, facts[i].unit == 1 ? json_integer((json_int_t)value)
                                                                          : json_real(value * facts[i].unit));
        }
    }
    return use;
}
