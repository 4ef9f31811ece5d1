/* SPDX-License-Identifier: Apache-2.0 */
/*
 * same_id.c - an id that the caller gave, and that a job has already.
 *
 * Repeating a submit must find the first job; using its id for another one must not look like success. So
 * the plans are compared, and where they ask for different jobs that is a conflict which names the key.
 */
#include <stdlib.h>

#include "api/api_internal.h"
#include "base/clock.h"
#include "base/text.h"
#include "core/place.h"
#include "core/reason.h"

enum { SETTLES_MS = 30 * 1000, PAUSE_MS = 10 };

/* Its submit came to nothing: interrupted before anything was made, or refused. */
static bool never_began(const struct sw_job *row)
{
    return row->phase == SW_PHASE_OVER && row->attempt == 1 &&
           (sw_text_same(row->reason, SW_REASON_NOT_STARTED) || sw_text_same(row->reason, SW_REASON_REFUSED));
}

/* With `platform: [a, b]` the first submit may have gone to another of them than this one would. */
static bool is_another_choice(const struct sw_job *row, const struct api_plan *made)
{
    const json_t *name;
    size_t i;

    if (sw_text_same(row->platform, made->platform->name))
        return false;
    json_array_foreach(made->spec->platforms, i, name)
        if (sw_text_same(json_string_value(name), row->platform))
            return true;
    return false;
}

/* How it is reached makes no other job: where it runs is compared by its address. */
static json_t *without_connection(const struct sw_platform *platform, const json_t *plan)
{
    json_t *asked = json_copy((json_t *)plan), *options = json_copy(json_object_get(plan, "options"));
    sw_auto(json) json_t *connection = sw_connection_options(platform->options, options);
    const char *name;
    json_t *value;

    json_object_foreach(connection, name, value)
        json_object_del(options, name);
    json_object_set_new(asked, "options", options);
    return asked;
}

/* Without what the platform alone decides. Owned. */
static char *difference_elsewhere(const json_t *first, const json_t *second)
{
    sw_auto(json) json_t *one = json_copy((json_t *)first), *other = json_copy((json_t *)second);
    json_t *const sides[] = { one, other };

    for (size_t i = 0; i < SW_COUNT(sides); i++) {
        json_object_del(sides[i], "platform");
        json_object_del(sides[i], "options");
    }
    return sw_plan_difference(one, other);
}

static char *difference(const struct sw_job *row, const struct api_plan *made)
{
    sw_auto(json) json_t *plan = sw_plan_to_json(made->plan);
    sw_auto(json) json_t *first = NULL, *second = NULL;
    sw_autofree char *address = api_address(made->platform, made->conn);

    if (!json_is_object(row->plan))           /* adopted without one */
        return NULL;
    if (is_another_choice(row, made))
        return difference_elsewhere(row->plan, plan);
    if (sw_text_same(row->platform, made->platform->name) && row->address && address &&
        !sw_text_same(row->address, address))
        return sw_strdup("where it runs");
    first = without_connection(made->platform, row->plan);
    second = without_connection(made->platform, plan);
    return sw_plan_difference(first, second);
}

static int compare(const struct sw_job *row, const struct api_plan *made, struct sw_error *err)
{
    sw_autofree char *differs = difference(row, made);

    if (!differs)
        return 0;
    sw_fail(err, SW_E_CONFLICT, "job '%s' already exists, and %s differs: nothing was "
                                "submitted", row->id, differs);
    return sw_hint(err, "give this job another --id; 'slipway status %s' shows the first one", row->id);
}

int api_other_id(struct sw_session *session, const struct api_plan *made, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };

    if (sw_store_get(session->store, made->plan->job_id, SW_COLUMNS_ALL, &row, NULL) < 0 ||
        row.phase == SW_PHASE_SUBMITTING || never_began(&row))
        return 0;
    return compare(&row, made, err);
}

/* The row as it is now. The platform may need a moment to tell what a submitter that died had begun; while
 * it answers, the row of a dead one is looked at again, since it may become that of no job. */
static int read_settled(struct sw_session *session, const char *id, struct sw_job *row, struct sw_error *why,
                        struct sw_error *err)
{
    int64_t until = sw_monotonic_ms() + SETTLES_MS;

    for (;; sw_sleep_ms(PAUSE_MS)) {
        sw_auto(json) json_t *unreachable = json_array();

        if (api_refresh(session, &id, 1, unreachable, err) < 0)
            return -1;
        if (sw_store_get(session->store, id, SW_COLUMNS_ALL, row, why) < 0 ||
            row->phase != SW_PHASE_SUBMITTING || row->attempt > 1 ||
            sw_owner_lives(session->store, row, sw_now_ms()) || json_array_size(unreachable) > 0 ||
            sw_monotonic_ms() > until)
            return 0;
        sw_job_done(row);
        *row = (struct sw_job){ 0 };
    }
}

int api_same_id(struct sw_session *session, const struct api_plan *made, bool *again,
                struct sw_error *err)
{
    const char *id = made->plan->job_id;
    sw_auto(sw_job) struct sw_job row = { 0 };
    struct sw_error why = { 0 };

    *again = false;
    if (read_settled(session, id, &row, &why, err) < 0)
        return -1;
    if (!why.code) {
        if (!never_began(&row))
            return compare(&row, made, err);
        sw_store_remove(session->store, id, &why);
    }
    /* Not found, or a conflict: another client that repeats the same id was quicker; read again. */
    sw_sleep_ms(1);
    *again = why.code == SW_OK || why.code == SW_E_NOT_FOUND || why.code == SW_E_CONFLICT;
    if (!*again && err)
        *err = why;
    return *again ? 0 : -1;
}
