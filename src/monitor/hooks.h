/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - events become notices, and each notice gets a process of its own.
 */
#ifndef SW_MONITOR_HOOKS_H
#define SW_MONITOR_HOOKS_H

#include "store/store.h"

/* The hooks of a job (its plan) that want to hear of such an event, added to `hooks`. Pure. */
void sw_hooks_for(const json_t *plan, const char *kind, const json_t *data, json_t *hooks);

/* Look up what is due, and start a process for each (slipway-hook, detached). Cheap when nothing
 * is due. A helper program that cannot be found or started is an error; the notices stay due. */
int sw_hooks_run(struct sw_store *store, struct sw_error *err);

#endif
