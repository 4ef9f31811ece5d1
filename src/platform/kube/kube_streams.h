/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_streams.h - a command beside a container, and a port of a pod, as streams over a WebSocket.
 *
 * Both need the REST client of the cluster's API, which must outlive the stream.
 */
#ifndef SW_PLATFORM_KUBE_STREAMS_H
#define SW_PLATFORM_KUBE_STREAMS_H

#include <stdint.h>

#include "core/stream.h"
#include "platform/kit/rest.h"

/* Run what->argv in a container; argv is complete (the environment of a command is its container's, TERM
 * included). A server that speaks v5.channel.k8s.io (Kubernetes 1.30) passes the end of the input on. An
 * older one cannot: there a command without a terminal gets no input (takes_input is false). */
int kube_exec_open(struct sw_rest *rest, const char *namespace, const char *pod, const char *container,
                   const struct sw_exec *what, struct sw_stream **out, struct sw_error *err);

/* Connect to a TCP port of a pod. read() puts what comes as output 1; status() says what went wrong: a port
 * at which nothing listens is seen there. A server older than 1.31 cannot pass the end of the input on. */
int kube_port_open(struct sw_rest *rest, const char *namespace, const char *pod, uint16_t port,
                   struct sw_stream **out, struct sw_error *err);

#endif
