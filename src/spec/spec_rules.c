/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_rules.c - what a type alone cannot say: names of variables, ranges of durations, paths.
 *
 * One row per rule, read by the check and by the schema, so that the editor and `slipway run`
 * complain about the same things.
 */
#include "spec/spec_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "core/selector.h"

bool spec_is_variable_name(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return *text == '\0';
}

static bool is_variable_name(const json_t *value)
{
    return spec_is_variable_name(json_string_value(value));
}

static bool is_not_blank(const json_t *value)
{
    const char *text = json_string_value(value);

    return text[strspn(text, " \t\r\n")] != '\0';
}

/* `slipway logs last` is the newest job, not one that is named so. */
static bool is_no_selector(const json_t *value)
{
    return !sw_selector_is_word(json_string_value(value));
}

static bool is_positive(const json_t *value)
{
    return json_number_value(value) > 0;
}

/* A results path that climbs out of its folder would let a job file write anywhere. */
static bool is_safe_path(const json_t *value)
{
    const char *step = json_string_value(value);

    if (!*step)
        return false;
    while (step) {
        size_t length = strcspn(step, "/");

        if (length == 2 && strncmp(step, "..", 2) == 0)
            return false;
        step = step[length] ? step + length + 1 : NULL;
    }
    return true;
}

static bool is_absolute(const json_t *value)
{
    return *json_string_value(value) == '/' && is_safe_path(value);
}

static bool is_folder_name(const json_t *value)
{
    return is_not_blank(value) && !strchr(json_string_value(value), '/');
}

/* With or without its dashes. */
static bool is_option_name(const json_t *value)
{
    const char *text = json_string_value(value);

    text += strspn(text, "-");
    return *text && !strpbrk(text, " \t\r\n=");
}

static bool is_web_address(const json_t *value)
{
    const char *text = json_string_value(value);

    return strpbrk(text, " \t\r\n") == NULL &&
           (sw_text_starts(text, "https://") || sw_text_starts(text, "http://") ||
            sw_text_starts(text, "${"));
}

static bool is_label(const json_t *value)
{
    const char *text = json_string_value(value);

    if (!isalnum((unsigned char)*text))
        return false;
    while (isalnum((unsigned char)*text) || (*text && strchr("._/-", *text)))
        text++;
    return *text == '\0';
}

static bool is_duration_or_range(const json_t *value)
{
    int64_t least, most;

    return sw_duration_range_parse(json_string_value(value), &least, &most, NULL) == 0 && least >= 0;
}

#define VARIABLE_SCHEMA "{\"pattern\": \"^[A-Za-z_][A-Za-z0-9_]*$\"}"
#define NOT_BLANK_SCHEMA "{\"pattern\": \"[^ \\\\t\\\\r\\\\n]\"}"
#define SELECTOR_SCHEMA                                                                       \
    "{\"not\": {\"pattern\": \"^(last(-[0-9]+)?|all|active|pending|running|complete|failed|canceled)$\"}}"
#define PATH_SCHEMA "{\"minLength\": 1, \"not\": {\"pattern\": \"(^|/)\\\\.\\\\.(/|$)\"}}"

static const struct spec_rule rules[] = {
    { "name", SPEC_ON_VALUE, is_not_blank, "a name", NOT_BLANK_SCHEMA },
    { "name", SPEC_ON_VALUE, is_no_selector,
      "another name: this word selects jobs (slipway help selectors)", SELECTOR_SCHEMA },
    { "image", SPEC_ON_VALUE, is_not_blank, "an image", NOT_BLANK_SCHEMA },
    { "command", SPEC_ON_VALUE, is_not_blank, "a command", NOT_BLANK_SCHEMA },
    { "setup", SPEC_ON_EACH, is_not_blank, "a command", NOT_BLANK_SCHEMA },
    { "workdir", SPEC_ON_VALUE, is_not_blank, "a folder", NOT_BLANK_SCHEMA },
    { "python.script", SPEC_ON_VALUE, is_not_blank, "a script", NOT_BLANK_SCHEMA },
    { "cpus", SPEC_ON_VALUE, is_positive, "greater than 0", "{\"exclusiveMinimum\": 0}" },
    { "secrets", SPEC_ON_EACH, is_variable_name,
      "the name of an environment variable (names only, never values)", VARIABLE_SCHEMA },
    { "env", SPEC_ON_KEYS, is_variable_name, "the name of an environment variable",
      VARIABLE_SCHEMA },
    { "labels", SPEC_ON_KEYS, is_label, "a label: letters, digits, and . _ / - inside",
      "{\"pattern\": \"^[A-Za-z0-9][A-Za-z0-9._/-]*$\"}" },
    { "inputs", SPEC_ON_KEYS, is_safe_path, "a path without '..'", PATH_SCHEMA },
    { "outputs", SPEC_ON_KEYS, is_safe_path, "a path without '..'", PATH_SCHEMA },
    { "cache", SPEC_ON_VALUE, is_absolute, "an absolute path without '..'",
      "{\"pattern\": \"^(/|[$][{])\", \"not\": {\"pattern\": \"(^|/)\\\\.\\\\.(/|$)\"}}" },
    { "code.recipe", SPEC_ON_VALUE, is_folder_name, "the name of a folder below recipes/",
      "{\"pattern\": \"^[^/]+$\"}" },
    { "flags", SPEC_ON_EACH, is_option_name, "the name of an option",
      "{\"pattern\": \"^-*[^- \\\\t\\\\r\\\\n=][^ \\\\t\\\\r\\\\n=]*$\"}" },
    { "mounts", SPEC_ON_EACH, is_not_blank, "a mount", NOT_BLANK_SCHEMA },
    { "retry.wait", SPEC_ON_VALUE, is_duration_or_range,
      "a duration such as 30s, or a range such as 30s..10m", "{\"pattern\": \"^[0-9]\"}" },
    { "notify.webhook", SPEC_ON_VALUE, is_web_address, "an address that begins with https://",
      "{\"pattern\": \"^(https?://|[$][{])[^ \\t\\r\\n]*$\"}" },
};

const struct spec_rule *spec_rule_next(const struct spec_rule *last, const char *path,
                                       enum spec_rule_on on)
{
    for (const struct spec_rule *rule = last ? last + 1 : rules;
         rule < rules + SW_COUNT(rules); rule++)
        if (rule->on == on && strcmp(rule->path, path) == 0)
            return rule;
    return NULL;
}
