/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option.c - looking into option tables, and how each type is called in a message.
 */
#include "core/option.h"

#include <string.h>

const struct sw_option *sw_option_find(const struct sw_option *options, const char *name)
{
    for (; options && options->name; options++)
        if (strcmp(options->name, name) == 0)
            return options;
    return NULL;
}

const char *sw_type_name(enum sw_type type)
{
    static const char *const names[] = {
        [SW_TEXT]     = "text",
        [SW_WHOLE]    = "a whole number",
        [SW_NUMBER]   = "a number",
        [SW_FLAG]     = "true or false",
        [SW_DURATION] = "a duration such as 90s, 30m, 12h or 2d",
        [SW_DURATIONS] = "a duration such as 30s, or a range such as 30s..10m",
        [SW_SIZE]     = "a size such as 512MiB or 64GB",
        [SW_GPUS]     = "a number of GPUs such as 8 or H100:8",
        [SW_CHOICE]   = "one of a few words",
        [SW_TEXTS]    = "a list of texts",
        [SW_TEXT_MAP] = "a map of texts",
        [SW_GROUP]    = "a map",
        [SW_MAP_OF]   = "a map",
        [SW_FREE]     = "any document",
    };

    return (size_t)type < SW_COUNT(names) ? names[type] : "a value";
}
