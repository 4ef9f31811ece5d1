/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings.c - the table of settings; see settings.h.
 */
#include "storage/settings.h"

#include <string.h>

#include "base/text.h"

const struct sw_setting_row sw_setting_rows[SW_SETTINGS] = {
#define S3(way, key, ...) { { __VA_ARGS__ }, key, SW_OWNER_S3, SW_SETTING_##way }
#define HF(way, ...) { { __VA_ARGS__ }, NULL, SW_OWNER_HF, SW_SETTING_##way }
#define NGC(way, ...) { { __VA_ARGS__ }, NULL, SW_OWNER_NGC, SW_SETTING_##way }
    [SW_SET_S3_ACCESS] = S3(SECRET, "aws_access_key_id", "AWS_ACCESS_KEY_ID", "ACCESS_KEY"),
    [SW_SET_S3_SECRET] = S3(SECRET, "aws_secret_access_key", "AWS_SECRET_ACCESS_KEY", "SECRET_KEY"),
    [SW_SET_S3_SESSION] = S3(SECRET, "aws_session_token", "AWS_SESSION_TOKEN"),
    [SW_SET_S3_ENDPOINT] = S3(PLAIN, "endpoint_url", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL",
                              "S3_ENDPOINT_URL"),
    [SW_SET_S3_REGION] = S3(PLAIN, "region", "AWS_REGION", "AWS_DEFAULT_REGION", "CLOUD_REGION"),
    [SW_SET_S3_ADDRESSING] = S3(PLAIN, NULL, "SLIPWAY_S3_ADDRESSING"),
    [SW_SET_S3_SIGNING] = S3(PLAIN, "payload_signing_enabled", "SLIPWAY_S3_PAYLOAD_SIGNING"),
    [SW_SET_S3_PROFILE] = S3(NAME, NULL, "AWS_PROFILE"),
    [SW_SET_S3_KEYS_FILE] = S3(PATH, NULL, "AWS_SHARED_CREDENTIALS_FILE"),
    [SW_SET_S3_CONFIG_FILE] = S3(PATH, NULL, "AWS_CONFIG_FILE"),
    [SW_SET_HF_TOKEN] = HF(SECRET, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"),
    [SW_SET_HF_ENDPOINT] = HF(PLAIN, "HF_ENDPOINT"),
    [SW_SET_HF_TOKEN_FILE] = HF(PATH, "HF_TOKEN_PATH"),
    [SW_SET_HF_HOME] = HF(PATH, "HF_HOME"),
    [SW_SET_HF_CACHE] = HF(PATH, "XDG_CACHE_HOME"),
    [SW_SET_NGC_KEY] = NGC(SECRET, "NGC_KEY", "NGC_CLI_API_KEY", "NGC_API_KEY"),
    [SW_SET_NGC_API] = NGC(PLAIN, "NGC_CLI_API_URL"),
    [SW_SET_NGC_AUTH] = NGC(PLAIN, "NGC_CLI_AUTH_URL"),
    [SW_SET_NGC_HOME] = NGC(PATH, "NGC_CLI_HOME"),
#undef S3
#undef HF
#undef NGC
};

const char *sw_storage_env(const struct sw_storage_options *options, const char *name)
{
    const char *value = options && options->env ? options->env(options->env_context, name)
                                                : getenv(name);

    return sw_text_empty(value) ? NULL : value;
}

const char *sw_setting_value(const struct sw_storage_options *options, enum sw_setting which,
                             const char **name)
{
    const struct sw_setting_row *row = &sw_setting_rows[which];

    for (size_t i = 0; i < SW_COUNT(row->names) && row->names[i]; i++) {
        const char *value = sw_storage_env(options, row->names[i]);

        if (value && name)
            *name = row->names[i];
        if (value)
            return value;
    }
    return NULL;
}
