/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.c - the words people use for jobs: ids, prefixes, names, `last`, `failed`, `all`.
 *
 * An exact id wins, then the words below, then a group of splits, then a name (the newest job of that
 * name), then a unique prefix. A name or `last` that leads to a split means its whole group, as that was
 * submitted at once. Ambiguity is an error that lists the candidates, never a guess. A list may show
 * many: there a name and a prefix mean every job that has it.
 *
 * A state is what the platforms say now, so they are asked before a state selects anything: a job
 * that was started a moment ago is running, whether or not it was refreshed since.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/buf.h"
#include "base/text.h"
#include "core/id.h"
#include "core/selector.h"

static int append_id(void *context, const struct sw_job *row)
{
    json_array_append_new(context, json_string(row->id));
    return 0;
}

static int ask(struct sw_session *session, struct sw_job_filter filter, json_t *out,
               struct sw_error *err)
{
    filter.columns = SW_COLUMNS_NAMES;
    return sw_store_list(session->store, &filter, append_id, out, err);
}

static int not_unique(const char *word, const json_t *ids, struct sw_error *err)
{
    sw_autofree char *list = sw_json_joined(ids, ", ");

    sw_fail(err, SW_E_USAGE, "'%s' is not unique: %s%s", word, list,
            json_array_size(ids) == 4 ? ", ..." : "");
    return sw_hint(err, "write more of the id");
}

static int by_number(const void *first, const void *second)
{
    const char *a = json_string_value(*(json_t *const *)first);
    const char *b = json_string_value(*(json_t *const *)second);
    size_t length = strlen(a), other = strlen(b);

    return length == other ? strcmp(a, b) : length < other ? -1 : 1;
}

/* The splits of this group, in the order of their numbers; *out stays empty when there is none. */
static int by_splits(struct sw_session *session, const char *group, json_t *out, struct sw_error *err)
{
    sw_autofree char *label = sw_format(SW_LABEL_GROUP "=%s", group);
    const char *const labels[] = { label };
    sw_auto(json) json_t *found = json_array();
    sw_autofree json_t **sorted = NULL;
    size_t count;

    if (ask(session, (struct sw_job_filter){ .labels = labels, .label_count = 1 }, found, err) < 0)
        return -1;
    count = json_array_size(found);
    sorted = sw_alloc((count + 1) * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        sorted[i] = json_array_get(found, i);
    qsort(sorted, count, sizeof *sorted, by_number);
    for (size_t i = 0; i < count; i++)
        json_array_append(out, sorted[i]);
    return 0;
}

/* The job that was found belongs to a group: that is meant. */
static int widen(struct sw_session *session, json_t *out, struct sw_error *err)
{
    sw_auto(sw_job) struct sw_job row = { 0 };
    const char *id = json_string_value(json_array_get(out, 0)), *group;

    if (json_array_size(out) != 1)
        return 0;
    if (sw_store_get(session->store, id, SW_COLUMNS_ALL, &row, err) < 0)
        return -1;
    group = sw_json_str(row.labels, SW_LABEL_GROUP);
    if (!group)
        return 0;
    json_array_clear(out);
    return by_splits(session, group, out, err);
}

/* A name, or the beginning of an id. */
static int by_name(struct sw_session *session, const char *word, bool every, json_t *out,
                   struct sw_error *err)
{
    if (ask(session, (struct sw_job_filter){ .name = word, .limit = every ? 0 : 1 }, out, err) < 0)
        return -1;
    if (json_array_size(out) > 0)
        return every ? 0 : widen(session, out, err);
    if (ask(session, (struct sw_job_filter){ .id_prefix = word, .limit = every ? 0 : 4 }, out,
            err) < 0)
        return -1;
    return json_array_size(out) <= 1 || every ? 0 : not_unique(word, out, err);
}

static int by_group(struct sw_session *session, const struct sw_selector_group *group, json_t *out,
                    struct sw_error *err)
{
    bool one_state = !group->active && !group->all;

    return ask(session, (struct sw_job_filter){ .states = one_state ? &group->state : NULL,
                                                .state_count = one_state ? 1 : 0,
                                                .active_only = group->active }, out, err);
}

static int select_one(struct sw_session *session, const char *word, bool every, json_t *out,
                      struct sw_error *err)
{
    const struct sw_selector_group *group = sw_selector_group(word);
    long nth = sw_selector_last(word);
    sw_auto(sw_job) struct sw_job row = { 0 };

    if (sw_id_valid(word) &&
        sw_store_get(session->store, word, SW_COLUMNS_LIST, &row, NULL) == 0)
        return json_array_append_new(out, json_string(word));
    if (group)
        return by_group(session, group, out, err);
    if (nth >= 0) {
        if (ask(session, (struct sw_job_filter){ .limit = 1, .offset = (size_t)nth }, out, err) < 0 ||
            widen(session, out, err) < 0)
            return -1;
    } else if (by_splits(session, word, out, err) < 0) {
        return -1;
    } else if (json_array_size(out) == 0 && by_name(session, word, every, out, err) < 0) {
        return -1;
    }
    if (json_array_size(out) > 0)
        return 0;
    sw_fail(err, SW_E_NOT_FOUND, "no job '%s'", word);
    return sw_hint(err, "`slipway ps` lists the jobs");
}

int api_labels_check(const char *const *labels, size_t count, struct sw_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (sw_text_empty(labels[i]) || labels[i][0] == '=' || strpbrk(labels[i], "\x1f\n"))
            return sw_fail(err, SW_E_USAGE, "'%s' is not a label: write KEY or KEY=VALUE",
                           labels[i] ? labels[i] : "");
    return 0;
}

/* Selectors are often a variable of a script, and one that is not set is no job. */
static int check(const char *const *selectors, size_t count, struct sw_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (sw_text_empty(selectors[i])) {
            sw_fail(err, SW_E_USAGE, "an empty string is not a job");
            return sw_hint(err, "is a variable not set? An id, a name or `last` is needed here");
        }
    return 0;
}

/* Ask the platforms once, where one of the words is a state. */
static int ask_platforms(struct sw_session *session, const char *const *selectors, size_t count,
                         struct sw_error *err)
{
    const struct sw_refresh_options in_time = { .deadline_ms = API_LIST_DEADLINE_MS };
    sw_auto(json) json_t *unreachable = json_array();
    const json_t *each;
    bool needed = false;
    size_t i;

    for (size_t at = 0; at < count; at++) {
        const struct sw_selector_group *group = sw_selector_group(selectors[at]);

        needed = needed || (group && !group->all);
    }
    if (needed && api_refresh_within(session, NULL, 0, &in_time, unreachable, err) < 0)
        return -1;
    json_array_foreach(unreachable, i, each) {
        sw_autofree char *text = sw_format("%s did not answer, its jobs are chosen as last seen: %s",
                                           sw_json_str(each, "platform"),
                                           sw_json_str(each, "message"));

        api_warn(session, text);
    }
    return 0;
}

/* The ids as the keys of a map: 40,000 of them are compared in no time. */
json_t *api_id_set(const json_t *ids)
{
    json_t *set = json_object(), *id;
    size_t i;

    json_array_foreach((json_t *)ids, i, id)
        json_object_set_new(set, json_string_value(id), json_true());
    return set;
}

static void append_new(json_t *ids, json_t *known, const json_t *found, const json_t *among)
{
    json_t *id;
    size_t i;

    json_array_foreach((json_t *)found, i, id) {
        const char *text = json_string_value(id);

        if (json_object_get(known, text) || (among && !json_object_get(among, text)))
            continue;
        json_object_set_new(known, text, json_true());
        json_array_append(ids, id);
    }
}

json_t *api_select(struct sw_session *session, const struct api_selection *what,
                   struct sw_error *err)
{
    sw_auto(json) json_t *ids = json_array(), *known = json_object(), *labeled = json_array();
    sw_auto(json) json_t *among = NULL;
    const struct sw_job_filter by_label = { .labels = what->labels,
                                            .label_count = what->label_count };

    if (check(what->selectors, what->count, err) < 0 ||
        api_labels_check(what->labels, what->label_count, err) < 0 ||
        ask_platforms(session, what->selectors, what->count, err) < 0)
        return NULL;
    if (what->label_count && ask(session, by_label, labeled, err) < 0)
        return NULL;
    if (what->label_count && what->count == 0)
        return sw_take(labeled);
    among = what->label_count ? api_id_set(labeled) : NULL;
    for (size_t i = 0; i < what->count; i++) {
        sw_auto(json) json_t *found = json_array();

        if (select_one(session, what->selectors[i], what->every, found, err) < 0)
            return NULL;
        append_new(ids, known, found, among);
    }
    return sw_take(ids);
}

char *sw_select(struct sw_session *session, const char *const *selectors, size_t count,
                const char *const *labels, size_t label_count, struct sw_error *err)
{
    json_t *ids = api_select(session, &(struct api_selection){ .selectors = selectors,
                                                               .count = count, .labels = labels,
                                                               .label_count = label_count }, err);

    return ids ? api_text(ids) : NULL;
}
