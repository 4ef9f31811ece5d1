/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - `follow SLIPWAY`: what is followed is what was written, byte for byte.
 *
 * The truth is the file on the platform's side (local) or the bytes that the script stands for
 * (rehearsal). It is compared with what `slipway logs -f` wrote into a pipe, whatever happens
 * meanwhile; on a terminal the same bytes must be harmless instead.
 */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "stage.h"

static int begin_local(void **state)
{
    return stage_begin(&fixture_local, state);
}

static int begin_rehearsal(void **state)
{
    return stage_begin(&fixture_rehearsal, state);
}

/* ---- comparing ---------------------------------------------------------------------------------- */

struct view {
    char *bytes;
    size_t length;
};

static struct view map_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info = { 0 };
    void *bytes = NULL;

    if (fd < 0 || fstat(fd, &info) < 0)
        fail_msg("cannot read %s", path);
    if (info.st_size > 0) {
        bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        assert_true(bytes != MAP_FAILED);
    }
    close(fd);
    return (struct view){ .bytes = bytes, .length = (size_t)info.st_size };
}

static void unmap(struct view *view)
{
    if (view->bytes)
        munmap(view->bytes, view->length);
}

static void expect_same_files(const char *path, const char *wanted, size_t length)
{
    struct view got = map_file(path), want = map_file(wanted);
    size_t i = 0;

    assert_true(want.length >= length);
    if (got.length != want.length)
        fail_msg("%zu bytes were followed, %zu were written", got.length, want.length);
    if (got.length > 0 && memcmp(got.bytes, want.bytes, got.length) != 0) {
        while (got.bytes[i] == want.bytes[i])
            i++;
        fail_msg("the followed log differs from byte %zu on", i);
    }
    unmap(&got);
    unmap(&want);
}

static char *log_file(const struct trial *here, const char *job)
{
    return sw_format("%s/local/%s/attempt-1/logs/0.log", here->state_dir, job);
}

/* ---- cuts and rotation: rehearsal --------------------------------------------------------------- */

/* The bytes of a script of numbered blocks, as rehearsal.md describes them. */
static void write_expected(const char *path, const int *blocks, size_t count)
{
    FILE *file = fopen(path, "we");
    char line[LOG_LINE + 1];

    assert_non_null(file);
    for (size_t i = 0; i < count; i++)
        for (int n = 1; n <= blocks[i]; n++) {
            log_line(n, line);
            fputs(line, file);
        }
    fclose(file);
}

static void prove_follow_with(struct trial *here, const char *api)
{
    static const int blocks[] = { 3000, 1, 2999, 5000 };
    sw_autofree char *out = path_in(here, "followed"), *wanted = path_in(here, "written");
    char job[SW_ID_SIZE];
    pid_t child;

    connect_with(here, NULL);
    memcpy(job, rehearse(here, "pending 50ms, log 3000 lines, running 150ms, log 1 line, "
                         "running 150ms, log 2999 lines, running 150ms, log 5000 lines, exit 5",
                         NULL), SW_ID_SIZE);
    write_expected(wanted, blocks, SW_COUNT(blocks));
    setenv("SLIPWAY_REHEARSAL_API", api, 1);
    child = begin_slipway(here, out, "logs", "-f", job, NULL);
    assert_int_equal(end_of(child), 5);
    expect_same_files(out, wanted, 1);
}

static void following_is_exact_when_the_api_goes_down_again_and_again(void **state)
{
    prove_follow_with(*state, "cut-every 2 calls");
    prove_follow_with(*state, "cut-every 3 calls");
    prove_follow_with(*state, "down 7 calls");
}

static void following_is_exact_when_the_log_is_rotated(void **state)
{
    prove_follow_with(*state, "rotate-log 4KiB");
    prove_follow_with(*state, "rotate-log 1000");
}

static void following_is_exact_when_the_log_is_rotated_and_the_api_is_cut(void **state)
{
    prove_follow_with(*state, "rotate-log 10KB, cut-every 5 calls");
    prove_follow_with(*state, "rotate-log 100KB, slow 20ms, cut-every 2 calls");
}

static void reading_and_tails_are_exact_when_the_log_is_rotated(void **state)
{
    struct trial *here = *state;
    const char *job = rehearse(here, "log 3000 lines, exit 0", NULL);
    struct log log;

    wait_until_over(here, job);
    connect_with(here, "rotate-log 1000");
    log = read_log(here, job, -1, false);
    expect_lines(&log, 1, 3000);
    log_done(&log);
    log = read_log(here, job, 2500, false);
    expect_lines(&log, 501, 3000);
    log_done(&log);
}

/* ---- a fast writer, and bytes that are no text: local ----------------------------------------------- */

static void following_is_exact_beside_a_writer_of_a_hundred_megabytes_a_second(void **state)
{
    enum { MEGABYTES = 200 };
    struct trial *here = *state;
    sw_autofree char *out = path_in(here, "followed"), *file = NULL;
    const char *job = launch_shell(here, "seq 1 400000 >seed; i=0; while [ $i -lt %d ]; do "
                                   "cat seed; i=$((i + 1)); done | head -c %dM",
                                   MEGABYTES / 2, MEGABYTES);
    int64_t begun = sw_monotonic_ms(), took;

    file = log_file(here, job);
    assert_int_equal(end_of(begin_slipway(here, out, "logs", "-f", job, NULL)), 0);
    took = sw_monotonic_ms() - begun;
    expect_same_files(out, file, MEGABYTES << 20);
    print_message("%d MiB written and followed at %lld MB/s\n", MEGABYTES,
                  (long long)((int64_t)MEGABYTES * 1048 / (took ? took : 1)));
}

/* Every byte value, broken UTF-8 of every kind, and what could command a terminal. */
static void write_wild_bytes(const char *path)
{
    static const char *const wild[] = {
        "\033]0;owned\007", "\033[2J\033[H", "\033[31mred\033[0m", "\033P+q\033\\", "\302\2332J",
        "\xff\xfe", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\xaf",
        "\xf4\x90\x80\x80", "caf\303\251 \342\202\254 \360\237\230\200", "a\rb", "a\bb", "\a\v\f",
        "\302\205", "\177", "\r\n", "\n",
    };
    FILE *file = fopen(path, "we");
    unsigned seed = 4;

    assert_non_null(file);
    for (int i = 0; i < 256; i++)
        fputc(i, file);
    for (int i = 0; i < 4000; i++)
        if (rand_r(&seed) % 3)
            fputs(wild[(unsigned)rand_r(&seed) % SW_COUNT(wild)], file);
        else
            fputc(rand_r(&seed) % 256, file);
    fputs("\nthe end\n", file);
    fclose(file);
}

static void bytes_that_are_no_text_are_intact_in_a_pipe(void **state)
{
    struct trial *here = *state;
    sw_autofree char *wild = path_in(here, "wild"), *out = path_in(here, "followed");
    const char *job;

    write_wild_bytes(wild);
    job = launch_shell(here, "head -c 5000 '%s'; sleep 0.1; tail -c +5001 '%s'; exit 2", wild,
                       wild);
    assert_int_equal(end_of(begin_slipway(here, out, "logs", "-f", job, NULL)), 2);
    expect_same_files(out, wild, 1);
    assert_int_equal(end_of(begin_slipway(here, out, "logs", job, NULL)), 0);
    expect_same_files(out, wild, 1);
}

/* ---- on a terminal ---------------------------------------------------------------------------------- */

/* Run `slipway logs -f JOB` on a terminal; what appears there. */
static struct log on_a_terminal(struct trial *here, const char *job, int *exit_status)
{
    struct winsize size = { .ws_row = 24, .ws_col = 80 };
    struct log seen = { 0 };
    pid_t child;
    int master;
    ssize_t n;

    child = forkpty(&master, NULL, NULL, &size);
    assert_true(child >= 0);
    if (child == 0) {
        setenv("SLIPWAY_STATE_DIR", here->state_dir, 1);
        setenv("TERM", "xterm-256color", 1);
        setenv("NO_COLOR", "1", 1);
        execl(slipway_program, slipway_program, "logs", "-f", job, (char *)NULL);
        _exit(99);
    }
    seen.bytes = sw_alloc(1 << 22);
    while ((n = read(master, seen.bytes + seen.length, (1 << 22) - 1 - seen.length)) > 0)
        seen.length += (size_t)n;
    close(master);
    *exit_status = end_of(child);
    return seen;
}

/* Sequences we draw ourselves: the line is cleared, the cursor hidden and shown. */
static size_t own_sequence(const char *at)
{
    static const char *const own[] = { "\033[K", "\033[2K", "\033[?25l", "\033[?25h", "\033[0m",
                                       "\033[m", "\033[J", "\033[0K", "\033[1A" };

    for (size_t i = 0; i < SW_COUNT(own); i++)
        if (strncmp(at, own[i], strlen(own[i])) == 0)
            return strlen(own[i]);
    return 0;
}

static void expect_harmless(const struct log *seen)
{
    for (size_t i = 0; i < seen->length; i++) {
        unsigned char c = (unsigned char)seen->bytes[i];

        if (c == '\033' && own_sequence(seen->bytes + i)) {
            i += own_sequence(seen->bytes + i) - 1;
            continue;
        }
        if ((c < ' ' && !strchr("\n\r\t", c)) || c == 0x7f)
            fail_msg("byte 0x%02x reached the terminal at %zu", c, i);
        /* C1 controls are two bytes in UTF-8: C2 80 to C2 9F */
        if (c == 0xc2 && (unsigned char)seen->bytes[i + 1] < 0xa0)
            fail_msg("a C1 control reached the terminal at %zu", i);
    }
}

static void bytes_that_are_no_text_are_harmless_on_a_terminal(void **state)
{
    struct trial *here = *state;
    sw_autofree char *wild = path_in(here, "wild");
    const char *job;
    struct log seen;
    int code;

    write_wild_bytes(wild);
    job = launch_shell(here, "cat '%s'; sleep 0.2; exit 2", wild);
    seen = on_a_terminal(here, job, &code);
    assert_int_equal(code, 2);
    expect_harmless(&seen);
    expect_has(seen.bytes + seen.length - 400, "the end");
    assert_non_null(memmem(seen.bytes, seen.length, "caf\303\251 \342\202\254 \360\237\230\200",
                           strlen("caf\303\251 \342\202\254 \360\237\230\200")));
    log_done(&seen);
}

#define ON(platform, claim) \
    cmocka_unit_test_setup_teardown(claim, begin_##platform, stage_end)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ON(rehearsal, following_is_exact_when_the_api_goes_down_again_and_again),
        ON(rehearsal, following_is_exact_when_the_log_is_rotated),
        ON(rehearsal, following_is_exact_when_the_log_is_rotated_and_the_api_is_cut),
        ON(rehearsal, reading_and_tails_are_exact_when_the_log_is_rotated),
        ON(local, following_is_exact_beside_a_writer_of_a_hundred_megabytes_a_second),
        ON(local, bytes_that_are_no_text_are_intact_in_a_pipe),
        ON(local, bytes_that_are_no_text_are_harmless_on_a_terminal),
    };

    if (argc < 2)
        return 64;
    slipway_program = realpath(argv[1], NULL);      /* scenes change the folder */
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests_name("following, byte for byte", tests, NULL, NULL);
}
