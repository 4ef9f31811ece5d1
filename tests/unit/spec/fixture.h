/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixture.h - two pretend platforms, a pretend environment, and one call from texts to a spec.
 */
#ifndef SW_TEST_SPEC_FIXTURE_H
#define SW_TEST_SPEC_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "spec/spec.h"
#include "spec/spec_internal.h"

static const char *const qos_words[] = { "normal", "high", NULL };

static const struct sw_option slurm_options[] = {
    { "partition", SW_TEXT, .env = "SLURM_PARTITION", .help = "queue to submit to" },
    { "account", SW_TEXT, .help = "who pays" },
    { "qos", SW_CHOICE, .choices = qos_words, .initial = "normal", .help = "how urgent" },
    { "time", SW_DURATION, .env = "SLURM_TIME", .initial = "4h", .help = "wall clock limit" },
    { "mounts", SW_TEXTS, .env = "SLURM_MOUNTS", .help = "folders to mount" },
    { "tunnel", SW_FLAG, SW_CONNECTION, .help = "go through ssh" },
    { "env", SW_TEXT_MAP, .help = "same as the portable key" },
    { 0 }
};

static const struct sw_option lepton_options[] = {
    { "node_group", SW_TEXT, .required = true, .env = "LEPTON_NODE_GROUP", .help = "nodes" },
    { "workspace_token", SW_TEXT, .help = "token" },
    { 0 }
};

static const struct sw_option local_options[] = { { 0 } };

static const struct sw_spec_platform test_platforms[] = {
    { "local", local_options }, { "slurm", slurm_options }, { "lepton", lepton_options },
};

/* The environment of the test: "NAME=value" texts, ended by NULL. */
static const char *const *test_environment;

static const char *test_getenv(void *unused, const char *name)
{
    size_t length = strlen(name);

    (void)unused;
    for (const char *const *entry = test_environment; entry && *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

struct given {
    const char *job;                /* YAML */
    const char *flags[8];           /* key, text, key, text, ... */
    const char *profiles;           /* env.toml */
    const char *profile;
    const char *const *environment;
};

static struct sw_spec *resolve(const struct given *given, struct sw_error *err)
{
    json_t *flag_values = json_object();
    sw_auto(sw_document) struct sw_document *flags = NULL;
    sw_auto(sw_document) struct sw_document *job = NULL;
    sw_auto(sw_profiles) struct sw_profiles *profiles = NULL;
    struct sw_spec_input input = {
        .platforms = test_platforms, .platform_count = SW_COUNT(test_platforms),
        .profile = given->profile, .env = test_getenv, .default_platform = "local", .here = true,
    };

    for (size_t i = 0; i + 1 < SW_COUNT(given->flags) && given->flags[i]; i += 2)
        if (sw_spec_set_text(flag_values, test_platforms, SW_COUNT(test_platforms),
                             given->flags[i], given->flags[i + 1], err) < 0) {
            json_decref(flag_values);
            return NULL;
        }
    input.flags = flags = sw_document_from_json(flag_values, "flags");
    test_environment = given->environment;
    if (given->job)
        input.job = job = sw_document_parse(given->job, strlen(given->job), SW_YAML, "job.yaml",
                                            err);
    if (given->job && !job)
        return NULL;
    if (given->profiles)
        input.profiles = profiles = spec_profiles_parse(given->profiles, strlen(given->profiles),
                                                        "env.toml", err);
    if (given->profiles && !profiles)
        return NULL;
    return sw_spec_resolve(&input, err);
}

static inline struct sw_spec *must_resolve(const struct given *given)
{
    struct sw_error err = { 0 };
    struct sw_spec *spec = resolve(given, &err);

    if (!spec)
        fail_msg("%s", err.message);
    return spec;
}

/* The error message of a job that must not resolve. Static: until the next call. */
static inline const char *must_fail(const struct given *given)
{
    static struct sw_error err;
    struct sw_spec *spec;

    err = (struct sw_error){ 0 };
    spec = resolve(given, &err);
    if (spec) {
        sw_spec_free(spec);
        fail_msg("resolved, but should not: %s", given->job ? given->job : "(flags)");
    }
    assert_int_equal(err.code, SW_E_SPEC);
    return err.message;
}

static inline void expect_json(const json_t *value, const char *text)
{
    sw_autofree char *dumped = sw_json_dump(value);

    assert_string_equal(dumped, text);
}

#endif
