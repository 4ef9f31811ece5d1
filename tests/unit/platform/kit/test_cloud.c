/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cloud.c - notes about jobs in a folder of their own, jobs that are found by their marks, and JSON with
 * secrets in it. No server is asked.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "core/finding.h"
#include "platform/kit/marked.h"
#include "platform/kit/sending.h"

struct sw_connection {
    struct sw_cloud cloud;
    int removed;
};

static int enter(void **state)
{
    static char folder[] = "/tmp/slipway-test-XXXXXX";

    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int leave(void **state)
{
    return sw_remove_tree(*state, NULL);
}

static struct sw_connection connection(const char *folder)
{
    struct sw_connection conn = { 0 };

    sw_cloud_init(&conn.cloud, "place", &(struct sw_connect_options){ .state_dir = folder });
    return conn;
}

static void a_note_stays_until_its_job_is_forgotten(void **state)
{
    struct sw_connection conn = connection(*state);
    sw_autofree char *path = sw_cloud_note_path(&conn, "a", 0, "asked"), *text = NULL;

    assert_true(sw_text_ends(path, "/place/a/attempt-1/asked"));
    assert_null(sw_cloud_note(&conn, "a", 1, "asked"));
    assert_int_equal(sw_cloud_note_write(&conn, "a", 1, "asked", "why", NULL), 0);
    text = sw_cloud_note(&conn, "a", 0, "asked");
    assert_string_equal(text, "why");
    assert_null(sw_cloud_note(&conn, "a", 2, "asked"));
    assert_int_equal(sw_cloud_forget(&conn, "a", NULL), 0);
    assert_null(sw_cloud_note(&conn, "a", 1, "asked"));
    sw_cloud_done(&conn.cloud);
}

static int visit(struct sw_connection *conn, sw_marked_take *take, void *context, struct sw_error *err)
{
    static const struct sw_marked all[] = {
        { "a", "a-1", 1, "here", "7", "ann", SW_ERROR, true, 5, NULL },
        { "a", "a-2", 2, "here", "7", "ann", SW_RUNNING, false, 6, NULL },
        { "known", "known-1", 1, "here", "7", "ann", SW_COMPLETE, true, 7, NULL },
        { "b", "b-1", 1, "there", "8", "bob", SW_COMPLETE, true, 8, NULL },
    };

    (void)conn, (void)err;
    for (size_t i = 0; i < SW_COUNT(all); i++)
        take(context, &all[i]);
    return 0;
}

static int remove_one(struct sw_connection *conn, const json_t *job, struct sw_error *err)
{
    (void)job, (void)err;
    conn->removed++;
    return 0;
}

static bool is_known(void *context, const char *id)
{
    return strcmp(id, context) == 0;
}

static const struct sw_marked_api api = { "job", visit, remove_one, NULL };

static void of_each_job_the_newest_attempt_is_shown(void **state)
{
    struct sw_connection conn = connection(*state);
    sw_auto(json) json_t *rows = sw_marked_jobs(&api, &conn, NULL);
    sw_autofree char *text = rows ? sw_json_dump(json_array_get(rows, 0)) : NULL;

    assert_int_equal(json_array_size(rows), 3);
    assert_string_equal(text, "{\"id\":\"a\",\"state\":\"Running\",\"owner\":\"ann\",\"created_ms\":6}");
    sw_cloud_done(&conn.cloud);
}

static void a_leftover_is_over_unknown_and_of_this_store(void **state)
{
    struct sw_connection conn = connection(*state);
    const struct sw_sweep sweep = { .known = is_known, .context = (void *)"known", .store_id = "here",
                                    .remove = true };
    sw_auto(json) json_t *found = sw_marked_orphans(&api, &conn, &sweep, NULL);

    assert_int_equal(json_array_size(found), 2);
    assert_string_equal(sw_json_str(json_array_get(found, 0), "where"), "a-1");
    assert_true(sw_json_bool(json_array_get(found, 0), "removed", false));
    assert_false(sw_json_bool(json_array_get(found, 1), "removed", true));      /* another store's */
    assert_int_equal(conn.removed, 1);
    sw_cloud_done(&conn.cloud);
}

static void values_stand_where_the_shape_has_question_marks(void **state)
{
    struct sw_buf out = SW_BUF_INIT;

    (void)state;
    sw_json_secrets(&out, "[{\"a\":?,", (const char *[]){ "q\"\n" });
    sw_json_secrets(&out, "\"b\":?}]", (const char *[]){ "?" });
    assert_string_equal(sw_buf_text(&out), "[{\"a\":\"q\\\"\\u000a\",\"b\":\"?\"}]");
    sw_buf_wipe(&out);
}

static void a_fix_is_said_where_something_is_wrong(void **state)
{
    sw_auto(json) json_t *rows = json_array();

    (void)state;
    sw_finding(rows, "one", true, "fine", "not needed");
    assert_false(sw_finding_error(rows, "two", &(struct sw_error){ .message = "bad", .hint = "mend it" }));
    assert_null(sw_json_str(json_array_get(rows, 0), "fix"));
    assert_string_equal(sw_json_str(json_array_get(rows, 1), "fix"), "mend it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_note_stays_until_its_job_is_forgotten, enter, leave),
        cmocka_unit_test_setup_teardown(of_each_job_the_newest_attempt_is_shown, enter, leave),
        cmocka_unit_test_setup_teardown(a_leftover_is_over_unknown_and_of_this_store, enter, leave),
        cmocka_unit_test(values_stand_where_the_shape_has_question_marks),
        cmocka_unit_test(a_fix_is_said_where_something_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
