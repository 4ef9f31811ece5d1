/* SPDX-License-Identifier: Apache-2.0 */
/* test_cli_log.c - log bytes reach a pipe exactly and a terminal harmlessly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <cmocka.h>

#include "cli/cli_log.h"

struct piece {
    int rank;
    int64_t at_ms;
    const char *bytes;
    size_t length;
};
#define PIECE(rank, text) { rank, 0, text, sizeof(text) - 1 }
#define PIECE_AT(rank, at_ms, text) { rank, at_ms, text, sizeof(text) - 1 }

/* What stdout got from these pieces; the log's own stdout is put back afterwards. */
static size_t written(struct cli_log *log, const struct piece *pieces, size_t count, char *out,
                      size_t room)
{
    sw_autofd int saved = dup(STDOUT_FILENO);
    int ends[2];
    ssize_t length;

    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDOUT_FILENO);
    for (size_t i = 0; i < count; i++)
        cli_log_write(log, pieces[i].rank, pieces[i].at_ms, pieces[i].bytes, pieces[i].length);
    cli_log_end(log);
    dup2(saved, STDOUT_FILENO);
    close(ends[1]);
    length = read(ends[0], out, room);
    close(ends[0]);
    assert_true(length >= 0);
    return (size_t)length;
}

static void into_a_pipe_every_byte_passes_as_it_is(void **state)
{
    static const struct piece pieces[] = { PIECE(0, "a\0b\033[2J\xff"), PIECE(0, "no end") };
    struct cli_log log = { .last_rank = -1 };
    char got[64];
    size_t length = written(&log, pieces, SW_COUNT(pieces), got, sizeof got);

    (void)state;
    assert_int_equal(length, 14);
    assert_memory_equal(got, "a\0b\033[2J\xffno end", 14);
}

static void on_a_terminal_control_sequences_are_shown_not_obeyed(void **state)
{
    static const struct piece pieces[] = { PIECE(0, "\033]0;title\a ok") };
    struct cli_log log = { .terminal = true, .last_rank = -1 };
    char got[64];
    size_t length = written(&log, pieces, SW_COUNT(pieces), got, sizeof got);

    (void)state;
    got[length] = '\0';
    assert_string_equal(got, "^[]0;title^G ok\n");
}

static void a_character_cut_in_two_pieces_arrives_whole(void **state)
{
    static const struct piece pieces[] = { PIECE(0, "5 \xe2\x82"), PIECE(0, "\xac\n") };
    struct cli_log log = { .terminal = true, .last_rank = -1 };
    char got[64];
    size_t length = written(&log, pieces, SW_COUNT(pieces), got, sizeof got);

    (void)state;
    got[length] = '\0';
    assert_string_equal(got, "5 \xe2\x82\xac\n");
}

static void several_ranks_sign_their_lines(void **state)
{
    static const struct piece pieces[] = {
        PIECE(0, "a\nb\n"), PIECE(1, "c\n"), PIECE(1, "no end"), PIECE(0, "d\n"),
    };
    struct cli_log log = { .prefix = true, .last_rank = -1 };
    char got[64];
    size_t length = written(&log, pieces, SW_COUNT(pieces), got, sizeof got);

    (void)state;
    got[length] = '\0';
    assert_string_equal(got, "0| a\n0| b\n1| c\n1| no end\n0| d\n");
}

static void each_line_tells_when_it_was_written(void **state)
{
    static const struct piece pieces[] = { PIECE_AT(0, 1779403854123, "a\nb"),
                                           PIECE_AT(0, 1779403855000, "c\n"), PIECE(0, "d\n") };
    struct cli_log log = { .timestamps = true, .last_rank = -1 };
    char got[256];
    size_t length = written(&log, pieces, SW_COUNT(pieces), got, sizeof got - 1);

    (void)state;
    got[length] = '\0';
    assert_string_equal(got, "2026-05-21T22:50:54.123Z a\n2026-05-21T22:50:54.123Z bc\n"
                             "-                        d\n");
}

static void lines_of_several_jobs_begin_with_their_front(void **state)
{
    static const struct piece pieces[] = { PIECE(0, "\033[31ma\nb\n"), PIECE(0, "no end") };
    struct cli_log log = { .front = "job | ", .last_rank = -1 };
    struct cli_log screen = { .front = "job | ", .terminal = true, .last_rank = -1, .clean.colors = true };
    char got[128];
    size_t length = written(&log, pieces, SW_COUNT(pieces), got, sizeof got - 1);

    (void)state;
    got[length] = '\0';
    assert_string_equal(got, "job | \033[31ma\njob | b\njob | no end");
    length = written(&screen, pieces, SW_COUNT(pieces), got, sizeof got - 1);
    got[length] = '\0';
    assert_string_equal(got, "job | \033[31ma\033[0m\njob | \033[31mb\033[0m\n"
                             "job | \033[31mno end\033[0m\n");
}

static void only_lines_that_match_are_written_and_the_last_of_them(void **state)
{
    static const struct piece pieces[] = {
        PIECE(0, "loss 3\nepoch\n\033[32mloss\033[0m 2\r\n"), PIECE(1, "a loss\n"), PIECE(0, "loss 1"),
    };
    regex_t grep;
    struct cli_log log = { .grep = &grep, .prefix = true, .last_rank = -1 };
    struct cli_log last = { .grep = &grep, .last_rank = -1, .last.wanted = 1 };
    char got[128];
    size_t length;

    (void)state;
    assert_int_equal(regcomp(&grep, "^loss [0-9]+$", REG_EXTENDED | REG_NOSUB), 0);
    length = written(&log, pieces, SW_COUNT(pieces), got, sizeof got - 1);
    got[length] = '\0';
    assert_string_equal(got, "0| loss 3\n0| \033[32mloss\033[0m 2\r\n0| loss 1");
    length = written(&last, pieces, SW_COUNT(pieces), got, sizeof got - 1);
    got[length] = '\0';
    assert_string_equal(got, "loss 1\n");
    regfree(&grep);
}

static void as_json_each_line_is_an_object(void **state)
{
    static const struct piece pieces[] = { PIECE_AT(0, 1779403854123, "a \"b\"\nc\xff\n"), PIECE(1, "") ,
                                           PIECE(1, "end") };
    struct cli_log log = { .json = true, .id = "train-k3", .last_rank = -1 };
    char got[512];
    size_t length = written(&log, pieces, SW_COUNT(pieces), got, sizeof got - 1);

    (void)state;
    got[length] = '\0';
    assert_string_equal(got,
        "{\"version\":1,\"job\":\"train-k3\",\"rank\":0,\"at\":\"2026-05-21T22:50:54.123000+00:00\","
        "\"line\":\"a \\\"b\\\"\"}\n"
        "{\"version\":1,\"job\":\"train-k3\",\"rank\":0,\"at\":\"2026-05-21T22:50:54.123000+00:00\","
        "\"line\":\"c\xef\xbf\xbd\"}\n"
        "{\"version\":1,\"job\":\"train-k3\",\"rank\":1,\"at\":null,\"line\":\"end\"}\n");
}

static void a_reader_that_left_is_noticed(void **state)
{
    sw_autofd int saved = dup(STDOUT_FILENO);
    struct cli_log log = { .last_rank = -1 };
    struct cli cli = { 0 };
    int ends[2], rc;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
    rc = cli_log_write(&log, 0, 0, "x", 1);
    dup2(saved, STDOUT_FILENO);
    close(ends[1]);
    assert_int_equal(rc, 1);
    assert_int_equal(log.error, EPIPE);
    assert_int_equal(cli_log_failed(&log, &cli, NULL), 0);
    assert_int_equal(cli.exit_status, 141);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(into_a_pipe_every_byte_passes_as_it_is),
        cmocka_unit_test(on_a_terminal_control_sequences_are_shown_not_obeyed),
        cmocka_unit_test(a_character_cut_in_two_pieces_arrives_whole),
        cmocka_unit_test(several_ranks_sign_their_lines),
        cmocka_unit_test(each_line_tells_when_it_was_written),
        cmocka_unit_test(lines_of_several_jobs_begin_with_their_front),
        cmocka_unit_test(only_lines_that_match_are_written_and_the_last_of_them),
        cmocka_unit_test(as_json_each_line_is_an_object),
        cmocka_unit_test(a_reader_that_left_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
