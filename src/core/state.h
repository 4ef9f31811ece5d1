/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - the words for states, and which change of state is allowed.
 *
 * A final state never goes back; that one rule, kept by the store, is what makes two clients
 * polling the same job harmless.
 */
#ifndef SW_CORE_STATE_H
#define SW_CORE_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "slipway.h"

/* Our names of states, for texts that are put together when we compile; else sw_state_name(). */
#define SW_NAME_PENDING "Pending"
#define SW_NAME_ERROR   "Error"

/* A platform's own word for a state, as one row of its table. */
struct sw_state_word {
    const char *said;
    enum sw_state state;
    const char *note;        /* what it means, for people; may be NULL */
};

/* Match as a word prefix ("CANCELLED by 1000"); an unknown word, or none (NULL), is SW_UNKNOWN. */
enum sw_state sw_state_lookup(const struct sw_state_word *words, size_t count, const char *said,
                              const char **note);
int sw_state_parse(const char *name, enum sw_state *state);     /* our own words, any case */

/* May a job that is `now` become `next`? While `canceling` it may only end. */
bool sw_state_may_follow(enum sw_state now, bool canceling, enum sw_state next);

#endif
