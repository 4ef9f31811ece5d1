/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selector.h - the words that choose jobs without being the id or name of one.
 */
#ifndef SW_CORE_SELECTOR_H
#define SW_CORE_SELECTOR_H

#include <stdbool.h>

#include "slipway.h"

struct sw_selector_group {
    const char *word;
    enum sw_state state;             /* SW_UNKNOWN: no single state */
    bool active, all;
};

/* "failed", "running", "all", ...; NULL: not such a word. */
const struct sw_selector_group *sw_selector_group(const char *word);
/* "last" -> 0, "last-2" -> 2, anything else -> -1. */
long sw_selector_last(const char *word);
/* Either of the two: it can be no job's name. */
bool sw_selector_is_word(const char *word);

#endif
