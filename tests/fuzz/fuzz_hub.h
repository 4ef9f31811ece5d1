/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hub.h - a hub that says anything: replies from the input, one after the other.
 *
 * The input is a letter for the operation (s, l, g), a line with the key, and replies as they
 * would be on the wire, without reason phrase: status line, headers, an empty line, the body;
 * a line "---" ends each. Whatever they say, the storage ends with an answer or a reason, and what
 * it sends to a host that is not its own carries no credential.
 */
#ifndef SW_TESTS_FUZZ_HUB_H
#define SW_TESTS_FUZZ_HUB_H

#include <string.h>

#include "base/text.h"
#include "fuzz.h"
#include "storage/storage.h"

#define FUZZ_ROUNDS 64

struct fuzz_hub {
    const char *uri;
    const char *const *settings;      /* name, value, ..., NULL */
    const char *const *homes;         /* who may see the credential; NULL-ended */
};

static const char *fuzz_env(void *context, const char *name)
{
    const struct fuzz_hub *hub = context;

    for (const char *const *s = hub->settings; *s; s += 2)
        if (strcmp(s[0], name) == 0)
            return s[1];
    return NULL;
}

static int fuzz_found(void *context, struct sw_object *object)
{
    (void)context;
    CLAIM(object->name && *object->name);
    CLAIM(object->kind == SW_OBJECT_FILE || object->kind == SW_OBJECT_FOLDER);
    CLAIM(object->size >= -1);
    return 0;
}

/* Cut the next reply off the input. */
static void fuzz_reply(char **rest, struct sw_http_reply *reply)
{
    char *text = *rest;
    char *end = strstr(text, "\n---\n");
    char *body = NULL;
    char *headers = NULL;

    *rest = end ? end + 5 : text + strlen(text);
    if (end)
        *end = '\0';
    body = strstr(text, "\n\n");
    if (body)
        *body = '\0';
    headers = strchr(text, '\n');
    reply->status = atoi(text) % 600;
    reply->failure = reply->status ? SW_OK : SW_E_UNREACHABLE;
    sw_buf_add(&reply->headers, headers ? headers + 1 : "");
    sw_buf_add(&reply->headers, "\n");
    sw_buf_add(&reply->body, body ? body + 2 : "");
    reply->length = reply->received = (int64_t)reply->body.length;
}

static void fuzz_check_request(const struct fuzz_hub *hub, const struct sw_http_request *request)
{
    bool at_home = false;

    CLAIM(request->url && strncasecmp(request->url, "http", 4) == 0);
    for (const char *const *home = hub->homes; *home; home++)
        at_home = at_home || sw_http_same_host(request->url, *home);
    for (size_t i = 0; i < request->header_count; i++) {
        CLAIM(at_home || strncasecmp(request->headers[i], "Authorization:", 14) != 0);
        CLAIM(at_home || !strstr(request->headers[i], "sesame"));
        CLAIM(!strpbrk(request->headers[i], "\r\n"));
    }
}

static void fuzz_talk(const struct fuzz_hub *hub, struct sw_operation *op, char *rest)
{
    const struct sw_storage *storage = sw_root_storage(op->root);
    sw_auto(sw_http_reply) struct sw_http_reply reply = { 0 };
    struct sw_error err = { 0 };
    int64_t now_ms = 1700000000000;

    for (int round = 0; round < FUZZ_ROUNDS; round++) {
        sw_auto(sw_http_request) struct sw_http_request request = SW_HTTP_REQUEST_INIT;
        enum sw_step step = storage->next(op, round ? &reply : NULL, now_ms, &request, &err);

        CLAIM(step != SW_STEP_FAILED || err.code != SW_OK);
        CLAIM(!strstr(err.message, "sesame") && !strstr(err.hint, "sesame"));
        if (step != SW_STEP_SEND)
            return;
        fuzz_check_request(hub, &request);
        sw_http_reply_done(&reply);
        reply = (struct sw_http_reply){ 0 };
        fuzz_reply(&rest, &reply);
        now_ms += 1000;
    }
}

static int fuzz_hub_one(const struct fuzz_hub *hub, const uint8_t *data, size_t size)
{
    struct sw_storage_options options = { .env = fuzz_env, .env_context = (void *)hub };
    sw_autofree char *text = sw_strndup((const char *)data, size);
    char *line_end = strchr(text, '\n');
    sw_autofree char *below = NULL;
    struct sw_root *root = NULL;

    /* An input that says the secret itself proves nothing about us. */
    if (!line_end || strstr(text, "sesame") || !sw_storage_open(hub->uri, &options, &root, &below, NULL))
        return 0;
    *line_end = '\0';
    {
        sw_auto(sw_operation) struct sw_operation op = SW_OP_INIT(*text == 's'   ? SW_OP_STAT
                                                                  : *text == 'g' ? SW_OP_GET
                                                                   : SW_OP_LIST);
        op.root = root;
        op.key = *text ? text + 1 : "";
        op.recursive = *text == 'l';
        op.found = fuzz_found;
        fuzz_talk(hub, &op, line_end + 1);
    }
    sw_storage_close(root);
    return 0;
}

#endif
