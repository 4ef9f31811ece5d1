/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.c - what the runner or the supervisor saw with its own eyes, in order of weight.
 *
 * The names are fixed in diagnose.h. A fact beats any line of a log: a log is what a program
 * believes, a fact is what happened.
 *
 * Pure: no I/O.
 */
#include "diagnose/diagnose_internal.h"

#include <signal.h>
#include <string.h>

static const struct fact_rule {
    const char *fact;
    int with_signal;              /* counts only together with this signal; 0: always */
    struct sw_ruling ruling;
} rules[] = {
    { "preempt_notice", 0, { "fact-preempted", SW_CLASS_INFRA, "preempted",
      DIAG_ADVICE("the platform took the machine back: run it again, from the last checkpoint") } },
    { "node_down", 0, { "fact-node", SW_CLASS_INFRA, "node",
      DIAG_ADVICE("a node failed: run it again") } },
    { "oom_kills", 0, { "fact-oom", SW_CLASS_PROGRAM, "memory",
      DIAG_ADVICE("the kernel killed a process of the job for using too much memory: raise 'memory:', use "
                  "fewer data loader workers or make the batch smaller") } },
    { "gpu_lost", 0, { "fact-gpu-lost", SW_CLASS_INFRA, "gpu",
      DIAG_ADVICE("a GPU disappeared: run it again on another node and report this one") } },
    { "ecc_uncorrected", 0, { "fact-ecc", SW_CLASS_INFRA, "gpu",
      DIAG_ADVICE("the GPU's memory is failing: run it again on another node and report this one") } },
    { "driver_mismatch", 0, { "fact-driver", SW_CLASS_INFRA, "gpu",
      DIAG_ADVICE("the node's driver does not fit the image: use an image with an older CUDA, or a node with "
                  "a newer driver") } },
    { "shm_full", 0, { "fact-shm", SW_CLASS_PROGRAM, "memory",
      DIAG_ADVICE("/dev/shm is full: raise 'shm:' or use fewer data loader workers") } },
    { "quota_exceeded", 0, { "fact-quota", SW_CLASS_PROGRAM, "storage",
      DIAG_ADVICE("your quota is used up: delete old files or ask for more, then run it again") } },
    { "disk_full", 0, { "fact-disk", SW_CLASS_INFRA, "storage",
      DIAG_ADVICE("the disk is full: free some space or write elsewhere, then run it again") } },
    { "credential_refused", 0, { "fact-credential", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("a credential was refused: check that it is right and may read this address") } },
    { "input_missing", 0, { "fact-input", SW_CLASS_PROGRAM, "user",
      DIAG_ADVICE("an input does not exist: check its address") } },
    { "store_unreachable", 0, { "fact-store", SW_CLASS_INFRA, "network",
      DIAG_ADVICE("the object store did not answer: check its address and that the node may reach it, then "
                  "run it again") } },
    { "peer_unreachable", 0, { "fact-peer", SW_CLASS_INFRA, "network",
      DIAG_ADVICE("another node stopped answering: run it again; if it is always the same node, avoid "
                  "it") } },
    { "host_oom_kills", SIGKILL, { "fact-host-oom", SW_CLASS_PROGRAM, "memory",
      DIAG_ADVICE("the machine ran out of memory and the kernel killed the job: set 'memory:' so that it "
                  "gets what it needs, or use less") } },
};

static const struct sw_ruling xid_hardware = {
    "fact-xid-hardware", SW_CLASS_INFRA, "gpu",
    DIAG_ADVICE("the GPU or its driver failed: run it again on another node and report this one")
};
static const struct sw_ruling xid_program = {
    "fact-xid-program", SW_CLASS_PROGRAM, "user",
    DIAG_ADVICE("a kernel of the program used a bad address: run it with CUDA_LAUNCH_BLOCKING=1 or under "
                "compute-sanitizer to see which")
};

static bool counts(const json_t *value)
{
    if (json_is_number(value))
        return json_number_value(value) > 0;
    return json_is_true(value) || json_string_length(value) > 0 || json_array_size(value) > 0;
}

bool diag_fact_set(const json_t *facts, const char *name)
{
    return counts(json_object_get(facts, name));
}

/* "peer_unreachable: node-3", as a line of evidence. */
static void show_fact(json_t *lines, const char *name, const json_t *value)
{
    sw_autofree char *dumped = json_is_true(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
    sw_autofree char *line = NULL;

    if (json_is_string(value))
        line = sw_format("%s: %s", name, json_string_value(value));
    else
        line = sw_format("%s%s%s", name, dumped ? ": " : "", dumped ? dumped : "");
    diag_show_line(lines, line, strlen(line));
}

static bool show_xid(json_t *lines, int64_t code, enum diag_xid kind)
{
    const char *meaning = "";

    if (diag_xid_kind(code, &meaning) != kind)
        return false;
    json_array_append_new(lines, json_sprintf("Xid %d: %s", (int)code, meaning));
    return true;
}

/* One number or a list of them; broken hardware explains more than a program's fault. */
static const struct sw_ruling *judge_xids(const json_t *value, json_t *lines)
{
    static const struct {
        enum diag_xid kind;
        const struct sw_ruling *ruling;
    } order[] = { { DIAG_XID_HARDWARE, &xid_hardware }, { DIAG_XID_PROGRAM, &xid_program } };

    for (size_t k = 0; k < SW_COUNT(order); k++) {
        bool found = json_is_integer(value) &&
                     show_xid(lines, json_integer_value(value), order[k].kind);

        for (size_t i = 0; i < json_array_size(value) && i < 16; i++)
            found |= show_xid(lines, json_integer_value(json_array_get(value, i)),
                              order[k].kind);
        if (found)
            return order[k].ruling;
    }
    return NULL;
}

const struct sw_ruling *diag_judge_facts(const struct sw_evidence *evidence, json_t *lines)
{
    const struct sw_ruling *ruling = judge_xids(json_object_get(evidence->facts, "xid"), lines);

    /* A bad address in a kernel may itself come from a memory killer's half-dead process. */
    if (ruling == &xid_hardware)
        return ruling;
    for (size_t i = 0; i < SW_COUNT(rules); i++) {
        if (!diag_fact_set(evidence->facts, rules[i].fact) ||
            (rules[i].with_signal && rules[i].with_signal != diag_signal_of(evidence)))
            continue;
        show_fact(lines, rules[i].fact, json_object_get(evidence->facts, rules[i].fact));
        return &rules[i].ruling;
    }
    return ruling;
}
