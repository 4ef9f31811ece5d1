/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ssh.c - calls through a real sshd, and everything that can break on the way.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/proc.h"
#include "net/ssh.h"
#include "sshd.h"

static struct sshd server;

/* ---- helpers ---------------------------------------------------------------------------------- */

static struct sw_ssh_options usual(void)
{
    struct sw_ssh_options options = { .state_dir = server.folder, .hosts = "127.0.0.1",
                                      .user = server.user, .port = server.port,
                                      .identity = server.key, .known_hosts = server.known_hosts,
                                      .config_file = "none", .connect_ms = 10000, .persist_ms = 60000 };

    return options;
}

static struct sw_ssh *open_with(struct sw_ssh_options options)
{
    struct sw_error err = { 0 };
    struct sw_ssh *ssh = sw_ssh_open(&options, &err);

    if (!ssh)
        fail_msg("%s", err.message);
    return ssh;
}

static void expect_done(int result, const struct sw_error *err)
{
    if (result != 0)
        fail_msg("%s", err->message);
}

/* Run and expect exit 0; the output, owned. */
static char *run(struct sw_ssh *ssh, const char *script)
{
    struct sw_ssh_call call = { .script = script };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };

    expect_done(sw_ssh_run(ssh, &call, &reply, &err), &err);
    assert_int_equal(reply.fate, SW_SSH_DONE);
    assert_int_equal(reply.exit_code, 0);
    return sw_strdup(sw_buf_text(&reply.output));
}

static void expect_echo(struct sw_ssh *ssh)
{
    sw_autofree char *said = run(ssh, "echo hello");

    assert_string_equal(said, "hello\n");
}

static void finish(struct sw_ssh *ssh)
{
    sw_ssh_disconnect(ssh);
    sw_ssh_close(ssh);
}

static char *in_folder(const char *name)
{
    return sw_format("%s/%s", server.folder, name);
}

static int lines_in(const char *path)
{
    sw_autofree char *text = sw_file_read(path, 65536, NULL, NULL);
    int count = 0;

    for (const char *at = text; at && *at; at++)
        count += *at == '\n';
    return count;
}

/* How many processes of our namespace have this in their arguments; the last one's pid. */
static int processes_with(const char *text, pid_t *pid)
{
    DIR *all = opendir("/proc");
    const struct dirent *entry;
    int count = 0;

    assert_non_null(all);
    while ((entry = readdir(all))) {
        sw_autofree char *path = sw_format("/proc/%s/cmdline", entry->d_name), *line = NULL;
        size_t length = 0;

        if (atoi(entry->d_name) <= 1)
            continue;
        line = sw_file_read(path, 65536, &length, NULL);
        if (!line || !memmem(line, length, text, strlen(text)))
            continue;
        count++;
        *pid = (pid_t)atoi(entry->d_name);
    }
    closedir(all);
    return count;
}

static pid_t master_pid(void)
{
    pid_t pid = 0;

    assert_int_equal(processes_with("-fN", &pid), 1);
    return pid;
}

/* ---- what comes back -------------------------------------------------------------------------- */

static void output_errors_and_exit_code_come_back_exactly(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    static const struct { const char *script, *output, *errors; int code; } cases[] = {
        { "echo a; echo b >&2", "a\n", "b\n", 0 },
        { "printf 'no newline'; exit 3", "no newline", "", 3 },
        { "true", "", "", 0 },
        { "exit 255", "", "", 255 },
        { "kill -9 $(sh -c 'echo $PPID')", "", NULL, 137 },
        { "printf '\\n\\n'; printf '\\n>' >&2", "\n\n", "\n>", 0 },
        { "if", "", NULL, 2 },        /* a syntax error, in any sh */
        { "echo '$HOME' \"\\\"\" '\"'", "$HOME \" \"\n", "", 0 },
        { "cat", "", "", 0 },
        { "cat <<'X'\nhere ! $x\nX", "here ! $x\n", "", 0 },
        { "set -eu; x=1; false; echo never", "", "", 1 },
        { "echo ${x-unset} ${m-unset} ${s-unset} $#", "unset unset unset 0\n", "", 0 },
        { "# only a comment", "", "", 0 },
        { "\n\n  printf '%s' 'a\n  b\\\\\n\t'\n\n", "a\n  b\\\\\n\t", "", 0 },
        { "IFS=x; printf '%s|' $*; echo \"$IFS\" | head -n 1", "|x\n", "", 0 },
        { "locale 2>/dev/null | grep -c LC_ALL=C || echo $LC_ALL", "1\n", "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(cases); i++) {
        struct sw_ssh_call call = { .script = cases[i].script };
        sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
        struct sw_error err = { 0 };

        expect_done(sw_ssh_run(ssh, &call, &reply, &err), &err);
        assert_string_equal(sw_buf_text(&reply.output), cases[i].output);
        if (cases[i].errors)
            assert_string_equal(sw_buf_text(&reply.errors), cases[i].errors);
        assert_int_equal(reply.exit_code, cases[i].code);
    }
    finish(ssh);
}

static void scripts_of_every_length_arrive_whole(void **state)
{
    struct sw_ssh *ssh = open_with(usual());

    (void)state;
    for (int length = 1380; length < 1640; length += 13) {
        sw_autofree char *script = sw_format("x='%0*d\n'\nprintf '%%s' \"$x\" | wc -c", length, 0);
        sw_autofree char *said = run(ssh, script);

        assert_int_equal(atoi(said), length + 1);
    }
    finish(ssh);
}

static void input_that_a_script_ignores_does_not_reach_the_next(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    static char bytes[300000];
    const struct sw_ssh_piece pieces[] = { { .bytes = "first\n", .length = 6 },
                                           { .bytes = bytes, .length = sizeof bytes } };
    struct sw_ssh_call call = { .script = "read -r x; echo \"$x\"", .input = pieces, .input_count = 2 };

    (void)state;
    memset(bytes, '\n', sizeof bytes);
    for (int i = 0; i < 3; i++) {
        sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
        struct sw_error err = { 0 };

        expect_done(sw_ssh_run(ssh, &call, &reply, &err), &err);
        assert_string_equal(sw_buf_text(&reply.output), "first\n");
        expect_echo(ssh);
    }
    finish(ssh);
}

static int add_to_digest(void *context, const char *bytes, size_t length)
{
    sw_digest_add(context, bytes, length);
    return 0;
}

static void send_64_mib_both_ways(struct sw_ssh *ssh)
{
    const size_t size = (size_t)64 << 20;
    char *bytes = sw_alloc(size);
    struct sw_digest got;
    char there[SW_DIGEST_HEX], back[SW_DIGEST_HEX];
    sw_autofree char *path = in_folder("half");
    const size_t half = size / 2 + 12345;
    struct sw_ssh_piece pieces[] = { { .length = half }, { .length = size - half } };
    struct sw_ssh_call call = { .script = "cat", .input = pieces, .input_count = 2,
                                .sink = add_to_digest, .sink_context = &got, .timeout_ms = 300000 };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };
    uint32_t random = 1;

    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)((random = random * 1664525u + 1013904223u) >> 24);
    assert_int_equal(sw_file_write(path, bytes, half, 0600, &err), 0);
    pieces[0].fd = open(path, O_RDONLY | O_CLOEXEC);
    pieces[1].bytes = bytes + half;
    sw_sha256_hex(bytes, size, there);
    sw_digest_init(&got, SW_SHA256);
    expect_done(sw_ssh_run(ssh, &call, &reply, &err), &err);
    sw_digest_end_hex(&got, back);
    assert_string_equal(there, back);
    close(pieces[0].fd);
    unlink(path);
    free(bytes);
}

static void sixty_four_mib_of_any_bytes_travel_both_ways(void **state)
{
    struct sw_ssh *ssh = open_with(usual());

    (void)state;
    send_64_mib_both_ways(ssh);
    expect_echo(ssh);
    finish(ssh);
}

static void an_answer_over_the_limit_is_refused_and_the_next_call_works(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    struct sw_ssh_call call = { .script = "head -c 100000 /dev/zero", .output_limit = 1000 };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_ssh_run(ssh, &call, &reply, &err), -1);
    assert_int_equal(err.code, SW_E_REFUSED);
    assert_int_equal(reply.fate, SW_SSH_DONE);
    assert_int_equal(reply.output.length, 1000);
    expect_echo(ssh);
    assert_int_equal(sw_ssh_counters(ssh)->processes, 2);
    finish(ssh);
}

static int want_no_more(void *context, const char *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
    return 1;
}

static void a_receiver_may_stop_a_call_that_never_ends(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    struct sw_ssh_call call = { .script = "while echo x; do :; done", .sink = want_no_more };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(sw_ssh_run(ssh, &call, &reply, &err), -1);
    assert_int_equal(err.code, SW_E_INTERRUPTED);
    expect_echo(ssh);
    finish(ssh);
}

static void what_a_process_left_behind_prints_is_not_in_the_next_answer(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    sw_autofree char *left = run(ssh, "(while :; do echo noise; echo noise >&2; sleep 0.002; done) &\n"
                                      "echo pid=$!");
    sw_autofree char *stop = sw_format("kill %d", atoi(strstr(left, "pid=") + 4));

    (void)state;
    for (int i = 0; i < 20; i++) {
        sw_autofree char *said = run(ssh, "sleep 0.005; :");

        /* within a call it cannot be told apart; between calls it is dropped */
        assert_true(strncmp(said, "noise\n", 6) == 0 || *said == '\0');
    }
    free(run(ssh, stop));
    expect_echo(ssh);
    finish(ssh);
}

static void what_a_login_script_prints_is_dropped(void **state)
{
    struct sw_ssh *ssh = open_with(usual());

    (void)state;
    sshd_stop(&server);
    sshd_start(&server, "ForceCommand echo welcome; echo to >&2; printf '<the' ; "
                        "sh -c \"$SSH_ORIGINAL_COMMAND\"");
    expect_echo(ssh);
    expect_echo(ssh);
    finish(ssh);
    sshd_stop(&server);
    sshd_start(&server, NULL);
}

static void any_login_shell_will_do(void **state)
{
    static const char *const shells[] = { "bash", "dash", "zsh", "fish", "tcsh", "ksh" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(shells); i++) {
        sw_autofree char *found = sw_format("/usr/bin/%s", shells[i]);
        sw_autofree char *config = sw_format("ForceCommand %s -c \"$SSH_ORIGINAL_COMMAND\"", found);
        struct sw_ssh *ssh;

        if (access(found, X_OK) < 0)
            continue;
        ssh = open_with(usual());
        sshd_stop(&server);
        sshd_start(&server, config);
        expect_echo(ssh);
        finish(ssh);
    }
    sshd_stop(&server);
    sshd_start(&server, NULL);
}

static void bash_as_sh_serves_the_same(void **state)
{
    sw_autofree char *real = realpath("/bin/sh", NULL);

    assert_non_null(real);
    assert_int_equal(mount("/bin/bash", real, NULL, MS_BIND, NULL), 0);      /* only we see it */
    output_errors_and_exit_code_come_back_exactly(state);
    input_that_a_script_ignores_does_not_reach_the_next(state);
    scripts_of_every_length_arrive_whole(state);
    assert_int_equal(umount2(real, MNT_DETACH), 0);
}

/* ---- one connection --------------------------------------------------------------------------- */

static void a_thousand_calls_share_one_login_and_two_processes(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    int before = sshd_logins(&server);
    int64_t began, took;

    (void)state;
    expect_echo(ssh);
    began = sw_monotonic_ms();
    for (int i = 1; i < 1000; i++)
        expect_echo(ssh);
    took = sw_monotonic_ms() - began;
    print_message("          %.2f ms per call\n", (double)took / 999);
    assert_int_equal(sw_ssh_counters(ssh)->connections, 1);
    assert_int_equal(sw_ssh_counters(ssh)->processes, 2);
    assert_int_equal(sw_ssh_counters(ssh)->round_trips, 1001);
    assert_int_equal(sshd_logins(&server) - before, 1);
    finish(ssh);
}

static void processes_that_start_together_share_one_login(void **state)
{
    pid_t children[4];
    int before = sshd_logins(&server), status;
    struct sw_ssh *ssh = open_with(usual());

    (void)state;
    for (size_t i = 0; i < SW_COUNT(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct sw_ssh *own = open_with(usual());

            expect_echo(own);
            sw_ssh_close(own);
            _exit(0);
        }
    }
    for (size_t i = 0; i < SW_COUNT(children); i++) {
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    expect_echo(ssh);
    assert_int_equal(sw_ssh_counters(ssh)->connections, 0);     /* the one of the children stayed */
    assert_int_equal(sshd_logins(&server) - before, 1);
    finish(ssh);
}

static void expect_no_master(void)
{
    int64_t until = sw_monotonic_ms() + 20000;
    pid_t pid;

    while (processes_with("-fN", &pid) > 0 && sw_monotonic_ms() < until)
        sw_sleep_ms(5);
    assert_int_equal(processes_with("-fN", &pid), 0);
}

static void a_process_killed_in_its_login_is_in_nobodys_way(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        struct sw_ssh *ssh = open_with(usual());
        pid_t child = fork();
        int status;

        if (child == 0) {
            struct sw_ssh *own = open_with(usual());

            expect_echo(own);
            _exit(0);
        }
        sw_sleep_ms(5 * i);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        expect_echo(ssh);
        finish(ssh);
        expect_no_master();
    }
}

static void a_killed_master_costs_one_new_login_and_no_call(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    int64_t until = sw_monotonic_ms() + 10000;
    struct sw_proc master;

    (void)state;
    expect_echo(ssh);
    assert_int_equal(sw_proc_of(master_pid(), &master), 0);
    assert_int_equal(sw_proc_signal(&master, SIGKILL), 0);
    while (sw_proc_alive(&master) && sw_monotonic_ms() < until)
        sw_sleep_ms(1);
    expect_echo(ssh);
    assert_int_equal(sw_ssh_counters(ssh)->connections, 2);
    finish(ssh);
}

static void a_master_that_hears_nothing_any_more_is_replaced(void **state)
{
    struct sw_ssh_options options = usual();
    struct sw_ssh *first, *second;
    pid_t stuck;

    (void)state;
    options.connect_ms = 3000;
    first = open_with(options);
    expect_echo(first);
    stuck = master_pid();
    sshd_kill_sessions(&server, SIGSTOP);       /* as if the network were gone */
    second = open_with(options);
    expect_echo(second);
    assert_int_equal(sw_ssh_counters(second)->connections, 1);
    assert_int_not_equal(master_pid(), stuck);
    sshd_kill_sessions(&server, SIGCONT);
    sw_ssh_close(first);
    finish(second);
}

static void a_state_folder_with_a_long_name_is_no_obstacle(void **state)
{
    struct sw_ssh_options options = usual();
    sw_autofree char *folder = sw_format("%s/%0120d", server.folder, 7);
    struct sw_ssh *ssh;
    struct stat info;
    sw_autofree char *fallback = sw_format("/tmp/slipway-%u-ssh", (unsigned)geteuid());

    (void)state;
    options.state_dir = folder;
    ssh = open_with(options);
    expect_echo(ssh);
    finish(ssh);
    assert_int_equal(stat(fallback, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(chmod(fallback, 0755), 0);
    {
        struct sw_error err = { 0 };

        assert_null(sw_ssh_open(&options, &err));
        assert_int_equal(err.code, SW_E_IO);
        assert_non_null(strstr(err.hint, "chmod 700"));
    }
    sw_remove_tree(fallback, NULL);
}

/* ---- what breaks ------------------------------------------------------------------------------ */

static int kill_sessions_once(void *context, const char *bytes, size_t length)
{
    (void)bytes, (void)length, (void)context;
    sshd_kill_sessions(&server, SIGKILL);
    return 0;
}

static void a_call_cut_in_the_middle_is_maybe_and_goes_to_no_other_host(void **state)
{
    struct sw_ssh_options options = usual();
    sw_autofree char *mark = in_folder("ran"), *script = NULL;
    struct sw_ssh_call call = { .sink = kill_sessions_once };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };
    struct sw_ssh *ssh;

    (void)state;
    options.hosts = "127.0.0.1,127.0.0.3";
    ssh = open_with(options);
    script = sw_format("echo ran >> %s; head -c 70000 /dev/zero; sleep 20", mark);
    call.script = script;
    expect_echo(ssh);
    assert_int_equal(sw_ssh_run(ssh, &call, &reply, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_int_equal(reply.fate, SW_SSH_MAYBE);
    assert_int_equal(lines_in(mark), 1);
    expect_echo(ssh);                           /* and the connection mends itself */
    assert_int_equal(lines_in(mark), 1);
    finish(ssh);
    unlink(mark);
}

static void a_repeatable_call_that_was_cut_is_asked_again(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    sw_autofree char *mark = in_folder("asked"), *script = NULL;
    struct sw_ssh_call call = { .repeatable = true };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    script = sw_format("echo ran >> %s; [ $(wc -l < %s) = 2 ] || "
                       "for p in $(pgrep sshd); do [ $p = %d ] || kill -9 $p; done; echo good",
                       mark, mark, (int)server.pid);
    call.script = script;
    expect_done(sw_ssh_run(ssh, &call, &reply, &err), &err);
    assert_string_equal(sw_buf_text(&reply.output), "good\n");
    assert_int_equal(lines_in(mark), 2);
    finish(ssh);
    unlink(mark);
}

static void a_script_that_was_not_sent_whole_never_runs(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    sw_autofree char *mark = in_folder("half-ran");
    int64_t until = sw_monotonic_ms() + 30000;
    pid_t pid = 0;
    sw_auto(sw_buf) struct sw_buf script = SW_BUF_INIT;
    struct sw_ssh_call call = { .timeout_ms = 700 };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    sw_buf_addf(&script, "touch %s\n", mark);
    for (int i = 0; i < 600000; i++)
        sw_buf_add(&script, "# a long comment\n");
    call.script = sw_buf_text(&script);
    expect_echo(ssh);
    sshd_kill_sessions(&server, SIGSTOP);
    assert_int_equal(sw_ssh_run(ssh, &call, &reply, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_int_equal(reply.fate, SW_SSH_NOT_STARTED);
    sshd_kill_sessions(&server, SIGCONT);
    expect_echo(ssh);
    sw_ssh_close(ssh);                          /* the master stays: the rest does arrive */
    while (processes_with("read -r m n i l", &pid) > 0 && sw_monotonic_ms() < until)
        sw_sleep_ms(20);
    assert_true(sw_monotonic_ms() < until);
    assert_false(sw_file_exists(mark));
    finish(open_with(usual()));
}

static void the_next_host_is_taken_when_the_first_does_not_answer(void **state)
{
    struct sw_ssh_options options = usual();
    struct sw_ssh *ssh;

    (void)state;
    options.hosts = "127.0.0.2, 127.0.0.1";
    ssh = open_with(options);
    expect_echo(ssh);
    assert_string_equal(sw_ssh_host(ssh), "127.0.0.1");
    assert_false(sw_ssh_prefer(ssh, "127.0.0.9"));
    assert_true(sw_ssh_prefer(ssh, "127.0.0.2"));
    expect_echo(ssh);
    assert_string_equal(sw_ssh_host(ssh), "127.0.0.1");
    finish(ssh);
}

static void a_call_that_takes_too_long_is_maybe(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    struct sw_ssh_call call = { .script = "sleep 30", .timeout_ms = 600 };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    expect_echo(ssh);
    assert_int_equal(sw_ssh_run(ssh, &call, &reply, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_int_equal(reply.fate, SW_SSH_MAYBE);
    expect_echo(ssh);
    finish(ssh);
}

/* ---- who is not let in ------------------------------------------------------------------------- */

static void expect_refused(struct sw_ssh_options options, enum sw_code code, const char *message,
                           const char *hint)
{
    struct sw_ssh *ssh = open_with(options);
    struct sw_ssh_call call = { .script = "echo hello" };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };

    assert_int_equal(sw_ssh_run(ssh, &call, &reply, &err), -1);
    assert_int_equal(reply.fate, SW_SSH_NOT_STARTED);
    if (err.code != code || !strstr(err.message, message) || !strstr(err.hint, hint))
        fail_msg("%d '%s' hint '%s'", err.code, err.message, err.hint);
    finish(ssh);
}

static void host_keys_are_always_checked(void **state)
{
    struct sw_ssh_options options = usual();
    struct sw_ssh *ssh;

    (void)state;
    unlink(server.known_hosts);
    expect_refused(options, SW_E_REFUSED, "an unknown host key", "accept_new");
    options.accept_new = true;
    ssh = open_with(options);
    expect_echo(ssh);
    finish(ssh);
    sshd_stop(&server);
    sshd_new_host_key(&server);
    sshd_start(&server, NULL);
    expect_refused(options, SW_E_REFUSED, "a different host key", "ssh-keygen");
    options.accept_new = false;
    expect_refused(options, SW_E_REFUSED, "a different host key", "ssh-keygen");
    sshd_trust(&server, "127.0.0.1,127.0.0.3");
}

static void a_key_that_others_may_read_is_refused_with_the_remedy(void **state)
{
    struct sw_ssh_options options = usual();
    struct sw_error err = { 0 };

    (void)state;
    assert_int_equal(chmod(server.key, 0640), 0);
    assert_null(sw_ssh_open(&options, &err));
    assert_int_equal(err.code, SW_E_CREDENTIAL);
    assert_non_null(strstr(err.hint, "chmod 600 "));
    assert_non_null(strstr(err.hint, server.key));
    assert_int_equal(chmod(server.key, 0600), 0);
    options.identity = "/nowhere/key";
    assert_null(sw_ssh_open(&options, &err));
    assert_int_equal(err.code, SW_E_CREDENTIAL);
}

static void a_server_that_wants_a_password_is_reported_at_once(void **state)
{
    (void)state;
    sshd_stop(&server);
    sshd_start(&server, "PubkeyAuthentication no\nPasswordAuthentication yes");
    expect_refused(usual(), SW_E_CREDENTIAL, "password or a second factor", "ControlPersist");
    sshd_stop(&server);
    sshd_start(&server, NULL);
}

static void a_server_that_wants_a_second_factor_after_the_key_is_reported_at_once(void **state)
{
    (void)state;
    sshd_stop(&server);
    sshd_start(&server, "AuthenticationMethods publickey,keyboard-interactive\n"
                        "KbdInteractiveAuthentication yes");
    expect_refused(usual(), SW_E_CREDENTIAL, "password or a second factor", "ControlPersist");
    sshd_stop(&server);
    sshd_start(&server, NULL);
}

static void a_key_that_the_server_does_not_know_is_a_credential_error(void **state)
{
    sw_autofree char *other = in_folder("other");
    struct sw_ssh_options options = usual();
    const char *const argv[] = { "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other, NULL };

    (void)state;
    assert_int_equal(run_program(argv), 0);
    options.identity = other;
    expect_refused(options, SW_E_CREDENTIAL, "none of your keys", "SSH_KEY_PATH");
}

static void hosts_that_do_not_answer_are_unreachable(void **state)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000004),
                                   .sin_port = htons((uint16_t)server.port) };
    int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sw_ssh_options options = usual();

    (void)state;
    assert_int_equal(bind(silent, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(silent, 5), 0);
    options.connect_ms = 1000;
    options.hosts = "127.0.0.4";
    expect_refused(options, SW_E_UNREACHABLE, "did not answer in time", "network");
    close(silent);
    options.hosts = "127.0.0.2";
    expect_refused(options, SW_E_UNREACHABLE, "refused the connection", "sshd");
    options.hosts = "missing.invalid";
    expect_refused(options, SW_E_UNREACHABLE, "resolve", "spelling");
    options.hosts = "127.0.0.2,missing.invalid";
    expect_refused(options, SW_E_UNREACHABLE, "none of 2 login hosts", "");
}

static void names_that_ssh_would_take_for_options_are_refused(void **state)
{
    static const char *const bad[] = { "-oProxyCommand=x", "a b;c", "$(x)", "", ",", "a`b" };

    (void)state;
    for (size_t i = 0; i < SW_COUNT(bad); i++) {
        struct sw_ssh_options options = usual();
        struct sw_error err = { 0 };

        if (strchr(bad[i], ' ') == NULL) {
            options.hosts = bad[i];
            assert_null(sw_ssh_open(&options, &err));
            assert_int_equal(err.code, SW_E_SPEC);
        }
        options.hosts = "good";
        options.user = bad[i];
        if (*bad[i] && *bad[i] != ',')
            assert_null(sw_ssh_open(&options, &err));
    }
}

/* ---- secrets ---------------------------------------------------------------------------------- */

static int look_for_canary(void *context, const char *bytes, size_t length)
{
    int *seen = context;
    pid_t pid = 0;

    (void)bytes, (void)length;
    seen[0] += processes_with("canary-7f3a", &pid);
    seen[1] += processes_with("read -r m n i l", &pid);     /* we do see the shell itself */
    return 0;
}

static void nothing_of_script_or_input_stands_in_an_argument_list(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    int seen[2] = { 0, 0 };
    const struct sw_ssh_piece piece = { .bytes = "canary-7f3a", .length = 11 };
    struct sw_ssh_call call = { .script = "x=canary-7f3a; head -c 5; head -c 70000 /dev/zero; sleep 0.1",
                                .input = &piece, .input_count = 1, .sink = look_for_canary,
                                .sink_context = seen };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    expect_done(sw_ssh_run(ssh, &call, &reply, &err), &err);
    assert_true(seen[1] > 0);
    assert_int_equal(seen[0], 0);
    finish(ssh);
}

/* ---- streams ----------------------------------------------------------------------------------- */

static struct sw_ssh_stream *join(struct sw_ssh *ssh, const char *command, int *fd,
                                  struct sw_error *err)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    *fd = pair[0];
    return sw_ssh_stream_join(ssh, command, pair[1], err);
}

static void a_stream_is_a_socket_to_a_remote_command(void **state)
{
    struct sw_ssh *ssh = open_with(usual());
    struct sw_error err = { 0 };
    int fd = -1, wrong_fd = -1;
    sw_auto(sw_ssh_stream) struct sw_ssh_stream *stream = join(ssh, "cat", &fd, &err);
    sw_auto(sw_ssh_stream) struct sw_ssh_stream *wrong = NULL;
    char back[6] = "";

    (void)state;
    assert_non_null(stream);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
        assert_int_equal(recv(fd, back, 5, MSG_WAITALL), 5);
        assert_string_equal(back, "hello");
    }
    assert_int_equal(sw_ssh_counters(ssh)->connections, 1);
    wrong = join(ssh, "echo no such daemon >&2; exit 4", &wrong_fd, &err);
    assert_non_null(wrong);
    assert_int_equal(recv(wrong_fd, back, 5, MSG_WAITALL), 0);
    assert_int_equal(sw_ssh_stream_why(wrong, &err), -1);
    assert_non_null(strstr(err.message, "no such daemon"));
    assert_non_null(strstr(err.message, "exit code 4"));
    close(fd);
    close(wrong_fd);
    finish(ssh);
}

/* ---- without ssh ------------------------------------------------------------------------------- */

static void the_same_calls_work_on_this_machine_without_ssh(void **state)
{
    struct sw_ssh *ssh = open_with((struct sw_ssh_options){ .local = true });
    struct sw_ssh_call call = { .script = "kill -9 $PPID $$", .timeout_ms = 5000 };
    sw_auto(sw_ssh_reply) struct sw_ssh_reply reply = { 0 };
    struct sw_error err = { 0 };

    (void)state;
    for (int i = 0; i < 100; i++)
        expect_echo(ssh);
    assert_int_equal(sw_ssh_counters(ssh)->processes, 1);
    assert_int_equal(sw_ssh_counters(ssh)->connections, 0);
    send_64_mib_both_ways(ssh);
    call.script = "kill -9 $$";                 /* the held shell itself */
    assert_int_equal(sw_ssh_run(ssh, &call, &reply, &err), -1);
    assert_int_equal(err.code, SW_E_UNREACHABLE);
    assert_int_equal(reply.fate, SW_SSH_MAYBE);
    expect_echo(ssh);
    sw_ssh_close(ssh);
}

/* Comments that make any script a long one, and a last line without newline. */
static char *long_script(const char *command)
{
    enum { LONG = 5000 };
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    sw_buf_add_char(&text, '#');
    for (int i = 0; i < LONG; i++)
        sw_buf_add_char(&text, 'x');
    sw_buf_addf(&text, "\n%s", command);
    return sw_buf_steal(&text);
}

static void expect_output(struct sw_ssh *ssh, const char *script, const char *output)
{
    sw_autofree char *said = run(ssh, script);

    assert_string_equal(said, output);
}

static void a_long_script_that_is_asked_again_is_sent_once(void **state)
{
    (void)state;
    sw_auto(sw_ssh) struct sw_ssh *ssh = open_with((struct sw_ssh_options){ .local = true });
    sw_autofree char *one = long_script("n=$((${n-0} + 1)); echo one $n\n\n");
    sw_autofree char *two = long_script("echo two");
    int64_t sent;

    expect_output(ssh, one, "one 1\n");
    sent = sw_ssh_counters(ssh)->sent_bytes;
    expect_output(ssh, one, "one 1\n");
    expect_output(ssh, "echo short", "short\n");
    expect_output(ssh, one, "one 1\n");
    assert_true(sw_ssh_counters(ssh)->sent_bytes - sent < 500);
    expect_output(ssh, two, "two\n");
    expect_output(ssh, one, "one 1\n");
    assert_true(sw_ssh_counters(ssh)->sent_bytes - sent > 10000);
}

static void a_new_shell_is_sent_the_script_again(void **state)
{
    (void)state;
    sw_auto(sw_ssh) struct sw_ssh *ssh = open_with((struct sw_ssh_options){ .local = true });
    sw_autofree char *script = long_script("echo here");

    expect_output(ssh, script, "here\n");
    sw_ssh_disconnect(ssh);
    expect_output(ssh, script, "here\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_errors_and_exit_code_come_back_exactly),
        cmocka_unit_test(scripts_of_every_length_arrive_whole),
        cmocka_unit_test(input_that_a_script_ignores_does_not_reach_the_next),
        cmocka_unit_test(sixty_four_mib_of_any_bytes_travel_both_ways),
        cmocka_unit_test(an_answer_over_the_limit_is_refused_and_the_next_call_works),
        cmocka_unit_test(a_receiver_may_stop_a_call_that_never_ends),
        cmocka_unit_test(what_a_process_left_behind_prints_is_not_in_the_next_answer),
        cmocka_unit_test(what_a_login_script_prints_is_dropped),
        cmocka_unit_test(any_login_shell_will_do),
        cmocka_unit_test(bash_as_sh_serves_the_same),
        cmocka_unit_test(a_thousand_calls_share_one_login_and_two_processes),
        cmocka_unit_test(processes_that_start_together_share_one_login),
        cmocka_unit_test(a_process_killed_in_its_login_is_in_nobodys_way),
        cmocka_unit_test(a_killed_master_costs_one_new_login_and_no_call),
        cmocka_unit_test(a_master_that_hears_nothing_any_more_is_replaced),
        cmocka_unit_test(a_state_folder_with_a_long_name_is_no_obstacle),
        cmocka_unit_test(a_call_cut_in_the_middle_is_maybe_and_goes_to_no_other_host),
        cmocka_unit_test(a_repeatable_call_that_was_cut_is_asked_again),
        cmocka_unit_test(a_script_that_was_not_sent_whole_never_runs),
        cmocka_unit_test(the_next_host_is_taken_when_the_first_does_not_answer),
        cmocka_unit_test(a_call_that_takes_too_long_is_maybe),
        cmocka_unit_test(host_keys_are_always_checked),
        cmocka_unit_test(a_key_that_others_may_read_is_refused_with_the_remedy),
        cmocka_unit_test(a_server_that_wants_a_password_is_reported_at_once),
        cmocka_unit_test(a_server_that_wants_a_second_factor_after_the_key_is_reported_at_once),
        cmocka_unit_test(a_key_that_the_server_does_not_know_is_a_credential_error),
        cmocka_unit_test(hosts_that_do_not_answer_are_unreachable),
        cmocka_unit_test(names_that_ssh_would_take_for_options_are_refused),
        cmocka_unit_test(nothing_of_script_or_input_stands_in_an_argument_list),
        cmocka_unit_test(a_stream_is_a_socket_to_a_remote_command),
        cmocka_unit_test(the_same_calls_work_on_this_machine_without_ssh),
        cmocka_unit_test(a_long_script_that_is_asked_again_is_sent_once),
        cmocka_unit_test(a_new_shell_is_sent_the_script_again),
    };
    int failed;

    sshd_enter_namespaces();
    sshd_make(&server);
    sshd_trust(&server, "127.0.0.1,127.0.0.3");
    sshd_start(&server, NULL);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    sshd_remove(&server);
    return failed;
}
