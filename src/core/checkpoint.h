/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - which of a job's checkpoints is meant: by epoch, step, action; or the newest
 * complete one, from which a new attempt goes on.
 *
 * Names are all there is to go by, so the rules are those of the contract (§6.3), word for word.
 * "Newest complete" differs from it on purpose: modification time alone lets a file that was cut
 * off in the middle of its writing win.
 */
#ifndef SW_CORE_CHECKPOINT_H
#define SW_CORE_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/error.h"

enum { SW_NO_POSITION = -1 };

/* The epoch or step a path speaks of, or SW_NO_POSITION. Pure. */
int64_t sw_checkpoint_epoch(const char *path);
int64_t sw_checkpoint_step(const char *path);

struct sw_checkpoint {
    char *path;
    bool is_directory;
    int64_t mtime_ms;
};

struct sw_checkpoints {
    struct sw_checkpoint *items;
    size_t count;
};
void sw_checkpoints_done(struct sw_checkpoints *all);
static inline void sw_checkpoints_auto(struct sw_checkpoints *all) { sw_checkpoints_done(all); }

/* All below `folder`; a missing folder holds none. `directories`: also epoch_N/ and step_N/. */
int sw_checkpoints_scan(const char *folder, bool directories, struct sw_checkpoints *out,
                        struct sw_error *err);

struct sw_checkpoint_choice {
    const char *action;          /* "resume", "evaluate", ...; NULL: none in particular */
    const char *model;           /* NULL: any */
    int64_t epoch, step;         /* SW_NO_POSITION: any */
    bool prefer_directory;
    bool no_latest;              /* a file called "latest" is no answer */
};
/* Does the choice look at directories, too? */
bool sw_checkpoint_wants_directories(const struct sw_checkpoint_choice *choice);
/* The best of them, borrowed; NULL: none fits. Pure. */
const struct sw_checkpoint *sw_checkpoint_select(const struct sw_checkpoint *items, size_t count,
                                                 const struct sw_checkpoint_choice *choice);

/* Is this file whole, as far as anybody can tell from outside? Not empty, not a partial name, and
 * by its own format where the format knows its length (zip as torch writes it, safetensors). */
bool sw_checkpoint_is_whole(const char *path);

/* Owned path of the newest complete checkpoint file below the folders, or NULL. A manifest.json
 * beside a file must agree on its size; where any file has a marker (NAME.done, NAME.complete)
 * only marked ones count; one written less than settle_ms ago must stay as it is for so long. */
char *sw_checkpoint_newest_complete(const char *const *folders, size_t count, int64_t settle_ms);

#endif
