/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault_proxy.h - a proxy before a server on a unix socket or a port of this machine that refuses,
 * delays, loses or falsifies: what the cases of cases_faults.c ask for, in their words.
 *
 *     ""                           nothing is changed
 *     down | down 3 calls          connections are closed
 *     slow 50ms                    each request waits
 *     lose-answer                  the next start is done, and its answer lost
 *     empty-list 3 calls           lists are empty
 *     not-found-then-found         the next list is empty
 */
#ifndef SW_TESTS_CONTRACT_UNRULY_H
#define SW_TESTS_CONTRACT_UNRULY_H

struct fault_proxy {
    const char *listen, *real;        /* paths of sockets, or numbers of ports */
    /* In the first line of a request: */
    const char *list;                 /* it is a list; several with '|' between */
    const char *start, *not_start;    /* it starts a job, unless the other is in it, too (NULL: no other) */
    const char *empty;                /* the answer of an empty list */
};

/* Listen from now on, in a process of its own; one at a time. */
void fault_proxy_begin(const struct fault_proxy *proxy, const char *words);
void fault_proxy_end(void);

#endif
