/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_sort.c - `slipway ps --sort COLUMN`: jobs in the order of a column, by its number where it has one.
 *
 * Pure.
 */
#include "cli/ps_columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

int ps_order_parse(const char *word, struct ps_order *out, struct sw_error *err)
{
    const char *name = word + (*word == '-'), *colon = strchr(name, ':');
    sw_autofree char *bare = colon ? sw_strndup(name, (size_t)(colon - name)) : sw_strdup(name);
    const struct ps_column *column;

    if (colon && strcmp(colon, ":asc") != 0 && strcmp(colon, ":desc") != 0) {
        sw_fail(err, SW_E_USAGE, "--sort: unknown order '%s'", colon + 1);
        return sw_hint(err, "write %s, %s:desc or -%s", bare, bare, bare);
    }
    column = ps_column_find(bare, err);
    if (!column)
        return sw_wrap(err, "--sort");
    out->column = column;
    out->descending = (*word == '-') != sw_text_same(colon, ":desc");
    return 0;
}

struct ps_key {
    json_t *job;
    char *text;
    double number;
    size_t at;
    bool descending;
};

static int compare_values(const struct ps_key *a, const struct ps_key *b)
{
    if (a->text && b->text)
        return strcmp(a->text, b->text);
    return (a->number > b->number) - (a->number < b->number);
}

static bool is_missing(const struct ps_key *key)
{
    return key->text ? !*key->text : isnan(key->number);
}

static int compare(const void *left, const void *right)
{
    const struct ps_key *a = left, *b = right;
    int order;

    if (is_missing(a) || is_missing(b))
        order = is_missing(a) - is_missing(b);
    else
        order = a->descending ? compare_values(b, a) : compare_values(a, b);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

json_t *ps_sorted(const json_t *jobs, const struct ps_order *order)
{
    const struct ps_column *column = order->column;
    size_t count = json_array_size(jobs), i;
    sw_autofree struct ps_key *keys = sw_alloc(sizeof *keys * (count + 1));
    json_t *sorted = json_array(), *job;

    json_array_foreach((json_t *)jobs, i, job)
        keys[i] = (struct ps_key){ .job = job, .at = i, .descending = order->descending,
                                   .number = column->number ? column->number(job) : NAN,
                                   .text = column->number ? NULL : column->text(job) };
    qsort(keys, count, sizeof *keys, compare);
    for (i = 0; i < count; i++) {
        json_array_append(sorted, keys[i].job);
        free(keys[i].text);
    }
    return sorted;
}
