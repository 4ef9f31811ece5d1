/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete_values.c - what the values of flags can be: from the schema of the job file, from the
 * states, and from the labels of the jobs in the store.
 */
#include <string.h>

#include "base/text.h"
#include "cli/complete_internal.h"
#include "cli/ps_columns.h"

#define NEWEST      500
#define WITH_LABELS 50          /* labels are read job by job */

json_t *complete_stored(struct completion *c, const char *state)
{
    struct sw_list_options options = {
        .size = sizeof options, .look = SW_LOOK_STORED, .state = state, .limit = NEWEST,
    };

    c->cli->read_only = true;
    c->cli->quiet = true;
    if (!cli_session(c->cli, NULL))
        return NULL;
    return cli_document(sw_list(c->cli->session, &options, NULL), NULL);
}

static json_t *schema_properties(void)
{
    sw_auto(json) json_t *schema = cli_document(sw_schema(NULL), NULL);

    return json_incref(json_object_get(schema, "properties"));
}

static void offer_words(const struct completion *c, const json_t *words)
{
    const json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
        complete_offer(c, json_string_value(word), NULL);
}

void complete_platforms(struct completion *c)
{
    sw_auto(json) json_t *properties = schema_properties();
    const json_t *forms = json_object_get(json_object_get(properties, "platform"), "anyOf");

    offer_words(c, json_object_get(json_array_get(forms, 0), "enum"));
}

void complete_launchers(struct completion *c)
{
    sw_auto(json) json_t *properties = schema_properties();

    offer_words(c, json_object_get(json_object_get(properties, "launcher"), "enum"));
}

void complete_states(struct completion *c)
{
    for (int state = SW_UNKNOWN; state <= SW_CANCELED; state++)
        complete_offer(c, sw_state_name(state), NULL);
    complete_offer(c, "active", "all unfinished jobs");
}

void complete_sort(struct completion *c)
{
    for (const struct ps_column *column = ps_columns; column->name; column++) {
        sw_autofree char *reversed = sw_format("-%s", column->name);

        complete_offer(c, *c->word == '-' ? reversed : column->name, column->about);
    }
}

/* "columns=id,st": the names before the last comma stay. */
void complete_ps_format(struct completion *c)
{
    static const char *const words[] = { "table", "wide", "columns=", "json", "yaml", "name" };
    const char *list = sw_text_starts(c->word, "columns=") ? c->word + strlen("columns=") : NULL;
    const char *comma = list ? strrchr(list, ',') : NULL, *end = comma ? comma + 1 : list;

    for (size_t i = 0; !list && i < SW_COUNT(words); i++)
        complete_offer(c, words[i], NULL);
    for (const struct ps_column *column = ps_columns; list && column->name; column++) {
        sw_autofree char *whole = sw_format("%.*s%s", (int)(end - c->word), c->word, column->name);

        complete_offer(c, whole, column->about);
    }
}

/* "slurm.partition=": a key with keys of its own is offered as those. */
static void offer_keys(const struct completion *c, const json_t *properties, const char *above)
{
    const char *key;
    json_t *row;

    json_object_foreach((json_t *)properties, key, row) {
        sw_autofree char *path = sw_format("%s%s", above, key);
        sw_autofree char *deeper = sw_format("%s.", path), *whole = sw_format("%s=", path);
        const json_t *own = json_object_get(row, "properties");

        if (json_object_size(own) > 0)
            offer_keys(c, own, deeper);
        else
            complete_offer(c, whole, sw_json_str(row, "description"));
    }
}

void complete_keys(struct completion *c)
{
    sw_auto(json) json_t *properties = schema_properties();

    offer_keys(c, properties, "");
}

/* Each label of the newest jobs once. */
void complete_labels(struct completion *c)
{
    sw_auto(json) json_t *document = complete_stored(c, NULL), *known = json_object();
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(document, "jobs"), i, job) {
        sw_auto(json) json_t *whole = NULL;
        const char *key;
        json_t *value;

        if (i == WITH_LABELS)
            break;
        whole = cli_document(sw_status(c->cli->session, sw_json_str(job, "id"), SW_LOOK_STORED,
                                       NULL), NULL);
        json_object_foreach(json_object_get(whole, "labels"), key, value) {
            sw_autofree char *pair = sw_format("%s=%s", key, json_string_value(value));

            if (json_object_get(known, pair))
                continue;
            json_object_set_new(known, pair, json_true());
            complete_offer(c, pair, NULL);
        }
    }
}
