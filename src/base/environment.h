/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h - values by name: the process's own environment, and what .env files add to it.
 *
 * The process's environment is never changed, so that a file decides nothing about programs that
 * we start or libraries that we load: only who asks for a name here gets a value of a file.
 */
#ifndef SW_BASE_ENVIRONMENT_H
#define SW_BASE_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/auto.h"

/* The value of a name, borrowed; NULL: there is none. */
typedef const char *sw_env_fn(void *context, const char *name);
const char *sw_env_process(void *unused, const char *name);      /* getenv() */

typedef void sw_env_warn_fn(void *context, const char *text);

struct sw_environment;        /* names and values, in the order they were added; wiped at the end */
struct sw_environment *sw_environment_new(void);
void sw_environment_free(struct sw_environment *environment);
SW_DEFINE_AUTO(sw_environment, struct sw_environment *, sw_environment_free)

/* The first value of a name stays. False: there are too many names already. */
bool sw_environment_add(struct sw_environment *environment, const char *name, const char *value);
const char *sw_environment_find(const struct sw_environment *environment, const char *name);
/* The name and the value at `index`, borrowed; false: past the end. */
bool sw_environment_at(const struct sw_environment *environment, size_t index, const char **name,
                       const char **value);

/* A sw_env_fn over a struct sw_environment: the process's own value first. */
const char *sw_environment_get(void *environment, const char *name);

/* The text of a .env file, owned; NULL: there is none, or it is no file that can be read, and then
 * `warn` (may be NULL) hears why. It also hears when others can read the file. Never waits: a pipe, a
 * device and what is too large are left out. */
char *sw_dotenv_read(const char *path, size_t *length, sw_env_warn_fn *warn, void *warn_context);
/* Add the lines of such a text: NAME=value, NAME='value', NAME="value", nothing is expanded. A line
 * that is none of these is left out, and `warn` hears its place, never its content. */
void sw_dotenv_parse(const char *text, size_t length, const char *name,
                     struct sw_environment *into, sw_env_warn_fn *warn, void *warn_context);
/* Both; for the user's own ~/.config/tao/.env. */
void sw_dotenv_load(const char *path, struct sw_environment *into, sw_env_warn_fn *warn,
                    void *warn_context);
char *sw_dotenv_home(void);       /* its path, owned */

#endif
