/* SPDX-License-Identifier: Apache-2.0 */
/* test_select.c - which jobs selectors mean, in a store of many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "slipway.h"
#include "../store/fill.h"

enum { ROWS = 40000, CPU_S = 5 };

struct fixture {
    char dir[64];
    struct sw_session *session;
};

static int open_full(void **state)
{
    struct fixture *here = calloc(1, sizeof *here);
    struct sw_open_options options = { .size = sizeof options, .state_dir = here->dir };
    struct sw_store *store;

    strcpy(here->dir, "/tmp/slipway-select-XXXXXX");
    if (!mkdtemp(here->dir))
        return -1;
    setenv("HOME", here->dir, 1);
    store = sw_store_open(here->dir, false, NULL);
    if (!store || fill_store(store, ROWS, NULL) < 0)
        return -1;
    sw_store_close(store);
    options.project_dir = here->dir;
    here->session = sw_open(&options, NULL);
    *state = here;
    return here->session ? 0 : -1;
}

static int close_full(void **state)
{
    struct fixture *here = *state;

    sw_close(here->session);
    sw_remove_tree(here->dir, NULL);
    free(here);
    return 0;
}

/* How many ids, each once. */
static size_t selected(struct sw_session *session, const char *const *words, size_t count,
                       const char *label)
{
    struct sw_error err = { 0 };
    char *text = sw_select(session, words, count, &label, label ? 1 : 0, &err);
    sw_auto(json) json_t *ids = NULL, *once = json_object();
    json_t *id;
    size_t i;

    if (!text)
        fail_msg("%s", err.message);
    ids = sw_json_parse(text, strlen(text), "ids", NULL);
    sw_text_free(text);
    json_array_foreach(ids, i, id)
        json_object_set_new(once, json_string_value(id), json_true());
    assert_int_equal(json_object_size(once), json_array_size(ids));
    return json_array_size(ids);
}

/* Of time spent, not passed: comparing each with each takes three times the limit. */
static void a_full_store_is_selected_in_no_time(void **state)
{
    static const char *const twice[] = { "all", "complete", "all" };
    struct fixture *here = *state;
    clock_t begun = clock();

    assert_int_equal(selected(here->session, twice, 3, NULL), ROWS);
    assert_int_equal(selected(here->session, twice, 3, "team=vision"), ROWS / 5);
    assert_true((clock() - begun) / CLOCKS_PER_SEC < CPU_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_store_is_selected_in_no_time, open_full, close_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
