/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli_help.c - help made from the tables: for people, at 80 columns, and as JSON for tools.
 *
 * Help begins with what the command does, shows a real example, then the flags. The manual pages
 * and completions are generated from cli_help_json(), so they cannot differ.
 * Pure: appends to a buffer.
 */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/ps_columns.h"

#define WIDTH       79
#define FLAG_INDENT 2
#define HELP_COLUMN 28

static void add_columns(struct sw_buf *out)
{
    sw_buf_add(out, "'slipway ps -o columns=NAME,...', --sort and 'columns' in config.toml take these:\n\n");
    for (const struct ps_column *c = ps_columns; c->name; c++)
        sw_buf_addf(out, "  %-10s %s\n", c->name, c->about);
    sw_buf_add(out, "\n--sort NAME sorts from low to high, --sort -NAME or NAME:desc from high to low; jobs "
                    "without a value come last.");
}

static const struct {
    const char *name, *summary, *text;
    void (*add)(struct sw_buf *out);       /* where a table has the text */
} topics[] = {
    { "exit-codes", "what the exit status of slipway means",
      "run, wait and logs -f exit with the job's own exit code: 128+N when signal N ended it, "
      "124 when its time limit did, 130 when it was canceled, 1 when it failed without a code of its "
      "own (it was refused, never started, or is lost). Everything else exits with 0 or:\n"
      "\n"
      "  64  usage          the command line is wrong\n"
      "  65  specification  a job file, profile or flag is wrong\n"
      "  66  not found      no such job, file or platform\n"
      "  68  conflict       the job's state does not allow it, or its id is taken\n"
      "  69  unreachable    the platform did not answer. What was sent may have\n"
      "                     arrived: the next command that asks finds out, and a\n                     "
      "repeat under the same --id makes no second job. A cancel\n                     is carried out when "
      "it answers (--undo withdraws it)\n"
      "  70  internal       a bug in slipway\n"
      "  72  interrupted    a caller of the library stopped it\n"
      "  73  store          the job store cannot be read or written\n"
      "  74  input/output   a file cannot be read or written\n"
      "  75  timeout        slipway waited long enough (wait --timeout)\n"
      "  76  refused        the platform rejected the request, or can never\n                     "
      "schedule the job (run without --wait-for-capacity)\n"
      "  77  credential     a credential is missing or refused, or no trust\n"
      "  78  unsupported    not available on this platform or in this build\n"
      "\n"
      "doctor exits with 1 when a check fails. Ctrl-C, TERM and HUP leave the job running and "
      "end slipway by that signal, which a shell shows as 130, 143 and 129 and which stops its "
      "loop; 'slipway status' shows whether a job was left running or canceled (both are 130). 141 "
      "means that the reader of the output closed it. A job may use any of these numbers itself: "
      "where that matters, read exit_code in 'slipway status JOB -o json'." },
    { "selectors", "how to name jobs: ids, prefixes, last, failed, ...",
      "Wherever a command takes JOB, write one of these:\n"
      "\n"
      "  train-k3v9q2xa   a job id\n"
      "  train-k3         the beginning of an id, as long as only one job has it\n"
      "  prep-b7c2m4qd    a group of splits: all its jobs, prep-b7c2m4qd-0 and so on\n"
      "  train            the newest job of that name\n"
      "  last  last-2     the newest job; the one two before it\n"
      "  failed           all jobs that failed (state Error)\n"
      "  pending running complete canceled   all jobs in that state\n"
      "  active           all unfinished jobs\n"
      "  all              all jobs\n"
      "\n"
      "A name or 'last' that leads to a split means its whole group. "
      "-l key=value chooses by label, alone or together with the words above; several -l mean jobs "
      "that have all these labels. Words for a state ask the platforms first. If no job is in that state "
      "or has that label, there is nothing to do: a message says so, and it is not an error. An unknown "
      "id or name exits with 66, an empty one with 64. None of these words can be the name of a job." },
    { "columns", "the columns of 'slipway ps'", NULL, add_columns },
    { "config", "your own defaults, in config.toml",
      "~/.config/slipway/config.toml ($XDG_CONFIG_HOME/slipway/config.toml) holds what you want wherever "
      "nothing else says so. A flag wins over the environment, the environment over this file:\n"
      "\n"
      "  platform   SLIPWAY_PLATFORM   the platform of jobs that name none, or a list\n"
      "  columns    SLIPWAY_COLUMNS    the columns of 'slipway ps', a list of names\n"
      "  time_zone  SLIPWAY_TIME_ZONE  UTC (the default), local, or Europe/Berlin\n"
      "  color      SLIPWAY_COLOR      auto (the default), always or never\n"
      "\n"
      "For example:\n"
      "\n"
      "  platform = \"slurm\"\n"
      "  columns = [\"id\", \"state\", \"duration\", \"progress\"]\n"
      "  time_zone = \"Europe/Berlin\"\n"
      "\n"
      "Values of jobs (image, partition, ...) belong in profiles.toml beside it. Times in JSON are "
      "always UTC. NO_COLOR wins over color = \"auto\", and --no-color over everything." },
    { "environment", "variables that slipway reads",
      "  SLIPWAY_STATE_DIR      where the job store is\n"
      "  XDG_STATE_HOME         its parent folder (default: ~/.local/state)\n"
      "  SLIPWAY_PLATFORM       the platform of jobs that name none (default: local)\n"
      "  SLIPWAY_LIBEXEC_DIR    where the helper programs are\n"
      "  SLIPWAY_RUNNERS        where the runners for containers and clusters are\n"
      "  SLIPWAY_GPU_LEASE_DIR  where local jobs note their GPUs, CPUs and memory\n"
      "  SLIPWAY_COLUMNS        the columns of ps; SLIPWAY_TIME_ZONE, SLIPWAY_COLOR:\n"
      "                         see 'slipway help config'\n"
      "  XDG_CONFIG_HOME        folder of slipway/config.toml (default: ~/.config)\n"
      "  NO_COLOR               any value: no colours\n"
      "  TERM=dumb              no colours either\n"
      "\n"
      "./.env and ~/.config/tao/.env are read for credentials; they never override what is "
      "already set. Platforms name their own variables: 'slipway platforms NAME'." },
};

static void add_flag(struct sw_buf *out, const struct cli_flag *flag)
{
    sw_auto(sw_buf) struct sw_buf left = SW_BUF_INIT, help = SW_BUF_INIT;
    const char *folded;

    if (!flag->help)
        return;
    if (flag->letter)
        sw_buf_addf(&left, "-%c, --%s", flag->letter, flag->name);
    else
        sw_buf_addf(&left, "    --%s", flag->name);
    if (flag->arg)
        sw_buf_addf(&left, " %s", flag->arg);
    cli_wrap(&help, flag->help, HELP_COLUMN, WIDTH);
    folded = sw_buf_text(&help);
    if (left.length + FLAG_INDENT + 2 <= HELP_COLUMN)
        sw_buf_addf(out, "%*s%-*s%s", FLAG_INDENT, "", HELP_COLUMN - FLAG_INDENT,
                    sw_buf_text(&left), folded + HELP_COLUMN);
    else
        sw_buf_addf(out, "%*s%s\n%s", FLAG_INDENT, "", sw_buf_text(&left), folded);
}

static bool any_shown(const struct cli_flag *flags)
{
    for (; flags && flags->name; flags++)
        if (flags->help)
            return true;
    return false;
}

static void add_flags(struct sw_buf *out, const char *title, const struct cli_flag *flags)
{
    if (!any_shown(flags))
        return;
    if (title)
        sw_buf_addf(out, "\n%s\n", title);
    for (; flags->name; flags++)
        add_flag(out, flags);
}

static void add_example(struct sw_buf *out, const char *example)
{
    while (*example) {
        size_t length = strcspn(example, "\n");

        sw_buf_addf(out, "  %.*s\n", (int)length, example);
        example += length + (example[length] == '\n');
    }
}

void cli_help_command(const struct command *command, struct sw_buf *out)
{
    bool flags = any_shown(command->flags) || any_shown(command->shared[0]);

    sw_buf_addf(out, "slipway %s: %s\n\n", command->name, command->summary);
    cli_wrap(out, command->description, 0, WIDTH);
    sw_buf_addf(out, "\nUsage:\n  slipway %s%s%s%s\n", command->name, flags ? " [FLAGS]" : "",
                *command->args ? " " : "", command->args);
    if (command->alias)
        sw_buf_addf(out, "  (also: slipway %s)\n", command->alias);
    sw_buf_addf(out, "\nExample:\n");
    add_example(out, command->example);
    add_flags(out, "Flags:", command->flags);
    add_flags(out, any_shown(command->flags) ? NULL : "Flags:", command->shared[0]);
    add_flags(out, NULL, command->shared[1]);
    add_flags(out, "Everywhere:", cli_global_flags);
}

void cli_help_overview(struct sw_buf *out)
{
    sw_buf_add(out, "Slipway launches training jobs and watches them until their results are back.\n\n"
                    "  slipway run -- python train.py    run a command here as a job\n"
                    "  slipway run -f job.yaml           run what a job file describes\n"
                    "  slipway ps                        list jobs and how they are doing\n");
    for (const struct cli_group *each = cli_groups; each->title || each->command; each++)
        if (each->title)
            sw_buf_addf(out, "\n%s:\n", each->title);
        else
            sw_buf_addf(out, "  %-11s %s\n", each->command->name, each->command->summary);
    sw_buf_add(out, "\nHelp: slipway help COMMAND, or one of:\n");
    for (size_t i = 0; i < SW_COUNT(topics); i++)
        sw_buf_addf(out, "  slipway help %-12s %s\n", topics[i].name, topics[i].summary);
    sw_buf_addf(out, "  slipway help %-12s %s\n", "job [KEY]", "the keys of a job file");
    sw_buf_addf(out, "  slipway help %-12s %s\n", "agents", "one page for programs that drive slipway");
}

static void add_topic(struct sw_buf *out, size_t index)
{
    if (topics[index].add)
        topics[index].add(out);
    else
        sw_buf_add(out, topics[index].text);
}

int cli_help_topic(const char *name, struct sw_buf *out, struct sw_error *err)
{
    const struct command *command = cli_command_find(name);

    if (command) {
        cli_help_command(command, out);
        return 0;
    }
    for (size_t i = 0; i < SW_COUNT(topics); i++)
        if (strcmp(topics[i].name, name) == 0) {
            sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

            add_topic(&text, i);
            cli_wrap(out, sw_buf_text(&text), 0, WIDTH);
            return 0;
        }
    sw_fail(err, SW_E_USAGE, "no help about '%s'", name);
    return sw_hint(err, "'slipway help' lists the commands");
}

static void list_flags(json_t *list, const struct cli_flag *flags)
{
    for (; flags && flags->name; flags++) {
        char letter[2] = { flags->letter, '\0' };

        if (flags->help)
            json_array_append_new(list, sw_json_object(
                SW_STR("long", flags->name),
                SW_STR("short", flags->letter ? letter : NULL),
                SW_STR("arg", flags->arg),
                SW_STR("help", flags->help)));
    }
}

static json_t *command_json(const struct command *command)
{
    json_t *flags = json_array(), *aliases = json_array();

    list_flags(flags, command->flags);
    for (size_t i = 0; i < SW_COUNT(command->shared); i++)
        list_flags(flags, command->shared[i]);
    if (command->alias)
        json_array_append_new(aliases, sw_json_text(command->alias));
    return sw_json_object(
        SW_STR("name", command->name),
        SW_SUB("aliases", aliases),
        SW_STR("args", command->args),
        SW_STR("summary", command->summary),
        SW_STR("description", command->description),
        SW_STR("example", command->example),
        SW_SUB("flags", flags));
}

json_t *cli_help_json(void)
{
    json_t *commands = json_array(), *shared = json_array(), *about = json_array();

    for (const struct command *const *c = cli_commands; *c; c++)
        json_array_append_new(commands, command_json(*c));
    list_flags(shared, cli_global_flags);
    for (size_t i = 0; i < SW_COUNT(topics); i++) {
        sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

        add_topic(&text, i);
        json_array_append_new(about, sw_json_object(
            SW_STR("name", topics[i].name),
            SW_STR("summary", topics[i].summary),
            SW_STR("text", sw_buf_text(&text))));
    }
    return sw_json_object(
        SW_SUB("commands", commands),
        SW_SUB("flags", shared),
        SW_SUB("topics", about));
}
