/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.h - the marks by which a job is found again, as labels and as lists of {"name","value"}. Pure.
 */
#ifndef SW_PLATFORM_KIT_LABELS_H
#define SW_PLATFORM_KIT_LABELS_H

#include "base/json.h"

#define SW_MARK_ID        "slipway.id"
#define SW_MARK_ATTEMPT   "slipway.attempt"
#define SW_MARK_STORE     "slipway.store"
#define SW_MARK_OWNER     "slipway.owner"
#define SW_MARK_UID       "slipway.uid"
#define SW_MARK_SIGNATURE "slipway.signature"

/* Is it the value of a label, as Kubernetes takes it: at most 63 letters, digits and . _ - inside? */
bool sw_is_label(const char *text);
char *sw_label_text(const char *text);       /* made such a one; owned */

/* The value of that name in a list of {"name","value"}, borrowed; NULL: there is none. */
const char *sw_named(const json_t *list, const char *name);
void sw_named_add(json_t *list, const char *name, const char *value);      /* NULL: nothing is added */
void sw_named_add_all(json_t *list, const json_t *object);                 /* name -> text */

#endif
