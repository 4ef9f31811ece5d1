/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hf.c - hf_model:// and hf_dataset://: repositories of the Hugging Face Hub, read only.
 *
 * A branch is pinned: the first answer that names a commit fixes it for as long as the repository
 * is open, so a push in the middle of a download can never mix two versions.
 *
 * Large files live on another host. The hub answers a GET with a redirect to a signed link there,
 * which we resolve by hand: the token goes to the hub's own host and to no other, and all ranges of
 * a file share one link until it expires.
 *
 * Pure steps, no I/O; sw_operation_run() and the transfer engine run them (storage.h).
 */
#include "storage/hf.h"

#include <string.h>

#include "base/text.h"

enum { HF_PIN = 1, HF_ASK, HF_FILE };      /* what the reply we wait for is about */

/* ---- addresses --------------------------------------------------------------------------------- */

static char *api_url(const struct hf_root *root, const char *route, const char *revision,
                     const char *path, const char *query)
{
    struct sw_buf url = SW_BUF_INIT;
    size_t length = strlen(path);

    while (length > 0 && path[length - 1] == '/')
        length--;
    sw_buf_addf(&url, "%s/api/%s/%s/%s/", root->endpoint, root->dataset ? "datasets" : "models",
                root->repo, route);
    sw_http_encode(&url, revision, strlen(revision), "");       /* its slashes too */
    if (length > 0)
        sw_buf_add_char(&url, '/');
    sw_http_encode(&url, path, length, "/");
    sw_buf_add(&url, query);
    return sw_buf_steal(&url);
}

static char *file_url(const struct hf_root *root, const char *key)
{
    const char *revision = root->commit ? root->commit : root->revision;
    struct sw_buf url = SW_BUF_INIT;

    sw_buf_addf(&url, "%s/%s%s/resolve/", root->endpoint, root->dataset ? "datasets/" : "",
                root->repo);
    sw_http_encode(&url, revision, strlen(revision), "");
    sw_buf_add_char(&url, '/');
    sw_http_encode(&url, key, strlen(key), "/");
    return sw_buf_steal(&url);
}

/* ---- questions --------------------------------------------------------------------------------- */

/* Ask the hub itself: the only requests that carry the token. Takes the URL. */
static enum sw_step ask_hub(struct sw_operation *op, int step, const char *method, char *url,
                            struct sw_http_request *request)
{
    const struct hf_root *root = (const struct hf_root *)op->root;

    free(op->note);
    op->note = sw_strdup(url);
    op->step = step;
    hub_request(request, method, url);
    hub_add_bearer(request, root->token, root->endpoint);
    if (op->kind == SW_OP_GET)
        hub_add_range(request, op);
    return SW_STEP_SEND;
}

/* Ask the host of a signed link, who must never see the token. Takes the URL. */
static enum sw_step ask_file_host(struct sw_operation *op, char *url, struct sw_http_request *request)
{
    free(op->note);
    op->note = sw_strdup(url);
    op->step = HF_FILE;
    hub_request(request, "GET", url);
    hub_add_range(request, op);
    request->large = true;
    return SW_STEP_SEND;
}

static enum sw_step ask_pin(struct sw_operation *op, struct sw_http_request *request)
{
    const struct hf_root *root = (const struct hf_root *)op->root;

    /* The full answer names every file of the repository: only the commit is wanted. */
    return ask_hub(op, HF_PIN, "GET", api_url(root, "revision", root->revision, "", "?expand=sha"),
                   request);
}

static enum sw_step ask_tree(struct sw_operation *op, struct sw_http_request *request)
{
    const struct hf_root *root = (const struct hf_root *)op->root;

    return ask_hub(op, HF_ASK, "GET",
                   api_url(root, "tree", root->commit, op->key,
                           op->recursive ? "?recursive=true" : "?recursive=false"), request);
}

static enum sw_step ask_paths(struct sw_operation *op, struct sw_http_request *request)
{
    const struct hf_root *root = (const struct hf_root *)op->root;
    size_t length = strlen(op->key);
    sw_autofree char *path = NULL;
    sw_auto(json) json_t *body = NULL;

    while (length > 0 && op->key[length - 1] == '/')
        length--;
    path = sw_strndup(op->key, length);
    body = sw_json_object(SW_SUB("paths", json_pack("[o]", sw_json_text(path))),
                          SW_BOOL("expand", false));
    ask_hub(op, HF_ASK, "POST", api_url(root, "paths-info", root->commit, "", ""), request);
    request->body_owned = sw_json_dump(body);
    request->body_length = (int64_t)strlen(request->body_owned);
    sw_http_request_header(request, "Content-Type", "application/json");
    return SW_STEP_SEND;
}

static enum sw_step ask_file(struct sw_operation *op, struct sw_http_request *request)
{
    struct hf_root *root = (struct hf_root *)op->root;
    const struct hub_link *link = hub_link_find(&root->links, op->key);

    if (!link)
        return ask_hub(op, HF_ASK, "GET", file_url(root, op->key), request);
    op->object.size = link->size;
    free(op->object.etag);
    op->object.etag = sw_strdup(link->etag);
    hub_set_digest(&op->object, link->etag);
    return ask_file_host(op, sw_strdup(link->url), request);
}

/* The question that answers the operation, now that the commit is known (or need not be). */
static enum sw_step ask(struct sw_operation *op, struct sw_http_request *request, struct sw_error *err)
{
    switch (op->kind) {
    case SW_OP_STAT: return ask_paths(op, request);
    case SW_OP_LIST: return ask_tree(op, request);
    case SW_OP_GET:  return ask_file(op, request);
    default: break;
    }
    return sw_fail(err, SW_E_UNSUPPORTED, "%s can only be read",
                   ((struct hf_root *)op->root)->head.uri);
}

static enum sw_step begin(struct sw_operation *op, struct sw_http_request *request, struct sw_error *err)
{
    const struct hf_root *root = (const struct hf_root *)op->root;
    bool is_root = op->kind == SW_OP_STAT && !op->key[strspn(op->key, "/")];

    op->turns = 0;
    /* A listing that was interrupted goes on with the page it was at. */
    if (op->kind == SW_OP_LIST && op->note && strstr(op->note, "/tree/"))
        return ask_hub(op, HF_ASK, "GET", sw_strdup(op->note), request);
    if (is_root || (!root->commit && op->kind != SW_OP_GET))
        return ask_pin(op, request);
    return ask(op, request, err);
}

/* ---- answers ----------------------------------------------------------------------------------- */

static char *name_of(const struct sw_operation *op)
{
    const struct hf_root *root = (const struct hf_root *)op->root;

    return sw_format("%s%s%s", root->head.uri, *op->key ? "/" : "", op->key);
}

static enum sw_step pinned(struct sw_operation *op, const struct sw_http_reply *reply,
                           struct sw_http_request *request, struct sw_error *err)
{
    struct hf_root *root = (struct hf_root *)op->root;
    sw_autofree char *commit = hf_read_commit(reply, root->head.uri, err);

    if (!commit)
        return SW_STEP_FAILED;
    if (!root->commit)                       /* else another operation was first: its word counts */
        root->commit = sw_take(commit);
    if (op->kind == SW_OP_STAT && !op->key[strspn(op->key, "/")]) {
        op->object.kind = SW_OBJECT_FOLDER;
        return SW_STEP_DONE;
    }
    return ask(op, request, err);
}

/* Every page of a tree is on the hub; mirrors forget to put their own name into the link. */
static char *next_page(const struct hf_root *root, const struct sw_http_reply *reply,
                       const char *asked)
{
    sw_autofree char *told = hf_next_page(reply);

    if (told && sw_text_starts(told, HF_HOME_PAGE "/"))
        return sw_format("%s%s", root->endpoint, told + strlen(HF_HOME_PAGE));
    return told ? sw_http_location(asked, told) : NULL;
}

static enum sw_step listed(struct sw_operation *op, const struct sw_http_reply *reply,
                           struct sw_http_request *request, struct sw_error *err)
{
    const struct hf_root *root = (const struct hf_root *)op->root;
    sw_autofree char *what = name_of(op);
    sw_autofree char *next = NULL;
    int stop = hf_read_tree(reply, what, op, err);

    if (stop != 0)
        return stop < 0 ? SW_STEP_FAILED : SW_STEP_DONE;
    next = next_page(root, reply, op->note);
    if (!next)
        return SW_STEP_DONE;
    if (!sw_http_same_host(next, root->endpoint) || strcmp(next, op->note) == 0)
        return sw_fail(err, SW_E_REFUSED, "%s: the next page of the listing is not on the hub",
                       what);
    if (sw_operation_turn_page(op, next, what, err) < 0)
        return SW_STEP_FAILED;
    op->turns = 0;
    return ask_hub(op, HF_ASK, "GET", sw_take(next), request);
}

static enum sw_step looked_up(struct sw_operation *op, const struct sw_http_reply *reply,
                              struct sw_error *err)
{
    const struct hf_root *root = (const struct hf_root *)op->root;
    sw_autofree char *what = name_of(op);

    if (hf_read_paths(reply, what, op, err) < 0)
        return SW_STEP_FAILED;
    if (op->object.kind != SW_OBJECT_NONE)
        return SW_STEP_DONE;
    return sw_fail(err, SW_E_NOT_FOUND, "%s: no such file in revision '%s'", what, root->revision);
}

/* The hub tells the commit and the version with every file. Both must be the ones we want. */
static enum sw_step learn_file(struct sw_operation *op, const struct sw_http_reply *reply,
                               struct sw_error *err)
{
    struct hf_root *root = (struct hf_root *)op->root;
    sw_autofree char *commit = sw_http_header(reply, "X-Repo-Commit");

    hf_read_file_headers(reply, &op->object);
    if (hub_hex(commit, 40) && !root->commit)
        root->commit = sw_strdup(commit);
    if ((hub_hex(commit, 40) && strcmp(commit, root->commit) != 0) ||
        (op->if_match && op->object.etag && strcmp(op->if_match, op->object.etag) != 0))
        return SW_STEP_CHANGED;
    if (op->object.size > HF_LARGEST) {
        sw_autofree char *what = name_of(op);

        sw_fail(err, SW_E_UNSUPPORTED,
                "%s has %.1f GB, and the hub serves files above 50 GB through its Xet protocol only, "
                "which Slipway does not support", what, (double)op->object.size / 1e9);
        return sw_hint(err,
                       "fetch it once with `hf download` to a shared folder and use that path");
    }
    return SW_STEP_DONE;
}

static enum sw_step redirected(struct sw_operation *op, const struct sw_http_reply *reply,
                               struct sw_http_request *request, struct sw_error *err)
{
    struct hf_root *root = (struct hf_root *)op->root;
    sw_autofree char *what = name_of(op);
    sw_autofree char *url = hub_redirect(reply, op->note, err);
    bool at_home = url && op->step != HF_FILE && sw_http_same_host(url, root->endpoint);

    op->turns += at_home || op->step == HF_FILE;       /* the way from hub to file host is none */
    if (!url || op->turns > HUB_TURNS || (!at_home && op->kind != SW_OP_GET)) {
        if (url)
            sw_fail(err, SW_E_REFUSED, "the hub redirects to another host, or in circles");
        return sw_wrap(err, "%s", what);
    }
    if (op->kind == SW_OP_STAT && op->step == HF_ASK && reply->status >= 307) {
        ask_paths(op, request);                /* the question is in the body: say it again */
        free(request->url);
        request->url = sw_strdup(url);
        free(op->note);
        op->note = sw_take(url);
        return SW_STEP_SEND;
    }
    if (at_home)                               /* renamed, or a cache of the hub's own */
        return ask_hub(op, op->step, "GET", sw_take(url), request);
    if (op->step == HF_FILE)                   /* the file host has moved it again */
        return ask_file_host(op, sw_take(url), request);
    hub_link_keep(&root->links, op->key, url, op->object.etag, op->object.size);
    return ask_file_host(op, sw_take(url), request);
}

static enum sw_step answered(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                             struct sw_http_request *request, struct sw_error *err)
{
    bool good = reply->status >= 200 && reply->status < 300 && reply->failure == SW_OK;
    sw_autofree char *what = name_of(op);
    enum sw_step step = SW_STEP_DONE;

    if (op->kind == SW_OP_GET && op->step == HF_ASK && reply->status / 100 <= 3)
        step = learn_file(op, reply, err);
    if (step != SW_STEP_DONE)
        return step;
    if (hub_is_redirect(reply->status))
        return redirected(op, reply, request, err);
    if (op->kind == SW_OP_LIST && *op->key && hf_is_no_entry(reply))
        return SW_STEP_DONE;                   /* as everywhere: nothing is below this name */
    if (!good)
        return hf_judge((struct hf_root *)op->root, reply, what, now_ms, op, err);
    if (op->step == HF_PIN)
        return pinned(op, reply, request, err);
    if (op->kind == SW_OP_LIST)
        return listed(op, reply, request, err);
    return op->kind == SW_OP_STAT ? looked_up(op, reply, err) : SW_STEP_DONE;
}

/* A file host knows nothing but links: what it refuses has expired, and the hub gives a new one. */
static enum sw_step file_host_answered(struct sw_operation *op, const struct sw_http_reply *reply,
                                       int64_t now_ms, struct sw_http_request *request,
                                       struct sw_error *err)
{
    struct hf_root *root = (struct hf_root *)op->root;
    sw_autofree char *what = name_of(op);

    if (hub_is_redirect(reply->status))
        return redirected(op, reply, request, err);
    if (!hub_link_is_over(reply->status))
        return sw_operation_judge(reply, what, now_ms, op, err);
    hub_link_drop(&root->links, op->key, op->note);
    if (++op->turns <= HUB_TURNS)
        return ask_file(op, request);
    return sw_fail(err, SW_E_REFUSED,
                   "%s: the file host refuses every link the hub gives (status %d)", what,
                   reply->status);
}

static enum sw_step hf_next(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                            struct sw_http_request *request, struct sw_error *err)
{
    if (!reply || op->step == 0)
        return begin(op, request, err);
    if (op->step == HF_FILE)
        return file_host_answered(op, reply, now_ms, request, err);
    return answered(op, reply, now_ms, request, err);
}

#define HF_CAN (SW_CAN(SW_OP_STAT) | SW_CAN(SW_OP_LIST) | SW_CAN(SW_OP_GET))

const struct sw_storage sw_storage_hf_model = {
    .scheme  = "hf_model",
    .summary = "a model of the Hugging Face Hub: hf_model://org/name[@revision][/path]",
    .can     = HF_CAN,
    .open    = hf_open, .close = hf_close, .next = hf_next,
};

const struct sw_storage sw_storage_hf_dataset = {
    .scheme  = "hf_dataset",
    .summary = "a dataset of the Hugging Face Hub: hf_dataset://org/name[@revision][/path]",
    .can     = HF_CAN,
    .open    = hf_open, .close = hf_close, .next = hf_next,
};
