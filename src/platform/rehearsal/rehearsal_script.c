/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rehearsal_script.c - "pending 1s, running 2s, exit 3" to steps.
 *
 * Every word a script may use is one row of the table below; the manual page lists the same
 * words. A script is refused before anything is submitted, with the step that is wrong, since a
 * rehearsal that quietly leaves out a step would prove something else than its author meant.
 *
 * Pure: no I/O, no clock. Called by rehearsal.c; a fuzz target.
 */
#include "platform/rehearsal/rehearsal_internal.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

#define LENGTH_MAX_MS ((int64_t)3650 * 24 * 3600 * 1000)
#define LINES_MAX     1000000000LL
#define EPOCHS_MAX    1000000LL
#define RANK_MAX      9999

enum argument { NOTHING, LENGTH, MAYBE_LENGTH, CODE, SIGNAL, LOG, EPOCHS };

static const struct rehearsal_word {
    const char *word;
    enum rehearsal_kind kind;
    enum argument argument;
} words[] = {
    { "pending",     REHEARSE_PENDING,   LENGTH },
    { "unschedulable", REHEARSE_UNSCHEDULABLE, LENGTH },
    { "running",     REHEARSE_RUNNING,   LENGTH },
    { "paused",      REHEARSE_PAUSED,    LENGTH },
    { "epochs",      REHEARSE_EPOCHS,    EPOCHS },
    { "log",         REHEARSE_LOG_TEXT,  LOG },
    { "exit",        REHEARSE_EXIT,      CODE },
    { "signal",      REHEARSE_SIGNAL,    SIGNAL },
    { "oom",         REHEARSE_MEMORY,    NOTHING },
    { "lost",        REHEARSE_LOST,      NOTHING },
    { "node-lost",   REHEARSE_NODE_LOST, NOTHING },
    { "preempted",   REHEARSE_PREEMPTED, MAYBE_LENGTH },
    { "image-error", REHEARSE_IMAGE,     NOTHING },
    { "vanished",    REHEARSE_VANISHED,  NOTHING },
};

int64_t rehearsal_number(const char *text, int64_t most)
{
    int64_t value = 0;

    if (!*text)
        return -1;
    for (; *text; text++) {
        if (!isdigit((unsigned char)*text) || value > most)
            return -1;
        value = value * 10 + (*text - '0');
    }
    return value <= most ? value : -1;
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
    char *piece = *rest;
    bool quoted = false;

    if (!piece)
        return NULL;
    for (char *at = piece; *at; at++) {
        if (*at == '"')
            quoted = !quoted;
        if (!quoted && strchr(separators, *at)) {
            *at = '\0';
            *rest = at + 1;
            return trim(piece);
        }
    }
    *rest = NULL;
    return trim(piece);
}

static int parse_length(const char *text, int64_t *ms, struct sw_error *err)
{
    if (sw_duration_parse(text, ms, err) < 0)
        return -1;
    if (*ms < 0 || *ms > LENGTH_MAX_MS)
        return sw_fail(err, SW_E_SPEC, "'%.40s' is longer than ten years", text);
    return 0;
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

static int parse_signal(const char *text, int64_t *number, struct sw_error *err)
{
    const char *name = strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;

    *number = rehearsal_number(text, 64);
    for (size_t i = 0; *number < 0 && i < SW_COUNT(signals); i++)
        if (sw_text_same_nocase(signals[i].name, name))
            *number = signals[i].number;
    if (*number < 1)
        return sw_fail(err, SW_E_SPEC, "'%.40s' is no signal", text);
    return 0;
}

/* "10" or "10 every 200ms". */
static int parse_epochs(char *text, struct rehearsal_step *step, struct sw_error *err)
{
    char *rest = text;
    const char *count = rehearsal_cut(&rest, " \t");
    const char *every = rest ? trim(rest) : NULL;

    step->length_ms = 1000;
    step->number = rehearsal_number(count, EPOCHS_MAX);
    if (step->number < 1)
        return sw_fail(err, SW_E_SPEC, "'epochs' wants a count from 1 to %lld, such as "
                       "'epochs 10 every 200ms'", EPOCHS_MAX);
    if (!every)
        return 0;
    if (!sw_text_starts(every, "every "))
        return sw_fail(err, SW_E_SPEC, "'%.40s' after the number of epochs: expected "
                       "'every DURATION'", every);
    return parse_length(every + strlen("every "), &step->length_ms, err);
}

/* "100 lines", or any text, with or without double quotes. */
static int parse_log(char *text, struct rehearsal_step *step, struct sw_error *err)
{
    size_t length = strlen(text);
    char *blank = strpbrk(text, " \t");

    if (blank && (strcmp(trim(blank + 1), "lines") == 0 || strcmp(trim(blank + 1), "line") == 0)) {
        sw_autofree char *count = sw_strndup(text, (size_t)(blank - text));
        int64_t number = rehearsal_number(count, LINES_MAX);

        if (number >= 0) {
            step->kind = REHEARSE_LOG_LINES;
            step->number = number;
            return 0;
        }
    }
    if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
        text[length - 1] = '\0';
        text++;
    }
    if (strpbrk(text, "\n\r"))
        return sw_fail(err, SW_E_SPEC, "'log' takes one line; write one step for each");
    step->text = sw_strdup(text);
    return 0;
}

/* Endings may name the replica they happen to: "exit 3 on 1". Cuts that off. */
static int parse_rank(char *text, struct rehearsal_step *step, struct sw_error *err)
{
    char *on = NULL;

    if (strncmp(text, "on ", 3) == 0)
        on = text;
    else if ((on = strstr(text, " on ")))
        on++;
    if (!on)
        return 0;
    step->rank = (int)rehearsal_number(trim(on + 3), RANK_MAX);
    if (step->rank < 0)
        return sw_fail(err, SW_E_SPEC, "'%.40s' is no rank", on + 3);
    *on = '\0';
    trim(text);
    return 0;
}

static int parse_argument(enum argument argument, char *text, struct rehearsal_step *step,
                          struct sw_error *err)
{
    switch (argument) {
    case NOTHING:
        return *text ? sw_fail(err, SW_E_SPEC, "'%.40s' is too much here", text) : 0;
    case LENGTH:
        step->length_ms = REHEARSAL_FOR_EVER;     /* a bare "running" never ends by itself */
        return *text ? parse_length(text, &step->length_ms, err) : 0;
    case MAYBE_LENGTH:
        if (!*text)
            return 0;
        step->kind = REHEARSE_REQUEUED;
        return parse_length(text, &step->length_ms, err);
    case CODE:
        step->number = rehearsal_number(text, 255);
        return step->number < 0
                   ? sw_fail(err, SW_E_SPEC, "'exit' wants a code from 0 to 255") : 0;
    case SIGNAL:
        return parse_signal(text, &step->number, err);
    case LOG:
        return parse_log(text, step, err);
    case EPOCHS:
        return parse_epochs(text, step, err);
    }
    return sw_fail(err, SW_E_INTERNAL, "a step without a parser");
}

static const struct rehearsal_word *find_word(const char *name, struct sw_error *err)
{
    const char *names[SW_COUNT(words)];
    const char *near;

    for (size_t i = 0; i < SW_COUNT(words); i++) {
        names[i] = words[i].word;
        if (strcmp(words[i].word, name) == 0)
            return &words[i];
    }
    near = sw_text_nearest(name, names, SW_COUNT(names));
    sw_fail(err, SW_E_SPEC, "a rehearsal knows no step '%.40s'", name);
    if (near)
        sw_hint(err, "did you mean '%s'?", near);
    else
        sw_hint(err, "steps are pending, unschedulable, running, paused, epochs, log, exit, signal, oom, "
                     "lost, node-lost, preempted, image-error, vanished");
    return NULL;
}

static int parse_step(char *text, struct rehearsal_step *step, struct sw_error *err)
{
    size_t length = strcspn(text, " \t\n");
    sw_autofree char *name = sw_strndup(text, length);
    const struct rehearsal_word *word = find_word(name, err);
    char *argument = trim(text + length);

    if (!word)
        return -1;
    step->kind = word->kind;
    if (rehearsal_is_ending(word->kind) && parse_rank(argument, step, err) < 0)
        return -1;
    return parse_argument(word->argument, argument, step, err);
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
    const struct rehearsal_step *last = script->count ? &script->steps[script->count - 1] : NULL;

    if (script->count >= REHEARSAL_STEPS_MAX)
        return sw_fail(err, SW_E_SPEC, "a script has more than %d steps", REHEARSAL_STEPS_MAX);
    if (last && (rehearsal_is_ending(last->kind) || last->length_ms == REHEARSAL_FOR_EVER))
        return sw_fail(err, SW_E_SPEC, "the script goes on with '%.40s' after a step that never "
                       "ends or ends the job", text);
    script->steps = sw_realloc_array(script->steps, script->count + 1, sizeof *script->steps);
    script->steps[script->count] = (struct rehearsal_step){ 0 };
    return parse_step(text, &script->steps[script->count++], err);
}

static int parse_steps(char *text, struct rehearsal_script *out, struct sw_error *err)
{
    sw_auto(rehearsal_script) struct rehearsal_script script = { 0 };
    char *rest = text;

    for (char *step; (step = rehearsal_cut(&rest, ",\n"));)
        if (*step && add_step(&script, step, err) < 0)
            return -1;
    *out = script;
    script = (struct rehearsal_script){ 0 };
    return 0;
}

/* Cut out the text of one attempt: number `attempt`, or the last there is. */
static char *attempt_text(char *whole, int attempt)
{
    char *rest = whole, *piece = rehearsal_cut(&rest, ";");

    for (int i = 1; i < attempt && rest; i++)
        piece = rehearsal_cut(&rest, ";");
    return piece;
}

int rehearsal_script_parse(const char *text, int attempt, struct rehearsal_script *out,
                           struct sw_error *err)
{
    sw_autofree char *copy = NULL;

    if (strnlen(text, REHEARSAL_SCRIPT_MAX + 1) > REHEARSAL_SCRIPT_MAX)
        return sw_fail(err, SW_E_SPEC, "a script is longer than %d characters",
                       REHEARSAL_SCRIPT_MAX);
    copy = sw_strdup(text);
    return parse_steps(attempt_text(copy, attempt), out, err);
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
