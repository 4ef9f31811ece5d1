/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keypath.h - "train.data[0].path": a place in a config, as users declare inputs and outputs.
 *
 * Dot-separated; a segment may end in [n] when it is word characters and digits.
 * Anything else is a plain key, brackets and all.
 */
#ifndef SW_CORE_KEYPATH_H
#define SW_CORE_KEYPATH_H

#include "base/error.h"
#include "base/json.h"

enum { SW_KEYPATH_INDEX_MAX = 10000 };    /* a list is never padded beyond it */

/* The value there, borrowed; NULL when it is missing or the way is blocked. */
json_t *sw_keypath_get(const json_t *document, const char *path);

/* Put a value there (stolen), making maps on the way, and lists padded with empty maps (null for
 * the last index). -1: a text or number stands in the way, or the path is malformed. */
int sw_keypath_set(json_t *document, const char *path, json_t *value, struct sw_error *err);

/* Is every segment well formed? SW_E_SPEC. */
int sw_keypath_check(const char *path, struct sw_error *err);

/* "a.b[2]" -> "a_b_2", for file names; owned. `also` are further characters that become '_'. */
char *sw_keypath_flat(const char *path, const char *also);

#endif
