/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the user's command with its placeholders filled in.
 *
 * A platform that decides on folders beforehand fills them in, or the runner, which learns them where it
 * runs.
 */
#ifndef SW_CORE_COMMAND_H
#define SW_CORE_COMMAND_H

#include "base/json.h"

struct sw_fill {                  /* NULL: the placeholder stays as it is */
    const char *config_path, *results_dir, *job_id, *work_dir, *rank;
};

/* Shell text: values are quoted when they need it. Other braces stay. Owned. */
char *sw_fill_command(const char *command, const struct sw_fill *fill);
/* One word, no shell in between: values as they are. Owned. */
char *sw_fill_word(const char *word, const struct sw_fill *fill);

/* A destination of an output: {id} and {job_id} filled in. Owned. */
char *sw_fill_destination(const char *to, const char *job_id);

/* The first "{name}" that is none of those with a value in `fill`. Owned; NULL: there is none. */
char *sw_fill_unknown(const char *word, const struct sw_fill *fill);

/* Args mode: "COMMAND --name 'value' ... --flag": every value is one word of the shell, in single
 * quotes, whatever it holds. True, False, None and lists are written as Python does. Owned. */
char *sw_command_with_args(const char *command, const json_t *args, const json_t *flags);
/* The same for a command in words: "--name", "value", ... "--flag" behind them. Owned. */
json_t *sw_words_with_args(const json_t *argv, const json_t *args, const json_t *flags);

/* Words as one line for the shell, each quoted where it needs it. Owned. */
char *sw_words_line(const json_t *argv);

/* A torchrun command from the user's one, for ranks that have $NODE_RANK, $MASTER_ADDR and $MASTER_PORT;
 * NULL: it is not a python command, left as it is. Owned. */
char *sw_command_torchrun(const char *command, int nodes, int per_node);

#endif
