/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.c - see answers.h.
 */
#include "platform/kit/answers.h"

#include <string.h>

#include "base/text.h"

json_t *sw_at(const json_t *answer, const char *path)
{
    for (size_t length; *path && answer; path += length + (path[length] == '.')) {
        length = strcspn(path, ".");
        answer = json_object_getn(answer, path, length);
    }
    return (json_t *)answer;
}

const char *sw_at_text(const json_t *answer, const char *path)
{
    return json_string_value(sw_at(answer, path));
}

json_t *sw_find(const json_t *list, const char *path, const char *text)
{
    json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
        if (sw_text_same(sw_at_text(one, path), text))
            return one;
    return NULL;
}
