/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ngc.c - ngc://org[/team]/name:version: models and resources of NVIDIA's catalogue, read only.
 *
 * The URI says neither whether it names a model or a resource, nor whether it is public. So there
 * are four endpoints (ours or guest, model or resource), tried in this order when the first question
 * is refused; the one that opens is kept. Each operation asks what is still unknown, one question
 * after the other (go()), and what it learns stays beside the open version: key exchanged for a
 * token, latest version, endpoint, links. A version, once complete, never changes.
 *
 * Files come from signed links on another host, which must see neither key nor token. A link that
 * is refused has expired, and is asked for again.
 *
 * Pure steps, no I/O; sw_operation_run() and the transfer engine run them (storage.h).
 */
#include "storage/ngc.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"

/* What the reply we wait for is about. The page n of a listing is PAGE_STEP + n. */
enum { NGC_TOKEN = 1, NGC_LATEST, NGC_VERSION, NGC_LINK, NGC_FILE, PAGE_STEP = 100 };
#define NGC_CAN (SW_CAN(SW_OP_STAT) | SW_CAN(SW_OP_LIST) | SW_CAN(SW_OP_GET))
#define REFRESH_EARLY_MS (300 * 1000)

const struct ngc_endpoint ngc_endpoints[NGC_ENDPOINTS] = {
    { false, "models",    "model",  "modelVersion",  "modelFiles" },
    { false, "resources", "recipe", "recipeVersion", "recipeFiles" },
    { true,  "models",    "model",  "modelVersion",  "modelFiles" },
    { true,  "resources", "recipe", "recipeVersion", "recipeFiles" },
};

static const struct ngc_endpoint *endpoint_of(const struct ngc_root *root)
{
    return &ngc_endpoints[root->endpoint < NGC_ENDPOINTS ? root->endpoint : NGC_ENDPOINTS - 1];
}

/* ---- addresses --------------------------------------------------------------------------------- */

static void add_part(struct sw_buf *url, const char *before, const char *part)
{
    if (!part)
        return;
    sw_buf_add(url, before);
    sw_http_encode(url, part, strlen(part), "");
}

/* "/v2/org/O/team/T/models/NAME"; as a guest "/v2/models/O/T/NAME". */
static void add_artifact(struct sw_buf *url, const struct ngc_root *root)
{
    const struct ngc_endpoint *endpoint = endpoint_of(root);

    sw_buf_add(url, root->api);
    if (endpoint->guest)
        add_part(url, "/v2/", endpoint->route);
    add_part(url, endpoint->guest ? "/" : "/v2/org/", root->org);
    add_part(url, endpoint->guest ? "/" : "/team/", root->team);
    if (!endpoint->guest)
        add_part(url, "/", endpoint->route);
    add_part(url, "/", root->name);
}

static char *artifact_url(const struct ngc_root *root)
{
    struct sw_buf url = SW_BUF_INIT;

    add_artifact(&url, root);
    return sw_buf_steal(&url);
}

static char *version_url(const struct ngc_root *root)
{
    struct sw_buf url = SW_BUF_INIT;

    add_artifact(&url, root);
    add_part(&url, "/versions/", root->version);
    return sw_buf_steal(&url);
}

static char *page_url(const struct ngc_root *root, int page)
{
    sw_autofree char *version = version_url(root);

    return sw_format("%s/files?page-size=%d&page-number=%d", version, NGC_PAGE_SIZE, page);
}

/* Links have a spelling of their own: no "versions", and guests name org and team in full. */
static char *link_url(const struct ngc_root *root, const char *key)
{
    const struct ngc_endpoint *endpoint = endpoint_of(root);
    struct sw_buf url = SW_BUF_INIT;

    sw_buf_addf(&url, "%s/v2", root->api);
    if (endpoint->guest)
        add_part(&url, "/", endpoint->route);
    add_part(&url, "/org/", root->org);
    add_part(&url, "/team/", root->team);
    if (!endpoint->guest)
        add_part(&url, "/", endpoint->route);
    add_part(&url, "/", root->name);
    add_part(&url, "/", root->version);
    add_part(&url, "/files?path=", key);
    return sw_buf_steal(&url);
}

static char *token_url(const struct ngc_root *root)
{
    struct sw_buf url = SW_BUF_INIT;

    sw_buf_addf(&url, "%s/token?service=ngc&scope=group/ngc:%s", root->auth, root->org);
    if (root->team)
        sw_buf_addf(&url, "&scope=group/ngc:%s/%s", root->org, root->team);
    return sw_buf_steal(&url);
}

/* ---- questions --------------------------------------------------------------------------------- */

/* A question to NGC itself: the only requests that carry key, token or guest id. Takes the URL. */
static enum sw_step ask_ngc(struct sw_operation *op, int step, char *url,
                            struct sw_http_request *request)
{
    const struct ngc_root *root = (const struct ngc_root *)op->root;

    op->step = step;
    op->asking = true;
    hub_request(request, "GET", url);
    sw_http_request_header(request, "Accept", "application/json");
    if (endpoint_of(root)->guest)
        sw_http_request_header(request, "X-NGC-Guest-Token", root->guest_id);
    else
        hub_add_bearer(request, root->key_kind == NGC_KEY_LEGACY ? root->token : root->key,
                       root->api);
    return SW_STEP_SEND;
}

static enum sw_step ask_token(struct sw_operation *op, struct sw_http_request *request)
{
    const struct ngc_root *root = (const struct ngc_root *)op->root;
    char *pair = sw_format("$oauthtoken:%s", root->key);
    char *coded = sw_base64(pair, strlen(pair));
    char *value = sw_format("Basic %s", coded);

    op->step = NGC_TOKEN;
    op->asking = true;
    hub_request(request, "GET", token_url(root));
    sw_http_request_header(request, "Accept", "application/json");
    sw_http_request_header(request, "Authorization", value);
    request->plain_said = sw_http_same_host(request->url, root->auth);
    sw_text_wipe(pair);
    sw_text_wipe(coded);
    sw_text_wipe(value);
    return SW_STEP_SEND;
}

/* The host of a signed link sees the link and the range, nothing else. */
static enum sw_step ask_file_host(struct sw_operation *op, const char *url,
                                  struct sw_http_request *request)
{
    free(op->note);
    op->note = sw_strdup(url);
    op->step = NGC_FILE;
    op->asking = false;
    hub_request(request, "GET", sw_strdup(url));
    hub_add_range(request, op);
    request->large = true;
    return SW_STEP_SEND;
}

static enum sw_step ask_file(struct sw_operation *op, struct sw_http_request *request)
{
    struct ngc_root *root = (struct ngc_root *)op->root;
    const struct hub_link *link = hub_link_find(&root->links, op->key);

    if (link)
        return ask_file_host(op, link->url, request);
    return ask_ngc(op, NGC_LINK, link_url(root, op->key), request);
}

/* A listing keeps in op->note its page and the folders told so far ("2\nweights/\n"), so that one
 * that was interrupted goes on where it was. */
static enum sw_step ask_page(struct sw_operation *op, int page, struct sw_http_request *request)
{
    const struct ngc_root *root = (const struct ngc_root *)op->root;
    const char *told = op->note ? strchr(op->note, '\n') : NULL;
    char *note = sw_format("%d%s", page, told ? told : "");

    free(op->note);
    op->note = note;
    return ask_ngc(op, PAGE_STEP + page, page_url(root, page), request);
}

/* Ask what is still unknown; when nothing is, ask what the operation wants. */
static enum sw_step go(struct sw_operation *op, int64_t now_ms, struct sw_http_request *request,
                       struct sw_error *err)
{
    struct ngc_root *root = (struct ngc_root *)op->root;
    bool is_root = op->kind == SW_OP_STAT && !op->key[strspn(op->key, "/")];

    if (!(NGC_CAN & SW_CAN(op->kind)))
        return sw_fail(err, SW_E_UNSUPPORTED, "%s can only be read", root->head.uri);
    if (!root->ready)
        op->turns = root->endpoint;                 /* whose answer the next one will be */
    if (!endpoint_of(root)->guest && root->key_kind == NGC_KEY_LEGACY &&
        (!root->token || root->token_until_ms - REFRESH_EARLY_MS < now_ms))
        return ask_token(op, request);
    if (!root->version)
        return ask_ngc(op, NGC_LATEST, artifact_url(root), request);
    if (!root->ready)
        return ask_ngc(op, NGC_VERSION, version_url(root), request);
    if (is_root) {
        op->object.kind = SW_OBJECT_FOLDER;
        return SW_STEP_DONE;
    }
    if (op->kind == SW_OP_GET)
        return ask_file(op, request);
    return ask_page(op, op->kind == SW_OP_LIST && op->note ? atoi(op->note) : 0, request);
}

/* ---- answers ----------------------------------------------------------------------------------- */

static char *name_of(const struct sw_operation *op)
{
    const struct ngc_root *root = (const struct ngc_root *)op->root;

    return sw_format("%s%s%s", root->head.uri, *op->key ? "/" : "", op->key);
}

static enum sw_step say_closed(const struct ngc_root *root, const struct sw_http_reply *reply,
                               struct sw_error *err)
{
    sw_autofree char *reason = ngc_read_reason(reply);

    if (root->key && root->denied)
        sw_fail(err, SW_E_CREDENTIAL, "%s: the key of %s may not read it, and it is not public%s",
                root->head.uri, root->key_from, root->denied);
    else if (!root->key && reply->status != 404)
        sw_fail(err, SW_E_CREDENTIAL, "%s is not public, and NGC_KEY is not set%s", root->head.uri,
                reason);
    else
        sw_fail(err, SW_E_NOT_FOUND, "%s: no such model or resource%s", root->head.uri,
                reason);
    sw_hint(err, root->key ? "check org, team, name and version at catalog.ngc.nvidia.com, and that "
                             "its licence is accepted"
                           : "set NGC_KEY to a key of an account that may read it");
    return SW_STEP_FAILED;
}

/* This endpoint stays closed: on to the next, unless another operation went there already. */
static enum sw_step try_next_door(struct sw_operation *op, const struct sw_http_reply *reply,
                                  int64_t now_ms, struct sw_http_request *request,
                                  struct sw_error *err)
{
    struct ngc_root *root = (struct ngc_root *)op->root;
    bool denied = reply->status == 401 || reply->status == 403 || op->step == NGC_TOKEN;

    if (denied && op->turns < NGC_FIRST_GUEST && !root->denied)
        root->denied = ngc_read_reason(reply);
    if (op->turns == root->endpoint)
        root->endpoint = denied && root->endpoint < NGC_FIRST_GUEST ? NGC_FIRST_GUEST : root->endpoint + 1;
    if (root->endpoint >= NGC_ENDPOINTS)
        return say_closed(root, reply, err);
    return go(op, now_ms, request, err);
}

static bool is_refusal(int status)
{
    return status == 400 || status == 401 || status == 403 || status == 404;
}

static enum sw_step learn(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                          struct sw_http_request *request, struct sw_error *err)
{
    struct ngc_root *root = (struct ngc_root *)op->root;
    sw_autofree char *version = NULL;
    char *token = NULL;
    int64_t lasts_ms = 0;

    switch (op->step) {
    case NGC_TOKEN:
        token = ngc_read_token(reply, root->head.uri, &lasts_ms, err);
        if (!token)
            return SW_STEP_FAILED;
        sw_text_wipe(root->token);
        root->token = token;
        root->token_until_ms = now_ms + (lasts_ms > 2 * REFRESH_EARLY_MS
                                             ? lasts_ms : lasts_ms / 2 + REFRESH_EARLY_MS);
        break;
    case NGC_LATEST:
        version = ngc_read_latest(reply, &ngc_endpoints[op->turns], root->head.uri, err);
        if (!version)
            return SW_STEP_FAILED;
        if (!root->version)
            root->version = sw_take(version);
        break;
    default:
        if (ngc_read_version(reply, &ngc_endpoints[op->turns], root->head.uri, err) < 0)
            return SW_STEP_FAILED;
        root->endpoint = op->turns;
        root->ready = true;
        op->turns = 0;
        break;
    }
    return go(op, now_ms, request, err);
}

static enum sw_step linked(struct sw_operation *op, const struct sw_http_reply *reply,
                           struct sw_http_request *request, struct sw_error *err)
{
    struct ngc_root *root = (struct ngc_root *)op->root;
    sw_autofree char *what = name_of(op);
    char *url = ngc_read_link(reply, op->key, what, err);
    enum sw_step step = SW_STEP_FAILED;

    if (url && hub_stays_secure(root->api, url, err) < 0)
        sw_wrap(err, "%s", what);
    else if (url) {
        hub_link_keep(&root->links, op->key, url, NULL, -1);
        step = ask_file_host(op, url, request);
    }
    sw_text_wipe(url);
    return step;
}

static enum sw_step paged(struct sw_operation *op, const struct sw_http_reply *reply,
                          struct sw_http_request *request, struct sw_error *err)
{
    struct ngc_root *root = (struct ngc_root *)op->root;
    sw_autofree char *what = name_of(op);
    int page = op->step - PAGE_STEP;
    bool more = false;
    int enough = ngc_read_files(reply, endpoint_of(root), what, op, page, &op->note, &more, err);

    if (enough < 0)
        return SW_STEP_FAILED;
    if (!enough && more && page >= NGC_PAGES_MAX)
        return sw_fail(err, SW_E_REFUSED, "%s: the server's listing does not end", what);
    if (!enough && more)
        return sw_operation_turn_page(op, sw_buf_text(&reply->body), what, err) < 0
                   ? SW_STEP_FAILED
                   : ask_page(op, page + 1, request);
    if (op->kind == SW_OP_LIST || enough)
        return SW_STEP_DONE;
    return sw_fail(err, SW_E_NOT_FOUND, "%s: no such file", what);
}

/* What everybody may see, but only who agreed to its terms may have: that is done in the catalogue. */
static enum sw_step say_terms(const struct ngc_root *root, const char *reason,
                              struct sw_error *err)
{
    struct sw_buf page = SW_BUF_INIT;
    sw_autofree char *address = NULL;

    add_part(&page, "catalog.ngc.nvidia.com/orgs/", root->org);
    add_part(&page, "/teams/", root->team);
    add_part(&page, "/", endpoint_of(root)->route);
    add_part(&page, "/", root->name);
    add_part(&page, "?version=", root->version);
    address = sw_buf_steal(&page);
    sw_fail(err, SW_E_CREDENTIAL, "%s: its terms are not accepted%s", root->head.uri, reason);
    return sw_hint(err, "accept them at %s, then try again", address);
}

/* The version was open to us a moment ago: a token that ran out, one file that is not there, or terms
 * no endpoint accepted. */
static enum sw_step refused(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                            struct sw_http_request *request, struct sw_error *err)
{
    struct ngc_root *root = (struct ngc_root *)op->root;
    sw_autofree char *what = name_of(op);
    sw_autofree char *reason = ngc_read_reason(reply);
    enum sw_step step = SW_STEP_FAILED;

    if (reply->status == 401 && root->token && op->turns++ == 0) {
        root->token_until_ms = 0;
        return go(op, now_ms, request, err);
    }
    if (reply->status == 412)
        return say_terms(root, reason, err);
    step = sw_operation_judge(reply, what, now_ms, op, err);
    if (step == SW_STEP_FAILED && err && *reason) {
        sw_autofree char *said = sw_strdup(err->message);

        sw_fail(err, err->code, "%s%s", said, reason);
    }
    return step;
}

static enum sw_step answered(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                             struct sw_http_request *request, struct sw_error *err)
{
    bool good = reply->status >= 200 && reply->status < 300;
    bool at_the_door = op->step <= NGC_VERSION && !((struct ngc_root *)op->root)->ready;

    if (at_the_door && is_refusal(reply->status))
        return try_next_door(op, reply, now_ms, request, err);
    if (!good)
        return refused(op, reply, now_ms, request, err);
    if (op->step <= NGC_VERSION)
        return learn(op, reply, now_ms, request, err);
    return op->step == NGC_LINK ? linked(op, reply, request, err) : paged(op, reply, request, err);
}

static enum sw_step file_host_answered(struct sw_operation *op, const struct sw_http_reply *reply,
                                       int64_t now_ms, struct sw_http_request *request,
                                       struct sw_error *err)
{
    struct ngc_root *root = (struct ngc_root *)op->root;
    sw_autofree char *what = name_of(op);
    bool elsewhere = hub_is_redirect(reply->status);

    if (!elsewhere && !hub_link_is_over(reply->status)) {
        op->object.kind = SW_OBJECT_FILE;
        if (!op->object.etag)                  /* a version never changes: it is what was wanted */
            op->object.etag = sw_strdup(op->if_match);
        return sw_operation_judge(reply, what, now_ms, op, err);
    }
    if (++op->turns > HUB_TURNS)
        return sw_fail(err, SW_E_REFUSED,
                       "%s: the file host refuses every link NGC gives (status %d)", what,
                       reply->status);
    if (elsewhere) {
        sw_autofree char *url = hub_redirect(reply, op->note, err);

        return url ? ask_file_host(op, url, request) : SW_STEP_FAILED;
    }
    hub_link_drop(&root->links, op->key, op->note);
    return ask_file(op, request);
}

static enum sw_step ngc_next(struct sw_operation *op, const struct sw_http_reply *reply, int64_t now_ms,
                             struct sw_http_request *request, struct sw_error *err)
{
    if (!reply || op->step == 0) {
        op->turns = 0;
        return go(op, now_ms, request, err);
    }
    if (op->step == NGC_FILE)
        return file_host_answered(op, reply, now_ms, request, err);
    return answered(op, reply, now_ms, request, err);
}

const struct sw_storage sw_storage_ngc = {
    .scheme  = "ngc",
    .summary = "a model or resource of NGC: ngc://org[/team]/name:version[/path]",
    .can     = NGC_CAN,
    .open    = ngc_open, .close = ngc_close, .next = ngc_next,
};
