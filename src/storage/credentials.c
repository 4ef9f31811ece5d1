/* SPDX-License-Identifier: Apache-2.0 */
/*
 * credentials.c - reads the environment and AWS's two ini files.
 *
 * What we do not do (roles, single sign-on, instance metadata) is said by name when a profile asks
 * for it: an unsigned request that fails with "access denied" would send people looking elsewhere.
 */
#include "storage/credentials.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/settings.h"

#define INI_MAX (256 * 1024)
#define PROCESS_MAX (64 * 1024)

static void wipe(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(sw_take(*text));
}

void s3_keys_done(struct s3_keys *keys)
{
    wipe(&keys->access);
    wipe(&keys->secret);
    wipe(&keys->token);
}

void s3_settings_done(struct s3_settings *settings)
{
    s3_keys_done(&settings->keys);
    free(settings->region);
    free(settings->endpoint);
    *settings = (struct s3_settings){ 0 };
}

/* ---- pairs of variables ------------------------------------------------------------------------ */

/* Keys belong together: those of one column of the table (settings.h), never a mixture. */
static int keys_from_env(const struct sw_storage_options *options, struct s3_keys *keys,
                         struct sw_error *err)
{
    const char *const *accesses = sw_setting_rows[SW_SET_S3_ACCESS].names;
    const char *const *secrets = sw_setting_rows[SW_SET_S3_SECRET].names;
    const char *const *sessions = sw_setting_rows[SW_SET_S3_SESSION].names;

    for (size_t i = 0; accesses[i]; i++) {
        const char *access = sw_storage_env(options, accesses[i]);
        const char *secret = sw_storage_env(options, secrets[i]);

        if (!access && !secret)
            continue;
        if (!access || !secret)
            return sw_fail(err, SW_E_CREDENTIAL, "%s is set but %s is not",
                           access ? accesses[i] : secrets[i], access ? secrets[i] : accesses[i]);
        keys->access = sw_strdup(access);
        keys->secret = sw_strdup(secret);
        if (sessions[i])
            keys->token = sw_strdup(sw_storage_env(options, sessions[i]));
        return 0;
    }
    return 0;
}

/* ---- ini files --------------------------------------------------------------------------------- */

static char *trimmed(char *text)
{
    char *end;

    text += strspn(text, " \t\r");
    end = text + strlen(text);
    while (end > text && strchr(" \t\r", end[-1]))
        *--end = '\0';
    return text;
}

/* Is this line the head of a section, and of which? It is cut in place. */
static bool is_head(char *line, const char *section, bool *here)
{
    char *close = *line == '[' ? strchr(line, ']') : NULL;

    if (*line != '[')
        return false;
    if (close)
        *close = '\0';
    *here = strcmp(trimmed(line + 1), section) == 0;
    return true;
}

/* The value of a key in a section of an ini text; owned, NULL: absent. Without a key: "", if the
 * section is there. */
static char *ini_value(const char *ini, const char *section, const char *key)
{
    sw_autofree char *copy = sw_strdup(ini);
    char *save = NULL, *found = NULL;
    bool here = false;

    for (char *raw = strtok_r(copy, "\n", &save); raw && !found; raw = strtok_r(NULL, "\n", &save)) {
        char *line = trimmed(raw), *equals = strchr(line, '=');

        if (is_head(line, section, &here)) {
            found = here && !key ? sw_strdup("") : NULL;
        } else if (here && equals && *line != '#' && *line != ';') {
            *equals = '\0';
            if (strcmp(trimmed(line), key) == 0)
                found = sw_strdup(trimmed(equals + 1));
        }
    }
    explicit_bzero(copy, strlen(ini));
    return found;
}

static bool has_section(const char *ini, const char *section)
{
    sw_autofree char *found = ini_value(ini, section, NULL);

    return found != NULL;
}

struct profile {
    char *credentials, *config;         /* texts of the files, "" when missing */
    char *name, *section;               /* "dev" and "profile dev" */
    bool named;                         /* by AWS_PROFILE */
};

static char *read_ini(const struct sw_storage_options *options, enum sw_setting file,
                      const char *usual)
{
    const char *named = sw_setting_value(options, file, NULL);
    const char *home = sw_storage_env(options, "HOME");
    sw_autofree char *path = named  ? sw_strdup(named)
                             : home ? sw_path_join(home, usual)
                                    : NULL;
    char *text = path ? sw_file_read(path, INI_MAX, NULL, NULL) : NULL;

    return text ? text : sw_strdup("");
}

static void profile_read(const struct sw_storage_options *options, struct profile *profile)
{
    const char *name = sw_setting_value(options, SW_SET_S3_PROFILE, NULL);

    profile->named = name != NULL;
    profile->name = sw_strdup(name ? name : "default");
    profile->section = name && strcmp(name, "default") ? sw_format("profile %s", name)
                                                       : sw_strdup("default");
    profile->credentials = read_ini(options, SW_SET_S3_KEYS_FILE, ".aws/credentials");
    profile->config = read_ini(options, SW_SET_S3_CONFIG_FILE, ".aws/config");
}

static void profile_auto(struct profile *profile)
{
    wipe(&profile->credentials);
    wipe(&profile->config);
    free(profile->name);
    free(profile->section);
}

static char *profile_text(const struct profile *profile, const char *key)
{
    char *value = ini_value(profile->credentials, profile->name, key);

    return value ? value : ini_value(profile->config, profile->section, key);
}

static char *profile_value(const struct profile *profile, enum sw_setting which)
{
    return profile_text(profile, sw_setting_rows[which].key);
}

/* ---- credential_process ------------------------------------------------------------------------ */

/* What the program prints, bounded; NULL: it failed. */
static char *process_output(const char *command)
{
    FILE *pipe = popen(command, "re");
    char *text = sw_alloc(PROCESS_MAX + 1);
    size_t length = pipe ? fread(text, 1, PROCESS_MAX, pipe) : 0;
    int status = pipe ? pclose(pipe) : -1;

    if (status == 0 && length < PROCESS_MAX)
        return text;
    explicit_bzero(text, length);
    free(text);
    return NULL;
}

static int keys_from_process(const char *command, struct s3_keys *keys, struct sw_error *err)
{
    sw_autofree char *text = process_output(command);
    sw_auto(json) json_t *answer =
        text ? sw_json_parse(text, strlen(text), "credential_process", NULL) : NULL;

    if (text)
        explicit_bzero(text, strlen(text));
    if (!sw_json_str(answer, "AccessKeyId") || !sw_json_str(answer, "SecretAccessKey")) {
        sw_fail(err, SW_E_CREDENTIAL, "the credential_process of the AWS profile gave no keys");
        return sw_hint(err, "run it by hand: it must print JSON with AccessKeyId and SecretAccessKey");
    }
    keys->access = sw_strdup(sw_json_str(answer, "AccessKeyId"));
    keys->secret = sw_strdup(sw_json_str(answer, "SecretAccessKey"));
    keys->token = sw_strdup(sw_json_str(answer, "SessionToken"));
    return 0;
}

/* A profile that was named is there, or a typing error would mean unsigned requests. */
static int profile_missing(const struct profile *profile, struct sw_error *err)
{
    if (has_section(profile->credentials, profile->name) ||
        has_section(profile->config, profile->section))
        return 0;
    sw_fail(err, SW_E_CREDENTIAL, "AWS_PROFILE names '%s', and neither ~/.aws/credentials nor "
            "~/.aws/config has that profile", profile->name);
    return sw_hint(err, "aws configure --profile %s, or unset AWS_PROFILE", profile->name);
}

static int keys_from_profile(const struct sw_storage_options *options, const struct profile *profile,
                             struct s3_settings *out, struct sw_error *err)
{
    static const char *const not_ours[] = { "role_arn", "sso_session", "sso_start_url",
                                            "web_identity_token_file" };
    struct s3_keys *keys = &out->keys;
    sw_autofree char *process = NULL;

    if (profile->named && profile_missing(profile, err) < 0)
        return -1;
    keys->access = profile_value(profile, SW_SET_S3_ACCESS);
    keys->secret = profile_value(profile, SW_SET_S3_SECRET);
    keys->token = profile_value(profile, SW_SET_S3_SESSION);
    if (keys->access && keys->secret)
        return 0;
    s3_keys_done(keys);
    process = profile_text(profile, "credential_process");
    out->unasked = process && options && options->look_only;
    if (process)
        return out->unasked ? 0 : keys_from_process(process, keys, err);
    for (size_t i = 0; i < SW_COUNT(not_ours); i++) {
        sw_autofree char *value = profile_text(profile, not_ours[i]);

        if (!value)
            continue;
        sw_fail(err, SW_E_CREDENTIAL, "the AWS profile '%s' uses %s, which slipway does not support",
                profile->name, not_ours[i]);
        return sw_hint(err, "aws configure export-credentials --profile %s --format env",
                       profile->name);
    }
    return 0;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static int set_endpoint(const char *text, struct s3_settings *out, struct sw_error *err)
{
    if (!text)
        return 0;
    if (!sw_text_starts(text, "http://") && !sw_text_starts(text, "https://"))
        out->endpoint = sw_format("https://%s", text);
    else
        out->endpoint = sw_strdup(text);
    if (strpbrk(out->endpoint, "?#@ \t"))
        return sw_fail(err, SW_E_SPEC, "the S3 endpoint must be a URL such as https://host:9000");
    while (sw_text_ends(out->endpoint, "/"))
        out->endpoint[strlen(out->endpoint) - 1] = '\0';
    return 0;
}

static void set_style(const char *style, struct s3_settings *out)
{
    out->path_style = sw_text_same(style, "path");
    out->virtual_style = sw_text_same(style, "virtual");
}

static void set_signing(const char *said, struct s3_settings *out)
{

    out->sign_payload = sw_text_same_nocase(said, "true")    ? S3_ALWAYS
                        : sw_text_same_nocase(said, "false") ? S3_NEVER
                                                             : S3_AS_NEEDED;
}

/* The variable, else the profile's; owned. */
static char *setting(const struct sw_storage_options *options, const struct profile *profile,
                     enum sw_setting which)
{
    const char *value = sw_setting_value(options, which, NULL);

    return value ? sw_strdup(value) : profile_value(profile, which);
}

int s3_settings_read(const struct sw_storage_options *options, struct s3_settings *out,
                     struct sw_error *err)
{
    __attribute__((cleanup(profile_auto))) struct profile profile = { 0 };
    sw_autofree char *endpoint = NULL, *region = NULL, *signing = NULL;

    *out = (struct s3_settings){ 0 };
    profile_read(options, &profile);
    endpoint = setting(options, &profile, SW_SET_S3_ENDPOINT);
    region = setting(options, &profile, SW_SET_S3_REGION);
    signing = setting(options, &profile, SW_SET_S3_SIGNING);
    set_style(sw_setting_value(options, SW_SET_S3_ADDRESSING, NULL), out);
    set_signing(signing, out);
    out->region_given = region != NULL;
    out->region = region ? sw_take(region) : sw_strdup("us-east-1");
    if (strspn(out->region, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(out->region)) {
        s3_settings_done(out);                     /* it becomes a part of the host's name */
        return sw_fail(err, SW_E_SPEC, "the S3 region must be a name such as us-east-1");
    }
    if (keys_from_env(options, &out->keys, err) == 0 &&
        (out->keys.access || keys_from_profile(options, &profile, out, err) == 0) &&
        set_endpoint(endpoint, out, err) == 0)
        return 0;
    s3_settings_done(out);
    return -1;
}
