/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_parts.c - a large file goes in parts: begun, or gone on with where a killed copy stopped.
 *
 * An upload that does not end well is aborted, so that no halves are stored and paid for. Two endings leave
 * it for the next copy, which finds it by its record: a kill, and a server out of reach, to which an abort
 * would not get through either.
 */
#include "storage/transfer_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

/* ---- in parts -------------------------------------------------------------------------------------- */

static void aborted(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    (void)err;
    free(sw_take(item->upload));
    request_free(request);
    if (step == SW_STEP_DONE)
        upload_record_drop(&item->record);
    else
        upload_record_close(&item->record);
    if (item->found == FOUND_UNSURE)
        put_restart(item);
    else
        item_fail(item, item->err);
}

void put_abort(struct item *item)
{
    struct transfer_request *request = request_new(item->copy, SW_OP_ABORT, item->copy->to.root,
                                                   item->key, item);

    request->op.upload = item->upload;
    request->over = aborted;
    request_start(request);
}

/* It failed. Where the server is only out of reach, the next copy goes on. */
static void give_up(struct item *item)
{
    bool away = item->err->code == SW_E_UNREACHABLE || item->err->code == SW_E_TIMEOUT;

    item->found = FOUND_FAILED;
    if (!away || item->record.fd < 0) {
        put_abort(item);
        return;
    }
    free(sw_take(item->upload));
    sw_hint(item->err, "the same copy continues where it stopped");
    item_fail(item, item->err);
}

static void completed(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    if (step == SW_STEP_DONE) {
        free(sw_take(item->upload));
        free(item->object.etag);
        item->object.etag = sw_take(request->op.object.etag);
        upload_record_drop(&item->record);
        put_end(item);
    } else {
        *item->err = *err;
        give_up(item);
    }
    request_free(request);
}

static void complete(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_COMPLETE, copy->to.root, item->key, item);

    request->op.upload = item->upload;
    request->op.part_etags = item->etags;
    request->op.part_count = (int)item->unit_count;
    request->op.part_crcs = (const char(*)[SW_CRC_HEX])item->crcs;
    request->over = completed;
    request_start(request);
}

static void parts_settled(struct item *item)
{
    if (item->flying || (!item->failed && item->units_over < item->unit_count))
        return;
    item_close(item);
    if (item->fd >= 0 && put_changed(item, item->fd)) {
        item->found = FOUND_UNSURE;
        put_abort(item);
    } else if (item->failed) {
        give_up(item);
    } else {
        complete(item);
    }
}

static void part_over(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    item->flying--;
    if (step == SW_STEP_DONE && request->op.object.etag) {
        item->etags[request->unit] = sw_take(request->op.object.etag);
        upload_record_part(&item->record, request->unit, item->etags[request->unit],
                           item->crcs ? item->crcs[request->unit] : NULL);
        item->units_over++;
        item_count(item, request->op.size > 0 ? request->op.size : request->op.length);
    } else if (!item->failed) {
        item->failed = true;
        if (step == SW_STEP_DONE)
            sw_fail(item->err, SW_E_REFUSED, "the server gave a part of '%s' no ETag", item->name);
        else
            *item->err = *err;
    }
    request_free(request);
    parts_settled(item);
}

static struct transfer_request *request_of_job(struct pool_job *job)
{
    return (struct transfer_request *)((char *)job - offsetof(struct transfer_request, job));
}

static void hash_part(struct pool_job *job)
{
    struct transfer_request *request = request_of_job(job);

    prove_file(&request->proof, request->item->fd, request->body_offset, request->op.size,
               &request->refusal);
}

static void hashed_part(struct pool_job *job)
{
    struct transfer_request *request = request_of_job(job);

    request->copy->load--;
    request->copy->large_load--;
    request->in_job = false;
    if (request->copy->stop) {
        request->item->flying--;
        request_free(request);
        return;
    }
    if (request->refusal.code) {
        part_over(request, SW_STEP_FAILED, &request->refusal);
        return;
    }
    if (request->item->crcs)
        memcpy(request->item->crcs[request->unit], request->proof.hex, SW_CRC_HEX);
    proof_attach(&request->op, &request->proof);
    request_start(request);
}

void put_unit(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_PART, copy->to.root, item->key, item);
    int64_t begin = (int64_t)item->unit_next * item->unit;

    request->unit = item->unit_next++;
    request->op.upload = item->upload;
    request->op.part = (int)request->unit + 1;
    request->op.size = item->object.size - begin < item->unit ? item->object.size - begin : item->unit;
    request->body_fd = item->fd;
    request->body_offset = begin;
    request->large = true;
    request->again = put_again;
    request->over = part_over;
    request->unit_of_item = true;
    item->flying++;
    request->proof.kind = item->proof.kind;
    if (item->proof.kind == SW_DIGEST_NONE || (item->proof.kind == SW_DIGEST_CRC32C && !item->crcs)) {
        posix_fadvise(item->fd, begin, request->op.size, POSIX_FADV_WILLNEED);
        request_start(request);
        return;
    }
    copy->load++;
    copy->large_load++;
    request->in_job = true;
    request->job.weight = POOL_HEAVY;
    request->job.work = hash_part;
    request->job.done = hashed_part;
    pool_run(copy->client->pool, &request->job);
}

static void begun(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    if (step == SW_STEP_DONE) {
        item->upload = sw_take(request->op.upload_made);
        if (request->op.parts_checked)
            item->crcs = sw_alloc(item->unit_count * sizeof *item->crcs);
        upload_record_begin(&item->record, item->upload, item->identity, item->unit,
                            request->op.parts_checked);
        item_open(item);
    } else {
        item_fail(item, err);
    }
    request_free(request);
}

/* Every part costs the server a file and its flush, so few are better than many; but enough of them
 * to fill the line, and never more than the storage allows. */
static int64_t part_size(int64_t size, int most)
{
    int64_t mib = 1024 * 1024, part = size / PUT_PARTS;

    part = part < PUT_UNIT ? PUT_UNIT : part > PUT_LARGE ? PUT_LARGE : part;
    if (part < (size + most - 1) / most)
        part = (size + most - 1) / most;
    return (part + mib - 1) / mib * mib;
}

static void begin_upload(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_BEGIN, copy->to.root, item->key, item);

    request->op.mtime_ms = item->object.mtime_ms;
    request->op.check_parts = item->proof.kind == SW_DIGEST_CRC32C;
    request->over = begun;
    request_start(request);
}

/* ---- going on ---------------------------------------------------------------------------------------- */

/* A part that the server has, as it told us when we sent it. */
static int found_part(void *context, struct sw_object *object)
{
    struct item *item = context;
    size_t index = (size_t)strtoul(object->name, NULL, 10) - 1;
    int64_t left = item->object.size - (int64_t)index * item->unit;
    const struct upload_part *sent = index < item->unit_count ? &item->record.parts[index] : NULL;

    if (!sent || item->etags[index] || !sw_text_same(sent->etag, object->etag) ||
        object->size != (left < item->unit ? left : item->unit) ||
        (item->crcs && strlen(sent->crc) != SW_CRC_HEX - 1))
        return 0;
    item->etags[index] = sw_strdup(sent->etag);
    if (item->crcs)
        memcpy(item->crcs[index], sent->crc, SW_CRC_HEX);
    item->units_over++;
    item_count(item, object->size);
    return 0;
}

static void parts_told(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    if (step == SW_STEP_DONE) {
        item_open(item);
        parts_settled(item);
    } else if (err->code == SW_E_NOT_FOUND) {
        free(sw_take(item->upload));         /* another client gave it up meanwhile */
        free(sw_take(item->crcs));
        begin_upload(item);
    } else {
        free(sw_take(item->upload));
        item_fail(item, err);
    }
    request_free(request);
}

static void go_on(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_PARTS, copy->to.root, item->key, item);

    item->upload = sw_take(item->record.upload);
    if (item->record.checked)
        item->crcs = sw_alloc(item->unit_count * sizeof *item->crcs);
    request->op.upload = item->upload;
    request->op.found = found_part;
    request->op.found_context = item;
    request->over = parts_told;
    request_start(request);
}

/* What was begun with an earlier state of the file is of no use to anybody. */
static void stale_aborted(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    (void)step;
    (void)err;
    request_free(request);
    begin_upload(item);
}

static void abort_stale(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_ABORT, copy->to.root, item->key, item);

    request->op.upload = item->record.stale;
    request->over = stale_aborted;
    request_start(request);
}

static void record_work(struct pool_job *job)
{
    struct item *item = item_of_job(job);
    const char *state = item->copy->client->options.state_dir;
    sw_autofree char *folder = state && !item->relayed ? sw_path_join(state, "uploads") : NULL;
    sw_autofree char *from = sw_path_absolute(item->path, NULL);
    sw_autofree char *to = sw_format("%s/%s", ((struct sw_root_head *)item->copy->to.root)->uri,
                                     item->key);
    struct stat info = { 0 };

    (void)!fstat(item->fd, &info);
    snprintf(item->identity, sizeof item->identity, "%llx:%llx:%lld:%lld.%09ld:%lld.%09ld",
             (unsigned long long)info.st_dev, (unsigned long long)info.st_ino,
             (long long)info.st_size, (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
             (long long)info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
    upload_record_open(&item->record, folder, from, to, item->identity, item->unit,
                       item->unit_count);
}

static void recorded(struct pool_job *job)
{
    struct item *item = item_of_job(job);

    if (item->copy->stop)
        item_fail(item, &item->copy->first);
    else if (item->record.upload && item->copy->to.storage->can & SW_CAN(SW_OP_PARTS))
        go_on(item);
    else if (item->record.stale)
        abort_stale(item);
    else
        begin_upload(item);
}

void put_parts(struct item *item)
{
    item_drop_etags(item);                   /* of an upload that was given up */
    upload_record_close(&item->record);
    item->unit = part_size(item->object.size, item->copy->to.storage->part_most);
    item->unit_count = (size_t)((item->object.size - 1) / item->unit + 1);
    item->unit_next = item->units_over = 0;
    item->etags = sw_alloc(item->unit_count * sizeof *item->etags);
    item_job(item, POOL_USUAL, record_work, recorded);
}
