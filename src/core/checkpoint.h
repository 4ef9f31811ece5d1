/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - the newest complete checkpoint, from which a new attempt goes on.
 *
 * Modification time alone would let a file win that was cut off in the middle of its writing.
 */
#ifndef SW_CORE_CHECKPOINT_H
#define SW_CORE_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

/* Owned path of the newest complete checkpoint file below the folders, or NULL. Complete: not empty,
 * not a partial name, and whole by its own format where the format knows its length (zip as torch
 * writes it, safetensors). A manifest.json beside a file must agree on its size; where any file has
 * a marker (NAME.done, NAME.complete) only marked ones count; one written less than settle_ms ago
 * must stay as it is for so long. */
char *sw_checkpoint_newest_complete(const char *const *folders, size_t count, int64_t settle_ms);

#endif
