/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_slurm_rows.c - any bytes as what squeue and sacct print: rows or no rows, and an observation whose
 * texts end and whose state is one that we know.
 */
#include <string.h>

#include "fuzz.h"
#include "base/auto.h"
#include "platform/slurm/slurm_internal.h"

enum { ROWS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct slurm_row live[ROWS], past[ROWS];
    sw_autofree char *one = sw_strndup((const char *)data, size), *two = sw_strdup(one);
    struct slurm_answers answers = { .live.items = live, .past.items = past };
    struct slurm_known known = { .number = 7, .mark = { "tao-job-a", "slipway:a:1" },
                                 .search = true, .now_ms = 1000 };
    struct sw_observation seen = { .exit_code = SW_NO_EXIT_CODE, .failed_replica = -1 };
    int64_t minutes = 0;
    char *rest = one;

    if (slurm_time_parse(two, &minutes))
        CLAIM(minutes >= -1);
    for (char *line; (line = strsep(&rest, "\n")) && answers.live.count < ROWS;)
        answers.live.count += slurm_squeue_line(line, &live[answers.live.count]);
    slurm_rows_sort(&answers.live);
    rest = two;
    for (char *line; (line = strsep(&rest, "\n")) && answers.past.count < ROWS;)
        answers.past.count += slurm_sacct_line(line, &past[answers.past.count]);
    if (slurm_observation(&answers, &known, &seen)) {
        CLAIM(seen.state <= SW_CANCELED);
        CLAIM(strnlen(seen.message, sizeof seen.message) < sizeof seen.message);
        CLAIM(strnlen(seen.reason, sizeof seen.reason) < sizeof seen.reason);
        CLAIM(strnlen(seen.node, sizeof seen.node) < sizeof seen.node);
    }
    return 0;
}
