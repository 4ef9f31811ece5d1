/* SPDX-License-Identifier: Apache-2.0 */
/*
 * complete_internal.h - a word being completed, shared by complete.c and complete_values.c.
 */
#ifndef SW_CLI_COMPLETE_INTERNAL_H
#define SW_CLI_COMPLETE_INTERNAL_H

#include "cli/cli.h"

struct completion {
    struct cli *cli;
    const struct command *command;      /* NULL: the verb is still to come */
    const struct cli_flag *pending;     /* the current word is this flag's value */
    const char *word;                   /* what is there of the current word */
    const char *before;                 /* put before every candidate: "--format=" */
    size_t arguments;                   /* given before the current word */
    bool ended;                         /* behind `--` */
    const char *also;                   /* the last line */
};

/* A candidate, if the word begins like it. `about` may be NULL. */
void complete_offer(const struct completion *c, const char *text, const char *about);
/* The newest jobs of the store, in this state or (NULL) in any; NULL: there is no store. */
json_t *complete_stored(struct completion *c, const char *state);

/* complete_values.c: what a value of a flag can be. */
void complete_platforms(struct completion *c);
void complete_states(struct completion *c);
void complete_launchers(struct completion *c);
void complete_keys(struct completion *c);
void complete_labels(struct completion *c);
void complete_sort(struct completion *c);
void complete_ps_format(struct completion *c);

#endif
