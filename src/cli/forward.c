/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward.c - `slipway forward JOB PORT[:LOCAL]...`: reach a server inside a running job.
 */
#include <limits.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/cli_interrupt.h"

struct forward_options {
    int64_t rank;
};

static const struct cli_flag forward_flags[] = {
    { "rank", 0, "R", "ports of this rank (default: 0)", cli_apply_int64,
      offsetof(struct forward_options, rank) },
    { 0 }
};

struct reporting {
    const struct cli *cli;
    const char *id;
    char *said;                      /* the last trouble: the same is said once */
};

static void tell(void *context, const struct sw_forward *port, const char *trouble)
{
    struct reporting *to = context;
    sw_autofree char *address = sw_format("http://127.0.0.1:%d\n", port->local);
    sw_autofree char *text = trouble ? sw_format("port %d of '%s': %s", port->port, to->id, trouble) : NULL;

    if (!trouble) {
        cli_print(address);
        cli_flush();
    } else if (!sw_text_same(text, to->said)) {
        cli_warn(to->cli, "%s", text);
        free(to->said);
        to->said = sw_take(text);
    }
}

static int stop(void *context)
{
    (void)context;
    return cli_interrupt_count() > 0;
}

/* A number at the beginning; *end: what follows. -1: there is none. */
static int port_number(const char *text, const char **end)
{
    int number = 0;

    for (*end = text; **end >= '0' && **end <= '9' && number <= 65535; (*end)++)
        number = number * 10 + (**end - '0');
    return *end > text && number <= 65535 ? number : -1;
}

/* "6006", "6006:8080" or "6006:0". */
static int read_port(const char *word, struct sw_forward *port, struct sw_error *err)
{
    const char *end;

    port->port = port_number(word, &end);
    port->local = *end == ':' ? port_number(end + 1, &end) : SW_FORWARD_SAME;
    if (port->port >= 1 && *end == '\0' && end[-1] != ':')
        return 0;
    sw_fail(err, SW_E_USAGE, "'%s' is not a port", word);
    return sw_hint(err, "write PORT or PORT:LOCAL, each a number up to 65535: 6006, or 6006:8080");
}

static int forward_run(struct cli *cli, const struct cli_args *args, struct sw_error *err)
{
    const struct forward_options *options = args->options;
    int rank = options->rank > INT_MAX ? INT_MAX : (int)options->rank;
    size_t count = args->word_count - 1;
    sw_autofree struct sw_forward *ports = sw_alloc((count + 1) * sizeof *ports);
    sw_autofree char *id = NULL;
    struct reporting to = { .cli = cli };
    const struct sw_forward_calls calls = { .size = sizeof calls, .tell = tell, .idle = stop,
                                            .context = &to };
    int result;

    for (size_t i = 0; i < count; i++)
        if (read_port(args->words[i + 1], &ports[i], err) < 0)
            return -1;
    id = cli_select_one(cli, args->words[0], err);
    if (!id)
        return -1;
    to.id = id;
    cli_interrupt_catch();
    result = sw_forward(cli->session, id, rank, ports, count, &calls, err);
    free(to.said);
    if (result < 0 && cli_interrupt_count())
        return cli_leave(cli, id, err);
    if (result < 0)
        return sw_wrap(err, "cannot forward ports of '%s'", id);
    cli_say(cli, "'%s' has finished", id);
    return 0;
}

const struct command command_forward = {
    .name = "forward",
    .args = "JOB PORT[:LOCAL]...",
    .summary = "open ports of a running job on this machine",
    .description =
        "Forward a TCP port of a running job (TensorBoard, Jupyter, a Ray dashboard) to this machine and "
        "print its address. LOCAL is the port here: 0 for any free one; by default the same as PORT, or a "
        "free one if that is in use. A job on this machine keeps its own port. Only programs of this "
        "machine can connect. Ends with exit code 0 when the job finishes; Ctrl-C ends it earlier, and the "
        "job continues.",
    .example = "slipway forward last 6006\nslipway forward train-k3 8888:9000 6006",
    .flags = forward_flags,
    .options_size = sizeof(struct forward_options),
    .min_args = 2,
    .max_args = CLI_MANY,
    .run = forward_run,
};
