/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rest.c - the REST client against a server that follows a script: one row for each request, what must
 * be in the request and what is answered.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/text.h"
#include "platform/kit/rest.h"

struct row {
    const char *asked;           /* must be in the request; NULL: anything */
    const char *answer;          /* NULL: silence; "": the connection is closed */
};

struct script {
    const struct row *rows;
    int count, at;               /* rows in all, requests so far */
    int silent;                  /* a connection that gets no answer; 0: none */
};

#define OK(body) "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" body
#define STATUS(line, body) "HTTP/1.1 " line "\r\nConnection: close\r\n\r\n" body

static void serve(void *context, int fd)
{
    struct script *script = context;
    const struct row *row = &script->rows[script->at];
    char asked[16384] = "";
    ssize_t got = read(fd, asked, sizeof asked - 1);

    if (script->at++ >= script->count)
        fail_msg("request %d is one too many: %s", script->at, asked);
    if (got <= 0 || (row->asked && !strstr(asked, row->asked)))
        fail_msg("request %d lacks '%s': %s", script->at, row->asked ? row->asked : "", asked);
    if (!row->answer) {
        script->silent = fd;
        return;
    }
    assert_int_equal(write(fd, row->answer, strlen(row->answer)), (ssize_t)strlen(row->answer));
    close(fd);
}

static struct sw_secret *count_tokens(void *context, bool refused, struct sw_error *err)
{
    int *count = context;

    assert_int_equal(refused, *count > 0);
    if (++*count > 2) {
        sw_fail(err, SW_E_CREDENTIAL, "there is no third token");
        return NULL;
    }
    return sw_secret_new(*count == 1 ? "tok-one" : "tok-two");
}

static const struct sw_rest_field fields[] = { { "spec.containers[0].image", "image" },
                                               { "spec.gpus", "gpus" }, { 0 } };

static struct sw_rest *client(struct script *script, int *tokens)
{
    struct sw_rest_options options = {
        .base_url = "http://127.0.0.1/api/", .name = "Moon", .fields = fields,
        .http = { .serve = serve, .serve_context = script },
        .token = tokens ? count_tokens : NULL, .token_context = tokens,
    };
    struct sw_rest *rest = sw_rest_open(&options, NULL);

    assert_non_null(rest);
    return rest;
}

#define ROWS(...) ((const struct row[]){ __VA_ARGS__ })
#define PLAY(...) { ROWS(__VA_ARGS__), SW_COUNT(ROWS(__VA_ARGS__)), 0, 0 }

static void a_call_says_what_it_wants_and_gets_a_document(void **state)
{
    struct script script = PLAY({ "POST /api/jobs/a%20b?x=%26&y=2 HTTP", OK("{\"id\":7}") });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    sw_autofree char *path = sw_rest_path("/jobs/%s", "a b");
    sw_auto(json) json_t *body = json_pack("{s:i}", "n", 1), *reply = NULL;
    struct sw_rest_call call = {
        .method = "POST", .path = path, .json = body,
        .query = (const struct sw_rest_pair[]){ { "x", "&" }, { "none", NULL }, { "y", "2" }, { 0 } },
    };

    (void)state;
    assert_int_equal(sw_rest_call(rest, &call, &reply, NULL), 0);
    assert_int_equal(sw_json_int(reply, "id", 0), 7);
}

static void every_status_has_one_meaning(void **state)
{
    static const struct { const char *answer; enum sw_code code; } rows[] = {
        { OK("{}"), SW_OK },                        { STATUS("201 Created", "{}"), SW_OK },
        { STATUS("204 No Content", ""), SW_OK },    { STATUS("304 Not Modified", ""), SW_OK },
        { STATUS("302 Found", ""), SW_E_REFUSED },  { STATUS("400 Bad", ""), SW_E_REFUSED },
        { STATUS("401 Who", ""), SW_E_CREDENTIAL }, { STATUS("403 No", ""), SW_E_REFUSED },
        { STATUS("404 None", ""), SW_E_NOT_FOUND }, { STATUS("409 Twice", ""), SW_E_CONFLICT },
        { STATUS("422 Odd", ""), SW_E_REFUSED },    { STATUS("410 Gone", ""), SW_E_REFUSED },
        { STATUS("408 Slow", ""), SW_E_UNREACHABLE }, { STATUS("429 Many", ""), SW_E_UNREACHABLE },
        { STATUS("500 Oops", ""), SW_E_UNREACHABLE }, { STATUS("502 Oops", ""), SW_E_UNREACHABLE },
        { STATUS("503 Busy", ""), SW_E_UNREACHABLE }, { STATUS("504 Oops", ""), SW_E_UNREACHABLE },
        { STATUS("999 What", ""), SW_E_UNREACHABLE },
        { OK("<html>log in</html>"), SW_E_UNREACHABLE },
        { "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", SW_E_UNREACHABLE },
        { "HTTP/1.1 200 OK\r\nContent-Le", SW_E_UNREACHABLE },
        { "", SW_E_UNREACHABLE },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct script script = PLAY({ NULL, rows[i].answer });
        sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
        sw_auto(json) json_t *reply = NULL;
        struct sw_error err = { 0 };

        sw_rest_call(rest, &(struct sw_rest_call){ .path = "/x" }, &reply, &err);
        if (err.code != rows[i].code)
            fail_msg("row %zu: %s: %s", i, sw_code_name(err.code), err.message);
    }
}

static void a_refused_token_is_fetched_again_once(void **state)
{
    struct script script = PLAY({ "Authorization: Bearer tok-one\r\n", STATUS("401 Who", "") },
                                { "Authorization: Bearer tok-two\r\n", OK("{}") },
                                { "Authorization: Bearer tok-two\r\n", OK("{}") });
    int tokens = 0;
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, &tokens);
    struct sw_rest_call call = { .method = "POST", .path = "/x" };

    (void)state;
    assert_int_equal(sw_rest_call(rest, &call, NULL, NULL), 0);
    assert_int_equal(sw_rest_call(rest, &call, NULL, NULL), 0);
    assert_int_equal(tokens, 2);
}

static int count_credentials(void *context, bool refused, struct sw_rest_credential *out,
                             struct sw_error *err)
{
    int *count = context;

    if (*count == 9)
        return sw_fail(err, SW_E_CREDENTIAL, "not logged in");
    *count += refused;
    if (*count)
        sw_buf_addf(&out->authorization, "Basic secret-%d", *count);
    return 0;
}

static void a_credential_is_asked_for_before_each_call_and_headers_are_in_all(void **state)
{
    struct script script = PLAY({ "As: bob\r\n", STATUS("401 Who", "") },
                                { "Authorization: Basic secret-1\r\n", OK("{}") },
                                { "Authorization: Basic secret-5\r\n", OK("{}") });
    int count = 0;
    struct sw_rest_options options = {
        .base_url = "http://127.0.0.1/api/", .name = "Moon",
        .http = { .serve = serve, .serve_context = &script },
        .authorize = count_credentials, .authorize_context = &count,
        .headers = (const struct sw_rest_pair[]){ { "As", "bob" }, { 0 } },
    };
    sw_auto(sw_rest) struct sw_rest *rest = sw_rest_open(&options, NULL);
    struct sw_rest_call call = { .path = "/x" };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_rest_call(rest, &call, NULL, NULL), 0);
    count = 5;
    assert_int_equal(sw_rest_call(rest, &call, NULL, NULL), 0);
    count = 9;
    assert_int_equal(sw_rest_call(rest, &call, NULL, &err), -1);
    assert_string_equal(err.message, "not logged in");
}

static void take_reason(void *context, const struct sw_rest_cause *cause)
{
    sw_buf_addf(context, "%s ", cause->reason ? cause->reason : "-");
}

static void every_cause_of_a_status_is_handed_over(void **state)
{
    sw_auto(json) json_t *status = json_pack("{s:{s:[{s:s},{s:s},i]}}", "details", "causes", "reason", "A",
                                             "field", "f", 5);
    sw_auto(sw_buf) struct sw_buf seen = SW_BUF_INIT;

    (void)state;
    assert_int_equal(sw_rest_causes(status, take_reason, &seen), 3);
    assert_string_equal(seen.data, "A - - ");
    assert_int_equal(sw_rest_causes(NULL, take_reason, &seen), 0);
}

static void a_token_refused_twice_is_a_credential_error_that_does_not_show_it(void **state)
{
    struct script script = PLAY({ "tok-one", STATUS("401 Who", "{\"error\":\"bad token\"}") },
                                { "tok-two", STATUS("401 Who", "{\"error\":\"bad token\"}") });
    int tokens = 0;
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, &tokens);
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_rest_call(rest, &(struct sw_rest_call){ .path = "/x" }, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    assert_string_equal(err.message, "Moon says: bad token");
    assert_int_equal(sw_rest_call(rest, &(struct sw_rest_call){ .path = "/x" }, NULL, &err), -1);
    assert_string_equal(err.message, "there is no third token");
}

static void a_server_that_asks_for_time_gets_it_where_the_call_may_be_repeated(void **state)
{
    static const char many[] = "HTTP/1.1 429 Many\r\nConnection: close\r\nRetry-After: 0\r\n\r\n";
    static const char busy[] = "HTTP/1.1 503 Busy\r\nConnection: close\r\nRetry-After: 0\r\n\r\n";
    struct script script = PLAY({ NULL, many }, { NULL, busy }, { NULL, OK("{}") }, { NULL, many });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    struct sw_rest_call call = { .path = "/x", .repeatable = true };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_rest_call(rest, &call, NULL, NULL), 0);
    assert_int_equal(script.at, 3);
    call.repeatable = false;
    assert_int_equal(sw_rest_call(rest, &call, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
}

static void nothing_is_repeated_behind_the_deadline(void **state)
{
    static const char later[] = "HTTP/1.1 429 Many\r\nConnection: close\r\nRetry-After: 30\r\n\r\n";
    struct script script = PLAY({ NULL, later }, { NULL, NULL });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    int64_t began = sw_monotonic_ms();
    struct sw_rest_call call = { .path = "/x", .repeatable = true, .deadline_ms = began + 300 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_rest_call(rest, &call, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    /* ... and silence ends with it. */
    assert_int_equal(sw_rest_call(rest, &call, NULL, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_string_equal(err.message, "Moon did not answer in time");
    assert_true(sw_monotonic_ms() - began < 5000);
    close(script.silent);
}

static void how_it_was_answered_can_be_seen(void **state)
{
    struct script script = PLAY({ NULL, "HTTP/1.1 410 Gone\r\nConnection: close\r\nX-Age: 3\r\n\r\n" });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    sw_auto(sw_rest_seen) struct sw_rest_seen seen = { 0 };

    (void)state;
    sw_rest_call(rest, &(struct sw_rest_call){ .path = "/x", .seen = &seen }, NULL, NULL);
    assert_int_equal(seen.status, 410);
    assert_non_null(strstr(sw_buf_text(&seen.headers), "X-Age: 3"));
}

static void a_refusal_names_the_key_of_the_job_file(void **state)
{
    static const struct { const char *body, *message, *hint; } rows[] = {
        { "{\"kind\":\"Status\",\"message\":\"it is invalid\",\"details\":{\"causes\":"
          "[{\"field\":\"spec.containers[0].image.name\",\"message\":\"x\"}]}}",
          "Moon says: it is invalid: spec.containers[0].image.name: x (job file: image)",
          "set by `image` in the job file" },
        { "{\"kind\":\"Status\",\"message\":\"Job \\\"j\\\" is invalid: [...]\",\"details\":{\"causes\":["
          "{\"reason\":\"FieldValueRequired\",\"field\":\"spec.containers[0].image\","
          "\"message\":\"Required value\"},"
          "{\"reason\":\"FieldValueInvalid\",\"field\":\"spec.gpus[nvidia.com/gpu]\"},"
          "{\"reason\":\"FieldValueInvalid\",\"field\":\"spec.gpus\",\"message\":\"Too many\"},"
          "{\"reason\":\"FieldValueInvalid\",\"field\":\"spec.other\",\"message\":\"Odd\"}]}}",
          "Moon says: Job \"j\" is invalid: spec.containers[0].image: Required value (job file: image); "
          "spec.gpus[nvidia.com/gpu]: FieldValueInvalid (job file: gpus); "
          "spec.gpus: Too many (job file: gpus); spec.other: Odd",
          "set by `image`, `gpus` in the job file" },
        { "{\"detail\":[{\"loc\":[\"body\",\"spec\",\"gpus\"],\"msg\":\"too many\"}]}",
          "Moon says: too many (spec.gpus)", "set by `gpus` in the job file" },
        { "{\"error\":{\"message\":\"spec.other is odd\",\"field\":\"spec.other\"}}",
          "Moon says: spec.other is odd", "" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *answer = sw_format(STATUS("422 Odd", "%s"), rows[i].body);
        struct script script = PLAY({ NULL, answer });
        sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
        struct sw_error err = { 0 };

        sw_rest_call(rest, &(struct sw_rest_call){ .path = "/x" }, NULL, &err);
        assert_string_equal(err.message, rows[i].message);
        assert_string_equal(err.hint, rows[i].hint);
    }
}

static void the_words_are_found_in_every_shape(void **state)
{
    static const struct { const char *body, *words; } rows[] = {
        { "{\"message\":\"m\"}", "m" },
        { "{\"error\":\"e\"}", "e" },
        { "{\"error\":{\"code\":4,\"message\":\"deep\"}}", "deep" },
        { "{\"error\":\"invalid_grant\",\"error_description\":\"expired\"}", "expired" },
        { "{\"detail\":\"d\"}", "d" },
        { "{\"title\":\"t\",\"status\":4,\"detail\":\"more\"}", "more" },
        { "{\"errors\":[{\"message\":\"first\"},{\"message\":\"second\"}]}", "first" },
        { "{\"cause\":\"no such thing\",\"message\":\"\",\"response\":404}", "no such thing" },
        { "[\"only\"]", "only" },
        { "\"quoted\"", "quoted" },
        { "plain text\n", "plain text" },
        { "{cut", "{cut" },
        { "<html><head><title>502 Bad Gateway</title></head></html>", "502 Bad Gateway" },
        { "\x1b[31mred", "^[[31mred" },
        { "<html></html>", NULL }, { " \n", NULL }, { "{}", "{}" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *words = sw_rest_words(rows[i].body, strlen(rows[i].body), NULL);

        if (!sw_text_same(words, rows[i].words))
            fail_msg("row %zu: '%s'", i, words ? words : "nothing");
    }
}

static int add_number(void *context, json_t *item)
{
    int *sum = context;

    *sum = *sum * 10 + (int)json_integer_value(item);
    return *sum > 100000 ? 1 : 0;
}

/* Each page is heard of before its items. */
static void add_page(void *context, const json_t *page)
{
    assert_true(json_is_object(page));
    *(int *)context = *(int *)context * 10 + 9;
}

static void pages_are_read_to_the_end(void **state)
{
    static const struct sw_rest_pages by_token = { "items", "meta.next", "after", add_page };
    static const struct sw_rest_pages by_count = { NULL, NULL, "offset" };
    struct script script = PLAY({ "GET /api/x?limit=2 HTTP",
                                  OK("{\"items\":[1,2],\"meta\":{\"next\":\"p&2\"}}") },
                                { "GET /api/x?limit=2&after=p%262 HTTP", OK("{\"items\":[3],\"meta\":{}}") },
                                { "GET /api/y HTTP", OK("[4,5]") }, { "GET /api/y?offset=2 HTTP", OK("[6]") },
                                { "GET /api/y?offset=3 HTTP", OK("[]") });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    struct sw_rest_call call = { .path = "/x",
                                 .query = (const struct sw_rest_pair[]){ { "limit", "2" }, { 0 } } };
    int seen = 0;

    (void)state;
    assert_int_equal(sw_rest_list(rest, &call, &by_token, add_number, &seen, NULL), 0);
    assert_int_equal(seen, 91293);
    seen = 0;
    call = (struct sw_rest_call){ .path = "/y" };
    assert_int_equal(sw_rest_list(rest, &call, &by_count, add_number, &seen, NULL), 0);
    assert_int_equal(seen, 456);
}

static void a_list_without_one_of_its_pages_is_none(void **state)
{
    static const struct sw_rest_pages by_token = { "items", "next", "after" };
    static const char again[] = OK("{\"items\":[1],\"next\":\"a\"}");
    struct script script = PLAY({ NULL, again }, { NULL, STATUS("500 Oops", "") }, { NULL, again },
                                { NULL, again }, { NULL, OK("{\"message\":\"hello\"}") });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    struct sw_rest_call call = { .path = "/x" };
    int seen = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {        /* an error, a list without end, something else */
        struct sw_error err = { 0 };

        assert_int_equal(sw_rest_list(rest, &call, &by_token, add_number, &seen, &err), -1);
        assert_int_equal(err.code, SW_E_UNREACHABLE);
    }
    assert_int_equal(script.at, 5);
}

static void a_stream_is_cut_into_documents(void **state)
{
    struct script script = PLAY({ NULL, OK("1\n\nno json\n2\r\n3") });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    int seen = 0;
    struct sw_rest_lines lines = { .take = add_number, .context = &seen };
    struct sw_rest_call call = { .path = "/x", .sink = sw_rest_lines_sink, .sink_context = &lines };

    (void)state;
    assert_int_equal(sw_rest_call(rest, &call, NULL, NULL), 0);
    assert_int_equal(seen, 12);              /* a line without an end may be cut */
    sw_rest_lines_done(&lines);
}

static void a_line_that_is_too_long_ends_the_stream(void **state)
{
    struct script script = PLAY({ NULL, OK("1\n      2\n3\n") });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    int seen = 0;
    struct sw_rest_lines lines = { .take = add_number, .context = &seen, .limit = 4 };
    struct sw_rest_call call = { .path = "/x", .sink = sw_rest_lines_sink, .sink_context = &lines };

    (void)state;
    assert_int_equal(sw_rest_call(rest, &call, NULL, NULL), -1);
    assert_int_equal(seen, 1);
    sw_rest_lines_done(&lines);
}

static void note_end(void *context, const struct sw_rest_answer *answer)
{
    *(int *)context = answer->status ? answer->status : -1;
}

static void several_calls_are_under_way_at_once(void **state)
{
    struct script script = PLAY({ NULL, OK("{}") }, { NULL, STATUS("404 None", "") });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    int first = 0, second = 0, dropped = 0;
    struct sw_rest_call call = { .path = "/x" };

    (void)state;
    assert_int_equal(sw_rest_send(rest, &call, note_end, &dropped, NULL), 0);
    sw_rest_drop(rest, &dropped);
    assert_int_equal(sw_rest_send(rest, &call, note_end, &first, NULL), 0);
    while (!first)
        assert_int_equal(sw_rest_work(rest, 1000, NULL), 0);
    assert_int_equal(sw_rest_send(rest, &call, note_end, &second, NULL), 0);
    while (sw_rest_busy(rest))
        assert_int_equal(sw_rest_work(rest, 1000, NULL), 0);
    assert_int_equal(first, 200);
    assert_int_equal(second, 404);
    assert_int_equal(dropped, 0);
}

/* A stream's request comes when its connection is there already: a child waits for it. */
static void serve_stream(void *context, int fd)
{
    struct script *script = context;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        serve(context, fd);
        _exit(0);
    }
    script->at++;
    close(fd);
}

static struct sw_rest *stream_client(struct script *script, int *tokens)
{
    struct sw_rest_options options = {
        .base_url = "http://127.0.0.1/api/", .name = "Moon",
        .http = { .serve = serve_stream, .serve_context = script },
        .token = tokens ? count_tokens : NULL, .token_context = tokens,
    };

    return sw_rest_open(&options, NULL);
}

static void a_websocket_is_asked_for_again_with_a_new_token(void **state)
{
    struct script script = PLAY({ "Authorization: Bearer tok-one\r\n", STATUS("401 Who", "") },
                                { "Authorization: Bearer tok-two\r\n",
                                  STATUS("403 No", "{\"message\":\"no rights\"}") });
    int tokens = 0;
    sw_auto(sw_rest) struct sw_rest *rest = stream_client(&script, &tokens);
    struct sw_error err = { 0 };

    (void)state;
    assert_null(sw_rest_websocket(rest, &(struct sw_rest_call){ .path = "/x" }, "a", &err));
    assert_int_equal(script.at, 2);
    assert_int_equal(err.code, SW_E_REFUSED);
    assert_string_equal(err.message, "Moon says: no rights");
    while (wait(NULL) > 0) {
    }
}

static void a_page_instead_of_a_websocket_is_a_refusal(void **state)
{
    struct script script = PLAY({ "GET /api/x?y=1 HTTP/1.1\r\n", OK("<html>hello</html>") });
    sw_auto(sw_rest) struct sw_rest *rest = stream_client(&script, NULL);
    sw_auto(sw_rest_seen) struct sw_rest_seen seen = { 0 };
    struct sw_rest_call call = { .path = "/x?y=1", .seen = &seen };
    struct sw_error err = { 0 };

    (void)state;
    assert_null(sw_rest_websocket(rest, &call, NULL, &err));
    assert_int_equal(err.code, SW_E_REFUSED);
    assert_non_null(strstr(err.message, "status 200 instead of a stream"));
    assert_int_equal(seen.status, 200);
    assert_true(wait(NULL) > 0);
}

/* What the row "clock" says after one call; owned. */
static char *clock_row(const char *answer)
{
    struct script script = PLAY({ NULL, answer });
    sw_auto(sw_rest) struct sw_rest *rest = client(&script, NULL);
    struct sw_rest_call call = { .path = "/x" };
    sw_auto(json) json_t *rows = json_array();

    sw_rest_call(rest, &call, NULL, NULL);
    sw_rest_clock(rest, rows);
    assert_int_equal(json_array_size(rows), 1);
    return sw_format("%s: %s", sw_json_str(json_array_get(rows, 0), "state"),
                     sw_json_str(json_array_get(rows, 0), "message"));
}

static void every_answer_tells_the_clock_of_its_server(void **state)
{
    static const struct { const char *answer, *begins; } rows[] = {
        { "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\r\n{}",
          "failed: Moon is " },
        { "HTTP/1.1 403 No\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: close\r\n\r\n{}",
          "failed: Moon is " },
        { OK("{}"), "not checked: an answer of Moon has no date" },
        { "", "not checked: an answer of Moon has no date" },
    };
    time_t now = sw_now_ms() / 1000;
    char date[40];
    sw_autofree char *right = NULL, *said = NULL;

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *row = clock_row(rows[i].answer);

        assert_true(sw_text_starts(row, rows[i].begins));
    }
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime(&now));
    right = sw_format("HTTP/1.1 200 OK\r\nDate: %s\r\nConnection: close\r\n\r\n{}", date);
    said = clock_row(right);
    assert_true(sw_text_starts(said, "ok: Moon "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_websocket_is_asked_for_again_with_a_new_token),
        cmocka_unit_test(a_page_instead_of_a_websocket_is_a_refusal),
        cmocka_unit_test(a_call_says_what_it_wants_and_gets_a_document),
        cmocka_unit_test(every_status_has_one_meaning),
        cmocka_unit_test(a_refused_token_is_fetched_again_once),
        cmocka_unit_test(a_credential_is_asked_for_before_each_call_and_headers_are_in_all),
        cmocka_unit_test(every_cause_of_a_status_is_handed_over),
        cmocka_unit_test(a_token_refused_twice_is_a_credential_error_that_does_not_show_it),
        cmocka_unit_test(a_server_that_asks_for_time_gets_it_where_the_call_may_be_repeated),
        cmocka_unit_test(nothing_is_repeated_behind_the_deadline),
        cmocka_unit_test(how_it_was_answered_can_be_seen),
        cmocka_unit_test(a_refusal_names_the_key_of_the_job_file),
        cmocka_unit_test(the_words_are_found_in_every_shape),
        cmocka_unit_test(pages_are_read_to_the_end),
        cmocka_unit_test(a_list_without_one_of_its_pages_is_none),
        cmocka_unit_test(a_stream_is_cut_into_documents),
        cmocka_unit_test(a_line_that_is_too_long_ends_the_stream),
        cmocka_unit_test(several_calls_are_under_way_at_once),
        cmocka_unit_test(every_answer_tells_the_clock_of_its_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
