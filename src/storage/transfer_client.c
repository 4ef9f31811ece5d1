/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transfer_client.c - what lives between copies (connections, credentials, threads), and questions about one
 * thing.
 */
#include "storage/transfer_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/text.h"

struct sw_transfer_client *sw_transfer_open(const struct sw_transfer_options *options, struct sw_error *err)
{
    static const struct sw_transfer_options none;
    struct sw_transfer_client *client = sw_new(struct sw_transfer_client);

    (void)err;
    client->options = options ? *options : none;
    client->pool = pool_new();
    return client;
}

void sw_transfer_close(struct sw_transfer_client *client)
{
    if (!client)
        return;
    pool_free(client->pool);
    sw_http_close(client->http);
    for (size_t i = 0; i < client->root_count; i++)
        sw_storage_close(client->roots[i]);
    free(client->roots);
    free(client);
}

static void wake(void *context)
{
    sw_http_wake(context);
}

int client_http(struct sw_transfer_client *client, struct sw_error *err)
{
    if (client->http)
        return 0;
    client->http = sw_http_open(&client->options.http, err);
    if (!client->http)
        return -1;
    pool_on_ready(client->pool, wake, client->http);
    return 0;
}

/* One root per bucket: what was learnt about it is not learnt twice. */
static struct sw_root *keep_root(struct sw_transfer_client *client, struct sw_root *root)
{
    const char *uri = ((const struct sw_root_head *)root)->uri;

    for (size_t i = 0; i < client->root_count; i++)
        if (strcmp(((const struct sw_root_head *)client->roots[i])->uri, uri) == 0) {
            sw_storage_close(root);
            return client->roots[i];
        }
    client->roots = sw_realloc_array(client->roots, client->root_count + 1, sizeof *client->roots);
    client->roots[client->root_count++] = root;
    return root;
}

int transfer_side(struct sw_transfer_client *client, const char *uri, struct side *out, struct sw_error *err)
{
    struct side side = { 0 };

    side.storage = sw_storage_open(uri, &client->options.storage, &side.root, &side.base, err);
    if (!side.storage)
        return -1;
    if (side.root)
        side.root = keep_root(client, side.root);
    if (side.root && client_http(client, err) < 0) {
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
        return sw_fail_errno(err, SW_E_IO, "cannot access '%s'", path);
    return 0;
}

static int first_only(void *context, struct sw_object *object)
{
    (void)object;
    *(bool *)context = true;
    return 1;
}

/* Is there anything below this prefix? */
static int stat_folder(struct sw_transfer_client *client, const struct side *side, struct sw_object *out,
                       struct sw_error *err)
{
    sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_LIST);
    sw_autofree char *prefix = *side->base && !sw_text_ends(side->base, "/")
                                   ? sw_format("%s/", side->base)
                                   : sw_strdup(side->base);
    struct sw_error why = { 0 };
    bool any = false;

    op.root = side->root;
    op.key = prefix;
    op.found = first_only;
    op.found_context = &any;
    if (sw_operation_run(client->http, &op, NULL, NULL, NULL, &why) < 0 && !any &&
        (why.code != SW_E_NOT_FOUND || side->storage->lists_empty)) {
        return sw_pass(err, &why);
    }
    if (any || (!*side->base && why.code != SW_E_NOT_FOUND))
        out->kind = SW_OBJECT_FOLDER;
    return 0;
}

int sw_transfer_stat(struct sw_transfer_client *client, const char *uri, struct sw_object *out,
                     struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_STAT);
    struct sw_error why = { 0 };

    *out = (struct sw_object){ .size = -1 };
    if (transfer_side(client, uri, &side, err) < 0)
        return -1;
    if (!side.root)
        return stat_local(side.base, out, err);
    op.root = side.root;
    op.key = side.base;
    if (*side.base && !sw_text_ends(side.base, "/")) {
        if (sw_operation_run(client->http, &op, NULL, NULL, NULL, &why) == 0) {
            *out = op.object;
            op.object = (struct sw_object){ .size = -1 };
            out->kind = out->kind ? out->kind : SW_OBJECT_FILE;
            return 0;
        }
        if (why.code != SW_E_NOT_FOUND) {
            return sw_pass(err, &why);
        }
    }
    return side.storage->can & SW_CAN(SW_OP_LIST) ? stat_folder(client, &side, out, err) : 0;
}

/* ---- many names ------------------------------------------------------------------------------------- */

struct object_listing {
    const char *root;            /* a local folder */
    size_t base;                 /* bytes of prefix to leave out */
    bool recursive;
    sw_found_fn *found;
    void *context;
};

static int relative_found(void *context, struct sw_object *object)
{
    const struct object_listing *listing = context;

    if (strlen(object->name) <= listing->base)
        return 0;
    memmove(object->name, object->name + listing->base, strlen(object->name) - listing->base + 1);
    return listing->found(listing->context, object);
}

static int local_found(void *context, const char *relative, const struct stat *info)
{
    const struct object_listing *listing = context;
    sw_auto(sw_object) struct sw_object object = { .size = -1 };

    if ((!listing->recursive && strchr(relative, '/')) ||
        (listing->recursive && S_ISDIR(info->st_mode)))
        return 0;
    local_object(info, &object);
    object.name = sw_format("%s%s", relative, S_ISDIR(info->st_mode) ? "/" : "");
    return listing->found(listing->context, &object);
}

static int list_remote(struct sw_transfer_client *client, const struct side *side, bool recursive,
                       sw_found_fn *found, void *context, struct sw_error *err)
{
    sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_LIST);
    sw_autofree char *prefix = *side->base && !sw_text_ends(side->base, "/")
                                   ? sw_format("%s/", side->base)
                                   : sw_strdup(side->base);
    struct object_listing listing = { .base = strlen(prefix), .found = found, .context = context };

    if (!(side->storage->can & SW_CAN(SW_OP_LIST)))
        return sw_fail(err, SW_E_UNSUPPORTED, "%s:// cannot be listed", side->storage->scheme);
    op.root = side->root;
    op.key = prefix;
    op.recursive = recursive;
    op.found = relative_found;
    op.found_context = &listing;
    return sw_operation_run(client->http, &op, NULL, NULL, NULL, err);
}

int sw_transfer_list(struct sw_transfer_client *client, const char *uri, bool recursive, sw_found_fn *found,
                     void *context, struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    struct object_listing listing = { .recursive = recursive, .found = found, .context = context };

    if (transfer_side(client, uri, &side, err) < 0)
        return -1;
    if (side.root)
        return list_remote(client, &side, recursive, found, context, err);
    if (sw_walk(side.base, local_found, &listing, err) == 0)
        return 0;
    return -1;
}

int sw_transfer_delete(struct sw_transfer_client *client, const char *uri, struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_DELETE);

    if (transfer_side(client, uri, &side, err) < 0)
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
    return sw_operation_run(client->http, &op, NULL, NULL, NULL, err);
}

int sw_transfer_probe(struct sw_transfer_client *client, const char *uri, struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_BEGIN);
    sw_auto(sw_operation) struct sw_operation abort = SW_OP_INIT(SW_OP_ABORT);

    if (transfer_side(client, uri, &side, err) < 0)
        return -1;
    if (!side.root || !(side.storage->can & SW_CAN(SW_OP_BEGIN)))
        return 0;
    op.root = abort.root = side.root;
    op.key = abort.key = side.base;
    if (sw_operation_run(client->http, &op, NULL, NULL, NULL, err) < 0)
        return -1;
    abort.upload = op.upload_made;
    sw_operation_run(client->http, &abort, NULL, NULL, NULL, NULL);     /* or the server forgets it */
    return 0;
}

/* ---- through memory ---------------------------------------------------------------------------------- */

int sw_transfer_put_bytes(struct sw_transfer_client *client, const char *uri, const void *bytes,
                          size_t length, struct sw_error *err)
{
    __attribute__((cleanup(side_auto))) struct side side = { 0 };
    sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_PUT);
    char sha256[SW_DIGEST_HEX];

    if (transfer_side(client, uri, &side, err) < 0)
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
    return sw_operation_run(client->http, &op, NULL, NULL, bytes, err);
}
