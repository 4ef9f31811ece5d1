/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.c - how runner, plan and code reach the job's place on each platform: one table.
 *
 * The limits are the platforms': a ConfigMap holds 1 MiB, run:ai cuts a variable at 10,000
 * characters, and no single environment string of Linux may exceed 128 KiB. Pure.
 */
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/bundle.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static const struct sw_transport table[] = {
    { "local",      SW_BY_EXEC,          .shared = false },
    { "rehearsal",  SW_BY_EXEC,          .shared = false },
    { "docker",     SW_BY_ARCHIVE,       .shared = false },
    { "slurm",      SW_BY_SHARED_FOLDER, .shared = true },
    { "kubernetes", SW_BY_CONFIG_MAP,    .most = MIB, .shared = false },
    { "lepton",     SW_BY_ENVIRONMENT,   .chunk = 96 * KIB, .most = MIB, .shared = true },
    { "runai",      SW_BY_ENVIRONMENT,   .chunk = 9000, .most = MIB, .shared = true },
    { "ray",        SW_BY_WORKING_DIR,   .most = 100 * MIB, .shared = false },
    { "brev",       SW_BY_COPY,          .shared = false },
};

const struct sw_transport *sw_transport_for(const char *platform, struct sw_error *err)
{
    for (size_t i = 0; i < SW_COUNT(table); i++)
        if (sw_text_same(table[i].platform, platform))
            return &table[i];
    sw_fail(err, SW_E_NOT_FOUND, "nobody knows how code reaches a job on '%s'", platform);
    return NULL;
}

int sw_transport_fits(const struct sw_transport *transport, size_t bytes, struct sw_error *err)
{
    char is[32], may[32];

    if (!transport->most || bytes <= transport->most)
        return 0;
    sw_size_format((int64_t)bytes, is);
    sw_size_format((int64_t)transport->most, may);
    sw_fail(err, SW_E_SPEC, "the code is too large for %s: %s packed, %s fit", transport->platform,
            is, may);
    return sw_hint(err, "leave files out with `code.exclude`, or put the code into object storage "
                        "and name it under `inputs`");
}

json_t *sw_transport_variables(const char *prefix, const void *bytes, size_t length, size_t chunk)
{
    sw_autofree char *text = sw_base64(bytes, length);
    size_t left = strlen(text), count = 0;
    json_t *env = json_object();
    char hash[SW_DIGEST_HEX];

    for (const char *at = text; left > 0; count++) {
        size_t piece = left < chunk ? left : chunk;
        sw_autofree char *name = sw_format("%s_%zu", prefix, count);
        sw_autofree char *value = sw_strndup(at, piece);

        json_object_set_new(env, name, json_string(value));
        at += piece;
        left -= piece;
    }
    sw_sha256_hex(bytes, length, hash);
    {
        sw_autofree char *counted = sw_format("%s_COUNT", prefix);
        sw_autofree char *hashed = sw_format("%s_SHA256", prefix);

        json_object_set_new(env, counted, json_sprintf("%zu", count));
        json_object_set_new(env, hashed, json_string(hash));
    }
    return env;
}
