/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hub_talk.h - hold a conversation with a storage: what it asks is looked at, what it hears is text.
 */
#ifndef SW_TESTS_HUB_TALK_H
#define SW_TESTS_HUB_TALK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "storage/storage.h"

struct talk {
    const struct sw_storage *storage;
    struct sw_root *root;
    char *key;
    struct sw_operation op;
    struct sw_http_request request;
    struct sw_error err;
    struct sw_buf found;         /* names told, one per line, with size and digest */
    int64_t now_ms;
};

/* Settings of a test: "NAME=value" lines. */
static const char *talk_settings = "";

static const char *talk_env(void *context, const char *name)
{
    static char values[8][256];
    static int next;
    const char *line = talk_settings;
    size_t length = strlen(name);

    (void)context;
    for (; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) == 0 && line[length] == '=') {
            char *value = values[next++ % 8];

            snprintf(value, sizeof values[0], "%.*s", (int)strcspn(line + length + 1, "\n"),
                     line + length + 1);
            return value;
        }
    }
    return NULL;
}

static int talk_found(void *context, struct sw_object *object)
{
    struct talk *talk = context;

    sw_buf_addf(&talk->found, "%s %lld %s\n", object->name, (long long)object->size,
                object->digest_kind ? object->digest : "-");
    return 0;
}

static void talk_forget_request(struct talk *talk)
{
    sw_http_request_done(&talk->request);
    talk->request = (struct sw_http_request)SW_HTTP_REQUEST_INIT;
}

static enum sw_step talk_next(struct talk *talk, const struct sw_http_reply *reply)
{
    talk_forget_request(talk);
    return talk->storage->next(&talk->op, reply, talk->now_ms, &talk->request, &talk->err);
}

/* Begin an operation on the root that is open. */
static enum sw_step talk_ask(struct talk *talk, enum sw_operation_kind kind, const char *key)
{
    sw_operation_done(&talk->op);
    talk->op = (struct sw_operation)SW_OP_INIT(kind);
    talk->op.root = talk->root;
    talk->op.key = key;
    talk->op.recursive = true;
    talk->op.found = talk_found;
    talk->op.found_context = talk;
    talk->err = (struct sw_error){ 0 };
    sw_buf_clear(&talk->found);
    return talk_next(talk, NULL);
}

static bool talk_open(struct talk *talk, const char *uri)
{
    struct sw_storage_options options = { .env = talk_env };

    *talk = (struct talk){ .request = SW_HTTP_REQUEST_INIT, .now_ms = 1700000000000 };
    talk->storage = sw_storage_open(uri, &options, &talk->root, &talk->key, &talk->err);
    return talk->storage != NULL;
}

static void talk_close(struct talk *talk)
{
    talk_forget_request(talk);
    sw_operation_done(&talk->op);
    sw_storage_close(talk->root);
    free(talk->key);
    sw_buf_done(&talk->found);
}
static inline void talk_auto(struct talk *talk) { talk_close(talk); }

static enum sw_step talk_hear(struct talk *talk, int status, const char *headers, const char *body)
{
    sw_auto(sw_http_reply) struct sw_http_reply reply = { .status = status, .length = -1 };

    sw_buf_add(&reply.headers, headers);
    sw_buf_add(&reply.body, body);
    reply.received = reply.length = (int64_t)strlen(body);
    return talk_next(talk, &reply);
}

/* Open it and hear that it is there. */
static inline void talk_ready(struct talk *talk, const char *uri, const char *reply)
{
    assert_true(talk_open(talk, uri));
    assert_int_equal(talk_ask(talk, SW_OP_STAT, ""), SW_STEP_SEND);
    assert_int_equal(talk_hear(talk, 200, "", reply), SW_STEP_DONE);
    assert_int_equal(talk->op.object.kind, SW_OBJECT_FOLDER);
}

/* None of these can be opened, and each says why. */
static inline void talk_refuses(const char *const *uris, size_t count)
{
    talk_settings = "";
    for (size_t i = 0; i < count; i++) {
        sw_auto(talk) struct talk talk = { 0 };

        assert_false(talk_open(&talk, uris[i]));
        assert_int_not_equal(talk.err.code, SW_OK);
    }
}

/* The value of a header in the request, or NULL. Borrowed. */
static const char *talk_header(const struct talk *talk, const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < talk->request.header_count; i++)
        if (strncasecmp(talk->request.headers[i], name, length) == 0 &&
            talk->request.headers[i][length] == ':')
            return talk->request.headers[i] + length + 2;
    return NULL;
}

#define assert_says(talk, part)                                                   \
    do {                                                                          \
        if (!strstr((talk).err.message, part) && !strstr((talk).err.hint, part))  \
            fail_msg("\"%s\" is not in \"%s\" / \"%s\"", part, (talk).err.message, \
                     (talk).err.hint);                                            \
    } while (0)

#endif
