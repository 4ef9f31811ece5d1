/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - what the files of slipway-hook share.
 */
#ifndef SW_HOOK_HOOK_H
#define SW_HOOK_HOOK_H

#include "store/store.h"

/* event_text.c: what is said about the event. */
json_t *hook_document(const struct sw_notice *notice);                  /* for a webhook */
void hook_environment(const struct sw_notice *notice);                  /* for a command: setenv */

/* command.c: run shell text in the job's folder. Returns its exit status as a shell tells it, and
 * in *output the last of what it said, printable, without the job's secrets; owned. */
int hook_command(const struct sw_notice *notice, const char *command, char **output);

/* webhook.c: post it, with a few tries. 0: accepted. *result: what came of it, without the
 * address; owned. */
int hook_webhook(const struct sw_notice *notice, const char *url, char **result);

/* The program `slipway-hook`; main() is in src/program. */
int hook_main(int argc, char **argv);

#endif
