/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logs_internal.h - what `slipway logs` of one job and of many share.
 */
#ifndef SW_CLI_LOGS_INTERNAL_H
#define SW_CLI_LOGS_INTERNAL_H

#include "cli/cli_log.h"

struct logs_request {
    struct sw_log_options options;     /* without callbacks */
    const regex_t *grep;               /* NULL: all lines */
    size_t last_lines;                 /* of those that match; 0: all */
    bool timestamps;
    int64_t status_every_ms;
};

/* The log's part of the request. */
void logs_prepare(const struct logs_request *request, struct cli_log *log);
/* An attempt that never was is a mistake worth words, not an empty log. */
int logs_check_attempt(struct cli *cli, const char *id, int attempt, struct sw_error *err);
/* logs_many.c: several in one stream, each line with its job's id. */
int logs_of_many(struct cli *cli, const json_t *ids, const struct logs_request *request,
                 struct sw_error *err);

#endif
