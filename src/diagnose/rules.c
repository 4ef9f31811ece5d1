/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - what a platform states about a failure: causes first, symptoms when all else fails.
 *
 * A reason that names a cause (memory, preempted) is believed at once. One that only says where
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

static const struct reason_rule {
    const char *reason;
    struct diag_ruling ruling;
} causes[] = {
    { "memory", { "reason-memory", DIAG_PROGRAM, "memory",
      DIAG_ADVICE("the job used more memory than it asked for: raise 'memory:' or make the batch "
                  "smaller") } },
    { "time", { "reason-time", DIAG_PROGRAM, "time",
      DIAG_ADVICE("the time limit was reached: raise 'time:' or continue from the last checkpoint") } },
    { "restart", { "reason-restart", DIAG_INFRA, "node",
      DIAG_ADVICE("the machine restarted under the job: run it again") } },
    { "lost", { "reason-lost", DIAG_INFRA, "node",
      DIAG_ADVICE("the platform lost the job before it ended (killed, or its machine failed): run it "
                  "again") } },
    { "node-lost", { "reason-node-lost", DIAG_INFRA, "node",
      DIAG_ADVICE("a node died under the job: run it again") } },
    { "preempted", { "reason-preempted", DIAG_INFRA, "preempted",
      DIAG_ADVICE("the platform took the machine back: run it again, from the last checkpoint") } },
    { "evicted", { "reason-evicted", DIAG_INFRA, "preempted",
      DIAG_ADVICE("the node ran short of something and put the job out: run it again; if it happens again, "
                  "ask for the memory and disk the job really uses") } },
    { "image-auth", { "reason-image-auth", DIAG_PROGRAM, "image",
      DIAG_ADVICE("the registry refused the credential: check the pull secret (NGC_KEY for nvcr.io)") } },
    { "image-missing", { "reason-image-missing", DIAG_PROGRAM, "image",
      DIAG_ADVICE("there is no such image: check its name and tag") } },
    { "disk", { "reason-disk", DIAG_INFRA, "storage",
      DIAG_ADVICE("the disk is full: free some space, then run it again") } },
    { "quota", { "reason-quota", DIAG_PROGRAM, "storage",
      DIAG_ADVICE("your quota is used up: delete old files or ask for more, then run it again") } },
    { "gpu-lost", { "reason-gpu-lost", DIAG_INFRA, "gpu",
      DIAG_ADVICE("a GPU disappeared under the job: run it again on another node") } },
    { "network", { "reason-network", DIAG_INFRA, "network",
      DIAG_ADVICE("the network between the nodes failed: run it again") } },
    { "not-started", { "reason-not-started", DIAG_INFRA, "unknown",
      DIAG_ADVICE("nothing was started: run it again") } },
    { "removed", { "reason-removed", DIAG_PROGRAM, "unknown",
      DIAG_ADVICE("its container was taken away on the engine, and how far it came is not known: look at its "
                  "results, then run it again") } },
    { "stopped", { "reason-stopped", DIAG_PROGRAM, "unknown",
      DIAG_ADVICE("it was stopped from outside, by whom is not known: run it again if it was not meant") } },
    { "dependency-failed", { "reason-dependency-failed", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the job that it waited for did not end as asked: see why that one failed ('slipway "
                  "why'), then run "
                  "both again") } },
    { "guard", { "reason-guard", DIAG_PROGRAM, "user",
      DIAG_ADVICE("'guard:' stopped it because it made no progress: look where the log ends") } },
    { "refused", { "reason-refused", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the platform refused the job: see the message") } },
};

static const struct reason_rule vague_reasons[] = {
    { "image-error", { "reason-image-error", DIAG_INFRA, "image",
      DIAG_ADVICE("the image could not be fetched: check its name and the registry's credential") } },
    { "gpu", { "reason-gpu", DIAG_INFRA, "gpu", DIAG_ADVICE("a GPU could not be used: see the message") } },
    { "prepare", { "reason-prepare", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the job could not be prepared: see the first lines of the log") } },
    { "inputs", { "reason-inputs", DIAG_PROGRAM, "user",
      DIAG_ADVICE("an input could not be brought in: check its address, and that your credential may read "
                  "it") } },
    { SW_REASON_OUTPUTS, { "reason-outputs", DIAG_PROGRAM, "storage",
      DIAG_ADVICE("the program ran, but its results could not be copied: check the address under 'outputs:', "
                  "then 'slipway retry --collect'") } },
    { SW_REASON_DESTINATION, { "reason-destination", DIAG_PROGRAM, "storage",
      DIAG_ADVICE("nothing was run, since its results could not be copied: check the address under "
                  "'outputs:', and "
                  "that your credential may write there") } },
    { "start", { "reason-start", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the command could not be started: check the command and the working directory") } },
};

/* What the runner met when it moved data, by the code of its error (core/report.h): a server that does not
 * answer is the network's failure, one that says no is the user's to mend. */
static const struct error_rule {
    enum sw_code error;
    struct diag_ruling inputs, outputs;
} errors[] = {
    { SW_E_UNREACHABLE,
      { "inputs-unreachable", DIAG_INFRA, "network",
        DIAG_ADVICE("the server of an input or output did not answer: check its address and that the job's "
                    "machine may "
                    "reach it, then run it again") },
      { "outputs-unreachable", DIAG_INFRA, "network",
        DIAG_ADVICE("the program ran, but the server for its results did not answer: check the address under "
                    "'outputs:' and that the job's machine may reach it, then 'slipway retry --collect'") } },
    { SW_E_TIMEOUT,
      { "inputs-timeout", DIAG_INFRA, "network",
        DIAG_ADVICE("the server of an input or output took too long: run it again") },
      { "outputs-timeout", DIAG_INFRA, "network",
        DIAG_ADVICE("the program ran, but the server for its results took too long: 'slipway retry "
                    "--collect'") } },
    { SW_E_CREDENTIAL,
      { "inputs-credential", DIAG_PROGRAM, "user",
        DIAG_ADVICE("an input needs a credential that is missing or refused: check that it is set and may "
                    "read this "
                    "address") },
      { "outputs-credential", DIAG_PROGRAM, "storage",
        DIAG_ADVICE("the program ran, but its results need a credential that is missing or refused: check "
                    "that it is "
                    "set and may write there, then 'slipway retry --collect'") } },
    { SW_E_NOT_FOUND,
      { "inputs-missing", DIAG_PROGRAM, "user", DIAG_ADVICE("an input does not exist: check its address") },
      { "outputs-missing", DIAG_PROGRAM, "storage",
        DIAG_ADVICE("the program ran, but there is no such place for its results: check the address under "
                    "'outputs:', "
                    "then 'slipway retry --collect'") } },
    { SW_E_REFUSED,
      { "inputs-refused", DIAG_PROGRAM, "user",
        DIAG_ADVICE("the server of an input refused it: check its address, and that your credential may "
                    "read it") },
      { "outputs-refused", DIAG_PROGRAM, "storage",
        DIAG_ADVICE("the program ran, but the server refused its results: check the address under "
                    "'outputs:' and that "
                    "your credential may write there, then 'slipway retry --collect'") } },
};

static const struct {
    int exit_code;
    struct diag_ruling ruling;
} exit_codes[] = {
    { 2, { "exit-2", DIAG_PROGRAM, "unknown",
      DIAG_ADVICE("exit code 2 is often a wrong argument: compare the command with the program's --help") } },
    { 124, { "exit-124", DIAG_PROGRAM, "time",
      DIAG_ADVICE("exit code 124 is what 'timeout' says: something around the program limited its time") } },
    { 126, { "exit-126", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the command could not be executed: check that the file is executable") } },
    { 127, { "exit-127", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the command was not found: check its spelling, the PATH, and the working directory") } },
};

static const struct {
    int signal;
    struct diag_ruling ruling;
} signals[] = {
    { SIGKILL, { "signal-kill", DIAG_PROGRAM, "unknown",
      DIAG_ADVICE("killed (SIGKILL) by something other than Slipway: often the kernel's out-of-memory "
                  "killer; look at "
                  "dmesg on the node, or raise 'memory:' and see") } },
    { SIGTERM, { "signal-term", DIAG_PROGRAM, "unknown",
      DIAG_ADVICE("ended by SIGTERM from outside Slipway: look for a preemption, an administrator, or "
                  "another rank "
                  "that failed first") } },
    { SIGINT, { "signal-int", DIAG_PROGRAM, "user", DIAG_ADVICE("it was interrupted (signal 2)") } },
    { SIGHUP, { "signal-hup", DIAG_PROGRAM, "unknown",
      DIAG_ADVICE("its terminal or connection went away (signal 1): start it detached") } },
    { SIGSEGV, { "signal-segv", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the program crashed (segmentation fault): look at the end of the log") } },
    { SIGABRT, { "signal-abrt", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the program aborted itself: look at the end of the log") } },
    { SIGBUS, { "signal-bus", DIAG_PROGRAM, "memory",
      DIAG_ADVICE("the program crashed (bus error): often /dev/shm is too small; raise 'shm:'") } },
    { SIGILL, { "signal-ill", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the program used an instruction this processor does not have: the image was built for "
                  "another one") } },
    { SIGFPE, { "signal-fpe", DIAG_PROGRAM, "user",
      DIAG_ADVICE("the program divided by zero or the like (signal 8): look at the end of the log") } },
    { SIGPIPE, { "signal-pipe", DIAG_PROGRAM, "user",
      DIAG_ADVICE("it wrote to a program that was gone (signal 13): look at what it pipes into") } },
    { SIGXCPU, { "signal-xcpu", DIAG_PROGRAM, "time",
      DIAG_ADVICE("a limit on processor time was reached (signal 24): look at ulimit -t") } },
    { SIGXFSZ, { "signal-xfsz", DIAG_PROGRAM, "storage",
      DIAG_ADVICE("a limit on file size was reached (signal 25): look at ulimit -f") } },
    { SIGSYS, { "signal-sys", DIAG_PROGRAM, "user",
      DIAG_ADVICE("a system call was forbidden (signal 31): the container's seccomp profile is too "
                  "strict") } },
};

static const struct diag_ruling *by_reason(const struct reason_rule *rules, size_t count,
                                           const char *reason)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rules[i].reason, reason) == 0)
            return &rules[i].ruling;
    }
    return NULL;
}

const struct diag_ruling *diag_judge_reason(const struct sw_evidence *evidence)
{
    return by_reason(causes, SW_COUNT(causes), evidence->reason);
}

const struct diag_ruling *diag_judge_error(const struct sw_evidence *evidence)
{
    const char *error = sw_json_str(json_object_get(evidence->facts, "runner"), "error");
    bool outputs = strcmp(evidence->reason, SW_REASON_OUTPUTS) == 0;
    bool destination = strcmp(evidence->reason, SW_REASON_DESTINATION) == 0;

    if (!error || (!outputs && !destination && strcmp(evidence->reason, "prepare") != 0 &&
                   strcmp(evidence->reason, "inputs") != 0))
        return NULL;
    for (size_t i = 0; i < SW_COUNT(errors); i++) {
        bool network = strcmp(errors[i].inputs.cause, "network") == 0;

        if (strcmp(sw_code_name(errors[i].error), error) == 0 && (network || !destination))
            return outputs ? &errors[i].outputs : &errors[i].inputs;
    }
    return destination ? by_reason(vague_reasons, SW_COUNT(vague_reasons), evidence->reason) : NULL;
}

int diag_signal_of(const struct sw_evidence *evidence)
{
    if (evidence->signal)
        return evidence->signal;
    /* A shell between us and the program turns signal N into exit code 128+N. */
    return evidence->exit_code > 128 && evidence->exit_code <= 128 + SIGSYS
        ? evidence->exit_code - 128 : 0;
}

const struct diag_ruling *diag_judge_symptom(const struct sw_evidence *evidence)
{
    const struct diag_ruling *vague = by_reason(vague_reasons, SW_COUNT(vague_reasons),
                                                evidence->reason);
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
