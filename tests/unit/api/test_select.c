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

static const struct {
    const char *claim, *word, *labels[2];
    size_t count;                  /* of the words; 0: labels alone */
    int code;
    size_t found;
} answers[] = {
    { "an empty text", "", { NULL }, 1, SW_E_USAGE, 0 },
    { "a label without a key", "all", { "=x" }, 1, SW_E_USAGE, 0 },
    { "an empty label", NULL, { "" }, 0, SW_E_USAGE, 0 },
    { "missing", "missing", { NULL }, 1, SW_E_NOT_FOUND, 0 },
    { "a job before the first", "last-99999", { NULL }, 1, SW_E_NOT_FOUND, 0 },
    { "a state that no job is in", "pending", { NULL }, 1, SW_OK, 0 },
    { "a label that no job has", NULL, { "nope" }, 0, SW_OK, 0 },
    { "two labels", NULL, { "team=vision", "tier=gold" }, 0, SW_OK, ROWS / 5 },
    { "two labels, one of them not there", NULL, { "team=vision", "tier=silver" }, 0, SW_OK, 0 },
    { "a state and a label", "failed", { "team" }, 1, SW_OK, ROWS / 20 },
    { "a state that such jobs are not in", "canceled", { "team" }, 1, SW_OK, 0 },
};

static void a_selection_is_what_its_words_and_labels_say(void **state)
{
    struct fixture *here = *state;

    for (size_t i = 0; i < SW_COUNT(answers); i++) {
        size_t labels = answers[i].labels[1] ? 2 : answers[i].labels[0] ? 1 : 0;
        struct sw_error err = { 0 };
        char *text = sw_select(here->session, &answers[i].word, answers[i].count, answers[i].labels, labels,
                               &err);
        sw_auto(json) json_t *ids = text ? sw_json_parse(text, strlen(text), "ids", NULL) : NULL;

        if ((int)err.code != answers[i].code || json_array_size(ids) != answers[i].found)
            fail_msg("%s: code %d, %zu jobs: %s", answers[i].claim, err.code, json_array_size(ids),
                     err.message);
        sw_text_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_store_is_selected_in_no_time, open_full, close_full),
        cmocka_unit_test_setup_teardown(a_selection_is_what_its_words_and_labels_say, open_full,
                                        close_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
