/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ngc_reply.c - what NGC answers: tokens, versions, files, signed links, reasons.
 *
 * Models and resources have the same answers under other keys (struct ngc_endpoint). NGC lists files
 * flat and in no order we could rely on, so folders of one level are reported when first met, and the
 * ones told are remembered from page to page. Pure: texts in, values out.
 */
#include "storage/ngc.h"

#include <string.h>

#include "base/digest.h"
#include "base/text.h"

#define TOKEN_LASTS_S 900       /* when NGC does not say */

static json_t *read_object(const struct sw_http_reply *reply, const char *what,
                           struct sw_error *err)
{
    sw_auto(json) json_t *answer = hub_json(reply, what, err);

    if (answer && !json_is_object(answer))
        return sw_null(sw_fail(err, SW_E_REFUSED, "%s: unexpected answer: not an object",
                               what));
    return sw_take(answer);
}

/* ---- small answers ------------------------------------------------------------------------------ */

char *ngc_read_token(const struct sw_http_reply *reply, const char *what, int64_t *lasts_ms,
                     struct sw_error *err)
{
    sw_auto(json) json_t *answer = read_object(reply, what, err);
    const char *token = sw_json_str(answer, "token");
    int64_t lasts_s = sw_json_int(answer, "expires_in", TOKEN_LASTS_S);

    if (!answer)
        return NULL;
    if (sw_text_empty(token))
        return sw_null(sw_fail(err, SW_E_REFUSED, "%s: NGC gave no token for the key", what));
    *lasts_ms = (lasts_s > 0 && lasts_s < 86400 ? lasts_s : TOKEN_LASTS_S) * 1000;
    return hub_secret(token, "NGC's answer", err);
}

char *ngc_read_latest(const struct sw_http_reply *reply, const struct ngc_endpoint *endpoint,
                      const char *what, struct sw_error *err)
{
    sw_auto(json) json_t *answer = read_object(reply, what, err);
    const char *version = sw_json_str(json_object_get(answer, endpoint->artifact),
                                      "latestVersionIdStr");

    if (!answer)
        return NULL;
    if (sw_text_empty(version) || strlen(version) > NGC_VERSION_MAX)
        return sw_null(sw_fail(err, SW_E_NOT_FOUND, "%s has no version yet", what));
    return sw_strdup(version);
}

int ngc_read_version(const struct sw_http_reply *reply, const struct ngc_endpoint *endpoint,
                     const char *what, struct sw_error *err)
{
    sw_auto(json) json_t *answer = read_object(reply, what, err);
    const char *status = sw_json_str(json_object_get(answer, endpoint->version), "status");

    if (!answer)
        return -1;
    if (status && strcmp(status, "UPLOAD_COMPLETE") != 0) {
        sw_fail(err, SW_E_CONFLICT, "%s is not complete: NGC calls it %.64s", what, status);
        return sw_hint(err, "try again when its upload is done, or name another version");
    }
    return 0;
}

char *ngc_read_link(const struct sw_http_reply *reply, const char *key, const char *what,
                    struct sw_error *err)
{
    sw_auto(json) json_t *answer = read_object(reply, what, err);
    const json_t *urls = json_object_get(answer, "urls");
    const json_t *paths = json_object_get(answer, "filepath");
    const char *url = json_string_value(json_array_get(urls, 0));
    const char *path = json_string_value(json_array_get(paths, 0));

    if (!answer)
        return NULL;
    if (sw_text_empty(url) || strlen(url) > SW_URI_MAX ||
        (!sw_text_starts(url, "https://") && !sw_text_starts(url, "http://")))
        return sw_null(sw_fail(err, SW_E_NOT_FOUND, "%s: NGC gives no link to this file", what));
    while (path && *path == '/')
        path++;
    if (path && strcmp(path, key) != 0)
        return sw_null(sw_fail(err, SW_E_REFUSED, "%s: NGC gives a link to another file", what));
    return sw_strdup(url);
}

char *ngc_read_reason(const struct sw_http_reply *reply)
{
    sw_auto(json) json_t *answer = hub_json(reply, "", NULL);
    const json_t *status = json_object_get(answer, "requestStatus");
    const char *words = sw_json_str(status, "statusDescription");
    const char *code = sw_json_str(status, "statusCode");
    const char *said = sw_text_empty(words) ? code : words;

    return sw_text_empty(said) ? sw_strdup("") : sw_format("; NGC says: %.300s", said);
}

/* ---- files --------------------------------------------------------------------------------------- */

static void set_sha256(struct sw_object *object, const char *base64)
{
    size_t length = 0;
    sw_autofree char *bytes = base64 ? sw_base64_bytes(base64, &length) : NULL;
    char hex[SW_DIGEST_HEX];

    if (!bytes || length != SW_DIGEST_SIZE)
        return;
    sw_hex((const unsigned char *)bytes, length, hex);
    hub_set_digest(object, hex);
    object->etag = sw_strdup(hex);
}

static void read_file(const json_t *file, const char *path, struct sw_object *object)
{
    const char *made = sw_json_str(file, "createdDate");
    int64_t made_ms = made ? sw_http_date(made) : -1;
    int64_t size = sw_json_int(file, "sizeInBytes", -1);

    *object = (struct sw_object){ .kind = SW_OBJECT_FILE, .size = size >= 0 ? size : -1 };
    object->name = sw_strdup(path);
    object->mtime_ms = made_ms > 0 ? made_ms : 0;
    set_sha256(object, sw_json_str(file, "sha256_base64"));
}

/* Remember a folder; false: it was reported already. Neither name nor list holds a line break. */
static bool is_new(const char *folder, char **told)
{
    sw_autofree char *line = sw_format("\n%s\n", folder);
    char *longer = NULL;

    if (*told && strstr(*told, line))
        return false;
    longer = sw_format("%s%s", *told ? *told : "", line);
    free(*told);
    *told = longer;
    return true;
}

static int list_one(struct sw_operation *op, const json_t *file, const char *path, char **told)
{
    const char *below = path + strlen(op->key);
    const char *slash = op->recursive ? NULL : strchr(below, '/');
    sw_auto(sw_object) struct sw_object object = { .size = -1 };

    if (!slash) {
        read_file(file, path, &object);
    } else {
        object.kind = SW_OBJECT_FOLDER;
        object.name = sw_strndup(path, (size_t)(slash - path) + 1);
        if (!is_new(object.name, told))
            return 0;
    }
    return op->found && op->found(op->found_context, &object) != 0;
}

/* Is this file the one asked for, or below it? */
static int match_one(struct sw_operation *op, const json_t *file, const char *path)
{
    size_t length = strlen(op->key);

    while (length > 0 && op->key[length - 1] == '/')
        length--;
    if (strncmp(path, op->key, length) != 0 || (path[length] != '\0' && path[length] != '/'))
        return 0;
    if (path[length] == '\0') {
        sw_object_done(&op->object);
        read_file(file, path, &op->object);
    } else {
        op->object.kind = SW_OBJECT_FOLDER;
    }
    return 1;
}

int ngc_read_files(const struct sw_http_reply *reply, const struct ngc_endpoint *endpoint,
                   const char *what, struct sw_operation *op, int page, char **told, bool *more,
                   struct sw_error *err)
{
    sw_auto(json) json_t *answer = read_object(reply, what, err);
    const json_t *files = json_object_get(answer, endpoint->files);
    int64_t pages = sw_json_int(json_object_get(answer, "paginationInfo"), "totalPages", 0);
    size_t index = 0;
    json_t *file = NULL;

    if (!answer)
        return -1;
    json_array_foreach(files, index, file) {
        const char *path = sw_json_str(file, "path");

        while (path && *path == '/')
            path++;
        if (sw_text_empty(path) || strchr(path, '\n'))
            return sw_fail(err, SW_E_REFUSED, "%s: the listing holds a file without a usable name",
                           what);
        if (op->kind == SW_OP_STAT ? match_one(op, file, path)
                                   : sw_text_starts(path, op->key) && list_one(op, file, path, told))
            return 1;
    }
    *more = pages > page + 1 && json_array_size(files) > 0;
    return 0;
}
