/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - comparing identities, and which options lead to a place.
 *
 * Pure.
 */
#include "core/place.h"

#include <string.h>

#include "base/text.h"

void sw_place_done(struct sw_place *place)
{
    free(place->platform);
    free(place->address);
    free(place->identity);
    json_decref(place->options);
    *place = (struct sw_place){ 0 };
}

bool sw_identity_same(const char *one, const char *other)
{
    size_t length = one ? strcspn(one, " ") : 0;

    if (length == 0 || sw_text_empty(other))
        return true;
    return strcspn(other, " ") == length && memcmp(one, other, length) == 0;
}

json_t *sw_connection_options(const struct sw_option *table, const json_t *options)
{
    json_t *mine = json_object();

    for (; table && table->name; table++)
        if (table->scope == SW_CONNECTION && json_object_get(options, table->name))
            json_object_set(mine, table->name, json_object_get(options, table->name));
    return mine;
}

json_t *sw_place_open_options(const struct sw_place *place, const struct sw_option *table,
                              const json_t *today)
{
    json_t *options = today ? json_copy((json_t *)today) : json_object();

    for (; table && table->name; table++)
        if (table->scope == SW_CONNECTION)
            json_object_del(options, table->name);
    json_object_update(options, place->options);
    return options;
}
