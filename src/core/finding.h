/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finding.h - rows of a report about what is in order (preflight, doctor, platforms):
 * {"check","ok","message",
 * "fix","state"}. `ok` is null where it is neither right nor wrong, and `state` says why then. Pure.
 */
#ifndef SW_CORE_FINDING_H
#define SW_CORE_FINDING_H

#include "base/error.h"
#include "base/json.h"

#define SW_STATE_NOT_SET_UP  "not set up"      /* nothing to repair: it is not used here */
#define SW_STATE_NOT_CHECKED "not checked"     /* and the message says why it cannot be */

/* `fix` (NULL: not known) counts where it is not `ok`. */
void sw_finding(json_t *rows, const char *check, bool ok, const char *message, const char *fix);
/* Something could not be looked at, or is wrong, and this is why. False. */
bool sw_finding_error(json_t *rows, const char *check, const struct sw_error *why);
/* Neither right nor wrong; `state` is one of the two above. */
void sw_finding_open(json_t *rows, const char *check, const char *state, const char *message,
                     const char *fix);
/* Another machine's clock beside ours, both as milliseconds since 1970. Minutes apart, certificates, tokens
 * and signatures of one look too old or too new to the other. */
void sw_finding_clock(json_t *rows, const char *whose, int64_t theirs_ms, int64_t ours_ms);

/* "ok", "failed", or the state of an open one; borrowed. */
const char *sw_finding_state(const json_t *row);

#endif
