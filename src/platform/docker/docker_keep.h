/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_keep.h - logs that outlive their containers.
 */
#ifndef SW_PLATFORM_DOCKER_KEEP_H
#define SW_PLATFORM_DOCKER_KEEP_H

#include "platform/docker/docker_spool.h"

/* The end of the log of every rank, of all these jobs that are over. Nothing that fails here is lost: the
 * engine has it still, mostly. */
void docker_keep_logs(struct sw_connection *conn, const struct sw_jobref *const *jobs, size_t count);

/* The container is gone: what was kept of its log joins the spool. 0: nothing was. */
int docker_keep_take(struct docker_spool *spool, const char *folder, int rank, struct sw_error *err);

#endif
