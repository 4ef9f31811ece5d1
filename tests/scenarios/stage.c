/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.c - see stage.h.
 */
#include "stage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { MOST_WORDS = 24 };

const char *slipway_program;

/* Sanitizers make everything slower, and so does a machine that is shared. */
#if defined(__SANITIZE_ADDRESS__)
enum { PATIENT = 4 };
#else
enum { PATIENT = 1 };
#endif

/* ---- the clock --------------------------------------------------------------------------------- */

static int64_t moved_ms;

static int64_t moved_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + moved_ms;
}

void time_passes(int64_t ms)
{
    moved_ms += ms;
    sw_clock_pretend(moved_now);
}

/* ---- the stay ---------------------------------------------------------------------------------- */

int stage_begin(const struct fixture *fixture, void **state)
{
    the_fixture = fixture;
    return trial_begin(state);
}

int stage_end(void **state)
{
    moved_ms = 0;
    sw_clock_pretend(NULL);
    connect_with(*state, NULL);
    return trial_end(state);
}

static struct sw_request *script_v(struct trial *here, const char *steps, va_list args)
{
    struct sw_request *made = sw_request_new();
    const char *key;

    (void)here;
    set(made, "platform", "rehearsal");
    set(made, "name", "scene");
    set(made, "command", "true");
    set(made, "secrets", CANARY_NAME);
    set(made, "rehearsal.script", steps);
    while ((key = va_arg(args, const char *)))
        set(made, key, va_arg(args, const char *));
    return made;
}

struct sw_request *script(struct trial *here, const char *steps, ...)
{
    struct sw_request *made;
    va_list args;

    va_start(args, steps);
    made = script_v(here, steps, args);
    va_end(args);
    return made;
}

const char *rehearse(struct trial *here, const char *steps, ...)
{
    struct sw_request *made;
    va_list args;

    va_start(args, steps);
    made = script_v(here, steps, args);
    va_end(args);
    return send_request(here, made);
}

/* ---- the program ------------------------------------------------------------------------------- */

static pid_t spawn(struct trial *here, const char *out, const char *word, va_list args)
{
    sw_autofree char *err = path_in(here, "stderr");
    sw_autofree char *project = path_in(here, "project");
    const char *words[MOST_WORDS + 2] = { slipway_program, word };
    pid_t child;

    for (int i = 2; i < MOST_WORDS && words[i - 1]; i++)
        words[i] = va_arg(args, const char *);
    child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    setenv("SLIPWAY_STATE_DIR", here->state_dir, 1);
    if (chdir(project) < 0 || dup2(open("/dev/null", O_RDONLY), 0) < 0 ||
        dup2(open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1) < 0 ||
        dup2(open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600), 2) < 0)
        _exit(99);
    execv(slipway_program, (char *const *)words);
    _exit(99);
}

int end_of(pid_t child)
{
    int code = -1;

    assert_int_equal(waitpid(child, &code, 0), child);
    return WIFSIGNALED(code) ? 128 + WTERMSIG(code) : WEXITSTATUS(code);
}

pid_t begin_slipway(struct trial *here, const char *out, const char *word, ...)
{
    pid_t child;
    va_list args;

    va_start(args, word);
    child = spawn(here, out, word, args);
    va_end(args);
    return child;
}

int slipway(struct trial *here, char **out, const char *word, ...)
{
    sw_autofree char *path = path_in(here, "stdout");
    pid_t child;
    va_list args;
    int status;

    va_start(args, word);
    child = spawn(here, path, word, args);
    va_end(args);
    status = end_of(child);
    if (out)
        *out = sw_file_read(path, 1 << 26, NULL, NULL);
    return status;
}

/* ---- answers ----------------------------------------------------------------------------------- */

json_t *answer(char *text)
{
    json_t *json;

    assert_non_null(text);
    json = json_loads(text, JSON_DECODE_ANY, NULL);
    sw_text_free(text);
    assert_non_null(json);
    return json;
}

json_t *list_all(struct trial *here, enum sw_look look)
{
    struct sw_list_options all = { .size = sizeof all, .look = look, .limit = 100000 };

    return answer(sw_list(here->session, &all, NULL));
}

json_t *events_of(struct trial *here, const char *id)
{
    sw_auto(json) json_t *document = answer(sw_events(here->session, id, 0, NULL));

    return json_incref(json_object_get(document, "events"));
}

int count_events(struct trial *here, const char *id, const char *kind)
{
    sw_auto(json) json_t *events = events_of(here, id);
    json_t *event;
    size_t i;
    int count = 0;

    json_array_foreach(events, i, event)
        count += strcmp(text_of(event, "kind"), kind) == 0;
    return count;
}

json_t *analysis(struct trial *here, const char *id)
{
    struct sw_error err = { 0 };
    char *text = sw_failure_analysis(here->session, id, &err);

    if (!text)
        fail_msg("no analysis of '%s': %s", id, err.message);
    canary_heard(here->canary, "sw_failure_analysis", text);
    return answer(text);
}

json_t *why(struct trial *here, const char *id)
{
    struct sw_error err = { 0 };
    char *text = sw_why(here->session, id, &err);

    if (!text)
        fail_msg("why '%s': %s", id, err.message);
    canary_heard(here->canary, "sw_why", text);
    return answer(text);
}

void expect_quick(int64_t begun_ms, int64_t most_ms, const char *what)
{
    int64_t took_ms = sw_monotonic_ms() - begun_ms;

    if (took_ms > most_ms * PATIENT)
        fail_msg("%s took %lld ms, more than %lld", what, (long long)took_ms,
                 (long long)most_ms * PATIENT);
}

void expect_has(const char *text, const char *words)
{
    if (!text || !strstr(text, words))
        fail_msg("'%s' does not say '%s'", text ? text : "(nothing)", words);
}
