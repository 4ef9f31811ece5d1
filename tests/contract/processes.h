/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.h - which processes belong to a job or to a test's folder? Asked of /proc itself, so
 * that the answer owes nothing to the code under test.
 */
#ifndef SW_TESTS_CONTRACT_PROCESSES_H
#define SW_TESTS_CONTRACT_PROCESSES_H

#include <stddef.h>

/* How many processes have `dir` in their arguments or environment, or carry the job's mark there
 * (`id` may be NULL). Zombies and this process do not count; where a job is asked about, the client's
 * own connections do not, either. `first` (may be NULL) gets a pid. */
int processes_of(const char *dir, const char *id, char *first, size_t size);

#endif
