/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_retry.c - the job file's `retry:` as values for slurm_retry.sh, and the record of attempts.
 *
 * Pure: no I/O.
 */
#include "platform/slurm/slurm_retry.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/observation.h"
#include "core/reason.h"
#include "platform/slurm/slurm_options.h"
#include "platform/slurm/slurm_text.h"

enum { ATTEMPTS_MAX = 1001, LINE_MAX_BYTES = 4096 };

/* ---- the texts ---------------------------------------------------------------------------- */

/* "30s" or "30s..10m" in whole seconds. */
static int read_wait(const char *text, int64_t *low_s, int64_t *high_s, struct sw_error *err)
{
    const char *dots = text ? strstr(text, "..") : NULL;
    sw_autofree char *low = dots ? sw_strndup(text, (size_t)(dots - text)) : sw_strdup(text);
    int64_t low_ms = 30000, high_ms = 600000;

    if (text && sw_duration_parse(low, &low_ms, err) < 0)
        return sw_wrap(err, "retry.wait");
    if (text)
        high_ms = low_ms;
    if (dots && sw_duration_parse(dots + 2, &high_ms, err) < 0)
        return sw_wrap(err, "retry.wait");
    *low_s = low_ms < 1000 ? 1 : low_ms / 1000;
    *high_s = high_ms / 1000 < *low_s ? *low_s : high_ms / 1000;
    return 0;
}

static bool lists(const json_t *causes, const char *cause)
{
    size_t i;
    json_t *listed;

    json_array_foreach(causes, i, listed)
        if (sw_text_same(json_string_value(listed), cause))
            return true;
    return false;
}

/* After the time limit a job goes on when its file lists the cause, or names a checkpoint and has
 * no list. */
static bool goes_on_after_time(const struct slurm_retry *retry)
{
    const json_t *on = json_object_get(retry->retry, "on");

    return json_is_array(on) ? lists(on, "time")
                             : sw_text_same(sw_json_str(retry->checkpoint, "resume"), "auto");
}

int slurm_retry_text(struct sw_buf *out, const struct slurm_retry *retry, struct sw_error *err)
{
    sw_autofree char *on = slurm_joined(json_object_get(retry->retry, "on"));
    int64_t low_s = 0, high_s = 0;

    if (read_wait(sw_json_str(retry->retry, "wait"), &low_s, &high_s, err) < 0)
        return -1;
    slurm_set(out, "SW_SCRIPT", retry->script);
    slurm_set(out, "SW_NAME", retry->name);
    slurm_set(out, "SW_COMMENT", retry->comment);
    slurm_set(out, "SW_RULES", retry->rules);
    slurm_set(out, "SW_EXCLUDE", retry->exclude);
    slurm_set(out, "SW_ON", on);
    slurm_set_number(out, "SW_FIRST", retry->first);
    slurm_set_number(out, "SW_MAX", sw_json_int(retry->retry, "max", SLURM_RETRIES));
    slurm_set_number(out, "SW_LOW", low_s);
    slurm_set_number(out, "SW_HIGH", high_s);
    slurm_set_number(out, "SW_AVOID", sw_json_bool(retry->retry, "avoid_bad_nodes", true));
    slurm_set_number(out, "SW_TIME", goes_on_after_time(retry));
    slurm_set_number(out, "SW_GPUS", retry->gpus);
    slurm_text_add(out, SLURM_TEXT_RETRY);
    return 0;
}

/* ---- the record --------------------------------------------------------------------------- */

static void copy(char *to, size_t size, const json_t *line, const char *key)
{
    const char *text = sw_json_str(line, key);

    snprintf(to, size, "%s", text ? text : "");
}

static struct slurm_attempt *attempt_of(struct slurm_attempts *attempts, int number)
{
    size_t at = attempts->count;

    while (at > 0 && attempts->items[at - 1].number > number)
        at--;
    if (at > 0 && attempts->items[at - 1].number == number)
        return &attempts->items[at - 1];
    if (attempts->count == ATTEMPTS_MAX)
        return NULL;
    attempts->items = sw_realloc_array(attempts->items, attempts->count + 1,
                                       sizeof *attempts->items);
    memmove(attempts->items + at + 1, attempts->items + at,
            (attempts->count - at) * sizeof *attempts->items);
    attempts->count++;
    attempts->items[at] = (struct slurm_attempt){ .number = number,
                                                  .exit_code = SW_NO_EXIT_CODE };
    return &attempts->items[at];
}

static void take_begin(struct slurm_attempt *attempt, const json_t *line)
{
    attempt->began_s = sw_json_int(line, "at", 0);
    attempt->restart = (int)sw_json_int(line, "restart", 0);
    attempt->out_from = sw_json_int(line, "out_from", 0);
    attempt->err_from = sw_json_int(line, "err_from", 0);
    copy(attempt->slurm_job_id, sizeof attempt->slurm_job_id, line, "slurm_job_id");
    copy(attempt->nodes, sizeof attempt->nodes, line, "nodes");
}

static void take_end(struct slurm_attempt *attempt, const json_t *line)
{
    attempt->ended_s = sw_json_int(line, "at", 0);
    attempt->exit_code = (int)sw_json_int(line, "exit_code", SW_NO_EXIT_CODE);
    copy(attempt->err_class, sizeof attempt->err_class, line, "class");
    copy(attempt->cause, sizeof attempt->cause, line, "cause");
    copy(attempt->rule, sizeof attempt->rule, line, "rule");
    copy(attempt->node, sizeof attempt->node, line, "node");
    copy(attempt->action, sizeof attempt->action, line, "action");
    copy(attempt->next, sizeof attempt->next, line, "next");
}

static void take_line(struct slurm_attempts *attempts, const json_t *line)
{
    int64_t number = sw_json_int(line, "attempt", 0);
    const char *event = sw_json_str(line, "event");
    struct slurm_attempt *attempt;

    if (number < 1 || number > INT32_MAX || !event)
        return;
    attempt = attempt_of(attempts, (int)number);
    if (attempt && strcmp(event, "begin") == 0)
        take_begin(attempt, line);
    else if (attempt && strcmp(event, "end") == 0)
        take_end(attempt, line);
}

void slurm_attempts_parse(const char *text, size_t length, struct slurm_attempts *out)
{
    *out = (struct slurm_attempts){ 0 };
    for (const char *line = text, *end = text + length; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t size = (size_t)((newline ? newline : end) - line);
        sw_auto(json) json_t *json =
            size <= LINE_MAX_BYTES ? json_loadb(line, size, 0, NULL) : NULL;

        if (json_is_object(json))
            take_line(out, json);
        line += size + 1;
    }
}

void slurm_attempts_done(struct slurm_attempts *attempts)
{
    free(attempts->items);
    *attempts = (struct slurm_attempts){ 0 };
}

static bool goes_on(const struct slurm_attempt *attempt)
{
    return !strcmp(attempt->action, "requeue") || !strcmp(attempt->action, "successor");
}

/* The one that began last, or that is on its way. */
static int newest_of(const struct slurm_attempts *attempts)
{
    int newest = 0;

    for (size_t i = 0; i < attempts->count; i++) {
        const struct slurm_attempt *one = &attempts->items[i];

        if (one->began_s)
            newest = one->number;
        if (goes_on(one))
            newest = one->number + 1;
    }
    return newest;
}

/* As the store keeps attempts. One that could not say its end was ended by Slurm. */
static json_t *story(const struct slurm_attempt *one, const struct slurm_attempt *next)
{
    bool told = one->ended_s > 0;
    sw_autofree char *how =
        !told ? sw_strdup("it could not say its end")
              : sw_format("exit code %d; tried again %s%s", one->exit_code,
                          !strcmp(one->action, "successor") ? "as Slurm job " : "under the same number",
                          !strcmp(one->action, "successor") ? one->next : "");
    const char *node = *one->node ? one->node : one->nodes;

    return sw_json_object(
        SW_INT("number", one->number), SW_STR("state", sw_state_name(SW_ERROR)),
        SW_STR("reason", told ? SW_REASON_EXIT : SW_REASON_RESTARTED), SW_STR("message", how),
        SW_SUB("exit_code", told ? json_integer(one->exit_code) : json_null()),
        SW_INT("signal", 0), SW_STR("node", node), SW_STR("remote_id", one->slurm_job_id),
        SW_INT("started_ms", one->began_s * 1000),
        SW_INT("ended_ms", 1000 * (told ? one->ended_s : next ? next->began_s : 0)),
        SW_STR("cause", one->cause));
}

static void add_message(struct sw_observation *seen, int number, const struct slurm_attempt *before)
{
    size_t used = strlen(seen->message);
    sw_autofree char *how =
        !*before->action ? sw_strdup(" could not say its end")
                         : sw_format(" ended%s%s%s%s", *before->cause ? ": " : "", before->cause,
                                     *before->node ? ", on " : "", before->node);

    snprintf(seen->message + used, sizeof seen->message - used, "%sattempt %d; attempt %d%s",
             used > 0 ? "; " : "", number, before->number, how);
}

void slurm_attempts_describe(const struct slurm_attempts *attempts, struct sw_observation *seen)
{
    int newest = newest_of(attempts);
    const struct slurm_attempt *last = NULL;

    for (size_t i = 0; i < attempts->count && attempts->items[i].number < newest; i++) {
        last = &attempts->items[i];
        if (!seen->before)
            seen->before = json_array();
        json_array_append_new(seen->before, story(last, i + 1 < attempts->count ? last + 1 : NULL));
    }
    if (!last)
        return;
    seen->attempt = newest;
    add_message(seen, newest, last);
}
