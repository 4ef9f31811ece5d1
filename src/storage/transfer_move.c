/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_move.c - items that stay on their side (a server copies inside itself, a file is copied
 * on this machine), items that only pass through here, and removals.
 */
#include "storage/transfer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

/* ---- inside a server ------------------------------------------------------------------------------ */

static void copied(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    if (step == SW_STEP_DONE) {
        item_count(item, item->object.size);
        item_over(item, SW_MOVED_COPIED);
    } else {
        struct sw_error why = *err;

        if (step == SW_STEP_CHANGED)
            sw_fail(&why, SW_E_CONFLICT, "'%s' changed while it was copied", item->name);
        item_fail(item, &why);
    }
    request_free(request);
}

static void move_over(struct transfer_request *request, enum sw_step step, const struct sw_error *err);

static void end_parts(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request;

    if (item->flying || (!item->failed && item->units_over < item->unit_count))
        return;
    item_close(item);
    if (item->failed) {
        item->found = FOUND_FAILED;
        put_abort(item);
        return;
    }
    request = request_new(copy, SW_OP_COMPLETE, copy->to.root, item->key, item);
    request->op.upload = item->upload;
    request->op.part_etags = item->etags;
    request->op.part_count = (int)item->unit_count;
    request->over = move_over;
    request_start(request);
}

/* The three kinds of operation that make up a copy in parts. */
static void move_over(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;
    enum sw_operation_kind kind = request->op.kind;

    item->flying -= kind == SW_OP_PART_COPY;
    if (step != SW_STEP_DONE) {
        if (!item->failed)
            *item->err = *err;
        item->failed = true;
        item->found = FOUND_FAILED;
    } else if (kind == SW_OP_BEGIN) {
        item->upload = sw_take(request->op.upload_made);
    } else if (kind == SW_OP_PART_COPY) {
        item->etags[request->unit] = sw_take(request->op.object.etag);
        item->units_over++;
        item_count(item, request->op.length);
    }
    request_free(request);
    if (kind == SW_OP_PART_COPY)
        end_parts(item);
    else if (kind == SW_OP_BEGIN && !item->failed)
        item_open(item);
    else if (kind == SW_OP_BEGIN)
        item_fail(item, item->err);
    else if (item->failed)
        put_abort(item);
    else {
        free(sw_take(item->upload));
        item_over(item, SW_MOVED_COPIED);
    }
}

void move_remote_unit(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_PART_COPY, copy->to.root, item->key, item);

    request->unit = item->unit_next++;
    request->op.from_root = copy->from.root;
    request->op.from_key = item->from_key;
    request->op.if_match = item->object.etag;
    request->op.upload = item->upload;
    request->op.part = (int)request->unit + 1;
    request->op.offset = (int64_t)request->unit * item->unit;
    request->op.length = item->object.size - request->op.offset;
    request->op.length = request->op.length < item->unit ? request->op.length : item->unit;
    request->over = move_over;
    request->unit_of_item = true;
    item->flying++;
    request_start(request);
}

/* A copy of an object that was uploaded in parts has another ETag, but is younger. */
static bool same_remote(const struct item *item)
{
    const struct there *there = copy_there(item->copy, item->name);

    if (!there || item->copy->rules->force || there->size != item->object.size)
        return false;
    if (sw_text_same(there->etag, item->object.etag))
        return true;
    return !item->copy->rules->checksum && !etag_is_md5(item->object.etag) &&
           item->object.mtime_ms && there->mtime_ms >= item->object.mtime_ms;
}

static void move_start(struct item *item)
{
    struct copy *copy = item->copy;
    bool parts = item->object.size > COPY_UNIT;
    bool folder = sw_text_ends(item->key, "/");      /* made anew: not every server copies those */
    enum sw_operation_kind kind = parts ? SW_OP_BEGIN : folder ? SW_OP_PUT : SW_OP_COPY;
    struct transfer_request *request = request_new(copy, kind, copy->to.root, item->key, item);

    if (folder) {
        request->op.mtime_ms = item->object.mtime_ms;
    } else if (parts) {
        item->unit = COPY_UNIT;
        while (item->object.size / item->unit >= copy->to.storage->part_most)
            item->unit *= 2;
        item->unit_count = (size_t)((item->object.size - 1) / item->unit + 1);
        item->etags = sw_alloc(item->unit_count * sizeof *item->etags);
        request->op.mtime_ms = item->object.mtime_ms;
    } else {
        request->op.from_root = copy->from.root;
        request->op.from_key = item->from_key;
        request->op.if_match = item->object.etag;
    }
    request->over = parts ? move_over : copied;
    request_start(request);
}

static void move_asked(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    if (step == SW_STEP_DONE) {
        char *name = sw_take(item->object.name);

        item_resize(item, request->op.object.size);
        sw_object_done(&item->object);
        item->object = request->op.object;
        request->op.object = (struct sw_object){ .size = -1 };
        free(item->object.name);
        item->object.name = name;
        item->asked = true;
        move_remote(item);
    } else {
        item_fail(item, err);
    }
    request_free(request);
}

void move_remote(struct item *item)
{
    if (item->object.size < 0 && !item->asked) {
        struct transfer_request *request = request_new(item->copy, SW_OP_STAT, item->copy->from.root,
                                                       item->from_key, item);

        request->over = move_asked;
        request_start(request);
    } else if (same_remote(item)) {
        item_over(item, SW_MOVED_SAME);
    } else if (item->copy->rules->dry_run) {
        item_over(item, SW_MOVED_COPIED);
    } else {
        move_start(item);
    }
}

/* ---- through here ---------------------------------------------------------------------------------- */

/* Fetched into a folder of our own, then sent from there; item_over() removes the file. */
void move_relay(struct item *item)
{
    const struct there *there = copy_there(item->copy, item->name);
    bool same = there && !item->copy->rules->force && there->size == item->object.size &&
                item->object.digest_kind == SW_DIGEST_MD5 && !strcmp(there->etag, item->object.digest);

    if (same) {
        item_over(item, SW_MOVED_SAME);
        return;
    }
    if (item->copy->rules->dry_run) {
        item_over(item, SW_MOVED_COPIED);
        return;
    }
    if (!item->copy->spool) {
        const char *folder = getenv("TMPDIR");

        item->copy->spool = sw_format("%s/slipway-XXXXXX", sw_text_empty(folder) ? "/tmp" : folder);
        if (!mkdtemp(item->copy->spool)) {
            sw_fail_errno(item->err, SW_E_IO, "cannot create a folder in '%s'", item->copy->spool);
            free(sw_take(item->copy->spool));
            item_fail(item, item->err);
            return;
        }
    }
    item->path = sw_format("%s/%p", item->copy->spool, (void *)item);
    item->relayed = true;
    get_begin(item);
}

/* ---- on this machine ------------------------------------------------------------------------------- */

static int copy_bytes(int from, int to, struct sw_error *err)
{
    bool in_kernel = true;
    sw_autofree char *buffer = NULL;

    for (;;) {
        ssize_t got = in_kernel ? copy_file_range(from, NULL, to, NULL, 1 << 30, 0)
                                : read(from, buffer, 1 << 17);

        if (got == 0)
            return 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && in_kernel && errno != ENOSPC && errno != EDQUOT && errno != EIO) {
            in_kernel = false;
            buffer = sw_alloc(1 << 17);
            continue;
        }
        if (got < 0 || (!in_kernel && sw_write_all(to, buffer, (size_t)got) < 0))
            return sw_fail_errno(err, SW_E_IO, "cannot copy the file");
    }
}

static int copy_file(struct item *item, const char *from)
{
    struct stat before, after;
    sw_autofd int fd = source_open(item, from, &before, item->err);

    if (fd < 0)
        return -1;
    if (partial_open(&item->partial, item->path, NULL, -1, GET_UNIT, item->err) < 0)
        return -1;
    if (copy_bytes(fd, item->partial.fd, item->err) < 0)
        return sw_wrap(item->err, "cannot copy '%s'", from);
    if (fstat(fd, &after) < 0 || after.st_size != before.st_size ||
        after.st_mtim.tv_nsec != before.st_mtim.tv_nsec ||
        after.st_mtim.tv_sec != before.st_mtim.tv_sec)
        return sw_fail(item->err, SW_E_CONFLICT, "'%s' changed while it was copied", from);
    (void)!fchmod(item->partial.fd, before.st_mode & 0777);
    return partial_land(&item->partial, item->object.mtime_ms, item->copy->rules->flush, item->err);
}

static void local_work(struct pool_job *job)
{
    struct item *item = item_of_job(job);
    const struct sw_copy_rules *rules = item->copy->rules;
    const char *from = item->from_key;
    struct stat there;

    item->found = FOUND_FAILED;
    if (sw_text_ends(item->name, "/")) {
        item->found = rules->dry_run || sw_mkdirs(item->path, 0777, item->err) == 0 ? FOUND_SAME
                                                                                     : FOUND_FAILED;
        return;
    }
    if (item->target) {
        item->found = rules->dry_run ? FOUND_NEW : link_make(item);
        return;
    }
    if (!rules->force && !rules->checksum && !(lstat(item->path, &there) == 0 && S_ISLNK(there.st_mode)) &&
        same_as_local(item->path, &item->object, false) == FOUND_SAME) {
        item->found = FOUND_SAME;
        return;
    }
    if (rules->dry_run || copy_file(item, from) == 0)
        item->found = FOUND_NEW;
}

static void local_done(struct pool_job *job)
{
    struct item *item = item_of_job(job);

    partial_done(&item->partial, false);
    if (item->found == FOUND_FAILED) {
        item_fail(item, item->err);
    } else {
        if (item->found == FOUND_NEW && !item->target)
            item_count(item, item->object.size);
        item_over(item, item->found == FOUND_SAME ? SW_MOVED_SAME : SW_MOVED_COPIED);
    }
}

void move_local(struct item *item)
{
    item_job(item, POOL_USUAL, local_work, local_done);
}

/* ---- through here: the unit of whichever half is under way ------------------------------------------- */

void move_relay_unit(struct item *item)
{
    if (item->upload)
        put_unit(item);
    else
        get_unit(item);
}

/* ---- removals ---------------------------------------------------------------------------------------- */

static void removed(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    if (step == SW_STEP_DONE)
        item_over(item, SW_MOVED_REMOVED);
    else
        item_fail(item, err);
    request_free(request);
}

void move_remove(struct item *item)
{
    struct transfer_request *request;

    if (item->copy->rules->dry_run) {
        item_over(item, SW_MOVED_REMOVED);
        return;
    }
    if (item->copy->to.storage->local) {
        if (unlink(item->path) == 0 || errno == ENOENT) {
            item_over(item, SW_MOVED_REMOVED);
            return;
        }
        sw_fail_errno(item->err, SW_E_IO, "cannot remove '%s'", item->path);
        item_fail(item, item->err);
        return;
    }
    request = request_new(item->copy, SW_OP_DELETE, item->copy->to.root, item->key, item);
    request->over = removed;
    request_start(request);
}
