/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_outcomes.c - what came of many jobs: a line for each, and one bad job never hides the others.
 */
#include "cli/cli.h"

const char **cli_list(const json_t *ids)
{
    const char **list = sw_alloc((json_array_size(ids) + 1) * sizeof *list);

    for (size_t i = 0; i < json_array_size(ids); i++)
        list[i] = json_string_value(json_array_get(ids, i));
    return list;
}

/* The first failure is the verb's own; the program says it at the end. */
void cli_outcome(void *context, const struct sw_outcome *outcome)
{
    struct cli_outcomes *all = context;
    struct sw_error failed;

    if (!outcome->err) {
        all->tell(all->cli, outcome);
        return;
    }
    failed = *outcome->err;
    sw_wrap(&failed, "cannot %s '%s'", all->verb, outcome->id);
    if (all->failed)
        cli_complain(all->cli, &failed);
    else
        all->first = failed;
    all->failed = true;
}

int cli_outcomes_end(const struct cli_outcomes *all, struct sw_error *err)
{
    if (!all->failed)
        return 0;
    return sw_pass(err, &all->first);
}

static char *text_of(enum sw_state state, int64_t code, int64_t signal, int64_t duration_ms)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    char duration[32];

    sw_buf_add(&out, sw_state_name(state));
    if (signal > 0)
        sw_buf_addf(&out, ", signal %lld", (long long)signal);
    else if (code >= 0)
        sw_buf_addf(&out, ", exit code %lld", (long long)code);
    cli_duration(duration_ms, duration);
    if (duration[0])
        sw_buf_addf(&out, ", %s", duration);
    return sw_buf_steal(&out);
}

char *cli_outcome_text(const struct sw_outcome *outcome)
{
    return text_of(outcome->state, outcome->exit_code, outcome->signal, outcome->duration_ms);
}

char *cli_job_outcome(const json_t *job)
{
    return text_of(cli_job_state(job), sw_json_int(job, "exit_code", -1), sw_json_int(job, "signal", 0),
                   sw_json_int(job, "duration_ms", -1));
}
