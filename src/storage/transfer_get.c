/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_get.c - an item comes here: looked for, fetched in one piece or in ranges, verified,
 * named.
 *
 * A small one passes through memory and costs one request and one job. A large one is opened under
 * its hidden name and fetched in ranges of one version (If-Match): a server that has another
 * version by then makes us begin again with the new one, never mix the two.
 */
#include "storage/transfer_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

#define WHOLE (INT64_MAX / 4)        /* a unit that no object fills */

static void get_ask(struct item *item);

/* ---- landing ----------------------------------------------------------------------------------- */

static int64_t expected_digest_limit(const struct item *item)
{
    return item->copy->rules->checksum ? INT64_MAX : MD5_CHEAP;
}

/* 1: as promised, or nothing was promised. */
static int verify(struct item *item, int fd)
{
    const struct sw_object *object = &item->object;

    if (object->digest_kind == SW_DIGEST_MD5 && object->size > expected_digest_limit(item))
        return 1;
    return file_matches(fd, object->size, object->digest_kind, object->digest, item->err);
}

static bool verify_small(const struct item *item)
{
    struct sw_digest digest;
    char hex[SW_DIGEST_HEX];

    sw_digest_init(&digest, item->object.digest_kind == SW_DIGEST_MD5        ? SW_MD5
                            : item->object.digest_kind == SW_DIGEST_GIT_SHA1 ? SW_SHA1
                            : item->object.digest_kind == SW_DIGEST_CRC32C   ? SW_CRC32C
                                                                             : SW_SHA256);
    if (item->object.digest_kind == SW_DIGEST_GIT_SHA1) {
        char head[32];
        int length = snprintf(head, sizeof head, "blob %lld", (long long)item->object.size);

        sw_digest_add(&digest, head, (size_t)length + 1);
    }
    sw_digest_add(&digest, item->buffer, (size_t)item->object.size);
    sw_digest_end_hex(&digest, hex);
    return sw_text_same_nocase(hex, item->object.digest);
}

static void wrong_content(struct item *item)
{
    item->found = FOUND_UNSURE;          /* worth another try */
    sw_fail(item->err, SW_E_CONFLICT, "'%s' did not arrive as it was sent: its digest differs",
            item->name);
}

static void land_small(struct pool_job *job)
{
    struct item *item = item_of_job(job);
    const struct sw_copy_rules *rules = item->copy->rules;

    item->found = FOUND_NEW;
    if (item->object.digest_kind != SW_DIGEST_NONE && !verify_small(item)) {
        wrong_content(item);
        return;
    }
    if (partial_write(item->path, item->buffer, (size_t)item->object.size, item->object.mtime_ms,
                      rules->flush, item->err) < 0)
        item->found = FOUND_FAILED;
}

static void land_large(struct pool_job *job)
{
    struct item *item = item_of_job(job);
    int good = verify(item, item->partial.fd);

    item->found = FOUND_NEW;
    if (good == 0)
        wrong_content(item);
    else if (good < 0 || partial_land(&item->partial, item->object.mtime_ms,
                                      item->copy->rules->flush, item->err) < 0)
        item->found = FOUND_FAILED;
}

/* From the beginning, with whatever version is there now. */
static void get_restart(struct item *item, const struct sw_error *why)
{
    partial_done(&item->partial, false);
    item_drop_buffer(item);
    item_count(item, -item->counted);
    if (++item->restarts > RESTARTS_MOST) {
        item_fail(item, why);
        return;
    }
    item->err->code = SW_OK;
    item->unit_next = item->units_over = 0;
    get_ask(item);
}

static void landed(struct pool_job *job)
{
    struct item *item = item_of_job(job);

    if (item->found == FOUND_FAILED) {
        item_fail(item, item->err);
    } else if (item->found == FOUND_UNSURE) {
        struct sw_error why = *item->err;

        get_restart(item, &why);
    } else {
        partial_done(&item->partial, false);
        if (item->relayed)
            put_begin(item);
        else
            item_over(item, SW_MOVED_COPIED);
    }
}

/* ---- fetching ---------------------------------------------------------------------------------- */

/* What the reply's headers say is truer than a listing of a while ago. */
static void take_facts(struct item *item, struct sw_operation *op)
{
    if (op->object.mtime_ms)
        item->object.mtime_ms = op->object.mtime_ms;
    if (op->object.digest_kind != SW_DIGEST_NONE) {
        item->object.digest_kind = op->object.digest_kind;
        memcpy(item->object.digest, op->object.digest, sizeof item->object.digest);
    }
    if (!item->object.etag)
        item->object.etag = sw_take(op->object.etag);
}

static int refuse_bytes(struct transfer_request *request, enum sw_code code, const char *why)
{
    sw_fail(&request->refusal, code, "%s: %s", request->item->name, why);
    return -1;
}

/* A 206 is believed when it says that it is the range we asked for. */
static bool is_range(const struct sw_operation *op, const struct sw_http_reply *reply)
{
    sw_autofree char *said = sw_http_header(reply, "content-range");
    int64_t first, last, whole;

    return said && sw_http_content_range(said, &first, &last, &whole) && first == op->offset &&
           (op->length < 0 || last - first + 1 == op->length);
}

/* Is this the piece we asked for? */
static int check_piece(struct transfer_request *request, const struct sw_http_reply *reply)
{
    bool ranged = request->op.offset > 0 || request->op.length >= 0;

    if (reply->status == 206 && !(ranged && is_range(&request->op, reply)))
        return refuse_bytes(request, SW_E_UNREACHABLE, "the server sends another range than asked");
    if (ranged && reply->status != 206 &&
        !(reply->status == 200 && request->op.offset == 0 && reply->length == request->op.length)) {
        request->no_ranges = true;
        return refuse_bytes(request, SW_E_UNSUPPORTED, "the server does not send ranges");
    }
    if (ranged && reply->length >= 0 && request->op.length >= 0 &&
        reply->length != request->op.length)
        return refuse_bytes(request, SW_E_UNREACHABLE, "the server sends another range than asked");
    return 0;
}

static void count_bytes(struct item *item, size_t length)
{
    item_count(item, (int64_t)length);
    concurrency_count(&item->copy->concurrency, 0, (int64_t)length);
}

static int sink_small(void *context, const struct sw_http_reply *reply, const char *bytes,
                      size_t length)
{
    struct transfer_request *request = context;
    struct item *item = request->item;

    if (request->got == 0 && check_piece(request, reply) < 0)
        return -1;
    if (request->got + (int64_t)length > item->object.size) {
        item->asked = false;
        return refuse_bytes(request, SW_E_CONFLICT, "larger than announced");
    }
    memcpy(item->buffer + request->got, bytes, length);
    request->got += (int64_t)length;
    count_bytes(item, length);
    return 0;
}

static int sink_large(void *context, const struct sw_http_reply *reply, const char *bytes,
                      size_t length)
{
    struct transfer_request *request = context;
    struct item *item = request->item;
    int64_t at = (int64_t)request->unit * item->unit + request->got;
    int64_t end = item->object.size < 0 ? INT64_MAX : item->object.size;

    if (reply->received == (int64_t)length && check_piece(request, reply) < 0)
        return -1;
    if (item->unit_count > 1 && (int64_t)(request->unit + 1) * item->unit < end)
        end = (int64_t)(request->unit + 1) * item->unit;
    if (at + (int64_t)length > end)
        return refuse_bytes(request, SW_E_CONFLICT, "larger than announced");
    for (size_t done = 0; done < length;) {
        ssize_t wrote = pwrite(item->partial.fd, bytes + done, length - done, at + (int64_t)done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            sw_fail_errno(&request->refusal, SW_E_IO, "cannot write '%s'", item->path);
            return -1;
        }
        done += (size_t)wrote;
    }
    request->got += (int64_t)length;
    count_bytes(item, length);
    return 0;
}

/* The bytes of a try that failed do not count; what is on disk is kept. */
static void small_again(struct transfer_request *request)
{
    item_count(request->item, -request->got);
    request->got = 0;
}

static void large_again(struct transfer_request *request)
{
    struct item *item = request->item;
    int64_t begin = (int64_t)request->unit * item->unit;
    int64_t end = begin + item->unit < item->object.size ? begin + item->unit : item->object.size;

    if (item->object.size < 0 || sw_text_empty(item->object.etag)) {
        small_again(request);             /* no way to be sure that it is still the same */
        return;
    }
    request->op.offset = begin + request->got;
    request->op.length = end - request->op.offset;
}

static void get_small_over(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    item->flying--;
    if (step == SW_STEP_DONE)
        take_facts(item, &request->op);
    if (step == SW_STEP_DONE && request->got == item->object.size) {
        item_job(item, item->copy->rules->flush ? POOL_USUAL : POOL_LIGHT, land_small, landed);
    } else if (step == SW_STEP_CHANGED || step == SW_STEP_DONE ||
               request->refusal.code == SW_E_CONFLICT) {
        struct sw_error why = { 0 };

        sw_fail(&why, SW_E_CONFLICT, "'%s' keeps changing while it is read", item->name);
        get_restart(item, &why);
    } else {
        item_fail(item, err);
    }
    request_free(request);
}

static void get_small(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_GET, copy->from.root, item->from_key, item);

    item_take_buffer(item);
    request->op.if_match = item->object.etag;
    request->op.location = item->object.location;
    request->sink = sink_small;
    request->again = small_again;
    request->over = get_small_over;
    request->unit_of_item = true;
    item->flying++;
    request_start(request);
}

/* ---- units ------------------------------------------------------------------------------------- */

/* All units that were handed out are over: land, begin again, or report. */
static void units_settled(struct item *item)
{
    if (item->flying)
        return;
    if (item->failed) {
        struct sw_error why = *item->err;

        item_close(item);
        if (item->found == FOUND_UNSURE)
            get_restart(item, &why);
        else
            item_fail(item, &why);
    } else if (item->units_over == item->unit_count) {
        item_close(item);
        item_job(item, POOL_HEAVY, land_large, landed);
    }
}

static void unit_failed(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    if (item->failed)
        return;
    item->failed = true;
    item->found = FOUND_FAILED;
    *item->err = *err;
    if (step == SW_STEP_CHANGED || request->refusal.code == SW_E_CONFLICT || request->no_ranges) {
        item->found = FOUND_UNSURE;
        item->unit = request->no_ranges ? WHOLE : item->unit;
        if (!request->no_ranges)
            sw_fail(item->err, SW_E_CONFLICT, "'%s' keeps changing while it is read", item->name);
    }
}

static void get_unit_over(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;
    int64_t begin = (int64_t)request->unit * item->unit;
    int64_t wanted = item->object.size - begin;

    item->flying--;
    wanted = item->unit_count > 1 && wanted > item->unit ? item->unit : wanted;
    if (step == SW_STEP_DONE && item->object.size < 0)
        item->object.size = wanted = request->got;
    if (step == SW_STEP_DONE && request->got == wanted) {
        take_facts(item, &request->op);
        partial_got(&item->partial, request->unit, item->object.etag);
        item->units_over++;
    } else if (step == SW_STEP_DONE) {
        struct sw_error why = { 0 };

        sw_fail(&why, SW_E_UNREACHABLE, "'%s' is shorter than announced", item->name);
        unit_failed(request, SW_STEP_CHANGED, &why);
    } else {
        unit_failed(request, step, err);
    }
    request_free(request);
    units_settled(item);
}

void get_unit(struct item *item)
{
    struct copy *copy = item->copy;
    size_t unit = item->unit_next++;
    struct transfer_request *request = request_new(copy, SW_OP_GET, copy->from.root, item->from_key, item);

    request->unit = unit;
    request->op.if_match = item->object.etag;
    request->op.location = item->object.location;
    if (item->unit_count > 1) {
        request->op.offset = (int64_t)unit * item->unit;
        request->op.length = item->object.size - request->op.offset;
        if (request->op.length > item->unit)
            request->op.length = item->unit;
    }
    request->large = true;
    request->sink = sink_large;
    request->again = large_again;
    request->over = get_unit_over;
    request->unit_of_item = true;
    item->flying++;
    request_start(request);
}

/* ---- beginning --------------------------------------------------------------------------------- */

static void open_work(struct pool_job *job)
{
    struct item *item = item_of_job(job);

    item->found = FOUND_NEW;
    if (partial_open(&item->partial, item->path, item->object.etag, item->object.size, item->unit,
                     item->err) < 0)
        item->found = FOUND_FAILED;
}

static void opened(struct pool_job *job)
{
    struct item *item = item_of_job(job);

    if (item->found == FOUND_FAILED) {
        item_fail(item, item->err);
        return;
    }
    item->failed = false;
    item->unit_count = item->partial.unit_count;
    item->unit_next = item->units_over = 0;
    for (size_t i = 0; i < item->unit_count; i++)       /* what an earlier copy left */
        if (partial_has(&item->partial, i)) {
            int64_t left = item->object.size - (int64_t)i * item->unit;

            item->units_over++;
            item_count(item, left < item->unit ? left : item->unit);
        }
    item_open(item);
    units_settled(item);
}

/* Ranges only of what has a version: without one a change in between would not be seen. */
static void get_start(struct item *item)
{
    if (item->object.size >= 0 && item->object.size <= SMALL_MAX) {
        get_small(item);
        return;
    }
    if (sw_text_empty(item->object.etag) || sw_text_starts(item->object.etag, "W/"))
        item->unit = WHOLE;
    item->unit = item->unit ? item->unit : GET_UNIT;
    item_job(item, POOL_USUAL, open_work, opened);
}

static void asked(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct item *item = request->item;

    if (step != SW_STEP_DONE) {
        item_fail(item, err);
    } else if (request->op.object.kind == SW_OBJECT_FOLDER) {
        struct sw_error why = { 0 };

        sw_fail(&why, SW_E_USAGE, "'%s' is a folder", item->name);
        sw_hint(&why, "copy all below it with -r");
        item_fail(item, &why);
    } else {
        struct sw_object found = request->op.object;
        struct stat info;
        bool unsure = item->found == FOUND_UNSURE && item->restarts == 0;

        request->op.object = (struct sw_object){ .size = -1 };
        item_resize(item, found.size);
        sw_object_done(&item->object);
        item->object = found;
        if (unsure && stat(item->path, &info) == 0 && info.st_size == found.size &&
            found.mtime_ms == (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000)
            item_over(item, SW_MOVED_SAME);
        else if (item->copy->rules->dry_run)
            item_over(item, SW_MOVED_COPIED);
        else
            get_start(item);
    }
    request_free(request);
}

static void get_ask(struct item *item)
{
    struct copy *copy = item->copy;
    struct transfer_request *request = request_new(copy, SW_OP_STAT, copy->from.root, item->from_key, item);

    item->asked = true;
    request->over = asked;
    request_start(request);
}

static void look_work(struct pool_job *job)
{
    struct item *item = item_of_job(job);
    const struct sw_copy_rules *rules = item->copy->rules;

    item->found = FOUND_NEW;
    if (sw_text_ends(item->name, "/")) {
        if (rules->dry_run)
            return;
        if (item->object.size > 0)
            sw_fail(item->err, SW_E_REFUSED, "'%s' has content and the name of a folder",
                    item->name);
        item->found = item->object.size > 0 || sw_mkdirs(item->path, 0777, item->err) < 0
                          ? FOUND_FAILED
                          : FOUND_SAME;
    } else if (!rules->force) {
        item->found = same_as_local(item->path, &item->object, rules->checksum);
    }
}

static void looked(struct pool_job *job)
{
    struct item *item = item_of_job(job);

    if (item->found == FOUND_FAILED)
        item_fail(item, item->err);
    else if (item->found == FOUND_SAME)
        item_over(item, SW_MOVED_SAME);
    else if (item->found == FOUND_UNSURE)
        get_ask(item);
    else if (item->copy->rules->dry_run)
        item_over(item, SW_MOVED_COPIED);
    else if (item->object.size < 0 && !item->asked)
        get_ask(item);
    else
        get_start(item);
}

void get_begin(struct item *item)
{
    bool folder = sw_text_ends(item->name, "/");

    if (item->copy->fresh && !folder && item->object.size >= 0 && !item->copy->rules->dry_run)
        get_start(item);
    else
        item_job(item, item->object.size <= SMALL_MAX ? POOL_LIGHT : POOL_USUAL, look_work, looked);
}
