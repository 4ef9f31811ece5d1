/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - what differs between two jobs: values with their sources, commit, what was not committed.
 */
#include "api/api_internal.h"

#include <string.h>

#include "base/digest.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/units.h"

/* Where the value came from; without a source of its own it has that of the map it is in. Borrowed; NULL:
 * not known. */
static const char *source_of(const struct sw_job *job, const char *key)
{
    const json_t *sources = json_object_get(job->origin, "sources");
    sw_autofree char *path = sw_strdup(key);
    const char *source = sw_json_str(sources, path);

    for (char *end; !source && (end = strpbrk(path, ".[")); source = sw_json_str(sources, path)) {
        for (char *next = end; (next = strpbrk(next + 1, ".["));)
            end = next;
        *end = '\0';
    }
    return source;
}

static void add_sources(json_t *values, const struct sw_job *first, const struct sw_job *second)
{
    json_t *each;
    size_t i;

    json_array_foreach(values, i, each) {
        const char *key = sw_json_str(each, "key");

        json_object_set_new(each, "first_source", sw_json_text(source_of(first, key)));
        json_object_set_new(each, "second_source", sw_json_text(source_of(second, key)));
    }
}

/* What is no value of the plan, and so has no source. */
static void add_fact(json_t *values, const char *key, const char *one, const char *other)
{
    if (!sw_text_same(one, other))
        json_array_append_new(values, sw_json_object(
            SW_STR("key", key), SW_STR("first", one), SW_STR("second", other), SW_STR("first_source", NULL),
            SW_STR("second_source", NULL)));
}

/* "none", or how much and a short digest of it: the same words for the same changes. Owned. */
static char *changes_in_words(const char *diff)
{
    char hash[SW_DIGEST_HEX], size[32];

    if (!*diff)
        return sw_strdup("none");
    sw_sha256_hex(diff, strlen(diff), hash);
    sw_size_format((int64_t)strlen(diff), size);
    return sw_format("%s (sha256 %.8s)", size, hash);
}

static int add_repositories(struct sw_session *session, json_t *values, const struct sw_job *first,
                            const struct sw_job *second, struct sw_error *err)
{
    const json_t *one = json_object_get(first->origin, "git");
    const json_t *other = json_object_get(second->origin, "git");
    sw_autofree char *here = sw_store_diff(session->store, first->id, err);
    sw_autofree char *there = here ? sw_store_diff(session->store, second->id, err) : NULL;
    sw_autofree char *changes = there ? changes_in_words(here) : NULL;
    sw_autofree char *others = there ? changes_in_words(there) : NULL;

    if (!there)
        return -1;
    add_fact(values, "commit", sw_json_str(one, "commit"), sw_json_str(other, "commit"));
    add_fact(values, "branch", sw_json_str(one, "branch"), sw_json_str(other, "branch"));
    add_fact(values, "uncommitted changes", changes, others);
    return 0;
}

static int get(struct sw_session *session, const char *id, struct sw_job *out, struct sw_error *err)
{
    if (sw_store_get(session->store, id, SW_COLUMNS_ALL, out, err) < 0)
        return -1;
    return out->plan ? 0 : sw_fail(err, SW_E_UNSUPPORTED, "cannot compare job '%s': it was adopted, and its "
                                                          "plan was not "
                                                          "found where it runs", id);
}

/* Neither plan's credentials are shown. */
static char *clean_text(struct sw_session *session, const struct sw_job *first, const struct sw_job *second,
                        char *document)
{
    sw_auto(sw_redactor) struct sw_redactor *one = api_redactor(session, first->plan, NULL);
    sw_auto(sw_redactor) struct sw_redactor *other = api_redactor(session, second->plan, NULL);
    sw_autofree char *text = document, *half = api_clean(one, text, strlen(text));

    return api_clean(other, half, strlen(half));
}

char *sw_compare(struct sw_session *session, const char *first, const char *second, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job one = { 0 }, other = { 0 };
    sw_auto(json) json_t *values = NULL;

    if (api_need(session, err) < 0 || get(session, first, &one, err) < 0 ||
        get(session, second, &other, err) < 0)
        return NULL;
    values = sw_plan_differences(one.plan, other.plan);
    add_sources(values, &one, &other);
    add_fact(values, "image digest", sw_json_str(one.details, "image_digest"),
             sw_json_str(other.details, "image_digest"));
    if (add_repositories(session, values, &one, &other, err) < 0)
        return NULL;
    return clean_text(session, &one, &other, api_document("diff", sw_json_object(
        SW_STR("first", one.id), SW_STR("second", other.id), SW_SUB("differences", sw_take(values)))));
}

char *sw_changes(struct sw_session *session, const char *id, struct sw_error *err)
{
    return api_need(session, err) < 0 ? NULL : sw_store_diff(session->store, id, err);
}
