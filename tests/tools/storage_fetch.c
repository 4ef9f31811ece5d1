/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage_fetch.c - fetch a tree from any storage, one operation at a time: the plainest user of
 * storage.h, so that a stand-in and a storage can be tested without the transfer engine.
 *
 *     storage_fetch URI FOLDER [BYTES_PER_RANGE [COMMAND]]
 *
 * Every file is read in ranges, its size and digest are checked, its name is printed. COMMAND runs
 * once, between the listing and the first file: the moment for a new version to be pushed.
 */
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "storage/storage.h"

struct fetch {
    struct sw_http *http;
    struct sw_root *root;
    struct sw_object *files;
    size_t count;
};

static int remember(void *context, struct sw_object *object)
{
    struct fetch *fetch = context;

    fetch->files = sw_realloc_array(fetch->files, fetch->count + 1, sizeof *fetch->files);
    fetch->files[fetch->count++] = *object;
    *object = (struct sw_object){ .size = -1 };
    return 0;
}

/* Where a range begins in the file, so that one that was cut and comes again replaces itself. */
struct range {
    struct sw_buf *content;
    size_t begins;
};

static int append(void *context, const struct sw_http_reply *so_far, const char *bytes,
                  size_t length)
{
    struct range *range = context;

    range->content->length = range->begins + (size_t)so_far->received - length;
    sw_buf_add_bytes(range->content, bytes, length);
    return 0;
}

static int check(const struct sw_object *file, const struct sw_buf *content, struct sw_error *err)
{
    char hex[SW_DIGEST_HEX] = "";
    struct sw_digest digest;

    if (file->size >= 0 && (size_t)file->size != content->length)
        return sw_fail(err, SW_E_IO, "%s has %zu bytes, not %lld", file->name, content->length,
                       (long long)file->size);
    if (file->digest_kind == SW_DIGEST_NONE)
        return 0;
    sw_digest_init(&digest, file->digest_kind == SW_DIGEST_SHA256 ? SW_SHA256 : SW_SHA1);
    if (file->digest_kind == SW_DIGEST_GIT_SHA1) {
        sw_autofree char *head = sw_format("blob %zu", content->length);

        sw_digest_add(&digest, head, strlen(head) + 1);
    }
    sw_digest_add(&digest, sw_buf_text(content), content->length);
    sw_digest_end_hex(&digest, hex);
    return strcmp(hex, file->digest) == 0
               ? 0 : sw_fail(err, SW_E_IO, "%s has another digest than announced", file->name);
}

static int get(struct fetch *fetch, const struct sw_object *file, int64_t range,
               struct sw_buf *content, struct sw_error *err)
{
    do {
        sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_GET);
        struct range piece = { content, content->length };

        op.root = fetch->root;
        op.key = file->name;
        op.if_match = file->etag;
        op.offset = (int64_t)content->length;
        op.length = range > 0 && file->size > range ? range : -1;
        if (op.length > file->size - op.offset)
            op.length = file->size - op.offset;
        if (sw_operation_run(fetch->http, &op, append, &piece, NULL, err) < 0)
            return -1;
    } while ((int64_t)content->length < file->size);
    return check(file, content, err);
}

/* Asked for alone, a file is what the listing said it is. */
static int look(struct fetch *fetch, const struct sw_object *file, struct sw_error *err)
{
    sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(SW_OP_STAT);

    op.root = fetch->root;
    op.key = file->name;
    if (sw_operation_run(fetch->http, &op, NULL, NULL, NULL, err) < 0)
        return -1;
    return op.object.size == file->size && strcmp(op.object.digest, file->digest) == 0
               ? 0 : sw_fail(err, SW_E_CONFLICT, "%s is not what the listing says", file->name);
}

static int save(struct fetch *fetch, const struct sw_object *file, const char *prefix,
                const char *folder, int64_t range, struct sw_error *err)
{
    sw_auto(sw_buf) struct sw_buf content = SW_BUF_INIT;
    sw_autofree char *path = sw_path_join(folder, file->name + strlen(prefix));
    sw_autofree char *parent = sw_strndup(path, (size_t)(strrchr(path, '/') - path));

    if (sw_name_check(file->name, err) < 0 || look(fetch, file, err) < 0 ||
        get(fetch, file, range, &content, err) < 0 ||
        sw_mkdirs(parent, 0755, err) < 0)
        return -1;
    printf("%s\n", file->name);
    return sw_file_write(path, sw_buf_text(&content), content.length, 0644, err);
}

static int fetch_all(struct fetch *fetch, const char *key, char **argv, int argc,
                     struct sw_error *err)
{
    sw_auto(sw_operation) struct sw_operation list = SW_OP_INIT(SW_OP_LIST);

    list.root = fetch->root;
    list.key = key;
    list.recursive = true;
    list.found = remember;
    list.found_context = fetch;
    if (sw_operation_run(fetch->http, &list, NULL, NULL, NULL, err) < 0)
        return -1;
    if (argc > 4 && system(argv[4]) != 0)
        return sw_fail(err, SW_E_USAGE, "'%s' failed", argv[4]);
    for (size_t i = 0; i < fetch->count; i++)
        if (save(fetch, &fetch->files[i], key, argv[2], argc > 3 ? atoll(argv[3]) : 0, err) < 0)
            return -1;
    return 0;
}

int main(int argc, char **argv)
{
    struct sw_error err = { 0 };
    struct fetch fetch = { 0 };
    sw_autofree char *key = NULL;
    sw_auto(sw_http) struct sw_http *http = sw_http_open(NULL, &err);
    int result = -1;

    if (argc < 3) {
        fprintf(stderr, "usage: storage_fetch URI FOLDER [BYTES_PER_RANGE [COMMAND]]\n");
        return 64;
    }
    fetch.http = http;
    if (http && sw_storage_open(argv[1], NULL, &fetch.root, &key, &err) && fetch.root)
        result = fetch_all(&fetch, key, argv, argc, &err);
    if (result < 0)
        fprintf(stderr, "%s: %s\n%s\n", sw_code_name(err.code), err.message, err.hint);
    for (size_t i = 0; i < fetch.count; i++)
        sw_object_done(&fetch.files[i]);
    free(fetch.files);
    sw_storage_close(fetch.root);
    return result < 0 ? sw_code_exit_status(err.code) : 0;
}
