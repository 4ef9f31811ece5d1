/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bank.h - a skill bank on this machine, and its versions.yaml: where they are, and what they say about
 * models.
 *
 * The folder is TAO_SKILL_BANK_PATH, else ~/tao-skills-external. Of versions.yaml the first that exists
 * counts: TAO_VERSIONS_FILE, the current folder's where it counts, the bank's. Both are only read.
 */
#ifndef SW_SPEC_BANK_H
#define SW_SPEC_BANK_H

#include "base/environment.h"
#include "base/error.h"
#include "base/json.h"

struct sw_bank;

/* Finds them; reads nothing yet. `here`: the current folder counts. SW_E_NOT_FOUND: there is no bank. */
struct sw_bank *sw_bank_open(sw_env_fn *env, void *env_context, bool here, struct sw_error *err);
void sw_bank_close(struct sw_bank *bank);
SW_DEFINE_AUTO(sw_bank, struct sw_bank *, sw_bank_close)
const char *sw_bank_folder(const struct sw_bank *bank);        /* borrowed */

/* Every model, by the name of its folder: [{"name","network_arch","actions","automl","reason","problem"}].
 * `automl` is true when it is enabled and its train schema is there; `reason` says why it is not. `problem`
 * is why the model cannot be read. */
json_t *sw_bank_models(const struct sw_bank *bank, struct sw_error *err);

/* One action, as sw_skill_action() has it, with "model" (its folder), "network_arch", "action" and "file";
 * "image" is a reference, and "image_from" says in words where it stands; without "image" the bank names
 * none, or several ("images_of": their names). SW_E_NOT_FOUND: there is no such model; SW_E_SPEC. */
json_t *sw_bank_action(const struct sw_bank *bank, const char *model, const char *action,
                       struct sw_error *err);

#endif
