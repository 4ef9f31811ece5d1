/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brev_login.c - as whom the brev program runs.
 *
 * Without BREV_API_TOKEN that is the user's own login. With it the program gets a home of its own, one for
 * each name of a login, so the user's login, active organisation and ssh configuration stay as they are. The
 * token is written into the program's credentials file there, as `brev login --token` would do: on a command
 * line every user of the machine could read it (docs/decisions/0067-brev-place-and-token.md).
 */
#include "platform/brev/brev_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/secret.h"
#include "base/text.h"

#define OWN "own"
#define API_KEY "bak-"

static const char *value_of(const struct brev_connection *conn, const char *name)
{
    const char *value = conn->config.env ? conn->config.env(conn->config.env_context, name) : NULL;

    return sw_text_empty(value) ? NULL : value;
}

int brev_login_find(struct brev_connection *conn, struct sw_error *err)
{
    const char *token = value_of(conn, "BREV_API_TOKEN"), *home = value_of(conn, "HOME");

    if (conn->with.login && !brev_name_valid(conn->with.login))
        return sw_fail(err, SW_E_SPEC, "'%.64s' is not a login name: use letters and digits",
                       conn->with.login);
    conn->login = sw_strdup(conn->with.login ? conn->with.login : token ? "default" : OWN);
    if (sw_text_same(conn->login, OWN)) {
        conn->home = home ? sw_strdup(home) : sw_home();
        return conn->home ? 0 : sw_fail(err, SW_E_CREDENTIAL, "HOME is not set, so brev has no login");
    }
    conn->home = sw_format("%s/logins/%s", conn->folder, conn->login);
    conn->token = token ? sw_secret_new(token) : NULL;
    if (!brev_login_is_key(conn) || conn->with.organization)
        return 0;
    sw_fail(err, SW_E_CREDENTIAL, "BREV_API_TOKEN belongs to an organisation, and none is given");
    return sw_hint(err, "name it by its id: brev: {organization: ID}");
}

bool brev_login_is_key(const struct brev_connection *conn)
{
    return conn->token && sw_text_starts(sw_secret_reveal(conn->token), API_KEY);
}

/* Three parts between dots, the first of which is an object in base64. */
static bool is_jwt(const char *token)
{
    const char *dot = strchr(token, '.'), *second = dot ? strchr(dot + 1, '.') : NULL;

    return second && !strchr(second + 1, '.') && sw_text_starts(token, "eyJ");
}

/* The file as the program writes it itself. */
static void render_credentials(struct sw_buf *out, const char *token, const char *organization)
{
    sw_auto(json) json_t *all = sw_text_starts(token, API_KEY)
        ? sw_json_object(SW_STR("api_key", token), SW_STR_OPT("api_key_org_id", organization))
        : sw_json_object(SW_STR("access_token", is_jwt(token) ? token : "auto-login"),
                         SW_STR("refresh_token", is_jwt(token) ? "auto-login" : token));
    char *text = sw_json_dump(all);

    sw_buf_add(out, text);
    sw_text_wipe(text);
}

/* The program renews what is in the file by itself: the same token is not written over it a second time. */
int brev_login_write(struct brev_connection *conn, bool again, struct sw_error *err)
{
    sw_autofree char *folder = sw_path_join(conn->home, ".brev");
    sw_autofree char *file = sw_path_join(folder, "credentials.json");
    sw_autofree char *mark = sw_path_join(folder, "slipway-token"), *written = NULL;
    struct sw_buf text = SW_BUF_INIT;
    char digest[SW_DIGEST_HEX];
    const char *token;
    int result;

    if (!conn->token) {
        if (sw_text_same(conn->login, OWN) || (!again && sw_file_exists(file)))
            return 0;
        sw_fail(err, SW_E_CREDENTIAL, "BREV_API_TOKEN is not set, and the login '%s' needs it", conn->login);
        return sw_hint(err, "set it, or use your own login: brev: {login: own}");
    }
    token = sw_secret_reveal(conn->token);
    sw_sha256_hex(token, strlen(token), digest);
    written = sw_file_read_plain(mark, 256, NULL, NULL);
    if (!again && sw_text_same(written, digest) && sw_file_exists(file))
        return 0;
    if (sw_mkdirs(folder, 0700, err) < 0)
        return -1;
    render_credentials(&text, token, conn->with.organization);
    result = sw_file_write(file, text.data, text.length, 0600, err);
    sw_buf_wipe(&text);
    return result < 0 ? -1 : sw_file_write(mark, digest, strlen(digest), 0600, err);
}
