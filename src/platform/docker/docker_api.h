/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_api.h - the Docker Engine API: one call in, one JSON document or stream out.
 *
 *     sw_auto(json) json_t *list = NULL;
 *     struct sw_rest_call call = { .path = "/containers/json?all=1" };    // without the version
 *     if (docker_ask(api, &call, &list, err) < 0)
 *         return -1;
 *
 * The first call connects and settles the version both sides speak.
 * One thread uses a client. Answers mean what platform/kit/rest.h says, except for the rows in docker_api.c.
 */
#ifndef SW_PLATFORM_DOCKER_API_H
#define SW_PLATFORM_DOCKER_API_H

#include "base/json.h"
#include "net/http.h"
#include "platform/docker/docker_endpoint.h"
#include "platform/kit/rest.h"

#define DOCKER_API_OLDEST 40         /* 1.40: Docker 19.03, the first with device requests */
#define DOCKER_API_NEWEST 44         /* 1.44: what this client was written against */

/* How long the engine may be silent before we stop waiting for it. A call that does not say has
 * DOCKER_QUESTION_MS for a GET, else DOCKER_LONG_MS. Bytes are a tar file unless the call says otherwise. */
enum {
    DOCKER_QUESTION_MS = 10000,      /* what is asked with GET, and whether it answers at all */
    DOCKER_ORDER_MS = 30000,         /* kill, pause */
    DOCKER_LONG_MS = 60000,          /* create, remove, put files in, read a log or an archive */
    DOCKER_START_MS = 120000,
};

/* Why the engine refused a call, where its status alone does not say it. */
enum docker_refusal {
    DOCKER_NOT_REFUSED = 0,
    DOCKER_REFUSED,                  /* for a reason that no caller needs to know */
    DOCKER_NO_SUCH_CONTAINER,
    DOCKER_NO_BIND_SOURCE,           /* it does not see the folder docker_api_refused_path() */
    DOCKER_LIMIT_DENIED,             /* it may not raise limits: it is rootless */
    DOCKER_REMOVAL_IN_PROGRESS,
    DOCKER_NO_NETWORK,
    DOCKER_NETWORK_AMBIGUOUS,        /* there are several of that name */
    DOCKER_NO_DEVICE_DRIVER,
    DOCKER_NO_RUNTIME,
    DOCKER_NVIDIA_FAILS,
    DOCKER_OTHER_PROCESSOR,
    DOCKER_MAY_NOT_EXECUTE,
};

struct docker_api {                  /* others than docker_api.c only read it */
    struct docker_endpoint endpoint;
    struct sw_rest *rest;            /* for sw_rest_work(), sw_rest_drop(), sw_rest_wake() */
    struct sw_ssh_dialer *dialer;    /* of DOCKER_SSH; NULL: none */
    struct docker_pool *pool;        /* that it goes back to; NULL: none */
    char *base;                      /* "http://docker", "https://host:2376" */
    char version[16];                /* "" until settled */
    bool podman;                     /* Podman behind the same API; known once a call was made */
    enum docker_refusal refusal;     /* of the last call */
    char *refused_words;             /* the engine's own, whole; NULL: it did not refuse the last call */
};

/* `endpoint` is copied. Connects to nothing yet. */
struct docker_api *docker_api_open(const struct docker_endpoint *endpoint, struct sw_error *err);
void docker_api_close(struct docker_api *api);
SW_DEFINE_AUTO(docker_api, struct docker_api *, docker_api_close)

/* A client for one call of the platform: several threads may share a connection. */
enum { DOCKER_AT_ONCE = 8 };       /* requests to one engine, each over a connection of its own */
struct docker_pool;
struct docker_pool *docker_pool_new(const struct docker_endpoint *endpoint);         /* borrowed */
void docker_pool_free(struct docker_pool *pool);
struct docker_api *docker_pool_borrow(struct docker_pool *pool, struct sw_error *err);
void docker_give_back(struct docker_api *api);                                       /* NULL is fine */
SW_DEFINE_AUTO(docker_lent, struct docker_api *, docker_give_back)

/* One call, waited for. `api` may be NULL: none could be had, and err says why already. *reply: the JSON
 * that came, NULL for none (204, 304, plain text); may be NULL if not wanted.
 * Statuses 2xx and 304 are success. Otherwise, with the engine's own words:
 *   400 SW_E_REFUSED   401, 403 SW_E_CREDENTIAL   404 SW_E_NOT_FOUND   409 SW_E_CONFLICT
 *   501 SW_E_UNSUPPORTED: this engine does not do that
 *   other 5xx, no answer, cut off, silence: SW_E_UNREACHABLE. Whether it was done is not known.
 *   the sink said no: SW_E_INTERRUPTED. */
int docker_ask(struct docker_api *api, const struct sw_rest_call *call, json_t **reply,
               struct sw_error *err);

/* The folder that DOCKER_NO_BIND_SOURCE is about; borrowed until the next call. */
const char *docker_api_refused_path(const struct docker_api *api);
/* The engine's words came another way: it noted them in a container. */
void docker_api_note_refusal(struct docker_api *api, const char *words);

/* A call whose connection becomes a stream of bytes in both directions (net/http_stream.h), owned. */
struct sw_http_stream;
struct sw_http_stream *docker_hijack(struct docker_api *api, const char *path, const json_t *body,
                                     struct sw_error *err);

/* ---- several calls at once -------------------------------------------------------------------- */

/* Start a call; `finished` is called once, from sw_rest_work(), and may send further calls. -1: the
 * version could not be settled, nothing was sent and `finished` will not be called. */
int docker_send(struct docker_api *api, const struct sw_rest_call *call, sw_rest_finished *finished,
                void *context, struct sw_error *err);

/* ---- small helpers ------------------------------------------------------------------------------ */

/* Version settled with the engine as text "1.41"; NULL + err when it does not answer. Borrowed. */
const char *docker_api_version(struct docker_api *api, struct sw_error *err);
/* A path with a query "filters". Steals `filters`; owned. */
char *docker_filtered(const char *path, json_t *filters);

#endif
