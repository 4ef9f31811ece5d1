/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - what an attempt of a job is called where names are short. Pure.
 */
#ifndef SW_PLATFORM_KIT_NAMES_H
#define SW_PLATFORM_KIT_NAMES_H

#include <stddef.h>

/* "ID", and "ID-aN" of a later attempt. Where that is longer than `most` characters, the name in front of the
 * id's random end is cut: what makes it unlike any other stays. */
void sw_attempt_name(const char *id, int attempt, size_t most, char *out, size_t size);

#endif
