/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason.h - why a job is in its state: every reason by name.
 *
 * A reason is one word in the store, in JSON and in the records of platforms. Sources write its name, so that
 * a misspelt one does not compile. The words never change: rows and records of older versions have them.
 * reason.c says what a reason means for a job that failed and for one that waits.
 */
#ifndef SW_CORE_REASON_H
#define SW_CORE_REASON_H

#include <stdbool.h>
#include <stdint.h>

#define SW_REASON_EXIT              "exit"              /* its command ended with an exit code */
#define SW_REASON_SIGNAL            "signal"            /* a signal ended it */
#define SW_REASON_CANCELED          "canceled"          /* a user canceled it */
#define SW_REASON_MEMORY            "memory"            /* it needed more memory than it had */
#define SW_REASON_TIME              "time"              /* it reached its time limit */
#define SW_REASON_RESTART           "restart"           /* its machine or engine restarted under it */
#define SW_REASON_LOST              "lost"              /* it is gone and left no exit code */
#define SW_REASON_NODE_LOST         "node-lost"         /* a node of it died */
#define SW_REASON_PREEMPTED         "preempted"         /* the platform took its machine for another job */
#define SW_REASON_EVICTED           "evicted"           /* the node ran short of something and ended it */
#define SW_REASON_IMAGE_AUTH        "image-auth"        /* the registry refused the credential */
#define SW_REASON_IMAGE_MISSING     "image-missing"     /* the registry has no such image */
#define SW_REASON_DISK              "disk"              /* a disk that it needs is full */
#define SW_REASON_QUOTA             "quota"             /* the user's quota is used up */
#define SW_REASON_GPU_LOST          "gpu-lost"          /* a GPU of it disappeared */
#define SW_REASON_NETWORK           "network"           /* the network between its nodes failed */
#define SW_REASON_NOT_STARTED       "not-started"       /* the platform never had it */
#define SW_REASON_REMOVED           "removed"           /* its container was removed, by an unknown hand */
#define SW_REASON_STOPPED           "stopped"           /* it was stopped from outside, by an unknown hand */
#define SW_REASON_DEPENDENCY_FAILED "dependency-failed" /* a job that it waited for did not end as asked */
#define SW_REASON_GUARD             "guard"             /* 'guard:' stopped it */
#define SW_REASON_REFUSED           "refused"           /* the platform refused it */
#define SW_REASON_STATUS            "status"            /* its own status.json says that it failed */
#define SW_REASON_IMAGE_ERROR       "image-error"       /* its image cannot be fetched */
#define SW_REASON_GPU               "gpu"               /* a GPU cannot be used */
#define SW_REASON_PREPARE           "prepare"           /* its runner prepares it */
#define SW_REASON_INPUTS            "inputs"            /* its inputs are brought in */
#define SW_REASON_OUTPUTS           "outputs"           /* its command is done; its outputs are copied */
#define SW_REASON_DESTINATION       "destination"       /* its outputs cannot be written, it did not start */
#define SW_REASON_START             "start"             /* its command or container cannot be started */
#define SW_REASON_SUBMITTING        "submitting"        /* it is handed to the platform */
#define SW_REASON_QUEUE             "queue"             /* it is in the platform's queue */
#define SW_REASON_QUEUED            "queued"            /* it is in the platform's queue */
#define SW_REASON_GPU_WAIT          "gpu-wait"          /* it waits for a free GPU */
#define SW_REASON_ROOM_WAIT         "room-wait"         /* it waits for free CPUs or memory */
#define SW_REASON_RESOURCES         "resources"         /* the nodes that it needs are busy */
#define SW_REASON_NO_CAPACITY       "no-capacity"       /* no machine for it is free, and none comes soon */
#define SW_REASON_PRIORITY          "priority"          /* other jobs come before it */
#define SW_REASON_LIMIT             "limit"             /* a limit on running jobs is reached */
#define SW_REASON_DEPENDENCY        "dependency"        /* it waits for another job */
#define SW_REASON_HELD              "held"              /* it is held */
#define SW_REASON_BEGIN_TIME        "begin-time"        /* its start time has not come */
#define SW_REASON_RESERVATION       "reservation"       /* it waits for its reservation */
#define SW_REASON_UNSCHEDULABLE     "unschedulable"     /* no node can ever run it as it is */
#define SW_REASON_NODE_BOOT         "node-boot"         /* its nodes are starting */
#define SW_REASON_IMAGE             "image"             /* its image is being fetched */
#define SW_REASON_MOUNT             "mount"             /* a volume cannot be mounted */
#define SW_REASON_POD_SECURITY      "pod-security"      /* its namespace does not allow such a pod */
#define SW_REASON_ADMISSION         "admission"         /* a rule of the cluster refuses its pod */
#define SW_REASON_CRASH_LOOP        "crash-loop"        /* its container ends again and again */
#define SW_REASON_NODE_REFUSED      "node-refused"      /* the node that it was given did not take it */
#define SW_REASON_CODE              "code"              /* its code is being unpacked */
#define SW_REASON_STARTING          "starting"          /* it is being started */
#define SW_REASON_ENDING            "ending"            /* it is being ended */
#define SW_REASON_RETRY             "retry"             /* it failed and waits for its next attempt */
#define SW_REASON_CREDENTIAL        "credential"        /* its next attempt needs a secret that is not here */
#define SW_REASON_MISSING           "missing"           /* the platform said once that it has no such job */
#define SW_REASON_UNREACHABLE       "unreachable"       /* the platform does not answer */
#define SW_REASON_PAUSED            "paused"            /* it is paused */
#define SW_REASON_CANCELING         "canceling"         /* it was canceled and may still run */
#define SW_REASON_REOPENED          "reopened"          /* it counted as ended and may still run */
#define SW_REASON_RESTARTED         "restarted"         /* of an attempt: the platform started the next one */
#define SW_REASON_RETRIED           "retried"           /* of an attempt: a user started the next one */

#define SW_CLASS_PROGRAM "ERR_PROGRAM"
#define SW_CLASS_INFRA   "ERR_INFRA"

struct sw_ruling {                   /* what diagnosis says; all texts are static */
    const char *name;                /* of the rule; NULL: there is none */
    const char *err_class;           /* SW_CLASS_PROGRAM or SW_CLASS_INFRA */
    const char *cause;               /* as in `retry.on` */
    const char *suggestion;
};

struct sw_waiting {                  /* what is said about a job that has not ended */
    const char *what;                /* a whole sentence, lower case; NULL: nothing */
    int64_t patience_ms;             /* after this time the advice is given; 0: always */
    const char *advice;
};

struct sw_reason {
    const char *word;
    struct sw_ruling failed;         /* name NULL: it does not decide */
    bool symptom;                    /* facts and the log are asked before `failed` is believed */
    struct sw_waiting waiting;
};

extern const struct sw_reason sw_reasons[];      /* ended by a row without a word */

/* NULL: the word is none of ours, or says nothing about failures and waiting. */
const struct sw_reason *sw_reason_find(const char *word);

#endif
