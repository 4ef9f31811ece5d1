/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lepton_waiting.c - jobs that wait: when their replicas are asked why, and what is said of one that never
 * starts.
 *
 * Such a question is one request per job, and hundreds may wait for hours. So the first comes when a job has
 * waited for a minute, the next when its state changed or five minutes later, and one refresh asks about four
 * jobs at most. In between the last answer counts; a note keeps the replica that decides.
 */
#include "platform/lepton/lepton_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { FIRST_MS = 60 * 1000, AGAIN_MS = 5 * 60 * 1000, EXPLAINED_MAX = 4 };

static json_t *read_note(struct sw_connection *conn, const struct sw_jobref *ref)
{
    sw_autofree char *text = sw_cloud_note(conn, ref->id, ref->attempt, "waits");

    return text ? sw_json_parse(text, strlen(text), "waits", NULL) : NULL;
}

/* What the service said just now, in the job's state `said`. Returns whether it may never start. */
static bool write_note(struct sw_connection *conn, const struct sw_jobref *ref, const char *said,
                       const json_t *replicas)
{
    bool bad;
    sw_auto(json) json_t *note = sw_json_object(
        SW_INT("asked_ms", sw_now_ms()), SW_STR("state", said ? said : ""),
        SW_SUB("replica", json_deep_copy(lepton_waits_for(replicas, &bad))));
    sw_autofree char *text = json_dumps(note, JSON_COMPACT);

    if (text)
        sw_cloud_note_write(conn, ref->id, ref->attempt, "waits", text, NULL);
    return bad;
}

bool lepton_asks_again(const json_t *note, const char *said, int64_t created_ms, int64_t now_ms)
{
    int64_t asked_ms = sw_json_int(note, "asked_ms", 0);

    if (!asked_ms)
        return now_ms - created_ms >= FIRST_MS;
    return !sw_text_same(sw_json_str(note, "state"), said) || now_ms - asked_ms >= AGAIN_MS ||
           asked_ms > now_ms;                                  /* the clock was set back */
}

/* Adds "replicas" to an answer about a job that waits: those of now, or the one that was noted ("kept"). */
void lepton_explain_waiting(struct sw_connection *conn, const struct sw_jobref *ref, json_t *job)
{
    const json_t *status = json_object_get(job, "status");
    const char *said = sw_json_str(status, "state");
    sw_auto(json) json_t *note = read_note(conn, ref), *all = NULL;
    bool asks = lepton_asks_again(note, said, lepton_time_ms(status, "creation_time"), sw_now_ms());

    if (asks && lepton_of(conn)->explained++ < EXPLAINED_MAX)
        all = lepton_job_part(conn, job, LEPTON_REPLICAS, NULL);
    if (all) {
        write_note(conn, ref, said, all);
        json_object_set(job, "replicas", all);
    } else if (json_object_get(note, "replica")) {
        json_object_set_new(job, "replicas", json_pack("[O]", json_object_get(note, "replica")));
        json_object_set_new(job, "kept", json_true());
    }
}

bool lepton_is_still_stuck(struct sw_connection *conn, const struct sw_observation *seen)
{
    sw_auto(json) json_t *note = NULL, *all = NULL, *job = NULL;

    if (!json_object_get(seen->facts, "kept"))
        return true;
    if (lepton_of(conn)->explained++ >= EXPLAINED_MAX)
        return false;
    note = read_note(conn, &seen->job);
    job = json_pack("{s:{s:s}}", "metadata", "id", seen->remote_id);
    all = lepton_job_part(conn, job, LEPTON_REPLICAS, NULL);
    return all && write_note(conn, &seen->job, sw_json_str(note, "state"), all);
}

/* Of a job that was stopped because it could not start: the replica that could not. */
void lepton_recall_waiting(struct sw_connection *conn, const struct sw_jobref *ref, json_t *job)
{
    sw_auto(json) json_t *note = read_note(conn, ref);

    if (json_object_get(note, "replica"))
        json_object_set(job, "waited_for", json_object_get(note, "replica"));
}

void lepton_suggest(struct sw_observation *seen, int64_t now_ms)
{
    struct lepton_job_options options = lepton_job_options(json_object_get(seen->job.plan, "options"));
    size_t length = strlen(seen->message);

    if (!lepton_stuck_reason(seen, options.stuck_after_ms, now_ms))
        return;
    if (options.stuck == LEPTON_RESUBMIT)
        snprintf(seen->message + length, sizeof seen->message - length,
                 "; it cannot start and is submitted again (lepton.stuck)");
    else
        snprintf(seen->message + length, sizeof seen->message - length,
                 "; it cannot start: 'slipway cancel', then 'slipway retry'%s%s",
                 *seen->node ? " --avoid-node " : "", seen->node);
}
