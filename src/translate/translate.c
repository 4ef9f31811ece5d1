/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate.c - whose file it is, and how a word of it enters the job document.
 */
#include "translate/translate_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { SHOWN_MAX = 120 };

/* ---- setting and leaving out ------------------------------------------------------------------ */

void translate_leave_out(struct translating *at, int line, const char *what, const char *why)
{
    sw_autofree char *shown = sw_text_printable(what, strlen(what));
    size_t place = json_array_size(at->left_out);

    for (char *c = shown; *c; c++)
        if (*c == '\n' || *c == '\r' || *c == '\t')
            *c = ' ';
    while (place > 0 && sw_json_int(json_array_get(at->left_out, place - 1), "line", 0) > line)
        place--;
    json_array_insert_new(at->left_out, place,
                          sw_json_object(SW_INT("line", line),
                                         SW_STR("what", shown),
                                         SW_STR("why", why)));
}

/* Lists and maps, and what may be a credential, by their name alone. */
void translate_refuse(struct translating *at, const struct translate_word *word, const char *why)
{
    const char *dot = strrchr(word->path, '.');
    bool shown = !sw_spec_looks_like_credential(dot ? dot + 1 : word->path);
    sw_autofree char *text = shown ? translate_scalar(word->value) : NULL;
    sw_autofree char *what = text ? sw_format("%s: %.*s%s", word->path, (int)SHOWN_MAX, text,
                                              strlen(text) > SHOWN_MAX ? "..." : "")
                                  : sw_strdup(word->path);

    translate_leave_out(at, word->line, what, why);
}

static const json_t *value_at(const struct translating *at, const char *key)
{
    const json_t *value = at->job;

    while (key && value) {
        const char *dot = strchr(key, '.');
        sw_autofree char *step = sw_strndup(key, dot ? (size_t)(dot - key) : strlen(key));

        value = json_object_get(value, step);
        key = dot ? dot + 1 : NULL;
    }
    return value;
}

bool translate_has(const struct translating *at, const char *key)
{
    return value_at(at, key) != NULL;
}

bool translate_lists(const struct translating *at, const char *key, const char *text)
{
    const json_t *each;
    size_t i;

    json_array_foreach(value_at(at, key), i, each)
        if (sw_text_same(json_string_value(each), text))
            return true;
    return false;
}

/* Only a shell fills in ${NAME} as the other tool's shell did. */
static bool is_shell_text(const char *key)
{
    static const char *const keys[] = { "command", "argv", "setup", "slurm.setup" };

    for (size_t i = 0; i < SW_COUNT(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

/* Two srun lines with the same mounts mean one mount. */
bool translate_set(struct translating *at, int line, const char *what, const char *key, const char *text)
{
    struct sw_error err = { 0 };
    size_t length = strlen(text);
    sw_autofree char *trimmed = NULL;
    char *end;

    while (length > 1 && text[length - 1] == '\n' && text[length - 2] == '\n')
        length--;                                /* empty lines at the end would be part of the next key */
    trimmed = sw_strndup(text, length);
    if (!is_shell_text(key) && (strstr(text, "${") || strstr(text, "$$"))) {
        translate_leave_out(at, line, what, "a value with ${NAME} is not translated: write it by hand");
        return false;
    }
    if (translate_lists(at, key, trimmed))
        return true;
    if (sw_spec_set_text(at->job, at->input->platforms, at->input->platform_count, key, trimmed, &err) == 0)
        return true;
    end = strchr(err.message, '\n');
    if (end)
        *end = '\0';
    translate_leave_out(at, line, what, err.message);
    return false;
}

/* ---- documents ---------------------------------------------------------------------------------- */

int translate_line(const struct translating *at, const char *path)
{
    return at->document ? sw_document_place(at->document, path).line : 0;
}

char *translate_below(const char *path, const char *key)
{
    sw_auto(sw_buf) struct sw_buf out = SW_BUF_INIT;

    if (path)
        sw_buf_add(&out, path);
    sw_path_add_key(&out, key);
    return sw_buf_steal(&out);
}

void translate_value(struct translating *at, const struct translate_word *word, const char *key)
{
    sw_autofree char *text = translate_scalar(word->value);
    const json_t *each;
    size_t i;

    if (text) {
        sw_autofree char *what = sw_format("%s: %s", word->path, text);

        translate_set(at, word->line, what, key, text);
        return;
    }
    if (!json_is_array(word->value)) {
        translate_refuse(at, word, "this form is not understood");
        return;
    }
    json_array_foreach(word->value, i, each) {
        struct translate_word one = *word;

        one.value = each;
        if (json_is_array(each) || json_is_object(each))
            translate_refuse(at, &one, "this form is not understood");
        else
            translate_value(at, &one, key);
    }
}

void translate_map(struct translating *at, const struct translate_word *word, const char *key)
{
    const char *name;
    json_t *value;

    if (!json_is_object(word->value) && !json_is_null(word->value))
        translate_refuse(at, word, "this form is not understood");
    json_object_foreach((json_t *)word->value, name, value) {
        sw_autofree char *into = translate_below(key, name), *path = translate_below(word->path, name);
        const struct translate_word one = { path, value, translate_line(at, path) };

        translate_value(at, &one, into);
    }
}

static void take_word(struct translating *at, const struct translate_word *word, const char *name,
                      const struct translate_row *rows)
{
    while (rows->word && strcmp(rows->word, name) != 0)
        rows++;
    if (rows->take)
        rows->take(at, word);
    else if (json_is_null(word->value) || (rows->word && json_is_false(word->value)))
        return;                                  /* not asked for */
    else if (rows->key)
        translate_value(at, word, rows->key);
    else
        translate_refuse(at, word, rows->word ? rows->why : "slipway does not know this word");
}

void translate_object(struct translating *at, const json_t *object, const char *path,
                      const struct translate_row *rows)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) {
        sw_autofree char *below = translate_below(path, key);
        const struct translate_word word = { below, value, translate_line(at, below) };

        take_word(at, &word, key, rows);
    }
}

/* ---- whose file it is ------------------------------------------------------------------------------ */

enum tool { SBATCH, SKYPILOT, DSTACK, NEMO_RUN, TOOLS };

static const char *const tool_names[TOOLS] = {
    [SBATCH] = "sbatch", [SKYPILOT] = "skypilot", [DSTACK] = "dstack", [NEMO_RUN] = "nemo-run",
};

static enum sw_format format_of(const struct sw_translate_input *input)
{
    if (sw_text_ends(input->name, ".toml"))
        return SW_TOML;
    return sw_text_ends(input->name, ".json") ? SW_JSON : SW_YAML;
}

static bool is_script(const struct sw_translate_input *input)
{
    return sw_text_starts(input->text, "#!") || sw_text_starts(input->text, "#SBATCH") ||
           strstr(input->text, "\n#SBATCH");
}

static bool has_any(const json_t *document, const char *const *words)
{
    for (; *words; words++)
        if (json_object_get(document, *words))
            return true;
    return false;
}

static bool is_nemo_run(const json_t *document)
{
    const char *target = sw_json_str(document, "_target_"), *key;
    json_t *section;

    if (json_object_get(document, "executor") || (target && strstr(target, "nemo_run")))
        return true;
    json_object_foreach((json_t *)document, key, section)
        if (json_object_get(section, "executor"))
            return true;
    return false;
}

static enum tool tool_of_document(const json_t *document)
{
    static const char *const sky[] = { "resources", "run", "num_nodes", "file_mounts", "envs", NULL };
    static const char *const types[] = { "task", "service", "dev-environment" };
    const char *type = sw_json_str(document, "type");

    for (size_t i = 0; i < SW_COUNT(types); i++)
        if (sw_text_same(type, types[i]))
            return DSTACK;
    if (is_nemo_run(document))
        return NEMO_RUN;
    return has_any(document, sky) ? SKYPILOT : TOOLS;
}

const char *sw_translate_tool(const struct sw_translate_input *input)
{
    sw_auto(sw_document) struct sw_document *document = NULL;
    enum tool tool;

    if (is_script(input))
        return strstr(input->text, "#SBATCH") ? tool_names[SBATCH] : NULL;
    document = sw_document_parse(input->text, input->length, format_of(input), input->name, NULL);
    tool = document ? tool_of_document(sw_document_value(document)) : TOOLS;
    return tool < TOOLS ? tool_names[tool] : NULL;
}

static int choose_tool(const struct sw_translate_input *input, const struct sw_document *document,
                       enum tool *tool, struct sw_error *err)
{
    for (*tool = 0; input->tool && *tool < TOOLS; ++*tool)
        if (strcmp(tool_names[*tool], input->tool) == 0)
            return 0;
    if (input->tool) {
        sw_fail(err, SW_E_USAGE, "'%s' is not a tool whose files can be translated", input->tool);
        return sw_hint(err, "one of sbatch, skypilot, dstack, nemo-run");
    }
    *tool = document ? tool_of_document(sw_document_value(document)) : SBATCH;
    if (*tool < TOOLS)
        return 0;
    sw_fail(err, SW_E_USAGE, "%s: it is not clear which tool this file is for", input->name);
    return sw_hint(err, "say it: --as sbatch, skypilot, dstack or nemo-run");
}

static int translate_as(enum tool tool, struct translating *at, struct sw_error *err)
{
    static void (*const translators[TOOLS])(struct translating *) = {
        [SBATCH] = translate_sbatch, [SKYPILOT] = translate_skypilot, [DSTACK] = translate_dstack,
    };

    if (tool != SBATCH && !json_is_object(sw_document_value(at->document)))
        return sw_fail(err, SW_E_SPEC, "%s: expected a map of keys", at->input->name);
    if (!translators[tool])
        return translate_nemo_run(at, err);
    translators[tool](at);
    return 0;
}

void sw_translation_free(struct sw_translation *translation)
{
    if (!translation)
        return;
    json_decref(translation->job);
    json_decref(translation->left_out);
    free(translation);
}

struct sw_translation *sw_translate(const struct sw_translate_input *input, struct sw_error *err)
{
    bool script = input->tool ? strcmp(input->tool, tool_names[SBATCH]) == 0 : is_script(input);
    sw_auto(sw_document) struct sw_document *document = NULL;
    sw_auto(sw_translation) struct sw_translation *out = sw_new(struct sw_translation);
    struct translating at = { .input = input };
    enum tool tool = TOOLS;

    if (strlen(input->text) != input->length || !sw_text_is_utf8(input->text))
        return sw_null(sw_fail(err, SW_E_SPEC, "%s: this is not UTF-8 text", input->name));
    if (!script)
        document = sw_document_parse(input->text, input->length, format_of(input), input->name, err);
    if ((!script && !document) || choose_tool(input, document, &tool, err) < 0)
        return NULL;
    at.document = document;
    out->tool = tool_names[tool];
    at.job = out->job = json_object();
    at.left_out = out->left_out = json_array();
    return translate_as(tool, &at, err) < 0 ? NULL : sw_take(out);
}
