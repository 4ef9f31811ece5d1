/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbatch.c - a batch script for Slurm: its directives become keys, its body the command.
 *
 * sbatch reads `#SBATCH` lines up to the first command, with several options on a line, quotes, and a
 * comment behind. The body of such a script runs once, on the first node, and srun starts the processes on
 * all of them. Here the command itself runs on every node. So `srun` goes, and its options are read like
 * those of the head; what the script does beside srun is named when there are several nodes.
 *
 * Pure. Every text is bounded by the file's own size.
 */
#include "translate/translate_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "core/job_env.h"

#define DIRECTIVE "#SBATCH"

struct script {
    struct translating *at;
    struct sbatch_shape shape;
    struct sw_buf body;
    const char *text;                /* all of it, for the values of variables */
    int beside_line;                 /* the first command beside srun; 0: none */
};

/* ---- words -------------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || (*at == '\\' && at[1] == '\n'))
        at += *at == '\\' ? 2 : 1;
    return at;
}

/* One word without its quotes; *at is moved behind it. Owned; NULL: the line ends here. */
static char *next_word(const char **at)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;
    const char *c = skip_blanks(*at);
    char quote = '\0';
    bool any = false;

    for (; *c && (quote || !isspace((unsigned char)*c)); c++) {
        any = true;
        if (*c == '\\' && c[1] == '\n')
            c++;
        else if (*c == quote)
            quote = '\0';
        else if (!quote && (*c == '\'' || *c == '"'))
            quote = *c;
        else if (*c == '\\' && c[1] && quote != '\'')
            sw_buf_add_char(&out, *++c);
        else
            sw_buf_add_char(&out, *c);
    }
    *at = c;
    return any ? sw_strdup(sw_buf_text(&out)) : NULL;
}

/* NAME=value or export NAME=value somewhere in the script. Owned; NULL: there is none, or it is not plain. */
static char *value_of_variable(const char *script, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = script; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *c = skip_blanks(line);
        sw_autofree char *value = NULL;

        c = sw_text_starts(c, "export ") ? skip_blanks(c + 7) : c;
        if (strncmp(c, name, length) != 0 || c[length] != '=')
            continue;
        c += length + 1;
        value = *c && !isspace((unsigned char)*c) ? next_word(&c) : NULL;
        return value && !strpbrk(value, "$`") ? sw_take(value) : NULL;
    }
    return NULL;
}

/* A value that is one variable of the script is that variable's. Owned; NULL: it cannot be known. */
static char *resolve(const struct script *script, const char *value)
{
    const char *name = value + 1;
    size_t length = strlen(value);
    sw_autofree char *plain = NULL;

    if (!strpbrk(value, "$`"))
        return sw_strdup(value);
    if (*value != '$')
        return NULL;
    if (*name == '{' && value[length - 1] == '}')
        plain = sw_strndup(name + 1, length - 3);
    else
        plain = sw_strdup(name);
    for (const char *c = plain; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_')
            return NULL;
    return *plain ? value_of_variable(script->text, plain) : NULL;
}

/* ---- options ---------------------------------------------------------------------------------------- */

static void take_option(struct script *script, const struct sbatch_option *option, int line,
                        const char *word, const char *value, bool srun)
{
    sw_autofree char *known = value ? resolve(script, value) : NULL;
    sw_autofree char *what = value && !strchr(word, '=') ? sw_format("%s %s", word, value) : sw_strdup(word);

    if (value && !known)
        translate_leave_out(script->at, line, what, "its value is known only when the script runs");
    else
        sbatch_option_take(script->at, &script->shape, option, line, what, known, srun);
}

/* "--name=value", "--name value", "-Nvalue", "-N value". True: it was an option. */
static bool read_option(struct script *script, const char **at, int line, bool srun)
{
    const char *before = *at;
    sw_autofree char *word = next_word(at), *behind = NULL;
    bool longer = word && word[0] == '-' && word[1] == '-' && word[2];
    const char *equals = longer ? strchr(word, '=') : NULL, *attached = NULL;
    const struct sbatch_option *option;

    if (!word || word[0] != '-' || !word[1]) {
        *at = before;
        return false;
    }
    if (longer)
        option = sbatch_option_find(word + 2, equals ? (size_t)(equals - word - 2) : strlen(word + 2), 0);
    else
        option = sbatch_option_find(NULL, 0, word[1]);
    attached = equals ? equals + 1 : !longer && word[2] ? word + 2 + (word[2] == '=') : NULL;
    if (!option) {
        translate_leave_out(script->at, line, word, "this option is not known");
        return true;
    }
    if (!attached && sbatch_option_has_value(option, false))
        behind = next_word(at);
    take_option(script, option, line, word,
                !sbatch_option_has_value(option, attached != NULL) ? NULL : attached ? attached : behind,
                srun);
    return true;
}

static void read_directive(struct script *script, const char *text, int line)
{
    for (;;) {
        const char *before = text = skip_blanks(text);
        sw_autofree char *word = NULL;

        if (!*text || *text == '#' || *text == '\n' || *text == '\r')
            return;
        if (read_option(script, &text, line, false))
            continue;
        word = next_word(&text);
        if (!word || text == before)
            return;
        translate_leave_out(script->at, line, word, "this is not an option of sbatch");
    }
}

/* ---- the body ------------------------------------------------------------------------------------------ */

/* A line with those that a backslash joins to it. */
static size_t logical_length(const char *line, int *lines)
{
    const char *c = line;

    for (*lines = 1; *c && *c != '\n'; c++)
        if (*c == '\\' && c[1] == '\n') {
            c++;
            ++*lines;
        }
    return (size_t)(c - line) + (*c == '\n');
}

/* Does such a line only prepare what srun starts later? */
static bool only_prepares(const char *line)
{
    static const char *const words[] = {
        "#", "export ", "module ", "ml ", "source ", ". ", "conda ", "set ", "echo ", "cd ", "ulimit ",
        "unset ", "date", "hostname", "trap ", "wait",
    };
    size_t name = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

    if (!*line || *line == '\n' || *line == '\r' || (name > 0 && line[name] == '='))
        return true;
    for (size_t i = 0; i < SW_COUNT(words); i++)
        if (sw_text_starts(line, words[i]))
            return true;
    return false;
}

/* A variable that Slipway sets itself (and scontrol is not there in a container), or a credential. True: the
 * line is taken away. */
static bool takes_variable(struct script *script, const char *line, int number)
{
    const char *c = sw_text_starts(line, "export ") ? skip_blanks(line + 7) : line;
    sw_autofree char *name = sw_strndup(c, strcspn(c, "=\n "));
    const char *value = c + strlen(name);

    if (*value++ != '=')
        return false;
    if (sw_job_env_taken(name) || strcmp(name, "MASTER_PORT") == 0) {
        translate_leave_out(script->at, number, name, "Slipway sets this variable itself");
        return true;
    }
    value += *value == '"' || *value == '\'';
    if (!sw_spec_looks_like_credential(name) || !*value || isspace((unsigned char)*value) ||
        strchr("$`'\"", *value))
        return false;
    translate_env(script->at, number, name, name, value);
    return true;
}

static void add_line(struct script *script, const char *line, size_t length, int number)
{
    sw_autofree char *own = sw_strndup(line, length);
    const char *text = skip_blanks(own), *c = text;

    if (sw_text_starts(text, DIRECTIVE)) {
        translate_leave_out(script->at, number, DIRECTIVE, "below the first command sbatch ignores it, too");
        return;
    }
    if (takes_variable(script, text, number))
        return;
    if (!sw_text_starts(text, "srun") || !isspace((unsigned char)text[4])) {
        if (!script->beside_line && !only_prepares(text))
            script->beside_line = number;
        sw_buf_add(&script->body, own);
        return;
    }
    script->shape.srun = true;
    c = text + 4;
    while (read_option(script, &c, number, true))
        ;
    sw_buf_add_bytes(&script->body, own, (size_t)(text - own));
    sw_buf_add(&script->body, skip_blanks(c));
}

static bool is_command(const char *line)
{
    const char *c = skip_blanks(line);

    return *c && *c != '\n' && *c != '\r' && *c != '#';
}

void translate_sbatch(struct translating *at)
{
    struct script script = { .at = at, .text = at->input->text };
    sw_autofree char *body = NULL;
    bool head = true;
    int number = 1, lines = 1;

    for (const char *line = script.text; *line; number += lines) {
        size_t length = logical_length(line, &lines);

        head = head && !is_command(line);
        if (head && sw_text_starts(line, DIRECTIVE) && isspace((unsigned char)line[strlen(DIRECTIVE)])) {
            sw_autofree char *own = sw_strndup(line, length);

            read_directive(&script, own + strlen(DIRECTIVE), number);
        } else if (!head || (number > 1 && length > 1 && !sw_text_starts(line, "#!"))) {
            add_line(&script, line, length, number);
        }
        line += length;
    }
    sbatch_shape_settle(at, &script.shape);
    if (script.shape.nodes > 1 && script.beside_line)
        translate_leave_out(at, script.beside_line, "commands beside srun",
                            "sbatch runs them on the first node, Slipway on each: test $NODE_RANK there");
    body = sw_buf_steal(&script.body);
    translate_command(at, number - 1, "the script", body + strspn(body, "\n"), NULL);
    translate_set(at, 0, "platform", "platform", "slurm");
    sbatch_shape_done(&script.shape);
}
