/* SPDX-License-Identifier: Apache-2.0 */
/*
 * canary.h - a random secret given to every case, and the search for it afterwards.
 *
 * It is looked for plain, base64-encoded (at all three alignments) and url-escaped, in every file
 * of the case, in everything the API answered, and in the argument list of every process that
 * was seen while the case ran (a thread looks all the time).
 */
#ifndef SW_TESTS_CONTRACT_CANARY_H
#define SW_TESTS_CONTRACT_CANARY_H

#include <stdbool.h>
#include <stddef.h>

#define CANARY_NAME "CANARY_TOKEN"

struct canary;

struct canary *canary_new(void);              /* also sets $CANARY_TOKEN, and begins to watch */
void canary_free(struct canary *canary);
const char *canary_value(const struct canary *canary);

/* Everything the API says passes through here. NULL is fine. */
void canary_heard(struct canary *canary, const char *what, const char *text);
bool canary_in(const struct canary *canary, const char *bytes, size_t length);
/* Search a folder. Afterwards canary_found() tells the first place where it was seen, or NULL. */
void canary_search(struct canary *canary, const char *folder);
const char *canary_found(struct canary *canary);

#endif
