/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - what differs between two jobs: values with their sources, commit, what was not committed.
 */
#include "api/api_internal.h"

#include <string.h>

#include "base/text.h"

static json_t *source_of(const struct sw_job *job, const char *key)
{
    return json_incref(json_object_get(json_object_get(job->origin, "sources"), key));
}

static void add_sources(json_t *values, const struct sw_job *first, const struct sw_job *second)
{
    json_t *each;
    size_t i;

    json_array_foreach(values, i, each) {
        const char *key = sw_json_str(each, "key");
        json_t *one = source_of(first, key), *other = source_of(second, key);

        json_object_set_new(each, "first_source", one ? one : json_null());
        json_object_set_new(each, "second_source", other ? other : json_null());
    }
}

/* What of it is no value of the plan. */
static void add_origin(json_t *values, const char *key, const char *one, const char *other)
{
    if (!sw_text_same(one, other) && (one || other))
        json_array_append_new(values, sw_json_object(SW_STR("key", key), SW_STR("first", one),
                                                     SW_STR("second", other)));
}

static int get(struct sw_session *session, const char *id, struct sw_job *out, struct sw_error *err)
{
    if (sw_store_get(session->store, id, SW_COLUMNS_ALL, out, err) < 0)
        return -1;
    return out->plan ? 0 : sw_fail(err, SW_E_UNSUPPORTED, "job '%s' was adopted without its plan", id);
}

char *sw_compare(struct sw_session *session, const char *first, const char *second, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job one = { 0 }, other = { 0 };
    sw_auto(json) json_t *values = NULL;
    sw_autofree char *here = NULL, *there = NULL;
    const json_t *git, *also;

    if (api_need(session, err) < 0 || get(session, first, &one, err) < 0 || get(session, second, &other, err) < 0)
        return NULL;
    here = sw_store_diff(session->store, first, err);
    there = here ? sw_store_diff(session->store, second, err) : NULL;
    if (!there)
        return NULL;
    git = json_object_get(one.origin, "git");
    also = json_object_get(other.origin, "git");
    values = sw_plan_differences(one.plan, other.plan);
    add_sources(values, &one, &other);
    add_origin(values, "commit", sw_json_str(git, "commit"), sw_json_str(also, "commit"));
    add_origin(values, "branch", sw_json_str(git, "branch"), sw_json_str(also, "branch"));
    add_origin(values, "uncommitted changes", *here ? "yes" : "no",
               strcmp(here, there) == 0 ? *here ? "yes" : "no" : *there ? "others" : "none");
    add_origin(values, "image digest", sw_json_str(one.details, "image_digest"),
               sw_json_str(other.details, "image_digest"));
    return api_text(sw_json_object(SW_INT("version", 1), SW_STR("first", one.id), SW_STR("second", other.id),
                                   SW_SUB("differences", sw_take(values))));
}

char *sw_changes(struct sw_session *session, const char *id, struct sw_error *err)
{
    return api_need(session, err) < 0 ? NULL : sw_store_diff(session->store, id, err);
}
