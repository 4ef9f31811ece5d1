/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_retry.c - retry that lives with the job: the job file's `retry:` as values for slurm_retry.sh, and
 * reading what the attempts left behind.
 *
 * The batch script numbers its attempts, asks the runner what a failure was (the same rules as the
 * client's), and requeues itself or submits its own successor. A record tells about it: one job id,
 * numbered attempts, Slurm's job id and the part of the logs of each (docs/decisions/0027).
 *
 * Pure: no I/O.
 */
#include "platform/slurm/slurm_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/reason.h"

enum { ATTEMPTS_MAX = 1001, LINE_MAX_BYTES = 4096 };

/* ---- the texts ---------------------------------------------------------------------------- */

/* After the time limit a job goes on when its file lists the cause, or names a checkpoint and has
 * no list. */
static bool goes_on_after_time(const struct sw_plan *plan)
{
    const json_t *on = json_object_get(plan->retry, "on");

    return json_is_array(on) ? sw_json_lists(on, "time")
                             : sw_text_same(sw_json_str(plan->checkpoint, "resume"), "auto");
}

int slurm_retry_text(struct sw_buf *out, const struct slurm_job *job, struct sw_error *err)
{
    const json_t *retry = job->plan->retry;
    sw_autofree char *on = slurm_joined(json_object_get(retry, "on"));
    sw_autofree char *exclude = slurm_joined(job->options.exclude);
    const char *wait = sw_json_str(retry, "wait");
    int64_t low_ms = 0, high_ms = 0, low_s, high_s;

    if (sw_duration_range_parse(wait ? wait : SW_RETRY_WAIT, &low_ms, &high_ms, err) < 0)
        return sw_wrap(err, "retry.wait");
    low_s = low_ms < 1000 ? 1 : low_ms / 1000;
    high_s = high_ms / 1000 < low_s ? low_s : high_ms / 1000;
    slurm_set(out, "SW_SCRIPT", job->names.sbatch);
    slurm_set(out, "SW_NAME", job->names.job_name);
    slurm_set(out, "SW_COMMENT", job->names.comment);
    slurm_set(out, "SW_RULES", job->plan->rules ? job->names.rules : NULL);
    slurm_set(out, "SW_EXCLUDE", exclude);
    slurm_set(out, "SW_ON", on);
    slurm_set_number(out, "SW_FIRST", job->attempt);
    slurm_set_number(out, "SW_MAX", sw_json_int(retry, "max", SLURM_RETRIES));
    slurm_set_number(out, "SW_LOW", low_s);
    slurm_set_number(out, "SW_HIGH", high_s);
    slurm_set_number(out, "SW_AVOID", sw_json_bool(retry, "avoid_bad_nodes", true));
    slurm_set_number(out, "SW_TIME", goes_on_after_time(job->plan));
    slurm_set_number(out, "SW_GPUS", job->shape.gpus);
    slurm_text_add(out, SLURM_TEXT_RETRY);
    return 0;
}

/* ---- the record --------------------------------------------------------------------------- */

/* Of one attempt: {"number", "begin", "end"}, the latter two being its lines; NULL: there are too many. */
static json_t *attempt_of(json_t *all, int64_t number)
{
    size_t at = json_array_size(all);

    while (at > 0 && sw_json_int(json_array_get(all, at - 1), "number", 0) > number)
        at--;
    if (at > 0 && sw_json_int(json_array_get(all, at - 1), "number", 0) == number)
        return json_array_get(all, at - 1);
    if (json_array_size(all) == ATTEMPTS_MAX)
        return NULL;
    json_array_insert_new(all, at, sw_json_object(SW_INT("number", number)));
    return json_array_get(all, at);
}

/* By number; owned. Lines that cannot be read (torn by a crash) are left out. */
static json_t *read_record(const char *text, size_t length)
{
    json_t *all = json_array();

    for (const char *line = text, *end = text + length; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((newline ? newline : end) - line);
        sw_auto(json) json_t *json = size <= LINE_MAX_BYTES ? json_loadb(line, size, 0, NULL) : NULL;
        int64_t number = sw_json_int(json, "attempt", 0);
        const char *event = sw_json_str(json, "event");

        if (number >= 1 && number <= INT32_MAX &&
            (sw_text_same(event, "begin") || sw_text_same(event, "end")))
            json_object_set(attempt_of(all, number), event, json);
        line += size + 1;
    }
    return all;
}

static const char *text_of(const json_t *attempt, const char *event, const char *key)
{
    const char *text = sw_json_str(json_object_get(attempt, event), key);

    return text ? text : "";
}

static int64_t time_ms(const json_t *attempt, const char *event)
{
    int64_t at_s = sw_json_int(json_object_get(attempt, event), "at", 0);

    return at_s > 0 && at_s < INT64_C(1) << 40 ? 1000 * at_s : 0;
}

static bool has_successor(const json_t *attempt)
{
    return !strcmp(text_of(attempt, "end", "action"), "successor");
}

/* The one that began last, or that is on its way. */
static int newest_of(const json_t *all)
{
    int64_t newest = 0;
    size_t i;
    json_t *one;

    json_array_foreach(all, i, one) {
        int64_t number = sw_json_int(one, "number", 0);

        if (time_ms(one, "begin"))
            newest = number;
        if (has_successor(one) || !strcmp(text_of(one, "end", "action"), "requeue"))
            newest = number + 1;
    }
    return (int)newest;
}

/* As the store keeps attempts. One that could not say its end was ended by Slurm. */
static json_t *story(const json_t *one, const json_t *next)
{
    int64_t ended_ms = time_ms(one, "end"), code = sw_json_int(json_object_get(one, "end"), "exit_code", -1);
    const char *node = text_of(one, "end", "node");
    sw_autofree char *how =
        !ended_ms ? sw_strdup("its end is unknown")
                  : sw_format("exit code %d; retried %s%s", (int)code,
                              has_successor(one) ? "as Slurm job " : "under the same number",
                              has_successor(one) ? text_of(one, "end", "next") : "");

    return sw_json_object(
        SW_INT("number", sw_json_int(one, "number", 0)), SW_STR("state", sw_state_name(SW_ERROR)),
        SW_STR("reason", ended_ms ? SW_REASON_EXIT : SW_REASON_RESTARTED), SW_STR("message", how),
        SW_SUB("exit_code", ended_ms ? json_integer(code) : json_null()),
        SW_INT("signal", 0), SW_STR("node", *node ? node : text_of(one, "begin", "nodes")),
        SW_STR("remote_id", text_of(one, "begin", "slurm_job_id")),
        SW_INT("started_ms", time_ms(one, "begin")),
        SW_INT("ended_ms", ended_ms ? ended_ms : time_ms(next, "begin")),
        SW_STR("cause", text_of(one, "end", "cause")));
}

static void add_message(struct sw_observation *seen, int number, const json_t *before)
{
    size_t used = strlen(seen->message);
    const char *cause = text_of(before, "end", "cause"), *node = text_of(before, "end", "node");
    sw_autofree char *how = !*text_of(before, "end", "action")
                                ? sw_strdup(" did not report its end")
                                : sw_format(" ended%s%s%s%s", *cause ? ": " : "", cause,
                                            *node ? ", on " : "", node);

    snprintf(seen->message + used, sizeof seen->message - used, "%sattempt %d; attempt %d%s",
             used > 0 ? "; " : "", number, (int)sw_json_int(before, "number", 0), how);
}

void slurm_attempts_describe(const char *text, size_t length, struct sw_observation *seen)
{
    sw_auto(json) json_t *all = read_record(text, length);
    const json_t *last = NULL;
    int newest = newest_of(all);
    size_t i;
    json_t *one;

    json_array_foreach(all, i, one) {
        if (sw_json_int(one, "number", 0) >= newest)
            break;
        if (!seen->before)
            seen->before = json_array();
        json_array_append_new(seen->before, story(one, json_array_get(all, i + 1)));
        last = one;
    }
    if (!last)
        return;
    seen->attempt = newest;
    add_message(seen, newest, last);
}
