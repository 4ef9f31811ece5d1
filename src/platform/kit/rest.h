/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.h - a JSON API over HTTP: one call in, one document, one list or one stream out.
 *
 *     struct sw_rest_call call = { .path = "/v1/jobs", .deadline_ms = deadline, .repeatable = true };
 *     sw_auto(json) json_t *jobs = NULL;
 *
 *     if (sw_rest_call(rest, &call, &jobs, err) < 0)
 *         return -1;
 *
 * What an answer means is the same for every platform:
 *
 *     2xx, complete, JSON where the caller wants it    0
 *     304                                              0, without a document
 *     400, 403, 422, every other 3xx and 4xx           SW_E_REFUSED, in the server's words
 *     401                                              one new credential, then SW_E_CREDENTIAL
 *     404                                              SW_E_NOT_FOUND: the object is not there
 *     409                                              SW_E_CONFLICT: a create finds its object there
 *     429, and 503 with Retry-After                    asked again within the deadline, if `repeatable`
 *     408, 429, 5xx, no answer, cut, deadline, no JSON SW_E_UNREACHABLE: not seen, maybe done
 *
 * SW_E_NOT_FOUND says nothing about an object that was never confirmed; observe() decides that.
 *
 * With options.threads several threads may use sw_rest_call() and sw_rest_list() at once; everything else
 * belongs to one thread. Tokens are struct sw_secret: no message and no log contains one.
 */
#ifndef SW_PLATFORM_KIT_REST_H
#define SW_PLATFORM_KIT_REST_H

#include "base/json.h"
#include "base/secret.h"
#include "net/http.h"
#include "net/websocket.h"

struct sw_rest;

/* An owned token for the next calls; NULL + err. `refused`: the server answered 401 to the last one. */
typedef struct sw_secret *sw_rest_token(void *context, bool refused, struct sw_error *err);

/* One that never changes: the context is the struct sw_secret; NULL: SW_E_CREDENTIAL. */
struct sw_secret *sw_rest_token_given(void *secret, bool refused, struct sw_error *err);

/* A client certificate with its key (PEM): shared by the connections made with it, wiped with the
 * last of them. */
struct sw_rest_certificate;
struct sw_rest_certificate *sw_rest_certificate_new(const char *pem, const char *key);
struct sw_rest_certificate *sw_rest_certificate_share(struct sw_rest_certificate *certificate);
void sw_rest_certificate_free(struct sw_rest_certificate *certificate);
SW_DEFINE_AUTO(sw_rest_certificate, struct sw_rest_certificate *, sw_rest_certificate_free)

/* Who makes the next call. */
struct sw_rest_credential {
    struct sw_buf authorization;             /* "Basic ...", "Bearer ..."; empty: none. Wiped after use */
    struct sw_rest_certificate *certificate; /* a share of it; NULL: none */
};
/* Where a token alone does not do: asked before each call, one thread at a time, so it keeps what it gives as
 * long as that is good. Another certificate than before means new connections. `refused` as above. */
typedef int sw_rest_authorize(void *context, bool refused, struct sw_rest_credential *out,
                              struct sw_error *err);

/* A field that an error body names, and the key of the job file that decides it. */
struct sw_rest_field {
    const char *field;           /* "spec.containers[0].image"; fields below it belong to it */
    const char *key;             /* "image" */
};

/* All texts are borrowed as long as the client lives, those of `http` too. */
struct sw_rest_options {
    const char *base_url;        /* "https://host/api/v1", with or without '/' at its end */
    const char *name;            /* who answers, in messages: "Lepton" */
    struct sw_http_options http; /* authority, client certificate, unix socket, silence */
    int64_t patience_ms;         /* how long a call without a deadline may take; 0: until it is silent */
    bool threads;                /* calls come from several threads; each gets connections of its own */
    sw_rest_token *token;        /* NULL: calls carry none. One thread at a time asks for it */
    void *token_context;
    sw_rest_authorize *authorize;            /* instead of `token`; NULL: it is not */
    void *authorize_context;
    const struct sw_rest_pair *headers;      /* of every call; ends with a row without key; or NULL */
    const struct sw_rest_field *fields;      /* ends with a row without field; NULL: none */
    /* Changes code or hint of a failure where this server differs from the table above; `words` is what
     * the server said. reply->status 0: no answer. May be NULL. */
    void (*explain)(void *context, const struct sw_http_reply *reply, const char *words,
                    struct sw_error *err);
    void *explain_context;
};

/* Connects to nothing yet. */
struct sw_rest *sw_rest_open(const struct sw_rest_options *options, struct sw_error *err);
void sw_rest_close(struct sw_rest *rest);      /* requests under way are dropped, unreported */
SW_DEFINE_AUTO(sw_rest, struct sw_rest *, sw_rest_close)
/* Another client to the same server with the same credentials, for one thread: where `rest` serves several,
 * its streams (sw_rest_send) have connections of their own. `rest` must outlive it. */
struct sw_rest *sw_rest_beside(struct sw_rest *rest, struct sw_error *err);

/* ---- one call ------------------------------------------------------------------------------- */

struct sw_rest_pair {
    const char *key, *value;     /* value NULL: left out */
};

/* How a call was answered, also when it failed. */
struct sw_rest_seen {
    int status;                  /* 0: no answer */
    struct sw_buf headers;       /* as in struct sw_http_reply */
};
void sw_rest_seen_done(struct sw_rest_seen *seen);
static inline void sw_rest_seen_auto(struct sw_rest_seen *seen) { sw_rest_seen_done(seen); }
char *sw_rest_header(const struct sw_rest_seen *seen, const char *name);     /* owned; NULL: absent */

struct sw_rest_call {
    const char *method;          /* NULL: GET */
    const char *path;            /* below the base URL, encoded (sw_rest_path); may hold a query */
    const struct sw_rest_pair *query;        /* encoded here; ends with a row without key; or NULL */
    const struct sw_rest_pair *headers;      /* the same; values are wiped after use, in no message */
    const json_t *json;          /* the body as JSON; NULL: none */
    const void *bytes;           /* or as bytes, borrowed until the call is over */
    int64_t length;
    int fd;                      /* or from a file, `length` bytes from its beginning; 0: none */
    const char *content_type;    /* of bytes; NULL: application/octet-stream */
    const struct sw_secrets *secrets;        /* or these, as sw_secrets_send() writes them; on no disk */
    sw_http_sink *sink;          /* takes the body of a 2xx answer piece by piece; no JSON then */
    void *sink_context;
    int64_t deadline_ms;         /* by sw_monotonic_ms(): the answer counts until then; 0: options.patience_ms
                                    from now, and with a sink none */
    int64_t stall_ms;            /* without a byte for so long it has failed; 0: the pool's; -1: never */
    bool repeatable;             /* doing it twice is doing it once */
    bool changes_nothing;        /* a 5xx leaves no doubt about what was done: SW_E_REFUSED */
    bool silence_counts;         /* silence is an answer: SW_E_TIMEOUT instead of SW_E_UNREACHABLE */
    struct sw_rest_seen *seen;   /* filled in by sw_rest_call(); may be NULL */
};

/* One call, waited for. *json: what came, NULL for an empty body; owned. `json` may be NULL. */
int sw_rest_call(struct sw_rest *rest, const struct sw_rest_call *call, json_t **json,
                 struct sw_error *err);

/* Is there something at this path? GET: 404 is no. */
int sw_rest_exists(struct sw_rest *rest, const char *path, bool *exists, struct sw_error *err);
/* A create that may be repeated: when the object is there already (409), it is read from `path`. */
int sw_rest_create(struct sw_rest *rest, const struct sw_rest_call *create, const char *path, json_t **json,
                   struct sw_error *err);

/* The row "clock" of a preflight: the server's clock, as its last answer told it, beside this machine's. */
void sw_rest_clock(struct sw_rest *rest, json_t *rows);

/* ---- lists ---------------------------------------------------------------------------------- */

/* How this API cuts a list into pages. */
struct sw_rest_pages {
    const char *items;           /* where the array is in a page: "items"; a page that is an array, or NULL:
                                    the page itself */
    const char *next;            /* where a page holds the token of the next one: "metadata.continue";
                                    NULL: pages are counted in items */
    const char *parameter;       /* the query that takes the token, or the number of items so far;
                                    NULL: the list has one page */
    /* Hears of each page before its items are taken, with the context of `take`. May be NULL. */
    void (*page)(void *context, const json_t *page);
    bool numbered;               /* it takes the number of the page, from 1; an empty one is the last */
    size_t full;                 /* where items are counted: a page with fewer is the last; 0: an empty one */
};

/* Calls `take` for each item (borrowed), page after page, until it returns non-zero, which is then returned.
 * -1 + err: a page is missing, so the list is no list. */
int sw_rest_list(struct sw_rest *rest, const struct sw_rest_call *call,
                 const struct sw_rest_pages *pages, int (*take)(void *context, json_t *item),
                 void *context, struct sw_error *err);

/* ---- several calls at once ------------------------------------------------------------------ */

/* How a call ended; lives until the function returns. */
struct sw_rest_answer {
    int status;                  /* 0: no answer */
    json_t *json;                /* NULL: none */
    struct sw_error error;       /* code SW_OK: success */
};
typedef void sw_rest_finished(void *context, const struct sw_rest_answer *answer);

/* Start a call: one try, without repetition, new token or deadline. `finished` is called once, from
 * sw_rest_work(), and may send further calls. -1 + err: there is no token; nothing was sent. */
int sw_rest_send(struct sw_rest *rest, const struct sw_rest_call *call, sw_rest_finished *finished,
                 void *context, struct sw_error *err);
void sw_rest_drop(struct sw_rest *rest, const void *context);     /* finished() is not called */
size_t sw_rest_busy(const struct sw_rest *rest);
int sw_rest_work(struct sw_rest *rest, int64_t wait_ms, struct sw_error *err);
void sw_rest_wake(struct sw_rest *rest);       /* from any thread: sw_rest_work() returns soon */

/* ---- a connection of its own ---------------------------------------------------------------- */

/* A call whose connection becomes a stream of bytes in both directions (exec, attach), owned. `protocol` is
 * what it becomes: "tcp". Of the call method, path, query, headers, json and seen count. It is not repeated,
 * except with a new token. */
struct sw_http_stream *sw_rest_upgrade(struct sw_rest *rest, const struct sw_rest_call *call,
                                       const char *protocol, struct sw_error *err);
/* The same as a WebSocket (net/websocket.h) with one of these `protocols`. */
struct sw_websocket *sw_rest_websocket(struct sw_rest *rest, const struct sw_rest_call *call,
                                       const char *protocols, struct sw_error *err);

/* ---- texts, pure ---------------------------------------------------------------------------- */

/* A path in which each %s is percent-encoded and %d a number: sw_rest_path("/jobs/%s/log/%d", id, 0). */
char *sw_rest_path(const char *fmt, ...) SW_PRINTF(1, 2);
/* Append "&key=value" ("?key=value" when `path` has no query yet), the value encoded. */
void sw_rest_query(struct sw_buf *path, const char *key, const char *value);

/* The words of an error body, printable and bounded: {"message"}, {"error"}, {"detail"}, lists of them,
 * a Kubernetes Status, an HTML page's title, plain text. Owned; NULL: it says nothing. `field` (NULL: not
 * wanted) gets the owned name of the field that is wrong, or NULL. */
char *sw_rest_words(const char *body, size_t length, char **field);

/* What a Kubernetes Status or the `complianceIssues` of run:ai say about each field, in their order. Texts
 * are borrowed for the call; NULL: not there. */
struct sw_rest_cause {
    const char *field;           /* "spec.template.spec.containers[0].image" */
    const char *reason;          /* "FieldValueInvalid" */
    const char *message;
};
typedef void sw_rest_take_cause(void *context, const struct sw_rest_cause *cause);
/* Returns how many there are; `take` may be NULL. */
size_t sw_rest_causes(const json_t *status, sw_rest_take_cause *take, void *context);

/* A stream of JSON documents, one on each line, cut into documents. A line that is no JSON is skipped. */
struct sw_rest_lines {
    struct sw_buf line;
    int (*take)(void *context, json_t *document);    /* borrowed; non-zero ends the stream */
    void *context;
    size_t limit;                                    /* a longer line ends the stream; 0: 1 MiB */
};
/* A sink: sink_context is the struct sw_rest_lines. */
int sw_rest_lines_sink(void *lines, const struct sw_http_reply *so_far, const char *bytes,
                       size_t length);
void sw_rest_lines_done(struct sw_rest_lines *lines);

#endif
