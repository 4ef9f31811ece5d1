/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runner.h - the program inside the job's place: prepare, run, collect.
 *
 * Each mode returns the exit status of the program and, on failure, a sentence in `err` that
 * main.c prints (it is in the job's log) and puts into the report.
 */
#ifndef SW_RUNNER_RUNNER_H
#define SW_RUNNER_RUNNER_H

#include "base/error.h"
#include "core/payload.h"

enum {
    RUNNER_USAGE = 64,            /* our own exit codes, as sysexits names them */
    RUNNER_IO = 74,
    RUNNER_NOT_EXECUTABLE = 126,  /* as shells say it */
    RUNNER_NOT_FOUND = 127,
};

struct runner_result {
    int exit_code;
    int signal;                   /* that ended the command; 0: none */
};

/* Inputs to their places, output folders made, config written. */
int runner_prepare(const struct sw_payload *payload, struct sw_error *err);

/* The command, until it and its signal handling are over. -1 + err: it could not be started;
 * result->exit_code is set either way. */
int runner_run(const struct sw_payload *payload, struct runner_result *result,
               struct sw_error *err);

/* Outputs to their destinations. */
int runner_collect(const struct sw_payload *payload, struct sw_error *err);

/* The program `slipway-runner`; main() is in src/program. */
int runner_main(int argc, char **argv);

#endif
