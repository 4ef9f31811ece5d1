/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.h - copy objects and trees between any two storages, as fast as they go, in bounded
 * memory, and never leave a half or mixed file under its final name.
 *
 *     sw_auto(sw_transfer_client) struct sw_transfer_client *client = sw_transfer_open(NULL, err);
 *     sw_transfer_copy(client, "s3://bucket/coco/", "/data/coco", NULL, &report, err);
 *
 * A client keeps connections, credentials and what it learnt about servers between copies. It belongs
 * to one thread at a time. Environment: AWS_..., ACCESS_KEY, ... see docs/use/storage.md.
 * docs/internals/transfer-engine.md tells how it works.
 */
#ifndef SW_STORAGE_TRANSFER_H
#define SW_STORAGE_TRANSFER_H

#include "storage/storage.h"

struct sw_transfer_options {
    struct sw_http_options http;
    struct sw_storage_options storage;
    int jobs;                    /* requests at once at most; 0: found by measuring, up to 64 */
    const char *state_dir;       /* where uploads in parts are remembered, borrowed; NULL: nowhere */
};

struct sw_transfer_client;
struct sw_transfer_client *sw_transfer_open(const struct sw_transfer_options *options, struct sw_error *err);
void sw_transfer_close(struct sw_transfer_client *client);
SW_DEFINE_AUTO(sw_transfer_client, struct sw_transfer_client *, sw_transfer_close)

/* One file that arrived, was found identical, was removed, failed or was left out. Non-zero stops the
 * copy. */
enum sw_moved_how {
    SW_MOVED_COPIED, SW_MOVED_SAME, SW_MOVED_REMOVED, SW_MOVED_FAILED,
    SW_MOVED_LEFT_OUT,           /* a link that leads out of the tree, a pipe, ...: `why` tells */
};
typedef int sw_moved_fn(void *context, enum sw_moved_how how, const char *relative,
                        const struct sw_object *object, const struct sw_error *why);

struct sw_copy_rules {
    bool recursive;              /* `from` is a tree: a folder, a prefix, a repository */
    bool into;                   /* single file: `to` is a folder to put it in */
    bool force;                  /* copy also what is identical */
    bool checksum;               /* read and compare contents wherever a digest is known */
    bool remove_extra;           /* remove from `to` what is not in `from` (and is not excluded) */
    bool dry_run;                /* tell with moved() what would happen; change nothing */
    bool follow_links;           /* of a local tree: also those that lead out of it */
    bool flush;                  /* fsync what was written before it gets its name */
    const char *const *include;  /* patterns over relative names; none: all */
    size_t include_count;
    const char *const *exclude;  /* wins over include */
    size_t exclude_count;
    const char *const *only;     /* exactly these relative names, no listing; missing is an error */
    size_t only_count;
    int64_t settle_ms;           /* from a local folder: leave out what changed this recently */
    int64_t deadline_ms;         /* monotonic clock; 0: none */
    int (*progress)(void *context, const struct sw_copy_progress *progress);   /* non-zero cancels */
    sw_moved_fn *moved;
    void *context;               /* of progress and moved */
};

struct sw_copy_report {
    int64_t files, bytes;        /* copied */
    int64_t same;                /* found identical and left alone */
    int64_t removed, failed;
    int64_t left_out;            /* of a local tree: links that lead out, pipes, sockets, devices */
    int64_t elapsed_ms;
};

/* Links of a local tree stay links when it is copied on this machine, and stand for the file they lead
 * to when it goes elsewhere. One that leads out of the tree is never followed: docs/use/storage.md.
 *
 * Goes on after a file that fails; the first failure is in *err at the end and the result is -1.
 * Cancelled by progress(): SW_E_INTERRUPTED, uploads begun are aborted, partial files stay for the
 * next time. `rules` and `report` may be NULL. */
int sw_transfer_copy(struct sw_transfer_client *client, const char *from, const char *to,
                     const struct sw_copy_rules *rules, struct sw_copy_report *report,
                     struct sw_error *err);

/* What is there? kind NONE when nothing is (that is success). A prefix with content is a FOLDER.
 * `out` is the caller's to release with sw_object_done(). */
int sw_transfer_stat(struct sw_transfer_client *client, const char *uri, struct sw_object *out,
                     struct sw_error *err);
/* Names are relative to `uri`. */
int sw_transfer_list(struct sw_transfer_client *client, const char *uri, bool recursive, sw_found_fn *found,
                     void *context, struct sw_error *err);
/* One file. */
int sw_transfer_delete(struct sw_transfer_client *client, const char *uri, struct sw_error *err);

/* May it be written? An upload in parts is begun and given up, where the storage has such: that needs the
 * right to write and no other, and nothing appears. */
int sw_transfer_probe(struct sw_transfer_client *client, const char *uri, struct sw_error *err);

/* A small object, from memory. */
int sw_transfer_put_bytes(struct sw_transfer_client *client, const char *uri, const void *bytes,
                          size_t length, struct sw_error *err);

#endif
