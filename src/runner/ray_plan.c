/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ray_plan.c - ports, folder and words of a Ray node.
 *
 * All of it follows from the token, the job and the attempt, so that the ranks agree without asking each
 * other, and two jobs on one machine begin to look at different blocks. Pure.
 */
#include "runner/ray.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SHOWN = 10, FOLDER_MAX = 16 };

void ray_proof(const char *token, const char *word, const char *nonce, int rank, char out[SW_DIGEST_HEX])
{
    sw_autofree char *text = sw_format("%s %s %d", word, nonce, rank);
    unsigned char digest[32];

    sw_hmac_sha256(token, strlen(token), text, strlen(text), digest);
    sw_hex(digest, sizeof digest, out);
}

void ray_key(const char *token, const char *job_id, const char *attempt, char out[SW_DIGEST_HEX])
{
    ray_proof(token, job_id, attempt, -1, out);
}

int ray_block(const char *key, int nth)
{
    char begin[9] = "";
    unsigned long first;

    memcpy(begin, key, sizeof begin - 1);
    first = strtoul(begin, NULL, 16) % RAY_BLOCKS;
    return RAY_FIRST + (int)((first + (unsigned long)nth) % RAY_BLOCKS) * RAY_BLOCK;
}

/* TEMP/session_2026-11-18_15-52-43_424480_1083200/sockets/plasma_store has 65 characters behind TEMP. */
char *ray_folder(const char *key, int rank, const char *tmpdir)
{
    bool fits = tmpdir && tmpdir[0] == '/' && tmpdir[1] && strlen(tmpdir) <= FOLDER_MAX;

    return sw_format("%s/sw-ray-%.*s-%d", fits ? tmpdir : "/tmp", KEY_SHOWN, key, rank);
}

void ray_loopback(int rank, char out[16])
{
    int number = rank + 1;

    snprintf(out, 16, "127.1.%d.%d", number / 256 % 256, number % 256);
}

/* ---- ray start ------------------------------------------------------------------------------------ */

struct ray_words {
    char **all;
    size_t count;
};

static void add(struct ray_words *words, char *owned)
{
    words->all = sw_realloc_array(words->all, words->count + 2, sizeof *words->all);
    words->all[words->count++] = owned;
    words->all[words->count] = NULL;
}

static void add_port(struct ray_words *words, const char *option, const struct ray_node *node,
                     enum ray_port port)
{
    add(words, sw_format("--%s=%d", option, node->block + (int)port));
}

char **ray_start_words(const struct ray_node *node, const char *program)
{
    static const struct {
        const char *option;
        enum ray_port port;
        bool head;                /* only the head has it */
    } ports[] = {
        { "port", RAY_GCS, true },
        { "ray-client-server-port", RAY_CLIENT, true },
        { "dashboard-port", RAY_DASHBOARD, true },
        { "node-manager-port", RAY_NODE_MANAGER, false },
        { "object-manager-port", RAY_OBJECT_MANAGER, false },
        { "dashboard-agent-listen-port", RAY_AGENT_HTTP, false },
        { "dashboard-agent-grpc-port", RAY_AGENT_GRPC, false },
        { "runtime-env-agent-port", RAY_RUNTIME_ENV, false },
        { "metrics-export-port", RAY_METRICS, false },
        { "min-worker-port", RAY_WORKERS, false },
    };
    struct ray_words words = { 0 };
    bool head = node->rank == 0;

    add(&words, sw_strdup(program));
    add(&words, sw_strdup("start"));
    add(&words, sw_strdup("--block"));
    add(&words, head ? sw_strdup("--head") : sw_format("--address=%s", node->head));
    add(&words, sw_format("--node-ip-address=%s", node->ip));
    for (size_t i = 0; i < SW_COUNT(ports); i++)
        if (head || !ports[i].head)
            add_port(&words, ports[i].option, node, ports[i].port);
    add_port(&words, "max-worker-port", node, RAY_BLOCK - 1);
    if (head) {
        add(&words, sw_strdup("--include-dashboard=true"));
        add(&words, sw_strdup("--dashboard-host=127.0.0.1"));
    }
    add(&words, sw_format("--temp-dir=%s" RAY_TEMP, node->folder));      /* which it opens to all users */
    if (node->gpus == 0)
        add(&words, sw_strdup("--num-gpus=0"));
    if (node->cpus > 0)
        add(&words, sw_format("--num-cpus=%d", node->cpus));
    add(&words, sw_strdup("--disable-usage-stats"));
    return words.all;
}

void ray_words_free(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}
