/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_put.c - an item goes there: opened, compared, sent in one request (transfer_parts.c: in
 * parts).
 *
 * A job opens the file and computes what the signature needs, which also brings the bytes into the
 * page cache: the network loop then reads without stalling. A file that changed while it was sent is
 * sent again.
 */
#include "storage/transfer_internal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"

static int64_t ns(struct timespec at)
{
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

bool put_changed(const struct item *item, int fd)
{
    struct stat now;

    return fstat(fd, &now) < 0 || now.st_size != item->object.size ||
           ns(now.st_mtim) != item->put_mtime_ns;
}

/* After it was sent. A small file was read at one instant and is let go; only one that was caught
 * changing before is looked at again. */
static bool changed_meanwhile(const struct item *item)
{
    struct stat now;

    if (item->fd >= 0)
        return put_changed(item, item->fd);
    return item->restarts && !item->relayed &&
           (stat(item->path, &now) < 0 || ns(now.st_mtim) != item->put_mtime_ns);
}

/* ---- the proof of a body --------------------------------------------------------------------------- */

static enum sw_digest_kind proof_wanted(const struct copy *copy)
{
    return copy->to.storage->body_digest ? copy->to.storage->body_digest(copy->to.root)
                                         : SW_DIGEST_NONE;
}

static enum sw_digest_algorithm algorithm_of(const struct proof *proof)
{
    return proof->kind == SW_DIGEST_SHA256 ? SW_SHA256 : SW_CRC32C;
}

/* The kind was settled when the item began: the loop may learn better meanwhile. */
int prove_file(struct proof *proof, int fd, int64_t offset, int64_t length,
                      struct sw_error *err)
{
    if (proof->kind == SW_DIGEST_NONE)
        return 0;
    return file_digest(fd, offset, length, algorithm_of(proof), proof->hex, err);
}

static void prove_bytes(struct proof *proof, const void *bytes, size_t length)
{
    struct sw_digest digest;

    if (proof->kind == SW_DIGEST_NONE)
        return;
    sw_digest_init(&digest, algorithm_of(proof));
    sw_digest_add(&digest, bytes, length);
    sw_digest_end_hex(&digest, proof->hex);
}

void proof_attach(struct sw_operation *op, const struct proof *proof)
{
    if (proof->hex[0] && proof->kind == SW_DIGEST_SHA256)
        op->body_sha256 = proof->hex;
    else if (proof->hex[0])
        op->body_crc32c = proof->hex;
}

/* ---- the job that opens -------------------------------------------------------------------------- */

static int read_small(struct item *item, int fd)
{
    size_t have = 0, size = (size_t)item->object.size;

    if (!item->buffer)
        item->buffer = sw_alloc(SMALL_MAX);
    while (have < size) {
        ssize_t got = pread(fd, item->buffer + have, size - have, (off_t)have);

        if (got < 0)
            return sw_fail_errno(item->err, SW_E_IO, "cannot read '%s'", item->path);
        if (got == 0)
            break;
        have += (size_t)got;
    }
    if (have < size || put_changed(item, fd))
        return sw_fail(item->err, SW_E_CONFLICT, "'%s' changed while it was read", item->path);
    prove_bytes(&item->proof, item->buffer, size);
    return 0;
}

/* What lies there already; -1: it has to be asked. */
static enum item_found same_there(struct item *item, int fd)
{
    const struct there *there = copy_there(item->copy, item->name);
    bool checksum = item->copy->rules->checksum;

    if (item->copy->rules->force || !there || there->size != item->object.size)
        return FOUND_NEW;
    if (there->size == 0)
        return FOUND_SAME;
    if (etag_is_md5(there->etag) && (there->size <= MD5_CHEAP || checksum))
        return file_matches(fd, there->size, SW_DIGEST_MD5, there->etag, NULL) == 1 ? FOUND_SAME
                                                                                    : FOUND_NEW;
    return checksum ? FOUND_NEW : FOUND_UNSURE;
}

static int open_file(struct item *item)
{
    struct stat info;

    item->fd = source_open(item, item->path, &info, item->err);
    if (item->fd < 0)
        return -1;
    item->object.size = info.st_size;
    item->object.mtime_ms = ns(info.st_mtim) / 1000000;
    item->put_mtime_ns = ns(info.st_mtim);
    return 0;
}

static void put_work(struct pool_job *job)
{
    struct item *item = item_of_job(job);
    bool folder = sw_text_ends(item->name, "/") && !item->relayed;

    item->found = FOUND_FAILED;
    if (folder) {
        item->found = copy_there(item->copy, item->name) ? FOUND_SAME : FOUND_NEW;
        return;
    }
    if (open_file(item) < 0)
        return;
    item->found = item->asked ? FOUND_NEW : same_there(item, item->fd);
    if (item->found != FOUND_NEW || item->copy->rules->dry_run)
        return;
    if (item->object.size <= SMALL_MAX) {
        if (read_small(item, item->fd) < 0)
            item->found = FOUND_FAILED;
        close(sw_take_fd(item->fd));
    } else if (item->object.size <= PUT_UNIT &&
               prove_file(&item->proof, item->fd, 0, item->object.size, item->err) < 0) {
        item->found = FOUND_FAILED;
    }
}

/* ---- again, or the end ---------------------------------------------------------------------------- */

static void put_release(struct item *item)
{
    if (item->fd >= 0)
        close(sw_take_fd(item->fd));
    item_drop_buffer(item);
}

void put_restart(struct item *item)
{
    put_release(item);
    item_count(item, -item->counted);
    if (++item->restarts > RESTARTS_MOST) {
        sw_fail(item->err, SW_E_CONFLICT, "'%s' keeps changing while it is sent", item->path);
        item_fail(item, item->err);
        return;
    }
    item->failed = false;
    item->asked = true;                  /* whatever lies there now is not this */
    put_begin(item);
}

void put_end(struct item *item)
{
    put_release(item);
    item_over(item, SW_MOVED_COPIED);
}

/* A digest that the server does not find is ours to explain: another try would end the same. */
void put_again(struct transfer_request *request)
{
    if (request->body_fd >= 0 && put_changed(request->item, request->body_fd))
        sw_fail(&request->refusal, SW_E_CONFLICT, "'%s' changed while it was sent",
                request->item->path);
}

/* ---- one request -------------------------------------------------------------------------------- */

static void put_single_over(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    if (changed_meanwhile(item)) {
        put_restart(item);
    } else if (step != SW_STEP_DONE) {
        item_fail(item, err);
    } else {
        free(item->object.etag);
        item->object.etag = sw_take(request->op.object.etag);
        item_count(item, item->object.size);
        put_end(item);
    }
    request_free(request);
}

static void put_single(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_PUT, copy->to.root, item->key, item);

    request->op.size = item->object.size;
    request->op.mtime_ms = item->object.mtime_ms;
    proof_attach(&request->op, &item->proof);
    request->body = item->buffer;
    request->body_fd = item->fd;
    request->large = item->object.size > 1024 * 1024;
    request->again = put_again;
    request->over = put_single_over;
    request_start(request);
}

/* ---- beginning ------------------------------------------------------------------------------------- */

static void put_start(struct item *item)
{
    const struct sw_storage *storage = item->copy->to.storage;

    if (item->object.size > PUT_UNIT && storage->part_least)
        put_parts(item);
    else
        put_single(item);
}

/* The destination keeps the time it was sent with: equal times and sizes are the same file. */
static void told(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;
    int64_t kept = request->op.object.mtime_ms;

    (void)err;
    request_free(request);
    item->asked = true;
    if (step == SW_STEP_DONE && kept == item->object.mtime_ms) {
        put_release(item);
        item_over(item, SW_MOVED_SAME);
    } else if (item->copy->rules->dry_run) {
        item_over(item, SW_MOVED_COPIED);
    } else {
        put_release(item);
        put_begin(item);
    }
}

static void put_ask(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_STAT, copy->to.root, item->key, item);

    request->over = told;
    request_start(request);
}

static void put_ready(struct pool_job *job)
{
    struct item *item = item_of_job(job);
    bool moving = item->err->code == SW_E_CONFLICT && item->found == FOUND_FAILED;

    if (moving)
        put_restart(item);
    else if (item->found == FOUND_FAILED)
        item_fail(item, item->err);
    else if (item->found == FOUND_SAME)
        item_over(item, SW_MOVED_SAME);
    else if (item->found == FOUND_UNSURE)
        put_ask(item);
    else if (item->copy->rules->dry_run)
        item_over(item, SW_MOVED_COPIED);
    else {
        item_resize(item, item->object.size);
        put_start(item);
    }
}

void put_begin(struct item *item)
{
    item->err->code = SW_OK;
    item->proof = (struct proof){ .kind = proof_wanted(item->copy) };
    if (item->object.size <= SMALL_MAX && !item->buffer)     /* what came to be sent on has one */
        item_take_buffer(item);
    item_job(item, item->object.size <= SMALL_MAX ? POOL_LIGHT : POOL_USUAL, put_work, put_ready);
}
