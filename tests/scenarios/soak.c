/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak.c - `soak [JOBS [LATER]]`: one watcher over ten thousand rehearsals for a day, in a minute or two.
 *
 * The clock is pretended and moves on ten minutes between two rounds. No step of a script is
 * shorter than that, so the watcher can see each, and must see each once: every job's events are
 * counted afterwards against its script. Memory and descriptors are measured all the way.
 *
 * The jobs are made by a child, so that the figures are the watcher's alone. With LATER (later.c) the
 * watcher is not this process but the real one, slipway-watcher.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "core/state.h"
#include "soak_watcher.h"
#include "stage.h"
#include "store/store.h"

enum {
    HOUR_MS = 3600 * 1000,
    ROUND_MS = 10 * 60 * 1000,
    ROUNDS = 24 * 6,
    HOOK_EVERY = 100,                  /* one job of so many has a hook */
    WARM_UP = 12,                      /* rounds until memory must be flat */
};

/* The address sanitizer keeps freed memory aside; only an ordinary build is measured. */
#if defined(__SANITIZE_ADDRESS__)
enum { MOST_KIB = 1 << 30, PROCESS_KIB = 1 << 30, GROWTH_KIB = 1 << 30 };
#else
/* One observe() takes all jobs of a place, each with what a refresh needs of its plan: 5 KiB a job. How much
 * freed memory the C library keeps differs from round to round; a leak of 20 bytes a job and round is
 * more. */
enum { MOST_KIB = 96 * 1024, PROCESS_KIB = 64 * 1024, GROWTH_KIB = 24 * 1024 };
#endif

static int jobs = 10000;
static const char *later;              /* NULL: this process watches */

static const struct kind {
    const char *script;                /* %d: minutes, from job to job different */
    enum sw_state end;
    int runs;                          /* how often it begins to run */
    int retries;
} kinds[] = {
    { "pending 15m, running %dm, exit 0", SW_COMPLETE, 1, 0 },
    { "pending 40m, running %dm, exit 3", SW_ERROR, 1, 0 },
    { "running %dm, preempted 30m, running 2h, exit 0", SW_COMPLETE, 2, 0 },
    { "running %dm, node-lost; running 1h, exit 0", SW_COMPLETE, 2, 1 },
    { "pending 3h, epochs 20 every 11m, running %dm, exit 0", SW_COMPLETE, 1, 0 },
};

static const struct kind *kind_of(int job)
{
    return &kinds[(size_t)job % SW_COUNT(kinds)];
}

static void name_job(int job, char id[SW_ID_SIZE])
{
    snprintf(id, SW_ID_SIZE, "soak-%d", job);
}

/* ---- before ------------------------------------------------------------------------------------- */

static void submit_one(struct trial *here, struct sw_session *session, int job)
{
    sw_autofree char *heard = path_in(here, "heard");
    sw_autofree char *hook = sw_format("echo $SLIPWAY_JOB_ID >>'%s'", heard);
    struct sw_error err = { 0 };
    char steps[160], id[SW_ID_SIZE];
    struct sw_request *made;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(steps, sizeof steps, kind_of(job)->script, 20 + job % 997);
#pragma GCC diagnostic pop
    made = script(here, steps, "retry.max", "3", "retry.wait", "12m", NULL);
    name_job(job, id);
    set_id(made, id);
    if (job % HOOK_EVERY == 0)
        set(made, "hooks.on_complete", hook);
    expect_ok(sw_submit(session, made, id, &err), &err, "submit");
    sw_request_free(made);
}

static int submit_share(struct trial *here, int number)
{
    struct sw_session *session = open_session(here);

    for (int job = number; job < jobs; job += 2)
        submit_one(here, session, job);
    sw_close(session);
    return 0;
}

/* ---- the day ------------------------------------------------------------------------------------- */

struct figures {
    long first_kib, last_kib;          /* of a process of its own: at most so far, since it may be at work */
    long peak_kib;
    int first_files, last_files;
    int64_t documents, bytes;
    double seconds;                    /* of CPU time */
};

static long memory_kib(pid_t pid, const char *what)
{
    sw_autofree char *path = sw_format("/proc/%d/status", (int)pid);
    sw_autofree char *text = sw_file_read(path, 65536, NULL, NULL);
    const char *line = text ? strstr(text, what) : NULL;

    assert_non_null(line);
    return atol(line + strlen(what));
}

static int open_files(pid_t pid)
{
    sw_autofree char *path = sw_format("/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static int take_document(void *context, const char *document)
{
    struct figures *figures = context;

    figures->documents++;
    figures->bytes += (int64_t)strlen(document);
    return 0;
}

/* CPU time of all its threads. */
static double seconds_of(pid_t pid)
{
    sw_autofree char *path = sw_format("/proc/%d/stat", (int)pid);
    sw_autofree char *text = sw_file_read(path, 4096, NULL, NULL);
    unsigned long user = 0, system = 0;

    assert_non_null(text);
    assert_int_equal(sscanf(strrchr(text, ')') + 1,
                            " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system), 2);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void watch_once(struct trial *here, struct figures *figures)
{
    const struct sw_watch_options once = { .size = sizeof once, .every_ms = HOUR_MS, .rounds = 1 };
    struct sw_error err = { 0 };

    expect_ok(sw_watch(here->session, NULL, 0, &once, take_document, figures, &err), &err, "watch");
}

/* `pid` is who watches. */
static void watch_a_day(struct trial *here, struct figures *figures, pid_t pid)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM_UP) {
            figures->first_kib = memory_kib(pid, later ? "VmHWM:" : "VmRSS:");
            figures->first_files = open_files(pid);
        }
        if (later)
            watcher_look(here, (int64_t)round * ROUND_MS);
        else
            watch_once(here, figures);
        time_passes(ROUND_MS);
    }
    figures->last_kib = memory_kib(pid, later ? "VmHWM:" : "VmRSS:");
    figures->peak_kib = memory_kib(pid, "VmHWM:");
    figures->last_files = open_files(pid);
    figures->seconds = seconds_of(pid);
}

/* ---- after --------------------------------------------------------------------------------------- */

struct tally {
    int runs, ends, retries, other_end;
};

static int count_event(void *context, int64_t seq, int64_t at_ms, const char *job_id,
                       const char *kind, const json_t *data)
{
    struct tally *tallies = context;
    int job = atoi(job_id + strlen("soak-"));
    enum sw_state state = SW_UNKNOWN;

    (void)seq, (void)at_ms;
    if (strcmp(kind, "attempt") == 0)
        tallies[job].retries++;
    if (strcmp(kind, "state") != 0 || strcmp(text_of(data, "state"), text_of(data, "was")) == 0)
        return 0;
    sw_state_parse(text_of(data, "state"), &state);
    tallies[job].runs += state == SW_RUNNING;
    tallies[job].ends += state == kind_of(job)->end;
    tallies[job].other_end += sw_state_is_final(state) && state != kind_of(job)->end;
    return 0;
}

static void expect_each_change_once(struct trial *here)
{
    sw_autofree struct tally *tallies = sw_alloc((size_t)jobs * sizeof *tallies);
    sw_auto(sw_store) struct sw_store *store = sw_store_open(here->state_dir, true, NULL);
    struct sw_error err = { 0 };

    assert_non_null(store);
    expect_ok(sw_store_events(store, NULL, 0, count_event, tallies, &err), &err, "events");
    for (int job = 0; job < jobs; job++) {
        const struct tally *tally = &tallies[job];
        const struct kind *kind = kind_of(job);

        if (tally->runs != kind->runs || tally->ends != 1 || tally->retries != kind->retries ||
            tally->other_end)
            fail_msg("job %d ('%s') ran %d times, ended %d times, otherwise %d times, was retried "
                     "%d times", job, kind->script, tally->runs, tally->ends, tally->other_end,
                     tally->retries);
    }
}

static int hooks_wanted(void)
{
    int wanted = 0;

    for (int job = 0; job < jobs; job += HOOK_EVERY)
        wanted += kind_of(job)->end == SW_COMPLETE;
    return wanted;
}

static void expect_each_hook_once(struct trial *here)
{
    sw_autofree char *path = path_in(here, "heard"), *heard = NULL;
    int wanted = hooks_wanted();

    assert_true(wait_for_lines(path, wanted));
    json_decref(list_all(here, SW_LOOK_REFRESH));
    assert_int_equal(lines_in(path), wanted);
    heard = read_text(path);
    for (int job = 0; job < jobs; job += HOOK_EVERY) {
        sw_autofree char *line = sw_format("soak-%d\n", job);
        const char *at = heard;
        int count = 0;

        while ((at = strstr(at, line))) {
            count += at == heard || at[-1] == '\n';
            at++;
        }
        assert_int_equal(count, kind_of(job)->end == SW_COMPLETE);
    }
}

static void a_watcher_of_ten_thousand_jobs_is_the_same_after_a_day(void **state)
{
    struct trial *here = *state;
    struct figures figures = { 0 };
    int64_t begun = sw_monotonic_ms(), submitted;
    pid_t pid = getpid();

    sw_close(here->session);
    in_processes(here, 2, submit_share);
    if (later)
        pid = watcher_begin(here, later);
    here->session = open_session(here);
    submitted = sw_monotonic_ms();
    watch_a_day(here, &figures, pid);
    print_message("%d jobs submitted in %.1f s, a day watched in %.1f s with %.1f s of CPU time; memory "
                  "%ld KiB after two hours, %ld at the end, at most %ld; descriptors %d, then %d; "
                  "%lld documents of %.1f MB\n", jobs, (double)(submitted - begun) / 1e3,
                  (double)(sw_monotonic_ms() - submitted) / 1e3, figures.seconds, figures.first_kib,
                  figures.last_kib, figures.peak_kib, figures.first_files, figures.last_files,
                  (long long)figures.documents,
                  figures.documents ? (double)figures.bytes / 1e6 / (double)figures.documents : 0.0);
    expect_each_change_once(here);
    expect_each_hook_once(here);
    if (later)
        watcher_end(here, pid);
    assert_int_equal(figures.documents, later ? 0 : ROUNDS);
    assert_true(figures.peak_kib <= (later ? PROCESS_KIB : MOST_KIB));
    assert_true(figures.last_kib - figures.first_kib <= GROWTH_KIB);
    assert_true(figures.last_files <= figures.first_files);
}

/* A stay without the canary, whose thread would look at every process for minutes; in memory where
 * there is a place for it, since nothing here is about disks. */
static int begin(void **state)
{
    /* tests/harness/isolate has a /run of its own, which is gone with it. */
    const char *place = access("/run/own-home", W_OK) == 0 ? "/run"
                        : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    struct trial *here = sw_new(struct trial);

    here->fixture = &fixture_rehearsal;
    snprintf(here->dir, sizeof here->dir, "%s/soak-XXXXXX", place);
    if (!mkdtemp(here->dir))
        return -1;
    snprintf(here->state_dir, sizeof here->state_dir, "%s/state", here->dir);
    setenv("HOME", here->dir, 1);
    setenv(CANARY_NAME, "a canary that no check reads", 1);
    here->session = open_session(here);
    *state = here;
    return 0;
}

static int end(void **state)
{
    struct trial *here = *state;
    int result;

    sw_clock_pretend(NULL);
    sw_close(here->session);
    result = sw_remove_tree(here->dir, NULL);
    free(here);
    return result;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_watcher_of_ten_thousand_jobs_is_the_same_after_a_day,
                                        begin, end),
    };

    if (argc > 1)
        jobs = atoi(argv[1]);
    if (argc > 2)
        later = argv[2];
    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests_name("a day of watching", tests, NULL, NULL);
}
