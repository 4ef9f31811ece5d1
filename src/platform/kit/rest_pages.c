/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_pages.c - a list that comes in pages, read to its end or not at all.
 *
 * A job that is missing from a list is believed to be gone, so a list without one of its pages is an error.
 * A server that gives the same token again would never end; it is stopped.
 */
#include <assert.h>
#include <string.h>

#include "base/text.h"
#include "platform/kit/answers.h"
#include "platform/kit/rest.h"

enum { PAGES_MAX = 10000, QUERY_MAX = 16 };

/* The token of the page behind this one, owned; NULL: this was the last. */
static char *token_after(const struct sw_rest_pages *pages, const json_t *page, int number, size_t items,
                         size_t so_far)
{
    const json_t *next;

    if (!pages->parameter)
        return NULL;
    if (pages->numbered)
        return items ? sw_format("%d", number + 1) : NULL;
    if (!pages->next)
        return items && items >= pages->full ? sw_format("%zu", so_far) : NULL;
    next = sw_at(page, pages->next);
    if (json_is_integer(next))
        return sw_format("%lld", (long long)json_integer_value(next));
    return sw_text_empty(json_string_value(next)) ? NULL : sw_strdup(json_string_value(next));
}

static int get_page(struct sw_rest *rest, const struct sw_rest_call *call, const char *parameter,
                    const char *token, json_t **page, struct sw_error *err)
{
    struct sw_rest_pair query[QUERY_MAX + 2] = { 0 };
    struct sw_rest_call one = *call;
    size_t count = 0;

    for (; call->query && call->query[count].key; count++) {
        assert(count < QUERY_MAX);
        query[count] = call->query[count];
    }
    query[count] = (struct sw_rest_pair){ parameter, token };
    one.query = query;
    return sw_rest_call(rest, &one, page, err);
}

int sw_rest_list(struct sw_rest *rest, const struct sw_rest_call *call,
                 const struct sw_rest_pages *pages, int (*take)(void *context, json_t *item),
                 void *context, struct sw_error *err)
{
    sw_autofree char *token = pages->numbered ? sw_strdup("1") : NULL;
    size_t so_far = 0;

    for (int i = 0; i < PAGES_MAX; i++) {
        sw_auto(json) json_t *page = NULL;
        sw_autofree char *last = sw_take(token);
        const json_t *items;
        json_t *item;
        size_t at;

        if (get_page(rest, call, pages->parameter, last, &page, err) < 0)
            return -1;
        items = pages->items && !json_is_array(page) ? sw_at(page, pages->items) : page;
        if (!json_is_array(items) && !json_is_null(items))
            return sw_fail(err, SW_E_UNREACHABLE, "the answer to %s is not a list", call->path);
        if (pages->page)
            pages->page(context, page);
        json_array_foreach((json_t *)items, at, item) {
            int over = take(context, item);

            if (over)
                return over;
        }
        so_far += json_array_size(items);
        token = token_after(pages, page, i + 1, json_array_size(items), so_far);
        if (!token)
            return 0;
        if (sw_text_same(token, last))
            break;
    }
    return sw_fail(err, SW_E_UNREACHABLE, "the list at %s does not end", call->path);
}
