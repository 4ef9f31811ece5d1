/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - what a platform states about a failure: causes first, symptoms when all else fails.
 *
 * A reason that names a cause (core/reason.c: memory, preempted) is believed. One that only says where
 * it happened (inputs, image-error), a signal or an exit code is a symptom: facts and log are
 * asked before it, because "exit 1" is how everything ends. Where the runner's own error has a code, that
 * decides before the log: the log is the program's.
 *
 * Pure: no I/O.
 */
#include "diagnose/diagnose_internal.h"

#include <signal.h>
#include <string.h>

#include "core/report.h"
#include "core/observation.h"

/* What the runner met when it moved data, by the code of its error (core/report.h): a server that does not
 * answer is the network's failure, one that says no is the user's to mend. */
static const struct error_rule {
    enum sw_code error;
    struct sw_ruling inputs, outputs;
} errors[] = {
    { SW_E_UNREACHABLE,
      { "inputs-unreachable", SW_CLASS_INFRA, "network",
        DIAG_ADVICE("the server of an input or output did not answer: check its address and that the job's "
                    "machine may "
                    "reach it, then run it again") },
      { "outputs-unreachable", SW_CLASS_INFRA, "network",
        DIAG_ADVICE("the program ran, but the server for its results did not answer: check the address under "
                    "'outputs:' and that the job's machine may reach it, then 'slipway retry --collect'") } },
    { SW_E_TIMEOUT,
      { "inputs-timeout", SW_CLASS_INFRA, "network",
        DIAG_ADVICE("the server of an input or output took too long: run it again") },
      { "outputs-timeout", SW_CLASS_INFRA, "network",
        DIAG_ADVICE("the program ran, but the server for its results took too long: 'slipway retry "
                    "--collect'") } },
    { SW_E_CREDENTIAL,
      { "inputs-credential", SW_CLASS_PROGRAM, "user",
        DIAG_ADVICE("an input needs a credential that is missing or refused: check that it is set and may "
                    "read this "
                    "address") },
      { "outputs-credential", SW_CLASS_PROGRAM, "storage",
        DIAG_ADVICE("the program ran, but its results need a credential that is missing or refused: check "
                    "that it is "
                    "set and may write there, then 'slipway retry --collect'") } },
    { SW_E_NOT_FOUND,
      { "inputs-missing", SW_CLASS_PROGRAM, "user",
        DIAG_ADVICE("an input does not exist: check its address") },
      { "outputs-missing", SW_CLASS_PROGRAM, "storage",
        DIAG_ADVICE("the program ran, but there is no such place for its results: check the address under "
                    "'outputs:', "
                    "then 'slipway retry --collect'") } },
    { SW_E_REFUSED,
      { "inputs-refused", SW_CLASS_PROGRAM, "user",
        DIAG_ADVICE("the server of an input refused it: check its address, and that your credential may "
                    "read it") },
      { "outputs-refused", SW_CLASS_PROGRAM, "storage",
        DIAG_ADVICE("the program ran, but the server refused its results: check the address under "
                    "'outputs:' and that "
                    "your credential may write there, then 'slipway retry --collect'") } },
};

static const struct {
    int exit_code;
    struct sw_ruling ruling;
} exit_codes[] = {
    { 2, { "exit-2", SW_CLASS_PROGRAM, "unknown",
      DIAG_ADVICE("exit code 2 is often a wrong argument: compare the command with the program's --help") } },
    { 124, { "exit-124", SW_CLASS_PROGRAM, "time",
      DIAG_ADVICE("exit code 124 is what 'timeout' says: something around the program limited its time") } },
    { 126, { "exit-126", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("the command could not be executed: check that the file is executable") } },
    { 127, { "exit-127", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("the command was not found: check its spelling, the PATH, and the working directory") } },
};

static const struct {
    int signal;
    struct sw_ruling ruling;
} signals[] = {
    { SIGKILL, { "signal-kill", SW_CLASS_PROGRAM, "unknown",
      DIAG_ADVICE("killed (SIGKILL) by something other than Slipway: often the kernel's out-of-memory "
                  "killer; look at "
                  "dmesg on the node, or raise 'memory:'") } },
    { SIGTERM, { "signal-term", SW_CLASS_PROGRAM, "unknown",
      DIAG_ADVICE("ended by SIGTERM from outside Slipway: look for a preemption, an administrator, or "
                  "another rank "
                  "that failed first") } },
    { SIGINT, { "signal-int", SW_CLASS_PROGRAM, "user", DIAG_ADVICE("it was interrupted (signal 2)") } },
    { SIGHUP, { "signal-hup", SW_CLASS_PROGRAM, "unknown",
      DIAG_ADVICE("its terminal or connection closed (signal 1): start it detached") } },
    { SIGSEGV, { "signal-segv", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("the program crashed (segmentation fault): look at the end of the log") } },
    { SIGABRT, { "signal-abrt", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("the program aborted itself: look at the end of the log") } },
    { SIGBUS, { "signal-bus", SW_CLASS_PROGRAM, "memory",
      DIAG_ADVICE("the program crashed (bus error): often /dev/shm is too small; raise 'shm:'") } },
    { SIGILL, { "signal-ill", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("the program used an instruction this processor does not have: the image was built for "
                  "another one") } },
    { SIGFPE, { "signal-fpe", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("the program divided by zero or the like (signal 8): look at the end of the log") } },
    { SIGPIPE, { "signal-pipe", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("it wrote to a program that was gone (signal 13): look at what it pipes into") } },
    { SIGXCPU, { "signal-xcpu", SW_CLASS_PROGRAM, "time",
      DIAG_ADVICE("a limit on processor time was reached (signal 24): look at ulimit -t") } },
    { SIGXFSZ, { "signal-xfsz", SW_CLASS_PROGRAM, "storage",
      DIAG_ADVICE("a limit on file size was reached (signal 25): look at ulimit -f") } },
    { SIGSYS, { "signal-sys", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("a system call was forbidden (signal 31): the container's seccomp profile is too "
                  "strict") } },
};

/* What its reason says, if that is a cause or a symptom as asked. */
static const struct sw_ruling *by_reason(const struct sw_evidence *evidence, bool symptom)
{
    const struct sw_reason *row = sw_reason_find(evidence->reason);

    return row && row->failed.name && row->symptom == symptom ? &row->failed : NULL;
}

const struct sw_ruling *diag_judge_reason(const struct sw_evidence *evidence)
{
    return by_reason(evidence, false);
}

const struct sw_ruling *diag_judge_error(const struct sw_evidence *evidence)
{
    const char *error = sw_json_str(json_object_get(evidence->facts, "runner"), "error");
    bool outputs = strcmp(evidence->reason, SW_REASON_OUTPUTS) == 0;
    bool destination = strcmp(evidence->reason, SW_REASON_DESTINATION) == 0;

    if (!error || (!outputs && !destination && strcmp(evidence->reason, SW_REASON_PREPARE) != 0 &&
                   strcmp(evidence->reason, SW_REASON_INPUTS) != 0))
        return NULL;
    for (size_t i = 0; i < SW_COUNT(errors); i++) {
        bool network = strcmp(errors[i].inputs.cause, "network") == 0;

        if (strcmp(sw_code_name(errors[i].error), error) == 0 && (network || !destination))
            return outputs ? &errors[i].outputs : &errors[i].inputs;
    }
    return destination ? by_reason(evidence, true) : NULL;
}

int diag_signal_of(const struct sw_evidence *evidence)
{
    if (evidence->signal)
        return evidence->signal;
    /* A shell between us and the program turns signal N into exit code 128+N. */
    return evidence->exit_code > 128 && evidence->exit_code <= 128 + SIGSYS
        ? evidence->exit_code - 128 : 0;
}

const struct sw_ruling *diag_judge_symptom(const struct sw_evidence *evidence)
{
    const struct sw_ruling *vague = by_reason(evidence, true);
    int signal = diag_signal_of(evidence);

    if (vague)
        return vague;
    for (size_t i = 0; i < SW_COUNT(signals); i++) {
        if (signals[i].signal == signal)
            return &signals[i].ruling;
    }
    for (size_t i = 0; i < SW_COUNT(exit_codes); i++) {
        if (exit_codes[i].exit_code == evidence->exit_code)
            return &exit_codes[i].ruling;
    }
    return NULL;
}
