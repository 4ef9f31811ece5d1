/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_values.c - the .env file of a job, and the user's own behind it.
 */
#include "core/job_values.h"

#include <string.h>

#include "base/digest.h"
#include "core/trust.h"

static void add_allowed(struct sw_environment *into, const struct sw_environment *found, bool all)
{
    const char *name, *value;

    for (size_t i = 0; sw_environment_at(found, i, &name, &value); i++)
        if (all || !sw_variable_is_sensitive(name))
            sw_environment_add(into, name, value);
}

struct sw_environment *sw_job_values(const json_t *dotenv)
{
    struct sw_environment *values = sw_environment_new();
    sw_auto(sw_environment) struct sw_environment *found = sw_environment_new();
    const char *path = sw_json_str(dotenv, "path"), *said = sw_json_str(dotenv, "sha256");
    sw_autofree char *home = sw_dotenv_home();
    size_t length = 0;
    char *text = path && *path == '/' ? sw_dotenv_read(path, &length, NULL, NULL) : NULL;

    if (text) {
        char now[SW_DIGEST_HEX];

        sw_sha256_hex(text, length, now);
        sw_dotenv_parse(text, length, path, found, NULL, NULL);
        add_allowed(values, found, sw_json_bool(dotenv, "trusted", false) && said &&
                                       strcmp(said, now) == 0);
        explicit_bzero(text, length);
    }
    free(text);
    sw_dotenv_load(home, values, NULL, NULL);
    return values;
}
