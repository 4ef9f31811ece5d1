/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage.h - a place where data is kept, as questions and answers without waiting.
 *
 * A storage never touches the network. It is handed an operation (struct sw_operation) and, again and
 * again, the reply to its last request; each time it prepares the next request or says how the
 * operation ended. The caller that runs operations (transfer.h: thousands at once; sw_operation_run(): one,
 * waited for) owns connections, concurrency and pauses. So a storage is a set of pure functions, tested
 * with texts, and every storage gets parallelism, retry and cancel for nothing.
 *
 * To add a storage: copy http_store.c, fill in a struct sw_storage, add one line to registry.c.
 */
#ifndef SW_STORAGE_STORAGE_H
#define SW_STORAGE_STORAGE_H

#include <stdint.h>

#include "base/error.h"
#include "net/http.h"
#include "storage/uri.h"

/* ---- what is stored -------------------------------------------------------------------------- */

enum sw_object_kind { SW_OBJECT_NONE = 0, SW_OBJECT_FILE, SW_OBJECT_FOLDER };

enum sw_digest_kind {
    SW_DIGEST_NONE = 0,
    SW_DIGEST_MD5,
    SW_DIGEST_SHA256,
    SW_DIGEST_GIT_SHA1,      /* sha1 of "blob <length>\0" + content */
    SW_DIGEST_CRC32C,
};

struct sw_object {
    enum sw_object_kind kind;
    char *name;              /* key below the root, raw bytes; folders end in '/' */
    int64_t size;            /* -1: not told */
    int64_t mtime_ms;        /* when the content was last changed; 0: not told */
    char *etag;              /* version of the content as the server spells it; NULL: none */
    enum sw_digest_kind digest_kind;
    char digest[65];         /* lower-case hex of the content */
    char *location;          /* a ready URL for GET that needs no credential (signed); NULL: none */
};

void sw_object_done(struct sw_object *object);
static inline void sw_object_auto(struct sw_object *object) { sw_object_done(object); }

/* ---- an operation ---------------------------------------------------------------------------- */

enum sw_operation_kind {
    SW_OP_STAT,          /* key -> object */
    SW_OP_LIST,          /* key = prefix (ends in '/' or is empty) -> found() for each */
    SW_OP_GET,           /* key, offset, length, if_match -> sink */
    SW_OP_PUT,           /* key, body, size, mtime_ms -> object.etag */
    SW_OP_DELETE,        /* key; already gone is success */
    SW_OP_COPY,          /* from_root's from_key -> key, inside the storage */
    SW_OP_BEGIN,         /* begin an upload in parts: key, mtime_ms -> upload */
    SW_OP_PART,          /* key, upload, part, body, size -> object.etag */
    SW_OP_PART_COPY,     /* from_key, offset, length -> object.etag */
    SW_OP_COMPLETE,      /* key, upload, part_etags -> object.etag */
    SW_OP_ABORT,         /* key, upload */
    SW_OP_PARTS,         /* key, upload -> found() for each part: name is its number, size, etag */
};
#define SW_CAN(kind) (1u << (kind))

#define SW_CRC_HEX 9

struct sw_root;          /* an open storage: a bucket, a repository; each scheme has its own */

/* Non-zero stops the listing. `object` lives until it returns; take texts out with sw_take. */
typedef int sw_found_fn(void *context, struct sw_object *object);

struct sw_operation {
    /* Asked by the caller; texts are borrowed until the operation is over. */
    enum sw_operation_kind kind;
    struct sw_root *root;
    const char *key;
    bool recursive;                /* LIST: all below; else one level, folders as "name/" */
    sw_found_fn *found;
    void *found_context;
    int64_t offset, length;        /* GET, PART_COPY: length -1: to the end (offset 0: all) */
    const char *if_match;          /* GET: only this version; else SW_STEP_CHANGED */
    const char *location;          /* GET: object.location of a listing, if it had one */
    int64_t size;                  /* PUT, PART: bytes of the body */
    int64_t mtime_ms;              /* PUT, BEGIN: kept with the object where possible; 0: none */
    const char *body_sha256;       /* PUT, PART: hex, NULL: not known */
    const char *body_md5;          /* PUT, PART: hex, NULL: not known */
    const char *body_crc32c;       /* PUT, PART: hex, NULL: not known */
    bool check_parts;              /* BEGIN: each part would come with its crc32c */
    const char *upload;
    int part;                      /* counted from 1 */
    char *const *part_etags;       /* COMPLETE: [0] is part 1 */
    int part_count;
    const char (*part_crcs)[SW_CRC_HEX];     /* COMPLETE: hex crc32c of each; NULL: not checked */
    struct sw_root *from_root;     /* COPY, PART_COPY: a root of the same storage */
    const char *from_key;

    /* Answered by the storage. */
    struct sw_object object;       /* STAT, GET (from its headers), PUT, PART, COMPLETE */
    char *upload_made;             /* BEGIN; owned */
    bool parts_checked;            /* BEGIN: the server will check that crc32c */
    bool asking;                   /* GET, with SW_STEP_SEND: the request is a question of the
                                      storage's own (a signed URL, a token): attach no sink, its
                                      body is for next() */
    int64_t retry_after_ms;        /* with SW_STEP_LATER: what the server asks for; -1: nothing */

    /* The storage's own notes between two steps. */
    int step;
    char *note;                    /* owned: a page token, a redirect */
    int turns;                     /* how often region, clock or token were corrected */
    uint32_t pages;                /* of a listing, so far */
    uint64_t page_seen;            /* one of them, to notice that they come round again */
};
#define SW_OP_INIT(k) { .kind = (k), .length = -1, .retry_after_ms = -1, .object = { .size = -1 } }

void sw_operation_done(struct sw_operation *op);
static inline void sw_operation_auto(struct sw_operation *op) { sw_operation_done(op); }

enum sw_step {
    SW_STEP_FAILED = -1,     /* err says why; trying again makes no sense */
    SW_STEP_SEND = 0,        /* the request is prepared: send it, come back with the reply */
    SW_STEP_DONE,            /* op holds the answer */
    SW_STEP_LATER,           /* it may pass: start the operation again after a pause; err says why */
    SW_STEP_SLOWER,          /* the same, and the server asks for fewer requests at once */
    SW_STEP_CHANGED,         /* the object is not the version asked for any more */
};

/* ---- a storage ------------------------------------------------------------------------------- */

/* Where settings and credentials come from; all optional. */
struct sw_storage_options {
    const char *(*env)(void *context, const char *name);   /* NULL: getenv() */
    void *env_context;
    bool look_only;              /* run no program to get at a credential */
};
const char *sw_storage_env(const struct sw_storage_options *options, const char *name);

struct sw_storage {
    const char *scheme;          /* "s3" */
    const char *summary;         /* one line for help */
    bool local;                  /* the path is one of this machine: no operation is ever made */
    unsigned can;                /* SW_CAN(...) | ... */
    bool lists_empty;            /* where nothing is, a listing is empty: "not found" is about the bucket */

    /* Required unless local. Read credentials and settings, no network. The URI is cut into the
     * root and *key (owned), the part below it. A missing credential is SW_E_CREDENTIAL naming the
     * variable, found here only when nothing works without it. */
    struct sw_root *(*open)(const struct sw_uri *uri, const struct sw_storage_options *options,
                            char **key, struct sw_error *err);
    void (*close)(struct sw_root *root);

    /* One step: `reply` is NULL at the beginning (and when an operation starts again after
     * SW_STEP_LATER; op->step is 0 then, answers are empty). With SW_STEP_SEND *request is filled
     * in; body and sink are added by the caller, who knows where bytes come from and go to. A reply
     * with status 0 is judged here too (usually by sw_operation_judge). `now_ms` is the wall clock. */
    enum sw_step (*next)(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                         struct sw_http_request *request, struct sw_error *err);

    /* For local storages: the path a URI means, owned. */
    char *(*path)(const struct sw_uri *uri, struct sw_error *err);

    /* Optional: what a PUT or PART wants to know of its body: SW_DIGEST_SHA256 or _CRC32C, in
     * op->body_sha256 or body_crc32c; NULL: nothing. */
    enum sw_digest_kind (*body_digest)(const struct sw_root *root);

    int64_t part_least;          /* smallest part of an upload; 0: no uploads in parts */
    int part_most;               /* how many parts at most */
    int64_t put_most;            /* largest single PUT */
};

/* Every root begins with this. */
struct sw_root_head {
    const struct sw_storage *storage;
    char *uri;                   /* "s3://bucket", for messages; owned */
};
static inline const struct sw_storage *sw_root_storage(const struct sw_root *root)
{
    return ((const struct sw_root_head *)root)->storage;
}

/* registry.c: the storage of a scheme; unknown is SW_E_UNSUPPORTED with the list of schemes. */
const struct sw_storage *sw_storage_find(const char *scheme, struct sw_error *err);
extern const struct sw_storage *const sw_storages[];     /* NULL-ended */

/* Parse, find, open. NULL: err. For local storages *root is NULL and *key is the path. */
const struct sw_storage *sw_storage_open(const char *uri, const struct sw_storage_options *options,
                                         struct sw_root **root, char **key, struct sw_error *err);
void sw_storage_close(struct sw_root *root);

/* "bytes=100-199" for a Range header; false: it is the whole object. */
bool sw_operation_range(const struct sw_operation *op, char out[64]);

/* What a reply means when the storage has nothing better to say: 2xx is DONE, 404 NOT_FOUND,
 * 401/403 CREDENTIAL, 412 CHANGED, 429 and 503 SLOWER, other 5xx and cut connections LATER. `what` names
 * the thing in the message. */
enum sw_step sw_operation_judge(const struct sw_http_reply *reply, const char *what, int64_t now_ms,
                                struct sw_operation *op, struct sw_error *err);

/* `token` names another page of a listing (or is its whole text): SEND, or FAILED when the server
 * leads us in a circle or never comes to an end. */
enum sw_step sw_operation_turn_page(struct sw_operation *op, const char *token, const char *what,
                                    struct sw_error *err);

/* Run one operation to its end, pauses and retries included. CHANGED is SW_E_CONFLICT. `sink`
 * and `body` as in http.h, may be NULL. */
int sw_operation_run(struct sw_http *http, struct sw_operation *op, sw_http_sink *sink, void *sink_context,
                     const void *body, struct sw_error *err);

extern const struct sw_storage sw_storage_s3, sw_storage_http, sw_storage_https, sw_storage_file,
    sw_storage_lustre, sw_storage_slurm, sw_storage_hf_model, sw_storage_hf_dataset,
    sw_storage_ngc;

#endif
