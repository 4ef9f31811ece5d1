/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hf_reply.c - what the Hugging Face Hub answers: trees, paths, headers of files, refusals.
 *
 * The hub says 401 to people without a token for everything it will not show: a private
 * repository, a gated one, one that does not exist. X-Error-Code tells them apart, and the words
 * depend on whether we sent a token, because the way out does. Pure: texts in, values out.
 */
#include "storage/hf.h"

#include <string.h>

#include "base/text.h"
#include "net/retry.h"

/* ---- entries of a tree ------------------------------------------------------------------------- */

static bool is_folder(const json_t *entry)
{
    return sw_text_same(sw_json_str(entry, "type"), "directory");
}

static void read_file_entry(const json_t *entry, struct sw_object *object)
{
    const json_t *lfs = json_object_get(entry, "lfs");
    const json_t *content = json_is_object(lfs) ? lfs : entry;
    const char *oid = sw_json_str(content, "oid");

    if (oid && sw_text_starts(oid, "sha256:"))
        oid += strlen("sha256:");
    object->kind = SW_OBJECT_FILE;
    object->size = sw_json_int(content, "size", -1);
    if (object->size < 0)
        object->size = -1;
    object->etag = sw_strdup(oid);
    hub_set_digest(object, oid);
}

static void read_entry(const json_t *entry, const char *path, struct sw_object *object)
{
    *object = (struct sw_object){ .size = -1 };
    if (is_folder(entry)) {
        object->kind = SW_OBJECT_FOLDER;
        object->name = sw_format("%s/", path);
    } else {
        read_file_entry(entry, object);
        object->name = sw_strdup(path);
    }
}

static json_t *read_array(const struct sw_http_reply *reply, const char *what,
                          struct sw_error *err)
{
    sw_auto(json) json_t *page = hub_json(reply, what, err);

    if (page && !json_is_array(page))
        return sw_null(sw_fail(err, SW_E_REFUSED, "%s: unexpected answer: not a list",
                               what));
    return sw_take(page);
}

int hf_read_tree(const struct sw_http_reply *reply, const char *what, struct sw_operation *op,
                 struct sw_error *err)
{
    sw_auto(json) json_t *page = read_array(reply, what, err);
    size_t index = 0;
    json_t *entry = NULL;

    if (!page)
        return -1;
    json_array_foreach(page, index, entry) {
        const char *type = sw_json_str(entry, "type");
        const char *path = sw_json_str(entry, "path");
        sw_auto(sw_object) struct sw_object object = { .size = -1 };

        if (sw_text_empty(path) || !sw_text_starts(path, op->key))
            return sw_fail(err, SW_E_REFUSED, "%s: the listing names a file outside of it", what);
        /* All below are files; their folders say nothing more. Other types are yet to come. */
        if (!sw_text_same(type, "file") && (op->recursive || !is_folder(entry)))
            continue;
        read_entry(entry, path, &object);
        if (op->found && op->found(op->found_context, &object) != 0)
            return 1;
    }
    return 0;
}

int hf_read_paths(const struct sw_http_reply *reply, const char *what, struct sw_operation *op,
                  struct sw_error *err)
{
    sw_auto(json) json_t *page = read_array(reply, what, err);
    size_t length = strlen(op->key);
    size_t index = 0;
    json_t *entry = NULL;

    if (!page)
        return -1;
    while (length > 0 && op->key[length - 1] == '/')
        length--;
    json_array_foreach(page, index, entry) {
        const char *path = sw_json_str(entry, "path");

        if (!path || strlen(path) != length || strncmp(path, op->key, length) != 0)
            continue;
        sw_object_done(&op->object);
        read_entry(entry, path, &op->object);
        return 0;
    }
    return 0;
}

char *hf_read_commit(const struct sw_http_reply *reply, const char *what, struct sw_error *err)
{
    sw_auto(json) json_t *info = hub_json(reply, what, err);
    const char *commit = sw_json_str(info, "sha");

    if (info && !hub_hex(commit, 40)) {
        sw_fail(err, SW_E_REFUSED, "%s: the answer has no commit", what);
        return sw_null(sw_hint(err, "if HF_ENDPOINT is set, check that a hub answers there"));
    }
    return info ? sw_strdup(commit) : NULL;
}

/* ---- headers ----------------------------------------------------------------------------------- */

/* W/"abc" and "abc" are abc. Owned. */
static char *plain_etag(const char *text)
{
    size_t length = 0;

    if (sw_text_starts(text, "W/"))
        text += 2;
    if (*text == '"')
        text++;
    length = strcspn(text, "\"");
    return length ? sw_strndup(text, length) : NULL;
}

static int64_t whole_number(const char *text)
{
    char *end = NULL;
    long long value = text && *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;

    return end && *end == '\0' && value >= 0 ? value : -1;
}

void hf_read_file_headers(const struct sw_http_reply *reply, struct sw_object *object)
{
    sw_autofree char *linked = sw_http_header(reply, "X-Linked-Etag");
    /* A redirect may have a version of its own: that of its text. */
    sw_autofree char *etag = linked || reply->status / 100 != 2 ? NULL
                                                                : sw_http_header(reply, "ETag");
    sw_autofree char *size = sw_http_header(reply, "X-Linked-Size");
    const char *told = linked ? linked : etag;

    object->kind = SW_OBJECT_FILE;
    if (told) {
        free(object->etag);
        object->etag = plain_etag(told);
        hub_set_digest(object, object->etag);
    }
    if (size)
        object->size = whole_number(size);
    else if (reply->status == 200)
        object->size = reply->length;
}

/* One "<url>; a=b; rel=next" of a Link header; moves *at behind it. */
static bool read_link(const char **at, const char **url, size_t *length)
{
    const char *open = strchr(*at, '<');
    const char *close = open ? strchr(open, '>') : NULL;
    size_t rest = 0;
    sw_autofree char *parameters = NULL;

    if (!close)
        return false;
    rest = strcspn(close, ",");
    parameters = sw_strndup(close, rest);
    *url = open + 1;
    *length = (size_t)(close - open - 1);
    *at = close + rest;
    if (!strstr(parameters, "rel=\"next\"") && !strstr(parameters, "rel=next"))
        *length = 0;
    return true;
}

char *hf_next_page(const struct sw_http_reply *reply)
{
    sw_autofree char *header = sw_http_header(reply, "Link");
    const char *at = header;
    const char *url = NULL;
    size_t length = 0;

    while (at && read_link(&at, &url, &length))
        if (length > 0 && length <= SW_URI_MAX)
            return sw_strndup(url, length);
    return NULL;
}

/* ---- refusals ---------------------------------------------------------------------------------- */

/* `"api";r=0;t=55`: none left, more in 55 seconds. */
static int64_t rate_limit_pause(const struct sw_http_reply *reply)
{
    sw_autofree char *limit = sw_http_header(reply, "RateLimit");
    const char *seconds = limit ? strstr(limit, ";t=") : NULL;
    long long value = seconds ? strtoll(seconds + 3, NULL, 10) : -1;

    return value >= 0 && value <= 3600 ? value * 1000 : -1;
}

/* To someone without a token the hub says 401 about everything it will not show. */
static enum sw_step say_not_there(const struct hf_root *root, const char *what,
                                  struct sw_error *err)
{
    if (root->token)
        sw_fail(err, SW_E_NOT_FOUND,
                "%s: no such repository, or the token of %s may not see it", what,
                root->token_from);
    else
        sw_fail(err, SW_E_CREDENTIAL,
                "%s: no such repository, or it is private and HF_TOKEN is not set", what);
    return sw_hint(err, "check the spelling at %s/%s%s", root->endpoint,
                   root->dataset ? "datasets/" : "", root->repo);
}

static enum sw_step say_gated(const struct hf_root *root, const char *what, struct sw_error *err)
{
    if (root->token)
        sw_fail(err, SW_E_CREDENTIAL,
                "%s is gated, and the account of the token in %s has no access", what,
                root->token_from);
    else
        sw_fail(err, SW_E_CREDENTIAL, "%s is gated, and HF_TOKEN is not set", what);
    return sw_hint(err, "ask for access at %s/%s%s, and set HF_TOKEN to a token of that account",
                   root->endpoint, root->dataset ? "datasets/" : "", root->repo);
}

static enum sw_step say_bad_token(const struct hf_root *root, const char *what,
                                  struct sw_error *err)
{
    sw_fail(err, SW_E_CREDENTIAL, "%s: the token of %s is refused", what,
            root->token ? root->token_from : "HF_TOKEN");
    return sw_hint(err, "create one at %s/settings/tokens", root->endpoint);
}

static enum sw_step say_no_revision(const struct hf_root *root, const char *what,
                                    struct sw_error *err)
{
    return sw_fail(err, SW_E_NOT_FOUND, "%s has no revision '%s'", what, root->revision);
}

static enum sw_step say_no_entry(const struct hf_root *root, const char *what,
                                 struct sw_error *err)
{
    return sw_fail(err, SW_E_NOT_FOUND, "%s: no such file in revision '%s'", what, root->revision);
}

static enum sw_step say_disabled(const struct hf_root *root, const char *what,
                                 struct sw_error *err)
{
    sw_fail(err, SW_E_REFUSED, "%s: the hub has disabled access to this repository", what);
    return sw_hint(err, "see %s/%s%s", root->endpoint, root->dataset ? "datasets/" : "",
                   root->repo);
}

bool hf_is_no_entry(const struct sw_http_reply *reply)
{
    sw_autofree char *code = sw_http_header(reply, "X-Error-Code");

    return reply->status == 404 && sw_text_same(code, "EntryNotFound");
}

typedef enum sw_step say_fn(const struct hf_root *root, const char *what, struct sw_error *err);

static const struct {
    const char *header, *value;
    say_fn *say;
} refusals[] = {
    { "X-Error-Code",    "GatedRepo",        say_gated },
    { "X-Error-Code",    "RevisionNotFound", say_no_revision },
    { "X-Error-Code",    "EntryNotFound",    say_no_entry },
    { "X-Error-Message", "Access to this resource is disabled.",        say_disabled },
    { "X-Error-Message", "Invalid credentials in Authorization header", say_bad_token },
    { "X-Error-Code",    "RepoNotFound",     say_not_there },
};

enum sw_step hf_judge(const struct hf_root *root, const struct sw_http_reply *reply,
                      const char *what, int64_t now_ms, struct sw_operation *op, struct sw_error *err)
{
    enum sw_step step = SW_STEP_FAILED;

    for (size_t i = 0; i < SW_COUNT(refusals) && reply->status >= 400; i++) {
        sw_autofree char *said = sw_http_header(reply, refusals[i].header);

        if (sw_text_same(said, refusals[i].value) && !sw_retry_status(reply->status))
            return refusals[i].say(root, what, err);
    }
    if (reply->status == 401)
        return say_not_there(root, what, err);
    step = sw_operation_judge(reply, what, now_ms, op, err);
    if (reply->status == 429 && op->retry_after_ms < 0)
        op->retry_after_ms = rate_limit_pause(reply);
    return step;
}
