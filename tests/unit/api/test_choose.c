/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_choose.c - `platform: [a, b]`: the next is tried when the first cannot have the job, and only then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "slipway.h"

struct fixture {
    char dir[64];
    struct sw_session *session;
    struct sw_buf warnings;
};

static void keep(void *context, const char *text)
{
    sw_buf_addf(context, "%s\n", text);
}

static int open_fixture(void **state)
{
    struct fixture *here = calloc(1, sizeof *here);
    struct sw_open_options options = { .size = sizeof options, .state_dir = here->dir, .warn = keep,
                                       .warn_context = &here->warnings };

    strcpy(here->dir, "/tmp/slipway-api-XXXXXX");
    if (!mkdtemp(here->dir))
        return -1;
    options.project_dir = here->dir;
    setenv("HOME", here->dir, 1);
    setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock", 1);
    unsetenv("SLURM_HOSTNAME");
    unsetenv("SLIPWAY_REHEARSAL_API");
    here->session = sw_open(&options, NULL);
    *state = here;
    return here->session ? 0 : -1;
}

static int close_fixture(void **state)
{
    struct fixture *here = *state;

    sw_close(here->session);
    sw_remove_tree(here->dir, NULL);
    sw_buf_done(&here->warnings);
    free(here);
    return 0;
}

/* "docker local", and more keys as "gpus=1". */
static struct sw_request *request(const char *platforms, const char *key, const char *value)
{
    struct sw_request *made = sw_request_new();
    sw_autofree char *copy = sw_strdup(platforms);
    char *rest = copy;

    for (char *name = strsep(&rest, " "); name; name = strsep(&rest, " "))
        assert_int_equal(sw_request_set(made, "platform", name, NULL), 0);
    assert_int_equal(sw_request_set(made, "command", "true", NULL), 0);
    assert_int_equal(sw_request_set(made, "image", "busybox", NULL), 0);
    if (key)
        assert_int_equal(sw_request_set(made, key, value, NULL), 0);
    return made;
}

static int submit(struct fixture *here, struct sw_request *made, char id[SW_ID_SIZE],
                  struct sw_error *err)
{
    int result = sw_submit(here->session, made, id, err);

    sw_request_free(made);
    return result;
}

static json_t *document(char *text)
{
    json_t *json = text ? json_loads(text, 0, NULL) : NULL;

    sw_text_free(text);
    assert_non_null(json);
    return json;
}

static void expect_platform(struct fixture *here, const char *id, const char *platform)
{
    sw_auto(json) json_t *status = document(sw_status(here->session, id, SW_LOOK_STORED, NULL));
    const json_t *job = json_object_get(status, "job");

    assert_string_equal(sw_json_str(job ? job : status, "backend_type"), platform);
}

static void the_next_is_tried(void **state)
{
    static const struct {
        const char *platforms, *key, *value, *chosen, *skipped;
    } rows[] = {
        { "docker rehearsal", NULL, NULL, "rehearsal", "docker is skipped: " },       /* out of reach */
        { "slurm rehearsal", NULL, NULL, "rehearsal", "slurm is skipped: " },         /* not set up */
        { "local rehearsal", "gpus", "64", "rehearsal", "local is skipped: the job needs 64 GPUs" },
        { "docker slurm rehearsal", NULL, NULL, "rehearsal", "slurm is skipped: " },
        { "rehearsal docker", NULL, NULL, "rehearsal", NULL },
    };
    struct fixture *here = *state;

    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        struct sw_error err = { 0 };
        char id[SW_ID_SIZE];

        sw_buf_clear(&here->warnings);
        if (submit(here, request(rows[i].platforms, rows[i].key, rows[i].value), id, &err) < 0)
            fail_msg("%s: %s", rows[i].platforms, err.message);
        expect_platform(here, id, rows[i].chosen);
        if (rows[i].skipped)
            assert_non_null(strstr(sw_buf_text(&here->warnings), rows[i].skipped));
        else
            assert_null(strstr(sw_buf_text(&here->warnings), "skipped"));
    }
}

static void what_was_skipped_is_recorded(void **state)
{
    struct fixture *here = *state;
    sw_auto(json) json_t *events = NULL, *plan = NULL;
    struct sw_request *made = request("docker rehearsal", NULL, NULL);
    bool found = false;
    char id[SW_ID_SIZE];
    size_t i;
    json_t *event;

    plan = document(sw_plan_job(here->session, made, NULL));
    assert_string_equal(sw_json_str(plan, "platform"), "rehearsal");
    assert_int_equal(json_array_size(json_object_get(plan, "platforms")), 2);
    assert_int_equal(json_array_size(json_object_get(plan, "skipped")), 1);
    assert_int_equal(submit(here, made, id, NULL), 0);
    events = document(sw_events(here->session, id, 0, NULL));
    json_array_foreach(json_object_get(events, "events"), i, event)
        found = found || (sw_text_same(sw_json_str(event, "kind"), "skipped") &&
                          sw_text_same(sw_json_str(json_object_get(event, "data"), "platform"), "docker"));
    assert_true(found);
}

static void a_submit_that_may_have_arrived_is_the_only_one(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };
    sw_auto(json) json_t *all = NULL;
    char id[SW_ID_SIZE];

    submit(here, request("rehearsal local", "rehearsal.api", "lose-answer"), id, &err);
    all = document(sw_list(here->session, NULL, NULL));
    assert_int_equal(json_array_size(json_object_get(all, "jobs")), 1);
    assert_string_equal(sw_json_str(json_array_get(json_object_get(all, "jobs"), 0), "backend_type"),
                        "rehearsal");
    assert_null(strstr(sw_buf_text(&here->warnings), "skipped"));
}

static void a_mistake_in_the_job_is_one_everywhere(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];

    assert_int_equal(submit(here, request("local rehearsal", "workdir", "/nonexistent"), id, &err), -1);
    assert_int_equal(err.code, SW_E_SPEC);
    assert_null(strstr(sw_buf_text(&here->warnings), "skipped"));
}

static void of_the_last_the_reason_is_reported(void **state)
{
    struct fixture *here = *state;
    struct sw_error err = { 0 };
    char id[SW_ID_SIZE];

    assert_int_equal(submit(here, request("slurm docker", NULL, NULL), id, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_non_null(strstr(sw_buf_text(&here->warnings), "slurm is skipped: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_next_is_tried, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(what_was_skipped_is_recorded, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(a_submit_that_may_have_arrived_is_the_only_one, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_mistake_in_the_job_is_one_everywhere, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(of_the_last_the_reason_is_reported, open_fixture, close_fixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
