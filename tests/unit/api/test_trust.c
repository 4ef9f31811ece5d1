/* SPDX-License-Identifier: Apache-2.0 */
/* test_trust.c - files of a folder through the public API: refused, trusted, and no longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/file.h"
#include "base/text.h"
#include "slipway.h"

struct fixture {
    char dir[64];
    struct sw_session *session;
};

static int set_up(void **state)
{
    struct fixture *here = sw_new(struct fixture);
    struct sw_open_options options = { .size = sizeof options };
    sw_autofree char *store = NULL;

    strcpy(here->dir, "/tmp/slipway-trust-XXXXXX");
    assert_non_null(mkdtemp(here->dir));
    setenv("HOME", here->dir, 1);
    unsetenv("DOCKER_HOST");
    store = sw_path_join(here->dir, "state");
    options.state_dir = store;
    options.project_dir = here->dir;
    here->session = sw_open(&options, NULL);
    assert_non_null(here->session);
    *state = here;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *here = *state;

    sw_close(here->session);
    sw_remove_tree(here->dir, NULL);
    free(here);
    return 0;
}

static void write_file(const struct fixture *here, const char *name, const char *text)
{
    sw_autofree char *path = sw_path_join(here->dir, name);

    assert_int_equal(sw_file_write(path, text, strlen(text), 0600, NULL), 0);
}

/* How planning a command for that platform goes. */
static enum sw_code plan(const struct fixture *here, const char *platform, char *hint)
{
    struct sw_request *request = sw_request_new();
    struct sw_error err = { 0 };
    char *text;

    assert_int_equal(sw_request_set(request, "platform", platform, NULL), 0);
    assert_int_equal(sw_request_set(request, "command", "true", NULL), 0);
    assert_int_equal(sw_request_set(request, "image", "busybox", NULL), 0);
    text = sw_plan_job(here->session, request, &err);
    sw_text_free(text);
    sw_request_free(request);
    if (hint)
        strcpy(hint, err.hint);
    return err.code;
}

/* One session, several plans: what one of them was refused is no business of the next. */
static void each_plan_answers_for_what_it_asks_for(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *path = sw_path_join(here->dir, ".env");
    char hint[512];

    write_file(here, ".env", "DOCKER_HOST=unix:///nowhere/docker.sock\n");
    assert_int_equal(plan(here, "docker", hint), SW_E_UNTRUSTED);
    assert_non_null(strstr(hint, path));
    assert_int_equal(plan(here, "local", NULL), SW_OK);
    assert_int_equal(plan(here, "docker", NULL), SW_E_UNTRUSTED);
    assert_null(getenv("DOCKER_HOST"));
    assert_int_equal(sw_trust(here->session, path, NULL, NULL), 0);
    assert_int_not_equal(plan(here, "docker", NULL), SW_E_UNTRUSTED);
    assert_int_equal(sw_untrust(here->session, path, NULL), 0);
    assert_int_equal(plan(here, "docker", NULL), SW_E_UNTRUSTED);
}

static void what_was_shown_is_what_is_trusted(void **state)
{
    struct fixture *here = *state;
    sw_autofree char *path = sw_path_join(here->dir, "env.toml");
    struct sw_error err = { 0 };
    json_t *files;
    char *text;

    write_file(here, "env.toml", "[slurm]\nhostname = \"a\"\n");
    text = sw_trust_look(here->session, here->dir, NULL);
    files = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(files), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(json_array_get(files, 0),
                                                                         "keys"), 0)),
                        "slurm.hostname");
    write_file(here, "env.toml", "[slurm]\nhostname = \"b\"\n");
    assert_int_equal(sw_trust(here->session, path,
                              json_string_value(json_object_get(json_array_get(files, 0), "sha256")),
                              &err), -1);
    assert_int_equal(err.code, SW_E_CONFLICT);
    assert_int_equal(plan(here, "slurm", NULL), SW_E_UNTRUSTED);
    json_decref(files);
    sw_text_free(text);
}

enum { EACH = 15 };

static void *trust_many(void *context)
{
    const struct fixture *here = context;

    for (int i = 0; i < EACH; i++) {
        sw_autofree char *name = sw_format("%lx-%d.toml", (unsigned long)pthread_self(), i);
        sw_autofree char *path = sw_path_join(here->dir, name);

        write_file(here, name, "x");
        sw_trust(here->session, path, NULL, NULL);
    }
    return NULL;
}

static void two_who_trust_at_once_lose_nothing(void **state)
{
    struct fixture *here = *state;
    pthread_t other;
    json_t *list;
    char *text;

    assert_int_equal(pthread_create(&other, NULL, trust_many, here), 0);
    trust_many(here);
    pthread_join(other, NULL);
    text = sw_trusted(here->session, NULL);
    list = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(list, "files")), 2 * EACH);
    json_decref(list);
    sw_text_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_plan_answers_for_what_it_asks_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_shown_is_what_is_trusted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_who_trust_at_once_lose_nothing, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
