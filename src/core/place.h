/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - where jobs of one connection run: its address, its identity, how to get there.
 *
 * A place is settled once, when a job is submitted, and kept with the job's row (store/places.c).
 * Later verbs open their connection from it and never from the environment they happen to run in.
 *
 * The identity says who answered: the engine's own id, the name of the cluster. An address may
 * lead to another engine tomorrow (a socket on a shared home, a renamed host); then a job that is
 * not found there is out of reach, not gone. Its first word is compared, the rest is for people.
 */
#ifndef SW_CORE_PLACE_H
#define SW_CORE_PLACE_H

#include <stdint.h>

#include "base/json.h"
#include "core/option.h"

struct sw_place {                  /* owned by the caller, sw_place_done() */
    int64_t seq;                   /* its number in the store; 0: not there */
    char *platform;
    char *address;                 /* "unix:///var/run/docker.sock", "ssh://ann@login"; "": this machine */
    char *identity;                /* "": the platform cannot tell, or was not asked yet */
    json_t *options;               /* all of its connection options */
};
void sw_place_done(struct sw_place *place);
static inline void sw_place_auto(struct sw_place *place) { sw_place_done(place); }

/* Do the two name the same engine or cluster? Where one is empty it cannot be told: yes. */
bool sw_identity_same(const char *one, const char *other);

/* Those of the options that belong to the connection; new reference. */
json_t *sw_connection_options(const struct sw_option *table, const json_t *options);

/* The options a connection to `place` is opened with: what the row says about the connection, and
 * `today` (may be NULL) for everything else. New reference. */
json_t *sw_place_open_options(const struct sw_place *place, const struct sw_option *table,
                              const json_t *today);

#endif
