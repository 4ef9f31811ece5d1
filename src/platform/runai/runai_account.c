/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runai_account.c - who asks: an access key (or the application of an older control plane) becomes a token.
 *
 * A token is replaced a minute before it ends, and once after a 401. There is no renewal by refresh
 * token: the key itself always works, and one way is enough. Id and secret go from the profile or the
 * environment into the body of one request, and nowhere else.
 */
#include "platform/runai/runai_internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/text.h"
#include "platform/kit/sending.h"

enum { EARLY_MS = 60000, LIFE_UNKNOWN_MS = 5 * 60000 };

/* The secret in the middle of a JWT's payload is none: only its times are read. */
static json_t *claims_of(const char *token)
{
    const char *begin = token ? strchr(token, '.') : NULL, *end = begin ? strchr(begin + 1, '.') : NULL;
    sw_auto(sw_buf) struct sw_buf text = SW_BUF_INIT;
    sw_autofree char *bytes = NULL;
    size_t length = 0;

    if (!end)
        return NULL;
    for (const char *at = begin + 1; at < end; at++)
        sw_buf_add_char(&text, *at == '-' ? '+' : *at == '_' ? '/' : *at);
    while (text.length % 4)
        sw_buf_add_char(&text, '=');
    bytes = sw_base64_bytes(sw_buf_text(&text), &length);
    return bytes ? sw_json_parse(bytes, length, "token", NULL) : NULL;
}

int64_t runai_token_life_ms(int64_t expires_in_s, const char *token, int64_t now_ms)
{
    const int64_t most_s = INT64_C(1) << 40;
    sw_auto(json) json_t *claims = expires_in_s > 0 ? NULL : claims_of(token);
    int64_t ends_s = sw_json_int(claims, "exp", 0), begins_s = sw_json_int(claims, "iat", now_ms / 1000);

    if (expires_in_s <= 0 && ends_s > begins_s && ends_s < most_s && begins_s > 0)
        expires_in_s = ends_s - begins_s;        /* by the server's clock alone, where it says both */
    return expires_in_s > 0 && expires_in_s < most_s ? expires_in_s * 1000 : 0;
}

/* ---- one login --------------------------------------------------------------------------------- */

static void body_of(const struct runai_account *account, struct sw_buf *out)
{
    sw_json_secrets(out, account->legacy
                    ? "{\"grantType\":\"app_token\",\"appID\":?,\"appSecret\":?}"
                    : "{\"grantType\":\"client_credentials\",\"clientID\":?,\"clientSecret\":?}",
                    (const char *[]){ account->id, sw_secret_reveal(account->secret) });
}

static struct sw_secret *take_token(json_t *answer)
{
    static const char *const names[] = { "accessToken", "idToken", "refreshToken" };
    const char *text = sw_json_str(answer, names[0]);
    struct sw_secret *token = sw_text_empty(text) || strpbrk(text, "\r\n") ? NULL : sw_secret_new(text);

    for (size_t i = 0; i < SW_COUNT(names); i++) {
        const json_t *value = json_object_get(answer, names[i]);

        if (json_is_string(value))
            explicit_bzero((char *)json_string_value(value), json_string_length(value));
    }
    return token;
}

static int not_set(struct sw_error *err)
{
    sw_fail(err, SW_E_CREDENTIAL, "no run:ai access key is set");
    return sw_hint(err, "create one in your user settings in run:ai, and export RUNAI_CLIENT_ID and "
                        "RUNAI_CLIENT_SECRET");
}

static int log_in(struct runai_account *account, struct sw_error *err)
{
    struct sw_buf body = SW_BUF_INIT;
    struct sw_rest_call call = { .method = "POST", .path = "/token", .content_type = "application/json",
                                 .repeatable = true };
    sw_auto(json) json_t *answer = NULL;
    int64_t life_ms;
    int result;

    if (!*account->url) {
        sw_fail(err, SW_E_SPEC, "runai.base_url: no control plane is configured");
        return sw_hint(err, "name it in your profile or in RUNAI_BASE_URL: https://company.run.ai/api/v1");
    }
    if (!account->id || !account->secret)
        return not_set(err);
    body_of(account, &body);
    call.bytes = body.data;
    call.length = (int64_t)body.length;
    result = sw_rest_call(account->rest, &call, &answer, err);
    sw_buf_wipe(&body);
    if (result < 0) {
        if (err && (err->code == SW_E_REFUSED || err->code == SW_E_NOT_FOUND))
            err->code = SW_E_CREDENTIAL;
        return sw_wrap(err, "cannot log in with the %s '%.80s'",
                       account->legacy ? "application" : "access key",
                       account->id);
    }
    sw_secret_free(account->token);
    account->token = take_token(answer);
    if (!account->token)
        return sw_fail(err, SW_E_CREDENTIAL, "run:ai answered the login without a token");
    life_ms = runai_token_life_ms(sw_json_int(answer, "expiresIn", 0), sw_secret_reveal(account->token),
                                  sw_now_ms());
    life_ms = life_ms ? life_ms : LIFE_UNKNOWN_MS;
    account->renew_ms = sw_monotonic_ms() + (life_ms > 2 * EARLY_MS ? life_ms - EARLY_MS : life_ms / 2);
    return 0;
}

int runai_authorize(void *context, bool refused, struct sw_rest_credential *out, struct sw_error *err)
{
    struct runai_account *account = context;
    int result = 0;

    pthread_mutex_lock(&account->lock);
    if (refused || !account->token || sw_monotonic_ms() >= account->renew_ms)
        result = log_in(account, err);
    if (result == 0) {
        const char *token = sw_secret_reveal(account->token);

        sw_buf_reserve_wiping(&out->authorization, strlen(token) + 8);
        sw_buf_add(&out->authorization, "Bearer ");
        sw_buf_add(&out->authorization, token);
    }
    pthread_mutex_unlock(&account->lock);
    return result;
}

/* ---- open and close ---------------------------------------------------------------------------- */

int runai_account_open(struct runai_account *account, const char *url,
                       const struct sw_connect_options *config, struct sw_error *err)
{
    struct runai_account_options said = runai_account_options(config->options);
    const char *secret = said.client_secret ? said.client_secret
                                            : sw_cloud_variable(config, "RUNAI_CLIENT_SECRET");
    const char *id = said.client_id ? said.client_id : sw_cloud_variable(config, "RUNAI_CLIENT_ID");

    pthread_mutex_init(&account->lock, NULL);
    account->legacy = !secret;
    if (account->legacy) {
        secret = said.app_secret ? said.app_secret : sw_cloud_variable(config, "RUNAI_APP_SECRET");
        id = said.app_id ? said.app_id : sw_cloud_variable(config, "RUNAI_APP_ID");
    }
    account->url = url;
    account->id = sw_strdup(id);
    account->secret = secret ? sw_secret_new(secret) : NULL;
    account->rest = sw_rest_open(&(struct sw_rest_options){
        .base_url = url, .name = "run:ai", .patience_ms = RUNAI_PATIENCE_MS, .threads = true }, err);
    return account->rest ? 0 : -1;
}

void runai_account_close(struct runai_account *account)
{
    sw_rest_close(account->rest);
    sw_secret_free(account->secret);
    sw_secret_free(account->token);
    free(account->id);
    pthread_mutex_destroy(&account->lock);
}
