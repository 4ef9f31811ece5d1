/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_worker.c - a rank other than the first: it finds the head, starts its Ray node and serves until the
 * head says that the command is over.
 */
#include "runner/ray.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

/* Our address as the head's machine sees it. */
static void own_address(const struct ray_link *link, struct ray_node *node)
{
    struct sockaddr_in at = { 0 };
    socklen_t size = sizeof at;

    getsockname(link->fd, (struct sockaddr *)&at, &size);
    inet_ntop(AF_INET, &at.sin_addr, node->ip, sizeof node->ip);
    if (ray_is_loopback(node->ip))
        ray_loopback(node->rank, node->ip);
}

/* Ray 2.53 ignores the folder of a node that is no head, and uses the head's path on every machine. On a
 * machine of its own that path is then this rank's, to be removed with the rest. */
static void take_heads_folder(struct ray_keeper *keeper, const char *folder)
{
    sw_autofree char *named = ray_folder(keeper->key, 0, NULL);
    const char *name = strrchr(named, '/');

    if (*folder == '/' && sw_text_ends(folder, name) && !ray_is_loopback(keeper->node.ip) &&
        !sw_file_exists(folder) && sw_folder_make_private(folder, NULL) == 0)
        keeper->heads_folder = sw_strdup(folder);
}

/* `words`: "IP:PORT FOLDER". */
static int start_node(struct ray_keeper *keeper, struct ray_link *link, const char *words)
{
    size_t length = strcspn(words, " ");
    struct sw_error why = { 0 };

    snprintf(keeper->node.head, sizeof keeper->node.head, "%.*s", (int)length, words);
    own_address(link, &keeper->node);
    if (words[length])
        take_heads_folder(keeper, words + length + 1);
    if (ray_process_start(&keeper->ray, keeper->runner, &keeper->node, &why) == 0)
        return 0;
    ray_link_say(link, "failed %s", why.message);
    return ray_fail(keeper, "ray-start", &why);
}

/* 1: the head said that all is over. */
static int take_lines(struct ray_keeper *keeper, struct ray_link *link)
{
    char line[RAY_LINE];
    struct sw_error why = { 0 };
    int came;

    while ((came = ray_link_read(link, line)) > 0) {
        if (sw_text_starts(line, "end")) {
            keeper->command_failed = sw_text_same(line, "end failed");
            return 1;
        }
        if (sw_text_starts(line, "head ") && !keeper->ray.pid && start_node(keeper, link, line + 5) < 0)
            return -1;
    }
    if (came == 0)
        return 0;
    sw_fail(&why, SW_E_UNREACHABLE, "lost the Ray head on rank 0 (%s)", getenv("MASTER_ADDR"));
    return ray_fail(keeper, "ray", &why);
}

static int serve(struct ray_keeper *keeper, struct ray_link *link)
{
    struct sw_error why = { 0 };
    int over = 0;

    while (over == 0 && !ray_keeper_ends(keeper)) {
        ray_keeper_turn(keeper, link, 1, -1, INT64_MAX);
        over = take_lines(keeper, link);
        if (over != 0 || (!keeper->ray.pid && keeper->ray.output < 0))
            continue;
        if (ray_keeper_check(keeper, &why) < 0) {
            if (!keeper->stop_by_ms)
                ray_link_say(link, "failed %s", why.message);
            return ray_fail(keeper, keeper->ray.started ? "ray" : "ray-start", &why);
        }
        if (keeper->ray.started && !link->up) {
            link->up = true;
            ray_link_say(link, "up");
        }
    }
    return over < 0 ? -1 : 0;
}

int ray_worker(struct ray_keeper *keeper)
{
    const char *master = getenv("MASTER_ADDR");
    int64_t until = sw_monotonic_ms() + sw_json_int(keeper->runner->payload->ray, "wait_ms", 0);
    struct ray_link link = { .fd = -1 };
    struct sw_error why = { 0 };
    int outcome;

    if (sw_text_empty(master)) {
        sw_fail(&why, SW_E_SPEC, "MASTER_ADDR is not set: the head of the Ray cluster is not known");
        return ray_fail(keeper, "ray-start", &why);
    }
    if (ray_link_connect(&link, master, keeper, until, &why) < 0)
        return keeper->stop_by_ms ? 0 : ray_fail(keeper, "ray", &why);
    outcome = serve(keeper, &link);
    ray_process_end(&keeper->ray);
    ray_link_close(&link);
    return outcome;
}
