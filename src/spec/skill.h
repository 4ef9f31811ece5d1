/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skill.h - what a skill bank says about one model: its names, and image, command, inputs and outputs of each
 * of its actions (skills/models/NAME/references/skill_info.yaml).
 *
 * The bank belongs to others: what a job takes from it is checked for type and size, and what it holds
 * besides is passed over. Pure.
 */
#ifndef SW_SPEC_SKILL_H
#define SW_SPEC_SKILL_H

#include "base/error.h"
#include "base/json.h"

/* Is this model called so: by its folder, `network_arch`, `name`, `model`, one of its `aliases` or of its
 * `huggingface_model_ids`? Capital letters make no difference. */
bool sw_skill_is(const json_t *info, const char *folder, const char *word);

/* The names of its actions, sorted: an owned array, empty when there are none. */
json_t *sw_skill_actions(const json_t *info);

/* One action, owned:
 * {"command","mode","image","config_format","inputs","outputs","exclude","credentials"}; image (a
 * reference, or a key of versions.yaml) and config_format are absent where the bank has none. SW_E_SPEC:
 * there is no such action, or it makes no sense. */
json_t *sw_skill_action(const json_t *info, const char *action, struct sw_error *err);

/* What that action means for a job with these values: keys of a job file, without the image. Inputs
 * whose place has no value are left out; those that are not optional are listed in `missing`. */
json_t *sw_skill_job(const json_t *action, const json_t *values, json_t *missing);

/* Is this text a JSON object, as Python writes and reads it (with NaN and Infinity)? Changes the text. */
int sw_skill_schema(char *text, size_t length, struct sw_error *err);

/* Is an image a key of versions.yaml ("tao_toolkit.pyt") rather than a reference? */
bool sw_versions_is_key(const char *image);
/* The text below `images` that a dotted key leads to, borrowed. NULL: SW_E_NOT_FOUND, SW_E_SPEC. */
const char *sw_versions_image(const json_t *versions, const char *key, struct sw_error *err);

#endif
