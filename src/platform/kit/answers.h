/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers.h - parts of a service's answer by their path, and objects of a list by what they are called. Pure.
 * What is borrowed lives as long as the answer; a part that is missing is NULL.
 */
#ifndef SW_PLATFORM_KIT_ANSWERS_H
#define SW_PLATFORM_KIT_ANSWERS_H

#include "base/json.h"

json_t *sw_at(const json_t *answer, const char *path);                   /* "metadata.continue" */
const char *sw_at_text(const json_t *answer, const char *path);
/* The first object of a list that has this text at this path. */
json_t *sw_find(const json_t *list, const char *path, const char *text);

#endif
