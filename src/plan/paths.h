/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - paths that a job file writes as inside a container, in a place without containers.
 *
 * Declared inputs and outputs get folders below the job's own; wherever such a path is named, in the
 * command, a value or the config, it is replaced (docs/decisions/0005-container-paths-on-local.md).
 *
 * Pure.
 */
#ifndef SW_PLAN_PATHS_H
#define SW_PLAN_PATHS_H

#include "base/json.h"

struct sw_paths;

struct sw_paths *sw_paths_new(const json_t *inputs, const json_t *outputs,
                              const char *work_dir, const char *results_dir);
void sw_paths_free(struct sw_paths *paths);
SW_DEFINE_AUTO(sw_paths, struct sw_paths *, sw_paths_free)

const char *sw_paths_of(const struct sw_paths *paths, const char *declared);  /* borrowed */
char *sw_paths_value(const struct sw_paths *paths, const char *value);
char *sw_paths_command(const struct sw_paths *paths, const char *command);
char *sw_paths_word(const struct sw_paths *paths, const char *word);
json_t *sw_paths_document(const struct sw_paths *paths, const json_t *document);

#endif
