/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.c - the words people use for jobs: ids, prefixes, names, `last`, `failed`, `all`.
 *
 * An exact id wins, then the words below, then a name (the newest job of that name), then a
 * unique prefix. Ambiguity is an error that lists the candidates, never a guess.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_internal.h"
#include "base/buf.h"
#include "base/text.h"
#include "core/id.h"
#include "core/state.h"

static int append_id(void *context, const struct sw_job *row)
{
    json_array_append_new(context, json_string(row->id));
    return 0;
}

static const struct group {
    const char *word;
    enum sw_state state;
    bool active, all;
} groups[] = {
    { "failed", SW_ERROR, false, false },     { "complete", SW_COMPLETE, false, false },
    { "canceled", SW_CANCELED, false, false }, { "running", SW_RUNNING, false, false },
    { "pending", SW_PENDING, false, false },   { "active", SW_UNKNOWN, true, false },
    { "all", SW_UNKNOWN, false, true },
};

static const struct group *group_called(const char *word)
{
    for (size_t i = 0; i < SW_COUNT(groups); i++)
        if (strcmp(groups[i].word, word) == 0)
            return &groups[i];
    return NULL;
}

/* "last" -> 0, "last-2" -> 2, anything else -> -1. */
static long last_index(const char *word)
{
    char *end;
    long n;

    if (strcmp(word, "last") == 0)
        return 0;
    if (!sw_text_starts(word, "last-") || !isdigit((unsigned char)word[5]))
        return -1;
    n = strtol(word + 5, &end, 10);
    return *end == '\0' && n >= 0 && n < 1000000 ? n : -1;
}

static int ask(struct sw_session *session, struct sw_job_filter filter, json_t *out,
               struct sw_error *err)
{
    filter.columns = SW_COLUMNS_NAMES;
    return sw_store_list(session->store, &filter, append_id, out, err);
}

static int by_prefix(struct sw_session *session, const char *word, json_t *out,
                     struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf list = SW_BUF_INIT;
    size_t i;
    json_t *id;

    if (ask(session, (struct sw_job_filter){ .id_prefix = word, .limit = 4 }, out, err) < 0)
        return -1;
    if (json_array_size(out) <= 1)
        return 0;
    json_array_foreach(out, i, id)
        sw_buf_addf(&list, "%s%s", i ? ", " : "", json_string_value(id));
    sw_fail(err, SW_E_USAGE, "'%s' is not unique: %s%s", word, sw_buf_text(&list),
            json_array_size(out) == 4 ? ", ..." : "");
    return sw_hint(err, "write more of the id");
}

static int select_one(struct sw_session *session, const char *word, json_t *out,
                      struct sw_error *err)
{
    const struct group *group = group_called(word);
    long nth = last_index(word);
    sw_auto(sw_job) struct sw_job row = { 0 };

    if (sw_id_valid(word) &&
        sw_store_get(session->store, word, SW_COLUMNS_LIST, &row, NULL) == 0)
        return json_array_append_new(out, json_string(word));
    if (nth >= 0)
        return ask(session, (struct sw_job_filter){ .limit = 1, .offset = (size_t)nth }, out, err);
    if (group)
        return ask(session, (struct sw_job_filter){
                       .states = group->active || group->all ? NULL : &group->state,
                       .state_count = group->active || group->all ? 0 : 1,
                       .active_only = group->active }, out, err);
    if (ask(session, (struct sw_job_filter){ .name = word, .limit = 1 }, out, err) < 0)
        return -1;
    if (json_array_size(out) == 0 && by_prefix(session, word, out, err) < 0)
        return -1;
    if (json_array_size(out) == 0) {
        sw_fail(err, SW_E_NOT_FOUND, "there is no job '%s'", word);
        return sw_hint(err, "`slipway ps` lists the jobs");
    }
    return 0;
}

/* The ids as the keys of a map: 40,000 of them are compared in no time. */
static json_t *set_of(const json_t *ids)
{
    json_t *set = json_object(), *id;
    size_t i;

    json_array_foreach((json_t *)ids, i, id)
        json_object_set_new(set, json_string_value(id), json_true());
    return set;
}

static int select_label(struct sw_session *session, const char *label, json_t *out,
                        struct sw_error *err)
{
    const char *equals = strchr(label, '=');
    sw_autofree char *key = equals ? sw_strndup(label, (size_t)(equals - label))
                                   : sw_strdup(label);

    return ask(session, (struct sw_job_filter){ .label_key = key,
                                                .label_value = equals ? equals + 1 : NULL },
               out, err);
}

char *sw_select(struct sw_session *session, const char *const *selectors, size_t count,
                const char *label, struct sw_error *err)
{
    sw_auto(json) json_t *ids = json_array();
    sw_auto(json) json_t *labeled = json_array();
    sw_auto(json) json_t *with_label = NULL, *known = json_object();

    if (label && select_label(session, label, labeled, err) < 0)
        return NULL;
    with_label = set_of(labeled);
    if (label && count == 0)
        json_array_extend(ids, labeled);
    for (size_t i = 0; i < count; i++) {
        sw_auto(json) json_t *found = json_array();
        size_t j;
        json_t *id;

        if (select_one(session, selectors[i], found, err) < 0)
            return NULL;
        json_array_foreach(found, j, id) {
            const char *text = json_string_value(id);

            if ((count > 1 && json_object_get(known, text)) ||
                (label && !json_object_get(with_label, text)))
                continue;
            if (count > 1)                      /* one word names no job twice */
                json_object_set_new(known, text, json_true());
            json_array_append(ids, id);
        }
    }
    if (json_array_size(ids) == 0) {
        sw_fail(err, SW_E_NOT_FOUND, "no job matches");
        sw_hint(err, "`slipway ps` lists the jobs");
        return NULL;
    }
    return api_text(sw_take(ids));
}
