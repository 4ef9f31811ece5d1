/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_rules.c - rules from the configuration: regular expressions of the user's own.
 *
 * The expressions are the user's, the lines are a stranger's. So what makes regexec() slow or
 * hungry is refused when the rule is read: back references (matching becomes exponential), large
 * or nested repetitions (the automaton grows with their product), and expressions that match an
 * empty line, which would explain every failure there is.
 *
 * Pure: no I/O.
 */
#include "diagnose/diagnose_internal.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "base/text.h"

enum { MOST_RULES = 64, MOST_PATTERN = 256, MOST_REPEATS = 256, MOST_SUGGESTION = 500 };

static const char *const keys[] = { "pattern", "cause", "class", "suggestion" };

static const struct { const char *said, *err_class; } classes[] = {
    { SW_CLASS_PROGRAM, SW_CLASS_PROGRAM }, { "program", SW_CLASS_PROGRAM },
    { SW_CLASS_INFRA, SW_CLASS_INFRA },     { "infra", SW_CLASS_INFRA },
};

static const char *class_of(const json_t *rule)
{
    const char *said = sw_json_str(rule, "class");

    if (!said)
        return diag_class_of_cause(sw_json_str(rule, "cause"));
    for (size_t i = 0; i < SW_COUNT(classes); i++) {
        if (strcmp(classes[i].said, said) == 0)
            return classes[i].err_class;
    }
    return NULL;
}

/* The largest number between `{` and `}` at `at`; 1 when there is none. */
static long repeats_at(const char *at)
{
    long most = 1;

    for (at++; *at && *at != '}'; at++) {
        if (isdigit((unsigned char)*at)) {
            char *end;
            long n = strtol(at, &end, 10);

            most = n > most ? n : most;
            at = end - 1;
        }
    }
    return most;
}

static int check_shape(const char *pattern, struct sw_error *err)
{
    long product = 1;

    if (strlen(pattern) > MOST_PATTERN)
        return sw_fail(err, SW_E_SPEC, "the pattern is longer than %d characters", MOST_PATTERN);
    for (const char *at = pattern; *at; at++) {
        if (at[0] == '\\' && at[1]) {
            if (isdigit((unsigned char)at[1]))
                return sw_fail(err, SW_E_SPEC, "back references (\\%c) are not allowed", at[1]);
            at++;
        } else if (*at == '{') {
            long n = repeats_at(at);

            if (n > MOST_REPEATS || (product *= n) > MOST_REPEATS)
                return sw_fail(err, SW_E_SPEC, "it repeats more than %d times", MOST_REPEATS);
        }
    }
    return 0;
}

static int compile(regex_t *compiled, const char *pattern, struct sw_error *err)
{
    int problem;

    if (sw_text_empty(pattern))
        return sw_fail(err, SW_E_SPEC, "'pattern' is missing");
    if (check_shape(pattern, err) < 0)
        return -1;
    problem = regcomp(compiled, pattern, REG_EXTENDED | REG_NOSUB);
    if (problem) {
        char why[128];

        regerror(problem, compiled, why, sizeof why);
        return sw_fail(err, SW_E_SPEC, "'%s' is not a regular expression: %s", pattern, why);
    }
    if (regexec(compiled, "", 0, NULL, 0) == 0) {
        regfree(compiled);
        return sw_fail(err, SW_E_SPEC, "'%s' matches every line, even an empty one", pattern);
    }
    return 0;
}

static int check_keys(const json_t *rule, struct sw_error *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(rule))
        return sw_fail(err, SW_E_SPEC, "it is not a mapping of pattern, cause, class, suggestion");
    json_object_foreach((json_t *)rule, key, value) {
        const char *near = sw_text_nearest(key, keys, SW_COUNT(keys));
        bool known = false;

        for (size_t i = 0; i < SW_COUNT(keys); i++)
            known |= strcmp(keys[i], key) == 0;
        if (!known) {
            sw_fail(err, SW_E_SPEC, "unknown key '%s'", key);
            return near ? sw_hint(err, "did you mean '%s'?", near) : -1;
        }
        if (!json_is_string(value))
            return sw_fail(err, SW_E_SPEC, "'%s' must be a string", key);
    }
    return 0;
}

static int check_words(const json_t *rule, struct sw_error *err)
{
    const char *cause = sw_json_str(rule, "cause"), *suggestion = sw_json_str(rule, "suggestion");

    if (!cause || !diag_class_of_cause(cause)) {
        sw_auto(sw_buf) struct sw_buf list = SW_BUF_INIT;

        diag_list_causes(&list);
        return sw_fail(err, SW_E_SPEC, "'cause' must be one of %s", sw_buf_text(&list));
    }
    if (!class_of(rule))
        return sw_fail(err, SW_E_SPEC, "'class' must be ERR_PROGRAM or ERR_INFRA");
    if (suggestion && strlen(suggestion) > MOST_SUGGESTION)
        return sw_fail(err, SW_E_SPEC, "'suggestion' is longer than %d bytes", MOST_SUGGESTION);
    return 0;
}

static int rule_open(const json_t *rule, regex_t *compiled, struct sw_error *err)
{
    if (check_keys(rule, err) < 0 || check_words(rule, err) < 0)
        return -1;
    return compile(compiled, sw_json_str(rule, "pattern"), err);
}

json_t *sw_diagnose_rules(const json_t *of_job, const json_t *of_user)
{
    json_t *all = json_array();

    if (json_is_array(of_job))
        json_array_extend(all, (json_t *)of_job);
    if (json_is_array(of_user))
        json_array_extend(all, (json_t *)of_user);
    return all;
}

int sw_rules_check(const json_t *user_rules, struct sw_error *err)
{
    if (!user_rules || json_is_null(user_rules))
        return 0;
    if (!json_is_array(user_rules))
        return sw_fail(err, SW_E_SPEC, "diagnosis rules must be a list");
    if (json_array_size(user_rules) > MOST_RULES)
        return sw_fail(err, SW_E_SPEC, "more than %d diagnosis rules", MOST_RULES);
    for (size_t i = 0; i < json_array_size(user_rules); i++) {
        regex_t compiled;

        if (rule_open(json_array_get(user_rules, i), &compiled, err) < 0)
            return sw_wrap(err, "diagnosis rule %zu", i + 1);
        regfree(&compiled);
    }
    return 0;
}

/* The newest lines that fit, shown oldest first. */
static size_t show_matches(const regex_t *compiled, const struct diag_log *log, json_t *lines)
{
    char text[DIAG_LINE_BYTES + 1];
    size_t found = 0;

    for (size_t i = log->count; i-- > 0 && found < DIAG_EVIDENCE_LINES;) {
        const struct diag_line *line = &log->lines[i];

        memcpy(text, line->text, line->length);
        text[line->length] = '\0';
        if (regexec(compiled, text, 0, NULL, 0) != 0)
            continue;
        diag_show_line(lines, line->text, line->length);
        found++;
    }
    return found;
}

bool diag_judge_user(const json_t *user_rules, const struct diag_log *log,
                     struct sw_ruling *ruling, json_t *lines)
{
    for (size_t i = 0; i < json_array_size(user_rules) && i < MOST_RULES; i++) {
        const json_t *rule = json_array_get(user_rules, i);
        const char *suggestion = sw_json_str(rule, "suggestion");
        regex_t compiled;
        size_t found;

        if (rule_open(rule, &compiled, NULL) < 0)
            continue;
        found = show_matches(&compiled, log, lines);
        regfree(&compiled);
        if (found == 0)
            continue;
        *ruling = (struct sw_ruling){ "user-rule", class_of(rule), sw_json_str(rule, "cause"),
                                        suggestion ? suggestion : "your own rule" };
        return true;
    }
    return false;
}
