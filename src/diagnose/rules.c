/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - the rule table: what a platform's facts mean and what to do about them.
 *
 * Only hard facts are judged here (the platform's reason, exit code, signal). A failure that no
 * row explains is "unknown", class program: an honest answer that is never retried blindly.
 *
 * Pure: no I/O.
 */
#include "diagnose/diagnose.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/sighting.h"

static const char ERR_PROGRAM[] = "ERR_PROGRAM";
static const char ERR_INFRA[] = "ERR_INFRA";

enum { ANY = -2 };

static const struct rule {
    const char *reason;         /* the platform's word; NULL: any */
    int exit_code, signal;      /* ANY: not looked at */
    const char *err_class, *cause, *suggestion;
} rules[] = {
    { "memory", ANY, ANY, ERR_PROGRAM, "memory",
      "the job used more memory than it asked for: raise 'memory:' or make the batch smaller" },
    { "time", ANY, ANY, ERR_PROGRAM, "time",
      "the time limit was reached: raise 'time:' or continue from the last checkpoint" },
    { "restart", ANY, ANY, ERR_INFRA, "node",
      "the machine restarted under the job: run it again" },
    { "lost", ANY, ANY, ERR_INFRA, "node",
      "the job's supervisor disappeared (killed, or the machine ran out of memory): run it again" },
    { "node-lost", ANY, ANY, ERR_INFRA, "node", "a node died under the job: run it again" },
    { "preempted", ANY, ANY, ERR_INFRA, "preempted",
      "the platform took the machine back: run it again, from the last checkpoint" },
    { "image-error", ANY, ANY, ERR_INFRA, "image",
      "the image could not be fetched: check its name and the registry's credential" },
    { "disk", ANY, ANY, ERR_INFRA, "storage",
      "the disk is full: free some space, then run it again" },
    { "gpu", ANY, ANY, ERR_INFRA, "gpu", "a GPU could not be used: see the message" },
    { "not-started", ANY, ANY, ERR_INFRA, "unknown",
      "nothing was started: run it again" },
    { "refused", ANY, ANY, ERR_PROGRAM, "user", "the platform refused the job: see the message" },
    { "prepare", ANY, ANY, ERR_PROGRAM, "user",
      "an input could not be prepared: see the first lines of the log" },
    { NULL, 127, ANY, ERR_PROGRAM, "user",
      "the command was not found: check its spelling, the PATH, and the working directory" },
    { NULL, 126, ANY, ERR_PROGRAM, "user",
      "the command could not be executed: check that the file is executable" },
    { NULL, ANY, SIGKILL, ERR_PROGRAM, "unknown",
      "killed by signal 9: often the kernel's out-of-memory killer; look at dmesg and the log" },
    { NULL, ANY, SIGSEGV, ERR_PROGRAM, "user",
      "the program crashed (segmentation fault): look at the end of the log" },
    { NULL, ANY, SIGABRT, ERR_PROGRAM, "user",
      "the program aborted itself: look at the end of the log" },
    { NULL, ANY, SIGBUS, ERR_PROGRAM, "memory",
      "the program crashed (bus error): often /dev/shm is too small; raise 'shm:'" },
};

static bool applies(const struct rule *rule, const struct sw_evidence *evidence)
{
    return (!rule->reason || strcmp(rule->reason, evidence->reason) == 0) &&
           (rule->exit_code == ANY || rule->exit_code == evidence->exit_code) &&
           (rule->signal == ANY || rule->signal == evidence->signal);
}

static json_t *fact_lines(const struct sw_evidence *evidence)
{
    json_t *lines = json_array();

    if (evidence->message[0])
        json_array_append_new(lines, sw_json_text(evidence->message));
    if (evidence->signal)
        json_array_append_new(lines, json_sprintf("killed by signal %d", evidence->signal));
    else if (evidence->exit_code != SW_NO_EXIT_CODE)
        json_array_append_new(lines, json_sprintf("exit code %d", evidence->exit_code));
    if (evidence->failed_replica >= 0)
        json_array_append_new(lines, json_sprintf("the first rank to fail was %d",
                                                  evidence->failed_replica));
    return lines;
}

json_t *sw_diagnose(const struct sw_evidence *evidence)
{
    static const struct rule unknown = {
        NULL, ANY, ANY, ERR_PROGRAM, "unknown",
        "no rule explains this failure: look at the end of the log",
    };
    const struct rule *found = &unknown;
    char event[64];

    if (evidence->state != SW_ERROR)
        return NULL;
    for (size_t i = 0; i < SW_COUNT(rules); i++) {
        if (applies(&rules[i], evidence)) {
            found = &rules[i];
            break;
        }
    }
    if (evidence->signal)
        snprintf(event, sizeof event, "signal-%d", evidence->signal);
    else if (sw_text_same(evidence->reason, "exit"))
        snprintf(event, sizeof event, "exit-%d", evidence->exit_code);
    else
        snprintf(event, sizeof event, "%s", evidence->reason);
    return sw_json_object(
        SW_STR("err_class", found->err_class),
        SW_STR("cause", found->cause),
        SW_STR("suggestion", found->suggestion),
        SW_SUB("evidence", fact_lines(evidence)),
        SW_SUB("job_failure_by_node_event",
               json_pack("[o]", sw_json_object(SW_STR("node_event_name", event),
                                               SW_STR("message", evidence->message)))),
        SW_SUB("log_streams", json_array()));
}
