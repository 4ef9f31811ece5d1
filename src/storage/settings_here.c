/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_here.c - the settings that hold on this machine, for a job that will need them elsewhere.
 *
 * They are found by the same functions that `slipway cp` uses. The runner does not need this file.
 */
#include "storage/settings.h"

#include <string.h>

#include "base/text.h"
#include "storage/credentials.h"
#include "storage/hf.h"
#include "storage/ngc.h"

/* The settings, and the function that takes them. */
struct here {
    const struct sw_storage_options *options;
    sw_setting_fn *tell;
    void *context;
    struct sw_error *err;
};

static int tell(const struct here *here, enum sw_setting which, const char *value, const char *from)
{
    return here->tell(here->context, which, value, from, here->err);
}

/* One that is only looked up in its variables. */
static int tell_variable(const struct here *here, enum sw_setting which)
{
    const char *name = NULL, *value = sw_setting_value(here->options, which, &name);

    return value ? tell(here, which, value, name) : 0;
}

/* ---- S3 ---------------------------------------------------------------------------------------- */

static int tell_s3(const struct here *here, enum sw_setting which, const char *value,
                   const char *profile)
{
    const char *name = profile;

    sw_setting_value(here->options, which, &name);
    return value ? tell(here, which, value, name) : 0;
}

static int tell_keys(const struct here *here, const struct s3_settings *found, const char *profile)
{
    if (found->unasked) {
        sw_autofree char *from = sw_format("the credential_process of %s", profile);

        return tell(here, SW_SET_S3_ACCESS, NULL, from) < 0 ||
               tell(here, SW_SET_S3_SECRET, NULL, from) < 0 ? -1 : 0;
    }
    return tell_s3(here, SW_SET_S3_ACCESS, found->keys.access, profile) < 0 ||
           tell_s3(here, SW_SET_S3_SECRET, found->keys.secret, profile) < 0 ||
           tell_s3(here, SW_SET_S3_SESSION, found->keys.token, profile) < 0 ? -1 : 0;
}

static int s3_here(const struct here *here)
{
    struct s3_settings found = { 0 };
    const char *name = sw_setting_value(here->options, SW_SET_S3_PROFILE, NULL);
    sw_autofree char *profile = sw_format("the AWS profile '%s'", name ? name : "default");
    const char *signing;
    int result;

    if (s3_settings_read(here->options, &found, here->err) < 0)
        return -1;
    signing = found.sign_payload == S3_ALWAYS  ? "true"
              : found.sign_payload == S3_NEVER ? "false"
                                               : NULL;
    result = tell_keys(here, &found, profile) < 0 ||
             tell_s3(here, SW_SET_S3_ENDPOINT, found.endpoint, profile) < 0 ||
             tell_s3(here, SW_SET_S3_REGION, found.region_given ? found.region : NULL, profile) < 0 ||
             tell_s3(here, SW_SET_S3_SIGNING, signing, profile) < 0 ||
             tell_variable(here, SW_SET_S3_ADDRESSING) < 0 ? -1 : 0;
    s3_settings_done(&found);
    return result;
}

/* ---- hubs -------------------------------------------------------------------------------------- */

static int tell_secret(const struct here *here, enum sw_setting which, char *value, char *from)
{
    int result = from && !value ? -1 : value ? tell(here, which, value, from) : 0;

    sw_text_wipe(value);
    free(from);
    return result;
}

/* An address is written as the storage reads it, with its scheme. */
static int tell_endpoint(const struct here *here, enum sw_setting which)
{
    const char *name = sw_setting_rows[which].names[0];
    sw_autofree char *url = NULL;

    if (!sw_storage_env(here->options, name))
        return 0;
    url = hub_endpoint(here->options, name, "https://hub.example.com", here->err);
    return url ? tell(here, which, url, name) : -1;
}

static int hf_here(const struct here *here)
{
    char *from = NULL, *token = hf_token(here->options, &from, here->err);

    return tell_secret(here, SW_SET_HF_TOKEN, token, from) < 0 ||
           tell_endpoint(here, SW_SET_HF_ENDPOINT) < 0 ? -1 : 0;
}

static int ngc_here(const struct here *here)
{
    char *from = NULL, *key = ngc_key(here->options, &from, here->err);

    return tell_secret(here, SW_SET_NGC_KEY, key, from) < 0 ||
           tell_endpoint(here, SW_SET_NGC_API) < 0 ||
           tell_endpoint(here, SW_SET_NGC_AUTH) < 0 ? -1 : 0;
}

/* ---- all --------------------------------------------------------------------------------------- */

static int (*const finders[SW_OWNERS])(const struct here *here) = {
    [SW_OWNER_S3] = s3_here, [SW_OWNER_HF] = hf_here, [SW_OWNER_NGC] = ngc_here,
};

static const struct { const char *start; enum sw_setting_owner owner; } schemes[] = {
    { "s3://", SW_OWNER_S3 },         { "hf_model://", SW_OWNER_HF },
    { "hf_dataset://", SW_OWNER_HF }, { "ngc://", SW_OWNER_NGC },
};

unsigned sw_settings_of(const char *uri)
{
    for (size_t i = 0; i < SW_COUNT(schemes); i++)
        if (sw_text_starts(uri, schemes[i].start))
            return 1u << schemes[i].owner;
    return 0;
}

const struct sw_setting_row *sw_setting_find(const char *name, size_t length)
{
    for (size_t i = 0; i < SW_SETTINGS; i++)
        for (size_t k = 0; k < SW_COUNT(sw_setting_rows[i].names); k++) {
            const char *each = sw_setting_rows[i].names[k];

            if (each && strlen(each) == length && memcmp(each, name, length) == 0)
                return &sw_setting_rows[i];
        }
    return NULL;
}

int sw_settings_here(unsigned owners, const struct sw_storage_options *options, sw_setting_fn *say,
                     void *context, struct sw_error *err)
{
    const struct here here = { options, say, context, err };

    for (size_t i = 0; i < SW_SETTINGS; i++) {
        const struct sw_setting_row *row = &sw_setting_rows[i];

        if ((owners & 1u << row->owner) && row->way >= SW_SETTING_NAME &&
            tell_variable(&here, (enum sw_setting)i) < 0)
            return -1;
    }
    for (size_t i = 0; i < SW_OWNERS; i++)
        if ((owners & 1u << i) && finders[i](&here) < 0)
            return -1;
    return 0;
}
