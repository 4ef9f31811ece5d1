/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.c - which credentials a job's data needs: those of the storages it names, no others.
 *
 * The runner gets them; the command does not, unless the job lists them under `secrets`. Pure.
 */
#include "plan/plan.h"

#include <string.h>

static const struct {
    const char *scheme;
    const char *names[10];
} needs[] = {
    { "s3://", { "ACCESS_KEY", "SECRET_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                 "AWS_SESSION_TOKEN" } },
    { "hf_model://", { "HF_TOKEN" } },
    { "hf_dataset://", { "HF_TOKEN" } },
    { "ngc://", { "NGC_KEY", "NGC_API_KEY", "NGC_CLI_API_KEY" } },
};

static void add_name(json_t *names, const char *name)
{
    size_t i;
    json_t *one;

    json_array_foreach(names, i, one)
        if (strcmp(json_string_value(one), name) == 0)
            return;
    json_array_append_new(names, json_string(name));
}

static void look(json_t *names, const json_t *value)
{
    const char *key, *text = json_string_value(value);
    json_t *inside;
    size_t i;

    for (i = 0; text && i < SW_COUNT(needs); i++)
        if (strncmp(text, needs[i].scheme, strlen(needs[i].scheme)) == 0)
            for (const char *const *name = needs[i].names; *name; name++)
                add_name(names, *name);
    json_object_foreach((json_t *)value, key, inside)
        look(names, inside);
    json_array_foreach(value, i, inside)
        look(names, inside);
}

json_t *sw_plan_credentials(const struct sw_plan *plan)
{
    json_t *names = json_array();

    look(names, plan->inputs);
    look(names, plan->outputs);
    look(names, plan->config);
    look(names, plan->args);
    return names;
}
