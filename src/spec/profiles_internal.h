/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profiles_internal.h - what profiles.c (files) and profile_sections.c (meaning) share.
 */
#ifndef SW_SPEC_PROFILES_INTERNAL_H
#define SW_SPEC_PROFILES_INTERNAL_H

#include "spec/spec_internal.h"

#define PROFILE_PRICES "prices"       /* the section of what GPUs cost: of no platform, and no variables */

enum { PROJECT, HOME, FILES };
enum { PROFILE_CHAIN_MAX = 32 };      /* sections that inherit one another; more is a mistake */

struct sw_profiles {
    struct sw_document *files[FILES];      /* NULL: there is no such file */
    bool untrusted;                        /* the project's */
};

/* The section in one of the files; NULL when it is not there. */
const json_t *profile_section(const struct sw_profiles *profiles, size_t which,
                              const char *section);
/* The value of one key of a section, the project's first, and which file it is from. */
const json_t *profile_setting(const struct sw_profiles *profiles, const char *section,
                              const char *key, size_t *which);
/* The same for what it inherits: `inherit`, or NeMo-Run's `extends`. */
const json_t *profile_parents(const struct sw_profiles *profiles, const char *section, size_t *which);
bool profile_is_own_word(const char *key);      /* it says what the section is, not what a job wants */
/* "lepton_sft" and "lepton" -> lepton: the longest platform name that fits. */
const struct sw_spec_platform *profile_platform_of_name(const struct spec_check *check,
                                                        const char *section);
/* [wandb] project -> WANDB_PROJECT; a key that is all upper case is the variable itself. Owned. */
char *profile_variable_name(const char *section, const char *key);
/* Point the check at [section] of one file, so that complaints carry the right place. */
void profile_look_at(struct spec_check *check, const struct sw_profiles *profiles, size_t which,
                     const char *section);

#endif
