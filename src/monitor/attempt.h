/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt.h - one attempt of a job is handed to its platform: the first and every later one.
 *
 * There is one function for all attempts, so that the second equals the first: the same secrets and
 * credentials, the same code, the same results folder, the same marks.
 */
#ifndef SW_MONITOR_ATTEMPT_H
#define SW_MONITOR_ATTEMPT_H

#include "base/environment.h"
#include "platform/platform.h"
#include "store/store.h"

/* The values a plan names: its secrets (all must be there) and the secret settings of its data (those
 * that were there when it was submitted). `env` NULL: as for a later attempt, the environment and the
 * files that the job was submitted with. */
struct sw_secrets *sw_attempt_secrets(const struct sw_plan *plan, sw_env_fn *env,
                                      void *context, struct sw_error *err);

/* The plan of a stored row, ready for its next attempt. A plan of a stranger is refused
 * (SW_E_CREDENTIAL): adopting dropped what it needs. */
struct sw_plan *sw_attempt_plan(const struct sw_job *row, struct sw_error *err);

#define SW_PLAN_UNSIGNED "unsigned"   /* true in the stored plan of a job that a stranger may have written */

struct sw_attempt {
    struct sw_store *store;
    const struct sw_platform *platform;
    struct sw_connection *conn;
    struct sw_plan *plan;            /* gets its marks here */
    int number;                      /* from 1 */
    const struct sw_secrets *secrets;
    void (*warn)(void *context, const char *text);       /* may be NULL */
    void *warn_context;
};

/* Who submits it, for what shows the plan without sending it. */
void sw_attempt_mark(struct sw_plan *plan, const struct sw_store *store);

/* Submit. The row is there, "submitting", owned by this process, which holds its lock. Afterwards the
 * row says what happened: 0, and *why has a code when the platform did not take it (or when that
 * is not known). -1 only when the store fails. A row that was ended meanwhile is noticed: what was started is
 * canceled, or the row is opened again. */
int sw_attempt_submit(const struct sw_attempt *attempt, struct sw_error *why, struct sw_error *err);

/* The attempt cannot be sent, and trying again would not help: the job is over. */
int sw_attempt_refuse(struct sw_store *store, const char *id, int number, const char *reason,
                      const struct sw_error *why, struct sw_error *err);

#endif
