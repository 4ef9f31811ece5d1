/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_variables.c - ${NAME}, ${NAME:-default} and $$ in a text of a job file.
 *
 * A default is used when the variable is not set or is empty, and may hold variables itself. A dollar sign
 * before anything else stays as it is. A variable that usually holds a credential is refused: its value
 * would stand in the plan, in the store and in what a platform is sent. No value is ever part of a message.
 *
 * Pure: the environment is a function.
 */
#include "spec/spec_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

enum { TEXT_MAX = 1024 * 1024, DEPTH_MAX = 8 };

static bool starts_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static size_t name_length(const char *at)
{
    size_t length = 0;

    while (starts_name(at[length]) || (length > 0 && isdigit((unsigned char)at[length])))
        length++;
    return length;
}

/* The '}' that closes the "${" before `at`; NULL: there is none. */
static const char *closing(const char *at)
{
    for (int open = 1; *at; at++) {
        if (at[0] == '$' && at[1] == '$')
            at++;
        else if (at[0] == '$' && at[1] == '{')
            open++, at++;
        else if (*at == '}' && --open == 0)
            return at;
    }
    return NULL;
}

static int refuse(char **why, char *reason)
{
    *why = reason;
    return -1;
}

static int expand(const struct spec_variables *from, const char *text, size_t length, int depth,
                  struct sw_buf *out, char **why);

static void note(const struct spec_variables *from, const char *name, bool found)
{
    if (from->used)
        from->used(from->used_context, name, found);
}

static int add_variable(const struct spec_variables *from, const char *name, const char *otherwise,
                        size_t otherwise_length, int depth, struct sw_buf *out, char **why)
{
    const char *value;

    if (sw_spec_looks_like_credential(name))
        return refuse(why, sw_format("${%s} would write a credential into the job: name it in "
                                     "'secrets: [%s]', and the command finds it in its environment", name,
                                     name));
    value = from->env ? from->env(from->env_context, name) : NULL;
    if (!sw_text_empty(value)) {
        note(from, name, true);
        sw_buf_add(out, value);
        return 0;
    }
    if (!otherwise)
        return refuse(why, sw_format("${%s}: %s is not set: export it, add it to .env, or write "
                                     "${%s:-DEFAULT}", name, name, name));
    note(from, name, false);
    return expand(from, otherwise, otherwise_length, depth + 1, out, why);
}

/* One "${...}", of which `at` is behind the brace; moves on behind it. */
static int add_braced(const struct spec_variables *from, const char **at, int depth, struct sw_buf *out,
                      char **why)
{
    const char *end = closing(*at), *inside = *at;
    size_t length = name_length(inside);
    const char *rest = inside + length;
    sw_autofree char *name = sw_strndup(inside, length);

    if (!end)
        return refuse(why, sw_strdup("a '${' has no '}' behind it; $$ is a dollar sign"));
    if (length == 0 || (rest != end && strncmp(rest, ":-", 2) != 0) || depth >= DEPTH_MAX) {
        sw_autofree char *whole = sw_strndup(inside, (size_t)(end - inside));
        sw_autofree char *shown = spec_shown(whole);

        return refuse(why, sw_format("'${%s}' is neither ${NAME} nor ${NAME:-DEFAULT}; $$ is for a "
                                     "dollar sign", shown));
    }
    *at = end + 1;
    return add_variable(from, name, rest == end ? NULL : rest + 2,
                        rest == end ? 0 : (size_t)(end - rest - 2), depth, out, why);
}

static int expand(const struct spec_variables *from, const char *text, size_t length, int depth,
                  struct sw_buf *out, char **why)
{
    sw_autofree char *part = sw_strndup(text, length);

    for (const char *at = part; *at;) {
        if (at[0] == '$' && at[1] == '{') {
            at += 2;
            if (add_braced(from, &at, depth, out, why) < 0)
                return -1;
        } else {
            sw_buf_add_char(out, *at);
            at += at[0] == '$' && at[1] == '$' ? 2 : 1;
        }
        if (out->length > TEXT_MAX)
            return refuse(why, sw_strdup("the variables make this text longer than 1 MiB"));
    }
    return 0;
}

char *spec_expand(const struct spec_variables *from, const char *text, char **why)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (expand(from, text, strlen(text), 0, &out, why) < 0)
        return NULL;
    return sw_strdup(sw_buf_text(&out));
}

char *spec_bare_variable(const char *text)
{
    for (const char *at = text; *at; at++) {
        if (*at != '$')
            continue;
        if (starts_name(at[1]))
            return sw_strndup(at + 1, name_length(at + 1));
        at += at[1] == '$';
    }
    return NULL;
}

/* ---- a value of the job file --------------------------------------------------------------------- */

static void remember(void *context, const char *name, bool found)
{
    struct spec_check *check = context;
    const char *source = check->env_source && found ? check->env_source(check->env_context, name) : NULL;
    sw_autofree char *where = spec_where(check), *subject = spec_subject(check, sw_buf_text(&check->path));

    sw_buf_addf(&check->filled, "%s%s %s", check->filled.length ? ", " : "", name,
                !found ? "is not set: default" : "from ");
    if (found)
        sw_buf_add(&check->filled, source ? source : "the environment");
    json_array_append_new(check->variables, sw_json_object(SW_STR("name", name), SW_STR("where", where),
                                                           SW_STR("subject", subject)));
}

json_t *spec_fill_variables(struct spec_check *check, const struct sw_option *row, json_t *text)
{
    const struct spec_variables from = { check->env, check->env_context, remember, check };
    sw_autofree char *why = NULL, *filled = NULL, *bare = NULL, *subject = NULL;
    json_t *value = NULL;

    if (!text || !row->variables || check->origin != SPEC_FILE || !strchr(json_string_value(text), '$'))
        return text;
    subject = spec_subject(check, sw_buf_text(&check->path));
    bare = spec_bare_variable(json_string_value(text));
    if (bare) {
        sw_autofree char *where = spec_where(check);
        sw_autofree char *warning = sw_format("%s: %s$%s stays as it is: write ${%s} for its value, $$%s for "
                                              "the text", where, subject, bare, bare, bare);

        json_array_append_new(check->warnings, sw_json_text(warning));
    }
    filled = spec_expand(&from, json_string_value(text), &why);
    if (filled)
        value = sw_json_text(filled);
    else
        spec_complain(check, "%s%s", subject, why);
    json_decref(text);
    return value;
}
