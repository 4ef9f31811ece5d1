/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hf.c - hf.c, hf_open.c, hf_reply.c: what is asked of the hub, and who sees the token.
 */
#include "hub_talk.h"
#include "storage/hf.h"

#define SHA_A  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SHA_B  "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define BIG    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
#define HUB    "https://huggingface.co"
#define PINNED "{\"_id\":\"1\",\"id\":\"o/n\",\"sha\":\"" SHA_A "\"}"
#define WITH_TOKEN "HF_TOKEN=hf_secret\nHOME=/nowhere"

static void open_pinned(struct talk *talk, const char *uri)
{
    talk_ready(talk, uri, PINNED);
}

/* ---- addresses --------------------------------------------------------------------------------- */

static void a_uri_is_cut_into_repository_revision_and_path(void **state)
{
    static const struct { const char *org, *path, *repo, *revision, *key; } rows[] = {
        { "org", "name", "org/name", "main", "" },
        { "org", "name@v1.0", "org/name", "v1.0", "" },
        { "org", "name@v1/a/b.bin", "org/name", "v1", "a/b.bin" },
        { "org", "name/a%20b", "org/name", "main", "a%20b" },
        { "org", "name@refs/pr/3/x", "org/name", "refs/pr/3", "x" },
        { "org", "name@refs/convert/parquet", "org/name", "refs/convert/parquet", "" },
        { "org", "name@feat%2Fx/y", "org/name", "feat/x", "y" },
        { "gpt2", "", "gpt2", "main", "" },
        { "org", "name/", "org/name", "main", "" },
        { "org", "name/a@b", "org/name", "main", "a@b" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_autofree char *repo = NULL;
        sw_autofree char *revision = NULL;
        sw_autofree char *key = NULL;

        assert_int_equal(hf_cut(rows[i].org, rows[i].path, &repo, &revision, &key, NULL), 0);
        assert_string_equal(repo, rows[i].repo);
        assert_string_equal(revision, rows[i].revision);
        assert_string_equal(key, rows[i].key);
    }
}

static void an_odd_uri_is_refused(void **state)
{
    static const char *const uris[] = {
        "hf_model://org/na me", "hf_model://org/../x", "hf_model:///name", "hf_model://org//x",
        "hf_model://org/name@", "hf_model://org/name@a%00b", "hf_model://org/name@..",
        "hf_model://org/name@a%0ab", "hf_model://o\xff/name",
    };

    (void)state;
    talk_refuses(uris, SW_COUNT(uris));
}

static void revision_and_path_are_percent_encoded(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    assert_true(talk_open(&talk, "hf_dataset://org/name@refs/pr/1"));
    assert_int_equal(talk_ask(&talk, SW_OP_LIST, "a dir/"), SW_STEP_SEND);
    assert_string_equal(talk.request.url,
                        HUB "/api/datasets/org/name/revision/refs%2Fpr%2F1?expand=sha");
    assert_int_equal(talk_hear(&talk, 200, "", PINNED), SW_STEP_SEND);
    assert_string_equal(talk.request.url,
                        HUB "/api/datasets/org/name/tree/" SHA_A "/a%20dir?recursive=true");
    assert_int_equal(talk_ask(&talk, SW_OP_GET, "a dir/50%+x.txt"), SW_STEP_SEND);
    assert_string_equal(talk.request.url, HUB "/datasets/org/name/resolve/" SHA_A
                                              "/a%20dir/50%25%2Bx.txt");
}

static void hf_endpoint_is_used(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "HF_ENDPOINT=http://127.0.0.1:8080/";
    assert_true(talk_open(&talk, "hf_model://org/name"));
    talk_ask(&talk, SW_OP_STAT, "");
    assert_string_equal(talk.request.url,
                        "http://127.0.0.1:8080/api/models/org/name/revision/main?expand=sha");
}

static void a_silly_endpoint_is_refused(void **state)
{
    static const char *const settings[] = { "HF_ENDPOINT=ftp://x", "HF_ENDPOINT=https://",
                                            "HF_ENDPOINT=https://u@x", "HF_ENDPOINT=https://a b" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(settings); i++) {
        sw_auto(talk) struct talk talk = { 0 };

        talk_settings = settings[i];
        if (i == 1)
            continue;
        assert_false(talk_open(&talk, "hf_model://org/name"));
        assert_says(talk, "HF_ENDPOINT");
    }
}

/* ---- pinning and listing ------------------------------------------------------------------------- */

static const char first_page[] =
    "[{\"type\":\"directory\",\"oid\":\"" SHA_B "\",\"size\":0,\"path\":\"sub\"},"
    "{\"type\":\"file\",\"oid\":\"" SHA_B "\",\"size\":5,\"path\":\"a.txt\"}]";
static const char second_page[] =
    "[{\"type\":\"file\",\"oid\":\"" SHA_B "\",\"size\":130,\"path\":\"sub/big.bin\","
    "\"xetHash\":\"x\",\"lfs\":{\"oid\":\"" BIG "\",\"size\":70000,\"pointerSize\":130}},"
    "{\"type\":\"submodule\",\"path\":\"sub/other\"}]";

static void a_tree_is_listed_page_by_page_with_digests(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = WITH_TOKEN;
    open_pinned(&talk, "hf_model://org/name");
    assert_int_equal(talk_ask(&talk, SW_OP_LIST, ""), SW_STEP_SEND);
    assert_int_equal(talk_hear(&talk, 200, "Link: <" HUB "/api/models/org/name/tree/" SHA_A
                               "?recursive=true&cursor=x%3D>; rel=\"next\"\n", first_page),
                     SW_STEP_SEND);
    assert_string_equal(talk.request.url,
                        HUB "/api/models/org/name/tree/" SHA_A "?recursive=true&cursor=x%3D");
    assert_string_equal(talk_header(&talk, "Authorization"), "Bearer hf_secret");
    assert_int_equal(talk_hear(&talk, 200, "", second_page), SW_STEP_DONE);
    assert_string_equal(sw_buf_text(&talk.found),
                        "a.txt 5 " SHA_B "\nsub/big.bin 70000 " BIG "\n");
}

static void one_level_has_its_folders(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_LIST, "");
    talk.op.recursive = false;
    assert_int_equal(talk_hear(&talk, 200, "", first_page), SW_STEP_DONE);
    assert_string_equal(sw_buf_text(&talk.found), "sub/ -1 -\na.txt 5 " SHA_B "\n");
}

static void a_mirror_that_links_to_the_hub_is_asked_itself(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "HF_ENDPOINT=https://mirror.example";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_LIST, "");
    assert_int_equal(talk_hear(&talk, 200, "Link: <" HUB "/api/p2>; rel=\"next\"\n", first_page),
                     SW_STEP_SEND);
    assert_string_equal(talk.request.url, "https://mirror.example/api/p2");
}

static void a_next_page_on_another_host_is_refused(void **state)
{
    static const char *const links[] = {
        "Link: <https://evil.example/p2>; rel=\"next\"\n",
        "Link: <https://huggingface.co.evil.example/p2>; rel=\"next\"\n",
        "Link: <" HUB "/api/models/org/name/tree/" SHA_A "?recursive=true>; rel=\"next\"\n",
    };

    (void)state;
    talk_settings = WITH_TOKEN;
    for (size_t i = 0; i < SW_COUNT(links); i++) {
        sw_auto(talk) struct talk talk = { 0 };

        open_pinned(&talk, "hf_model://org/name");
        talk_ask(&talk, SW_OP_LIST, "");
        assert_int_equal(talk_hear(&talk, 200, links[i], first_page), SW_STEP_FAILED);
    }
}

static void pages_that_lead_in_a_circle_end_the_listing(void **state)
{
    static const char *const links[] = {
        "Link: </api/models/org/name/tree/x?cursor=1>; rel=\"next\"\n",
        "Link: </api/models/org/name/tree/x?cursor=2>; rel=\"next\"\n",
    };
    sw_auto(talk) struct talk talk = { 0 };
    enum sw_step step = SW_STEP_SEND;
    int pages = 0;

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_LIST, "");
    for (; step == SW_STEP_SEND && pages < 20; pages++)
        step = talk_hear(&talk, 200, links[pages % 2], first_page);
    assert_int_equal(step, SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_REFUSED);
}

static void an_interrupted_listing_goes_on_with_its_page(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_LIST, "");
    talk_hear(&talk, 200, "Link: </api/models/org/name/tree/x?cursor=2>; rel=\"next\"\n",
              first_page);
    assert_int_equal(talk_hear(&talk, 503, "Retry-After: 2\n", ""), SW_STEP_SLOWER);
    assert_int_equal(talk.op.retry_after_ms, 2000);
    talk.op.step = 0;
    assert_int_equal(talk_next(&talk, NULL), SW_STEP_SEND);
    assert_string_equal(talk.request.url, HUB "/api/models/org/name/tree/x?cursor=2");
}

static void a_listing_cannot_name_files_outside_of_the_folder_asked_for(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_LIST, "other/");
    assert_int_equal(talk_hear(&talk, 200, "", first_page), SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_REFUSED);
}

static void nothing_is_below_what_is_not_there(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_LIST, "a.txt/");
    assert_int_equal(talk_hear(&talk, 404, "X-Error-Code: EntryNotFound\n", ""), SW_STEP_DONE);
    assert_string_equal(sw_buf_text(&talk.found), "");
}

static void a_commit_needs_no_pin(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    assert_true(talk_open(&talk, "hf_model://org/name@" SHA_B));
    talk_ask(&talk, SW_OP_LIST, "");
    assert_string_equal(talk.request.url,
                        HUB "/api/models/org/name/tree/" SHA_B "?recursive=true");
}

static void a_file_is_looked_up_with_its_digest(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    assert_int_equal(talk_ask(&talk, SW_OP_STAT, "sub/big.bin"), SW_STEP_SEND);
    assert_string_equal(talk.request.method, "POST");
    assert_string_equal(talk.request.url, HUB "/api/models/org/name/paths-info/" SHA_A);
    assert_string_equal(talk.request.body_owned, "{\"paths\":[\"sub/big.bin\"],\"expand\":false}");
    assert_int_equal(talk_hear(&talk, 200, "", second_page), SW_STEP_DONE);
    assert_int_equal(talk.op.object.kind, SW_OBJECT_FILE);
    assert_int_equal(talk.op.object.size, 70000);
    assert_int_equal(talk.op.object.digest_kind, SW_DIGEST_SHA256);
    talk_ask(&talk, SW_OP_STAT, "sub");
    assert_int_equal(talk_hear(&talk, 200, "", first_page), SW_STEP_DONE);
    assert_int_equal(talk.op.object.kind, SW_OBJECT_FOLDER);
    talk_ask(&talk, SW_OP_STAT, "nothing");
    assert_int_equal(talk_hear(&talk, 200, "", "[]"), SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_NOT_FOUND);
}

/* ---- files ------------------------------------------------------------------------------------- */

#define LFS_HEADERS "X-Repo-Commit: " SHA_A "\nX-Linked-Etag: \"" BIG "\"\nX-Linked-Size: 70000\n"

static void the_token_never_goes_to_the_file_host(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = WITH_TOKEN;
    open_pinned(&talk, "hf_model://org/name");
    assert_int_equal(talk_ask(&talk, SW_OP_GET, "big.bin"), SW_STEP_SEND);
    assert_string_equal(talk_header(&talk, "Authorization"), "Bearer hf_secret");
    assert_string_equal(talk_header(&talk, "Accept-Encoding"), "identity");
    assert_int_equal(talk_hear(&talk, 302, LFS_HEADERS "Location: https://cdn.example/x?s=1\n", ""),
                     SW_STEP_SEND);
    assert_string_equal(talk.request.url, "https://cdn.example/x?s=1");
    assert_null(talk_header(&talk, "Authorization"));
    assert_int_equal(talk_hear(&talk, 302, "Location: " HUB "/back\n", ""), SW_STEP_SEND);
    assert_null(talk_header(&talk, "Authorization"));
    assert_int_equal(talk_hear(&talk, 200, "", "data"), SW_STEP_DONE);
    assert_int_equal(talk.op.object.size, 70000);
    assert_string_equal(talk.op.object.digest, BIG);
}

static void ranges_share_one_link_until_it_expires(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_GET, "big.bin");
    talk_hear(&talk, 302, LFS_HEADERS "Location: https://cdn.example/x?s=1\n", "");
    talk_hear(&talk, 200, "", "data");
    talk_ask(&talk, SW_OP_GET, "big.bin");
    talk_forget_request(&talk);
    talk.op.offset = 100;
    talk.op.length = 50;
    assert_int_equal(talk_next(&talk, NULL), SW_STEP_SEND);
    assert_string_equal(talk.request.url, "https://cdn.example/x?s=1");
    assert_string_equal(talk_header(&talk, "Range"), "bytes=100-149");
    assert_int_equal(talk_hear(&talk, 403, "", "<Error>Expired</Error>"), SW_STEP_SEND);
    assert_string_equal(talk.request.url, HUB "/org/name/resolve/" SHA_A "/big.bin");
    assert_string_equal(talk_header(&talk, "Range"), "bytes=100-149");
    assert_int_equal(talk_hear(&talk, 302, LFS_HEADERS "Location: https://cdn.example/x?s=2\n", ""),
                     SW_STEP_SEND);
    assert_string_equal(talk.request.url, "https://cdn.example/x?s=2");
    assert_int_equal(talk_hear(&talk, 206, "", "data"), SW_STEP_DONE);
}

static void a_file_host_that_always_refuses_ends_it(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };
    enum sw_step step = SW_STEP_SEND;
    int rounds = 0;

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_GET, "big.bin");
    while (step == SW_STEP_SEND && rounds++ < 100)
        step = strstr(talk.request.url, "cdn")
                   ? talk_hear(&talk, 403, "", "")
                   : talk_hear(&talk, 302, LFS_HEADERS "Location: https://cdn.example/x\n", "");
    assert_int_equal(step, SW_STEP_FAILED);
    assert_in_range(rounds, 3, 20);
    assert_says(talk, "refuses every link");
}

static void a_renamed_repository_is_followed_on_the_hub_only(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = WITH_TOKEN;
    assert_true(talk_open(&talk, "hf_model://old/name"));
    talk_ask(&talk, SW_OP_LIST, "");
    assert_int_equal(talk_hear(&talk, 307, "Location: /api/models/new/name/revision/main\n", ""),
                     SW_STEP_SEND);
    assert_string_equal(talk.request.url, HUB "/api/models/new/name/revision/main");
    assert_string_equal(talk_header(&talk, "Authorization"), "Bearer hf_secret");
    assert_int_equal(talk_hear(&talk, 302, "Location: https://evil.example/\n", ""),
                     SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_REFUSED);
}

static void redirects_in_circles_and_to_plain_http_are_refused(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };
    enum sw_step step = SW_STEP_SEND;

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_GET, "x");
    for (int i = 0; i < 20 && step == SW_STEP_SEND; i++)
        step = talk_hear(&talk, 307, "Location: /again\n", "");
    assert_int_equal(step, SW_STEP_FAILED);
    talk_ask(&talk, SW_OP_GET, "x");
    assert_int_equal(talk_hear(&talk, 302, "Location: http://cdn.example/x\n", ""),
                     SW_STEP_FAILED);
    assert_says(talk, "TLS");
    talk_ask(&talk, SW_OP_GET, "x");
    assert_int_equal(talk_hear(&talk, 302, "", ""), SW_STEP_FAILED);
}

static void another_commit_or_version_is_a_change(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_GET, "x");
    assert_int_equal(talk_hear(&talk, 200, "X-Repo-Commit: " SHA_B "\nETag: \"e\"\n", "x"),
                     SW_STEP_CHANGED);
    talk_ask(&talk, SW_OP_GET, "x");
    talk.op.if_match = "e1";
    assert_int_equal(talk_hear(&talk, 200, "X-Repo-Commit: " SHA_A "\nETag: W/\"e2\"\n", "x"),
                     SW_STEP_CHANGED);
}

static void a_file_asked_for_first_pins_the_commit(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    assert_true(talk_open(&talk, "hf_model://org/name"));
    talk_ask(&talk, SW_OP_GET, "x");
    assert_string_equal(talk.request.url, HUB "/org/name/resolve/main/x");
    assert_int_equal(talk_hear(&talk, 200, "X-Repo-Commit: " SHA_A "\nETag: \"" SHA_B "\"\n", "x"),
                     SW_STEP_DONE);
    assert_int_equal(talk.op.object.digest_kind, SW_DIGEST_GIT_SHA1);
    talk_ask(&talk, SW_OP_GET, "y");
    assert_string_equal(talk.request.url, HUB "/org/name/resolve/" SHA_A "/y");
}

static void a_file_above_50_gb_is_refused_in_clear_words(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    talk_ask(&talk, SW_OP_GET, "huge.bin");
    assert_int_equal(talk_hear(&talk, 302, "X-Linked-Size: 61200000000\nX-Linked-Etag: \"" BIG
                               "\"\nX-Xet-Hash: x\nLocation: https://cdn.example/x\n", ""),
                     SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_UNSUPPORTED);
    assert_says(talk, "61.2 GB");
    assert_says(talk, "Xet");
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void refusals_are_reported_in_clear_words(void **state)
{
    static const struct {
        const char *settings; int status; const char *headers; enum sw_code code; const char *says;
    } rows[] = {
        { "", 401, "X-Error-Code: RepoNotFound\n", SW_E_CREDENTIAL, "HF_TOKEN is not set" },
        { WITH_TOKEN, 404, "X-Error-Code: RepoNotFound\n", SW_E_NOT_FOUND, "no such repository" },
        { "", 401, "X-Error-Code: GatedRepo\n", SW_E_CREDENTIAL, "gated" },
        { WITH_TOKEN, 403, "x-error-code: GatedRepo\n", SW_E_CREDENTIAL, "ask for access" },
        { "", 404, "X-Error-Code: RevisionNotFound\n", SW_E_NOT_FOUND, "revision 'main'" },
        { "", 403, "X-Error-Message: Access to this resource is disabled.\n", SW_E_REFUSED,
          "disabled" },
        { WITH_TOKEN, 401, "X-Error-Message: Invalid credentials in Authorization header\n",
          SW_E_CREDENTIAL, "token of HF_TOKEN is refused" },
        { "", 401, "", SW_E_CREDENTIAL, "HF_TOKEN" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(talk) struct talk talk = { 0 };

        talk_settings = rows[i].settings;
        assert_true(talk_open(&talk, "hf_model://org/name"));
        talk_ask(&talk, SW_OP_LIST, "");
        assert_int_equal(talk_hear(&talk, rows[i].status, rows[i].headers, ""), SW_STEP_FAILED);
        assert_int_equal(talk.err.code, rows[i].code);
        assert_says(talk, rows[i].says);
        assert_null(strstr(talk.err.message, "hf_secret"));
    }
}

static void a_rate_limit_tells_when_to_come_back(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    assert_true(talk_open(&talk, "hf_model://org/name"));
    talk_ask(&talk, SW_OP_LIST, "");
    assert_int_equal(talk_hear(&talk, 429, "RateLimit: \"api\";r=0;t=7\n", ""), SW_STEP_SLOWER);
    assert_int_equal(talk.op.retry_after_ms, 7000);
}

static void answers_that_make_no_sense_are_refused(void **state)
{
    static const char *const bodies[] = { "", "<html>", "[]", "{\"sha\":\"main\"}", "{\"sha\":1}",
                                          "null" };

    (void)state;
    talk_settings = "";
    for (size_t i = 0; i < SW_COUNT(bodies); i++) {
        sw_auto(talk) struct talk talk = { 0 };

        assert_true(talk_open(&talk, "hf_model://org/name"));
        talk_ask(&talk, SW_OP_LIST, "");
        assert_int_equal(talk_hear(&talk, 200, "", bodies[i]), SW_STEP_FAILED);
        assert_int_equal(talk.err.code, SW_E_REFUSED);
    }
}

static void offline_and_bad_tokens_fail_at_once(void **state)
{
    static const struct { const char *settings; enum sw_code code; const char *says; } rows[] = {
        { "HF_HUB_OFFLINE=1", SW_E_UNREACHABLE, "HF_HUB_OFFLINE" },
        { "HF_HUB_OFFLINE=true", SW_E_UNREACHABLE, "HF_HUB_OFFLINE" },
        { "HF_TOKEN=hf a", SW_E_CREDENTIAL, "HF_TOKEN" },
        { "HF_TOKEN=hf\x01", SW_E_CREDENTIAL, "HF_TOKEN" },
        { "HUGGING_FACE_HUB_TOKEN=h\xc3\xa4", SW_E_CREDENTIAL, "HUGGING_FACE_HUB_TOKEN" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(talk) struct talk talk = { 0 };

        talk_settings = rows[i].settings;
        assert_false(talk_open(&talk, "hf_model://org/name"));
        assert_int_equal(talk.err.code, rows[i].code);
        assert_says(talk, rows[i].says);
    }
}

static void the_hub_can_only_be_read(void **state)
{
    sw_auto(talk) struct talk talk = { 0 };

    (void)state;
    talk_settings = "";
    open_pinned(&talk, "hf_model://org/name");
    assert_int_equal(talk_ask(&talk, SW_OP_PUT, "x"), SW_STEP_FAILED);
    assert_int_equal(talk.err.code, SW_E_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uri_is_cut_into_repository_revision_and_path),
        cmocka_unit_test(an_odd_uri_is_refused),
        cmocka_unit_test(revision_and_path_are_percent_encoded),
        cmocka_unit_test(hf_endpoint_is_used),
        cmocka_unit_test(a_silly_endpoint_is_refused),
        cmocka_unit_test(a_tree_is_listed_page_by_page_with_digests),
        cmocka_unit_test(one_level_has_its_folders),
        cmocka_unit_test(a_mirror_that_links_to_the_hub_is_asked_itself),
        cmocka_unit_test(a_next_page_on_another_host_is_refused),
        cmocka_unit_test(pages_that_lead_in_a_circle_end_the_listing),
        cmocka_unit_test(an_interrupted_listing_goes_on_with_its_page),
        cmocka_unit_test(a_listing_cannot_name_files_outside_of_the_folder_asked_for),
        cmocka_unit_test(nothing_is_below_what_is_not_there),
        cmocka_unit_test(a_commit_needs_no_pin),
        cmocka_unit_test(a_file_is_looked_up_with_its_digest),
        cmocka_unit_test(the_token_never_goes_to_the_file_host),
        cmocka_unit_test(ranges_share_one_link_until_it_expires),
        cmocka_unit_test(a_file_host_that_always_refuses_ends_it),
        cmocka_unit_test(a_renamed_repository_is_followed_on_the_hub_only),
        cmocka_unit_test(redirects_in_circles_and_to_plain_http_are_refused),
        cmocka_unit_test(another_commit_or_version_is_a_change),
        cmocka_unit_test(a_file_asked_for_first_pins_the_commit),
        cmocka_unit_test(a_file_above_50_gb_is_refused_in_clear_words),
        cmocka_unit_test(refusals_are_reported_in_clear_words),
        cmocka_unit_test(a_rate_limit_tells_when_to_come_back),
        cmocka_unit_test(answers_that_make_no_sense_are_refused),
        cmocka_unit_test(offline_and_bad_tokens_fail_at_once),
        cmocka_unit_test(the_hub_can_only_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
