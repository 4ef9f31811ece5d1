/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selector.c - the words that choose jobs, one row each.
 *
 * A job that were named like one of them could never be chosen by its name, so spec/ refuses these
 * names and api/ gives the words their meaning. Pure.
 */
#include "core/selector.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const struct sw_selector_group groups[] = {
    { "failed", SW_ERROR, false, false },     { "complete", SW_COMPLETE, false, false },
    { "canceled", SW_CANCELED, false, false }, { "running", SW_RUNNING, false, false },
    { "pending", SW_PENDING, false, false },   { "active", SW_UNKNOWN, true, false },
    { "all", SW_UNKNOWN, false, true },
};

const struct sw_selector_group *sw_selector_group(const char *word)
{
    for (size_t i = 0; i < SW_COUNT(groups); i++)
        if (strcmp(groups[i].word, word) == 0)
            return &groups[i];
    return NULL;
}

long sw_selector_last(const char *word)
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

bool sw_selector_is_word(const char *word)
{
    return sw_selector_group(word) || sw_selector_last(word) >= 0;
}
