/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_head.c - rank 0 of a Ray cluster: it starts the head, waits for the other ranks and their GPUs, and
 * ends all of them when the command is over, when one of them is gone, or when a kept cluster was idle.
 *
 * "All are there" has two witnesses: each rank's own runner, which names the node that is missing, and Ray's
 * dashboard, which counts what Ray itself can use.
 */
#include "runner/ray.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "net/http.h"

enum { ASK_MS = 1000, IDLE_ASK_MS = 5000, DASHBOARD_MS = 90000, LAST_NEWS_MS = 500, STALL_MS = 5000,
       STRANGERS = 64 };             /* connections that have not proven who they are */

struct head {
    struct ray_keeper *keeper;
    struct ray_link *links;       /* of the other ranks, and of those that have not proven who they are */
    size_t count;
    int listener;                 /* -1: the cluster has one node */
    char master[16];              /* where the other ranks look for us, as this machine sees it */
    struct sw_http *http;
    struct ray_seen seen;
    int64_t started_ms, ask_ms, busy_ms;
    json_t *jobs;                 /* of a kept cluster, when they were asked for last; NULL: not yet */
    bool announced;               /* the other ranks know the head's address */
    bool answered;                /* the dashboard did, and wants the token */
};

/* ---- the other ranks ----------------------------------------------------------------------------------- */

static struct ray_link *link_of(struct head *head, int rank)
{
    for (size_t i = 0; i < head->count; i++)
        if (head->links[i].rank == rank)
            return &head->links[i];
    return NULL;
}

static void accept_one(struct head *head)
{
    struct ray_link link;

    ray_link_accept(&link, head->listener);
    if (link.fd < 0)
        return;
    if (head->count >= (size_t)head->keeper->nodes + STRANGERS) {
        ray_link_close(&link);
        return;
    }
    head->links = sw_realloc_array(head->links, head->count + 1, sizeof *head->links);
    head->links[head->count++] = link;
}

/* -1: it does not know the token, or a rank came twice. */
static int take_join(struct head *head, struct ray_link *link, const char *line)
{
    char host[SW_HOST_SIZE] = "", nonce[33] = "", proof[SW_DIGEST_HEX] = "", expected[SW_DIGEST_HEX];
    int rank = 0;

    if (sscanf(line, "join %d %64s %32[0-9a-f] %64[0-9a-f]", &rank, host, nonce, proof) != 4 || rank < 1 ||
        rank >= head->keeper->nodes || link_of(head, rank))
        return -1;
    ray_proof(head->keeper->token, "join", link->nonce, rank, expected);
    if (strcmp(expected, proof) != 0)
        return -1;
    link->rank = rank;
    snprintf(link->host, sizeof link->host, "%s", host);
    ray_proof(head->keeper->token, "welcome", nonce, rank, proof);
    ray_link_say(link, "welcome %s", proof);
    if (head->announced)
        ray_link_say(link, "head %s %s", head->keeper->node.head, head->keeper->folder);
    return 0;
}

static int rank_failed(struct head *head, const struct ray_link *link, const char *words)
{
    struct sw_error why = { 0 };

    sw_fail(&why, SW_E_UNREACHABLE, "lost the Ray node of rank %d (%s)%s%s", link->rank, link->host,
            words ? ": " : "", words ? words : "");
    return ray_fail(head->keeper, link->up ? "ray" : "ray-start", &why);
}

static int take_lines(struct head *head, struct ray_link *link)
{
    char line[RAY_LINE];
    int came;

    while ((came = ray_link_read(link, line)) > 0) {
        if (link->rank < 0 && take_join(head, link, line) < 0)
            break;
        if (sw_text_starts(line, "up"))
            link->up = true;
        else if (sw_text_starts(line, "failed "))
            return rank_failed(head, link, line + 7);
    }
    /* A stranger that says nothing does not keep a place. */
    if (came == 0 && (link->rank > 0 || sw_monotonic_ms() < link->prove_by_ms))
        return 0;
    ray_link_close(link);
    return link->rank > 0 && !head->keeper->told_to_end ? rank_failed(head, link, NULL) : 0;
}

/* One round of everything that may come. -1: the cluster failed. */
static int turn(struct head *head, int64_t wait_ms)
{
    struct ray_keeper *keeper = head->keeper;
    struct sw_error why = { 0 };
    int outcome = 0;

    ray_keeper_turn(keeper, head->links, head->count, head->listener, wait_ms);
    if (head->listener >= 0)
        accept_one(head);
    for (size_t i = 0; i < head->count && outcome == 0; i++)
        if (head->links[i].fd >= 0)
            outcome = take_lines(head, &head->links[i]);
    for (size_t i = head->count; i-- > 0;)
        if (head->links[i].fd < 0 && head->links[i].rank < 0)
            head->links[i] = head->links[--head->count];
    if (outcome == 0 && ray_keeper_check(keeper, &why) < 0)
        outcome = ray_fail(keeper, keeper->ray.started ? "ray" : "ray-start", &why);
    return outcome;
}

/* ---- until all are there ------------------------------------------------------------------------------- */

static void announce(struct head *head)
{
    head->announced = true;
    head->started_ms = sw_monotonic_ms();
    for (size_t i = 0; i < head->count; i++)
        if (head->links[i].rank > 0)
            ray_link_say(&head->links[i], "head %s %s", head->keeper->node.head, head->keeper->folder);
}

static json_t *ask(struct head *head, const char *path, int *status)
{
    return ray_dashboard_get(head->http, head->keeper->node.block + RAY_DASHBOARD, path,
                             head->keeper->token, status);
}

/* A Ray that is too old for tokens would let everyone in who reaches its ports. */
static int check_token(struct head *head)
{
    int status = 0;
    sw_auto(json) json_t *answer = ask(head, "/api/authentication_mode", &status);
    struct sw_error why = { 0 };

    if (sw_text_same(sw_json_str(answer, "authentication_mode"), "token")) {
        head->answered = true;
        return 0;
    }
    if (status == 0 && sw_monotonic_ms() < head->started_ms + DASHBOARD_MS)
        return 0;
    if (status == 0) {
        sw_fail(&why, SW_E_NOT_FOUND, "Ray's dashboard does not answer");
        sw_hint(&why, "is \"ray[default]\" installed? `ray` alone has no dashboard");
    } else {
        sw_fail(&why, SW_E_UNSUPPORTED, "this Ray knows no tokens: every program could use the cluster");
        sw_hint(&why, "use Ray 2.52 or newer");
    }
    return ray_fail(head->keeper, "ray-start", &why);
}

static bool all_up(struct head *head)
{
    for (int rank = 1; rank < head->keeper->nodes; rank++) {
        const struct ray_link *link = link_of(head, rank);

        if (!link || !link->up)
            return false;
    }
    return true;
}

/* 1: all are there. */
static int look_around(struct head *head)
{
    sw_auto(json) json_t *answer = NULL;
    int gpus = head->keeper->node.gpus, status = 0;

    if (!head->announced && head->keeper->ray.started)
        announce(head);
    if (!head->announced || sw_monotonic_ms() < head->ask_ms)
        return 0;
    head->ask_ms = sw_monotonic_ms() + ASK_MS;
    if (!head->answered && check_token(head) < 0)
        return -1;
    if (!head->answered || !all_up(head))
        return 0;
    answer = ask(head, "/api/v0/nodes", &status);
    return answer && ray_read_nodes(answer, gpus, &head->seen) == 0 &&
           head->seen.nodes >= head->keeper->nodes && !head->seen.without_gpus[0];
}

/* The nth address of WORKER_ADDRS, from 0; owned. */
static char *address_of(int nth)
{
    const char *all = getenv("WORKER_ADDRS");

    while (all && nth-- > 0 && (all = strchr(all, ',')))
        all++;
    return all && *all ? sw_strndup(all, strcspn(all, ",")) : sw_strdup("its address is not known");
}

/* Names the first thing that did not come. */
static int fail_missing(struct head *head, int64_t waited_ms)
{
    const struct ray_keeper *keeper = head->keeper;
    const struct ray_link *link = NULL;
    sw_autofree char *what = NULL, *address = NULL;
    struct sw_error why = { 0 };
    int rank = 0;

    while (++rank < keeper->nodes && (link = link_of(head, rank)) && link->up)
        ;
    address = address_of(rank - 1);
    what = !head->announced ? sw_format("Ray to start: %s", keeper->ray.last)
           : rank < keeper->nodes
               ? sw_format("the Ray node of rank %d (%s), which did not %s", rank,
                           link ? link->host : address, link ? "start" : "join")
           : head->seen.without_gpus[0]
               ? sw_format("the GPUs of %s, where Ray finds %d of %d", head->seen.without_gpus,
                           head->seen.found_gpus, keeper->node.gpus)
               : sw_format("%d Ray nodes, of which there are %d", keeper->nodes, head->seen.nodes);
    sw_fail(&why, SW_E_TIMEOUT, "waited %lld s for %s", (long long)waited_ms / 1000, what);
    return ray_fail(head->keeper, "ray", &why);
}

/* 0: all are there, or it must end before that. */
static int gather(struct head *head, int64_t wait_ms)
{
    int64_t until = sw_monotonic_ms() + wait_ms;
    int there = 0;

    while (there == 0 && !ray_keeper_ends(head->keeper) && !head->keeper->stop_by_ms) {
        if (turn(head, ASK_MS) < 0)
            return -1;
        there = look_around(head);
        if (there == 0 && sw_monotonic_ms() >= until)
            return fail_missing(head, wait_ms);
    }
    return there < 0 ? -1 : 0;
}

/* ---- while the command runs ---------------------------------------------------------------------------- */

/* For `slipway ray`: where the cluster is. Owned. */
static char *info_path(const struct head *head)
{
    const struct runner_scratch *scratch = &head->keeper->runner->scratch;

    return sw_path_join(scratch->kind == RUNNER_MOUNT ? scratch->results_root : scratch->work_dir,
                        "ray_cluster_info.json");
}

/* No token. */
static void write_info(struct head *head)
{
    sw_autofree char *path = info_path(head);
    sw_auto(json) json_t *info = sw_json_object(
        SW_INT("version", 1), SW_STR("head", head->keeper->node.head),
        SW_STR("dashboard_host", "127.0.0.1"), SW_INT("dashboard_port", head->keeper->shared->dashboard),
        SW_INT("client_port", head->keeper->node.block + RAY_CLIENT), SW_INT("nodes", head->seen.nodes),
        SW_INT("gpus", head->seen.gpus));
    sw_autofree char *text = sw_json_dump_pretty(info);

    sw_file_write(path, text, strlen(text), 0644, NULL);
}

static void say_ready(struct head *head)
{
    struct ray_keeper *keeper = head->keeper;

    snprintf(keeper->shared->address, sizeof keeper->shared->address, "%s", keeper->node.head);
    keeper->shared->dashboard = keeper->node.block + RAY_DASHBOARD;
    keeper->shared->state = RAY_READY;
    runner_log("the Ray cluster is up: %d node%s, %d GPU%s, %s", head->seen.nodes,
               head->seen.nodes == 1 ? "" : "s", head->seen.gpus, head->seen.gpus == 1 ? "" : "s",
               keeper->node.head);
    if (write(keeper->news, "r", 1) < 0)
        keeper->told_to_end = true;              /* there is no runner any more */
}

/* Has a job begun or ended since the last look? A short one does both between two of them. */
static bool jobs_changed(struct head *head, json_t *jobs)
{
    bool changed = !json_equal(jobs, head->jobs);

    json_decref(head->jobs);
    head->jobs = json_incref(jobs);
    return changed;
}

/* A kept cluster has no command: it ends by itself. An unanswered question is no proof of idleness. */
static bool is_idle(struct head *head, int64_t idle_ms)
{
    int64_t now = sw_monotonic_ms();
    int status = 0;
    sw_auto(json) json_t *jobs = NULL, *cluster = NULL;

    if (now < head->ask_ms)
        return false;
    head->ask_ms = now + (idle_ms < IDLE_ASK_MS * 4 ? ASK_MS : IDLE_ASK_MS);
    jobs = ask(head, "/api/jobs/", &status);
    cluster = ask(head, "/api/cluster_status", &status);
    if (!jobs || !cluster || ray_read_busy(jobs, cluster) || jobs_changed(head, jobs))
        head->busy_ms = now;
    return now - head->busy_ms >= idle_ms;
}

static int keep_up(struct head *head)
{
    int64_t idle_ms = sw_json_int(head->keeper->runner->payload->ray, "idle_ms", 0);

    head->busy_ms = sw_monotonic_ms();
    if (idle_ms)
        write_info(head);
    while (!ray_keeper_ends(head->keeper) && !(idle_ms && head->keeper->stop_by_ms)) {
        if (turn(head, ASK_MS) < 0 && head->keeper->shared->state != RAY_FAILED)
            return -1;
        if (head->keeper->shared->state == RAY_FAILED) {
            if (idle_ms)
                return -1;                       /* no command has to be waited for */
        } else if (idle_ms && is_idle(head, idle_ms)) {
            runner_log("no job ran on the Ray cluster for a long time: it ends");
            return 0;
        }
    }
    return 0;
}

/* A command that failed may have failed because of a node whose end was not noticed yet. */
static void hear_last_news(struct head *head)
{
    int64_t until = sw_monotonic_ms() + LAST_NEWS_MS, left;

    head->keeper->told_to_end = false;
    while (head->keeper->shared->state != RAY_FAILED && (left = until - sw_monotonic_ms()) > 0)
        if (turn(head, left) < 0)
            break;
    head->keeper->told_to_end = true;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* Ranks on one machine use loopback alone; so does a cluster of one node. */
static int set_address(struct head *head, struct sw_error *err)
{
    struct ray_keeper *keeper = head->keeper;
    const char *master = getenv("MASTER_ADDR");
    sw_autofree char *worker = keeper->nodes > 1 ? address_of(0) : NULL;
    char ip[16] = "127.0.0.1";

    if (keeper->nodes > 1 && (sw_text_empty(master) || ray_resolve(master, ip, err) < 0))
        return sw_text_empty(master) ? sw_fail(err, SW_E_SPEC, "MASTER_ADDR is not set") : -1;
    memcpy(head->master, ip, sizeof head->master);
    /* A machine may call itself 127.0.1.1 in its own /etc/hosts, where others see another address. */
    if (keeper->nodes > 1 && ray_is_loopback(ip) && ray_own_ip(worker, ip, err) < 0)
        return -1;
    if (ray_is_loopback(ip))
        ray_loopback(0, ip);
    snprintf(keeper->node.ip, sizeof keeper->node.ip, "%s", ip);
    snprintf(keeper->node.head, sizeof keeper->node.head, "%s:%d", ip, keeper->node.block + RAY_GCS);
    return 0;
}

static int begin(struct head *head, struct sw_error *err)
{
    struct ray_keeper *keeper = head->keeper;
    sw_autofree char *info = info_path(head);

    if (json_object_get(keeper->runner->payload->ray, "idle_ms"))
        unlink(info);                            /* an earlier attempt's */
    if (set_address(head, err) < 0)
        return -1;
    head->http = sw_http_open(&(struct sw_http_options){ .connect_ms = STALL_MS, .stall_ms = STALL_MS }, err);
    if (!head->http)
        return -1;
    if (keeper->nodes > 1 &&
        (head->listener = ray_link_listen(ray_is_loopback(keeper->node.ip) ? head->master : keeper->node.ip,
                                          keeper->node.block + RAY_LINK, err)) < 0)
        return -1;
    return ray_process_start(&keeper->ray, keeper->runner, &keeper->node, err);
}

/* The other ranks keep Ray's logs when the job failed. */
static void end(struct head *head)
{
    bool failed = head->keeper->command_failed || head->keeper->shared->state == RAY_FAILED;

    for (size_t i = 0; i < head->count; i++)
        if (head->links[i].rank > 0)
            ray_link_say(&head->links[i], failed ? "end failed" : "end");
    ray_process_end(&head->keeper->ray);
    for (size_t i = 0; i < head->count; i++)
        ray_link_close(&head->links[i]);
    if (head->listener >= 0)
        close(head->listener);
    sw_http_close(head->http);
    json_decref(head->jobs);
    free(head->links);
}

int ray_head(struct ray_keeper *keeper)
{
    struct head head = { .keeper = keeper, .listener = -1 };
    struct sw_error why = { 0 };
    int outcome = begin(&head, &why);

    if (outcome < 0)
        ray_fail(keeper, "ray-start", &why);
    else
        outcome = gather(&head, sw_json_int(keeper->runner->payload->ray, "wait_ms", 0));
    if (outcome == 0 && !keeper->told_to_end && !keeper->stop_by_ms) {
        say_ready(&head);
        outcome = keep_up(&head);
        if (keeper->command_failed && keeper->shared->state != RAY_FAILED)
            hear_last_news(&head);
    }
    end(&head);
    return outcome;
}
