/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer.c - one copy: the loop that keeps as many requests under way as may be until everything is over.
 *
 * Memory is bounded by counts, not by sizes: so many requests at once, so many names listed ahead,
 * so many large pieces with a buffer. A file that fails is remembered and the others go on.
 */
#include "storage/transfer_internal.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#define TELL_MS 100

/* ---- items ---------------------------------------------------------------------------------------- */

struct item *item_new(struct copy *copy, const char *name)
{
    struct item *item = sw_new(struct item);

    item->copy = copy;
    item->name = sw_strdup(name);
    item->object.size = -1;
    item->fd = -1;
    item->partial.fd = -1;
    item->record.fd = -1;
    item->after = copy->all;
    item->link = &copy->all;
    if (item->after)
        item->after->link = &item->after;
    copy->all = item;
    return item;
}

void item_drop_etags(struct item *item)
{
    for (size_t i = 0; item->etags && i < item->unit_count; i++)
        free(item->etags[i]);
    free(sw_take(item->etags));
    free(sw_take(item->crcs));
}

void item_take_buffer(struct item *item)
{
    assert(!item->buffer);
    item->buffer = sw_realloc_array(NULL, SMALL_MAX, 1);      /* not zeroed */
}

void item_drop_buffer(struct item *item)
{
    free(sw_take(item->buffer));
}

/* Too large to have one for every name in the queue. */
void item_take_error(struct item *item)
{
    assert(!item->err);
    item->err = sw_new(struct sw_error);
}

void item_free(struct item *item)
{
    *item->link = item->after;
    if (item->after)
        item->after->link = item->link;
    if (item->fd >= 0)
        close(item->fd);
    partial_done(&item->partial, true);
    if (item->relayed && item->path)
        unlink(item->path);
    item_drop_etags(item);
    upload_record_close(&item->record);
    free(item->upload);
    item_drop_buffer(item);
    free(item->path);
    free(item->target);
    free(item->from_key);
    free(item->key);
    free(item->name);
    free(item->err);
    sw_object_done(&item->object);
    free(item);
}

struct item *item_of_job(struct pool_job *job)
{
    return (struct item *)((char *)job - offsetof(struct item, job));
}

/* The job counts as load until it is collected. */
static void job_done(struct pool_job *job)
{
    struct item *item = item_of_job(job);

    item->copy->load--;
    item->job_done(job);
}

void item_job(struct item *item, int weight, void (*work)(struct pool_job *),
              void (*done)(struct pool_job *))
{
    item->copy->load++;
    item->job.weight = weight;
    item->job.work = work;
    item->job.done = job_done;
    item->job_done = done;
    pool_run(item->copy->client->pool, &item->job);
}

/* Sizes are a server's word: a sum of absurd ones stays at the largest number there is. */
static void add_to(int64_t *sum, int64_t bytes)
{
    if (__builtin_add_overflow(*sum, bytes, sum))
        *sum = INT64_MAX;
}

void item_count(struct item *item, int64_t bytes)
{
    add_to(&item->counted, bytes);
    add_to(&item->copy->progress.bytes_done, bytes);
}

void item_resize(struct item *item, int64_t size)
{
    size = size > 0 ? size : 0;
    add_to(&item->copy->progress.bytes_total, size - item->announced);
    item->announced = size;
}

bool item_has_units(struct item *item)
{
    if (item->failed)
        return false;
    while (item->unit_next < item->unit_count && item->partial.have &&
           partial_has(&item->partial, item->unit_next))
        item->unit_next++;
    while (item->unit_next < item->unit_count && item->etags && item->etags[item->unit_next])
        item->unit_next++;                   /* an earlier copy sent it */
    return item->unit_next < item->unit_count;
}

void item_open(struct item *item)
{
    item->in_open = true;
    item->copy->open[item->copy->open_count++] = item;
}

void item_close(struct item *item)
{
    struct copy *copy = item->copy;

    for (size_t i = 0; i < copy->open_count; i++)
        if (copy->open[i] == item) {
            memmove(&copy->open[i], &copy->open[i + 1],
                    (copy->open_count - i - 1) * sizeof copy->open[0]);
            copy->open_count--;
            break;
        }
    item->in_open = false;
}

static void tell_moved(struct item *item, enum sw_moved_how how, const struct sw_error *why)
{
    const struct sw_copy_rules *rules = item->copy->rules;

    if (rules->moved && rules->moved(rules->context, how, item->name, &item->object, why)) {
        struct sw_error stopped = { 0 };

        sw_fail(&stopped, SW_E_INTERRUPTED, "stopped by the caller");
        item->copy->stop = true;
        copy_fail(item->copy, &stopped);
    }
}

void item_over(struct item *item, enum sw_moved_how how)
{
    struct copy *copy = item->copy;

    if (how == SW_MOVED_COPIED) {
        copy->report.files++;
        add_to(&copy->report.bytes, item->object.size > 0 ? item->object.size : 0);
    } else if (how == SW_MOVED_SAME) {
        copy->report.same++;
        item_count(item, -item->counted);
        item_resize(item, 0);
    } else if (how == SW_MOVED_REMOVED) {
        copy->report.removed++;
    }
    copy->progress.files_done++;
    tell_moved(item, how, NULL);
    copy->items--;
    item_free(item);
}

void item_fail(struct item *item, const struct sw_error *err)
{
    struct copy *copy = item->copy;

    copy->report.failed++;
    copy->progress.files_done++;
    copy_fail(copy, err);
    tell_moved(item, SW_MOVED_FAILED, err);
    copy->items--;
    item_free(item);
}

/* ---- the copy --------------------------------------------------------------------------------------- */

void copy_fail(struct copy *copy, const struct sw_error *err)
{
    if (!copy->first.code)
        copy->first = *err;
}

void copy_add(struct copy *copy, struct item *item)
{
    item_resize(item, item->object.size);
    copy->progress.files_total++;
    copy->items++;
    copy->queued++;
    *copy->queue_end = item;
    copy->queue_end = &item->next;
}

static struct item *next_item(struct copy *copy)
{
    struct item *item = copy->queue;

    if (!item)
        return NULL;
    copy->queue = item->next;
    if (!copy->queue)
        copy->queue_end = &copy->queue;
    copy->queued--;
    item->next = NULL;
    return item;
}

static bool hand_out_unit(struct copy *copy)
{
    if (copy->large_load >= LARGE_MOST)
        return false;
    for (size_t i = 0; i < copy->open_count; i++)
        if (item_has_units(copy->open[i])) {
            copy->unit(copy->open[i]);
            return true;
        }
    return false;
}

/* Enough large files are open; a small one costs nothing and may pass. */
static bool is_crowded(const struct copy *copy)
{
    return copy->open_count >= OPEN_MOST &&
           (copy->queue->object.size < 0 || copy->queue->object.size > SMALL_MAX);
}

static void begin_item(struct copy *copy, struct item *item)
{
    if (item->err) {                         /* its name was refused */
        item_fail(item, item->err);
        return;
    }
    item_take_error(item);
    copy->begin(item);
}

/* As many as may be at once: units of files already open come first. */
static void pump(struct copy *copy)
{
    while (!copy->stop && copy->load < copy->concurrency.size) {
        if (hand_out_unit(copy))
            continue;
        if (!copy->queue || is_crowded(copy))
            break;
        begin_item(copy, next_item(copy));
    }
}

static void tell_progress(struct copy *copy, int64_t now_ms, bool last)
{
    struct sw_copy_progress *progress = &copy->progress;
    int64_t left = progress->bytes_total - progress->bytes_done;

    rate_add(&copy->rate, now_ms, progress->bytes_done);
    if (!copy->rules->progress || (!last && now_ms - copy->told_ms < TELL_MS))
        return;
    copy->told_ms = now_ms;
    progress->listing = copy->listing;
    progress->requests = copy->load;
    progress->bytes_per_second = rate_per_second(&copy->rate, now_ms, progress->bytes_done);
    progress->left_ms = progress->bytes_per_second > 0 && !copy->listing
                            ? (left < INT64_MAX / 1000 ? left : INT64_MAX / 1000) * 1000 /
                                  progress->bytes_per_second
                            : -1;
    if (copy->rules->progress(copy->rules->context, progress) && !copy->stop && !last) {
        struct sw_error canceled = { 0 };

        sw_fail(&canceled, SW_E_INTERRUPTED, "the copy was canceled");
        copy->first = canceled;
        copy->stop = true;
    }
}

static void check_deadline(struct copy *copy, int64_t now_ms)
{
    struct sw_error late = { 0 };

    if (!copy->rules->deadline_ms || now_ms < copy->rules->deadline_ms || copy->stop)
        return;
    sw_fail(&late, SW_E_TIMEOUT, "the copy timed out");
    copy->first = late;
    copy->stop = true;
}

static int wait_some(struct copy *copy, int64_t now_ms, struct sw_error *err)
{
    int64_t wait = TELL_MS, due = request_next_ms(copy);

    if (due >= 0 && due - now_ms < wait)
        wait = due > now_ms ? due - now_ms : 0;
    if (copy->client->http)
        return sw_http_work(copy->client->http, wait, err);
    pool_wait(copy->client->pool, wait);
    return 0;
}

static bool is_over(const struct copy *copy)
{
    return !copy->load && (copy->stop || (!copy->listing && !copy->queue && !copy->items));
}

/* Stopped: nothing new is begun; requests under way are dropped, jobs are waited for. */
static void drop_requests(struct copy *copy)
{
    for (struct transfer_request *request = copy->requests, *next; request; request = next) {
        next = request->after;
        if (request->in_job)
            continue;
        sw_http_drop(copy->client->http, request);
        copy->load--;
        copy->large_load -= request->large;
        if (request->item && request->unit_of_item)
            request->item->flying--;
        request_free(request);
    }
    copy->waiting = copy->held_list = copy->list = NULL;
    copy->listing = false;
}

int copy_loop(struct copy *copy, struct sw_error *err)
{
    while (!is_over(copy)) {
        int64_t now_ms = sw_monotonic_ms();

        list_pump(copy);
        request_wake(copy, now_ms);
        pump(copy);
        pool_collect(copy->client->pool);
        concurrency_adjust(&copy->concurrency, now_ms);
        check_deadline(copy, now_ms);
        tell_progress(copy, now_ms, false);
        if (copy->stop)
            drop_requests(copy);
        if (!is_over(copy) && wait_some(copy, now_ms, err) < 0)
            return -1;
        pool_collect(copy->client->pool);
    }
    return 0;
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static void add_slash(char **base)
{
    char *longer;

    if (!**base || sw_text_ends(*base, "/"))
        return;
    longer = sw_format("%s/", *base);
    free(*base);
    *base = longer;
}

/* What one file is called: the last part, of a URL without its query and percent signs. */
void copy_name(struct copy *copy)
{
    bool web = copy->from.storage == &sw_storage_http || copy->from.storage == &sw_storage_https;
    sw_autofree char *uri = sw_format("%s%s", web ? "http:///" : "", copy->from.base);

    free(copy->name);
    copy->name = sw_uri_name(uri);
}

/* The file goes into the folder `to` under its own name. */
void copy_into(struct copy *copy)
{
    char *inside;

    copy_name(copy);
    add_slash(&copy->to.base);
    inside = sw_format("%s%s", copy->to.base, copy->name);
    free(copy->to.base);
    copy->to.base = inside;
}

/* One file or a tree? A folder of this machine and a name that ends in '/' say it themselves. */
static int settle_bases(struct copy *copy, struct sw_error *err)
{
    struct stat info;
    bool tree = copy->rules->recursive || copy->rules->only_count || !*copy->from.base ||
                sw_text_ends(copy->from.base, "/");

    if (copy->from.storage->local) {
        if (stat(copy->from.base, &info) < 0)
            return sw_fail_errno(err, SW_E_NOT_FOUND, "cannot read '%s'", copy->from.base);
        tree = S_ISDIR(info.st_mode);
    }
    if (tree) {
        copy->from_was_bare = !sw_text_ends(copy->from.base, "/");
        add_slash(&copy->from.base);
        add_slash(&copy->to.base);
        return 0;
    }
    copy->single = true;
    copy_name(copy);
    if (copy->rules->into || !*copy->to.base || sw_text_ends(copy->to.base, "/") ||
        (copy->to.storage->local && stat(copy->to.base, &info) == 0 && S_ISDIR(info.st_mode)))
        copy_into(copy);
    return 0;
}

/* What is done to each item follows from the two ends. */
static int choose(struct copy *copy, struct sw_error *err)
{
    bool from_here = copy->from.storage->local, to_here = copy->to.storage->local;

    if (!from_here && !(copy->from.storage->can & SW_CAN(SW_OP_GET)))
        return sw_fail(err, SW_E_UNSUPPORTED, "nothing can be read from %s://",
                       copy->from.storage->scheme);
    if (!to_here && !(copy->to.storage->can & SW_CAN(SW_OP_PUT)))
        return sw_fail(err, SW_E_UNSUPPORTED, "nothing can be written to %s://",
                       copy->to.storage->scheme);
    if (from_here && to_here) {
        copy->begin = move_local;
    } else if (to_here) {
        copy->begin = get_begin;
        copy->unit = get_unit;
    } else if (from_here) {
        copy->begin = put_begin;
        copy->unit = put_unit;
    } else if (copy->from.storage == copy->to.storage &&
               copy->to.storage->can & SW_CAN(SW_OP_COPY)) {
        copy->begin = move_remote;
        copy->unit = move_remote_unit;
    } else {
        copy->begin = move_relay;
        copy->unit = move_relay_unit;
    }
    return 0;
}

/* Uploads that were begun and not finished must not be paid for. */
static void abort_uploads(struct copy *copy)
{
    for (struct item *item = copy->all; item; item = item->after) {
        sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_ABORT);

        if (!item->upload)
            continue;
        op.root = copy->to.root;
        op.key = item->key;
        op.upload = item->upload;
        if (sw_operation_run(copy->client->http, &op, NULL, NULL, NULL, NULL) == 0)
            upload_record_drop(&item->record);
    }
}

static void copy_done(struct copy *copy)
{
    walker_stop(copy->walker);
    abort_uploads(copy);
    if (copy->from_fd >= 0)
        close(copy->from_fd);
    while (copy->all)
        item_free(copy->all);
    if (copy->spool)
        sw_remove_tree(copy->spool, NULL);
    free(copy->spool);
    free(copy->name);
    free(copy->there);
    free(copy->names);
    side_done(&copy->from);
    side_done(&copy->to);
}

static int copy_run(struct copy *copy, struct sw_error *err)
{
    if (choose(copy, err) < 0 || settle_bases(copy, err) < 0 || list_there(copy, err) < 0 ||
        list_begin(copy, err) < 0 || copy_loop(copy, err) < 0)
        return -1;
    if (copy->rules->remove_extra && !copy->first.code && list_extra(copy, err) < 0)
        return -1;
    tell_progress(copy, sw_monotonic_ms(), true);
    if (!copy->first.code)
        return 0;
    if (err)
        *err = copy->first;
    if (copy->report.failed > 1 && copy->first.code != SW_E_INTERRUPTED)
        return sw_wrap(err, "%lld failed, the first", (long long)copy->report.failed);
    return -1;
}

int sw_transfer_copy(struct sw_transfer_client *client, const char *from, const char *to,
                     const struct sw_copy_rules *rules, struct sw_copy_report *report,
                     struct sw_error *err)
{
    static const struct sw_copy_rules none;
    struct copy copy = {
        .client = client, .rules = rules ? rules : &none, .from_fd = -1,
    };
    int jobs = client->options.jobs > 0 ? client->options.jobs : JOBS_USUAL;
    int result = -1;

    copy.queue_end = &copy.queue;
    copy.begun_ms = copy.told_ms = sw_monotonic_ms();
    concurrency_init(&copy.concurrency, jobs < JOBS_MOST ? jobs : JOBS_MOST, copy.begun_ms);
    if (transfer_side(client, from, &copy.from, err) == 0 && transfer_side(client, to, &copy.to, err) == 0)
        result = copy_run(&copy, err);
    copy.report.elapsed_ms = sw_monotonic_ms() - copy.begun_ms;
    copy_done(&copy);
    if (report)
        *report = copy.report;
    return result;
}
