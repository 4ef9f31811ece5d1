/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loopback.h - a TCP connection to a port of this machine.
 */
#ifndef SW_BASE_LOOPBACK_H
#define SW_BASE_LOOPBACK_H

/* A server on "localhost" may have chosen either of its two addresses: both are tried. -1 with errno of the
 * first. */
int sw_loopback_connect(int port);

#endif
