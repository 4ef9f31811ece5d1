/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_proxy.h - a proxy before a server on a unix socket that refuses, delays, loses or falsifies:
 * what the cases of cases_faults.c ask for, in their words.
 *
 *     down | down 3 calls          connections are closed
 *     slow 50ms                    each request waits
 *     lose-answer                  the next start is done, and its answer lost
 *     empty-list 3 calls           lists are empty
 *     not-found-then-found         the next list is empty
 */
#ifndef SW_TESTS_CONTRACT_UNRULY_H
#define SW_TESTS_CONTRACT_UNRULY_H

/* Listen at `socket_path` from now on, in a process of its own; one at a time. */
void fault_proxy_begin(const char *socket_path, const char *real, const char *words);
void fault_proxy_end(void);

#endif
