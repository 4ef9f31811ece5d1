/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ngc.c - ngc.c, ngc_open.c, ngc_reply.c: which doors are tried, and who sees the key.
 */
#include "hub_talk.h"
#include "storage/ngc.h"

#define API      "https://api.ngc.nvidia.com"
#define COMPLETE "{\"modelVersion\":{\"versionId\":\"1.0\",\"status\":\"UPLOAD_COMPLETE\"}}"
#define RECIPE   "{\"recipeVersion\":{\"versionId\":\"1.0\",\"status\":\"UPLOAD_COMPLETE\"}}"
#define MISSING  "{\"requestStatus\":{\"statusCode\":\"NOT_FOUND\",\"statusDescription\":" \
                 "\"Not found: the artifact\",\"requestId\":\"1\"}}"
#define NEW_KEY  "NGC_KEY=nvapi-secret\nHOME=/nowhere"
#define OLD_KEY  "NGC_API_KEY=bGVnYWN5c2VjcmV0\nHOME=/nowhere"

static void open_ready(struct talk *talk, const char *uri)
{
    talk_ready(talk, uri, COMPLETE);
}

/* ---- addresses and keys ------------------------------------------------------------------------ */

static void a_uri_is_cut_into_team_name_version_and_path(void **state)
{
    static const struct { const char *path, *team, *name, *version, *key; } rows[] = {
        { "name:1.0", NULL, "name", "1.0", "" },
        { "team/name:1.0", "team", "name", "1.0", "" },
        { "team/name:1.0/a/b.txt", "team", "name", "1.0", "a/b.txt" },
        { "name:1.0/a:b", NULL, "name", "1.0", "a:b" },
        { "name", NULL, "name", NULL, "" },
        { "team/name", "team", "name", NULL, "" },
        { "no-team/name:latest", NULL, "name", NULL, "" },
        { "name:1.0/", NULL, "name", "1.0", "" },
        { "name:1.0+cu12 b~1/x", NULL, "name", "1.0+cu12 b~1", "x" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *team = NULL;
        sw_autofree char *name = NULL;
        sw_autofree char *version = NULL;
        sw_autofree char *key = NULL;

        assert_int_equal(ngc_cut(rows[i].path, &team, &name, &version, &key, NULL), 0);
        assert_true(sw_text_same(team, rows[i].team));
        assert_string_equal(name, rows[i].name);
        assert_true(sw_text_same(version, rows[i].version));
        assert_string_equal(key, rows[i].key);
    }
}

static void an_odd_uri_is_refused(void **state)
{
    static const char *const uris[] = {
        "ngc://org", "ngc://org/", "ngc://org/a/b/c", "ngc://org/team/na me:1", "ngc:///x:1",
        "ngc://org/../x:1", "ngc://org/name:", "ngc://org//name:1", "ngc://org/name:1%2f",
        "ngc://org/name:..", "ngc://org/name:./x", "ngc://org/name:1:2", "ngc://org/name:1\n2",
    };

    (void)state;
    talk_refuses(uris, SW_COUNT(uris));
}

static void the_looks_of_a_key_tell_its_kind(void **state)
{
    (void)state;
    assert_int_equal(ngc_key_kind("nvapi-abc"), NGC_KEY_BEARER);
    assert_int_equal(ngc_key_kind("eyJhbGciOi.eyJzdWIi.sig"), NGC_KEY_BEARER);
    assert_int_equal(ngc_key_kind("ZGF0YWRhdGE6MTIz"), NGC_KEY_LEGACY);
}

static void the_config_file_of_the_client_is_understood(void **state)
{
    static const struct { const char *text, *key; } rows[] = {
        { ";WARNING\n[CURRENT]\napikey = nvapi-x\nformat_type = ascii\norg = o\n", "nvapi-x" },
        { "apikey=abc", "abc" },
        { "[CURRENT]\r\napikey: abc\r\n", "abc" },
        { "[CURRENT]\norg = apikey\n", NULL },
        { "apikey = no-apikey\n", NULL },
        { "apikey =\n", NULL },
        { "apikeys = 1", NULL },
        { "[nvapi-a]\napikey = nvapi-a\n[CURRENT]\napikey = nvapi-b\n", "nvapi-b" },
        { "[nvapi-a]\napikey = nvapi-a\n[CURRENT]\norg = o\n", NULL },
        { "[DEFAULT]\napikey = a\n[CURRENT]\norg = o\n", "a" },
        { "[DEFAULT]\napikey = a\n[CURRENT]\napikey = b\n", "b" },
        { "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *key = ngc_config_key(rows[i].text);

        assert_true(sw_text_same(key, rows[i].key));
    }
}

/* ---- doors --------------------------------------------------------------------------------------- */

static void a_new_key_is_sent_as_it_is(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = NEW_KEY;
    assert_true(talk_open(&talk, "ngc://nv/tao/net:1.0"));
    assert_int_equal(talk_ask(&talk, SW_OP_STAT, ""), SW_STEP_SEND);
    assert_string_equal(talk.request.url, API "/v2/org/nv/team/tao/models/net/versions/1.0");
    assert_string_equal(talk_header(&talk, "Authorization"), "Bearer nvapi-secret");
    assert_null(talk_header(&talk, "X-NGC-Guest-Token"));
}

static void an_old_key_is_exchanged_and_refreshed(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = OLD_KEY;
    assert_true(talk_open(&talk, "ngc://nv/tao/net:1.0"));
    assert_int_equal(talk_ask(&talk, SW_OP_GET, "x"), SW_STEP_SEND);
    assert_true(talk.op.asking);
    assert_string_equal(talk.request.url, "https://authn.nvidia.com/token?service=ngc"
                                          "&scope=group/ngc:nv&scope=group/ngc:nv/tao");
    assert_string_equal(talk_header(&talk, "Authorization"),
                        "Basic JG9hdXRodG9rZW46YkdWbllXTjVjMlZqY21WMA==");
    assert_int_equal(talk_hear(&talk, 200, "", "{\"token\":\"t1\",\"expires_in\":900}"),
                     SW_STEP_SEND);
    assert_string_equal(talk_header(&talk, "Authorization"), "Bearer t1");
    assert_int_equal(talk_hear(&talk, 200, "", COMPLETE), SW_STEP_SEND);
    talk.now_ms += 500 * 1000;
    talk_ask(&talk, SW_OP_LIST, "");
    assert_string_equal(talk_header(&talk, "Authorization"), "Bearer t1");
    talk.now_ms += 150 * 1000;                       /* less than 300 s are left */
    talk_ask(&talk, SW_OP_LIST, "");
    assert_non_null(strstr(talk.request.url, "/token?"));
    talk_hear(&talk, 200, "", "{\"token\":\"t2\",\"expires_in\":900}");
    assert_string_equal(talk_header(&talk, "Authorization"), "Bearer t2");
    assert_int_equal(talk_hear(&talk, 401, "", ""), SW_STEP_SEND);
    assert_non_null(strstr(talk.request.url, "/token?"));
    talk_hear(&talk, 200, "", "{\"token\":\"t3\"}");
    assert_int_equal(talk_hear(&talk, 401, "", ""), SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_CREDENTIAL);
}

static void a_token_that_is_none_is_refused(void **state)
{
    static const char *const answers[] = {
        "{\"token\":\"\"}", "{\"token\":\"t    ?  \"}", "{\"token\":\"a\\nb\"}", "{}", "[]",
        "{\"token\":\"\u00e4\"}",
    };

    (void)state;
    talk_settings = OLD_KEY;
    for (size_t i = 0; i < SW_COUNT(answers); i++) {
        sw_auto(talk) struct talk talk = { 0 };

        assert_true(talk_open(&talk, "ngc://nv/net:1.0"));
        talk_ask(&talk, SW_OP_STAT, "");
        assert_int_equal(talk_hear(&talk, 200, "", answers[i]), SW_STEP_FAILED);
        assert_int_not_equal(talk.err.code, SW_OK);
    }
}

static void without_a_key_the_guest_routes_are_used(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "HOME=/nowhere";
    assert_true(talk_open(&talk, "ngc://nv/tao/net:1.0"));
    assert_int_equal(talk_ask(&talk, SW_OP_GET, "a b.txt"), SW_STEP_SEND);
    assert_string_equal(talk.request.url, API "/v2/models/nv/tao/net/versions/1.0");
    assert_null(talk_header(&talk, "Authorization"));
    assert_int_equal(strlen(talk_header(&talk, "X-NGC-Guest-Token")), 36);
    assert_int_equal(talk_hear(&talk, 200, "", COMPLETE), SW_STEP_SEND);
    assert_string_equal(talk.request.url,
                        API "/v2/models/org/nv/team/tao/net/1.0/files?path=a%20b.txt");
}

static void what_is_no_model_may_be_a_resource(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = NEW_KEY;
    assert_true(talk_open(&talk, "ngc://nv/net:1.0"));
    talk_ask(&talk, SW_OP_LIST, "");
    assert_int_equal(talk_hear(&talk, 404, "", MISSING), SW_STEP_SEND);
    assert_string_equal(talk.request.url, API "/v2/org/nv/resources/net/versions/1.0");
    assert_int_equal(talk_hear(&talk, 200, "", RECIPE), SW_STEP_SEND);
    assert_string_equal(talk.request.url, API "/v2/org/nv/resources/net/versions/1.0/files"
                                              "?page-size=500&page-number=0");
    assert_int_equal(talk_hear(&talk, 200, "", "{\"recipeFiles\":[{\"path\":\"a\","
                                               "\"sizeInBytes\":3}]}"), SW_STEP_DONE);
    assert_string_equal(sw_buf_text(&talk.found), "a 3 -\n");
}

static void a_key_of_another_org_still_reads_what_is_public(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = OLD_KEY;
    assert_true(talk_open(&talk, "ngc://nv/net:1.0"));
    talk_ask(&talk, SW_OP_STAT, "");
    assert_int_equal(talk_hear(&talk, 401, "", "{\"message\":\"Invalid org\"}"), SW_STEP_SEND);
    assert_string_equal(talk.request.url, API "/v2/models/nv/net/versions/1.0");
    assert_null(talk_header(&talk, "Authorization"));
    assert_int_equal(talk_hear(&talk, 200, "", COMPLETE), SW_STEP_DONE);
}

static void closed_doors_are_reported_in_clear_words(void **state)
{
    static const struct {
        const char *settings; int status; enum sw_code code; const char *says;
    } rows[] = {
        { NEW_KEY, 404, SW_E_NOT_FOUND, "no such model or resource" },
        { NEW_KEY, 404, SW_E_NOT_FOUND, "Not found: the artifact" },
        { NEW_KEY, 403, SW_E_CREDENTIAL, "key of NGC_KEY may not read it" },
        { "HOME=/nowhere", 403, SW_E_CREDENTIAL, "NGC_KEY is not set" },
        { "HOME=/nowhere", 401, SW_E_CREDENTIAL, "NGC_KEY is not set" },
        { "HOME=/nowhere", 404, SW_E_NOT_FOUND, "set NGC_KEY" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(talk) struct talk talk = { 0 };
        enum sw_step step = SW_STEP_SEND;

        talk_settings = rows[i].settings;
        assert_true(talk_open(&talk, "ngc://nv/net:1.0"));
        step = talk_ask(&talk, SW_OP_LIST, "");
        for (int n = 0; n < 10 && step == SW_STEP_SEND; n++)
            step = talk_hear(&talk, rows[i].status, "", MISSING);
        assert_int_equal(step, SW_STEP_FAILED);
        assert_int_equal(talk.err.code, rows[i].code);
        assert_says(talk, rows[i].says);
        assert_null(strstr(talk.err.message, "secret"));
    }
}

/* ---- versions and files ------------------------------------------------------------------------ */

static void latest_is_asked_once(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = NEW_KEY;
    assert_true(talk_open(&talk, "ngc://nv/net"));
    talk_ask(&talk, SW_OP_STAT, "");
    assert_string_equal(talk.request.url, API "/v2/org/nv/models/net");
    assert_int_equal(talk_hear(&talk, 200, "", "{\"model\":{\"latestVersionIdStr\":\"2/b\"}}"),
                     SW_STEP_SEND);
    assert_string_equal(talk.request.url, API "/v2/org/nv/models/net/versions/2%2Fb");
    assert_int_equal(talk_hear(&talk, 200, "", COMPLETE), SW_STEP_DONE);
    talk_ask(&talk, SW_OP_GET, "x");
    assert_string_equal(talk.request.url, API "/v2/org/nv/models/net/2%2Fb/files?path=x");
}

static void a_version_that_is_not_complete_is_not_used(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = NEW_KEY;
    assert_true(talk_open(&talk, "ngc://nv/net:1.0"));
    talk_ask(&talk, SW_OP_LIST, "");
    assert_int_equal(talk_hear(&talk, 200, "", "{\"modelVersion\":{\"status\":\"UPLOAD_PENDING\"}}"),
                     SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_CONFLICT);
    assert_says(talk, "UPLOAD_PENDING");
}

static void terms_that_no_client_accepted_are_reported_with_the_place_to_do_it(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = NEW_KEY;
    open_ready(&talk, "ngc://nv/tao/net:1 b");
    talk_ask(&talk, SW_OP_LIST, "");
    assert_int_equal(talk_hear(&talk, 412, "", MISSING), SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_CREDENTIAL);
    assert_says(talk, "its terms are not accepted; NGC says: Not found: the artifact");
    assert_says(talk, "catalog.ngc.nvidia.com/orgs/nv/teams/tao/models/net?version=1%20b");
}

static const char page_one[] =
    "{\"modelFiles\":[{\"path\":\"sub/w.pt\",\"sizeInBytes\":6,\"sha256_base64\":"
    "\"LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=\",\"createdDate\":\"2026-01-02T03:04:05Z\"},"
    "{\"path\":\"/sub/x\",\"sizeInBytes\":1,\"sha256_base64\":\"short\"}],"
    "\"paginationInfo\":{\"index\":0,\"size\":2,\"totalPages\":2,\"totalResults\":3}}";
static const char page_two[] =
    "{\"modelFiles\":[{\"path\":\"sub/y\",\"sizeInBytes\":1},{\"path\":\"z\",\"sizeInBytes\":0}],"
    "\"paginationInfo\":{\"index\":1,\"size\":2,\"totalPages\":2,\"totalResults\":3}}";
#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

static void files_are_listed_page_by_page_with_digests(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = NEW_KEY;
    open_ready(&talk, "ngc://nv/net:1.0");
    talk_ask(&talk, SW_OP_LIST, "");
    assert_int_equal(talk_hear(&talk, 200, "", page_one), SW_STEP_SEND);
    assert_non_null(strstr(talk.request.url, "page-number=1"));
    assert_int_equal(talk_hear(&talk, 429, "Retry-After: 1\n", ""), SW_STEP_SLOWER);
    talk.op.step = 0;
    assert_int_equal(talk_next(&talk, NULL), SW_STEP_SEND);
    assert_non_null(strstr(talk.request.url, "page-number=1"));
    assert_int_equal(talk_hear(&talk, 200, "", page_two), SW_STEP_DONE);
    assert_string_equal(sw_buf_text(&talk.found),
                        "sub/w.pt 6 " HELLO "\nsub/x 1 -\nsub/y 1 -\nz 0 -\n");
}

static void a_page_that_comes_again_ends_the_listing(void **state)
{
    static const char endless_page[] =
        "{\"modelFiles\":[{\"path\":\"x\",\"sizeInBytes\":1}],\"paginationInfo\":{\"totalPages\":9}}";
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = NEW_KEY;
    open_ready(&talk, "ngc://nv/net:1.0");
    talk_ask(&talk, SW_OP_LIST, "");
    assert_int_equal(talk_hear(&talk, 200, "", endless_page), SW_STEP_SEND);
    assert_int_equal(talk_hear(&talk, 200, "", endless_page), SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_REFUSED);
    assert_says(talk, "does not end");
}

static void a_folder_is_reported_once(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = NEW_KEY;
    open_ready(&talk, "ngc://nv/net:1.0");
    talk_ask(&talk, SW_OP_LIST, "");
    talk.op.recursive = false;
    talk_hear(&talk, 200, "", page_one);
    assert_int_equal(talk_hear(&talk, 200, "", page_two), SW_STEP_DONE);
    assert_string_equal(sw_buf_text(&talk.found), "sub/ -1 -\nz 0 -\n");
}

static void a_file_is_found_on_any_page(void **state)
{
    static const struct { const char *key; enum sw_object_kind kind; } rows[] = {
        { "z", SW_OBJECT_FILE }, { "sub", SW_OBJECT_FOLDER }, { "sub/", SW_OBJECT_FOLDER },
        { "su", SW_OBJECT_NONE }, { "sub/w.pt", SW_OBJECT_FILE },
    };

    (void)state;
    talk_settings = NEW_KEY;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(talk) struct talk talk = { 0 };
        enum sw_step step = SW_STEP_SEND;

        open_ready(&talk, "ngc://nv/net:1.0");
        talk_ask(&talk, SW_OP_STAT, rows[i].key);
        step = talk_hear(&talk, 200, "", page_one);
        if (step == SW_STEP_SEND)
            step = talk_hear(&talk, 200, "", page_two);
        assert_int_equal(step, rows[i].kind ? SW_STEP_DONE : SW_STEP_FAILED);
        assert_int_equal(talk.op.object.kind, rows[i].kind);
        assert_int_equal(talk.err.code, rows[i].kind ? SW_OK : SW_E_NOT_FOUND);
    }
}

#define LINK(n) "{\"urls\":[\"https://files.example/w?sig=" n "\"],\"filepath\":[\"w.pt\"]}"

static void links_are_shared_and_asked_again_when_they_expire(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = NEW_KEY;
    open_ready(&talk, "ngc://nv/net:1.0");
    assert_int_equal(talk_ask(&talk, SW_OP_GET, "w.pt"), SW_STEP_SEND);
    assert_true(talk.op.asking);
    assert_int_equal(talk_hear(&talk, 200, "", LINK("1")), SW_STEP_SEND);
    assert_false(talk.op.asking);
    assert_string_equal(talk.request.url, "https://files.example/w?sig=1");
    assert_null(talk_header(&talk, "Authorization"));
    assert_null(talk_header(&talk, "X-NGC-Guest-Token"));
    assert_int_equal(talk_hear(&talk, 200, "", "data"), SW_STEP_DONE);
    talk_ask(&talk, SW_OP_GET, "w.pt");
    assert_string_equal(talk.request.url, "https://files.example/w?sig=1");
    assert_int_equal(talk_hear(&talk, 403, "", "expired"), SW_STEP_SEND);
    assert_string_equal(talk.request.url, API "/v2/org/nv/models/net/1.0/files?path=w.pt");
    talk_hear(&talk, 200, "", LINK("2"));
    assert_string_equal(talk.request.url, "https://files.example/w?sig=2");
    assert_int_equal(talk_hear(&talk, 503, "", ""), SW_STEP_SLOWER);
}

static void a_link_to_another_file_or_to_none_is_refused(void **state)
{
    static const char *const bodies[] = {
        "{\"urls\":[\"https://x/y\"],\"filepath\":[\"other\"]}", "{\"urls\":[]}", "{}",
        "{\"urls\":[\"file:///etc/passwd\"]}", "[]", "{\"urls\":[1]}", "x",
    };

    (void)state;
    talk_settings = NEW_KEY;
    for (size_t i = 0; i < SW_COUNT(bodies); i++) {
        sw_auto(talk) struct talk talk = { 0 };

        open_ready(&talk, "ngc://nv/net:1.0");
        talk_ask(&talk, SW_OP_GET, "w.pt");
        assert_int_equal(talk_hear(&talk, 200, "", bodies[i]), SW_STEP_FAILED);
        assert_int_not_equal(talk.err.code, SW_OK);
    }
}

static void test_servers_can_be_named(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "NGC_CLI_API_URL=http://127.0.0.1:1/\nNGC_CLI_AUTH_URL=authn.example\n" OLD_KEY;
    assert_true(talk_open(&talk, "ngc://nv/net:1.0"));
    talk_ask(&talk, SW_OP_STAT, "");
    assert_true(sw_text_starts(talk.request.url, "https://authn.example/token?"));
    talk_hear(&talk, 200, "", "{\"token\":\"t\"}");
    assert_true(sw_text_starts(talk.request.url, "http://127.0.0.1:1/v2/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_is_cut_into_team_name_version_and_path),
        cmocka_unit_test(an_odd_uri_is_refused),
        cmocka_unit_test(the_looks_of_a_key_tell_its_kind),
        cmocka_unit_test(the_config_file_of_the_client_is_understood),
        cmocka_unit_test(a_new_key_is_sent_as_it_is),
        cmocka_unit_test(an_old_key_is_exchanged_and_refreshed),
        cmocka_unit_test(a_token_that_is_none_is_refused),
        cmocka_unit_test(without_a_key_the_guest_routes_are_used),
        cmocka_unit_test(what_is_no_model_may_be_a_resource),
        cmocka_unit_test(a_key_of_another_org_still_reads_what_is_public),
        cmocka_unit_test(closed_doors_are_reported_in_clear_words),
        cmocka_unit_test(latest_is_asked_once),
        cmocka_unit_test(a_version_that_is_not_complete_is_not_used),
        cmocka_unit_test(terms_that_no_client_accepted_are_reported_with_the_place_to_do_it),
        cmocka_unit_test(files_are_listed_page_by_page_with_digests),
        cmocka_unit_test(a_page_that_comes_again_ends_the_listing),
        cmocka_unit_test(a_folder_is_reported_once),
        cmocka_unit_test(a_file_is_found_on_any_page),
        cmocka_unit_test(links_are_shared_and_asked_again_when_they_expire),
        cmocka_unit_test(a_link_to_another_file_or_to_none_is_refused),
        cmocka_unit_test(test_servers_can_be_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
