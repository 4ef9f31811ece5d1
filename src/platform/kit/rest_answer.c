/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_answer.c - what an answer means: one table of statuses, and the words out of an error body.
 *
 * Only a definite answer gets a definite code. Everything else (5xx, silence, a proxy's page instead of
 * JSON) is SW_E_UNREACHABLE: the request may have been done, so the caller asks again by its own id.
 *
 * Pure, except for options.explain.
 */
#include <string.h>

#include "base/text.h"
#include "platform/kit/rest_internal.h"

#define WORDS_MAX 400                        /* of the server's words, in our message */
#define DEPTH_MAX 4                          /* errors in errors */

/* ---- statuses ----------------------------------------------------------------------------------- */

static const struct {
    int first, last;
    enum sw_code code;
} statuses[] = {
    { 200, 299, SW_OK },
    { 304, 304, SW_OK },
    { 401, 401, SW_E_CREDENTIAL },
    { 404, 404, SW_E_NOT_FOUND },
    { 408, 408, SW_E_UNREACHABLE },
    { 409, 409, SW_E_CONFLICT },
    { 429, 429, SW_E_UNREACHABLE },
    { 300, 499, SW_E_REFUSED },
};

static enum sw_code code_of(int status)
{
    for (size_t i = 0; i < SW_COUNT(statuses); i++)
        if (status >= statuses[i].first && status <= statuses[i].last)
            return statuses[i].code;
    return SW_E_UNREACHABLE;
}

/* ---- words -------------------------------------------------------------------------------------- */

struct rest_found {                               /* borrowed from the body's document */
    const char *words;
    char *field;                             /* owned */
};

/* ["body", "spec", 0, "image"] as "spec[0].image", the way FastAPI names a place. */
static char *field_of_steps(const json_t *steps)
{
    sw_auto(sw_buf) struct sw_buf field = SW_BUF_INIT;
    size_t i;
    json_t *step;

    json_array_foreach((json_t *)steps, i, step) {
        const char *name = json_string_value(step);

        if (i == 0 && sw_text_same(name, "body"))
            continue;
        if (json_is_integer(step))
            sw_buf_addf(&field, "[%d]", (int)json_integer_value(step));
        else if (name)
            sw_buf_addf(&field, "%s%s", field.length ? "." : "", name);
    }
    return field.length ? sw_buf_steal(&field) : NULL;
}

static void find_field(const json_t *object, struct rest_found *found)
{
    static const char *const names[] = { "field", "param", "parameter", "pointer" };
    const json_t *steps = json_object_get(object, "loc");

    for (size_t i = 0; !found->field && i < SW_COUNT(names); i++)
        found->field = sw_strdup(sw_json_str(object, names[i]));
    if (!found->field && json_is_array(steps))
        found->field = field_of_steps(steps);
}

/* The first words in this part of a body, from the most specific place to the least. */
static void find_words(const json_t *part, int depth, struct rest_found *found)
{
    static const char *const names[] = { "message", "detail", "error_description", "errors", "error",
                                         "msg", "title", "cause", "reason" };

    if (depth == DEPTH_MAX)
        return;
    if (json_is_string(part) && *json_string_value(part))
        found->words = json_string_value(part);
    if (json_is_array(part))
        find_words(json_array_get(part, 0), depth + 1, found);
    if (!json_is_object(part))
        return;
    find_field(part, found);
    for (size_t i = 0; !found->words && i < SW_COUNT(names); i++)
        find_words(json_object_get(part, names[i]), depth + 1, found);
}

/* A Kubernetes Status names its fields in details.causes[], which may be beside the words. */
static void find_cause(const json_t *body, struct rest_found *found)
{
    const json_t *causes = json_object_get(json_object_get(body, "details"), "causes");

    if (!found->field && json_is_array(causes))
        find_field(json_array_get(causes, 0), found);
}

/* Of a page for people only its title tells something. */
static const char *page_title(const char *text, size_t *length)
{
    const char *begin = strcasestr(text, "<title>"), *end;

    begin = begin ? begin + strlen("<title>") : NULL;
    end = begin ? strcasestr(begin, "</title>") : NULL;
    *length = end ? (size_t)(end - begin) : 0;
    return end ? begin : text;
}

static char *clean(const char *text, size_t length)
{
    sw_autofree char *out = NULL;

    while (length && strchr(" \t\r\n", text[length - 1]))
        length--;
    while (length && strchr(" \t\r\n", *text))
        text++, length--;
    out = sw_text_printable(text, length < WORDS_MAX ? length : WORDS_MAX);
    return *out ? sw_take(out) : NULL;
}

char *sw_rest_words(const char *body, size_t length, char **field)
{
    sw_autofree char *text = sw_strndup(body ? body : "", body ? length : 0);
    const char *start = text + strspn(text, " \t\r\n"), *words = start;
    bool maybe_json = *start && strchr("{[\"", *start);
    sw_auto(json) json_t *json = maybe_json ? sw_json_parse(start, strlen(start), "answer", NULL) : NULL;
    struct rest_found found = { 0 };
    size_t size = strlen(start);

    find_words(json, 0, &found);
    find_cause(json, &found);
    if (found.words)
        words = found.words, size = strlen(found.words);
    else if (*start == '<')
        words = page_title(start, &size);
    if (field)
        *field = sw_take(found.field);
    free(found.field);
    return clean(words, size);
}

/* ---- refusals ----------------------------------------------------------------------------------- */

/* All fields that a Kubernetes Status names, each with its key, behind the beginning of its words
 * ("Job.batch \"x\" is invalid"). false: it names none. */
static bool refused_fields(const struct sw_rest *rest, const struct sw_http_reply *reply, const char *words,
                           struct sw_error *err)
{
    static const char invalid[] = "is invalid";
    sw_auto(sw_buf) struct sw_buf list = SW_BUF_INIT, keys = SW_BUF_INIT;
    sw_auto(json) json_t *status = reply->body.length && *reply->body.data == '{'
                                       ? sw_json_parse(reply->body.data, reply->body.length, "answer", NULL)
                                       : NULL;
    const char *end = words ? strstr(words, invalid) : NULL;
    int head = end ? (int)(end - words + (long)strlen(invalid)) : 0;

    if (rest_causes_text(rest, status, &list, &keys) == 0)
        return false;
    sw_fail(err, code_of(reply->status), "%s says: %.*s%s%s", rest->options.name, head, words ? words : "",
            head ? ": " : "", list.data);
    if (keys.length)
        sw_hint(err, "set by %s in the job file", keys.data);
    return true;
}

static int refused(const struct sw_rest *rest, const struct sw_http_reply *reply, struct sw_error *err)
{
    sw_autofree char *field = NULL;
    sw_autofree char *words = sw_rest_words(reply->body.data, reply->body.length, &field);
    bool adds = field && words && !strstr(words, field);
    const char *key = field ? rest_key_of(rest, field) : NULL;

    if (!words)
        words = sw_format("status %d without a message", reply->status);
    if (!refused_fields(rest, reply, words, err)) {
        sw_fail(err, code_of(reply->status), "%s says: %s%s%s%s", rest->options.name, words,
                adds ? " (" : "", adds ? field : "", adds ? ")" : "");
        if (key)
            sw_hint(err, "set by `%s` in the job file", key);
    }
    if (rest->options.explain)
        rest->options.explain(rest->options.explain_context, reply, words, err);
    return -1;
}

/* The request did not leave (a certificate, an unusable address): that is certain. Otherwise the server may
 * have heard it. */
static int no_answer(const struct sw_rest *rest, const struct sw_http_reply *reply, struct sw_error *err)
{
    bool certain = !reply->retriable && reply->failure && reply->received == 0;

    sw_fail(err, certain ? reply->failure : SW_E_UNREACHABLE, "%s does not answer: %s",
            rest->options.name, reply->why);
    if (reply->hint)
        sw_hint(err, "%s", reply->hint);
    if (rest->options.explain)
        rest->options.explain(rest->options.explain_context, reply, reply->why, err);
    if (err->code == SW_E_TIMEOUT)
        err->code = SW_E_UNREACHABLE;
    return -1;
}

int rest_judge(const struct sw_rest *rest, const struct sw_http_reply *reply, bool wants_json,
               json_t **json, struct sw_error *err)
{
    struct sw_error ours = { 0 };

    err = err ? err : &ours;                 /* options.explain gets one in any case */
    if (reply->failure == SW_E_INTERRUPTED)
        return sw_fail(err, SW_E_INTERRUPTED, "the reader closed the answer");
    if (reply->status == 0)
        return no_answer(rest, reply, err);
    if (code_of(reply->status) != SW_OK)
        return refused(rest, reply, err);
    if (reply->body.length)
        *json = sw_json_parse(reply->body.data, reply->body.length, "answer", NULL);
    if (!*json && wants_json && reply->body.length)
        return sw_fail(err, SW_E_UNREACHABLE, "the answer of %s is not JSON",
                       rest->options.name);
    return 0;
}
