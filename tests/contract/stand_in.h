/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in.h - a server of tests/sim for the cases of a cloud platform. Each case has one of its own, in a
 * folder that is not the case's: a process that names that folder counts as one of the case.
 */
#ifndef SW_TESTS_CONTRACT_STAND_IN_H
#define SW_TESTS_CONTRACT_STAND_IN_H

/* Ends the one before, and starts SLIPWAY_SIM/PROGRAM with the engine of DOCKER_HOST. Returns its port. */
const char *stand_in_begin(const char *program);
const char *stand_in_folder(void);
/* What it shall do wrong, in the words of cases_faults.c; NULL: nothing. */
void stand_in_disturb(const char *words);

#endif
