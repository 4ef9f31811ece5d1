/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_gpu.c - which GPUs are free, and who is next: read from the labels of all containers.
 *
 * A container of ours that may still run holds what its label names. One that was made long ago and
 * never started belongs to a client that died half way: it holds nothing. Pure.
 */
#include "platform/docker/docker_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { HALF_MADE_S = 600 };

static const char *label(const json_t *container, const char *name)
{
    return sw_json_str(json_object_get(container, "Labels"), name);
}

static bool may_run(const json_t *container, int64_t now_s)
{
    const char *state = sw_json_str(container, "State");

    if (sw_text_same(state, "created"))
        return now_s - sw_json_int(container, "Created", now_s) < HALF_MADE_S;
    return !sw_text_same(state, "exited") && !sw_text_same(state, "dead");
}

/* "0,GPU-1234": is `id` among them? "all" is everything. */
static bool names(const char *held, const char *id)
{
    size_t length = strlen(id);

    if (strcmp(held, "all") == 0)
        return true;
    for (const char *at = held; at && *at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, id, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

json_t *docker_gpu_free(const json_t *containers, const json_t *all, int64_t now_s)
{
    json_t *left = json_array(), *id, *container;
    size_t i, j;

    json_array_foreach(all, i, id) {
        bool taken = false;

        json_array_foreach(containers, j, container) {
            const char *held = label(container, LABEL_HOLDS);

            taken |= held && may_run(container, now_s) && names(held, json_string_value(id));
        }
        if (!taken)
            json_array_append(left, id);
    }
    return left;
}

struct waiting {
    int64_t since;
    const char *id;
};

static int by_age(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;

    if (x->since != y->since)
        return x->since < y->since ? -1 : 1;
    return strcmp(x->id, y->id);
}

json_t *docker_gpu_waiting(const json_t *containers)
{
    sw_autofree struct waiting *all = sw_alloc((json_array_size(containers) + 1) * sizeof *all);
    json_t *ids = json_array(), *container;
    size_t i, count = 0;

    json_array_foreach(containers, i, container) {
        if (!label(container, LABEL_WANTS) || label(container, LABEL_HOLDS) ||
            !label(container, LABEL_ID) || !sw_text_same(sw_json_str(container, "State"), "created"))
            continue;
        if (!sw_text_same(label(container, LABEL_RANK), "0"))      /* a job counts once */
            continue;
        all[count++] = (struct waiting){ sw_json_int(container, "Created", 0),
                                         label(container, LABEL_ID) };
    }
    if (count)
        qsort(all, count, sizeof *all, by_age);
    for (i = 0; i < count; i++)
        json_array_append_new(ids, json_string(all[i].id));
    return ids;
}

json_t *docker_gpu_choose(const json_t *free_ones, int nodes, int count)
{
    json_t *ranks;

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
