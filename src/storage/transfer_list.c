/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_list.c - where items come from, what lies at the destination already, and what is there
 * too many.
 *
 * The destination is remembered without names, by a hash: a collision can only make us compare a
 * file with the wrong neighbour, find it different and copy it; or keep a file that could go.
 */
#include "storage/transfer_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"

#define EXTRA_MOST 1000000

uint64_t name_hash(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
}

bool copy_wants(const struct copy *copy, const char *name)
{
    const struct sw_copy_rules *rules = copy->rules;

    for (size_t i = 0; i < rules->exclude_count; i++)
        if (sw_name_matches(rules->exclude[i], name))
            return false;
    for (size_t i = 0; i < rules->include_count; i++)
        if (sw_name_matches(rules->include[i], name))
            return true;
    return rules->include_count == 0;
}

/* ---- items ---------------------------------------------------------------------------------- */

static char *end_of(const struct copy *copy, const struct side *side, const char *name)
{
    return copy->single ? sw_strdup(side->base) : sw_format("%s%s", side->base, name);
}

static struct item *make_item(struct copy *copy, const char *name)
{
    struct item *item = item_new(copy, name);

    item->from_key = end_of(copy, &copy->from, name);
    if (copy->to.storage->local)
        item->path = end_of(copy, &copy->to, name);
    else
        item->key = end_of(copy, &copy->to, name);
    if (copy->from.storage->local && !copy->to.storage->local)
        item->path = sw_strdup(item->from_key);
    return item;
}

static void remember_name(struct copy *copy, const char *name)
{
    if (!copy->rules->remove_extra)
        return;
    if (copy->name_count == copy->name_room) {
        copy->name_room = copy->name_room ? 2 * copy->name_room : 1024;
        copy->names = sw_realloc_array(copy->names, copy->name_room, sizeof *copy->names);
    }
    copy->names[copy->name_count++] = name_hash(name);
}

/* One name of the source: filtered, checked, queued. The object's texts are taken, and so is the
 * target of a link (NULL: it is none). */
static void offer(struct copy *copy, const char *name, struct sw_object *object, char **target)
{
    struct item *item;
    struct sw_error err = { 0 };

    if (!copy->single && !copy_wants(copy, name))
        return;
    item = make_item(copy, name);
    item->object = *object;
    *object = (struct sw_object){ .size = -1 };
    item->target = target ? sw_take(*target) : NULL;
    remember_name(copy, name);
    copy_add(copy, item);
    if (copy->to.storage->local && sw_name_check(name, &err) < 0) {
        item_take_error(item);                 /* reported when its turn comes */
        *item->err = err;
    }
}

static int list_found(void *context, struct sw_object *object)
{
    struct copy *copy = context;
    size_t base = strlen(copy->from.base);

    if (object->kind != SW_OBJECT_FILE || strncmp(object->name, copy->from.base, base) != 0 ||
        !object->name[base])
        return 0;
    copy->any_listed = true;
    offer(copy, object->name + base, object, NULL);
    return copy->stop;
}

/* Nothing below "s3://b/p/": it may be the object "p", else it is a mistake. */
static void nothing_listed(struct copy *copy)
{
    struct sw_object object = { .kind = SW_OBJECT_FILE, .size = -1 };
    struct sw_error none = { 0 };

    if (copy->from_was_bare) {
        copy->from.base[strlen(copy->from.base) - 1] = '\0';
        copy->single = true;
        copy_into(copy);
        offer(copy, copy->name, &object, NULL);
        return;
    }
    sw_fail(&none, SW_E_NOT_FOUND, "nothing below '%s/%s'",
            ((const struct sw_root_head *)copy->from.root)->uri, copy->from.base);
    copy_fail(copy, &none);
}

static void listed(struct transfer_request *request, enum sw_step step, const struct sw_error *err)
{
    struct copy *copy = request->copy;

    copy->listing = false;
    copy->list = NULL;
    request_free(request);
    if (step != SW_STEP_DONE)
        copy_fail(copy, err);
    else if (!copy->any_listed && *copy->from.base)
        nothing_listed(copy);
}

/* Told, and not counted as missing at the destination. */
static void leave_out(struct copy *copy, const struct walked *found)
{
    const struct sw_copy_rules *rules = copy->rules;
    const struct sw_object object = { .size = -1 };
    struct sw_error why = { 0 };

    if (!copy_wants(copy, found->name))
        return;
    remember_name(copy, found->name);
    copy->report.left_out++;
    sw_fail(&why, SW_E_REFUSED, "'%s' is left out: %s", found->name, found->left_out);
    if (rules->moved && rules->moved(rules->context, SW_MOVED_LEFT_OUT, found->name, &object, &why))
        copy->stop = true;
}

/* ---- the source ----------------------------------------------------------------------------- */

static void poke(void *context)
{
    pool_poke(context);
}

static int begin_local(struct copy *copy, struct sw_error *err)
{
    struct sw_object object = { .kind = SW_OBJECT_FILE, .size = -1 };
    struct stat info;

    if (copy->single) {
        if (stat(copy->from.base, &info) < 0)
            return sw_fail_errno(err, SW_E_NOT_FOUND, "cannot read '%s'", copy->from.base);
        object.size = info.st_size;
        object.mtime_ms = (int64_t)info.st_mtim.tv_sec * 1000 + info.st_mtim.tv_nsec / 1000000;
        offer(copy, copy->name, &object, NULL);
        return 0;
    }
    copy->links = copy->rules->follow_links ? WALK_ANYWHERE
                  : copy->to.storage->local ? WALK_KEEP : WALK_INSIDE;
    copy->from_fd = open(copy->from.base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy->from_fd < 0)
        return sw_fail_errno(err, SW_E_IO, "cannot read '%s'", copy->from.base);
    copy->walker = walker_start(copy->from_fd, copy->from.base, copy->links, poke,
                                copy->client->pool);
    if (!copy->walker)
        return sw_fail(err, SW_E_INTERNAL, "no thread could be started");
    copy->listing = true;
    return 0;
}

static int begin_remote(struct copy *copy, struct sw_error *err)
{
    struct sw_object object = { .kind = SW_OBJECT_FILE, .size = -1 };

    if (copy->single) {
        offer(copy, copy->name, &object, NULL);
        return 0;
    }
    if (!(copy->from.storage->can & SW_CAN(SW_OP_LIST)))
        return sw_fail(err, SW_E_UNSUPPORTED, "%s:// cannot be listed, so no tree can be copied",
                       copy->from.storage->scheme);
    copy->list = request_new(copy, SW_OP_LIST, copy->from.root, copy->from.base, NULL);
    copy->list->op.recursive = true;
    copy->list->op.found = list_found;
    copy->list->op.found_context = copy;
    copy->list->over = listed;
    copy->listing = true;
    request_start(copy->list);
    return 0;
}

static int begin_only(struct copy *copy)
{
    for (size_t i = 0; i < copy->rules->only_count; i++) {
        struct sw_object object = { .kind = SW_OBJECT_FILE, .size = -1 };

        offer(copy, copy->rules->only[i], &object, NULL);
    }
    return 0;
}

int list_begin(struct copy *copy, struct sw_error *err)
{
    if (copy->rules->only_count)
        return begin_only(copy);
    return copy->from.storage->local ? begin_local(copy, err) : begin_remote(copy, err);
}

void list_pump(struct copy *copy)
{
    struct sw_error err = { 0 };
    struct walked *found, *next;
    bool over;

    if (!copy->walker || copy->queued > QUEUE_MOST)
        return;
    found = walker_take(copy->walker, &over, &err);
    for (; found; found = next) {
        struct sw_object object = {
            .kind = SW_OBJECT_FILE, .size = found->size, .mtime_ms = found->mtime_ms,
        };

        next = found->next;
        if (found->left_out)
            leave_out(copy, found);
        else if (!copy->rules->settle_ms ||
                 sw_now_ms() - found->mtime_ms >= copy->rules->settle_ms)
            offer(copy, found->name, &object, &found->target);
        walked_free(found);
    }
    if (!over)
        return;
    walker_stop(sw_take(copy->walker));
    copy->listing = false;
    if (err.code)
        copy_fail(copy, &err);
}

/* ---- the destination ------------------------------------------------------------------------ */

static void add_there(struct copy *copy, const char *name, const struct sw_object *object)
{
    struct there *there;

    if (copy->there_count == copy->there_room) {
        copy->there_room = copy->there_room ? 2 * copy->there_room : 256;
        copy->there = sw_realloc_array(copy->there, copy->there_room, sizeof *copy->there);
    }
    there = &copy->there[copy->there_count++];
    *there = (struct there){
        .hash = name_hash(name), .size = object->size, .mtime_ms = object->mtime_ms,
    };
    if (object->etag && strlen(object->etag) < sizeof there->etag)
        strcpy(there->etag, object->etag);
}

static int there_found(void *context, struct sw_object *object)
{
    struct copy *copy = context;
    size_t base = strlen(copy->to.base);

    if (object->kind == SW_OBJECT_FILE && strncmp(object->name, copy->to.base, base) == 0)
        add_there(copy, object->name + base, object);
    return copy->rules->progress && copy->there_count % 5000 == 0 &&
           copy->rules->progress(copy->rules->context, &copy->progress);
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = ((const struct there *)a)->hash, y = ((const struct there *)b)->hash;

    return (x > y) - (x < y);
}

const struct there *copy_there(const struct copy *copy, const char *name)
{
    struct there wanted = { .hash = name_hash(name) };

    return copy->there_count ? bsearch(&wanted, copy->there, copy->there_count,
                                       sizeof *copy->there, by_hash)
                             : NULL;
}

/* Not being allowed to look is no reason not to write: everything counts as new then. */
static int look_there(struct copy *copy, struct sw_error *err)
{
    sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(copy->single ? SW_OP_STAT : SW_OP_LIST);
    struct sw_error why = { 0 };
    int result;

    op.root = copy->to.root;
    op.key = copy->to.base;
    op.recursive = true;
    op.found = there_found;
    op.found_context = copy;
    result = sw_operation_run(copy->client->http, &op, NULL, NULL, NULL, &why);
    if (result == 0 && copy->single)
        add_there(copy, copy->name, &op.object);
    if (copy->there_count)
        qsort(copy->there, copy->there_count, sizeof *copy->there, by_hash);
    if (result == 0 || why.code == SW_E_CREDENTIAL || (copy->single && why.code == SW_E_NOT_FOUND))
        return 0;
    return sw_pass(err, &why);
}

/* Not there, or a folder with nothing in it: no file of it has to be looked for. */
static bool is_bare(const char *path)
{
    DIR *folder = opendir(*path ? path : ".");
    struct dirent *entry;

    if (!folder)
        return errno == ENOENT;
    while ((entry = readdir(folder)) && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))) {
    }
    closedir(folder);
    return !entry;
}

int list_there(struct copy *copy, struct sw_error *err)
{
    enum sw_operation_kind needed = copy->single ? SW_OP_STAT : SW_OP_LIST;

    if (copy->to.storage->local) {
        copy->fresh = is_bare(copy->to.base);
        return 0;
    }
    if (copy->rules->force || !(copy->to.storage->can & SW_CAN(needed)))
        return 0;
    return look_there(copy, err);
}

/* ---- what is too many ----------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void offer_extra(struct copy *copy, const char *name)
{
    uint64_t hash = name_hash(name);
    struct item *item;

    if (!copy_wants(copy, name) || copy->items >= EXTRA_MOST ||
        (copy->name_count &&
         bsearch(&hash, copy->names, copy->name_count, sizeof *copy->names, by_number)))
        return;
    item = make_item(copy, name);
    if (!copy->to.storage->local)
        free(sw_take(item->path));             /* nothing of the source may be touched */
    item->object.size = 0;
    copy_add(copy, item);
}

static int extra_found(void *context, struct sw_object *object)
{
    struct copy *copy = context;
    size_t base = strlen(copy->to.base);

    if (object->kind == SW_OBJECT_FILE && strncmp(object->name, copy->to.base, base) == 0 &&
        object->name[base])
        offer_extra(copy, object->name + base);
    return 0;
}

static int extra_walked(void *context, const char *relative, const struct stat *info)
{
    if (!S_ISDIR(info->st_mode) && !sw_text_starts(sw_uri_last(relative), PARTIAL_PREFIX))
        offer_extra(context, relative);
    return 0;
}

int list_extra(struct copy *copy, struct sw_error *err)
{
    sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_LIST);
    int result;

    if (copy->single || copy->rules->only_count)
        return sw_fail(err, SW_E_USAGE, "only a whole tree can be compared for what to remove");
    if (copy->name_count)
        qsort(copy->names, copy->name_count, sizeof *copy->names, by_number);
    if (copy->to.storage->local) {
        result = sw_file_exists(copy->to.base) ? sw_walk(copy->to.base, extra_walked, copy, err) : 0;
    } else {
        op.root = copy->to.root;
        op.key = copy->to.base;
        op.recursive = true;
        op.found = extra_found;
        op.found_context = copy;
        result = sw_operation_run(copy->client->http, &op, NULL, NULL, NULL, err);
    }
    if (result < 0)
        return -1;
    copy->begin = move_remove;
    return copy_loop(copy, err);
}
