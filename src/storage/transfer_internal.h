/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_internal.h - what the files of the transfer engine share.
 *
 *     transfer_client.c   what lives between copies: connections, roots, threads; single questions
 *     transfer_request.c  one operation on its way: sent, retried after a pause, over
 *     transfer.c        one copy: the loop that keeps requests under way until everything is over
 *     transfer_list.c   where items come from, and what lies at the destination already
 *     transfer_get.c    an item comes here
 *     transfer_put.c    an item goes there
 *     transfer_parts.c  ... in parts
 *     transfer_move.c   an item stays on its side: server-side copies, local copies, removals
 *     transfer_open.c   the local end of an item: opened below its root, links made
 *     transfer_same.c   is it identical already?
 *
 * Everything runs in the caller's thread but the work() of pool jobs, which may read the item they
 * belong to and write only the fields marked "by the job".
 */
#ifndef SW_STORAGE_TRANSFER_INTERNAL_H
#define SW_STORAGE_TRANSFER_INTERNAL_H

#include <sys/stat.h>

#include "base/digest.h"
#include "storage/operation_internal.h"
#include "storage/partial.h"
#include "storage/pool.h"
#include "storage/transfer.h"
#include "storage/upload_record.h"
#include "storage/walker.h"
#include "storage/concurrency.h"

#define SMALL_MAX   (64 * 1024)              /* through memory, one write */
#define GET_UNIT    (32LL * 1024 * 1024)     /* a larger object comes in ranges of this */
#define PUT_UNIT    (16LL * 1024 * 1024)     /* a larger file goes in parts of at least this ... */
#define PUT_LARGE   (64LL * 1024 * 1024)     /* ... and of this when there are enough of them */
#define PUT_PARTS   8
#define COPY_UNIT   (512LL * 1024 * 1024)    /* a larger object is copied in parts by the server */
#define LARGE_MOST  12                       /* units under way: each holds a buffer of 256 KiB */
#define OPEN_MOST   8                        /* large items at once ... */
#define JOBS_USUAL  64
#define JOBS_MOST   256
#define QUEUE_MOST  4096                     /* items listed ahead */
#define RESTARTS_MOST 3
#define MD5_CHEAP   (64LL * 1024 * 1024)     /* contents up to this are always compared */

struct copy;
struct item;

struct sw_transfer_client {
    struct sw_transfer_options options;
    struct sw_http *http;                    /* NULL until something remote is asked for */
    struct pool *pool;
    struct sw_root **roots;
    size_t root_count;
};

/* One end of a copy. */
struct side {
    const struct sw_storage *storage;
    struct sw_root *root;                    /* NULL: local */
    char *base;                              /* key prefix or path; a tree's ends in '/' (or is "") */
};

int client_http(struct sw_transfer_client *client, struct sw_error *err);
int transfer_side(struct sw_transfer_client *client, const char *uri, struct side *out, struct sw_error *err);
void side_done(struct side *side);

/* ---- requests --------------------------------------------------------------------------------- */

/* What the storage wants to know of a body. */
struct proof {
    enum sw_digest_kind kind;
    char hex[SW_DIGEST_HEX];
};

struct transfer_request {
    struct sw_operation op;
    struct copy *copy;
    struct transfer_request *next;                     /* waiting for due_ms */
    struct transfer_request *after, **link;            /* in copy->requests */
    int tried;
    int64_t due_ms;
    bool large, in_job, unit_of_item;
    sw_http_sink *sink;                      /* its context is the request */
    const void *body;
    int body_fd;                             /* -1: `body`, or none */
    int64_t body_offset;
    /* Before each try but the first: move the range past what already came; a refusal ends it. */
    void (*again)(struct transfer_request *request);
    /* It is over. With FAILED, `err` tells why. The callee owns the request again. */
    void (*over)(struct transfer_request *request, enum sw_step step, const struct sw_error *err);
    struct item *item;
    size_t unit;
    int64_t got;                             /* bytes of the unit that the sink took */
    bool no_ranges;                          /* the server sent something else than asked for */
    struct sw_error refusal;                 /* why the sink said no, again(), or the job (by the job);
                                                code 0: none did */
    struct pool_job job;                     /* for hashing a part */
    struct proof proof;                      /* of the body; by the job */
};

struct transfer_request *request_new(struct copy *copy, enum sw_operation_kind kind, struct sw_root *root,
                                     const char *key, struct item *item);
void request_free(struct transfer_request *request);
void request_start(struct transfer_request *request);
void request_wake(struct copy *copy, int64_t now_ms);         /* those whose pause is over */
int64_t request_next_ms(const struct copy *copy);             /* when the next pause ends; -1: none */

/* ---- items ------------------------------------------------------------------------------------- */

enum item_found { FOUND_NEW, FOUND_SAME, FOUND_UNSURE, FOUND_FAILED };

struct item {
    struct item *next;                       /* in copy->queue */
    struct item *after, **link;              /* in copy->all */
    struct copy *copy;
    char *name;                              /* relative */
    struct sw_object object;                 /* what the source says; by the job while it hashes */
    char *path;                              /* local end, if there is one */
    char *target;                            /* it is a link to this; NULL: a file */
    char *from_key, *key;                    /* remote ends */
    struct pool_job job;
    void (*job_done)(struct pool_job *job);
    enum item_found found;                   /* by the job */
    struct sw_error *err;                    /* by the job; first failure; NULL while queued */
    int restarts;
    bool asked;                              /* the source was asked by STAT */
    bool failed, in_open, relayed;
    int64_t counted, announced;              /* bytes reported as moved, and as to be moved */

    char *buffer;                            /* small: its content; by the job when read */
    struct partial partial;                  /* get: where it arrives; by the job when opened */
    int fd;                                  /* put: what is sent; by the job when opened */
    int64_t put_mtime_ns;                    /* put: as opened, to notice a change */
    struct proof proof;                      /* put: of the content; by the job */

    int64_t unit;
    size_t unit_count, unit_next, units_over;
    int flying;                              /* requests and jobs of its units under way */
    char *upload;
    struct upload_record record;             /* put in parts: what is remembered of it */
    char identity[128];                      /* put in parts: which file it was; by the job */
    char **etags;
    char (*crcs)[SW_CRC_HEX];                /* put: of the parts; NULL: the server does not check */
};

void item_take_buffer(struct item *item);    /* room for a small object that arrives */
void item_take_error(struct item *item);

struct item *item_new(struct copy *copy, const char *name);
void item_free(struct item *item);
void item_drop_etags(struct item *item);
void item_drop_buffer(struct item *item);
void item_job(struct item *item, int weight, void (*work)(struct pool_job *),
              void (*done)(struct pool_job *));
struct item *item_of_job(struct pool_job *job);
/* The end of an item: counted, reported, freed. */
void item_over(struct item *item, enum sw_moved_how how);
void item_fail(struct item *item, const struct sw_error *err);
void item_count(struct item *item, int64_t bytes);           /* moved; below 0: in vain */
void item_resize(struct item *item, int64_t size);           /* the announced size was wrong */
bool item_has_units(struct item *item);                      /* left to hand out */
void item_open(struct item *item);           /* it has units to hand out from now on */
void item_close(struct item *item);

/* ---- a copy ------------------------------------------------------------------------------------- */

/* What lies at a remote destination, without names: 48 bytes per object. */
struct there {
    uint64_t hash;
    int64_t size, mtime_ms;
    char etag[48];                           /* longer ones are cut: they never match */
};

struct copy {
    struct sw_transfer_client *client;
    const struct sw_copy_rules *rules;
    struct side from, to;
    struct sw_copy_report report;
    struct sw_copy_progress progress;
    struct concurrency concurrency;
    struct rate rate;
    int load, large_load;                    /* requests and jobs under way */
    struct transfer_request *waiting;                  /* by due_ms */
    struct item *queue, **queue_end;
    size_t queued;
    struct item *open[OPEN_MOST + JOBS_MOST];    /* ... and those that were being opened then */
    size_t open_count;
    struct item *all;                        /* every item there is */
    size_t items;                            /* not over yet */
    struct transfer_request *requests;                  /* every request there is */
    void (*begin)(struct item *item);        /* what is done to each item */
    void (*unit)(struct item *item);         /* hand out its next unit */
    bool single;                             /* one file; the bases are its names */
    char *name;                              /* of that one file */
    bool from_was_bare;                      /* "s3://b/p": a prefix, but maybe an object */
    struct walker *walker;
    enum walker_links links;
    int from_fd;                             /* the folder of a local source; -1: none */
    struct transfer_request *list, *held_list;         /* the listing; held while the queue is full */
    bool any_listed;
    bool listing, fresh;                     /* fresh: nothing can be at the destination yet */
    struct there *there;
    size_t there_count, there_room;
    uint64_t *names;                         /* of the source, for remove_extra */
    size_t name_count, name_room;
    bool stop;
    struct sw_error first;                   /* the first failure */
    int64_t begun_ms, told_ms;
    char *spool;                             /* folder for what passes through; NULL: none yet */
};

static inline struct item *item_of(struct transfer_request *request) { return request->item; }

uint64_t name_hash(const char *name);
void copy_add(struct copy *copy, struct item *item);        /* takes it; filters were applied */
bool copy_wants(const struct copy *copy, const char *name);
const struct there *copy_there(const struct copy *copy, const char *name);
void copy_name(struct copy *copy);
void copy_into(struct copy *copy);
void copy_fail(struct copy *copy, const struct sw_error *err);
int copy_loop(struct copy *copy, struct sw_error *err);     /* until nothing is left to do */

/* transfer_list.c */
int list_begin(struct copy *copy, struct sw_error *err);
int list_there(struct copy *copy, struct sw_error *err);
void list_pump(struct copy *copy);
int list_extra(struct copy *copy, struct sw_error *err);

/* What is done to an item. */
void get_begin(struct item *item);
void get_unit(struct item *item);            /* hand out the next unit */
void put_begin(struct item *item);
void put_unit(struct item *item);
void put_abort(struct item *item);
void put_parts(struct item *item);

/* transfer_put.c, for transfer_parts.c. */
bool put_changed(const struct item *item, int fd);           /* the file is not what it was */
void put_restart(struct item *item);
void put_end(struct item *item);
void put_again(struct transfer_request *request);
int prove_file(struct proof *proof, int fd, int64_t offset, int64_t length, struct sw_error *err);
void proof_attach(struct sw_operation *op, const struct proof *proof);
void move_remote(struct item *item);         /* the server copies */
void move_remote_unit(struct item *item);
void move_local(struct item *item);
void move_relay(struct item *item);          /* here, then there */
void move_relay_unit(struct item *item);
void move_remove(struct item *item);

/* transfer_open.c; for pool jobs. */
int source_open(struct item *item, const char *path, struct stat *info, struct sw_error *err);
enum item_found link_make(struct item *item);        /* in a local tree; says why in item->err */

/* transfer_same.c; both may read files: for pool jobs. */
enum item_found same_as_local(const char *path, const struct sw_object *object, bool checksum);
int file_digest(int fd, int64_t offset, int64_t length, enum sw_digest_algorithm algorithm,
                char out[SW_DIGEST_HEX], struct sw_error *err);
/* Does the file have the digest? kinds we cannot compute are 1. -1: it could not be read. */
int file_matches(int fd, int64_t size, enum sw_digest_kind kind, const char *digest,
                 struct sw_error *err);
bool etag_is_md5(const char *etag);

#endif
