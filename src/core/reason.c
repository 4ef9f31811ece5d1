/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.c - what diagnosis says when a job failed for a reason, and what is said while it waits for one.
 *
 * A reason without a row says nothing about either: the log, the exit code or the platform's words do.
 *
 * Compiled twice: the runner judges with the same rows, prints no advice and waits for nothing, so its
 * build leaves those texts out (SW_WITHOUT_ADVICE).
 *
 * Pure.
 */
#include "core/reason.h"

#include <string.h>

#define MINUTE_MS ((int64_t)60 * 1000)
#define HOUR_MS   (60 * MINUTE_MS)

#ifdef SW_WITHOUT_ADVICE
#define ADVICE(text) ""
#define WAITING(...) { 0 }
#else
#define ADVICE(text) text
#define WAITING(...) { __VA_ARGS__ }
#endif

const struct sw_reason sw_reasons[] = {
    { SW_REASON_MEMORY,
      .failed = { "reason-" SW_REASON_MEMORY, SW_CLASS_PROGRAM, "memory",
          ADVICE("the job used more memory than it asked for: raise 'memory:' or make the batch "
                 "smaller") } },
    { SW_REASON_TIME,
      .failed = { "reason-" SW_REASON_TIME, SW_CLASS_PROGRAM, "time",
          ADVICE("the time limit was reached: raise 'time:' or continue from the last checkpoint") } },
    { SW_REASON_RESTART,
      .failed = { "reason-" SW_REASON_RESTART, SW_CLASS_INFRA, "node",
          ADVICE("the machine restarted: run it again") } },
    { SW_REASON_LOST,
      .failed = { "reason-" SW_REASON_LOST, SW_CLASS_INFRA, "node",
          ADVICE("the platform lost the job before it ended (killed, or its machine failed): run "
                 "it again") } },
    { SW_REASON_NODE_LOST,
      .failed = { "reason-" SW_REASON_NODE_LOST, SW_CLASS_INFRA, "node",
          ADVICE("a node failed: run it again") } },
    { SW_REASON_NODE_REFUSED,
      .failed = { "reason-" SW_REASON_NODE_REFUSED, SW_CLASS_INFRA, "node",
          ADVICE("the node refused the job although the scheduler chose it: run it again; if it repeats, "
                 "check the node's GPUs") },
      .waiting = WAITING("the node assigned to it cannot run it", 5 * MINUTE_MS,
          "cancel it, and run it again elsewhere with 'slipway retry --avoid-node'") },
    { SW_REASON_PREEMPTED,
      .failed = { "reason-" SW_REASON_PREEMPTED, SW_CLASS_INFRA, "preempted",
          ADVICE("the platform took the machine back: run it again, from the last checkpoint") },
      .waiting = WAITING("the platform took its machine and will start it again", HOUR_MS,
          "a queue without preemption starts it only once") },
    { SW_REASON_EVICTED,
      .failed = { "reason-" SW_REASON_EVICTED, SW_CLASS_INFRA, "preempted",
          ADVICE("the node was low on resources and evicted the job: run it again; if it repeats, ask for "
                 "the memory and disk the job really uses") } },
    { SW_REASON_IMAGE_AUTH,
      .failed = { "reason-" SW_REASON_IMAGE_AUTH, SW_CLASS_PROGRAM, "image",
          ADVICE("the registry refused the credential: check the pull secret (NGC_KEY for "
                 "nvcr.io)") },
      .waiting = WAITING("the registry refused the credential for its image", 0,
          "check the pull secret (NGC_KEY for nvcr.io), then cancel it and run it again") },
    { SW_REASON_IMAGE_MISSING,
      .failed = { "reason-" SW_REASON_IMAGE_MISSING, SW_CLASS_PROGRAM, "image",
          ADVICE("there is no such image: check its name and tag") },
      .waiting = WAITING("there is no such image", 0,
          "check its name and tag, then cancel it and run it again") },
    { SW_REASON_DISK,
      .failed = { "reason-" SW_REASON_DISK, SW_CLASS_INFRA, "storage",
          ADVICE("the disk is full: free some space, then run it again") } },
    { SW_REASON_QUOTA,
      .failed = { "reason-" SW_REASON_QUOTA, SW_CLASS_PROGRAM, "storage",
          ADVICE("your quota is used up: delete old files or ask for more, then run it again") },
      .waiting = WAITING("your quota is in use", 0,
          "wait for your other jobs or cancel one") },
    { SW_REASON_GPU_LOST,
      .failed = { "reason-" SW_REASON_GPU_LOST, SW_CLASS_INFRA, "gpu",
          ADVICE("a GPU disappeared: run it again on another node") } },
    { SW_REASON_NETWORK,
      .failed = { "reason-" SW_REASON_NETWORK, SW_CLASS_INFRA, "network",
          ADVICE("the network between the nodes failed: run it again") } },
    { SW_REASON_NOT_STARTED,
      .failed = { "reason-" SW_REASON_NOT_STARTED, SW_CLASS_INFRA, "unknown",
          ADVICE("nothing was started: run it again") } },
    { SW_REASON_REMOVED,
      .failed = { "reason-" SW_REASON_REMOVED, SW_CLASS_PROGRAM, "unknown",
          ADVICE("its container was removed on the engine, and how far it got is unknown: check its "
                 "results, then run it again") } },
    { SW_REASON_STOPPED,
      .failed = { "reason-" SW_REASON_STOPPED, SW_CLASS_PROGRAM, "unknown",
          ADVICE("it was stopped from outside Slipway: run it again if that was not intended") } },
    { SW_REASON_DEPENDENCY_FAILED,
      .failed = { "reason-" SW_REASON_DEPENDENCY_FAILED, SW_CLASS_PROGRAM, "user",
          ADVICE("the job it depends on failed: see why ('slipway why'), then run both again") } },
    { SW_REASON_GUARD,
      .failed = { "reason-" SW_REASON_GUARD, SW_CLASS_PROGRAM, "user",
          ADVICE("'guard:' stopped it because it made no progress: see the end of the log") } },
    { SW_REASON_REFUSED,
      .failed = { "reason-" SW_REASON_REFUSED, SW_CLASS_PROGRAM, "user",
          ADVICE("the platform rejected the job: see the message") } },
    { SW_REASON_IMAGE_ERROR, .symptom = true,
      .failed = { "reason-" SW_REASON_IMAGE_ERROR, SW_CLASS_INFRA, "image",
          ADVICE("the image could not be fetched: check its name and the registry's credential") },
      .waiting = WAITING("its image cannot be fetched", 0,
          "check the image's name and the pull secret") },
    { SW_REASON_GPU, .symptom = true,
      .failed = { "reason-" SW_REASON_GPU, SW_CLASS_INFRA, "gpu",
          ADVICE("a GPU could not be used: see the message") } },
    { SW_REASON_PREPARE, .symptom = true,
      .failed = { "reason-" SW_REASON_PREPARE, SW_CLASS_PROGRAM, "user",
          ADVICE("the job could not be prepared: see the first lines of the log") },
      .waiting = WAITING("fetching its inputs", HOUR_MS,
          "see the progress in its log") },
    { SW_REASON_INPUTS, .symptom = true,
      .failed = { "reason-" SW_REASON_INPUTS, SW_CLASS_PROGRAM, "user",
          ADVICE("an input could not be fetched: check its address, and that your credential "
                 "may read it") },
      .waiting = WAITING("fetching its inputs", HOUR_MS,
          "see the progress in its log") },
    { SW_REASON_OUTPUTS, .symptom = true,
      .failed = { "reason-" SW_REASON_OUTPUTS, SW_CLASS_PROGRAM, "storage",
          ADVICE("the program ran, but its results could not be copied: check the address under "
                 "'outputs:', then 'slipway retry --collect'") },
      .waiting = WAITING("the program finished; copying its results", HOUR_MS,
          "see the progress in its log") },
    { SW_REASON_DESTINATION, .symptom = true,
      .failed = { "reason-" SW_REASON_DESTINATION, SW_CLASS_PROGRAM, "storage",
          ADVICE("nothing was run, since its results could not be copied: check the address under"
                 " 'outputs:', and that your credential may write there") } },
    { SW_REASON_START, .symptom = true,
      .failed = { "reason-" SW_REASON_START, SW_CLASS_PROGRAM, "user",
          ADVICE("the command could not be started: check the command and the working directory") },
      .waiting = WAITING("its container cannot be started", 0,
          "see the message; stop it with 'slipway cancel', fix it and run it again") },
#ifndef SW_WITHOUT_ADVICE          /* from here on: not of a job whose runner began */
    { SW_REASON_SUBMITTING,
      .waiting = WAITING("it is being handed to the platform", MINUTE_MS,
          "the submit may have been interrupted; the next refresh shows it") },
    { SW_REASON_QUEUE,
      .waiting = WAITING("queued", HOUR_MS,
          "ask for fewer GPUs, a shorter 'time:' or another queue") },
    { SW_REASON_QUEUED,
      .waiting = WAITING("queued", HOUR_MS,
          "ask for fewer GPUs, a shorter 'time:' or another queue") },
    { SW_REASON_GPU_WAIT,
      .waiting = WAITING("no GPU is free; it starts as soon as one is", HOUR_MS,
          "see which jobs use them with 'slipway ps', or ask for fewer GPUs") },
    { SW_REASON_ROOM_WAIT,
      .waiting = WAITING("the CPUs or memory it needs are in use; it starts when they are free", HOUR_MS,
          "see which jobs use them with 'slipway ps', or ask for less") },
    { SW_REASON_RESOURCES,
      .waiting = WAITING("the nodes it needs are busy", HOUR_MS,
          "ask for fewer GPUs, less memory or a shorter 'time:'") },
    { SW_REASON_NO_CAPACITY,
      .failed = { "reason-" SW_REASON_NO_CAPACITY, SW_CLASS_INFRA, "node",
          ADVICE("no machine for it was free: run it again later, or ask for fewer GPUs, another shape or "
                 "another node group") },
      .waiting = WAITING("no machine for it is free", 15 * MINUTE_MS,
          "see what is free with 'slipway inventory', then cancel it and ask for fewer GPUs, "
          "another shape or "
          "another node group") },
    { SW_REASON_PRIORITY,
      .waiting = WAITING("jobs of higher priority are ahead of it", HOUR_MS,
          "a shorter 'time:' helps the scheduler fit it in") },
    { SW_REASON_LIMIT,
      .waiting = WAITING("a limit on running jobs is reached", 0,
          "wait for your other jobs or cancel one") },
    { SW_REASON_DEPENDENCY,
      .waiting = WAITING("it is waiting for another job", 24 * HOUR_MS,
          "see whether that job failed") },
    { SW_REASON_HELD,
      .waiting = WAITING("it is held", 0,
          "release it on the platform, or ask its administrator") },
    { SW_REASON_BEGIN_TIME,
      .waiting = WAITING("its start time has not been reached", 24 * HOUR_MS,
          "check the start time") },
    { SW_REASON_RESERVATION,
      .waiting = WAITING("it is waiting for its reservation", 24 * HOUR_MS,
          "check the reservation") },
    { SW_REASON_UNSCHEDULABLE,
      .waiting = WAITING("it can never be scheduled as it is", 0,
          "stop it with 'slipway cancel', and compare what it asks for with 'slipway inventory'") },
    { SW_REASON_NODE_BOOT,
      .waiting = WAITING("its nodes are starting", 20 * MINUTE_MS,
          "a node may not come up: ask again") },
    { SW_REASON_IMAGE,
      .waiting = WAITING("its image is being fetched", 20 * MINUTE_MS,
          "large images take minutes; after that check the registry and the pull secret") },
    { SW_REASON_MOUNT,
      .failed = { "reason-" SW_REASON_MOUNT, SW_CLASS_INFRA, "node",
          ADVICE("a volume could not be mounted: check that it and its folder exist, then run it again") },
      .waiting = WAITING("a volume cannot be mounted yet", 5 * MINUTE_MS,
          "check that the volume exists and may be used from this node") },
    { SW_REASON_POD_SECURITY,
      .waiting = WAITING("its namespace does not allow such a pod", 0,
          "set 'security: restricted' and a 'user:' under 'kubernetes:', or use another namespace") },
    { SW_REASON_ADMISSION,
      .waiting = WAITING("a rule of the cluster rejects its pod", 0,
          "see the message, and ask the cluster's administrators") },
    { SW_REASON_CRASH_LOOP,
      .waiting = WAITING("its container keeps crashing", 0,
          "see why in its log with 'slipway logs'") },
    { SW_REASON_CODE,
      .waiting = WAITING("its code is being unpacked", 10 * MINUTE_MS,
          "see the first lines of its log") },
    { SW_REASON_STARTING,
      .waiting = WAITING("it is being started", 5 * MINUTE_MS,
          "see the first lines of its log") },
    { SW_REASON_RETRY,
      .waiting = WAITING("it failed and is waiting for its next attempt", HOUR_MS,
          "see the attempts with 'slipway status'") },
    { SW_REASON_CREDENTIAL,
      .waiting = WAITING("its next attempt needs a secret that is not set here", 0,
          "run 'slipway retry' with its id in a shell where it is set") },
    { SW_REASON_MISSING,
      .waiting = WAITING("the platform reports no such job; asking again to be sure", 5 * MINUTE_MS,
          "refresh with 'slipway status'") },
    { SW_REASON_UNREACHABLE,
      .waiting = WAITING("the platform does not answer; the job itself may be fine", 10 * MINUTE_MS,
          "check the network and the credential with 'slipway preflight'") },
    { SW_REASON_PAUSED,
      .waiting = WAITING("it is paused", 0,
          "resume it on the platform") },
#endif
    { 0 }
};

const struct sw_reason *sw_reason_find(const char *word)
{
    for (const struct sw_reason *row = sw_reasons; word && row->word; row++)
        if (strcmp(row->word, word) == 0)
            return row;
    return NULL;
}
