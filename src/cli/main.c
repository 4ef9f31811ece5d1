/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the program `slipway`: finds the verb, hands it its flags, reports how it went.
 *
 * VERBS below is the one list of verbs: help, manual pages and completion read it. Nothing is
 * opened or loaded here; a verb that needs the store opens it, so that `slipway --version` costs no
 * more than its own start.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/secret.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/cli.h"
#include "cli/cli_interrupt.h"
#include "cli/cli_transfer.h"

/* The one list of verbs, in the order of the help; each group under its title. */
#define VERBS(_, group)                                                                            \
    group("Run") _(run) _(init) _(rerun) _(plan) _(preflight) _(entrypoint)                         \
    group("Watch") _(ps) _(status) _(why) _(logs) _(events) _(diff) _(replicas) _(wait) _(watch) _(top)    \
        _(usage)                                                                                   \
    group("Act") _(cancel) _(retry) _(exec) _(forward) _(ray) _(adopt) _(rm)                              \
    group("Data") _(results) _(get) _(cp) _(ls) _(check)                                           \
    group("Set up") _(platforms) _(inventory) _(models) _(image) _(doctor) _(trust) _(watcher) _(gc)  \
        _(schema) _(report) _(completion) _(version) _(help)

#define DECLARE(verb) extern const struct command command_##verb;
#define LIST(verb) &command_##verb,
#define GROUPED(verb) { NULL, &command_##verb },
#define TITLE(title) { title, NULL },
#define NO_TITLE(title)

VERBS(DECLARE, NO_TITLE)
DECLARE(complete)

const struct command *const cli_commands[] = { VERBS(LIST, NO_TITLE) NULL };
const struct cli_group cli_groups[] = { VERBS(GROUPED, TITLE) { 0 } };

/* For programs, not for people: in no list. */
static const struct command *const hidden_commands[] = { &command_complete, NULL };

const struct cli_flag cli_global_flags[] = {
    { "state-dir", 0, "DIR", "where the job store is (or $SLIPWAY_STATE_DIR)",
      cli_apply_text, offsetof(struct cli, state_dir) },
    { "profile", 0, "NAME", "section of the profiles (default: the platform's)",
      cli_apply_text, offsetof(struct cli, profile) },
    { "quiet", 'q', NULL, "print only errors and warnings on stderr", cli_apply_bool,
      offsetof(struct cli, quiet) },
    { "no-color", 0, NULL, "no colours (also: NO_COLOR=1)", cli_apply_bool,
      offsetof(struct cli, no_color), .also = "no-colour" },
    { "help", 'h', NULL, "show this help", cli_apply_bool, offsetof(struct cli, help) },
    { 0 }
};

/* Only before the verb: "slipway --version". */
static const struct cli_flag lead_flags[] = {
    { "version", 'V', NULL, "show the version", cli_apply_bool, offsetof(struct cli, version) },
    { 0 }
};

static const struct command *find_in(const struct command *const *commands, const char *name)
{
    for (; *commands; commands++)
        if (strcmp((*commands)->name, name) == 0 || sw_text_same((*commands)->alias, name))
            return *commands;
    return NULL;
}

const struct command *cli_command_find(const char *name)
{
    return find_in(cli_commands, name);
}

/* What people call it who come from other tools, and what it is called here. */
static const char *const familiar[][2] = {
    { "new", "init" }, { "translate", "init --from" }, { "convert", "init --from" }, { "submit", "run" },
    { "launch", "run" }, { "start", "run" }, { "apply", "run" }, { "create", "run" },
    { "sbatch", "run" }, { "srun", "run" }, { "up", "run" }, { "queue", "ps" }, { "squeue", "ps" },
    { "list", "ps" }, { "jobs", "ps" }, { "sacct", "ps --all" }, { "describe", "status" },
    { "show", "status" }, { "info", "status" }, { "inspect", "status" }, { "explain", "why" },
    { "diagnose", "why" }, { "log", "logs" }, { "tail", "logs -f" }, { "follow", "logs -f" },
    { "attach", "logs -f" }, { "kill", "cancel" }, { "stop", "cancel" }, { "scancel", "cancel" },
    { "abort", "cancel" }, { "down", "cancel" }, { "restart", "retry" }, { "resume", "retry" },
    { "requeue", "retry" }, { "ssh", "exec" }, { "shell", "exec" }, { "delete", "rm" }, { "remove", "rm" },
    { "prune", "gc" }, { "clean", "gc" }, { "download", "get" }, { "fetch", "get" }, { "pull", "get" },
    { "copy", "cp" }, { "sync", "cp" }, { "sinfo", "inventory" }, { "gpus", "inventory" },
    { "nodes", "inventory" }, { "import", "adopt" }, { "validate", "preflight" }, { "dryrun", "plan" },
    { "monitor", "top" }, { "port-forward", "forward" }, { "tunnel", "forward" }, { "dashboard", "top" },
    { "backends", "platforms" }, { "clouds", "platforms" },
};

static const char *familiar_word(const char *name)
{
    for (size_t i = 0; i < SW_COUNT(familiar); i++)
        if (strcmp(familiar[i][0], name) == 0)
            return familiar[i][1];
    return NULL;
}

static int unknown_command(const char *name, struct sw_error *err)
{
    const char *names[64];
    size_t count = 0;
    const char *nearest = familiar_word(name);

    for (const struct command *const *c = cli_commands; *c && count < SW_COUNT(names); c++)
        names[count++] = (*c)->name;
    if (!nearest)
        nearest = sw_text_nearest(name, names, count);
    sw_fail(err, SW_E_USAGE, "unknown command '%s'", name);
    if (nearest)
        return sw_hint(err, "did you mean 'slipway %s'?", nearest);
    return sw_hint(err, "'slipway help' lists the commands");
}

static void warn(void *context, const char *text)
{
    cli_warn(context, "%s", text);
}

static int progress(void *context, const char *what, const struct sw_copy_progress *progress)
{
    const struct cli *cli = context;

    return cli->sending ? cli_transfer_named(cli, what, progress) : 0;
}

struct sw_session *cli_session(struct cli *cli, struct sw_error *err)
{
    struct sw_open_options options = {
        .size = sizeof options,
        .state_dir = cli->state_dir,
        .profile = cli->profile,
        .read_only = cli->read_only,
        .warn = warn,
        .warn_context = cli,
        .progress = progress,
        .progress_context = cli,
    };

    if (!cli->session)
        cli->session = sw_open(&options, err);
    return cli->session;
}

/* "slipway exec last echo hi" -> "slipway exec last -- echo ..."; of several job files one is too
 * many. */
static int hint_command(const struct command *command, const struct cli_args *args,
                        struct sw_error *err)
{
    const char *first = args->words[0], *extra = args->words[command->max_args];

    if (command->min_args > 0)
        return sw_hint(err, "a command goes after '--': slipway %s %s -- %s ...", command->name, first,
                       extra);
    if (strpbrk(first, "./"))
        return sw_hint(err, "one job file at a time; a command goes after '--'");
    return sw_hint(err, "a command goes after '--': slipway %s -- %s ...", command->name, first);
}

static int check_args(const struct command *command, const struct cli_args *args,
                      struct sw_error *err)
{
    size_t count = args->word_count;

    if (command->min_args > 0 && count < (size_t)command->min_args) {
        sw_fail(err, SW_E_USAGE, "%s needs an argument: slipway %s %s", command->name,
                command->name, command->args);
        return sw_hint(err, "'slipway %s --help' shows an example", command->name);
    }
    if (command->max_args == CLI_MANY || count <= (size_t)command->max_args)
        return 0;
    sw_fail(err, SW_E_USAGE, "%s: unexpected argument '%s'", command->name,
            args->words[command->max_args]);
    if (command->takes_command)
        return hint_command(command, args, err);
    return sw_hint(err, "usage: slipway %s%s%s", command->name, *command->args ? " " : "", command->args);
}

/* For most verbs `--` only ends the flags: what follows are arguments like the others. */
static void rest_to_words(struct cli_args *args)
{
    args->words = sw_realloc_array(args->words, args->word_count + args->rest_count + 1,
                                   sizeof *args->words);
    for (size_t i = 0; i < args->rest_count; i++)
        args->words[args->word_count++] = args->rest[i];
    args->rest = NULL;
    args->rest_count = 0;
}

static void add_last(struct cli_args *args)
{
    if (args->word_count > 0 || cli_given_value(args, "label"))
        return;
    args->words = sw_realloc_array(args->words, 1, sizeof *args->words);
    args->words[args->word_count++] = "last";
}

/* A flag before the verb and the same one behind it: of two values only one could count. */
static int check_lead(const struct cli_args *lead, const struct cli_args *args, struct sw_error *err)
{
    for (size_t i = 0; i < lead->given_count; i++) {
        const struct cli_given *given = &lead->given[i];
        const char *again = given->value ? cli_given_value(args, given->flag->name) : NULL;

        if (again)
            return sw_fail(err, SW_E_USAGE, "--%s is given twice: '%s' and '%s'", given->flag->name,
                           given->value, again);
    }
    return 0;
}

static enum cli_color color_of(const struct cli *cli)
{
    return cli->no_color ? CLI_COLOR_NEVER : (enum cli_color)cli->color;
}

static int run_command(struct cli *cli, const struct command *command, const struct cli_args *lead,
                       int argc, const char *const *argv, struct sw_error *err)
{
    sw_autofree void *options = sw_alloc(command->options_size + 1);
    sw_auto(cli_args) struct cli_args args = { 0 };
    struct cli_flag_set sets[] = {
        { command->flags, options },
        { command->shared[0], cli },
        { command->shared[1], cli },
        { cli_global_flags, cli },
    };
    struct sw_error fault = { 0 };
    int defaults = command->without_defaults ? 0 : cli_defaults_read(cli, &fault);    /* flags read times */
    int rc = cli_flags_parse(sets, SW_COUNT(sets), argc, argv, false, &args, err);

    if (rc >= 0)
        rc = check_lead(lead, &args, err);
    if (rc >= 0 && defaults < 0)
        rc = sw_pass(err, &fault);
    cli_screen_look(&cli->screen, color_of(cli));
    if (cli->help) {
        sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

        cli_help_command(command, &text);
        cli_print(sw_buf_text(&text));
        return 0;
    }
    if (rc < 0) {
        if (err->hint[0])
            return -1;
        return sw_hint(err, "'slipway %s --help' lists its flags", command->name);
    }
    if (!command->takes_command)
        rest_to_words(&args);
    if (command->last_job)
        add_last(&args);
    if (check_args(command, &args, err) < 0)
        return -1;
    args.options = options;
    return command->run(cli, &args, err);
}

static int run_raw(struct cli *cli, const struct command *command, int argc,
                   const char *const *argv, struct sw_error *err)
{
    sw_auto(cli_args) struct cli_args args = { .rest = argv, .rest_count = (size_t)argc };

    rest_to_words(&args);
    return command->run(cli, &args, err);
}

static int overview(const struct cli *cli)
{
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;

    if (cli->version)
        sw_buf_addf(&text, "slipway %s\n", sw_version());
    else
        cli_help_overview(&text);
    cli_print(sw_buf_text(&text));
    return 0;
}

static int dispatch(struct cli *cli, int argc, const char *const *argv, struct sw_error *err)
{
    const struct cli_flag_set sets[] = { { lead_flags, cli }, { cli_global_flags, cli } };
    sw_auto(cli_args) struct cli_args lead = { 0 };
    const struct command *command;
    int used = cli_flags_parse(sets, SW_COUNT(sets), argc, argv, true, &lead, err);

    cli_screen_look(&cli->screen, color_of(cli));
    if (used < 0)
        return err->hint[0] ? -1 : sw_hint(err, "'slipway help' lists the commands");
    if (cli->version || used == argc)
        return overview(cli);
    command = cli_command_find(argv[used]);
    if (!command)
        command = find_in(hidden_commands, argv[used]);
    if (!command)
        return unknown_command(argv[used], err);
    if (command->raw_words)
        return run_raw(cli, command, argc - used - 1, argv + used + 1, err);
    return run_command(cli, command, &lead, argc - used - 1, argv + used + 1, err);
}

static void notice_nothing(int signal)
{
    (void)signal;
}

static int finish(const struct cli *cli, int rc, struct sw_error *err)
{
    if (rc == 0)
        return cli->exit_status;
    if (err->code == SW_OK)
        sw_fail(err, SW_E_INTERNAL, "the command failed without a message");
    if (!cli->left)                      /* else the words were said */
        cli_complain(cli, err);
    return sw_code_exit_status(err->code);
}

int cli_main(int argc, char **argv)
{
    struct cli cli = { 0 };
    struct sw_error err = { 0 };
    /* Handlers rather than SIG_IGN: they end at exec, so a job never inherits them. A file that may
     * not grow (ulimit -f) then is an error like any other. */
    struct sigaction action = { .sa_handler = notice_nothing };
    int status, written;

    sw_secrets_guard();
    cli_screen_guard();
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    status = finish(&cli, dispatch(&cli, argc > 0 ? argc - 1 : 0, (const char *const *)argv + 1,
                                   &err), &err);
    sw_close(cli.session);
    free(cli.columns);
    written = cli_print_end(&cli);
    status = written ? written : status;
    cli_interrupt_end();
    if (sw_thread_settle() > 0)               /* one still waits for a platform that does not answer */
        _exit(status);
    return status;
}
