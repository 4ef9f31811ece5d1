/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_waiting.c - why a job waits, in words with numbers.
 *
 * Four parties can hold a pod up: the API server (quota, admission: no pod is made), a queue (Kueue,
 * Volcano), the scheduler (no node fits), the kubelet (image, volume, container). Each has words of its
 * own, and each spelling is one row here. Words that no row knows are shown as they are: a reader
 * understands more of them than nothing.
 *
 * Pure.
 */
#include "platform/kubernetes/kubernetes_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"

enum { PHRASES_MAX = 16, REASON_SIZE = 48, MESSAGE_SIZE = 256, LONG_WORDS = 160 };

static void say(char reason[REASON_SIZE], char message[MESSAGE_SIZE], const char *word, const char *fmt, ...)
    SW_PRINTF(4, 5);

static void say(char reason[REASON_SIZE], char message[MESSAGE_SIZE], const char *word, const char *fmt, ...)
{
    va_list args;

    snprintf(reason, REASON_SIZE, "%s", word);
    va_start(args, fmt);
    vsnprintf(message, MESSAGE_SIZE, fmt, args);
    va_end(args);
}

/* ---- the scheduler ------------------------------------------------------------------------------- */

enum kind { OTHER, NEVER, BUSY, VOLUME, GPU };      /* the greatest decides the reason */

static const char *const kind_reasons[] = {
    [OTHER] = SW_REASON_RESOURCES, [NEVER] = SW_REASON_UNSCHEDULABLE, [BUSY] = SW_REASON_RESOURCES,
    [VOLUME] = SW_REASON_MOUNT, [GPU] = SW_REASON_GPU_WAIT,
};

/* What the scheduler says about some nodes; the first row whose words occur counts. */
static const struct {
    const char *said, *ours;
    enum kind kind;
} phrases[] = {
    { "Insufficient cpu",                    "have too little free CPU",          BUSY },
    { "Insufficient memory",                 "have too little free memory",       BUSY },
    { "Insufficient ephemeral-storage",      "have too little free disk",         BUSY },
    { "Insufficient pods",                   "have no room for more pods",        BUSY },
    { "Too many pods",                       "have no room for more pods",        BUSY },
    { "untolerated taint",                   "are tainted",                       NEVER },
    { "had taint",                           "are tainted",                       NEVER },
    { "node affinity/selector",              "do not match its node selector",    NEVER },
    { "node selector",                       "do not match its node selector",    NEVER },
    { "Pod's node affinity",                 "do not match its node selector",    NEVER },
    { "were unschedulable",                  "take no new pods",                  OTHER },
    { "topology spread constraints",         "do not fit its topology spread",    OTHER },
    { "pod anti-affinity",                   "do not fit its pod affinity",       OTHER },
    { "pod affinity",                        "do not fit its pod affinity",       OTHER },
    { "free ports",                          "have its port in use",              BUSY },
    { "volume node affinity conflict",       "cannot reach its volume",           VOLUME },
    { "available persistent volumes to bind", "have no volume for its claim",     VOLUME },
    { "exceed max volume count",             "hold the most volumes allowed",  BUSY },
    { "cannot allocate all claims",          "cannot serve its resource claims",  GPU },
};

struct phrase {                      /* about how many nodes what is said */
    long nodes;
    char text[96];
    enum kind kind;
};

static bool is_gpu(const char *resource)
{
    return strstr(resource, "gpu") || strstr(resource, "nvidia.com/") || strstr(resource, "amd.com/");
}

/* "Insufficient nvidia.com/gpu", "node(s) had untolerated taint {a: b}" */
static struct phrase phrase_of(long nodes, const char *said)
{
    const char *resource = strstr(said, "Insufficient ");
    struct phrase out = { .nodes = nodes };

    snprintf(out.text, sizeof out.text, "%.90s", said);
    if (resource && is_gpu(resource)) {
        out.kind = GPU;
        snprintf(out.text, sizeof out.text, "have no free GPU");
        return out;
    }
    for (size_t i = 0; i < SW_COUNT(phrases); i++)
        if (strstr(said, phrases[i].said)) {
            out.kind = phrases[i].kind;
            snprintf(out.text, sizeof out.text, "%s", phrases[i].ours);
            return out;
        }
    if (resource) {
        out.kind = BUSY;
        snprintf(out.text, sizeof out.text, "have too little free %.60s", resource + strlen("Insufficient "));
    }
    return out;
}

/* The same words about other nodes (two taints) are said once. */
static size_t add_phrase(struct phrase *all, size_t count, const struct phrase *one)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].text, one->text) == 0) {
            all[i].nodes += one->nodes;
            return count;
        }
    if (count < PHRASES_MAX)
        all[count++] = *one;
    return count;
}

/* Where the next phrase begins: behind ", " and a number. A taint may hold a comma. */
static const char *end_of_phrase(const char *at, const char *end)
{
    for (const char *comma = at; (comma = memchr(comma, ',', (size_t)(end - comma))); comma++)
        if (comma + 2 < end && comma[1] == ' ' && isdigit((unsigned char)comma[2]))
            return comma;
    return end;
}

static size_t cut_phrases(const char *at, const char *end, struct phrase *all)
{
    size_t count = 0;

    while (at < end) {
        const char *over = end_of_phrase(at, end);
        char *words = NULL;
        long nodes = isdigit((unsigned char)*at) ? strtol(at, &words, 10) : 0;
        sw_autofree char *said = NULL;
        struct phrase one;

        words = words && words < over ? words + (*words == ' ') : (char *)at;
        said = sw_strndup(words, (size_t)(over - words));
        one = phrase_of(nodes < 0 || nodes > 1000000 ? 0 : nodes, said);
        count = add_phrase(all, count, &one);
        at = over + 2 < end ? over + 2 : end;
    }
    return count;
}

/* What follows is about taking nodes from other pods: of no use to a reader. */
static const char *end_of_reasons(const char *text)
{
    static const char *const tails[] = { " preemption:", " no new claims to deallocate" };
    const char *end = text + strlen(text);

    for (size_t i = 0; i < SW_COUNT(tails); i++) {
        const char *tail = strstr(text, tails[i]);

        end = tail && tail < end ? tail : end;
    }
    while (end > text && strchr(". ,", end[-1]))
        end--;
    return end;
}

static enum kind kind_of(const struct phrase *all, size_t count)
{
    enum kind kind = count ? all[0].kind : OTHER;
    bool never = count > 0;

    for (size_t i = 0; i < count; i++) {
        kind = all[i].kind > kind ? all[i].kind : kind;
        never &= all[i].kind == NEVER;
    }
    return kind == NEVER && !never ? OTHER : kind;
}

/* "8 have no free GPU", "1 is tainted" */
static void put_phrase(struct sw_buf *out, const struct phrase *one)
{
    static const struct { const char *many, *single; } verbs[] = {
        { "are ", "is " }, { "have ", "has " }, { "do ", "does " }, { "take ", "takes " },
        { "hold ", "holds " },
    };
    const char *text = one->text;

    if (one->nodes)
        sw_buf_addf(out, "%ld ", one->nodes);
    for (size_t i = 0; one->nodes == 1 && i < SW_COUNT(verbs); i++)
        if (sw_text_starts(one->text, verbs[i].many)) {
            sw_buf_add(out, verbs[i].single);
            text += strlen(verbs[i].many);
        }
    sw_buf_add(out, text);
}

/* A claim concerns no single node. */
static bool explain_claim(const char *said, char *out, size_t size)
{
    const char *name = strstr(said, "persistentvolumeclaim \""), *end;

    if (name) {
        name += strlen("persistentvolumeclaim \"");
        end = strchr(name, '"');
        snprintf(out, size, "its volume claim %.*s %s", (int)(end ? (end - name) % 256 : 0), name,
                 strstr(said, "not found") ? "does not exist" : "cannot be used");
        return true;
    }
    if (!strstr(said, "unbound immediate PersistentVolumeClaim"))
        return false;
    snprintf(out, size, "a volume claim of it is not bound to a volume yet");
    return true;
}

const char *k8s_explain_scheduler(const char *said, char *out, size_t size)
{
    static const char are_available[] = " nodes are available: ";
    struct phrase all[PHRASES_MAX];
    const char *reasons = said ? strstr(said, are_available) : NULL;
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    long fit = 0, nodes = 0;
    char *slash = NULL;
    size_t count;

    if (said && explain_claim(said, out, size))
        return SW_REASON_MOUNT;
    if (reasons && isdigit((unsigned char)*said))
        fit = strtol(said, &slash, 10);
    if (!slash || *slash != '/' || !isdigit((unsigned char)slash[1]))
        return NULL;
    nodes = strtol(slash + 1, NULL, 10);
    reasons += strlen(are_available);
    count = cut_phrases(reasons, end_of_reasons(reasons), all);
    sw_buf_addf(&text, "%ld of %ld nodes fit", fit, nodes);
    for (size_t i = 0; i < count; i++) {
        sw_buf_add(&text, i ? ", " : ": ");
        put_phrase(&text, &all[i]);
    }
    snprintf(out, size, "%s", sw_buf_text(&text));
    return kind_reasons[kind_of(all, count)];
}

/* ---- events ------------------------------------------------------------------------------------ */

static const char *words_of(const json_t *event)
{
    const char *words = sw_json_str(event, "message");

    return words ? words : "";
}

/* The newest event of one object with that reason; `start`: its message begins so, or NULL. */
static const json_t *event_of(const json_t *events, const char *name, const char *reason, const char *start)
{
    const json_t *found = NULL;
    json_t *event;
    size_t i;

    json_array_foreach((json_t *)events, i, event) {
        const json_t *about = json_object_get(event, "involvedObject");

        if (sw_text_same(sw_json_str(event, "reason"), reason) &&
            (!name || sw_text_same(sw_json_str(about, "name"), name)) &&
            (!start || sw_text_starts(words_of(event), start)))
            found = event;
    }
    return found;
}

/* Why the API server made no pod: words in the message of FailedCreate. */
static const struct {
    const char *said, *reason, *ours;
} refusals[] = {
    { "exceeded quota",       SW_REASON_QUOTA,        "the quota of the namespace is used up" },
    { "failed quota",         SW_REASON_QUOTA,        "the quota of the namespace requires more of its "
                                                      "pod" },
    { "violates PodSecurity", SW_REASON_POD_SECURITY, "the namespace does not allow such a pod" },
    { "admission webhook",    SW_REASON_ADMISSION,    "a webhook of the cluster rejects its pod" },
    { "ValidatingAdmissionPolicy", SW_REASON_ADMISSION, "a policy of the cluster rejects its pod" },
    { "LimitRange",           SW_REASON_ADMISSION,    "a limit of the namespace rejects its pod" },
    { "forbidden",            SW_REASON_ADMISSION,    "the cluster rejects its pod" },
    { "serviceaccount",       SW_REASON_ADMISSION,    "its service account cannot be used" },
    { "",                     SW_REASON_STARTING,     "its pod cannot be created" },
};

/* `Error creating: pods "x" is forbidden: exceeded quota: ...`: the server's words begin at "exceeded". */
bool k8s_refused(const json_t *events, char reason[REASON_SIZE], char message[MESSAGE_SIZE])
{
    const json_t *event = event_of(events, NULL, "FailedCreate", NULL);
    const char *words = words_of(event), *at;

    for (size_t i = 0; event && i < SW_COUNT(refusals); i++) {
        at = strstr(words, refusals[i].said);
        if (!at)
            continue;
        say(reason, message, refusals[i].reason, "%s: %.180s", refusals[i].ours, at);
        return true;
    }
    return false;
}

/* ---- the kubelet --------------------------------------------------------------------------------- */

enum trouble { IMAGE, CONTAINER, CREATING, CRASHES };

static const struct {
    const char *said;
    enum trouble trouble;
    const char *ours;
} waiting_words[] = {
    { "ImagePullBackOff",           IMAGE,     "its image cannot be pulled" },
    { "ErrImagePull",               IMAGE,     "its image cannot be pulled" },
    { "ErrImageNeverPull",          IMAGE,     "its image is not on the node and may not be pulled" },
    { "InvalidImageName",           IMAGE,     "the name of its image is wrong" },
    { "ImageInspectError",          IMAGE,     "its image cannot be read" },
    { "RegistryUnavailable",        IMAGE,     "the registry does not answer" },
    { "SignatureValidationFailed",  IMAGE,     "the signature of its image is wrong" },
    { "CreateContainerConfigError", CONTAINER, "its container cannot be created" },
    { "CreateContainerError",       CONTAINER, "its container cannot be created" },
    { "RunContainerError",          CONTAINER, "its container cannot be started" },
    { "CrashLoopBackOff",           CRASHES,   "it keeps crashing" },
    { "ContainerCreating",          CREATING,  "its container is being created" },
    { "PodInitializing",            CREATING,  "its container is being created" },
};

/* What registries and container runtimes say; a refusal may speak of a missing repository, too. */
static const char *image_reason(const char *words)
{
    static const struct { const char *said, *reason; } known[] = {
        { "nauthorized", SW_REASON_IMAGE_AUTH },     { "authorization failed", SW_REASON_IMAGE_AUTH },
        { "denied", SW_REASON_IMAGE_AUTH },          { "403 Forbidden", SW_REASON_IMAGE_AUTH },
        { "uthentication required", SW_REASON_IMAGE_AUTH }, { "no basic auth", SW_REASON_IMAGE_AUTH },
        { "not found", SW_REASON_IMAGE_MISSING },    { "manifest unknown", SW_REASON_IMAGE_MISSING },
        { "does not exist", SW_REASON_IMAGE_MISSING },
        { "invalid reference format", SW_REASON_IMAGE_MISSING },
        { "no match for platform", SW_REASON_IMAGE_MISSING },
    };

    for (size_t i = 0; i < SW_COUNT(known); i++)
        if (strstr(words, known[i].said))
            return known[i].reason;
    return SW_REASON_IMAGE_ERROR;
}

/* "failed to pull ...: failed to resolve ...: connection refused": the end of long words tells most. */
static const char *last_words(const char *said)
{
    for (const char *next; strlen(said) > LONG_WORDS && (next = strstr(said, ": ")); )
        said = next + 2;
    return said;
}

/* "Back-off pulling image" says nothing: the event before it does. */
static void explain_image(const json_t *events, const char *name, const char *ours, const char *said,
                          char reason[REASON_SIZE], char message[MESSAGE_SIZE])
{
    const char *why = image_reason(said);

    if (strcmp(why, SW_REASON_IMAGE_ERROR) == 0) {
        const char *event = words_of(event_of(events, name, "Failed", "Failed to pull image"));

        why = image_reason(event);
        said = *event ? event : said;
    }
    say(reason, message, why, *said ? "%s: %.200s" : "%s", ours, last_words(said));
}

/* A container that is not there yet: its volume, its network or its image. */
static void explain_creating(const json_t *events, const char *name, const char *node,
                             char reason[REASON_SIZE], char message[MESSAGE_SIZE])
{
    static const struct { const char *event, *reason, *ours; } known[] = {
        { "FailedMount",            SW_REASON_MOUNT,    "a volume cannot be mounted" },
        { "FailedAttachVolume",     SW_REASON_MOUNT,    "a volume cannot be attached to the node" },
        { "FailedCreatePodSandBox", SW_REASON_STARTING, "the network of its pod cannot be created" },
    };

    for (size_t i = 0; i < SW_COUNT(known); i++) {
        const json_t *event = event_of(events, name, known[i].event, NULL);

        if (event) {
            say(reason, message, known[i].reason, "%s: %.200s", known[i].ours, words_of(event));
            return;
        }
    }
    if (event_of(events, name, "Pulling", NULL) && !event_of(events, name, "Pulled", NULL))
        say(reason, message, SW_REASON_IMAGE, "its image is being pulled on %.100s", node);
    else
        say(reason, message, SW_REASON_STARTING, "its container is being created on %.100s", node);
}

static void explain_container(const json_t *pod, const json_t *events, const json_t *waiting,
                              char reason[REASON_SIZE], char message[MESSAGE_SIZE])
{
    const char *said = sw_json_str(waiting, "reason"), *words = words_of(waiting);
    const char *name = k8s_meta(pod, "name");
    const char *node = k8s_pod_node(pod);

    say(reason, message, SW_REASON_STARTING, "%.80s%s%.150s", said ? said : "", *words ? ": " : "", words);
    for (size_t i = 0; i < SW_COUNT(waiting_words); i++) {
        if (!sw_text_same(said, waiting_words[i].said))
            continue;
        if (waiting_words[i].trouble == IMAGE)
            explain_image(events, name, waiting_words[i].ours, words, reason, message);
        else if (waiting_words[i].trouble == CREATING)
            explain_creating(events, name, node ? node : "its node", reason, message);
        else
            say(reason, message, waiting_words[i].trouble == CRASHES ? SW_REASON_CRASH_LOOP : SW_REASON_START,
                *words ? "%s: %.200s" : "%s", waiting_words[i].ours, words);
    }
}

/* The container that waits: one that prepares comes first, and only a real trouble of it counts before. */
static const json_t *waiting_of(const json_t *pod)
{
    static const char *const lists[] = { "initContainerStatuses", "containerStatuses" };
    const json_t *status = json_object_get(pod, "status"), *found = NULL;

    for (size_t i = 0; i < SW_COUNT(lists); i++) {
        json_t *one;
        size_t at;

        json_array_foreach(json_object_get(status, lists[i]), at, one) {
            const json_t *waiting = json_object_get(json_object_get(one, "state"), "waiting");
            const char *said = sw_json_str(waiting, "reason");

            if (said && (!found || sw_text_same(sw_json_str(found, "reason"), "PodInitializing")))
                found = waiting;
        }
    }
    return found;
}

/* ---- one pod ------------------------------------------------------------------------------------- */

static bool is_false(const json_t *condition)
{
    return sw_text_same(sw_json_str(condition, "status"), "False");
}

static void explain_unscheduled(const json_t *scheduled, char reason[REASON_SIZE], char message[MESSAGE_SIZE])
{
    const char *words = words_of(scheduled), *why;

    if (sw_text_same(sw_json_str(scheduled, "reason"), "SchedulingGated")) {
        say(reason, message, SW_REASON_QUEUE, "a scheduling gate holds its pod");
        return;
    }
    why = k8s_explain_scheduler(words, message, MESSAGE_SIZE);
    if (why)
        snprintf(reason, REASON_SIZE, "%s", why);
    else
        say(reason, message, SW_REASON_RESOURCES, "the scheduler reports: %.200s", words);
}

bool k8s_pod_waits(const json_t *pod, const json_t *events, char reason[REASON_SIZE],
                   char message[MESSAGE_SIZE])
{
    const char *phase = k8s_pod_phase(pod);
    const char *node = k8s_pod_node(pod);
    const json_t *scheduled = k8s_condition(pod, "PodScheduled"), *waiting = waiting_of(pod);

    if (sw_text_same(phase, "Running") ? !sw_text_same(sw_json_str(waiting, "reason"), "CrashLoopBackOff")
                                       : !sw_text_same(phase, "Pending"))
        return false;
    if (waiting)
        explain_container(pod, events, waiting, reason, message);
    else if (is_false(scheduled))
        explain_unscheduled(scheduled, reason, message);
    else if (node)
        explain_creating(events, k8s_meta(pod, "name"), node, reason,
                         message);
    else
        say(reason, message, SW_REASON_QUEUE, "the scheduler has not placed it yet");
    return true;
}

/* ---- queues -------------------------------------------------------------------------------------- */

/* Kueue's Workload: what it said last that still holds. Volcano's PodGroup has the scheduler's words. */
bool k8s_queue_waits(const json_t *workload, char reason[REASON_SIZE], char message[MESSAGE_SIZE])
{
    const json_t *evicted = k8s_condition(workload, "Evicted");
    const json_t *group = k8s_condition(workload, "Unschedulable");
    const json_t *reserved = k8s_condition(workload, "QuotaReserved");

    if (group && !is_false(group)) {
        say(reason, message, SW_REASON_RESOURCES, "Volcano is waiting for room for all pods: %.180s",
            words_of(group));
        return true;
    }
    if (reserved && is_false(reserved) && *words_of(reserved)) {
        say(reason, message, SW_REASON_QUEUE, "Kueue: %.230s", words_of(reserved));
        return true;
    }
    if (evicted && !is_false(evicted)) {
        say(reason, message, SW_REASON_PREEMPTED, "Kueue put it back into the queue: %.180s",
            words_of(evicted));
        return true;
    }
    if (workload && reserved)
        say(reason, message, SW_REASON_QUEUE, "Kueue admitted it; it starts");
    return workload && reserved;
}

/* ---- are events worth a question? ---------------------------------------------------------------- */

static bool pod_wants_events(const json_t *pod)
{
    const json_t *waiting = waiting_of(pod);
    const char *said = sw_json_str(waiting, "reason");
    const char *phase = k8s_pod_phase(pod);

    if (!sw_text_same(phase, "Pending") ||
        (!waiting && !k8s_pod_node(pod)))
        return false;
    if (sw_text_same(said, "ImagePullBackOff") || sw_text_same(said, "ErrImagePull"))
        return strcmp(image_reason(words_of(waiting)), SW_REASON_IMAGE_ERROR) == 0;
    return !waiting || sw_text_same(said, "ContainerCreating") || sw_text_same(said, "PodInitializing");
}

bool k8s_wants_events(const struct k8s_seen *known)
{
    enum k8s_phase phase = k8s_read(known).phase;        /* K8S_SUSPENDED where there is no object */
    json_t *pod;
    size_t i;

    if (phase != K8S_WAITING && phase != K8S_ACTIVE)
        return false;
    json_array_foreach((json_t *)known->pods, i, pod)
        if (pod_wants_events(pod))
            return true;
    return json_array_size(known->pods) == 0;
}
