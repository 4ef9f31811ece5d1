/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ssh_errors.c - how the messages of ssh are read.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/ssh.h"

static const struct sw_ssh_target login = { .host = "login1", .user = "ann", .port = 2222,
                                            .control_path = "/run/s/0123" };

static void silence_and_refusal_are_distinguished(void **state)
{
    static const struct { const char *said; enum sw_code code; const char *hint; } cases[] = {
        { "ssh: Could not resolve hostname login1: Name or service not known", SW_E_UNREACHABLE,
          "spelling" },
        { "ssh: connect to host login1 port 22: Connection refused", SW_E_UNREACHABLE, "port" },
        { "ssh: connect to host login1 port 22: Connection timed out", SW_E_UNREACHABLE, "VPN" },
        { "ssh: connect to host login1 port 22: No route to host", SW_E_UNREACHABLE, "VPN" },
        { "Connection timed out during banner exchange\nConnection to 1.2.3.4 port 22 timed out",
          SW_E_UNREACHABLE, "VPN" },
        { "kex_exchange_identification: Connection closed by remote host", SW_E_UNREACHABLE, "again" },
        { "client_loop: send disconnect: Broken pipe", SW_E_UNREACHABLE, "again" },
        { "something new", SW_E_UNREACHABLE, "" },
        { "", SW_E_UNREACHABLE, "" },
        { "ann@login1: Permission denied (publickey).", SW_E_CREDENTIAL, "ssh-copy-id" },
        { "ann@login1: Permission denied (publickey,gssapi-keyex,gssapi-with-mic).", SW_E_CREDENTIAL,
          "ssh-copy-id" },
        { "ann@login1: Permission denied (publickey,password).", SW_E_CREDENTIAL,
          "ssh -fNM -S /run/s/0123 -o ControlPersist=8h -p 2222 ann@login1" },
        { "ann@login1: Permission denied (keyboard-interactive).", SW_E_CREDENTIAL, "by hand" },
        { "ann@login1: Permission denied (gssapi-with-mic,keyboard-interactive).", SW_E_CREDENTIAL,
          "by hand" },
        { "Received disconnect from 1.2.3.4 port 22:2: Too many authentication failures",
          SW_E_CREDENTIAL, "SSH_KEY_PATH" },
        { "@@@@ WARNING: UNPROTECTED PRIVATE KEY FILE! @@@@\nPermissions 0644 for '/h/id' are too "
          "open.\nLoad key \"/h/id\": bad permissions\nann@login1: Permission denied (publickey).",
          SW_E_CREDENTIAL, "run: chmod 600 /h/id" },
        { "Load key \"/h/id\": incorrect passphrase supplied to decrypt private key\n"
          "ann@login1: Permission denied (publickey,password).", SW_E_CREDENTIAL, "ssh-add /h/id" },
        { "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
          SW_E_REFUSED, "ssh-keygen -R '[login1]:2222'" },
        { "No ED25519 host key is known for login1 and you have requested strict checking.\n"
          "Host key verification failed.", SW_E_REFUSED, "accept_new" },
        { "Unable to negotiate with 1.2.3.4 port 22: no matching host key type found.",
          SW_E_REFUSED, "ssh -v" },
        { "/h/config: line 3: Bad configuration option: nonsense", SW_E_SPEC, "ssh -v" },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct sw_error err = { 0 };

        assert_int_equal(sw_ssh_explain(&login, cases[i].said, &err), -1);
        if (err.code != cases[i].code || !strstr(err.hint, cases[i].hint))
            print_error("'%s': %d '%s' hint '%s'\n", cases[i].said, err.code, err.message, err.hint);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.hint, cases[i].hint));
        assert_non_null(strstr(err.message, "login1"));
    }
}

static void control_characters_of_a_server_are_not_repeated(void **state)
{
    struct sw_error err = { 0 };

    (void)state;
    sw_ssh_explain(&login, "x\nConnection closed by \033]0;evil\007 port 1", &err);
    assert_null(strchr(err.message, '\033'));
    assert_null(strchr(err.message, '\007'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_and_refusal_are_distinguished),
        cmocka_unit_test(control_characters_of_a_server_are_not_repeated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
