/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_states.c - what the engine says about a container, in our words; and the user that it runs as. Pure.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/reason.h"
#include "core/state.h"
#include "platform/docker/docker_job.h"

/* `exited` and `dead` are over; how, docker_judge_end() says. */
static const struct sw_state_word words[] = {
    { "created",    SW_PENDING,  "it is created but not started yet" },
    { "running",    SW_RUNNING,  NULL },
    { "restarting", SW_RUNNING,  "the engine is starting it again" },
    { "paused",     SW_PAUSED,   "a user paused its container" },
    { "removing",   SW_UNKNOWN,  "its container is being removed" },
    { "stopping",   SW_RUNNING,  "it was asked to stop" },
    { "stopped",    SW_COMPLETE, NULL },                     /* Podman's word for exited */
    { "exited",     SW_COMPLETE, NULL },
    { "dead",       SW_COMPLETE, "the engine could not remove its container" },
    { "configured", SW_PENDING,  "it is created but not started yet" },         /* Podman's */
    { "initialized", SW_PENDING, "it is being started" },                    /* Podman's */
};

enum sw_state docker_state(const char *said, const char **note)
{
    return sw_state_lookup(words, SW_COUNT(words), said, note);
}

bool docker_is_over(const char *state)
{
    return docker_state(state, NULL) == SW_COMPLETE;
}

int docker_exit_code(const char *status)
{
    const char *open = status ? strchr(status, '(') : NULL;
    char *end;
    long code;

    if (!open || !sw_text_starts(status, "Exited"))
        return SW_NO_EXIT_CODE;
    code = strtol(open + 1, &end, 10);
    return end > open + 1 && *end == ')' && code >= 0 && code <= 255 ? (int)code : SW_NO_EXIT_CODE;
}

/* ---- labels, mounts and names ------------------------------------------------------------- */

const char *docker_label(const json_t *container, const char *name)
{
    const json_t *labels = json_object_get(container, "Labels");

    if (!labels)
        labels = json_object_get(json_object_get(container, "Config"), "Labels");
    return sw_json_str(labels, name);
}

int docker_label_number(const json_t *container, const char *name, int missing)
{
    const char *text = docker_label(container, name);

    return text && *text >= '0' && *text <= '9' ? atoi(text) : missing;
}

const char *docker_variable(const json_t *env, const char *name)
{
    size_t i, length = strlen(name);
    json_t *each;

    json_array_foreach(env, i, each)
        if (sw_text_starts(json_string_value(each), name) && json_string_value(each)[length] == '=')
            return json_string_value(each) + length + 1;
    return NULL;
}

const char *docker_listed_name(const json_t *container)
{
    const char *name = json_string_value(json_array_get(json_object_get(container, "Names"), 0));

    return name ? name + (*name == '/') : NULL;
}

const json_t *docker_newest(const json_t *list)
{
    const json_t *newest = NULL;
    int newest_order = 0;
    json_t *container;
    size_t i;

    json_array_foreach(list, i, container) {
        int order = docker_label_number(container, LABEL_ATTEMPT, 1) * DOCKER_NODES_MAX -
                    docker_label_number(container, LABEL_RANK, 0);

        if (!newest || order > newest_order) {
            newest = container;
            newest_order = order;
        }
    }
    return newest;
}

const json_t *docker_mount_of(const json_t *container, const char *key, const char *value)
{
    json_t *mount;
    size_t i;

    json_array_foreach(json_object_get(container, "Mounts"), i, mount)
        if (sw_text_same(sw_json_str(mount, key), value))
            return mount;
    return NULL;
}

/* ---- how it ended ---------------------------------------------------------------------------- */

/* "its container ...", or which of several. */
static const char *words_of(const struct docker_ended *ended, const char *what, char out[256])
{
    if (ended->end.rank >= 0)
        snprintf(out, 256, "the container of rank %d %s", ended->end.rank, what);
    else
        snprintf(out, 256, "its container %s", what);
    return out;
}

/* One that was never started was taken away by a client whose turn it was, or whose start was refused: it is
 * as if it had not been made. */
static void judge_gone(const struct docker_ended *ended, struct sw_observation *seen)
{
    bool by_hand = ended->end.by_hand;

    seen->exit_code = ended->end.exit_code;
    seen->signal = 0;
    if (ended->never_began) {
        seen->presence = SW_ABSENT;
        return;
    }
    seen->state = by_hand ? SW_CANCELED : SW_ERROR;
    snprintf(seen->reason, sizeof seen->reason, "%s", by_hand ? SW_REASON_CANCELED : SW_REASON_REMOVED);
    words_of(ended, by_hand ? "was removed by hand on the engine"
                            : "is gone, and the engine no longer knows who removed it; how far it got is "
                              "unknown", seen->message);
}

/* The engine's words for a stop; NULL: there was none. */
static const char *stop_words(const struct docker_ended *ended, bool engine_ended, char out[256])
{
    if (ended->end.by_hand)
        return "it was stopped by hand on the engine";
    if (engine_ended)
        return ended->end.stopped ? "its container was stopped from outside: the engine went down"
                                  : "the engine failed and lost its container";
    return ended->end.stopped ? words_of(ended, "was stopped from outside; whether by hand or by an "
                                                "engine that went down is unknown", out)
                              : NULL;
}

void docker_judge_end(const struct docker_ended *ended, struct sw_observation *seen)
{
    struct sw_run_end end = ended->end;
    char text[256];

    if (ended->gone && !end.canceled) {
        judge_gone(ended, seen);
        return;
    }
    end.host_ended = ended->engine == DOCKER_ENGINE_CAME_LATER &&
                     (end.stopped || (end.exit_code == DOCKER_LOST_TRACK && !end.reported));
    end.stopped_message = stop_words(ended, end.host_ended, text);
    sw_run_end_judge(&end, seen);
}

/* ---- the user that a container runs as, in numbers -------------------------------------------- */

static bool read_number(const char *text, size_t length, int64_t *out)
{
    int64_t value = 0;

    if (length == 0 || length > 10)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *out = value;
    return true;
}

bool docker_user_numbers(const char *user, struct docker_owner *owner)
{
    const char *colon = strchr(user, ':');
    size_t length = colon ? (size_t)(colon - user) : strlen(user);

    *owner = (struct docker_owner){ 0, 0 };
    if (!read_number(user, length, &owner->uid))
        return false;
    if (colon && !read_number(colon + 1, strlen(colon + 1), &owner->gid))
        owner->gid = 0;                    /* a group's name: the owner alone must do */
    return true;
}

/* Lines "name:x:uid:gid:...". */
bool docker_user_lookup(const char *passwd, const char *user, struct docker_owner *owner)
{
    size_t length = strcspn(user, ":");

    for (const char *line = passwd; line && *line; line = strchr(line, '\n')) {
        const char *uid, *gid;

        line += *line == '\n';
        if (strncmp(line, user, length) != 0 || line[length] != ':')
            continue;
        uid = strchr(line + length + 1, ':');
        gid = uid ? strchr(uid + 1, ':') : NULL;
        if (!gid || !read_number(uid + 1, (size_t)(gid - uid - 1), &owner->uid) ||
            !read_number(gid + 1, strcspn(gid + 1, ":\n"), &owner->gid))
            return false;
        return true;
    }
    return false;
}
