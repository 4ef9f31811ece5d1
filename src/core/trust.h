/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h - what the files of a folder may say before the user said `slipway trust`.
 *
 * A folder may come from anyone: a clone, an archive, a shared disk. What decides where we connect or
 * what runs on this machine is taken from its files only after the user trusted exactly that content.
 * For keys the row of the option says it (core/option.h), for variables the table of trust.c.
 */
#ifndef SW_CORE_TRUST_H
#define SW_CORE_TRUST_H

#include <stdbool.h>

enum sw_trust {
    SW_TRUST_NONE = 0,       /* any file may */
    SW_TRUST_PROFILE,        /* a job file may: it is what the job does. env.toml may not */
    SW_TRUST_ALWAYS,         /* neither env.toml nor a job file that was found rather than named */
};

struct sw_option;
/* What the row says; a row about the connection is SW_TRUST_ALWAYS. */
enum sw_trust sw_option_trust(const struct sw_option *row);

/* Does a variable of this name decide where programs connect, or what they run? */
bool sw_variable_is_sensitive(const char *name);

#endif
