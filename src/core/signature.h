/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.h - was this plan submitted by the user who looks at it now?
 *
 * A plan that travels with its job can be changed where the job runs. What is signed with the user's
 * own key (~/.config/slipway/plan.key, mode 0600) and still fits may be trusted as it was; any other
 * is a stranger's data. The key never leaves the machine; people who use several copy the file.
 */
#ifndef SW_CORE_SIGNATURE_H
#define SW_CORE_SIGNATURE_H

#include "base/digest.h"
#include "base/json.h"

/* Sign the plan's JSON, whatever the order of its keys; the key is made when there is none yet. -1:
 * there is no key that only this user can read. */
int sw_signature_make(const json_t *plan, char out[SW_DIGEST_HEX], struct sw_error *err);
/* Never makes a key. */
bool sw_signature_fits(const json_t *plan, const char *signature);
char *sw_signature_key_path(void);       /* owned */

#endif
