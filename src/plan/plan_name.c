/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_name.c - what a job is called that gives itself no name: "python3 -u src/train.py --lr 1" is "train".
 *
 * In this order: the script that its command runs, the job file, the program. An interpreter's name says
 * nothing about a job, and a hundred jobs called "python3" even less.
 */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define BLANK  " \t"
#define ENDERS ";|&\n()"         /* what ends a command of a shell text */

/* Endings of scripts, and of job files. */
static const char *const scripts[] = { ".py", ".sh", ".bash", ".pl", ".rb", ".R", ".jl", ".lua", ".js",
                                       ".ipynb", ".sbatch", ".slurm" };
static const char *const job_files[] = { ".yaml", ".yml", ".toml", ".json" };

/* Length of the name without one of these endings; 0: it has none of them, or nothing else. */
static size_t without_ending(const char *name, size_t length, const char *const *endings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t ending = strlen(endings[i]);

        if (length > ending && strncmp(name + length - ending, endings[i], ending) == 0)
            return length - ending;
    }
    return 0;
}

/* The last part of a path. */
static const char *base_of(const char *path, size_t *length)
{
    const char *end = path + *length, *base = end;

    while (base > path && base[-1] != '/')
        base--;
    *length = (size_t)(end - base);
    return base;
}

/* "pkg/train.py" -> "train"; NULL: it is no script. Owned. */
static char *script_name(const char *word, size_t length)
{
    const char *base = base_of(word, &length);

    length = *word == '-' ? 0 : without_ending(base, length, scripts, SW_COUNT(scripts));
    return length ? sw_strndup(base, length) : NULL;
}

/* What follows `-m`: "torch.distributed.run" is a launcher, "my.train" a program. */
static char *module_name(const char *word, size_t length)
{
    static const char *const launchers[] = { "torch.distributed.run", "torch.distributed.launch",
                                             "accelerate.commands.launch", "deepspeed.launcher.runner" };
    const char *end = word + length, *part = end;

    for (size_t i = 0; i < SW_COUNT(launchers); i++)
        if (strlen(launchers[i]) == length && strncmp(word, launchers[i], length) == 0)
            return NULL;
    while (part > word && part[-1] != '.')
        part--;
    return end > part ? sw_strndup(part, (size_t)(end - part)) : NULL;
}

struct script_search {
    bool module;                 /* the word before was -m */
    bool text;                   /* or -c: what follows is a program, not a name */
    char *found;
};

/* false: this command holds nothing more to find. */
static bool look_at(struct script_search *search, const char *word, size_t length)
{
    bool module = search->module;

    search->module = length == 2 && strncmp(word, "-m", 2) == 0;
    if (search->text || (length == 2 && strncmp(word, "-c", 2) == 0)) {
        search->text = true;
        return false;
    }
    search->found = module ? module_name(word, length) : script_name(word, length);
    return !search->found;
}

static char *name_in_words(const json_t *argv)
{
    struct script_search search = { 0 };
    json_t *word;
    size_t i;

    json_array_foreach(argv, i, word)
        if (!look_at(&search, json_string_value(word), json_string_length(word)))
            break;
    return search.found;
}

/* The first command of a shell text that runs a script. Quotes are not understood: a name is no promise. */
static char *name_in_text(const char *text)
{
    struct script_search search = { 0 };

    while (*text && !search.found) {
        size_t length;

        if (strchr(ENDERS, *text))
            search = (struct script_search){ 0 };
        text += strspn(text, BLANK "\"'" ENDERS);
        length = strcspn(text, BLANK "\"'" ENDERS);
        if (length > 0)
            look_at(&search, text, length);
        text += length;
    }
    return search.found;
}

/* "runs/sweep.yaml" -> "sweep"; "job.yaml" says nothing. */
static char *name_of_file(const char *file)
{
    size_t length = file ? strlen(file) : 0;
    const char *base = file ? base_of(file, &length) : NULL;

    length = base ? without_ending(base, length, job_files, SW_COUNT(job_files)) : 0;
    return length && !(length == 3 && strncmp(base, "job", 3) == 0) ? sw_strndup(base, length) : NULL;
}

static char *name_of_program(const struct sw_plan *plan)
{
    const char *first = plan->argv ? json_string_value(json_array_get(plan->argv, 0)) : plan->command;
    size_t length = first ? strcspn(first, BLANK ENDERS) : 0;
    const char *base = first ? base_of(first, &length) : NULL;

    return length ? sw_strndup(base, length) : sw_strdup("job");
}

char *sw_plan_name(const struct sw_plan *plan, const char *file)
{
    const char *script = sw_json_str(plan->python, "script");
    char *name = plan->argv ? name_in_words(plan->argv)
                 : script ? script_name(script, strlen(script))
                 : plan->command ? name_in_text(plan->command) : NULL;

    if (!name)
        name = name_of_file(file);
    if (!name && script) {
        size_t length = strlen(script);
        const char *base = base_of(script, &length);

        name = sw_strndup(base, length);
    }
    return name ? name : name_of_program(plan);
}
