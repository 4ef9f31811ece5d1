/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_log.h - the log of a pod with one container, by its name, for platforms that only read it.
 */
#ifndef SW_PLATFORM_KUBE_LOG_H
#define SW_PLATFORM_KUBE_LOG_H

#include "platform/kit/rest.h"
#include "platform/platform.h"

/* As log_fetch() of a platform, without streams. The caller knows cursor->life. */
int kube_log_fetch(struct sw_rest *rest, const char *namespace, const char *pod, struct sw_log_cursor *cursor,
                   const struct sw_log_sink *sink, struct sw_error *err);
/* Its last lines with the runner's report, which the lines above are without: owned; NULL: not read. The pod
 * ended at this time; 0: not known. */
char *kube_log_tail(struct sw_rest *rest, const char *namespace, const char *pod, int64_t ended_ms);

/* What the words of a refusal to give a log mean. Pure. */
enum kube_log_said { KUBE_LOG_FAILED, KUBE_LOG_NOT_BEGUN, KUBE_LOG_GONE };
enum kube_log_said kube_log_said(const char *words);

#endif
