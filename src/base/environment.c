/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.c - the names and values of environment.h.
 */
#include "base/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { NAMES_MAX = 2000 };

struct variable {
    char *name, *value;
};

struct sw_environment {
    struct variable *items;
    size_t count;
};

const char *sw_env_process(void *unused, const char *name)
{
    (void)unused;
    return getenv(name);
}

struct sw_environment *sw_environment_new(void)
{
    return sw_new(struct sw_environment);
}

void sw_environment_free(struct sw_environment *environment)
{
    if (!environment)
        return;
    for (size_t i = 0; i < environment->count; i++) {
        explicit_bzero(environment->items[i].value, strlen(environment->items[i].value));
        free(environment->items[i].value);
        free(environment->items[i].name);
    }
    free(environment->items);
    free(environment);
}

const char *sw_environment_find(const struct sw_environment *environment, const char *name)
{
    for (size_t i = 0; environment && i < environment->count; i++)
        if (strcmp(environment->items[i].name, name) == 0)
            return environment->items[i].value;
    return NULL;
}

bool sw_environment_add(struct sw_environment *environment, const char *name, const char *value)
{
    if (sw_environment_find(environment, name))
        return true;
    if (environment->count == NAMES_MAX)
        return false;
    environment->items = sw_realloc_array(environment->items, environment->count + 1,
                                          sizeof *environment->items);
    environment->items[environment->count++] =
        (struct variable){ sw_strdup(name), sw_strdup(value) };
    return true;
}

bool sw_environment_at(const struct sw_environment *environment, size_t index, const char **name,
                       const char **value)
{
    if (!environment || index >= environment->count)
        return false;
    *name = environment->items[index].name;
    *value = environment->items[index].value;
    return true;
}

const char *sw_environment_get(void *environment, const char *name)
{
    const char *own = getenv(name);

    return sw_text_empty(own) ? sw_environment_find(environment, name) : own;
}
