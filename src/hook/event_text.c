/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_text.c - an event as the document of a webhook and the variables of a command.
 *
 * What the event says comes first and the row only fills in: by the time a hook runs the job may be
 * further, and an event about "Running" must not say "Complete". One table gives both forms.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/job_event.h"
#include "hook/hook.h"

static const struct field {
    const char *key;               /* in the document */
    const char *variable;
} fields[] = {
    { "event",       "SLIPWAY_JOB_EVENT" },
    { "id",          "SLIPWAY_JOB_ID" },
    { "name",        "SLIPWAY_JOB_NAME" },
    { "status",      "SLIPWAY_JOB_STATUS" },
    { "reason",      "SLIPWAY_JOB_REASON" },
    { "message",     "SLIPWAY_JOB_MESSAGE" },
    { "exit_code",   "SLIPWAY_JOB_EXIT_CODE" },
    { "attempt",     "SLIPWAY_JOB_ATTEMPT" },
    { "platform",    "SLIPWAY_JOB_PLATFORM" },
    { "results_dir", "SLIPWAY_JOB_RESULTS_DIR" },
    { "epoch",       "SLIPWAY_JOB_EPOCH" },
    { "epochs",      "SLIPWAY_JOB_EPOCHS" },
};

/* The state that the event is about. */
static const char *status_of(const struct sw_notice *notice)
{
    const char *state = sw_json_str(notice->data, "state");

    if (state)
        return state;
    return strcmp(notice->kind, "attempt") == 0 ? sw_state_name(SW_PENDING)
                                                : sw_state_name(notice->job.state);
}

static const char *text_of(const struct sw_notice *notice, const char *key, const char *row)
{
    const char *said = sw_json_str(notice->data, key);

    if (!said && strcmp(notice->kind, "state") == 0)
        return "";
    return said ? said : row ? row : "";
}

static const char *message_of(const struct sw_notice *notice)
{
    const char *why = sw_json_str(notice->data, "why");

    return why ? why : text_of(notice, "message", notice->job.message);
}

static json_t *number(const struct sw_notice *notice, const char *key)
{
    json_t *said = json_object_get(notice->data, key);

    return said ? json_incref(said) : NULL;
}

json_t *hook_document(const struct sw_notice *notice)
{
    const struct sw_job *job = &notice->job;
    const char *status = status_of(notice), *message = message_of(notice);
    int64_t attempt = sw_json_int(notice->data, "attempt",
                                  sw_json_int(notice->data, "number", job->attempt));
    sw_autofree char *text = sw_format("%s is %s%s%s", job->id, status, *message ? ": " : "",
                                       message);
    char at[40];

    sw_time_format(notice->at_ms, at);
    return sw_json_object(
        SW_INT("version", 1),
        SW_STR("event", sw_job_event_word(notice->kind, notice->data)),
        SW_STR("text", text),                        /* what chat systems show */
        SW_STR("id", job->id),
        SW_STR("name", job->name),
        SW_STR("status", status),
        SW_STR("reason", text_of(notice, "reason", job->reason)),
        SW_STR("message", message),
        SW_SUB("exit_code", number(notice, "exit_code")),
        SW_SUB("signal", number(notice, "signal")),
        SW_INT("attempt", attempt),
        SW_STR("platform", job->platform),
        SW_STR("results_dir", job->results_dir ? job->results_dir : ""),
        SW_SUB("epoch", number(notice, "epoch")),
        SW_SUB("epochs", number(notice, "epochs")),
        SW_STR("at", at));
}

void hook_environment(const struct sw_notice *notice)
{
    sw_auto(json) json_t *document = hook_document(notice);

    for (size_t i = 0; i < SW_COUNT(fields); i++) {
        const json_t *value = json_object_get(document, fields[i].key);
        sw_autofree char *other = value && !json_is_string(value) ? sw_json_dump(value) : NULL;
        const char *text = other ? other : json_string_value(value);

        setenv(fields[i].variable, text ? text : "", 1);
    }
}
