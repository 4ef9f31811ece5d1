/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lepton_login.c - who calls which workspace: the block, variables, the combined form, the saved login.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "platform/lepton/lepton_internal.h"

static const char saved[] =
    "workspaces:\n"
    "  one: {id: one, url: 'https://gateway.dgxc-lepton.nvidia.com/api/v2/workspaces/one', "
    "auth_token: tok-one,\n"
    "        token_expires_at: 1800000000000}\n"
    "  two: {id: two, auth_token: tok-two}\n"
    "current_workspace: two\n";

static void the_saved_login_of_a_workspace_is_read(void **state)
{
    static const struct { const char *id, *workspace, *token; int64_t expires_ms; } rows[] = {
        { "one", "one", "tok-one", INT64_C(1800000000000) }, { NULL, "two", "tok-two", 0 }, { "three",
                NULL, NULL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(sw_secret) struct sw_secret *token = NULL;
        sw_auto(json) json_t *login = lepton_saved_login(saved, strlen(saved), rows[i].id, &token);

        assert_true(sw_text_same(sw_json_str(login, "workspace"), rows[i].workspace));
        assert_true(sw_text_same(token ? sw_secret_reveal(token) : NULL, rows[i].token));
        assert_int_equal(sw_json_int(login, "expires_ms", 0), rows[i].expires_ms);
    }
}

static const char *variable(void *context, const char *name)
{
    return sw_json_str(context, name);
}

static void variables_and_the_combined_form_name_workspace_and_token(void **state)
{
    static const struct { const char *env, *options, *workspace, *token, *url, *origin; } rows[] = {
        { "{\"LEPTON_AUTH_TOKEN\":\"t\"}", "{\"workspace\":\"w\"}", "w", "t",
          LEPTON_HOST "/api/v2/workspaces/w", LEPTON_HOST },
        { "{\"LEPTON_WORKSPACE_TOKEN\":\"w:t:x\",\"LEPTON_AUTH_TOKEN\":\"old\"}", "{}", "w", "t:x",
          LEPTON_HOST "/api/v2/workspaces/w", LEPTON_HOST },
        { "{\"LEPTON_AUTH_TOKEN\":\"other:t\"}", "{\"workspace\":\"w\"}", "w", NULL,
          LEPTON_HOST "/api/v2/workspaces/w", LEPTON_HOST },
        { "{\"LEPTON_AUTH_TOKEN\":\"t\"}", "{\"workspace\":\"w\",\"url\":\"http://127.0.0.1:1/w\"}", "w", "t",
          "http://127.0.0.1:1/w", NULL },
        { "{\"LEPTON_AUTH_TOKEN\":\"t\"}",
          "{\"workspace\":\"w\",\"url\":\"http://h/w\",\"origin\":\"http://o\"}", "w", "t",
          "http://h/w", "http://o" },
        { "{}", "{}", NULL, NULL, LEPTON_HOST "/api/v2/workspaces/", LEPTON_HOST },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(rows); i++) {
        sw_auto(json) json_t *env = json_loads(rows[i].env, 0,
                                               NULL), *options = json_loads(rows[i].options, 0, NULL);
        struct lepton_connection conn = { 0 };

        lepton_login(&conn, &(struct sw_connect_options){ .options = options, .env = variable,
                                                          .env_context = env });
        if (!sw_text_same(conn.workspace, rows[i].workspace) || !sw_text_same(conn.url, rows[i].url) ||
            !sw_text_same(conn.origin, rows[i].origin) ||
            !sw_text_same(conn.token ? sw_secret_reveal(conn.token) : NULL, rows[i].token))
            fail_msg("row %zu: %s %s %s", i, conn.workspace, conn.url, conn.origin);
        sw_secret_free(conn.token);
        free(conn.workspace);
        free(conn.url);
        free(conn.origin);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_saved_login_of_a_workspace_is_read),
        cmocka_unit_test(variables_and_the_combined_form_name_workspace_and_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
