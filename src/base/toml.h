/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toml.h - our own TOML 1.0 reader and writer (no C library is packaged; see
 * docs/decisions/0003-our-own-toml.md). Passes the whole toml-test suite.
 *
 * Dates and times have no JSON type: they become texts in RFC 3339 form. For toml-test the
 * reader can mark them; ordinary callers use sw_document_parse().
 */
#ifndef SW_BASE_TOML_H
#define SW_BASE_TOML_H

#include "base/buf.h"
#include "base/document.h"

struct sw_positions;     /* line and column of keys and list elements (document_internal.h) */

/* `tagged`: every value becomes {"type": "datetime", "value": "..."} as toml-test wants them,
 * also infinities and NULs in texts, which a document cannot hold. `positions` may be NULL. */
json_t *sw_toml_read(const char *text, size_t length, const char *name, bool tagged,
                     struct sw_positions *positions, struct sw_error *err);
int sw_toml_write(struct sw_buf *out, const json_t *value, bool tagged, struct sw_error *err);

#endif
