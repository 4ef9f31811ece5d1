/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - paths that a job file writes as inside a container, in a place without containers.
 *
 * Declared inputs and outputs get folders below the job's own; wherever such a path is named, in the
 * command, a value or the config, it is replaced (docs/decisions/0005-container-paths-on-local.md).
 * `/results` counts as declared when any value of the job file names it; a command alone does not.
 *
 * Pure.
 */
#ifndef SW_PLAN_PATHS_H
#define SW_PLAN_PATHS_H

#include "base/json.h"
#include "plan/plan.h"

#define SW_RESULTS "/results"       /* where a job finds its results folder in a container */

struct sw_paths;

/* All that the plan declares. */
struct sw_paths *sw_paths_of_plan(const struct sw_plan *plan, const char *work_dir,
                                  const char *results_dir);

struct sw_paths *sw_paths_new(const json_t *inputs, const json_t *outputs,
                              const char *work_dir, const char *results_dir);
void sw_paths_free(struct sw_paths *paths);
SW_DEFINE_AUTO(sw_paths, struct sw_paths *, sw_paths_free)

const char *sw_paths_of(const struct sw_paths *paths, const char *declared);  /* borrowed */
char *sw_paths_value(const struct sw_paths *paths, const char *value);
char *sw_paths_command(const struct sw_paths *paths, const char *command);
char *sw_paths_word(const struct sw_paths *paths, const char *word);
json_t *sw_paths_document(const struct sw_paths *paths, const json_t *document);
/* A copy of an array of objects; the path under `key` of each is replaced where it is declared. */
json_t *sw_paths_entries(const struct sw_paths *paths, const json_t *entries, const char *key);

/* Every path in the payload that is declared; before placeholders are filled in. */
struct sw_payload;
void sw_paths_payload(const struct sw_paths *paths, struct sw_payload *payload);

/* Two outputs that would be one folder of the results are SW_E_SPEC; one with `to` is none of them. */
int sw_paths_check_outputs(const json_t *outputs, struct sw_error *err);

/* Does the command name /results where nothing declares it, so that it would mean the machine's own? */
bool sw_paths_misses_results(const struct sw_plan *plan);

#endif
