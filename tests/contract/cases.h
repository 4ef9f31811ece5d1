/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cases.h - the groups of claims that hold on every platform. Each group is one file.
 */
#ifndef SW_TESTS_CONTRACT_CASES_H
#define SW_TESTS_CONTRACT_CASES_H

#include "trial.h"

struct contract_case {
    const char *claim;
    void (*prove)(void **state);
    unsigned needs;               /* bits of enum need */
};

#define CLAIM(name, needs) { #name, name, needs }

/* Each ends with a row without a claim. */
extern const struct contract_case cases_end[];        /* how jobs end, and what is said then */
extern const struct contract_case cases_cancel[];
extern const struct contract_case cases_logs[];
extern const struct contract_case cases_attach[];     /* other processes, crashes, adoption */
extern const struct contract_case cases_faults[];     /* platforms that do not answer, or lie */
extern const struct contract_case cases_data[];       /* what goes in and what comes out */
extern const struct contract_case cases_layout[];     /* where results are, and what is among them */
extern const struct contract_case cases_secrets[];
extern const struct contract_case cases_settings[];   /* what the data needs of this machine */
extern const struct contract_case cases_truth[];      /* answers that a client may rely on */
extern const struct contract_case cases_why[];        /* what is said of a job that is over */
extern const struct contract_case cases_meaning[];    /* the same answers everywhere */
extern const struct contract_case cases_collect[];    /* outputs, and outputs that did not arrive */
extern const struct contract_case cases_reach[];      /* into a running job */
extern const struct contract_case cases_many[];       /* several jobs in one call */

#endif
