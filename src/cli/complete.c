/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete.c - `slipway __complete WORD...`: what the last word could become. Hidden.
 *
 * The shells' scripts only pass on the words and show the answer; what exists is read from the
 * command tables at that moment, so an installed script never grows old. One candidate per line
 * with a description behind a tab; the last line is a colon and what else fits: files, folders,
 * commands or none. Jobs come from the store alone, opened for reading: no network, no new
 * store, and never an error while the user types.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/complete_internal.h"

void complete_offer(const struct completion *c, const char *text, const char *about)
{
    if (sw_text_starts(text, c->word))
        cli_printf("%s%s\t%s\n", c->before ? c->before : "", text, about ? about : "");
}

/* ---- values ----------------------------------------------------------------------------------- */

static void offer_choices(struct completion *c, const char *choices)
{
    while (choices) {
        const char *bar = strchr(choices, '|');
        sw_autofree char *word = bar ? sw_strndup(choices, (size_t)(bar - choices))
                                     : sw_strdup(choices);

        complete_offer(c, word, NULL);
        choices = bar ? bar + 1 : NULL;
    }
}

/* Verbs that make sense only for some jobs offer only those. */
static const char *state_for(const struct command *command)
{
    static const struct { const char *verb, *state; } wanted[] = {
        { "cancel", "active" }, { "exec", "Running" }, { "wait", "active" },
        { "watch", "active" },
    };

    for (size_t i = 0; command && i < SW_COUNT(wanted); i++)
        if (strcmp(wanted[i].verb, command->name) == 0)
            return wanted[i].state;
    return NULL;
}

static void offer_jobs(struct completion *c)
{
    static const struct { const char *word, *about; } groups[] = {
        { "last", "the newest job" }, { "failed", "all failed jobs" },
        { "running", "all running jobs" }, { "active", "all unfinished jobs" },
        { "all", "all jobs" },
    };
    sw_auto(json) json_t *document = complete_stored(c, state_for(c->command));
    sw_auto(json) json_t *names = json_object();
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(document, "jobs"), i, job) {
        const char *name = sw_json_str(job, "name");
        char age[24];
        sw_autofree char *about = NULL;

        cli_job_age(job, "age_ms", age);
        about = sw_format("%s, %s, %s old", sw_json_str(job, "status"),
                          sw_json_str(job, "backend_type"), age);
        complete_offer(c, sw_json_str(job, "id"), about);
        if (name && !json_object_get(names, name)) {
            json_object_set_new(names, name, json_true());
            complete_offer(c, name, "the newest job of that name");
        }
    }
    for (i = 0; i < SW_COUNT(groups); i++)
        complete_offer(c, groups[i].word, groups[i].about);
}

static void offer_job_or_folder(struct completion *c)
{
    if (c->arguments == 0)
        offer_jobs(c);
    else
        c->also = "folders";
}

static void offer_verbs(struct completion *c)
{
    for (const struct command *const *each = cli_commands; *each; each++)
        complete_offer(c, (*each)->name, (*each)->summary);
}

static void offer_help(struct completion *c)
{
    sw_auto(json) json_t *tables = cli_help_json();
    const json_t *topic;
    size_t i;

    offer_verbs(c);
    json_array_foreach(json_object_get(tables, "topics"), i, topic)
        complete_offer(c, sw_json_str(topic, "name"), sw_json_str(topic, "summary"));
    complete_offer(c, "agents", "one page for programs that drive slipway");
}

/* ---- what fits where -------------------------------------------------------------------------- */

/* A value is known by what it is called in the tables; the first row that matches counts. */
static const struct kind {
    const char *owner;          /* a verb's name or a flag's; NULL: any */
    const char *called;         /* how the table writes the value; NULL: anyhow */
    void (*offer)(struct completion *c);
    const char *also;
} kinds[] = {
    { "platform", "NAME", complete_platforms, NULL },
    { "platforms", "[NAME]", complete_platforms, NULL },
    { "state", "STATE", complete_states, NULL },
    { "sort", "COLUMN", complete_sort, NULL },
    { "format", "table|wide|columns=NAME,...|json|yaml|name", complete_ps_format, NULL },
    { "launcher", "NAME", complete_launchers, NULL },
    { "set", "KEY=VALUE", complete_keys, NULL },
    { "label", NULL, complete_labels, NULL },
    { "help", NULL, offer_help, NULL },
    { NULL, "JOB", offer_jobs, NULL },
    { NULL, "JOB [DIR]", offer_job_or_folder, NULL },
    { NULL, "JOB...", offer_jobs, NULL },
    { NULL, "[JOB]", offer_jobs, NULL },
    { NULL, "[JOB...]", offer_jobs, NULL },
    { NULL, "JOB -- COMMAND...", offer_jobs, NULL },
    { NULL, "FILE", NULL, "files" },
    { NULL, "[FILE] [-- COMMAND...]", NULL, "files" },
    { NULL, "DIR", NULL, "folders" },
};

static void offer_value(struct completion *c, const char *owner, const char *called)
{
    c->also = "none";
    for (size_t i = 0; i < SW_COUNT(kinds); i++) {
        if ((kinds[i].owner && strcmp(kinds[i].owner, owner) != 0) ||
            (kinds[i].called && strcmp(kinds[i].called, called) != 0))
            continue;
        if (kinds[i].offer)
            kinds[i].offer(c);
        if (kinds[i].also)
            c->also = kinds[i].also;
        return;
    }
    if (strchr(called, '|') && strspn(called, "abcdefghijklmnopqrstuvwxyz|") == strlen(called))
        offer_choices(c, called);
    else if (strstr(called, "PATH") || strstr(called, "FILE") || strstr(called, "DIR"))
        c->also = "files";
}

static void offer_flags_of(const struct completion *c, const struct cli_flag *flags)
{
    for (; flags && flags->name; flags++) {
        sw_autofree char *spelled = sw_format("--%s", flags->name);

        if (flags->help)
            complete_offer(c, spelled, flags->help);
    }
}

static void offer_flags(const struct completion *c)
{
    if (c->command) {
        offer_flags_of(c, c->command->flags);
        for (size_t i = 0; i < SW_COUNT(c->command->shared); i++)
            offer_flags_of(c, c->command->shared[i]);
    }
    offer_flags_of(c, cli_global_flags);
}

/* ---- the words before --------------------------------------------------------------------------- */

static const struct cli_flag *find_in(const struct cli_flag *flags, const char *word)
{
    size_t length = strcspn(word + 2, "=");

    for (; flags && flags->name; flags++)
        if (word[1] == '-' ? strlen(flags->name) == length &&
                                 memcmp(flags->name, word + 2, length) == 0
                           : flags->letter == word[1] && !word[2])
            return flags;
    return NULL;
}

static const struct cli_flag *find_flag(const struct completion *c, const char *word)
{
    const struct cli_flag *found = find_in(cli_global_flags, word);

    if (!found && c->command)
        found = find_in(c->command->flags, word);
    for (size_t i = 0; !found && c->command && i < SW_COUNT(c->command->shared); i++)
        found = find_in(c->command->shared[i], word);
    return found;
}

/* --state-dir decides which store is read, so it is obeyed. */
static void obey(struct completion *c, const struct cli_flag *flag, const char *value)
{
    if (flag && flag->apply == cli_apply_text && strcmp(flag->name, "state-dir") == 0)
        c->cli->state_dir = value;
}

static void take_flag(struct completion *c, const char *word)
{
    const struct cli_flag *flag = find_flag(c, word);
    const char *equals = strchr(word, '=');

    if (equals)
        obey(c, flag, equals + 1);
    else if (flag && flag->arg)
        c->pending = flag;
}

static void take_word(struct completion *c, const char *word)
{
    if (c->pending) {
        obey(c, c->pending, word);
        c->pending = NULL;
    } else if (c->ended || word[0] != '-' || !word[1]) {
        if (!c->command)
            c->command = cli_command_find(word);
        else
            c->arguments++;
    } else if (strcmp(word, "--") == 0) {
        c->ended = true;
    } else {
        take_flag(c, word);
    }
}

static void answer(struct completion *c)
{
    const char *equals = strchr(c->word, '=');
    const struct cli_flag *flag = equals && c->word[0] == '-' ? find_flag(c, c->word) : NULL;
    sw_autofree char *before = NULL;

    if (c->pending) {
        offer_value(c, c->pending->name, c->pending->arg);
    } else if (c->ended && c->command && c->command->takes_command) {
        c->also = "commands";
    } else if (flag && flag->arg) {
        c->before = before = sw_strndup(c->word, (size_t)(equals + 1 - c->word));
        c->word = equals + 1;
        offer_value(c, flag->name, flag->arg);
    } else if (c->word[0] == '-' && !c->ended) {
        offer_flags(c);
    } else if (!c->command) {
        offer_verbs(c);
    } else if (c->command->max_args == CLI_MANY || c->arguments < (size_t)c->command->max_args) {
        offer_value(c, c->command->name, c->command->args);
    }
}

static int complete_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    struct completion c = { .cli = cli, .word = "", .also = "none" };

    (void)err;
    for (size_t i = 0; i + 1 < args->word_count; i++)
        take_word(&c, args->words[i]);
    if (args->word_count)
        c.word = args->words[args->word_count - 1];
    answer(&c);
    cli_printf(":%s\n", c.also);
    return 0;
}

const struct command command_complete = {
    .name = "__complete",
    .args = "WORD...",
    .summary = "list what the last word could become",
    .raw_words = true,
    .max_args = CLI_MANY,
    .run = complete_run,
};
