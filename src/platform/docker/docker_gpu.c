/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_gpu.c - which GPUs are free, and who is next: read from the labels of all containers.
 *
 * A container of ours that may still run holds what its label names. One that was made and not
 * started yet holds it, too, unless the caller knows better (docker_queue.c). Pure.
 */
#include "platform/docker/docker_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool docker_gpu_waits(const json_t *container)
{
    return docker_label(container, LABEL_WANTS) && !docker_label(container, LABEL_HOLDS) &&
           docker_label(container, LABEL_CHOICE) &&
           sw_text_same(sw_json_str(container, "State"), "created");
}

static bool may_run(const json_t *container, bool ignore_created)
{
    const char *state = sw_json_str(container, "State");

    return !sw_text_same(state, "exited") && !sw_text_same(state, "dead") &&
           !(ignore_created && sw_text_same(state, "created"));
}

static bool is_everything(const char *id)
{
    return strcmp(id, DOCKER_GPU_ALL) == 0 || strcmp(id, DOCKER_GPU_ANY) == 0;
}

/* "0,GPU-1234": is `id` among them? */
static bool names(const char *held, const char *id)
{
    size_t length = strlen(id);

    if (is_everything(held) || is_everything(id))
        return true;
    for (const char *at = held; at && *at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, id, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

json_t *docker_gpu_free(const json_t *containers, const json_t *all, bool ignore_created)
{
    json_t *left = json_array(), *id, *container;
    size_t i, j;

    json_array_foreach(all, i, id) {
        bool taken = false;

        json_array_foreach(containers, j, container) {
            const char *held = docker_label(container, LABEL_HOLDS);

            taken |= held && may_run(container, ignore_created) && names(held, json_string_value(id));
        }
        if (!taken)
            json_array_append(left, id);
    }
    return left;
}

struct gpu_waiter {
    int64_t since;
    const char *id;
};

static int by_age(const void *a, const void *b)
{
    const struct gpu_waiter *x = a, *y = b;

    if (x->since != y->since)
        return x->since < y->since ? -1 : 1;
    return strcmp(x->id, y->id);
}

json_t *docker_gpu_waiting(const json_t *containers)
{
    sw_autofree struct gpu_waiter *all = sw_alloc((json_array_size(containers) + 1) * sizeof *all);
    json_t *ids = json_array(), *container;
    size_t i, count = 0;

    json_array_foreach(containers, i, container) {
        const char *id = docker_label(container, LABEL_ID);

        if (docker_gpu_waits(container) && id &&
            sw_text_same(docker_label(container, LABEL_RANK), "0"))          /* a job counts once */
            all[count++] = (struct gpu_waiter){ sw_json_int(container, "Created", 0), id };
    }
    if (count)
        qsort(all, count, sizeof *all, by_age);
    for (i = 0; i < count; i++)
        json_array_append_new(ids, json_string(all[i].id));
    return ids;
}

json_t *docker_gpu_choose(const json_t *free_ones, int nodes, int count)
{
    const char *first = json_string_value(json_array_get(free_ones, 0));
    json_t *ranks;

    if (first && is_everything(first))               /* one job has the engine's GPUs to itself */
        return nodes == 1 ? json_pack("[[s]]", first) : NULL;
    if ((int64_t)json_array_size(free_ones) < (int64_t)nodes * count)
        return NULL;
    ranks = json_array();
    for (int rank = 0; rank < nodes; rank++) {
        json_t *own = json_array();

        for (int i = 0; i < count; i++)
            json_array_append(own, json_array_get(free_ones, (size_t)(rank * count + i)));
        json_array_append_new(ranks, own);
    }
    return ranks;
}

json_t *docker_gpu_split(const char *text)
{
    json_t *ids = json_array();

    while (text && *text) {
        size_t length = strcspn(text, ",");

        if (length)
            json_array_append_new(ids, json_stringn(text, length));
        text += length + (text[length] == ',');
    }
    return ids;
}

/* One name for one device: a number becomes what the engine's list has at that place. */
json_t *docker_gpu_candidates(const json_t *gpu_ids, const json_t *gpu_devices, const json_t *found)
{
    const json_t *all = json_array_size(gpu_devices) ? gpu_devices : found;
    json_t *out = json_array(), *id;
    size_t i;

    if (!json_array_size(gpu_ids)) {
        json_array_extend(out, (json_t *)all);
        if (!json_array_size(out))
            json_array_append_new(out, json_string(DOCKER_GPU_ANY));
        return out;
    }
    json_array_foreach((json_t *)gpu_ids, i, id) {
        const char *text = json_string_value(id);
        char *end;
        unsigned long place = strtoul(text, &end, 10);

        if (*text && !*end && place < json_array_size(all))
            json_array_append(out, json_array_get(all, place));
        else
            json_array_append(out, id);
    }
    return out;
}
