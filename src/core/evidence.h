/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h - the facts about a failed job, gathered by a platform, judged by diagnose/.
 *
 * Platforms only collect; one rule table decides, so that the same failure gets the same answer
 * everywhere.
 */
#ifndef SW_CORE_EVIDENCE_H
#define SW_CORE_EVIDENCE_H

#include "base/json.h"
#include "core/observation.h"

#define SW_FACT_LOG_GONE "log_gone"      /* a fact: there was a log, and it cannot be read any more */

struct sw_evidence {
    enum sw_state state;
    char reason[48];          /* the platform's word, as in struct sw_observation */
    char message[256];
    int exit_code;            /* SW_NO_EXIT_CODE: not known */
    int signal;
    int failed_replica;       /* -1: none */
    json_t *facts;            /* object: what else the platform saw ("oom_kills": 1, ...); owned */
    char *log_tail;           /* last lines of the first failing rank; owned, may be NULL */
};

enum { SW_LOG_TAIL_BYTES = 65536 };      /* of a log are enough to judge it by */

/* The tail as it is kept, owned: text, from its first whole line on. `inside`: the log begins before it. */
char *sw_evidence_tail(const char *bytes, size_t length, bool inside);

/* What an observation says, and no facts yet. */
struct sw_evidence sw_evidence_of(const struct sw_observation *seen);

void sw_evidence_done(struct sw_evidence *evidence);

#endif
