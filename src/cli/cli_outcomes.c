/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_outcomes.c - what came of many jobs: a line for each, and one bad job never hides the others.
 *
 * With -o json one document says it of all.
 */
#include "cli/cli.h"
#include "cli/cli_out.h"

const char **cli_list(const json_t *ids)
{
    const char **list = sw_alloc((json_array_size(ids) + 1) * sizeof *list);

    for (size_t i = 0; i < json_array_size(ids); i++)
        list[i] = json_string_value(json_array_get(ids, i));
    return list;
}

static json_t *number_or_null(int64_t number, bool known)
{
    return known ? json_integer(number) : json_null();
}

static json_t *row_of(const struct sw_outcome *outcome)
{
    bool seen = outcome->attempt > 0;

    return sw_json_object(
        SW_STR("id", outcome->id),
        SW_SUB("status", seen ? json_string(sw_state_name(outcome->state)) : json_null()),
        SW_SUB("attempt", number_or_null(outcome->attempt, seen)),
        SW_SUB("exit_code", number_or_null(outcome->exit_code, seen && outcome->exit_code >= 0)),
        SW_SUB("signal", number_or_null(outcome->signal, outcome->signal > 0)),
        SW_SUB("duration_ms", number_or_null(outcome->duration_ms, seen && outcome->duration_ms >= 0)),
        SW_BOOL("already", outcome->already),
        SW_SUB("error", outcome->err ? cli_error_json(outcome->err) : json_null()));
}

/* The first failure is the verb's own; the program says it at the end. */
void cli_outcome(void *context, const struct sw_outcome *outcome)
{
    struct cli_outcomes *all = context;
    struct sw_error failed;

    if (!all->rows)
        all->rows = json_array();
    json_array_append_new(all->rows, row_of(outcome));
    if (!outcome->err) {
        if (all->tell)
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

void cli_outcome_each(struct cli_outcomes *all, const json_t *ids, cli_act_fn *act)
{
    const json_t *id;
    size_t i;

    json_array_foreach(ids, i, id) {
        struct sw_error why = { 0 };
        int result = act(all->cli->session, json_string_value(id), &why);

        cli_outcome(all, &(struct sw_outcome){ .id = json_string_value(id), .index = i,
                                               .err = result < 0 ? &why : NULL });
    }
}

int cli_rows_print(const struct cli *cli, bool ok, json_t *rows, struct sw_error *err)
{
    sw_auto(json) json_t *document = sw_json_object(SW_INT("version", 1), SW_BOOL("ok", ok),
                                                    SW_SUB("jobs", rows ? rows : json_array()));

    return cli->format == CLI_TABLE ? 0 : cli_document_print(cli, document, err);
}

int cli_outcomes_done(struct cli_outcomes *all, struct sw_error *err)
{
    json_decref(sw_take(all->rows));
    return all->failed ? sw_pass(err, &all->first) : 0;
}

int cli_outcomes_end(struct cli_outcomes *all, struct sw_error *err)
{
    if (cli_rows_print(all->cli, !all->failed, sw_take(all->rows), err) < 0)
        return -1;
    return cli_outcomes_done(all, err);
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
