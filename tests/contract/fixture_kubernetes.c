/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture_kubernetes.c - pods of the real node that tests/k8s/cluster --real started: behaviours become
 * shell text for the busybox of its image. The case's folder is a folder of the node, mounted at its own
 * place, so commands see it; results are in another one. The API server is reached by plain HTTP through
 * `kubectl proxy` (SLIPWAY_TEST_K8S_PROXY is its port), and through a proxy of the case that can make
 * faults.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_proxy.h"
#include "fixture.h"

static char mount[256], results[256];

static int common(struct sw_request *request, struct sw_error *err)
{
    const char *image = getenv("K8S_IMAGE");

    if (sw_request_set(request, "image", image ? image : "no-image", err) < 0 ||
        sw_request_set(request, "mounts", mount, err) < 0)
        return -1;
    return sw_request_set(request, "kubernetes.volumes", results, err);
}

/* A port that is free now and stays this process's: the address of a job's place must not change. */
static const char *own_port(void)
{
    static char port[8];
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int fd = *port ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return port;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    if (bind(fd, (struct sockaddr *)&address, size) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        abort();
    close(fd);
    snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
    return port;
}

static void disturb(const char *dir, const char *api)
{
    (void)dir;
    fault_proxy_begin(&(struct fault_proxy){
        .listen = own_port(), .real = getenv("SLIPWAY_TEST_K8S_PROXY"), .list = "/jobs?|/pods?",
        .start = "/jobs?", .not_start = "dryRun=All",
        .empty = "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}" },
        api ? api : "");
}

/* The status of one request to the API server; 0: none. */
static int request(const char *method, const char *path, const char *body)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                   .sin_port = htons((uint16_t)atoi(getenv("SLIPWAY_TEST_K8S_PROXY"))) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), status = 0;
    char answer[512] = "";

    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        dprintf(fd, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                method, path, strlen(body), body) > 0 &&
        read(fd, answer, sizeof answer - 1) > 0)
        sscanf(answer, "HTTP/1.1 %d", &status);
    close(fd);
    return status;
}

/* Cases use the same ids, so each has a namespace of its own; its pods need its account. */
static void make_namespace(const char *name)
{
    char body[160], path[160];

    snprintf(body, sizeof body,
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}", name);
    snprintf(path, sizeof path, "/api/v1/namespaces/%s/serviceaccounts/default", name);
    request("POST", "/api/v1/namespaces", body);
    for (int i = 0; i < 3000 && request("GET", path, "") != 200; i++)
        usleep(10000);
}

static void write_kubeconfig(const char *path)
{
    FILE *out = fopen(path, "w");

    if (!out)
        abort();
    fprintf(out, "apiVersion: v1\nkind: Config\ncurrent-context: bed\nclusters:\n- name: bed\n  cluster:\n"
            "    server: http://127.0.0.1:%s\ncontexts:\n- name: bed\n  context: {cluster: bed, user: bed}\n"
            "users:\n- name: bed\n  user: {}\n", own_port());
    if (fclose(out) != 0)
        abort();
}

static void begin(const char *dir)
{
    char path[256], folder[240], name[64];

    snprintf(path, sizeof path, "%s/kubeconfig", dir);
    /* Not in the case's folder: `rm` leaves what is on a volume of the user. */
    snprintf(folder, sizeof folder, "%s%s", getenv("K8S_SHARED"), strrchr(dir, '/'));
    mkdir(folder, 0777);
    write_kubeconfig(path);
    setenv("KUBECONFIG", path, 1);
    disturb(dir, NULL);
    snprintf(name, sizeof name, "case%s", strrchr(dir, '-'));
    for (char *c = name; *c; c++)
        *c = (char)tolower(*c);
    make_namespace(name);
    setenv("TAO_K8S_NAMESPACE", name, 1);
    setenv("SLIPWAY_K8S_HELPER_IMAGE", getenv("K8S_IMAGE"), 1);      /* nodes have no network */
    snprintf(mount, sizeof mount, "%s:%s", dir, dir);
    snprintf(results, sizeof results, "/results=%s", folder);
}

const struct fixture fixture_kubernetes = {
    .name = "kubernetes",
    .begin = begin,
    .eats_memory = "head -c 400m /dev/zero | tail -n 1 >/dev/shm/x",
    .queue = { { "gpus", "5" } },                                   /* the node has eight */
    .common = common,
    .command_key = "command",
    .disturb = disturb,
    .lacks = {
        [4] = "paths of this machine mean nothing to a cluster; they are refused",
        [7] = "containerd takes a carriage return at the end of a line away",
    },
};
