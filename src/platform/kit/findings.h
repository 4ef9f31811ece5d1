/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings.h - rows of the slot preflight_report(): {"check","ok","message","fix"}. Pure.
 */
#ifndef SW_PLATFORM_KIT_FINDINGS_H
#define SW_PLATFORM_KIT_FINDINGS_H

#include "base/error.h"
#include "base/json.h"

/* `fix` (NULL: not known) counts where it is not `ok`. */
void sw_finding(json_t *rows, const char *check, bool ok, const char *message, const char *fix);
/* Something could not be looked at, or is wrong, and this is why. False. */
bool sw_finding_error(json_t *rows, const char *check, const struct sw_error *why);

#endif
