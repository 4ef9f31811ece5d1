/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draft.c - a first job file for a folder, from what lies in it.
 *
 * One file of another tool is worth more than any guess: it is translated. Otherwise the script that looks
 * like the program is run, and what else was found (requirements, a Dockerfile, several files of other
 * tools) becomes a comment that can be taken over.
 *
 * Pure: the caller has read the files.
 */
#include "translate/translate.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void sw_draft_done(struct sw_draft *draft)
{
    free(draft->translated);
    json_decref(draft->job);
    json_decref(draft->ideas);
    json_decref(draft->remarks);
    *draft = (struct sw_draft){ 0 };
}

static bool ends_with_any(const char *name, const char *const *endings)
{
    for (; *endings; endings++)
        if (sw_text_ends(name, *endings))
            return true;
    return false;
}

bool sw_draft_reads(const char *name)
{
    static const char *const endings[] = {
        ".py", ".sh", ".sbatch", ".slurm", ".batch", ".job", ".yaml", ".yml", ".toml", NULL
    };

    return *name != '.' ? ends_with_any(name, endings) || strcmp(name, "Dockerfile") == 0 ||
                              strcmp(name, "requirements.txt") == 0
                        : sw_text_ends(name, ".dstack.yml") || sw_text_ends(name, ".dstack.yaml");
}

/* ---- files of other tools ------------------------------------------------------------------------- */

/* A profile with NeMo-Run's words is read as it is, and needs no translation. */
static const char *tool_of(const struct sw_draft_input *input, const char *name, const json_t *text)
{
    const struct sw_translate_input file = {
        .text = json_string_value(text), .length = json_string_length(text), .name = name,
        .platforms = input->platforms, .platform_count = input->platform_count,
    };

    return ends_with_any(name, (const char *const[]){ ".py", "pyproject.toml", "env.toml", NULL })
               ? NULL : sw_translate_tool(&file);
}

static void add_remark(struct sw_draft *out, json_t *text)
{
    json_array_append_new(out->remarks, text);
}

static size_t find_tools(const struct sw_draft_input *input, struct sw_draft *out)
{
    size_t count = 0;
    const char *name;
    json_t *text;

    json_object_foreach((json_t *)input->files, name, text) {
        const char *tool = tool_of(input, name, text);

        if (!tool)
            continue;
        if (count++ == 0)
            out->translated = sw_strdup(name);
        add_remark(out, json_sprintf("%s is a file of %s: 'slipway init --from %s' translates it.", name,
                                     tool, name));
    }
    return count;
}

/* ---- the program ------------------------------------------------------------------------------------ */

static bool has_main(const json_t *text)
{
    return text && strstr(json_string_value(text), "__main__");
}

/* Names that are usual first; then the first script with a main; then any of a usual name. */
static const char *find_script(const json_t *files)
{
    static const char *const usual[] = { "train.py", "main.py", "run.py", "finetune.py", "train.sh",
                                         "run.sh" };
    const char *name;
    json_t *text;

    for (size_t i = 0; i < SW_COUNT(usual); i++)
        if (json_object_get(files, usual[i]))
            return usual[i];
    json_object_foreach((json_t *)files, name, text)
        if (sw_text_ends(name, ".py") && has_main(text))
            return name;
    return NULL;
}

static bool is_distributed(const json_t *text)
{
    static const char *const signs[] = { "torch.distributed", "init_process_group", "LOCAL_RANK",
                                         "accelerate" };

    for (size_t i = 0; text && i < SW_COUNT(signs); i++)
        if (strstr(json_string_value(text), signs[i]))
            return true;
    return false;
}

static void add_idea(struct sw_draft *out, const char *key, json_t *value)
{
    if (sw_option_find(sw_spec_keys, key))
        json_object_set_new(out->ideas, key, value);
    else
        json_decref(value);
}

static void add_needs(const struct sw_draft_input *input, struct sw_draft *out)
{
    const char *install = json_object_get(input->files, "requirements.txt")
                              ? "pip install -r requirements.txt"
                          : json_object_get(input->files, "pyproject.toml") ? "pip install ."
                                                                            : NULL;

    if (install && sw_option_find(sw_spec_keys, "setup"))
        add_idea(out, "setup", json_string(install));
    else if (install)
        add_remark(out, json_sprintf("The folder names packages: the image has them, or the command begins "
                                     "with '%s'.", install));
    if (json_object_get(input->files, "Dockerfile"))
        add_remark(out, json_string("The folder has a Dockerfile: build and push its image, then name it in "
                                    "'image'."));
    if (json_object_get(input->files, "env.toml"))
        add_remark(out, json_string("Values of env.toml count, too: see 'Profiles' in the manual."));
}

static void add_ideas(const struct sw_draft_input *input, const char *script, struct sw_draft *out)
{
    add_idea(out, "gpus", json_integer(1));
    add_idea(out, "time", json_string("4h"));
    add_idea(out, "image", json_string("pytorch/pytorch:latest"));
    add_idea(out, "platform", json_string("slurm"));
    add_idea(out, "outputs", json_pack("[s]", "/results"));
    if (script && is_distributed(json_object_get(input->files, script)))
        add_idea(out, "launcher", json_string("torchrun"));
}

static void add_program(const struct sw_draft_input *input, const char *script, struct sw_draft *out)
{
    const char *runs = sw_text_ends(script ? script : "", ".py") ? "python" : "sh";
    sw_autofree char *name = script ? sw_strndup(script, strcspn(script, ".")) : sw_strdup(input->folder);
    sw_auto(sw_buf) struct sw_buf command = SW_BUF_INIT;

    if (sw_spec_set_text(out->job, input->platforms, input->platform_count, "name", name, NULL) < 0)
        json_object_del(out->job, "name");           /* a word that selects jobs already */
    sw_buf_addf(&command, "%s ", runs);
    sw_buf_add_quoted(&command, script ? script : "");
    json_object_set_new(out->job, "command",
                        script ? sw_json_text(sw_buf_text(&command))
                               : json_string("echo replace this with the command"));
    if (script)
        json_object_set_new(out->job, "code", json_pack("{s:s}", "root", "."));
    else
        add_remark(out, json_string("No script was found: write what to run into 'command'."));
}

void sw_draft_make(const struct sw_draft_input *input, struct sw_draft *out)
{
    const char *script = find_script(input->files);

    *out = (struct sw_draft){ .job = json_object(), .ideas = json_object(), .remarks = json_array() };
    if (find_tools(input, out) == 1)
        return;
    free(out->translated);
    out->translated = NULL;
    add_program(input, script, out);
    add_needs(input, out);
    add_ideas(input, script, out);
}
