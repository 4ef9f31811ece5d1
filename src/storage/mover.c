/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mover.c - what lives between copies (connections, credentials, threads), and questions about one
 * thing.
 */
#include "storage/transfer_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

struct sw_mover *sw_mover_open(const struct sw_mover_options *options, struct sw_error *err)
{
    static const struct sw_mover_options none;
    struct sw_mover *mover = sw_new(struct sw_mover);

    (void)err;
    mover->options = options ? *options : none;
    mover->pool = pool_new();
    return mover;
}

void sw_mover_close(struct sw_mover *mover)
{
    if (!mover)
        return;
    pool_free(mover->pool);
    sw_http_close(mover->http);
    for (size_t i = 0; i < mover->root_count; i++)
        sw_storage_close(mover->roots[i]);
    free(mover->roots);
    free(mover);
}

static void wake(void *context)
{
    sw_http_wake(context);
}

int mover_http(struct sw_mover *mover, struct sw_error *err)
{
    if (mover->http)
        return 0;
    mover->http = sw_http_open(&mover->options.http, err);
    if (!mover->http)
        return -1;
    pool_on_ready(mover->pool, wake, mover->http);
    return 0;
}

/* One root per bucket: what was learnt about it is not learnt twice. */
static struct sw_root *keep_root(struct sw_mover *mover, struct sw_root *root)
{
    const char *uri = ((const struct sw_root_head *)root)->uri;

    for (size_t i = 0; i < mover->root_count; i++)
        if (strcmp(((const struct sw_root_head *)mover->roots[i])->uri, uri) == 0) {
            sw_storage_close(root);
            return mover->roots[i];
        }
    mover->roots = sw_realloc_array(mover->roots, mover->root_count + 1, sizeof *mover->roots);
    mover->roots[mover->root_count++] = root;
    return root;
}

int mover_side(struct sw_mover *mover, const char *uri, struct side *out, struct sw_error *err)
{
    struct side side = { 0 };

    side.storage = sw_storage_open(uri, &mover->options.storage, &side.root, &side.base, err);
    if (!side.storage)
        return -1;
    if (side.root)
        side.root = keep_root(mover, side.root);
    if (side.root && mover_http(mover, err) < 0) {
        side_done(&side);
        return -1;
    }
    *out = side;
    return 0;
}

void side_done(struct side *side)
{
    free(side->base);
    *side = (struct side){ 0 };
}

static void side_auto(struct side *side)
{
    side_done(side);
}

/* ---- one thing ------------------------------------------------------------------------------------- */

static void local_object(const struct stat *info, struct sw_object *out)
{
    out->kind = S_ISDIR(info->st_mode) ? SW_OBJECT_FOLDER : SW_OBJECT_FILE;
    out->size = S_ISDIR(info->st_mode) ? -1 : info->st_size;
    out->mtime_ms = (int64_t)info->st_mtim.tv_sec * 1000 + info->st_mtim.tv_nsec / 1000000;
}

static int stat_local(const char *path, struct sw_object *out, struct sw_error *err)
{
    struct stat info;

    if (stat(path, &info) == 0)
        local_object(&info, out);
    else if (errno != ENOENT && errno != ENOTDIR)
        return sw_fail_errno(err, SW_E_IO, "cannot look at '%s'", path);
    return 0;
}

static int first_only(void *context, struct sw_object *object)
{
    (void)object;
    *(bool *)context = true;
    return 1;
}

/* Is there anything below this prefix? */
static int stat_folder(struct sw_mover *mover, const struct side *side, struct sw_object *out,
                       struct sw_error *err)
{
    sw_auto(sw_op) struct sw_op op = SW_OP_INIT(SW_OP_LIST);
    sw_autofree char *prefix = *side->base && !sw_text_ends(side->base, "/")
                                   ? sw_format("%s/", side->base)
                                   : sw_strdup(side->base);
    struct sw_error why = { 0 };
    bool any = false;

    op.root = side->root;
    op.key = prefix;
    op.found = first_only;
    op.found_context = &any;
    if (sw_op_run(mover->http, &op, NULL, NULL, NULL, &why) < 0 && !any &&
        (why.code != SW_E_NOT_FOUND || side->storage->lists_empty)) {
        if (err)
            *err = why;
        return -1;
    }
    if (any || (!*side->base && why.code != SW_E_NOT_FOUND))
        out->kind = SW_OBJECT_FOLDER;
    return 0;
}

int sw_mover_stat(struct sw_mover *mover, const char *uri, struct sw_object *out,
                  struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    sw_auto(sw_op) struct sw_op op = SW_OP_INIT(SW_OP_STAT);
    struct sw_error why = { 0 };

    *out = (struct sw_object){ .size = -1 };
    if (mover_side(mover, uri, &side, err) < 0)
        return -1;
    if (!side.root)
        return stat_local(side.base, out, err);
    op.root = side.root;
    op.key = side.base;
    if (*side.base && !sw_text_ends(side.base, "/")) {
        if (sw_op_run(mover->http, &op, NULL, NULL, NULL, &why) == 0) {
            *out = op.object;
            op.object = (struct sw_object){ .size = -1 };
            out->kind = out->kind ? out->kind : SW_OBJECT_FILE;
            return 0;
        }
        if (why.code != SW_E_NOT_FOUND) {
            if (err)
                *err = why;
            return -1;
        }
    }
    return side.storage->can & SW_CAN(SW_OP_LIST) ? stat_folder(mover, &side, out, err) : 0;
}

/* ---- many names ------------------------------------------------------------------------------------- */

struct listing {
    const char *root;            /* a local folder */
    size_t base;                 /* bytes of prefix to leave out */
    bool recursive;
    sw_found_fn *found;
    void *context;
};

static int relative_found(void *context, struct sw_object *object)
{
    const struct listing *listing = context;

    if (strlen(object->name) <= listing->base)
        return 0;
    memmove(object->name, object->name + listing->base, strlen(object->name) - listing->base + 1);
    return listing->found(listing->context, object);
}

static int local_found(void *context, const char *relative, const struct stat *info)
{
    const struct listing *listing = context;
    sw_auto(sw_object) struct sw_object object = { .size = -1 };

    if ((!listing->recursive && strchr(relative, '/')) ||
        (listing->recursive && S_ISDIR(info->st_mode)))
        return 0;
    local_object(info, &object);
    object.name = sw_format("%s%s", relative, S_ISDIR(info->st_mode) ? "/" : "");
    return listing->found(listing->context, &object);
}

static int list_remote(struct sw_mover *mover, const struct side *side, bool recursive,
                       sw_found_fn *found, void *context, struct sw_error *err)
{
    sw_auto(sw_op) struct sw_op op = SW_OP_INIT(SW_OP_LIST);
    sw_autofree char *prefix = *side->base && !sw_text_ends(side->base, "/")
                                   ? sw_format("%s/", side->base)
                                   : sw_strdup(side->base);
    struct listing listing = { .base = strlen(prefix), .found = found, .context = context };

    if (!(side->storage->can & SW_CAN(SW_OP_LIST)))
        return sw_fail(err, SW_E_UNSUPPORTED, "%s:// cannot be listed", side->storage->scheme);
    op.root = side->root;
    op.key = prefix;
    op.recursive = recursive;
    op.found = relative_found;
    op.found_context = &listing;
    return sw_op_run(mover->http, &op, NULL, NULL, NULL, err);
}

int sw_mover_list(struct sw_mover *mover, const char *uri, bool recursive, sw_found_fn *found,
                  void *context, struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    struct listing listing = { .recursive = recursive, .found = found, .context = context };

    if (mover_side(mover, uri, &side, err) < 0)
        return -1;
    if (side.root)
        return list_remote(mover, &side, recursive, found, context, err);
    if (sw_walk(side.base, local_found, &listing, err) == 0)
        return 0;
    return -1;
}

int sw_mover_delete(struct sw_mover *mover, const char *uri, struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    sw_auto(sw_op) struct sw_op op = SW_OP_INIT(SW_OP_DELETE);

    if (mover_side(mover, uri, &side, err) < 0)
        return -1;
    if (!side.root)
        return unlink(side.base) == 0 || errno == ENOENT
                   ? 0
                   : sw_fail_errno(err, SW_E_IO, "cannot remove '%s'", side.base);
    if (!(side.storage->can & SW_CAN(SW_OP_DELETE)))
        return sw_fail(err, SW_E_UNSUPPORTED, "nothing can be removed from %s://",
                       side.storage->scheme);
    op.root = side.root;
    op.key = side.base;
    return sw_op_run(mover->http, &op, NULL, NULL, NULL, err);
}

int sw_mover_probe(struct sw_mover *mover, const char *uri, struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    sw_auto(sw_op) struct sw_op op = SW_OP_INIT(SW_OP_BEGIN);
    sw_auto(sw_op) struct sw_op abort = SW_OP_INIT(SW_OP_ABORT);

    if (mover_side(mover, uri, &side, err) < 0)
        return -1;
    if (!side.root || !(side.storage->can & SW_CAN(SW_OP_BEGIN)))
        return 0;
    op.root = abort.root = side.root;
    op.key = abort.key = side.base;
    if (sw_op_run(mover->http, &op, NULL, NULL, NULL, err) < 0)
        return -1;
    abort.upload = op.upload_made;
    sw_op_run(mover->http, &abort, NULL, NULL, NULL, NULL);     /* if not: the server forgets it in time */
    return 0;
}

/* ---- through memory ---------------------------------------------------------------------------------- */

int sw_mover_put_bytes(struct sw_mover *mover, const char *uri, const void *bytes, size_t length,
                       struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    sw_auto(sw_op) struct sw_op op = SW_OP_INIT(SW_OP_PUT);
    char sha256[SW_DIGEST_HEX];

    if (mover_side(mover, uri, &side, err) < 0)
        return -1;
    if (!side.root)
        return partial_write(side.base, bytes, length, 0, true, err);
    if (!(side.storage->can & SW_CAN(SW_OP_PUT)))
        return sw_fail(err, SW_E_UNSUPPORTED, "nothing can be written to %s://",
                       side.storage->scheme);
    sw_sha256_hex(bytes, length, sha256);
    op.root = side.root;
    op.key = side.base;
    op.size = (int64_t)length;
    op.body_sha256 = sha256;
    return sw_op_run(mover->http, &op, NULL, NULL, bytes, err);
}

struct bytes {
    struct sw_buf buf;
    size_t limit;
};

static int take_bytes(void *context, const struct sw_http_reply *reply, const char *bytes,
                      size_t length)
{
    struct bytes *into = context;

    if (reply->received == (int64_t)length)
        sw_buf_clear(&into->buf);              /* another try begins */
    if (into->buf.length + length > into->limit)
        return -1;
    sw_buf_add_bytes(&into->buf, bytes, length);
    return 0;
}

char *sw_mover_get_bytes(struct sw_mover *mover, const char *uri, size_t limit, size_t *length,
                         struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    sw_auto(sw_op) struct sw_op op = SW_OP_INIT(SW_OP_GET);
    struct bytes into = { .limit = limit };

    if (mover_side(mover, uri, &side, err) < 0)
        return NULL;
    if (!side.root)
        return sw_file_read(side.base, limit, length, err);
    op.root = side.root;
    op.key = side.base;
    if (sw_op_run(mover->http, &op, take_bytes, &into, NULL, err) < 0) {
        sw_buf_done(&into.buf);
        if (err && err->code == SW_E_INTERRUPTED)
            sw_fail(err, SW_E_REFUSED, "'%s' is larger than %zu bytes", uri, limit);
        return NULL;
    }
    if (length)
        *length = into.buf.length;
    return into.buf.data ? into.buf.data : sw_strdup("");
}
