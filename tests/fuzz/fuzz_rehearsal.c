/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_rehearsal.c - any text as the script and the faults of a rehearsal: a script or a reason,
 * and whatever the script, its end is final and its log only grows.
 */
#include "fuzz.h"
#include "core/observation.h"
#include "core/state.h"
#include "platform/rehearsal/rehearsal_internal.h"

static void play(const struct rehearsal_script *script)
{
    static const int64_t moments[] = { 0, 1, 50, 1000, 3000, 100000, INT64_MAX / 4 };
    struct rehearsal_run run = { .submitted_ms = 1000, .limit_ms = 60000 };
    struct sw_observation before = { 0 }, now = { 0 };
    int64_t written = 0;
    char bytes[100];

    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        int64_t size;

        run.now_ms = run.submitted_ms + moments[i];
        rehearsal_observe_at(script, &run, &now);
        size = rehearsal_log_size(script, &run);
        CLAIM(size >= written);
        CLAIM(!sw_state_is_final(before.state) || now.state == before.state);
        CLAIM(rehearsal_log_read(script, &run, size, bytes, sizeof bytes) == 0);
        CLAIM(rehearsal_log_read(script, &run, size / 2, bytes, sizeof bytes) <= sizeof bytes);
        written = size;
        before = now;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sw_autofree char *text = sw_strndup((const char *)data, size);
    sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };
    struct rehearsal_faults faults;
    struct sw_error err = { 0 };

    if (rehearsal_script_parse(text, 1, &script, &err) == 0)
        play(&script);
    else
        CLAIM(err.code == SW_E_SPEC && script.count == 0);
    err.code = SW_OK;
    if (rehearsal_faults_parse(text, &faults, &err) < 0)
        CLAIM(err.code == SW_E_SPEC);
    return 0;
}
