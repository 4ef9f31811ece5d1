/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearsal_script.c - "pending 1s, running 2s, exit 3" to steps, "slow 200ms, down" to faults.
 *
 * Every word is one row of a table below; the manual page lists the same words. A text is refused
 * before anything is submitted, with the word that is wrong, since a rehearsal that quietly leaves
 * out a step would prove something else than its author meant.
 *
 * Real platforms were seen to do all that the faults pretend: lose an answer after the job was
 * accepted, leave a job out of a list, rotate a log, set a clock back. None of it may turn a job
 * into Error or make a second one; contract suite and scenarios check that.
 *
 * Pure: no I/O, no clock. Called by rehearsal.c; a fuzz target.
 */
#include "platform/rehearsal/rehearsal_internal.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"

#define YEAR_MS      ((int64_t)366 * 24 * 3600 * 1000)
#define DECADE_MS    ((int64_t)3650 * 24 * 3600 * 1000)
#define CALLS_MAX    1000000000LL
#define LINES_MAX    1000000000LL
#define EPOCHS_MAX   1000000LL
#define RANK_MAX     9999
#define FIELD(name)  offsetof(struct rehearsal_faults, name)

enum unit { NOTHING, TIME, SIZE, CALLS, COUNT, SIGNAL, LOG };

static const struct rehearsal_word {
    const char *word;
    enum unit unit;
    size_t what;                /* a step: its kind; a fault: where its number goes */
    int64_t initial;            /* when no number is given; -1: one must be */
    int64_t least, most;
    const char *example;
} steps[] = {
    { "pending",       TIME, REHEARSE_PENDING, REHEARSAL_FOR_EVER, 0, DECADE_MS, "pending 1s" },
    { "unschedulable", TIME, REHEARSE_UNSCHEDULABLE, REHEARSAL_FOR_EVER, 0, DECADE_MS,
      "unschedulable 1m" },
    { "running",       TIME, REHEARSE_RUNNING, REHEARSAL_FOR_EVER, 0, DECADE_MS, "running 2s" },
    { "paused",        TIME, REHEARSE_PAUSED, REHEARSAL_FOR_EVER, 0, DECADE_MS, "paused 1s" },
    { "epochs",        COUNT, REHEARSE_EPOCHS, -1, 1, EPOCHS_MAX, "epochs 10 every 200ms" },
    { "log",           LOG, REHEARSE_LOG_TEXT, 0, 0, LINES_MAX, "log text' or 'log 9 lines" },
    { "exit",          COUNT, REHEARSE_EXIT, -1, 0, 255, "exit 3" },
    { "signal",        SIGNAL, REHEARSE_SIGNAL, -1, 1, 64, "signal SEGV" },
    { "oom",           NOTHING, REHEARSE_MEMORY, 0, 0, 0, "oom" },
    { "lost",          NOTHING, REHEARSE_LOST, 0, 0, 0, "lost" },
    { "node-lost",     NOTHING, REHEARSE_NODE_LOST, 0, 0, 0, "node-lost" },
    { "preempted",     TIME, REHEARSE_PREEMPTED, 0, 0, DECADE_MS, "preempted' or 'preempted 1m" },
    { "image-error",   NOTHING, REHEARSE_IMAGE, 0, 0, 0, "image-error" },
    { "vanished",      NOTHING, REHEARSE_VANISHED, 0, 0, 0, "vanished" },
}, every[] = {
    { "every", TIME, 0, -1, 0, DECADE_MS, "epochs 10 every 200ms" },
}, faults[] = {
    { "up", NOTHING, 0, 0, 0, 0, "up" },
    { "slow", TIME, FIELD(slow_ms), -1, 0, 60 * 1000, "slow 200ms" },
    { "down", CALLS, FIELD(down_calls), REHEARSAL_FOR_EVER, 0, CALLS_MAX, "down 3 calls" },
    { "lose-answer", CALLS, FIELD(lost_answers), 1, 0, CALLS_MAX, "lose-answer 1 call" },
    { "empty-list", CALLS, FIELD(unseen_calls), REHEARSAL_FOR_EVER, 0, CALLS_MAX,
      "empty-list 2 calls" },
    { "not-found-then-found", CALLS, FIELD(unseen_calls), 1, 0, CALLS_MAX, "not-found-then-found" },
    { "cut-every", CALLS, FIELD(cut_every), 2, 0, CALLS_MAX, "cut-every 3 calls" },
    { "rotate-log", SIZE, FIELD(rotate_bytes), -1, 16, INT64_MAX, "rotate-log 4KiB" },
    { "clock-back", TIME, FIELD(clock_back_ms), -1, 0, YEAR_MS, "clock-back 1h" },
};

int64_t rehearsal_number(const char *text, int64_t most)
{
    size_t digits = strspn(text, "0123456789");
    int64_t value = strtoll(text, NULL, 10);         /* too large: the largest there is */

    return digits > 0 && !text[digits] && value <= most ? value : -1;
}

static char *trim(char *text)
{
    char *end;

    while (isspace((unsigned char)*text))
        text++;
    end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return text;
}

char *rehearsal_cut(char **rest, const char *separators)
{
    char *piece = *rest, *at = piece;
    bool quoted = false;

    if (!piece)
        return NULL;
    for (; *at && (quoted || !strchr(separators, *at)); at++)
        quoted ^= *at == '"';
    *rest = *at ? at + 1 : NULL;
    *at = '\0';
    return trim(piece);
}

/* An owned copy to cut into pieces; NULL: the text is too long. */
static char *copy_of(const char *text, const char *what, struct sw_error *err)
{
    if (strnlen(text, REHEARSAL_SCRIPT_MAX + 1) <= REHEARSAL_SCRIPT_MAX)
        return sw_strdup(text);
    sw_fail(err, SW_E_SPEC, "%s is longer than %d characters", what, REHEARSAL_SCRIPT_MAX);
    return NULL;
}

/* The names of POSIX and Linux; libc's own table (sigabbrev_np) is in glibc only. */
static const struct {
    const char *name;
    int number;
} signals[] = {
    { "HUP", SIGHUP },       { "INT", SIGINT },   { "QUIT", SIGQUIT }, { "ILL", SIGILL },
    { "TRAP", SIGTRAP },     { "ABRT", SIGABRT }, { "BUS", SIGBUS },   { "FPE", SIGFPE },
    { "KILL", SIGKILL },     { "USR1", SIGUSR1 }, { "SEGV", SIGSEGV }, { "USR2", SIGUSR2 },
    { "PIPE", SIGPIPE },     { "ALRM", SIGALRM }, { "TERM", SIGTERM }, { "STKFLT", SIGSTKFLT },
    { "CHLD", SIGCHLD },     { "CONT", SIGCONT }, { "STOP", SIGSTOP }, { "TSTP", SIGTSTP },
    { "TTIN", SIGTTIN },     { "TTOU", SIGTTOU }, { "URG", SIGURG },   { "XCPU", SIGXCPU },
    { "XFSZ", SIGXFSZ },     { "PROF", SIGPROF }, { "POLL", SIGPOLL }, { "VTALRM", SIGVTALRM },
    { "WINCH", SIGWINCH },   { "PWR", SIGPWR },   { "SYS", SIGSYS },
};

static int64_t signal_number(const char *text)
{
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;

    for (size_t i = 0; i < SW_COUNT(signals); i++)
        if (sw_text_same_nocase(signals[i].name, name))
            return signals[i].number;
    return rehearsal_number(text, INT32_MAX);
}

/* "3 calls" */
static int64_t count_of_calls(char *text)
{
    const char *count = rehearsal_cut(&text, " \t");
    bool calls = sw_text_same(text, "calls") || sw_text_same(text, "call");

    return calls ? rehearsal_number(count, CALLS_MAX) : -1;
}

/* ---- one word ------------------------------------------------------------------------------- */

/* The row of the first word of *text, which then begins with what follows it. */
static const struct rehearsal_word *find_word(const struct rehearsal_word *rows, size_t count,
                                              char **text, struct sw_error *err)
{
    char *rest = *text + strcspn(*text, " \t\n");
    sw_autofree char *name = sw_strndup(*text, (size_t)(rest - *text));
    sw_auto(sw_buf) struct sw_buf all = SW_BUF_INIT;
    const char *names[SW_COUNT(steps)], *near;

    *text = trim(rest);
    for (size_t i = 0; i < count; i++) {
        names[i] = rows[i].word;
        sw_buf_addf(&all, "%s%s", i ? ", " : "", names[i]);
        if (strcmp(names[i], name) == 0)
            return &rows[i];
    }
    near = sw_text_nearest(name, names, count);
    sw_fail(err, SW_E_SPEC, "unknown word '%.40s' in a rehearsal", name);
    sw_hint(err, near ? "did you mean '%s'?" : "it knows %s", near ? near : sw_buf_text(&all));
    return NULL;
}

static int misused(const struct rehearsal_word *row, struct sw_error *err)
{
    return sw_fail(err, SW_E_SPEC, "'%s' is not used like that, but like '%s'", row->word,
                   row->example);
}

static int read_number(const struct rehearsal_word *row, char *text, int64_t *number,
                       struct sw_error *err)
{
    int64_t value = -1;

    if (row->unit == TIME && sw_duration_parse(text, &value, NULL) < 0)
        value = -1;
    else if (row->unit == SIZE && sw_size_parse(text, &value, NULL) < 0)
        value = -1;
    else if (row->unit == COUNT)
        value = rehearsal_number(text, row->most);
    else if (row->unit == SIGNAL)
        value = signal_number(text);
    else if (row->unit == CALLS)
        value = count_of_calls(text);
    *number = *text ? value : row->initial;
    if (*number < 0 || (*text && (value < row->least || value > row->most)))
        return misused(row, err);
    return 0;
}

int rehearsal_faults_parse(const char *text, struct rehearsal_faults *out, struct sw_error *err)
{
    struct rehearsal_faults found = { 0 };
    sw_autofree char *copy = copy_of(text, "rehearsal.api", err);
    char *rest = copy;

    if (!copy)
        return -1;
    for (char *fault; (fault = rehearsal_cut(&rest, ","));) {
        const struct rehearsal_word *row = NULL;
        int64_t number;

        if (*fault && (!(row = find_word(faults, SW_COUNT(faults), &fault, err)) ||
                       read_number(row, fault, &number, err) < 0))
            return sw_wrap(err, "rehearsal.api");
        if (row && row->unit != NOTHING)
            memcpy((char *)&found + row->what, &number, sizeof number);
    }
    *out = found;
    return 0;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* "10" or "10 every 200ms". */
static int parse_epochs(const struct rehearsal_word *row, char *text, struct rehearsal_step *step,
                        struct sw_error *err)
{
    char *rest = text;

    step->length_ms = 1000;
    if (read_number(row, rehearsal_cut(&rest, " \t"), &step->number, err) < 0)
        return -1;
    if (!rest)
        return 0;
    rest = trim(rest);
    row = find_word(every, 1, &rest, err);
    return row ? read_number(row, rest, &step->length_ms, err) : -1;
}

/* "100 lines", or any text, with or without double quotes. */
static int parse_log(const struct rehearsal_word *row, char *text, struct rehearsal_step *step,
                     struct sw_error *err)
{
    size_t length = strlen(text), digits = strspn(text, "0123456789");
    const char *unit = trim(text + digits + (text[digits] != '\0'));
    int64_t lines = strtoll(text, NULL, 10);

    if (digits > 0 && isblank((unsigned char)text[digits]) && lines <= row->most &&
        (strcmp(unit, "lines") == 0 || strcmp(unit, "line") == 0)) {
        step->kind = REHEARSE_LOG_LINES;
        step->number = lines;
        return 0;
    }
    if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
        text[length - 1] = '\0';
        text++;
    }
    if (strpbrk(text, "\n\r"))
        return misused(row, err);
    step->text = sw_strdup(text);
    return 0;
}

/* Endings may name the replica they happen to: "exit 3 on 1". Cuts that off. */
static int parse_rank(char *text, struct rehearsal_step *step, struct sw_error *err)
{
    char *on = strncmp(text, "on ", 3) == 0 ? text : strstr(text, " on ");

    if (!on)
        return 0;
    step->rank = (int)rehearsal_number(trim(strchr(on, 'n') + 1), RANK_MAX);
    if (step->rank < 0)
        return sw_fail(err, SW_E_SPEC, "'%.40s' is not a rank", on);
    *on = '\0';
    trim(text);
    return 0;
}

static int parse_step(char *text, struct rehearsal_step *step, struct sw_error *err)
{
    const struct rehearsal_word *row = find_word(steps, SW_COUNT(steps), &text, err);

    if (!row)
        return -1;
    step->kind = (enum rehearsal_kind)row->what;
    if (rehearsal_is_ending(step->kind) && parse_rank(text, step, err) < 0)
        return -1;
    if (step->kind == REHEARSE_PREEMPTED && *text)
        step->kind = REHEARSE_REQUEUED;
    if (step->kind == REHEARSE_EPOCHS)
        return parse_epochs(row, text, step, err);
    if (row->unit == LOG)
        return parse_log(row, text, step, err);
    return read_number(row, text, row->unit == TIME ? &step->length_ms : &step->number, err);
}

void rehearsal_script_done(struct rehearsal_script *script)
{
    for (size_t i = 0; i < script->count; i++)
        free(script->steps[i].text);
    free(script->steps);
    *script = (struct rehearsal_script){ 0 };
}

static int add_step(struct rehearsal_script *script, char *text, struct sw_error *err)
{
    struct rehearsal_step *last = script->count ? &script->steps[script->count - 1] : NULL, *step;
    int64_t at_ms = last ? last->ends_ms : 0;

    if (script->count >= REHEARSAL_STEPS_MAX)
        return sw_fail(err, SW_E_SPEC, "a script has more than %d steps", REHEARSAL_STEPS_MAX);
    if (last && (rehearsal_is_ending(last->kind) || last->length_ms == REHEARSAL_FOR_EVER))
        return sw_fail(err, SW_E_SPEC, "the script continues with '%.40s' after a step that never ends or "
                                       "ends the job", text);
    script->steps = sw_realloc_array(script->steps, script->count + 1, sizeof *script->steps);
    step = &script->steps[script->count++];
    *step = (struct rehearsal_step){ .at_ms = at_ms };
    if (parse_step(text, step, err) < 0)
        return -1;
    step->ends_ms = rehearsal_later(at_ms, step->length_ms * (step->kind == REHEARSE_EPOCHS
                                                                  ? step->number : 1));
    return 0;
}

int rehearsal_script_parse(const char *text, int attempt, struct rehearsal_script *out,
                           struct sw_error *err)
{
    sw_autofree char *copy = copy_of(text, "a script", err);
    sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };
    char *attempts = copy, *rest = rehearsal_cut(&attempts, ";");

    if (!copy)
        return -1;
    for (int i = 1; i < attempt && attempts; i++)
        rest = rehearsal_cut(&attempts, ";");
    for (char *step; (step = rehearsal_cut(&rest, ",\n"));)
        if (*step && add_step(&script, step, err) < 0)
            return -1;
    *out = script;
    script = (struct rehearsal_script){ 0 };
    return 0;
}

int rehearsal_script_check(const char *text, int nodes, struct sw_error *err)
{
    int attempts = 1;

    for (const char *at = text; *at; at++)
        attempts += *at == ';';
    for (int attempt = 1; attempt <= attempts; attempt++) {
        sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };

        if (rehearsal_script_parse(text, attempt, &script, err) < 0)
            return sw_wrap(err, "rehearsal.script");
        for (size_t i = 0; i < script.count; i++)
            if (script.steps[i].rank >= nodes)
                return sw_fail(err, SW_E_SPEC, "rehearsal.script names rank %d, but there are %d "
                               "nodes (ranks count from 0)", script.steps[i].rank, nodes);
    }
    return 0;
}
