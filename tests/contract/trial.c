/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.c - see trial.h. Waiting is always for a condition with a deadline.
 */
#include "trial.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "core/state.h"

const struct fixture *the_fixture;

void expect_ok(int result, const struct sw_error *err, const char *what)
{
    if (result < 0)
        fail_msg("%s: %s: %s (%s)", what, sw_code_name(err->code), err->message, err->hint);
}

struct sw_session *open_session(const struct trial *here)
{
    sw_autofree char *project = path_in(here, "project");
    struct sw_open_options options = { .size = sizeof options, .state_dir = here->state_dir,
                                       .project_dir = project };
    struct sw_error err = { 0 };
    struct sw_session *session = sw_open(&options, &err);

    if (!session)
        fail_msg("cannot open a session: %s", err.message);
    return session;
}

void connect_with(struct trial *here, const char *api)
{
    sw_close(here->session);
    if (here->fixture->disturb)
        here->fixture->disturb(here->dir, api);
    else if (api)
        setenv("SLIPWAY_REHEARSAL_API", api, 1);
    else
        unsetenv("SLIPWAY_REHEARSAL_API");
    here->session = open_session(here);
}

int trial_begin(void **state)
{
    struct trial *here = sw_new(struct trial);

    here->fixture = the_fixture;
    snprintf(here->dir, sizeof here->dir, "/tmp/contract-XXXXXX");
    if (!mkdtemp(here->dir) || reaper_start(&here->reaper, here->dir) < 0)
        return -1;
    snprintf(here->state_dir, sizeof here->state_dir, "%s/state", here->dir);
    for (const char *const *name = (const char *const[]){ "home", "project", NULL }; *name; name++) {
        sw_autofree char *path = path_in(here, *name);

        if (mkdir(path, 0700) < 0)
            return -1;
        if (strcmp(*name, "home") == 0)
            setenv("HOME", path, 1);
    }
    unsetenv("SLIPWAY_REHEARSAL_API");
    if (here->fixture->begin)
        here->fixture->begin(here->dir);
    here->canary = canary_new();
    here->session = open_session(here);
    *state = here;
    return 0;
}

/* ---- requests --------------------------------------------------------------------------------- */

void set(struct sw_request *request, const char *key, const char *value)
{
    struct sw_error err = { 0 };

    expect_ok(sw_request_set(request, key, value, &err), &err, key);
}

void set_id(struct sw_request *request, const char *id)
{
    struct sw_error err = { 0 };

    expect_ok(sw_request_id(request, id, &err), &err, "the job's id");
}

void set_common(const struct trial *here, struct sw_request *made)
{
    struct sw_error err = { 0 };

    set(made, "platform", here->fixture->name);
    if (here->fixture->common)
        expect_ok(here->fixture->common(made, &err), &err, "what the fixture needs");
}

static struct sw_request *plain_request(const struct trial *here)
{
    struct sw_request *made = sw_request_new();

    set_common(here, made);
    set(made, "name", "contract");
    set(made, "secrets", CANARY_NAME);
    set(made, "grace", "2s");
    return made;
}

struct sw_request *request(struct trial *here, enum behaviour wanted, int64_t number)
{
    struct sw_request *made = plain_request(here);
    struct sw_error err = { 0 };

    expect_ok(fixture_ask(here->fixture, made, wanted, number, &err), &err, "the fixture's wanted");
    return made;
}

static struct sw_request *request_shell_v(struct trial *here, const char *fmt, va_list args)
{
    struct sw_request *made = plain_request(here);
    char *command = NULL;

    if (vasprintf(&command, fmt, args) < 0)
        abort();
    set(made, here->fixture->command_key, command);
    free(command);
    return made;
}

struct sw_request *request_shell(struct trial *here, const char *fmt, ...)
{
    struct sw_request *made;
    va_list args;

    va_start(args, fmt);
    made = request_shell_v(here, fmt, args);
    va_end(args);
    return made;
}

/* Time is read where every shell can: /proc/uptime counts hundredths of a second. TERM ends `sleep`, too,
 * so it sleeps in small steps. */
struct sw_request *request_that_saves(struct trial *here, const char *mark)
{
    struct sw_request *made = request_shell(
        here, "m='%s'; now() { read -r t r </proc/uptime; echo \"${t%%.*}${t#*.}\"; }; "
              "trap 'echo TERM >>\"$m\"' TERM; echo up >>\"$m\"; "
              "until grep -q TERM \"$m\"; do sleep 0.05; done; end=$(($(now) + 320)); "
              "while [ $(now) -lt $end ]; do sleep 0.05; done; echo SAVED >>\"$m\"", mark);

    set(made, "grace", "4s");
    return made;
}

void expect_saved_once(const char *mark)
{
    sw_autofree char *text = read_text(mark);

    assert_non_null(text);
    assert_string_equal(text, "up\nTERM\nSAVED\n");
}

const char *send_request(struct trial *here, struct sw_request *made)
{
    struct sw_error err = { 0 };
    char *plan = sw_plan_job(here->session, made, &err);
    int result;

    if (!plan)
        fail_msg("plan: %s: %s (%s)", sw_code_name(err.code), err.message, err.hint);
    canary_heard(here->canary, "sw_plan_job", plan);
    sw_text_free(plan);
    result = sw_submit(here->session, made, here->id, &err);
    sw_request_free(made);
    expect_ok(result, &err, "submit");
    return here->id;
}

const char *launch(struct trial *here, enum behaviour wanted, int64_t number)
{
    return send_request(here, request(here, wanted, number));
}

const char *launch_shell(struct trial *here, const char *fmt, ...)
{
    struct sw_request *made;
    va_list args;

    va_start(args, fmt);
    made = request_shell_v(here, fmt, args);
    va_end(args);
    return send_request(here, made);
}

/* ---- looking ---------------------------------------------------------------------------------- */

json_t *status(struct trial *here, const char *id)
{
    struct sw_error err = { 0 };
    char *text = sw_status(here->session, id, SW_LOOK_REFRESH, &err);
    json_t *json;

    if (!text)
        fail_msg("status of '%s': %s: %s", id, sw_code_name(err.code), err.message);
    canary_heard(here->canary, "sw_status", text);
    json = json_loads(text, 0, NULL);
    sw_text_free(text);
    assert_non_null(json);
    return json;
}

const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

int64_t number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (int64_t)json_integer_value(value) : -1;
}

enum sw_state state_of(struct trial *here, const char *id)
{
    sw_auto(json) json_t *job = status(here, id);
    enum sw_state state = SW_UNKNOWN;

    assert_int_equal(sw_state_parse(text_of(job, "status"), &state), 0);
    return state;
}

enum sw_state wait_until_or_over(struct trial *here, const char *id, enum sw_state wanted)
{
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;
    enum sw_state state;

    /* A status only looks; what is due is done by a watcher. */
    while (sw_watcher_once(here->session, NULL), (state = state_of(here, id)) != wanted) {
        if (sw_monotonic_ms() > deadline || sw_state_is_final(state))
            break;
        sw_sleep_ms(10);
    }
    return state;
}

void wait_until(struct trial *here, const char *id, enum sw_state wanted)
{
    enum sw_state state = wait_until_or_over(here, id, wanted);

    if (state != wanted)
        fail_msg("job '%s' is %s and does not become %s", id, sw_state_name(state), sw_state_name(wanted));
}

int wait_until_over(struct trial *here, const char *id)
{
    struct sw_error err = { 0 };
    int exit_status = -1;

    expect_ok(sw_wait(here->session, id, PATIENCE_MS, NULL, NULL, &exit_status, &err), &err,
              "wait");
    return exit_status;
}

void expect_state(struct trial *here, const char *id, enum sw_state wanted)
{
    sw_auto(json) json_t *job = status(here, id);

    if (strcmp(text_of(job, "status"), sw_state_name(wanted)) != 0)
        fail_msg("job '%s' is %s (%s: %s), not %s", id, text_of(job, "status"),
                 text_of(job, "reason"), text_of(job, "message"), sw_state_name(wanted));
}

void expect_exit_code(struct trial *here, const char *id, int code)
{
    sw_auto(json) json_t *job = status(here, id);

    assert_int_equal(number_of(job, "exit_code"), code);
}

void expect_reason(struct trial *here, const char *id, const char *reason)
{
    sw_auto(json) json_t *job = status(here, id);

    assert_string_equal(text_of(job, "reason"), reason);
}

/* ---- logs ------------------------------------------------------------------------------------- */

static int gather(void *context, int replica, int64_t at_ms, const char *bytes, size_t length)
{
    (void)replica, (void)at_ms;
    sw_buf_add_bytes(context, bytes, length);
    return 0;
}

struct log read_log(struct trial *here, const char *id, int64_t tail_lines, bool follow)
{
    struct sw_log_options options = { .size = sizeof options, .one_replica = true, .follow = follow,
                                      .tail_lines = tail_lines ? tail_lines : SW_LOG_NEW };
    struct sw_buf all = SW_BUF_INIT;
    struct sw_error err = { 0 };

    expect_ok(sw_logs(here->session, id, &options, gather, &all, &err), &err, "logs");
    canary_heard(here->canary, "sw_logs", sw_buf_text(&all));
    return (struct log){ .bytes = all.data ? all.data : sw_strdup(""), .length = all.length };
}

void log_done(struct log *log)
{
    free(log->bytes);
}

void log_line(int64_t index, char line[LOG_LINE + 1])
{
    snprintf(line, LOG_LINE + 1, "rehearsal line %012lld ...................................\n",
             (long long)index);
}

void expect_lines(const struct log *log, int64_t first, int64_t last)
{
    char line[LOG_LINE + 1];

    if (log->length != (size_t)(last - first + 1) * LOG_LINE)
        fail_msg("%zu bytes of log instead of %zu; it begins '%.200s'", log->length,
                 (size_t)(last - first + 1) * LOG_LINE, log->bytes ? log->bytes : "");
    for (int64_t i = first; i <= last; i++) {
        log_line(i, line);
        assert_memory_equal(log->bytes + (i - first) * LOG_LINE, line, LOG_LINE);
    }
}

/* ---- other processes ---------------------------------------------------------------------------- */

int crowd(void)
{
    const char *text = getenv("SLIPWAY_CONTRACT_CROWD");

    return text ? atoi(text) : 16;
}

void in_processes(struct trial *here, int count, int (*fn)(struct trial *here, int number))
{
    int gate[2], failed = 0;
    pid_t children[64];

    assert_true(count <= 64);
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            char byte;

            setenv("CMOCKA_TEST_ABORT", "1", 1);    /* a failed claim ends this process only */
            close(gate[1]);
            while (read(gate[0], &byte, 1) > 0)     /* until everybody is there */
                ;
            _exit(fn(here, i) == 0 ? 0 : 1);
        }
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < count; i++) {
        int code = -1;

        waitpid(children[i], &code, 0);
        failed += code != 0;
    }
    if (failed)
        fail_msg("%d of %d processes failed", failed, count);
}

/* ---- files --------------------------------------------------------------------------------------- */

char *path_in(const struct trial *here, const char *name)
{
    return sw_path_join(here->dir, name);
}

void write_text(const char *path, const char *text)
{
    struct sw_error err = { 0 };

    expect_ok(sw_file_write(path, text, strlen(text), 0600, &err), &err, "write");
}

char *read_text(const char *path)
{
    return sw_file_read(path, 1 << 20, NULL, NULL);
}

int lines_in(const char *path)
{
    sw_autofree char *text = read_text(path);
    int lines = 0;

    for (const char *at = text; at && (at = strchr(at, '\n')); at++)
        lines++;
    return lines;
}

bool wait_for_lines(const char *path, int count)
{
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;

    while (lines_in(path) < count) {
        if (sw_monotonic_ms() > deadline)
            return false;
        sw_sleep_ms(5);
    }
    return true;
}

bool watch_for_lines(struct trial *here, const char *path, int count)
{
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;

    for (int turn = 0; lines_in(path) < count; turn++) {
        if (sw_monotonic_ms() > deadline)
            return false;
        if (turn % WATCH_TURNS == 0)
            sw_watcher_once(here->session, NULL);
        sw_sleep_ms(20);
    }
    return true;
}

long peak_memory_kib(void)
{
    sw_autofree char *text = sw_file_read("/proc/self/status", 65536, NULL, NULL);
    const char *line = text ? strstr(text, "VmHWM:") : NULL;

    assert_non_null(line);
    return atol(line + strlen("VmHWM:"));
}

static void command_line(const char *pid, char *line, size_t size)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    memset(line, 0, size);
    file = fopen(path, "r");
    for (size_t i = file ? fread(line, 1, size - 1, file) : 0; i-- > 1;)
        line[i - 1] = line[i - 1] ? line[i - 1] : ' ';
    if (file)
        fclose(file);
}

void expect_none_left(const struct trial *here, const char *id)
{
    int64_t until_ms = sw_monotonic_ms() + PATIENCE_MS;
    bool (*is_own)(const char *line) = here->fixture->is_own;
    char pid[24] = "", line[256];

    while (processes_of(here->dir, id, pid, sizeof pid) > 0) {
        command_line(pid, line, sizeof line);
        /* One that has ended since has no words. */
        if (!is_own || (*line && !is_own(line)) || sw_monotonic_ms() > until_ms)
            fail_msg("process %s is still there: %s", pid, line);
        sw_sleep_ms(20);
    }
}

/* ---- the end of a trial ---------------------------------------------------------------------------- */

static void stop_what_is_left(struct trial *here)
{
    struct sw_list_options active = { .size = sizeof active, .state = "active", .limit = 1000 };
    char *text = sw_list(here->session, &active, NULL);
    sw_auto(json) json_t *list = text ? json_loads(text, 0, NULL) : NULL;
    sw_autofree const char **ids = NULL;
    size_t i = 0;
    json_t *job;

    canary_heard(here->canary, "sw_list", text);
    sw_text_free(text);
    ids = sw_alloc((json_array_size(json_object_get(list, "jobs")) + 1) * sizeof *ids);
    json_array_foreach(json_object_get(list, "jobs"), i, job)
        ids[i] = text_of(job, "id");
    if (i > 0)                               /* together: where a stop takes seconds, forty take a minute */
        sw_cancel_many(here->session, ids, i, NULL, NULL, NULL);
}

static bool no_process_left(const struct trial *here, char *first, size_t size)
{
    int64_t deadline = sw_monotonic_ms() + PATIENCE_MS;

    while (processes_of(here->dir, NULL, first, size) > 0) {
        if (sw_monotonic_ms() > deadline)
            return false;
        sw_sleep_ms(10);
    }
    return true;
}

int trial_end(void **state)
{
    struct trial *here = *state;
    char pid[24] = "";
    const char *found;
    int result = 0;

    stop_what_is_left(here);
    sw_close(here->session);
    if (!no_process_left(here, pid, sizeof pid)) {
        print_error("process %s of the case is still there\n", pid);
        result = -1;
    }
    canary_search(here->canary, here->dir);
    found = canary_found(here->canary);
    if (found) {
        print_error("the secret was seen in %s\n", found);
        result = -1;
    }
    canary_free(here->canary);
    if (sw_remove_tree(here->dir, NULL) < 0)
        result = -1;
    reaper_end(&here->reaper);
    free(here);
    return result;
}
