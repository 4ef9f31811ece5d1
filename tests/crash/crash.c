/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash.c - `crash ... PLATFORM submit|splits|cancel|remove|supervisor`: the crash matrix.
 *
 * The client (or the supervisor) is killed at its 1st, 2nd, 3rd ... call that changes the world,
 * each time in a fresh folder, until it gets through alive. After each crash this process, which
 * knows nothing of the dead one but the folder, proves:
 *
 *     not lost      the row tells the truth: the job exists and finishes, or nothing was started
 *     not doubled   the job's command leaves a mark; there is at most one
 *     not orphaned  no process is left, and the same id can still be submitted and runs once
 *
 * A table of what was tried and what came of it is printed at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../contract/processes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "slipway.h"

enum { PATIENCE_MS = 30000, AT_ONCE = 4, MOST_POINTS = 2000 };

static const char *client_program, *interposer;

/* ---- what a platform does --------------------------------------------------------------------- */

struct actor {
    const char *name;
    const char *key;             /* what is set to make the job do something */
    const char *short_job;       /* %s: the marks file */
    const char *long_job;
    bool leaves_marks;
};

static const struct actor actors[] = {
    { "local", "command", "echo $$ >>'%s'; sleep 0.05", "echo $$ >>'%s'; sleep 60", true },
    { "rehearsal", "rehearsal.script", "running 50ms, exit 0", "running", false },
};

enum what { SUBMIT, SPLITS, CANCEL, REMOVE, SUPERVISOR };
static const char *const what_names[] = { "submit", "splits", "cancel", "remove", "supervisor" };

/* ---- outcomes ---------------------------------------------------------------------------------- */

enum outcome {
    SURVIVED,              /* the call does not exist any more: the end of the matrix */
    NOT_REMEMBERED,        /* died before the row was written */
    NOTHING_STARTED,       /* the row says that nothing was started, and so it is */
    RAN_ONCE,
    WENT_ON,               /* the cancel died early: the job runs on until it is canceled again */
    WAS_CANCELED,
    STILL_THERE,           /* the removal died early: the job is known until it is removed again */
    WAS_REMOVED,
    SAID_LOST,             /* the supervisor died: Error, class infra */
    SAID_REFUSED,          /* the supervisor died before it took the job: submit says so */
    BROKEN,
    OUTCOMES,
};
static const char *const outcome_names[] = {
    "survived", "not remembered", "nothing started", "ran once", "went on, canceled again",
    "canceled", "still there, removed again", "removed", "lost, and said so",
    "refused, and said so", "BROKEN",
};

struct result {
    enum outcome outcome;
    int point;
    char call[32];             /* the fatal call */
    char why[256];             /* when broken */
};

struct trial {
    const struct actor *actor;
    enum what what;
    const char *when;          /* "before" or "after" */
    int point;
    char dir[64], state_dir[80], marks[80], log[80];
    char id[SW_ID_SIZE];       /* the job that is looked at */
    struct sw_session *session;
    struct result *result;
};

#define ID "crash-job"
enum { SPLIT_COUNT = 3 };

static enum outcome broken(struct trial *trial, const char *fmt, ...) SW_PRINTF(2, 3);
static enum outcome broken(struct trial *trial, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(trial->result->why, sizeof trial->result->why, fmt, args);
    va_end(args);
    return BROKEN;
}

/* ---- the one that dies --------------------------------------------------------------------------- */

static void become_client(const struct trial *trial, bool deadly, char *const words[])
{
    char at[16];
    sw_autofd int nowhere = open("/dev/null", O_WRONLY);

    dup2(nowhere, 2);
    snprintf(at, sizeof at, "%d", trial->point);
    setenv("CRASH_SECRET", "a value without a use", 1);
    if (deadly) {
        setenv("LD_PRELOAD", interposer, 1);
        setenv("CRASH_AT", at, 1);
        setenv("CRASH_WHEN", trial->when, 1);
        setenv("CRASH_LOG", trial->log, 1);
        setenv("CRASH_PROGRAM",
               trial->what == SUPERVISOR ? "slipway-supervisor" : "crash-client", 1);
        setenv("CRASH_FORKS", trial->what == SUPERVISOR ? "1" : "0", 1);
    }
    execv(client_program, words);
    _exit(127);
}

/* Runs the client; the status is waitpid's. */
static int run_client(struct trial *trial, bool deadly, const char *verb, const char *value)
{
    char *const submit[] = { (char *)"crash-client", (char *)verb, trial->state_dir,
                             (char *)trial->actor->name, (char *)ID, (char *)trial->actor->key,
                             (char *)value, NULL };
    char *const cancel[] = { (char *)"crash-client", (char *)verb, trial->state_dir, (char *)ID,
                             NULL };
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        become_client(trial, deadly, value ? submit : cancel);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static bool was_killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* ---- the proof -------------------------------------------------------------------------------------- */

static int count_marks(const struct trial *trial)
{
    sw_autofree char *text = sw_file_read(trial->marks, 65536, NULL, NULL);
    int lines = 0;

    for (const char *at = text; at && (at = strchr(at, '\n')); at++)
        lines++;
    return lines;
}

/* Opened only after the crash: the dead one may have died while it made the store. */
static struct sw_session *session_of(struct trial *trial)
{
    struct sw_open_options options = { .size = sizeof options, .state_dir = trial->state_dir,
                                       .project_dir = trial->dir };
    struct sw_error err = { 0 };

    if (!trial->session)
        trial->session = sw_open(&options, &err);
    if (!trial->session)
        broken(trial, "the store cannot be opened after the crash: %s", err.message);
    return trial->session;
}

struct seen {
    bool known;
    char status[16], reason[48], message[256];
};

static int look(struct trial *trial, struct seen *seen)
{
    struct sw_error err = { 0 };
    struct sw_session *session = session_of(trial);
    char *text = session ? sw_status(session, trial->id, SW_LOOK_REFRESH, &err) : NULL;
    sw_auto(json) json_t *job = text ? json_loads(text, 0, NULL) : NULL;

    sw_text_free(text);
    if (!session)
        return -1;
    *seen = (struct seen){ .known = job != NULL };
    if (!job && err.code != SW_E_NOT_FOUND)
        return broken(trial, "status fails: %s", err.message), -1;
    if (job) {
        snprintf(seen->status, sizeof seen->status, "%s", sw_json_str(job, "status"));
        snprintf(seen->reason, sizeof seen->reason, "%s", sw_json_str(job, "reason"));
        snprintf(seen->message, sizeof seen->message, "%s", sw_json_str(job, "message"));
    }
    return 0;
}

static bool is_over(const struct seen *seen)
{
    return !seen->known || strcmp(seen->status, "Complete") == 0 ||
           strcmp(seen->status, "Error") == 0 || strcmp(seen->status, "Canceled") == 0;
}

/* Look until the job is over, as a user with `slipway status` would. */
static int settle(struct trial *trial, struct seen *seen)
{
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;

    do {
        if (look(trial, seen) < 0)
            return -1;
        if (is_over(seen))
            return 0;
        sw_sleep_ms(10);
    } while (sw_monotonic_ms() < deadline);
    return broken(trial, "still %s (%s: %s) after %d s", seen->status, seen->reason, seen->message,
                  PATIENCE_MS / 1000), -1;
}

static int expect_no_process(struct trial *trial)
{
    int64_t deadline = sw_monotonic_ms() + 5000;
    char pid[24] = "";

    while (processes_of(trial->dir, NULL, pid, sizeof pid) > 0) {
        if (sw_monotonic_ms() > deadline)
            return broken(trial, "process %s is left over", pid), -1;
        sw_sleep_ms(10);
    }
    return 0;
}

static int expect_marks(struct trial *trial, int wanted)
{
    int marks = count_marks(trial);

    if (trial->actor->leaves_marks && marks != wanted)
        return broken(trial, "the command ran %d times instead of %d", marks, wanted), -1;
    return 0;
}

/* The same id once more: it runs now, unless it did so already; never twice. */
static int submit_again(struct trial *trial, const char *job)
{
    int status = run_client(trial, false, "submit", job);
    struct seen seen;

    if (status != 0)
        return broken(trial, "a second submit of the same id fails"), -1;
    if (settle(trial, &seen) < 0)
        return -1;
    if (strcmp(seen.status, "Complete") != 0)
        return broken(trial, "after a second submit the job is %s (%s: %s)", seen.status,
                      seen.reason, seen.message), -1;
    return expect_marks(trial, 1) < 0 || expect_no_process(trial) < 0 ? -1 : 0;
}

static enum outcome try_submit(struct trial *trial, const char *job)
{
    enum outcome outcome;
    struct seen seen;
    bool survived = !was_killed(run_client(trial, true, "submit", job));

    if (settle(trial, &seen) < 0)
        return BROKEN;
    if (!seen.known)
        outcome = NOT_REMEMBERED;
    else if (strcmp(seen.reason, "not-started") == 0)
        outcome = NOTHING_STARTED;
    else if (strcmp(seen.status, "Complete") == 0)
        outcome = RAN_ONCE;
    else
        return broken(trial, "the job is %s (%s: %s)", seen.status, seen.reason, seen.message);
    if (expect_marks(trial, outcome == RAN_ONCE) < 0 || expect_no_process(trial) < 0 ||
        submit_again(trial, job) < 0)
        return BROKEN;
    if (survived && outcome != RAN_ONCE)
        return broken(trial, "no process was killed, and yet: %s", outcome_names[outcome]);
    return survived ? SURVIVED : outcome;
}

/* Right after the crash, whatever the dead one left: those that are there are found, and each runs once. */
static enum outcome try_splits(struct trial *trial, const char *job)
{
    bool survived = !was_killed(run_client(trial, true, "splits", job));
    struct seen seen;

    if (run_client(trial, false, "splits", job) != 0)
        return broken(trial, "a second submit of the same group fails");
    for (int i = 0; i < SPLIT_COUNT; i++) {
        snprintf(trial->id, sizeof trial->id, "%s-%d", ID, i);
        if (settle(trial, &seen) < 0)
            return BROKEN;
        if (!seen.known || strcmp(seen.status, "Complete") != 0)
            return broken(trial, "split %d is %s (%s: %s)", i, seen.status, seen.reason, seen.message);
    }
    if (expect_marks(trial, SPLIT_COUNT) < 0 || expect_no_process(trial) < 0)
        return BROKEN;
    return survived ? SURVIVED : RAN_ONCE;
}

static int wait_until_running(struct trial *trial)
{
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;
    struct seen seen;

    do {
        if (look(trial, &seen) < 0)
            return -1;
        if (strcmp(seen.status, "Running") == 0 &&
            (!trial->actor->leaves_marks || count_marks(trial) == 1))
            return 0;
        sw_sleep_ms(5);
    } while (sw_monotonic_ms() < deadline);
    return broken(trial, "the job does not begin to run"), -1;
}

static enum outcome try_cancel(struct trial *trial, const char *job)
{
    struct sw_error err = { 0 };
    struct seen seen;
    bool survived, over;

    if (run_client(trial, false, "submit", job) != 0)
        return broken(trial, "cannot submit");
    if (wait_until_running(trial) < 0)
        return BROKEN;
    survived = !was_killed(run_client(trial, true, "cancel", NULL));
    if (look(trial, &seen) < 0)
        return BROKEN;
    over = is_over(&seen);
    if (!seen.known || strcmp(seen.status, "Error") == 0 || strcmp(seen.status, "Complete") == 0)
        return broken(trial, "after the cancel the job is %s (%s: %s)", seen.status, seen.reason,
                      seen.message);
    if (sw_cancel(trial->session, ID, &err) < 0)
        return broken(trial, "a second cancel fails: %s", err.message);
    if (look(trial, &seen) < 0)
        return BROKEN;
    if (strcmp(seen.status, "Canceled") != 0)
        return broken(trial, "a canceled job is %s (%s)", seen.status, seen.reason);
    if (expect_no_process(trial) < 0 || expect_marks(trial, 1) < 0)
        return BROKEN;
    return survived ? SURVIVED : over ? WAS_CANCELED : WENT_ON;
}

static int count_named(void *context, const char *relative, const struct stat *info)
{
    (void)info;
    *(int *)context += strstr(relative, ID) != NULL;
    return 0;
}

static enum outcome try_remove(struct trial *trial, const char *job)
{
    struct sw_error err = { 0 };
    struct seen seen;
    bool survived, known;
    int files = 0;

    if (run_client(trial, false, "submit", job) != 0 || settle(trial, &seen) < 0)
        return broken(trial, "cannot run the job");
    survived = !was_killed(run_client(trial, true, "remove", NULL));
    if (look(trial, &seen) < 0)
        return BROKEN;
    known = seen.known;
    if (known && strcmp(seen.status, "Complete") != 0)
        return broken(trial, "a half removed job is %s (%s)", seen.status, seen.reason);
    if (known && sw_remove(trial->session, ID, false, &err) < 0)
        return broken(trial, "a second removal fails: %s", err.message);
    sw_walk(trial->state_dir, count_named, &files, NULL);
    if (files > 0)
        return broken(trial, "%d files of a removed job are left", files);
    if (unlink(trial->marks) < 0 && trial->actor->leaves_marks)
        return broken(trial, "the command did not run");
    if (submit_again(trial, job) < 0)
        return BROKEN;
    return survived ? SURVIVED : known ? STILL_THERE : WAS_REMOVED;
}

/* The supervisor dies instead of the client. The fatal call's log says whether it did. */
static enum outcome try_supervisor(struct trial *trial, const char *job)
{
    enum outcome outcome;
    struct seen seen;
    int marks;

    run_client(trial, true, "submit", job);
    if (settle(trial, &seen) < 0 || expect_no_process(trial) < 0)
        return BROKEN;
    marks = count_marks(trial);
    if (marks > 1)
        return broken(trial, "the command ran %d times", marks);
    if (strcmp(seen.status, "Complete") == 0)
        outcome = sw_file_exists(trial->log) ? RAN_ONCE : SURVIVED;
    else if (strcmp(seen.reason, "lost") == 0)
        outcome = SAID_LOST;
    else if (strcmp(seen.reason, "refused") == 0)
        outcome = SAID_REFUSED;
    else if (strcmp(seen.reason, "not-started") == 0)
        outcome = NOTHING_STARTED;
    else
        return broken(trial, "the job is %s (%s: %s)", seen.status, seen.reason, seen.message);
    if (marks > 0 && (outcome == SAID_REFUSED || outcome == NOTHING_STARTED))
        return broken(trial, "it says that nothing was started, but the command ran");
    if (marks == 0 && (outcome == RAN_ONCE || outcome == SURVIVED))
        return broken(trial, "it says Complete, but the command did not run");
    return outcome;
}

static void read_fatal_call(const struct trial *trial, struct result *result)
{
    sw_autofree char *text = sw_file_read(trial->log, 4096, NULL, NULL);

    if (text)
        snprintf(result->call, sizeof result->call, "%.*s", (int)strcspn(text, "\n"), text);
}

/* One point of the matrix, from an empty folder to an empty folder. */
static void run_trial(struct trial *trial, struct result *result)
{
    static enum outcome (*const tries[])(struct trial *trial, const char *job) = {
        [SUBMIT] = try_submit, [SPLITS] = try_splits, [CANCEL] = try_cancel, [REMOVE] = try_remove,
        [SUPERVISOR] = try_supervisor,
    };
    sw_autofree char *job = NULL;

    *result = (struct result){ .outcome = BROKEN, .point = trial->point };
    trial->result = result;
    snprintf(trial->id, sizeof trial->id, ID);
    snprintf(trial->dir, sizeof trial->dir, "/tmp/crash-XXXXXX");
    if (!mkdtemp(trial->dir))
        return;
    snprintf(trial->state_dir, sizeof trial->state_dir, "%s/state", trial->dir);
    snprintf(trial->marks, sizeof trial->marks, "%s/marks", trial->dir);
    snprintf(trial->log, sizeof trial->log, "%s/fatal", trial->dir);
    setenv("HOME", trial->dir, 1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    job = sw_format(trial->what == CANCEL ? trial->actor->long_job : trial->actor->short_job,
                    trial->marks);
#pragma GCC diagnostic pop
    result->outcome = tries[trial->what](trial, job);
    read_fatal_call(trial, result);
    sw_close(trial->session);
    if (sw_remove_tree(trial->dir, NULL) < 0 && result->outcome != BROKEN)
        result->outcome = broken(trial, "a process still writes into '%s'", trial->dir);
}

/* ---- the matrix ---------------------------------------------------------------------------------------- */

struct matrix {
    const struct actor *actor;
    enum what what;
    const char *when;
    int only;                      /* one point; 0: all */
    int next, running;
    int end;                       /* the first point that was survived */
    int counts[OUTCOMES];
    json_t *calls;                 /* fatal call -> how often */
    int reports[2];                /* a pipe: one struct result per point, written in one go */
};

static void start_next(struct matrix *matrix)
{
    struct trial trial = { .actor = matrix->actor, .what = matrix->what, .when = matrix->when,
                           .point = matrix->only ? matrix->only : ++matrix->next };
    struct result result;
    pid_t child = fork();

    if (child < 0)
        abort();
    matrix->running++;
    if (child > 0)
        return;
    run_trial(&trial, &result);
    _exit(write(matrix->reports[1], &result, sizeof result) == (ssize_t)sizeof result ? 0 : 1);
}

static void note(struct matrix *matrix, const struct result *result)
{
    if (result->outcome == SURVIVED) {
        if (result->point < matrix->end)
            matrix->end = result->point;
        return;
    }
    matrix->counts[result->outcome]++;
    json_object_set_new(matrix->calls, result->call,
                        json_integer(sw_json_int(matrix->calls, result->call, 0) + 1));
    if (result->outcome == BROKEN)
        printf("BROKEN %s %s, killed %s call %d (%s): %s\n", matrix->actor->name,
               what_names[matrix->what], matrix->when, result->point, result->call, result->why);
}

static void take_report(struct matrix *matrix)
{
    struct pollfd wait = { .fd = matrix->reports[0], .events = POLLIN };
    struct result result;

    /* A trial that ends without a word must not make the matrix wait for ever. */
    if (poll(&wait, 1, 6 * PATIENCE_MS) != 1 ||
        read(matrix->reports[0], &result, sizeof result) != (ssize_t)sizeof result) {
        printf("BROKEN: a trial gave no answer\n");
        exit(1);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    matrix->running--;
    note(matrix, &result);
}

static void print_matrix(const struct matrix *matrix, int64_t took_ms)
{
    const char *call;
    json_t *count;
    int points = 0;

    for (int i = 0; i < OUTCOMES; i++)
        points += matrix->counts[i];
    printf("%-10s %-10s killed %-6s each of %3d calls, %4.1f s:", matrix->actor->name,
           what_names[matrix->what], matrix->when, points, (double)took_ms / 1000);
    for (int i = 0; i < OUTCOMES; i++)
        if (matrix->counts[i])
            printf("  %s %d", outcome_names[i], matrix->counts[i]);
    printf("\n           calls:");
    json_object_foreach(matrix->calls, call, count)
        printf(" %s %lld", call, (long long)json_integer_value(count));
    printf("\n");
}

/* Returns how many points are broken. A matrix without points proves nothing and counts as one. */
static int run_matrix(const struct actor *actor, enum what what, const char *when, int only)
{
    struct matrix matrix = { .actor = actor, .what = what, .when = when, .only = only,
                             .end = MOST_POINTS, .calls = json_object() };
    int64_t begun = sw_monotonic_ms();
    int broken_points;

    if (pipe2(matrix.reports, O_CLOEXEC) < 0)
        abort();
    if (only)
        start_next(&matrix);
    while (matrix.running > 0 || (!only && matrix.next < matrix.end)) {
        while (!only && matrix.running < AT_ONCE && matrix.next < matrix.end)
            start_next(&matrix);
        take_report(&matrix);
    }
    print_matrix(&matrix, sw_monotonic_ms() - begun);
    broken_points = matrix.counts[BROKEN];
    if (!only && (matrix.end == 1 || matrix.end == MOST_POINTS)) {
        printf("BROKEN: the interposer did not work, or there is no end\n");
        broken_points++;
    }
    close(matrix.reports[0]);
    close(matrix.reports[1]);
    json_decref(matrix.calls);
    return broken_points;
}

static int usage(void)
{
    fprintf(stderr, "usage: crash CLIENT INTERPOSER PLATFORM submit|cancel|remove|supervisor "
                    "[before|after [POINT]]\n");
    return 64;
}

int main(int argc, char **argv)
{
    static const char *const moments[] = { "before", "after" };
    const struct actor *actor = NULL;
    int what = -1, failed = 0;

    if (argc < 5)
        return usage();
    client_program = argv[1];
    interposer = argv[2];
    for (size_t i = 0; i < SW_COUNT(actors); i++)
        if (strcmp(argv[3], actors[i].name) == 0)
            actor = &actors[i];
    for (size_t i = 0; i < SW_COUNT(what_names); i++)
        if (strcmp(argv[4], what_names[i]) == 0)
            what = (int)i;
    if (!actor || what < 0)
        return usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < SW_COUNT(moments); i++)
        if (argc < 6 || strcmp(argv[5], moments[i]) == 0)
            failed += run_matrix(actor, (enum what)what, moments[i],
                                 argc > 6 ? atoi(argv[6]) : 0);
    return failed ? 1 : 0;
}
